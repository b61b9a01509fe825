"""Makers of arrays for the tests, and the comparison that all of them use.

Values of every dtype with the awkward ones among them, views of every layout that
NumPy can hand over, index patterns that steer the library to each of its algorithms,
and a bit-for-bit comparison that names the first difference.
"""

import itertools
import warnings
from typing import NamedTuple

import numpy as np
from hypothesis import settings

import pyscatter
from tests import reference

DTYPES = {
    "b1": np.dtype(np.bool_),
    "i8": np.dtype(np.int8),
    "u8": np.dtype(np.uint8),
    "i16": np.dtype(np.int16),
    "u16": np.dtype(np.uint16),
    "i32": np.dtype(np.int32),
    "u32": np.dtype(np.uint32),
    "i64": np.dtype(np.int64),
    "u64": np.dtype(np.uint64),
    "f16": np.dtype(np.float16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "c64": np.dtype(np.complex64),
    "c128": np.dtype(np.complex128),
    "f80": np.dtype(np.longdouble),
    "datetime": np.dtype("M8[s]"),
    "timedelta": np.dtype("m8[s]"),
}
try:
    import ml_dtypes

    DTYPES["bf16"] = np.dtype(ml_dtypes.bfloat16)
except ImportError:  # without the package the dtype does not exist
    pass
MOVED_DTYPES = {
    "bytes": np.dtype("S3"),
    "str": np.dtype("U2"),
    "record": np.dtype([("n", "i4"), ("x", "f8")]),
    "packed": np.dtype([("a", "u1"), ("b", "i2")]),
    "void": np.dtype("V5"),
    "object": np.dtype(object),
    "clongdouble": np.dtype(np.clongdouble),
}
REAL = ("f16", "bf16", "f32", "f64", "f80")
INTEGERS = ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64")


def thinned(combinations):
    """Return all of these, or one of seven in a brief run.

    Few numbers of dtypes, ops or forms are multiples of seven: of each pair of these
    some combinations of three are among them.
    """
    is_brief = settings.get_current_profile_name() == "brief"
    return itertools.islice(combinations, 0, None, 7 if is_brief else 1)


def rng_for(*names):
    """Return a generator whose seed depends on the names alone."""
    return np.random.default_rng(list(repr(names).encode()))


def whole_numbers(rng, dtype, shape):
    """Return random whole numbers, extremes of the dtype included."""
    info = np.iinfo(dtype)
    small = rng.integers(max(info.min, -3), 4, shape)
    wide = rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
    edges = rng.choice(np.array([info.min, info.max], dtype), shape)
    return choose(rng, shape, [small.astype(dtype), wide, edges])


def choose(rng, shape, candidates):
    """Pick each element from one of several arrays."""
    return np.choose(rng.integers(0, len(candidates), shape), candidates)


def real_numbers(rng, dtype, shape, special):
    """Return random reals; special=True: NaN, infinities, zeros of both signs too."""
    normal = rng.standard_normal(shape)
    coarse = rng.integers(-4, 5, shape) / 4
    candidates = [normal, normal, coarse]
    if special:
        odd = [np.nan, np.inf, -np.inf, 0.0, -0.0, -0.0, 1e-40, 6e4]
        candidates += [rng.choice(odd, shape)]
    return choose(rng, shape, candidates).astype(dtype)


def times(rng, dtype, shape, special):
    """Return random times, NaT among them if special."""
    values = rng.integers(-50, 50, shape).astype(dtype)
    holes = rng.random(shape) < (0.1 if special else 0)
    return np.where(holes, np.array("NaT", dtype), values)


def objects(rng, dtype, shape):
    """Return arrays of things that are only moved."""
    raw = rng.integers(0, 200, shape)
    if dtype.kind == "O":
        values = np.empty(shape, object)
        values.ravel()[:] = [f"item {n}" for n in raw.ravel().tolist()]
        return values
    if dtype.kind in "SU":
        return raw.astype(dtype)
    values = np.zeros(shape, dtype)
    size = dtype.itemsize
    octets = rng.integers(0, 256, (*values.shape, size), dtype=np.uint8)
    values = octets.view(dtype).reshape(shape) if size else values
    return values.copy()


def random_values(rng, dtype, shape, special=True):
    """Return an array of `dtype` and `shape` with random contents."""
    return np.asarray(values_of_kind(rng, np.dtype(dtype), shape, special))


def values_of_kind(rng, dtype, shape, special):
    """Return random values by the kind of dtype; 0-d ones may be scalars."""
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        return whole_numbers(rng, dtype, shape)
    if dtype.kind == "f" or dtype.name == "bfloat16":
        return real_numbers(rng, dtype, shape, special)
    if dtype.kind == "c" and dtype.char != "G":
        part = np.empty(0, dtype).real.dtype
        values = np.empty(shape, dtype)
        values.real = real_numbers(rng, part, shape, special)
        values.imag = real_numbers(rng, part, shape, special)
        return values
    if dtype.kind in "mM":
        return times(rng, dtype, shape, special)
    if dtype.char == "G":
        return values_of_kind(rng, np.dtype(complex), shape, special).astype(dtype)
    return objects(rng, dtype, shape)


# --- layouts: same contents, other memory ---------------------------------------------


def fill(view, array):
    """Copy `array` into a freshly made view and return the view."""
    view[...] = array
    return view


def as_sliced(array):
    """Every second element of a larger array, on every axis."""
    roomy = np.zeros([2 * n + 1 for n in array.shape], array.dtype)
    return fill(roomy[(..., *(slice(1, 2 * n, 2) for n in array.shape))], array)


def as_reversed(array):
    """Negative strides on every axis."""
    backwards = (..., *(slice(None, None, -1) for _ in array.shape))
    return fill(np.zeros(array.shape, array.dtype)[backwards], array)


def as_swapped_axes(array):
    """A C-ordered array seen with its axes moved by one."""
    order = np.roll(np.arange(array.ndim), 1)
    base = np.zeros([array.shape[k] for k in order], array.dtype)
    return fill(base.transpose(np.argsort(order)), array)


def as_unaligned(array):
    """An array that starts one byte off."""
    if array.dtype.hasobject:
        return array.copy()
    raw = np.zeros(array.nbytes + 1, np.uint8)[1:]
    return fill(raw.view(array.dtype).reshape(array.shape), array)


def as_record_field(array):
    """A field of packed records, so that strides are no multiple of the item size."""
    record = np.dtype([("pad", "u1"), ("field", array.dtype), ("more", "u1")])
    return fill(np.zeros(array.shape, record)["field"], array)


def as_byteswapped(array):
    """The other byte order, where the dtype has one."""
    if array.dtype.name == "bfloat16":
        return array.copy()
    return array.astype(array.dtype.newbyteorder("S"))


def as_readonly(array):
    """An array that must not be written to."""
    array = array.copy()
    array.flags.writeable = False
    return array


def as_odd_strides(array):
    """Axes of length 1 with strides that lead nowhere; NumPy calls it contiguous."""
    array = np.array(array, order="C")
    strides = [
        -(10**9) - 7 if size == 1 else stride
        for size, stride in zip(array.shape, array.strides, strict=True)
    ]
    return np.lib.stride_tricks.as_strided(array, strides=strides)


class PlainSubclass(np.ndarray):
    """A subclass that is plain memory, as np.memmap is."""


LAYOUTS = {
    "c": lambda array: np.array(array, order="C"),
    "fortran": lambda array: np.array(array, order="F"),
    "sliced": as_sliced,
    "reversed": as_reversed,
    "swapped_axes": as_swapped_axes,
    "unaligned": as_unaligned,
    "record_field": as_record_field,
    "byteswapped": as_byteswapped,
    "odd_strides": as_odd_strides,
    "subclass": lambda array: array.copy().view(PlainSubclass),
    "readonly": as_readonly,
}
WRITABLE_LAYOUTS = [name for name in LAYOUTS if name != "readonly"]


# --- index patterns -------------------------------------------------------------------


def runs(rng, n, size):
    """Return positions in runs of random length, as sorted keys of a join would be."""
    lengths = rng.integers(1, 9, n)
    return np.repeat(rng.integers(0, size, n), lengths)[:n]


def outliers(rng, n, size):
    """Return stretches below and at the middle, with one stray position in each.

    Cut in the middle, each half owns all but one of what stands in a stretch.
    """
    middle = size // 2
    is_high = (np.arange(n) // 2048 % 2) ^ (np.arange(n) % 2048 == 1000)
    return np.where(is_high, middle, rng.integers(0, max(middle, 1), n))


def negative(rng, n, size):
    """Return positions counted from the end as well as from the front."""
    return rng.integers(-size, size, n)


PATTERNS = {
    "uniform": lambda rng, n, size: rng.integers(0, size, n),
    "sorted": lambda rng, n, size: np.sort(rng.integers(0, size, n)),
    "all_same": lambda rng, n, size: np.full(n, size // 2),
    "runs": runs,
    "reversed": lambda rng, n, size: np.sort(rng.integers(0, size, n))[::-1].copy(),
    "alternating": lambda rng, n, size: np.arange(n) % 2 * (size - 1),
    "power_law": lambda rng, n, size: np.minimum(rng.zipf(1.3, n) - 1, size - 1),
    "outliers": outliers,
    "negative": negative,
}


def random_index(rng, pattern, n, size, dtype=np.int64):
    """Return n positions on an axis of `size`, as an array of `dtype`."""
    return np.asarray(PATTERNS[pattern](rng, n, size)).astype(dtype)


# --- forms: each way to say where, with shapes that leave nothing to chance -----------


class Form(NamedTuple):
    """One addressing on one shape; `index(draw)` makes it from draw(shape, size)."""

    stem: str  # scatter{stem} and gather{stem} are the functions
    shape: tuple  # of the target
    index: object
    values: tuple  # shape of the values, and of what is gathered
    entries: tuple  # shape of where=
    options: dict


def tuples(draw, entries, sizes):
    """Return index tuples over axes of these sizes, in the last axis."""
    return np.stack([draw(entries, size) for size in sizes], axis=-1)


HALF_MASK = np.arange(12).reshape(4, 3) % 3 != 1
FORMS = {
    "line": Form("", (7,), lambda d: d((12,), 7), (12,), (12,), {}),
    "rows": Form("", (5, 4), lambda d: d((9,), 5), (9, 4), (9,), {}),
    "one_row": Form("", (5, 4), lambda d: d((), 5), (4,), (), {}),
    "columns": Form("", (3, 6), lambda d: d((8,), 6), (3, 8), (8,), {"axis": 1}),
    "middle": Form(
        "", (2, 5, 3), lambda d: d((2, 4), 5), (2, 2, 4, 3), (2, 4), {"axis": -2}
    ),
    "flat": Form("", (3, 4), lambda d: d((2, 5), 12), (2, 5), (2, 5), {"axis": None}),
    "batch": Form(
        "", (3, 5, 2), lambda d: d((3, 4), 5), (3, 4, 2), (3, 4), {"batch_dims": 1}
    ),
    "batch_last": Form(
        "",
        (3, 2, 5),
        lambda d: d((3, 4), 5),
        (3, 2, 4),
        (3, 4),
        {"batch_dims": 1, "axis": 2},
    ),
    "along_first": Form(
        "_along_axis", (5, 3), lambda d: d((7, 3), 5), (7, 3), (7, 3), {"axis": 0}
    ),
    "along_last": Form(
        "_along_axis", (3, 6), lambda d: d((3, 8), 6), (3, 8), (3, 8), {}
    ),
    "along_shared": Form(
        "_along_axis", (3, 6), lambda d: d((1, 8), 6), (3, 8), (1, 8), {"axis": 1}
    ),
    "along_flat": Form(
        "_along_axis", (3, 4), lambda d: d((10,), 12), (10,), (10,), {"axis": None}
    ),
    "nd_elements": Form(
        "_nd", (4, 5), lambda d: tuples(d, (11,), (4, 5)), (11,), (11,), {}
    ),
    "nd_rows": Form(
        "_nd", (4, 3, 2), lambda d: tuples(d, (2, 3), (4,)), (2, 3, 3, 2), (2, 3), {}
    ),
    "nd_one": Form("_nd", (3, 7), lambda d: tuples(d, (), (3, 7)), (), (), {}),
    "nd_batch": Form(
        "_nd",
        (3, 4, 5),
        lambda d: tuples(d, (3, 6), (4, 5)),
        (3, 6),
        (3, 6),
        {"batch_dims": 1},
    ),
    "at_line": Form("_at", (7,), lambda d: d((12,), 7), (12,), (12,), {}),
    "at_slices": Form(
        "_at",
        (4, 6, 5),
        lambda d: (slice(None, None, -1), d((5,), 6), slice(1, 4, 2)),
        (4, 5, 2),
        (5,),
        {},
    ),
    "at_pairs": Form(
        "_at",
        (4, 3, 5),
        lambda d: (d((3, 1), 4), slice(None), d((2,), 5)),
        (3, 2, 3),
        (3, 2),
        {},
    ),
    "at_mask": Form(
        "_at", (4, 3, 2), lambda d: (HALF_MASK, d((1,), 2)), (8,), (8,), {}
    ),
    "at_newaxis": Form(
        "_at", (3, 5), lambda d: (None, 1, ..., d((4,), 5)), (4, 1), (4,), {}
    ),
}


def drawer(rng, mode="raise", dtype=np.int64, layout="c"):
    """Return draw(shape, size): random positions, beyond both ends unless "raise"."""
    reach = 1 if mode == "raise" else 2

    def draw(shape, size):
        low = -reach * size if np.dtype(dtype).kind == "i" else 0
        positions = np.asarray(rng.integers(low, reach * size, shape))
        return LAYOUTS[layout](positions.astype(dtype))

    return draw


# --- masks ----------------------------------------------------------------------------


def one_true(rng, n):
    """Return a mask with one true entry, if there is any entry."""
    return np.arange(n) == rng.integers(0, max(n, 1))


def mask_runs(rng, n):
    """Return a mask in runs, whole blocks of 64 entries among them."""
    n_runs = n + 1 if n < 1000 else n // 20  # five times as many as are needed
    lengths = rng.integers(1, 200, n_runs)
    return np.repeat(np.arange(n_runs) % 2 == 0, lengths)[:n]


MASKS = {
    "none": lambda rng, n: np.zeros(n, bool),
    "one": one_true,
    "sparse": lambda rng, n: rng.random(n) < 0.01,
    "half": lambda rng, n: rng.random(n) < 0.5,
    "most": lambda rng, n: rng.random(n) < 0.99,
    "all": lambda rng, n: np.ones(n, bool),
    "runs": mask_runs,
    "alternating": lambda rng, n: np.arange(n) % 2 == 1,
}
# Around the 64 entries that kernels test at once, and the blocks that ops work in.
MASK_SIZES = (
    *range(18),
    *(64 * k + d for k in (1, 2, 8, 16) for d in (-1, 0, 1)),
    *(k + d for k in (2048, 4096, 8192, 16384, 65536) for d in (-1, 0, 1)),
)


def random_mask(rng, kind, shape):
    """Return a mask of `shape`; kinds are those of MASKS."""
    n = int(np.prod(shape))
    return np.asarray(MASKS[kind](rng, n), bool).reshape(shape)


# What masks of a shape mean in arrays of another: {name: (array, mask)}.
MASK_FORMS = {
    "line": ((9,), (9,)),
    "whole": ((4, 5), (4, 5)),
    "long": ((3, 2, 50), (3, 2, 50)),
    "prefix": ((4, 3, 2), (4,)),
    "prefix of two": ((4, 3, 2), (4, 3)),
    "prefix of none": ((3, 4), ()),
    "columns": ((4, 5), (1, 5)),
    "rows": ((4, 5), (4, 1)),
    "middle": ((2, 3, 4), (2, 1, 4)),
    "one for all": ((4, 5), (1, 1)),
    "no axes": ((), ()),
    "nothing": ((0, 3), (0, 3)),
    "nothing in rows": ((3, 0), (3,)),
    "nothing to spread": ((0, 3), (1, 3)),
}


# --- every way to say where, on three elements of which two are named ----------------

TWO_OF_THREE = np.array([True, True, False])
SCATTERS = {
    "axis": lambda a, v, **o: pyscatter.scatter(a, [0, 1], v, **o),
    "flat": lambda a, v, **o: pyscatter.scatter(a, [0, 1], v, axis=None, **o),
    "plan": lambda a, v, **o: pyscatter.scatter(a, pyscatter.Plan([0, 1], 3), v, **o),
    "along": lambda a, v, **o: pyscatter.scatter_along_axis(a, [0, 1], v, **o),
    "nd": lambda a, v, **o: pyscatter.scatter_nd(a, [[0], [1]], v, **o),
    "at": lambda a, v, **o: pyscatter.scatter_at(a, (np.array([0, 1]),), v, **o),
    "slice": lambda a, v, **o: pyscatter.scatter_at(a, slice(2), v, **o),
    "packed": lambda a, v, **o: pyscatter.scatter_where(
        a, TWO_OF_THREE, v, packed=True, **o
    ),
    "where": lambda a, v, **o: pyscatter.scatter_where(
        a, TWO_OF_THREE, for_three(v), **o
    ),
}
GATHERS = {
    "axis": lambda a, **o: pyscatter.gather(a, [1, 9], **o),
    "plan": lambda a, **o: pyscatter.gather(
        a, pyscatter.Plan([1, 9], 3, mode="drop"), **o
    ),
    "along": lambda a, **o: pyscatter.gather_along_axis(a, [1, 9], **o),
    "nd": lambda a, **o: pyscatter.gather_nd(a, [[1], [9]], **o),
    "at": lambda a, **o: pyscatter.gather_at(a, [1, 9], **o),
}


def for_three(values):
    """Return values for three elements from those for the two that are named."""
    return (
        [*values, values[-1]]
        if type(values) is list
        else np.append(values, values[-1:])
    )


# --- comparison -----------------------------------------------------------------------


def same_bits(x, y):
    """Return elementwise equality of bits; all NaNs are one, -0.0 is not +0.0."""
    kind = x.dtype.kind
    if kind == "c":
        return same_bits(x.real, y.real) & same_bits(x.imag, y.imag)
    if kind == "f" or x.dtype.name == "bfloat16":
        equal = (x == y) & (np.signbit(x) == np.signbit(y))
        return equal | ((x != x) & (y != y))
    if kind in "mM":
        return x.view(np.int64) == y.view(np.int64)
    if kind == "b":
        return (x.view(np.uint8) != 0) == (y.view(np.uint8) != 0)
    if kind == "V":
        octets = f"V{x.dtype.itemsize}"
        return np.asarray(x.view(octets) == y.view(octets))
    return np.asarray(x == y)


def describe(where, actual, expected):
    """Return the place of the first difference in words."""
    first = tuple(int(i) for i in np.argwhere(where)[0])
    return (
        f"{int(where.sum())} of {where.size} elements differ, first at {first}: "
        f"{actual[first]!r} is not {expected[first]!r}"
    )


def assert_same(actual, expected, context=""):
    """Fail unless both arrays agree in dtype, shape and every bit."""
    assert isinstance(actual, np.ndarray), f"{context}: {type(actual)} is no array"
    assert actual.shape == expected.shape, f"{context}: {actual.shape=}"
    assert actual.dtype == expected.dtype, f"{context}: {actual.dtype=}"
    if not actual.dtype.hasobject and actual.tobytes() == expected.tobytes():
        return
    native = actual.dtype.newbyteorder("=") if not actual.dtype.isnative else None
    plain = [np.array(x, native or x.dtype, order="C") for x in (actual, expected)]
    differs = ~same_bits(*plain)
    assert not differs.any(), f"{context}: {describe(differs, *plain)}"


def assert_fresh(result, *inputs):
    """Fail unless `result` is a base-class, native, C-ordered array of its own."""
    assert type(result) is np.ndarray
    assert result.flags.c_contiguous and result.flags.writeable
    assert result.dtype.isnative
    assert not any(np.shares_memory(result, array) for array in inputs)


def snapshot(array):
    """Return all bytes of the array that owns the memory, to be compared later."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array.tobytes()


def outcome(call, *args, **kwargs):
    """Return what a call gives: its result, or the class of what it raises."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            return call(*args, **kwargs)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        return type(error)


def assert_same_outcome(actual, expected, context=""):
    """Fail unless both raised the same class, or both returned the same bits."""
    if isinstance(expected, type) or isinstance(actual, type):
        assert actual is expected, f"{context}: {actual!r} is not {expected!r}"
    else:
        assert_same(actual, expected, context)


def compare(name, *args, **kwargs):
    """Call a function and its slow twin; fail unless the outcomes are the same."""
    expected = outcome(getattr(reference, name), *args, **kwargs)
    actual = outcome(getattr(pyscatter, name), *args, **kwargs)
    assert_same_outcome(actual, expected, f"{name} {kwargs}")
    return actual


def compare_in_place(name, a, *args, **kwargs):
    """The same with out=a, on two targets of the same contents; return the target."""
    twin = a.copy(order="K").view(np.ndarray)
    expected = outcome(getattr(reference, name), twin, *args, out=twin, **kwargs)
    actual = outcome(getattr(pyscatter, name), a, *args, out=a, **kwargs)
    assert isinstance(expected, type) or actual is a
    assert_same_outcome(actual, expected, f"{name} in place {kwargs}")
    assert_same(np.asarray(a), twin, f"{name}: target after the call, {kwargs}")
    return a
