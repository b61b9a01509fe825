"""The slow twin of the scatter family: plain loops, one element after the other.

Same names, signatures and exceptions as pyscatter's public functions. A call is worked
in three steps: resolve the addressing into places, collect what arrives at each
element, fold each element's arrivals from left to right in the accumulator's dtype and
store it once.
"""

import warnings
from typing import NamedTuple

import numpy as np

from .addressing import (
    BATCH_DIMS,
    SCATTER_MODES,
    along_places,
    at_places,
    axis_places,
    check_mode,
    nd_places,
)
from .combine import combiner, divide_by_count, neumaier
from .values import (
    as_target,
    as_values,
    as_weak,
    can_cast,
    check_writable,
    is_bfloat16,
    kind_of,
    native,
    plain,
    rounded,
)

ALIASES = {
    "sum": "add",
    "prod": "mul",
    "amin": "min",
    "amax": "max",
    "subtract": "sub",
    "multiply": "mul",
    "divide": "div",
    "floor_divide": "floor_div",
    "minimum": "min",
    "maximum": "max",
    "update": "set",
    "last": "set",
}
UFUNCS = {
    np.add: "add",
    np.subtract: "sub",
    np.multiply: "mul",
    np.divide: "div",
    np.floor_divide: "floor_div",
    np.minimum: "min",
    np.maximum: "max",
    np.fmin: "fmin",
    np.fmax: "fmax",
    np.bitwise_and: "and",
    np.bitwise_or: "or",
    np.bitwise_xor: "xor",
}
MOVES = ("set", "first")
ORDER = ("min", "max", "fmin", "fmax")
BITS = ("and", "or", "xor")
OPS_OF_KIND = {
    "bool": (*MOVES, *ORDER, *BITS, "add", "mul"),
    "int": (*MOVES, *ORDER, *BITS, "add", "sub", "mul", "floor_div", "mean"),
    "float": (*MOVES, *ORDER, "add", "sub", "mul", "div", "floor_div", "mean"),
    "complex": (*MOVES, "add", "sub", "mul", "div", "mean"),
    "longdouble": (*MOVES, *ORDER),
    "datetime": (*MOVES, *ORDER),
    "timedelta": (*MOVES, *ORDER, "add", "sub", "mean"),
    "other": MOVES,
}
OPS = (*OPS_OF_KIND["float"], *BITS)
IDENTITY = {"sub": 0, "mul": 1, "div": 1, "floor_div": 1}


class Options(NamedTuple):
    """The keywords that all scatters share."""

    op: object = "set"
    mode: str = "raise"
    include_self: bool = True
    dtype: object = None
    compensated: bool = False
    casting: str = "same_kind"
    out: np.ndarray | None = None


def canonical_op(op):
    """Return the op's own name for a name, an alias or a ufunc."""
    if isinstance(op, np.ufunc):
        if op not in UFUNCS:
            raise TypeError(f"{op} is not among the ufuncs that scatter knows")
        return UFUNCS[op]
    name = ALIASES.get(op, op)
    if name not in OPS:
        raise ValueError(f"unknown op {op!r}; choose one of {', '.join(OPS)}")
    return name


def check_op(op, dtype, complex_order):
    """Raise TypeError unless `op` is defined for `dtype`."""
    kind = kind_of(dtype)
    if kind == "complex" and op in ORDER and complex_order:
        return
    if op not in OPS_OF_KIND[kind]:
        hint = " (use floor_div)" if op == "div" and kind == "int" else ""
        raise TypeError(f"op {op!r} is not defined for {dtype}{hint}")


def accumulator_of(op, target, dtype):
    """Return the dtype in which `op` is computed; moves have none of their own."""
    if op in MOVES:
        return target
    if dtype is not None and not (op == "mean" and kind_of(target) == "int"):
        chosen = native(np.dtype(dtype))
    else:
        chosen = target if op != "mean" else accumulator_of_mean(target)
    half = chosen == np.float16 or is_bfloat16(chosen)
    return np.dtype(np.float32) if half else chosen


def accumulator_of_mean(target):
    """Return the dtype in which means are summed unless dtype= says otherwise."""
    if kind_of(target) == "int":
        return np.dtype(np.uint64 if target.kind == "u" else np.int64)
    wide = {"float": np.float64, "complex": np.complex128}
    return np.dtype(wide.get(kind_of(target), target))


def check_accumulator(op, dtype, complex_order):
    """Raise TypeError unless `op` can be computed in `dtype`, which the call names."""
    if kind_of(dtype) == "other":
        raise TypeError(f"{dtype} is no accumulator")
    if op not in MOVES:
        check_op(op, dtype, complex_order)
        if op == "mean" and kind_of(dtype) in ("bool", "int"):
            raise TypeError(f"means are not summed in {dtype}")


def result_dtype(op, a, out):
    """Return the dtype of the result; the mean of whole numbers is not whole."""
    if out is None and op == "mean" and kind_of(a.dtype) in ("int", "bool"):
        return np.dtype(np.float64)
    return native(a.dtype if out is None else out.dtype)


def warn_of_zeros(op, accumulator, arrivals):
    """Issue the one RuntimeWarning for integer divisors that are zero."""
    if op == "floor_div" and kind_of(accumulator) == "int":
        if any(value == 0 for values in arrivals.values() for value in values):
            message = "divide by zero encountered in floor_divide"
            warnings.warn(message, RuntimeWarning, stacklevel=4)


def fold(op, old, values, include_self, compensated=False):
    """Combine what arrived at one element, from left to right, with its old value."""
    dtype = old.dtype
    if op == "mean":
        op = "add"
    if include_self:
        start, rest = old, values
    elif op in IDENTITY:
        start, rest = np.array(IDENTITY[op]).astype(dtype)[()], values
    else:
        start, rest = values[0], values[1:]
    if compensated and kind_of(dtype) in ("float", "complex"):
        return neumaier(start, rest, -1 if op == "sub" else 1)
    combine = combiner(op, dtype)
    for value in rest:
        start = combine(start, value)
    return start


def fold_all(flat, old, arrivals, op, options):
    """Store in `flat` what becomes of each element at which something arrived."""
    include_self = bool(options.include_self)
    for target, values in arrivals.items():
        total = fold(op, old[target], values, include_self, options.compensated)
        if op == "mean":
            total = divide_by_count(total, len(values) + include_self, flat.dtype)
        flat[target : target + 1] = rounded(np.asarray(total), flat.dtype)


def move_all(flat, values, targets, op):
    """Store in `flat` the last ("set") or first value of each element, bit for bit."""
    touched = set()
    for number, target in enumerate(targets):
        if target is not None and not (op == "first" and target in touched):
            flat[target : target + 1] = values[number : number + 1]
            touched.add(target)


def check_options(options):
    """Raise for options that do not exist or do not go together; return the op."""
    op = canonical_op(options.op)
    check_mode(options.mode, SCATTER_MODES)
    if options.compensated and op not in ("add", "sub", "mean"):
        raise ValueError("compensated= is for add, sub and mean")
    np.can_cast(np.int8, np.int8, options.casting)
    return op


def check_casts(op, source, target, options):
    """Raise TypeError unless the target can be read and the results be stored.

    A call that names an accumulator wants the casts to it; those back keep the rule.
    """
    casting, named = options.casting, options.dtype
    casts = [(source, target, casting)] if options.out is not None else []
    floored = op == "mean" and kind_of(target) == "int"
    if floored and casting != "unsafe":
        raise TypeError("means of whole numbers are not whole")
    if named is not None and not floored and op not in MOVES:
        widening = "unsafe" if casting == "unsafe" else "same_kind"
        named = np.dtype(named)
        casts += [(target, named, widening), (named, target, casting)]
    for given, wanted, rule in casts:
        if not can_cast(given, wanted, rule):
            raise TypeError(f"cannot cast {given} to {wanted} by rule {rule!r}")


def warn_of_overflow(numbers, targets, dtype):
    """Let NumPy warn of Python numbers that take part and overflow the target."""
    taking = [target is not None for target in targets]
    numbers[np.array(taking, bool)].astype(dtype)


def spread(values, shape):
    """Broadcast values; as in a[i] = v, surplus leading axes of length 1 may go."""
    while values.ndim > len(shape) and values.shape[0] == 1:
        values = values.reshape(values.shape[1:])
    return np.broadcast_to(values, shape).ravel()


def update(a, resolve, values, options, complex_order=False):
    """Do one scatter; `resolve(shape)` returns its places."""
    op = check_options(options)
    out = options.out
    source = as_target(a)
    if out is not None:
        check_writable(out, source.shape)
    target = result_dtype(op, source, out)
    check_op(op, target, complex_order)
    accumulator = accumulator_of(op, target, options.dtype)
    check_casts(op, source.dtype, target, options)
    if options.dtype is not None and not (op == "mean" and kind_of(target) == "int"):
        check_accumulator(op, np.dtype(options.dtype), complex_order)

    places = resolve(source.shape)
    weak = as_weak(values, target)
    values = as_values(values, target, accumulator, options.casting)
    values = spread(values, places.shape)
    if weak is not None:
        warn_of_overflow(spread(weak, places.shape), places.targets, target)
    with np.errstate(all="ignore"):
        flat = plain(source).astype(target)
        if op in MOVES:
            move_all(flat, values, places.targets, op)
        else:
            arrivals = collect(values, places.targets)
            warn_of_zeros(op, accumulator, arrivals)
            fold_all(flat, flat.astype(accumulator), arrivals, op, options)
    return deliver(flat.reshape(source.shape), out)


def collect(values, targets):
    """Return {element: the values that arrive there, in C order of the index}."""
    arrivals = {}
    for value, target in zip(values, targets, strict=True):
        if target is not None:
            arrivals.setdefault(target, []).append(value)
    return arrivals


def deliver(result, out):
    """Return the result, in `out` if there is one."""
    if out is None:
        return result
    np.copyto(out, result, casting="equiv")
    return out


def scatter(
    a,
    index,
    values,
    axis=BATCH_DIMS,
    *,
    op="set",
    batch_dims=0,
    where=None,
    mode="raise",
    include_self=True,
    dtype=None,
    compensated=False,
    casting="same_kind",
    out=None,
):
    """Combine `values` into `a` at positions `index` of one axis."""

    def resolve(shape):
        return axis_places(shape, index, axis, batch_dims, where, mode)

    options = Options(op, mode, include_self, dtype, compensated, casting, out)
    return update(a, resolve, values, options)


def scatter_along_axis(
    a,
    index,
    values,
    axis=-1,
    *,
    op="set",
    where=None,
    mode="raise",
    include_self=True,
    dtype=None,
    compensated=False,
    casting="same_kind",
    out=None,
):
    """Combine `values` into `a`, element by element along an axis."""

    def resolve(shape):
        return along_places(shape, index, axis, where, mode)

    options = Options(op, mode, include_self, dtype, compensated, casting, out)
    return update(a, resolve, values, options)


def scatter_nd(
    a,
    indices,
    values,
    *,
    op="set",
    batch_dims=0,
    where=None,
    mode="raise",
    include_self=True,
    dtype=None,
    compensated=False,
    casting="same_kind",
    out=None,
):
    """Combine `values` into `a` at the tuples in the last axis of `indices`."""

    def resolve(shape):
        return nd_places(shape, indices, batch_dims, where, mode)

    options = Options(op, mode, include_self, dtype, compensated, casting, out)
    return update(a, resolve, values, options)


def scatter_at(
    a,
    indices,
    values,
    *,
    op="set",
    where=None,
    mode="raise",
    include_self=True,
    dtype=None,
    compensated=False,
    casting="same_kind",
    out=None,
):
    """Combine `values` into a[indices]."""

    def resolve(shape):
        return at_places(shape, indices, where, mode)

    options = Options(op, mode, include_self, dtype, compensated, casting, out)
    return update(a, resolve, values, options)


def drop_in(op):
    """Make the in-place twin of a ufunc's .at method."""

    def in_place(a, indices, b, *, axis=None, mode="raise", where=None):
        if not isinstance(a, np.ndarray):
            raise TypeError(f"a must be an ndarray, not {type(a).__name__}")

        def resolve(shape):
            if axis is None:
                return at_places(shape, indices, where, mode)
            return axis_places(shape, indices, axis, 0, where, mode)

        update(a, resolve, b, Options(op, mode, out=a), complex_order=True)

    return in_place


add_at = drop_in("add")
subtract_at = drop_in("sub")
multiply_at = drop_in("mul")
divide_at = drop_in("div")
floor_divide_at = drop_in("floor_div")
minimum_at = drop_in("min")
maximum_at = drop_in("max")
fmin_at = drop_in("fmin")
fmax_at = drop_in("fmax")
bitwise_and_at = drop_in("and")
bitwise_or_at = drop_in("or")
bitwise_xor_at = drop_in("xor")
