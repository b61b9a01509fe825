"""What a call takes: dtypes, weak Python scalars, casting, and targets to write to."""

import functools

import numpy as np

from .addressing import refuse_masked

WEAK_KINDS = {bool: "bool", int: "int", float: "float", complex: "complex"}
RANKS = ("bool", "int", "float", "complex")


def is_bfloat16(dtype):
    """Is `dtype` the one that ml_dtypes registers?"""
    return dtype.num >= 256 and dtype.name == "bfloat16"  # names take time


@functools.cache
def kind_of(dtype):
    """Return the family of rules that `dtype` belongs to."""
    if dtype.char in "gG":
        return "longdouble" if dtype.char == "g" else "other"
    if is_bfloat16(dtype):
        return "float"
    kinds = {
        "b": "bool",
        "i": "int",
        "u": "int",
        "f": "float",
        "c": "complex",
        "M": "datetime",
        "m": "timedelta",
    }
    return kinds.get(dtype.kind, "other")


def can_cast(given, wanted, casting):
    """Ask NumPy; complex into bfloat16, which loses half, needs "unsafe"."""
    loses = given.kind == "c" and is_bfloat16(wanted) and casting != "unsafe"
    return not loses and np.can_cast(given, wanted, casting)


def native(dtype):
    """Return `dtype` in this machine's byte order."""
    return dtype if dtype.isnative else dtype.newbyteorder("=")


def refuse_dtype(dtype):
    """Raise TypeError for the one dtype that not even moves support."""
    if dtype.kind == "T":
        raise TypeError("StringDType is not supported")


def as_target(a):
    """Return `a` as an ndarray; masked arrays and StringDType are refused."""
    refuse_masked(a)
    a = np.asarray(a)
    refuse_dtype(a.dtype)
    return a


def plain(array):
    """Return a flat native copy in C order; every non-zero byte of a bool is True."""
    flat = array.ravel()
    if array.dtype == np.bool_:
        return flat.view(np.uint8) != 0
    return flat.astype(native(array.dtype))


def weak_kind(values):
    """Return the kind of a weak scalar or list ("" if empty); None: not weak."""
    if isinstance(values, (list, tuple)):
        kinds = {weak_kind(value) for value in values}
        if None in kinds:
            return None
        return next((kind for kind in reversed(RANKS) if kind in kinds), "")
    return WEAK_KINDS.get(type(values))


def convert_weak(value, convert):
    """Apply `convert` to every number in nested lists."""
    if isinstance(value, (list, tuple)):
        return [convert_weak(item, convert) for item in value]
    return convert(value)


def in_range_of(dtype):
    """Make a converter that raises OverflowError for an int that does not fit."""
    limits = np.iinfo(dtype)

    def convert(value):
        if not limits.min <= value <= limits.max:
            raise OverflowError(f"Python integer {value} out of bounds for {dtype}")
        return int(value)

    return convert


def as_complex(value):
    """Convert a number; ints go through float, so that too large ones raise."""
    return value if isinstance(value, complex) else complex(float(value))


def weak_array(values, kind, target, accumulator, casting):
    """Convert a weak scalar or list: checked against `target`, then cast."""
    goal = "float" if kind_of(target) == "longdouble" else kind_of(target)
    if kind and casting not in ("same_kind", "unsafe"):
        check_by_copyto(values, target, casting)
    if kind and RANKS.index(kind) > RANKS.index(goal):
        if casting != "unsafe":
            raise TypeError(f"cannot put a Python {kind} into {target}")
        return np.array(values).astype(accumulator)
    if goal == "bool":
        array = np.array(convert_weak(values, bool), bool)
    elif goal == "int":
        array = np.array(convert_weak(values, in_range_of(target)), target)
    elif goal == "float":
        array = np.array(convert_weak(values, float), float)
    else:
        array = np.array(convert_weak(values, as_complex), complex)
    return array.astype(accumulator)


def check_by_copyto(values, target, casting):
    """Raise TypeError where np.copyto does for a number of the type of any of these."""
    if isinstance(values, (list, tuple)):
        for value in values:
            check_by_copyto(value, target, casting)
    else:
        np.copyto(np.empty((), target), type(values)(), casting=casting)


def as_weak(values, target):
    """Return Python numbers that a float or complex target may not hold, or None."""
    kind, goal = weak_kind(values), kind_of(target)
    if not kind or goal not in ("float", "complex"):
        return None
    if kind == "complex":
        return np.array(convert_weak(values, complex)) if goal == kind else None
    return np.array(convert_weak(values, float))


def rounded(array, dtype):
    """Cast with a single rounding, also to bfloat16, which NumPy reaches by float32."""
    if not is_bfloat16(dtype) or array.dtype != np.float64:
        return array.astype(dtype)
    near = array.astype(np.float32)
    side = np.where(near > array, -np.inf, np.inf).astype(np.float32)
    other = np.nextafter(near, side)
    is_odd = near.view(np.uint32) % 2 == 1
    keep = (near == array) | is_odd | ~np.isfinite(array)
    return np.where(keep, near, other).astype(dtype)


@np.errstate(all="ignore")
def as_values(values, target, accumulator, casting):
    """Return the values in the accumulator's dtype.

    `target` decides what is allowed: the range of weak ones, casting of all others.
    """
    refuse_masked(values)
    kind = weak_kind(values)
    if kind is not None and kind_of(target) in (*RANKS, "longdouble"):
        return weak_array(values, kind, target, accumulator, casting)
    array = np.asarray(values)
    refuse_dtype(array.dtype)
    if not can_cast(array.dtype, target, casting):
        raise TypeError(f"cannot cast {array.dtype} to {target} by rule {casting!r}")
    flat = plain(array)
    if target.kind in "mM" and not has_unit(array.dtype):
        flat = flat.astype(target)
    return flat.astype(accumulator).reshape(array.shape)


def has_unit(dtype):
    """Is it a time of some unit? A number is one of the target's unit."""
    return dtype.kind in "mM" and np.datetime_data(dtype)[0] != "generic"


def byte_positions(array):
    """Yield the address of every byte of every element."""
    for here in np.ndindex(array.shape):
        first = sum(i * step for i, step in zip(here, array.strides, strict=True))
        yield from range(first, first + array.itemsize)


def overlaps_itself(array):
    """Do any two elements share a byte?"""
    if array.flags.c_contiguous or array.flags.f_contiguous:
        return False
    seen = set()
    for address in byte_positions(array):
        if address in seen:
            return True
        seen.add(address)
    return False


def require_array(out):
    """Raise unless `out` is an ndarray that is plain memory."""
    if not isinstance(out, np.ndarray):
        raise TypeError(f"out must be an ndarray, not {type(out).__name__}")
    refuse_masked(out)
    refuse_dtype(out.dtype)


def check_writable(out, shape):
    """Raise unless `out` is an ndarray of `shape` that can be written to."""
    require_array(out)
    if out.shape != shape:
        raise ValueError(f"out has shape {out.shape}; expected {shape}")
    if not out.flags.writeable:
        raise ValueError("output array is read-only")
    if overlaps_itself(out):
        raise ValueError("two elements of the output array share memory")
