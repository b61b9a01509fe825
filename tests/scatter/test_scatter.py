"""The scatter family against its slow twin: every kernel, op, dtype and option.

First the twin itself is compared with NumPy wherever NumPy means the same. The rows of
the kernel table are asked from the extension, so that a new one is tested unasked.
"""

from functools import cache
from itertools import product

import numpy as np
import pytest

import pyscatter as ps
from tests import reference
from tests.cases import (
    DTYPES,
    FORMS,
    INTEGERS,
    LAYOUTS,
    MOVED_DTYPES,
    PATTERNS,
    assert_same,
    assert_same_outcome,
    compare,
    compare_in_place,
    drawer,
    outcome,
    random_index,
    random_values,
    rng_for,
)

OPS = "set add sub mul div floor_div min max fmin fmax mean and or xor first".split()
FLOATS = [name for name in ("f16", "bf16", "f32", "f64") if name in DTYPES]
NUMBERS = [name for name in DTYPES if DTYPES[name].kind not in "mM"]
NAN, INF = np.nan, np.inf


# --- the twin itself, where NumPy means the same --------------------------------------

UFUNCS = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "floor_div": np.floor_divide,
    "min": np.minimum,
    "max": np.maximum,
    "fmin": np.fmin,
    "fmax": np.fmax,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


def is_numpys(op, dtype):
    """Does ufunc.at mean the same, bit for bit, as this op on this dtype?"""
    if dtype in ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "b1"):
        return op != "div" and not (dtype == "b1" and op in ("sub", "floor_div"))
    return dtype in ("f32", "f64") and op not in ("and", "or", "xor")


@pytest.mark.parametrize("form", [name for name in FORMS if name.startswith("at_")])
@pytest.mark.parametrize("op", UFUNCS)
def test_the_twin_agrees_with_ufunc_at(op, form):
    form = FORMS[form]
    for dtype in filter(lambda name: is_numpys(op, name), DTYPES):
        rng = rng_for(op, form.shape, dtype)
        a = random_values(rng, DTYPES[dtype], form.shape, special=False)
        a += a.dtype.type(0)  # NumPy does not order zeros: leave none that is negative
        values = random_values(rng, DTYPES[dtype], form.values, special=False)
        index = form.index(drawer(rng))
        actual = outcome(reference.scatter_at, a, index, values, op=op)
        with np.errstate(all="ignore"):
            UFUNCS[op].at(a, index, values)
        assert_same(actual, a, f"{op} {dtype}")


def test_the_twin_agrees_with_put():
    rng = rng_for("put")
    for mode in ("raise", "clip", "wrap"):
        a, values = rng.random((3, 4)), rng.random(20)
        index = drawer(rng, mode)((20,), 12)
        actual = reference.scatter(a, index, values, None, mode=mode)
        np.put(a, index, values, mode=mode)
        assert_same(actual, a, mode)


def test_the_twin_agrees_with_put_along_axis():
    rng = rng_for("put_along_axis")
    for axis, shape in [(0, (6, 4)), (1, (3, 9)), (-1, (1, 5)), (None, (8,))]:
        a = rng.random((3, 4))
        size = a.size if axis is None else a.shape[axis]
        index = drawer(rng)(shape, size)
        values = rng.random(np.broadcast_shapes(shape, (1,) * len(shape)))
        actual = reference.scatter_along_axis(a, index, values, axis)
        np.put_along_axis(a, index, values, axis)
        assert_same(actual, a, f"axis={axis}")


# --- every op, dtype and option on every form -----------------------------------------

COMBINATIONS = [
    ("raise", False, True),
    ("drop", True, False),
    ("clip", False, False),
    ("wrap", True, True),
]
QUICK_DTYPES = ("b1", "i32", "f16", "f32", "timedelta")
DTYPE_PARAMETERS = [
    pytest.param(name, marks=[] if name in QUICK_DTYPES else pytest.mark.slow)
    for name in DTYPES
]


@pytest.mark.parametrize("dtype", DTYPE_PARAMETERS)
@pytest.mark.parametrize("form", FORMS)
def test_every_op_and_option(form, dtype):
    rng = rng_for(form, dtype)
    form = FORMS[form]
    for op in OPS:
        for mode, masked, include_self in COMBINATIONS:
            a = random_values(rng, DTYPES[dtype], form.shape)
            values = random_values(rng, DTYPES[dtype], form.values)
            options = dict(form.options, op=op, mode=mode, include_self=include_self)
            if masked:
                options["where"] = rng.random(form.entries) < 0.7
            name, index = "scatter" + form.stem, form.index(drawer(rng, mode))
            compare(name, a, index, values, **options)
            compare_in_place(name, a, index, values, **options)


@pytest.mark.parametrize("dtype", MOVED_DTYPES)
@pytest.mark.parametrize("form", FORMS)
def test_what_is_only_moved(form, dtype):
    rng = rng_for(form, dtype)
    form, dtype = FORMS[form], MOVED_DTYPES[dtype]
    a = random_values(rng, dtype, form.shape)
    values = random_values(rng, dtype, form.values)
    index = form.index(drawer(rng))
    for op in ("set", "first", "add", "min"):
        compare("scatter" + form.stem, a, index, values, op=op, **form.options)


@pytest.mark.parametrize("dtype", [*FLOATS, "c64", "c128", "i32"])
@pytest.mark.parametrize("op", ["add", "sub", "mean"])
def test_compensated(op, dtype):
    rng = rng_for(op, dtype)
    for form in ("line", "rows", "nd_elements"):
        form = FORMS[form]
        for special in (False, True):
            a = random_values(rng, DTYPES[dtype], form.shape, special)
            values = random_values(rng, DTYPES[dtype], form.values, special)
            index = form.index(drawer(rng))
            for self in (True, False):
                options = dict(form.options, op=op, compensated=True, include_self=self)
                compare("scatter" + form.stem, a, index, values, **options)


@pytest.mark.parametrize("dtype", ["b1", *INTEGERS])
def test_means_of_whole_numbers(dtype):
    rng = rng_for("mean", dtype)
    a = random_values(rng, DTYPES[dtype], 7)
    values, index = random_values(rng, DTYPES[dtype], 30), rng.integers(0, 6, 30)
    for include_self in (True, False):
        options = {"op": "mean", "include_self": include_self}
        compare("scatter", a, index, values, **options)
        compare_in_place("scatter", a, index, values, casting="unsafe", **options)
        compare_in_place("scatter", a, index, values, **options)
        for out_dtype in ("b1", "i8", "u16", "i64", "f32"):
            outs = np.zeros((2, 7), DTYPES[out_dtype])
            options["casting"] = "unsafe"
            expected = outcome(
                reference.scatter, a, index, values, out=outs[0], **options
            )
            actual = outcome(ps.scatter, a, index, values, out=outs[1], **options)
            assert_same_outcome(actual, expected, f"{dtype} into {out_dtype}")


@pytest.mark.parametrize("accumulator", ["f32", "f64"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_accumulator_dtype(dtype, accumulator):
    rng = rng_for(dtype, accumulator)
    a = random_values(rng, DTYPES[dtype], (5, 3))
    for source in ("f32", "f64"):
        values = random_values(rng, DTYPES[source], (40, 3))
        index = random_index(rng, "uniform", 40, 5)
        for op in ("add", "sub", "mul", "div", "min", "mean"):
            compare("scatter", a, index, values, op=op, dtype=DTYPES[accumulator])


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


@pytest.mark.parametrize("alias", ALIASES)
def test_an_alias_means_the_op(alias):
    a, values = np.array([5.0, 7, 9]), np.array([2.0, 6.0, 0.5])
    expected = reference.scatter(a, [0, 0, 1], values, op=ALIASES[alias])
    assert_same(ps.scatter(a, [0, 0, 1], values, op=alias), expected)


@pytest.mark.parametrize("op", UFUNCS)
def test_a_ufunc_means_the_op(op):
    a, values = np.array([12, 5, 9]), np.array([2, 5, 3])
    if op == "div":
        a, values = a / 2, values / 4
    expected = ps.scatter(a, [0, 0, 1], values, op=op)
    assert_same(ps.scatter(a, [0, 0, 1], values, op=UFUNCS[op]), expected)


# --- every kernel that was built ------------------------------------------------------


def kernel_rows(family):
    """Return (op, dtype, isa) of the kernels of a family, without repetitions."""
    rows = (row for row in ps._core.kernels() if row[0].split("_")[0] == family)
    return sorted({tuple(row[1:4]) for row in rows})


@cache
def kernel_cases(op, dtype):
    """Return calls that reach one row of the table, with their answers.

    Pairs (k32, k64) are compensated sums, t64 stands for both kinds of time; NumPy
    orders complex numbers, so their row is reached through the drop-ins alone.
    """
    options = {"op": op, "compensated": True} if dtype in ("k32", "k64") else {"op": op}
    stored = {"k32": ["f32"], "k64": ["f64"], "t64": ["datetime", "timedelta"]}
    cases = []
    for name in stored.get(dtype, [dtype]):
        rng = rng_for(op, name)
        for width, pattern in product(
            (None, 1, 3, 17), ("uniform", "runs", "all_same")
        ):
            tail = () if width is None else (width,)
            a = random_values(rng, DTYPES[name], (9, *tail))
            values = random_values(rng, DTYPES[name], (67, *tail))
            index = random_index(rng, pattern, 67, 9)
            function = "scatter"
            if dtype in ("c64", "c128") and op in ("min", "max", "fmin", "fmax"):
                function, options = COMPLEX_ORDER[op], {}
            expected = answer(reference, function, a, index, values, options)
            cases.append((function, a, index, values, options, expected))
    return cases


COMPLEX_ORDER = {
    "min": "minimum_at",
    "max": "maximum_at",
    "fmin": "fmin_at",
    "fmax": "fmax_at",
}


def answer(library, function, a, index, values, options):
    """Return what a scatter or a drop-in makes of a copy of `a`."""
    a = a.copy()
    result = outcome(getattr(library, function), a, index, values, **options)
    return a if result is None else result


@pytest.mark.parametrize(("op", "dtype", "isa"), kernel_rows("scatter"))
def test_every_kernel(op, dtype, isa):
    ps._core.force_level(isa)
    for algorithm in (None, *ps._core.algorithms()):
        ps._core.force_algorithm(algorithm)
        for *call, expected in kernel_cases(op, dtype):
            assert_same_outcome(answer(ps, *call), expected, f"{algorithm} {call[0]}")


# --- values: casting, weak scalars, broadcasting --------------------------------------


@pytest.mark.parametrize("target", DTYPES)
def test_values_of_every_dtype(target):
    rng = rng_for("casting", target)
    index = random_index(rng, "uniform", 9, 4)
    for source in DTYPES:
        values = random_values(rng, DTYPES[source], 9, special=False)
        a = random_values(rng, DTYPES[target], 4, special=False)
        for op in ("set", "add", "max"):
            compare("scatter", a, index, values, op=op)
        for casting in ("no", "equiv", "safe"):
            compare("scatter", a, index, values, casting=casting)


WEAK = [0, 1, -1, 200, 2**40, 2**63, 2**64, -(2**63), 10**400, True, 1.5, -2.0, 1e300]
WEAK += [NAN, INF, 1j, [], [1, 2], [1, 2.5], (True, False), [1, 2j], [300, 1], [[1, 2]]]


@pytest.mark.parametrize("dtype", NUMBERS)
def test_weak_values(dtype):
    a = np.ones(2, DTYPES[dtype])
    for value in WEAK:
        index = [0] if np.ndim(value) == 0 else np.zeros(np.shape(value), int)
        for op in ("set", "add"):
            compare("scatter", a, index, value, op=op)


def test_numpy_scalars_are_not_weak():
    a = np.zeros(2, np.float32)
    for scalar in (np.float64(1e300), np.int64(3), np.float32(2), np.bool_(True)):
        compare("scatter", a, [0], scalar, op="add")
    compare("scatter", np.zeros(2, np.int32), [0], np.float64(1), op="add")
    compare("scatter", np.zeros(2, np.int32), [0], [np.float64(1)], op="add")


@pytest.mark.parametrize("form", FORMS)
def test_values_broadcast(form):
    rng = rng_for("broadcast", form)
    form = FORMS[form]
    a, index = rng.random(form.shape), form.index(drawer(rng))
    full = form.values
    smaller = [full[k:] for k in range(len(full) + 1)]
    smaller += [full[:k] + (1,) + full[k + 1 :] for k in range(len(full))]
    wrong = [
        (2, *full),
        (*full, 2),
        (1, *full),
        (*full[:-1], full[-1] + 1) if full else (2,),
    ]
    for shape in smaller + wrong:
        for op in ("set", "add", "first"):
            values = rng.random(shape)
            compare("scatter" + form.stem, a, index, values, op=op, **form.options)


# --- sizes that cross the internal blocks ---------------------------------------------

EDGES = [n + d for n in (2048, 4096, 8192) for d in (-1, 0, 1)]
SLOW_EDGES = [pytest.param(n, marks=pytest.mark.slow) for n in EDGES if n != 2049]


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("n", [2049, *SLOW_EDGES])
def test_block_edges_on_a_line(n, pattern):
    rng = rng_for(n, pattern)
    index = random_index(rng, pattern, n, 300, np.int32)
    calls = [("f32", "add"), ("i64", "max"), ("f16", "mean"), ("u8", "first")]
    # At most sizes every other call, those of a pattern's neighbour the others.
    parity = (EDGES.index(n) + list(PATTERNS).index(pattern)) % 2
    for dtype, op in calls if n == 2049 else calls[parity::2]:
        a = random_values(rng, DTYPES[dtype], 300)
        values = random_values(rng, DTYPES[dtype], n)
        compare("scatter", a, index, values, op=op)
    where = rng.random(n) < 0.9
    compare("scatter", a, index, values, op="add", where=where, mode="drop")


def test_every_small_size():
    rng = rng_for("small")
    for n in range(140):
        a, values = rng.random(50), rng.random(n)
        index = random_index(rng, "negative", n, 50)
        compare("scatter", a, index, values, op="add")
        compare_in_place("scatter", a, index, values, op="first")
        compare("scatter", a, index, values, op="max", where=values > 0.3)
        compare("scatter", a, index, values, op="set", mode="drop")
        compare("gather", a, index)
        compare("gather", a, index, mode="fill", fill_value=7.0)


@pytest.mark.slow
@pytest.mark.parametrize("inner", [1, 3, 7, 100])
@pytest.mark.parametrize("form", ["batch", "along", "nd", "at", "axis"])
def test_entries_of_several_axes_cross_the_blocks(form, inner):
    rng = rng_for(form, inner)
    outer = (9001 if inner == 7 else 4501) // inner
    a = rng.random((outer, 6))
    index = rng.integers(-6, 6, (outer, inner))
    rows = np.arange(outer)[:, None]
    calls = {
        "batch": ("scatter", (a, index), {"batch_dims": 1}),
        "along": ("scatter_along_axis", (a, index), {}),
        "nd": ("scatter_nd", (a, np.stack(np.broadcast_arrays(rows, index), -1)), {}),
        "at": ("scatter_at", (a, (rows, index)), {}),
        "axis": ("scatter", (a[:9], index % 9), {}),
    }
    name, args, options = calls[form]
    tail = (6,) if form == "axis" else ()
    full = (outer, inner, *tail)
    for shape in (full, (outer, *(1,) * len(full[1:])), full[1:], ()):
        values = rng.random(shape)
        where = rng.random((outer, inner) if shape else (inner,)) < 0.8
        compare(name, *args, values, op="add", where=where, **options)
        if shape in (full, ()):
            compare(name, *args, values.T.copy().T if shape else values, **options)
    compare(name.replace("scatter", "gather"), *args, where=where, **options)


@pytest.mark.slow
@pytest.mark.parametrize("n", EDGES)
def test_block_edges_of_rows_and_tuples(n):
    rng = rng_for(n, "rows")
    a, values = rng.random((40, 3)), rng.random((n, 3))
    index = random_index(rng, "negative", n, 40)
    compare("scatter", a, index, values, op="add")
    compare("scatter_along_axis", a, index[:, None], values, 0, op="add")
    pairs = np.stack([index, rng.integers(-3, 3, n)], axis=-1)
    compare("scatter_nd", a, pairs, values[:, 0], op="min")
    compare("scatter_at", a.T, (slice(None), index), values.T, op="sub")
    compare("scatter", a, index.reshape(1, -1), values, op="set", mode="wrap")


# Rows of more than 4 MiB, which are worked on by parts of their columns.
WIDE = (3, 700, 1103)
WIDE_VALUES = {
    "rows": lambda rng: rng.integers(1, 9, (5, *WIDE[1:])).astype("f4"),
    "cast": lambda rng: rng.integers(1, 9, (5, *WIDE[1:])).astype(">i2"),
    "strided": lambda rng: rng.integers(1, 9, (1103, 5, 700)).T.swapaxes(0, 1),
    "one row": lambda rng: rng.integers(1, 9, WIDE[1:]).astype("f8"),
    "columns": lambda rng: rng.integers(1, 9, (700, 1)).astype("f4"),
}


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", WIDE_VALUES)
def test_rows_wider_than_a_stretch(name, threads):
    rng = rng_for("wide", name)
    a = rng.integers(1, 9, WIDE).astype("f4")
    values = WIDE_VALUES[name](rng)
    index = np.array([2, 0, 2, 2, 0])
    every = np.broadcast_to(values, (5, *WIDE[1:])).astype("f4")
    ps.set_num_threads(threads)
    options = {"casting": "unsafe"}
    added = a.copy()
    added[0] += every[1] + every[4]
    added[2] += every[0] + every[2] + every[3]
    assert np.array_equal(ps.scatter(a, index, values, op="add", **options), added)
    mean = added / np.float32([3, 1, 4])[:, None, None]
    assert np.array_equal(ps.scatter(a, index, values, op="mean", **options), mean)
    for op, last in (("set", (4, 3)), ("first", (1, 0))):
        expected = a.copy()
        expected[[0, 2]] = every[list(last)]
        assert np.array_equal(ps.scatter(a, index, values, op=op, **options), expected)
    plan = ps.Plan(index, 3)
    assert np.array_equal(ps.scatter(a, plan, values, op="add", **options), added)
    whole = a.astype("i4")
    wholes = [whole[0], every[1], every[4]]
    divided = ps.scatter(whole, index, values, op="floor_div", **options)[0]
    assert np.array_equal(divided, wholes[0] // wholes[1] // wholes[2])


@pytest.mark.parametrize("position", [0, 1, 2047, 2048, 4095, 4096, 8192, 8999])
def test_a_bad_index_anywhere_stops_the_call(position):
    a, index = np.zeros((5, 2), np.float32), np.arange(9000) % 5
    index[position] = 5
    place = rf"\(position {position} of 9000 in"
    message = f"index 5 is out of bounds for axis 0 with size 5 {place}"
    for out in (None, a):
        with pytest.raises(IndexError, match=message):
            ps.scatter(a, index, 1.0, op="add", out=out)
        with pytest.raises(IndexError, match=message):
            ps.scatter_nd(a, index[:, None], 1.0, op="add", out=out)
        with pytest.raises(IndexError, match="index 5 is out of bounds for axis 0"):
            ps.scatter_at(a, index, 1.0, op="add", out=out)
        with pytest.raises(IndexError, match="index 5 is out of bounds for axis 0"):
            ps.scatter_along_axis(a, index[:, None], 1.0, 0, op="add", out=out)
    assert not a.any()


@pytest.mark.parametrize("n", [1, 2, 31, 32, 33, 64, 65, 2047, 2048, 2049, 4096, 4097])
def test_a_bad_last_index_stops_the_call(n):
    index = np.arange(n)
    index[-1] = 70_000
    a = np.zeros(70_000, np.float32)
    for op in ("add", "set", "first", "mean"):
        for values in (np.float32(1), np.ones(n), np.ones(n, np.float32)[::-1]):
            for call in (ps.scatter, ps.scatter_at):
                with pytest.raises(IndexError, match="index 70000 is out of bounds"):
                    call(a, index, values, op=op, out=a)
    assert not a.any()


@pytest.mark.parametrize("position", [0, 262_143, 262_144, 524_287, 524_288, 599_999])
def test_a_bad_index_far_along_stops_the_call(position):
    index = np.arange(600_000) % 70_000
    index[position] = -70_001
    a = np.zeros(70_000)
    place = rf"size 70000 \(position {position} of 600000"
    for op in ("add", "set", "mean"):
        with pytest.raises(IndexError, match=f"index -70001 is out of .* {place}"):
            ps.scatter(a, index, 1.0, op=op, out=a)
        with pytest.raises(IndexError, match=f"index -70001 is out of .* {place}"):
            ps.scatter_nd(a, index[:, None], 1.0, op=op, out=a)
    assert not a.any()


@pytest.mark.parametrize("layout", ["c", "byteswapped", "sliced"])
@pytest.mark.parametrize("index_dtype", INTEGERS)
def test_a_bad_index_is_named_whatever_its_dtype(index_dtype, layout):
    info = np.iinfo(DTYPES[index_dtype])
    for bad in (info.min, info.min + 1, 100, info.max - 1, info.max):
        index = LAYOUTS[layout](np.array([1, 2, bad, 3], info.dtype))
        if not -5 <= bad < 5:
            message = f"index {bad} is out of bounds for axis 0 with size 5 .position 2"
            with pytest.raises(IndexError, match=message):
                ps.scatter(np.zeros(5), index, 1.0)
            with pytest.raises(IndexError, match=message):
                ps.gather_nd(np.zeros(5), index[:, None])
