"""Calls with a plan: the bits of the plain call, however they are worked."""

from functools import partial
from itertools import product

import numpy as np
import pytest

import pyscatter as ps
from tests.cases import (
    DTYPES,
    PATTERNS,
    assert_same,
    random_index,
    random_values,
    rng_for,
)

CORE = ps._core
MODES = ("raise", "drop", "clip", "wrap")
WAYS = [(None, 1), (None, 3), ("grouped", 1), ("grouped", 2), ("straight", 1)]


def same_as_plain(call, plan, index, mode="raise"):
    """Check that every way to work `call(index, **mode)` with the plan has its bits."""
    expected = call(index, mode=mode)
    for algorithm, threads in WAYS:
        CORE.force_algorithm(algorithm)
        with ps.num_threads(threads):
            result = call(plan)
        if result.tobytes() != expected.tobytes():
            assert_same(result, expected, f"{algorithm}, {threads} threads")
    CORE.force_algorithm(None)
    return expected


def scattered(a, values, index, **options):
    """A scatter with the index last."""
    return ps.scatter(a, index, values, **options)


def in_place(a, values, index, **options):
    """The same into a copy that the caller sees."""
    result = a.copy()
    return ps.scatter(result, index, values, out=result, **options)


def plan_kernels():
    """The (op, dtype) pairs that plans serve, by kernels of their own or by lists."""
    rows = {row[1:3] for row in CORE.kernels() if row[0] == "scatter"}
    named = {(op, {"t64": "timedelta"}.get(dtype, dtype)) for op, dtype in rows}
    orders = {"min", "max", "fmin", "fmax"}  # which complex numbers lack, in scatter
    return sorted(
        (op, dtype)
        for op, dtype in named
        if dtype in DTYPES
        and not (op in orders and dtype in ("c64", "c128"))
        and op != "set"
    )


def compare_kernels(a, plan, index, values, op, context):
    for algorithm in ("grouped", "straight"):
        CORE.force_algorithm(algorithm)
        result = ps.scatter(a, plan, values, op=op)
        expected = ps.scatter(a, index, values, op=op)
        if result.tobytes() != expected.tobytes():
            assert_same(result, expected, f"{algorithm}, {context}")


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize("op", sorted({op for op, _ in plan_kernels()}))
def test_every_kernel(op):
    """Widths cover eight lines, four, one and less, on each level."""
    for dtype in [dtype for row_op, dtype in plan_kernels() if row_op == op]:
        rng = rng_for(op, dtype)
        for width, level in product((2, 16, 37, 150), CORE.levels()):
            CORE.force_level(level)
            a = random_values(rng, DTYPES[dtype], (60, width))
            index = rng.integers(-60, 60, 400)
            values = random_values(rng, DTYPES[dtype], (400, width))
            for chosen in (index, np.sort(index % 60)):
                plan = ps.Plan(chosen, 60)
                compare_kernels(a, plan, chosen, values, op, f"{dtype}, {width}")


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("op", ["add", "set", "first", "mean", "max"])
def test_patterns(op, pattern):
    for dtype, width in (("f32", 20), ("f64", 1), ("f16", 3), ("i32", 33)):
        rng = rng_for(op, pattern, dtype)
        shape = (300,) if width == 1 else (300, width)
        a = random_values(rng, DTYPES[dtype], shape, special=False)
        index = random_index(rng, pattern, 5000, 300, np.int64)
        values = random_values(rng, DTYPES[dtype], (5000, *shape[1:]), special=False)
        call = partial(scattered, a, values, op=op)
        same_as_plain(call, ps.Plan(index, 300), index)


@pytest.mark.parametrize("kind", ["power", "sorted", "hot", "drop"])
def test_targets_beyond_the_cache(kind):
    """Large enough for the choices that are made without a test's force."""
    rng, size, n = rng_for(kind), 45_000, 60_000
    index = (size * rng.random(n) ** 3).astype(np.int64)
    index = {
        "power": rng.permutation(size)[index],
        "sorted": np.sort(index),
        "hot": np.where(rng.random(n) < 0.7, 77, index),
        "drop": np.where(rng.random(n) < 0.1, -1, index),
    }[kind]
    mode = "drop" if kind == "drop" else "raise"
    a = rng.standard_normal((size, 64), np.float32)
    values = rng.standard_normal((n, 64), np.float32)
    plan = ps.Plan(index, size, mode=mode)
    for op in ("add", "set"):
        same_as_plain(partial(in_place, a, values, op=op), plan, index, mode)
    expected = ps.gather(a, index, mode=mode)
    with ps.num_threads(2):
        assert ps.gather(a, plan).tobytes() == expected.tobytes()


OPTIONS = {
    "masked": {"op": "add", "where": np.arange(12).reshape(3, 4) % 3 > 0},
    "axis": {"op": "add", "axis": 1},
    "flat": {"op": "max", "axis": None},
    "fresh start": {"op": "mul", "include_self": False},
    "wide": {"op": "add", "dtype": "f8"},
    "compensated": {"op": "add", "compensated": True},
    "ufunc": {"op": np.subtract},
}


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("mode", MODES)
def test_options(name, mode):
    options = OPTIONS[name]
    rng = rng_for(name, mode)
    a = random_values(rng, np.float32, (6, 6, 5), special=False)
    size = a.size if options.get("axis", 0) is None else 6
    index = rng.integers(-size, size, (3, 4))
    plan = ps.Plan(index, size, mode=mode)
    values = {"flat": 2.5, "axis": np.arange(5.0)}.get(name, np.ones((3, 1, 6, 5)))
    same_as_plain(partial(scattered, a, values, **options), plan, index, mode)
    assert ps.scatter(a, plan, values, mode=mode, **options).shape == a.shape


@pytest.mark.parametrize("mode", MODES)
def test_gathers(mode):
    rng = rng_for("gather", mode)
    index = rng.integers(-7, 7, (4, 5))
    plan = ps.Plan(index, 7, mode=mode)
    for dtype, shape in (("f4", (7,)), ("i2", (7, 3)), ("S3", (7,)), (object, (7, 2))):
        a = random_values(rng, np.dtype(dtype), shape)
        fill = {} if mode != "drop" else {"fill_value": a.ravel()[3]}
        for options in ({}, {"where": index > -3}, fill):
            expected = ps.gather(a, index, mode=mode, **options)
            assert_same(ps.gather(a, plan, **options), expected, str(options))
    a = random_values(rng, np.float32, (3, 7, 2))
    assert_same(
        ps.gather(a, plan, axis=1), ps.gather(a, index, axis=1, mode=mode), "axis"
    )
    a, out = random_values(rng, np.float32, (4, 7)), np.zeros((4, 5), np.float32)
    expected = ps.gather(a, index, batch_dims=1, mode=mode)
    assert ps.gather(a, plan, batch_dims=1, out=out) is out
    assert_same(out, expected, "batches")
    if mode == "drop":
        assert_same(ps.gather(a, plan, batch_dims=1, mode="fill"), expected, "fill")


def test_batches_objects_and_layouts():
    index = np.array([[0, 2], [2, 2]])
    plan = ps.Plan(index, 3)
    a = np.zeros((2, 3))
    assert ps.scatter(a, plan, 1.0, batch_dims=1, op="add").tolist() == [
        [1, 0, 1],
        [0, 0, 2],
    ]
    things = np.array([None, "x", 3], object)
    assert ps.scatter(things, plan, [["a", "b"], ["c", "d"]]).tolist() == [
        "a",
        "x",
        "d",
    ]
    for target in (np.zeros((3, 4)).T[1:], np.zeros(9, ">f8")[::3], np.zeros((3, 3)).T):
        plan = ps.Plan(index, len(target))
        expected = ps.scatter(target, index, 2.0, op="add")
        ps.scatter(target, plan, 2.0, op="add", out=target)
        assert np.array_equal(target, expected)
    flat = np.zeros((3, 4)).T
    ps.scatter(flat, ps.Plan([1, 1, 5], 12), 1.0, axis=None, op="add", out=flat)
    assert flat.ravel().tolist() == [0, 2, 0, 0, 0, 1] + [0] * 6


@pytest.mark.parametrize("name", ["add_at", "minimum_at", "divide_at", "bitwise_or_at"])
def test_drop_ins(name):
    dtype = np.int64 if "bitwise" in name else float
    index = np.arange(50) * 7 % 9 - 4
    plan, values = ps.Plan(index, 9), np.arange(1, 51).astype(dtype)
    one, two = np.arange(9).astype(dtype), np.arange(9).astype(dtype)
    assert getattr(ps, name)(one, plan, values, axis=0) is None
    getattr(ps, name)(two, index, values, axis=0)
    assert one.tolist() == two.tolist()
