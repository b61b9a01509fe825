"""The same bits for any number of threads, any CPU level, any algorithm, any run.

Problems are large enough for all threads to be used. Each is worked once on one thread
by the straight loop of the lowest level, an answer that NumPy confirms where it means
the same; every other way to work it must give the same bytes.
"""

from functools import lru_cache, partial
from itertools import product

import numpy as np
import pytest

import pyscatter as ps
from tests.cases import (
    DTYPES,
    LAYOUTS,
    PATTERNS,
    WRITABLE_LAYOUTS,
    assert_same,
    random_index,
    random_values,
    rng_for,
)

CORE = ps._core
OPS = ("add", "set", "min", "mul", "first", "mean")
SHAPES = {
    "line": (3000,),
    "long line": (200_000,),
    "rows": (1200, 16),
    "pairs": (900, 2),
}
# Multiples of three have indices of int64, which kernels of rows read as they lie.
UPDATES = {"line": 100_000, "long line": 120_000, "rows": 21_000, "pairs": 50_000}
THREADS = (1, 2, 3, 7)


@lru_cache(40)  # all of a dtype: to draw them takes as long as to work them
def problem(dtype, shape, pattern):
    """Return a target, an index and values; exponents vary so that order matters."""
    rng = rng_for(dtype, shape, pattern)
    a_shape, n = SHAPES[shape], UPDATES[shape]
    a = random_values(rng, DTYPES[dtype], a_shape, special=False)
    values = random_values(rng, DTYPES[dtype], (n, *a_shape[1:]), special=False)
    if values.dtype.kind in "fc":
        scale = np.exp2(rng.integers(-3, 4, values.shape)).astype(values.real.dtype)
        values = values * scale
    index_dtype = np.int32 if n % 3 else np.int64
    return a, random_index(rng, pattern, n, a_shape[0], index_dtype), values


def ways():
    """Yield (level, algorithm, threads): each algorithm, then each level by choice."""
    levels, algorithms = CORE.levels(), (None, *CORE.algorithms())
    yield from product(levels[-1:], algorithms, THREADS)
    yield from product(levels[:-1], algorithms, (2,))


def work(way, call):
    """Return what the call gives when it is worked in this way."""
    level, algorithm, threads = way
    CORE.force_level(level)
    CORE.force_algorithm(algorithm)
    with ps.num_threads(threads):
        return call()


def check_all_ways(call, context):
    """Return the plain answer, having checked that every way gives its bytes."""
    plain = work((CORE.levels()[0], CORE.algorithms()[0], 1), call)
    for way in ways():
        result = work(way, call)
        if result.tobytes() != plain.tobytes():
            assert_same(result, plain, f"{way} {context}")
    return plain


UFUNCS = {
    "add": np.add,
    "sub": np.subtract,
    "min": np.minimum,
    "mul": np.multiply,
}


def numpys(op, a, index, values):
    """Return NumPy's answer where it is the same by the rules, else None."""
    a = a.copy()
    if op in ("set", "first"):
        step = -1 if op == "first" else 1
        a[index[::step]] = values[::step]
        return a
    halves_or_products = a.dtype == np.float16 or (op, a.dtype.kind) == ("mul", "c")
    if op == "mean" or halves_or_products:
        return None
    with np.errstate(all="ignore"):
        UFUNCS[op].at(a, index, values)
    return a


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("asked", OPS)
@pytest.mark.parametrize("dtype", ["f32", "f64", "i32", "i64", "c64", "f16"])
def test_scatter_has_the_same_bits(dtype, asked, shape):
    # Complex numbers have no order, and add is covered.
    op = "sub" if (asked, dtype) == ("min", "c64") else asked
    # Every other pattern, or one of four, each op from another one on.
    step = 4 if shape == "long line" else 2
    patterns = list(PATTERNS)[OPS.index(asked) % step :: step]
    for pattern in patterns:
        a, index, values = problem(dtype, shape, pattern)
        plain = check_all_ways(partial(ps.scatter, a, index, values, op=op), pattern)
        expected = numpys(op, a, index, values)
        if expected is not None:
            assert_same(plain, expected, f"NumPy, {pattern}")


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("op", ["add", "set", "first", "mean"])
def test_the_quick_half(op, pattern):
    for shape in ("line", "rows"):
        a, index, values = problem("f32", shape, pattern)
        check_all_ways(partial(ps.scatter, a, index, values, op=op), shape)


def calls_of_other_forms(rng, pattern):
    """Return large calls of every form and option, by name."""
    a = rng.standard_normal((600, 40)).astype(np.float32)
    rows, columns = (random_index(rng, pattern, 60_000, n) for n in a.shape)
    values = rng.standard_normal(60_000).astype(np.float32)
    pairs = np.stack([rows, columns], axis=-1)
    along = rows.reshape(1500, 40)
    batch = (rows % 40).reshape(600, 100)
    return {
        "nd": lambda: ps.scatter_nd(a, pairs, values, op="add"),
        "at": lambda: ps.scatter_at(a, (rows, columns), values, op="add"),
        "along": lambda: ps.scatter_along_axis(
            a, along, values.reshape(1500, 40), 0, op="add"
        ),
        "batch": lambda: ps.scatter(
            a, batch, values.reshape(600, 100), batch_dims=1, op="add"
        ),
        "columns": lambda: ps.scatter(a, columns[:900], 0.1, axis=1, op="add"),
        "masked": lambda: ps.scatter(
            a[:, 0], rows, values, op="sub", where=values > 0, mode="drop"
        ),
        "compensated": lambda: ps.scatter(
            a[:, 0], rows, values, op="add", compensated=True
        ),
        "wide": lambda: ps.scatter(a[:, 0], rows, values, op="add", dtype=np.float64),
        "alone": lambda: ps.scatter(
            a[:, 0], rows, values, op="add", include_self=False
        ),
    }


@pytest.mark.slow
@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_other_forms_have_the_same_bits(pattern):
    calls = calls_of_other_forms(rng_for("forms", pattern), pattern)
    for name, call in calls.items():
        check_all_ways(call, f"{name} {pattern}")


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["f32", "f64", "i8", "f16", "c128"])
def test_gather_has_the_same_bits(dtype):
    for shape, pattern in product(SHAPES, PATTERNS):
        rng, n = rng_for("gather", dtype, shape, pattern), UPDATES[shape]
        a = random_values(rng, DTYPES[dtype], SHAPES[shape], special=False)
        index = random_index(rng, pattern, n, len(a), np.int32 if n % 3 else np.int64)
        plain = check_all_ways(partial(ps.gather, a, index), pattern)
        assert_same(plain, a[index], f"{shape} {pattern}")


@pytest.mark.slow
@pytest.mark.parametrize("width", [1, 16, 17, 20, 40])
def test_gathers_beyond_the_caches_are_numpys(width):
    rng = rng_for("streams", width)
    a = rng.standard_normal((5000, width)).astype(np.float32)
    index = random_index(rng, "negative", 6_000_000 // width, 5000, np.int32)
    expected = a[index]
    memory = np.zeros(expected.nbytes + 64, np.uint8)
    for threads in THREADS:
        with ps.num_threads(threads):
            assert_same(ps.gather(a, index), expected)
            assert_same(ps.gather(a.T, index, axis=1), expected.T.copy())
    for shift in (4, 8, 20, 3):  # rows of out need not stand at whole lines
        out = memory[shift : shift + expected.nbytes].view(np.float32)
        out = out.reshape(expected.shape)
        memory[:] = 77
        ps.gather(a, index, out=out)
        assert_same(out.copy(), expected)
        assert (memory[:shift] == 77).all()
        assert (memory[shift + expected.nbytes :] == 77).all()


LARGE = {"elements": (2_000_000,), "rows": (120_000, 16), "pairs": (900_000, 2)}


@pytest.mark.slow
@pytest.mark.parametrize("pattern", ["uniform", "sorted", "power_law"])
@pytest.mark.parametrize("shape", LARGE)
def test_targets_beyond_the_caches_get_the_same_bits(shape, pattern):
    rng = rng_for(shape, pattern)
    zeros, n = LARGE[shape], 60_000
    index = random_index(rng, pattern, n, zeros[0], np.int32)
    for dtype, op in (("f32", "add"), ("c64", "set"), ("f16", "add")):
        a = np.ones(zeros, DTYPES[dtype])
        values = random_values(rng, DTYPES[dtype], (n, *zeros[1:]), special=False)
        check_all_ways(partial(ps.scatter, a, index, values, op=op), dtype)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", [None, "partition", "owners"])
@pytest.mark.parametrize("n", [600_000, 6_000_000])
def test_long_indices_into_large_targets_are_numpys(n, algorithm):
    CORE.force_algorithm(algorithm)
    rng = rng_for("long", n)
    index = rng.integers(0, 3_000_000, n)
    for dtype, function in (("f32", ps.add_at), ("f64", ps.minimum_at)):
        values = rng.standard_normal(n).astype(DTYPES[dtype])
        a, expected = np.ones((2, 3_000_000), DTYPES[dtype])
        ufunc = np.add if function is ps.add_at else np.minimum
        ufunc.at(expected, index, values)
        function(a, index, values)
        assert_same(a, expected)
    for rows, width in [(n, 2), (n // 10, 16)]:
        values = rng.standard_normal((rows, width)).astype(np.float32)
        target = np.zeros((3_000_000 // width, width), np.float32)
        places = index[:rows] // width
        ps.add_at(target, places, values)
        for column in {0, 1, width - 1}:
            expected = np.zeros(len(target), np.float32)
            np.add.at(expected, places, values[:, column])
            assert_same(target[:, column].copy(), expected)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", CORE.algorithms())
def test_a_target_of_many_bins(algorithm):
    a = np.zeros((100_000_000, 2), np.float32)  # 0.8 GB of which few pages are touched
    index = rng_for("bins").integers(0, len(a), 3000)
    index[::50] = index[7]
    values = np.arange(6000, dtype=np.float32).reshape(-1, 2)
    CORE.force_algorithm(algorithm)
    ps.add_at(a, index, values)
    ps.add_at(a.reshape(-1), 2 * index, values[:, 1])
    expected = {}
    for i, (x, y) in zip(index.tolist(), values.tolist(), strict=True):
        before = expected.get(i, (0, 0))
        expected[i] = (before[0] + x + y, before[1] + y)
    places = np.array(list(expected))
    assert ps.gather(a, places).tolist() == [list(pair) for pair in expected.values()]


def updated(a, layout, index, values, op):
    """Return what an in-place scatter leaves in a target of some layout."""
    target = LAYOUTS[layout](a)
    ps.scatter(target, index, values, op=op, out=target)
    return np.array(target, a.dtype, order="C", subok=False)


@pytest.mark.slow
@pytest.mark.parametrize("layout", WRITABLE_LAYOUTS)
@pytest.mark.parametrize("dtype", ["f32", "f16", "i64"])
def test_targets_of_any_layout_get_the_same_bits(dtype, layout):
    for shape, op in product(("line", "rows"), ("add", "set", "mul", "first")):
        a, index, values = problem(dtype, shape, "power_law")
        index, values = LAYOUTS[layout](index), LAYOUTS[layout](values)
        expected = ps.scatter(a, index, values, op=op)
        for way in ways():
            result = work(way, partial(updated, a, layout, index, values, op))
            assert_same(result, expected, f"{way} {shape} {op}")


@pytest.mark.slow
@pytest.mark.parametrize(
    "values_shape", [(), (1,), (16,), (1, 16), (UPDATES["rows"], 1)]
)
def test_broadcast_values_have_the_same_bits(values_shape):
    a, index, _ = problem("f32", "rows", "power_law")
    values = rng_for("broadcast").standard_normal(values_shape).astype(np.float32)
    for op in ("add", "set", "min"):
        full = np.broadcast_to(values, (len(index), 16)).copy()
        plain = check_all_ways(partial(ps.scatter, a, index, values, op=op), op)
        assert_same(plain, ps.scatter(a, index, full, op=op), op)


def test_the_same_bits_in_place_and_on_every_run():
    a, index, values = problem("f32", "line", "power_law")
    expected = ps.scatter(a, index, values, op="add")
    for threads in THREADS * 5:
        with ps.num_threads(threads):
            target = a.copy()
            ps.add_at(target, index, values)
        assert_same(target, expected, f"{threads} threads")


def test_the_order_is_that_of_the_index():
    big, one = np.float32(2**24), np.float32(1)
    numbers = np.tile(np.array([big, one, -big], np.float32), 40_000)
    for values in (numbers, numbers[1:-1]):
        index = np.zeros(len(values), np.int32)
        for way in ways():
            a = np.zeros(2, np.float32)
            result = work(way, partial(ps.scatter, a, index, values, op="add"))
            assert result.tolist() == [sequential_sum(values), 0], way


def sequential_sum(values):
    """Return the float32 sum from left to right."""
    return np.add.accumulate(values, dtype=np.float32)[-1]
