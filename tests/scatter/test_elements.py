"""Single elements by the loops that read the index as it lies, and by way of a copy.

Indices are long enough for whole groups of entries. What groups stop at (negatives,
NaN, -0.0, an index out of bounds) stands in the middle of one. Expected values come
from plain loops over the rules.
"""

import threading
from itertools import product

import numpy as np
import pytest

import pyscatter as ps
from tests.cases import DTYPES, assert_same, rng_for

CORE = ps._core
EXTREMES = ("min", "max", "fmin", "fmax")
DROP_INS = dict(
    zip(EXTREMES, (ps.minimum_at, ps.maximum_at, ps.fmin_at, ps.fmax_at), strict=True)
)
NAN, INF = np.nan, np.inf
# What values are drawn from, by name: ties, ties of zeros, -0.0 and NaN that come late.
POOLS = {
    "zeros and ones": [0.0, 1.0],
    "zeros": [0.0, -0.0],
    "rounded": [0.0, -0.0, 1.0, -1.0, 2.0, -2.0],
    "infinite": [INF, -INF, 0.0, 1.0],
    "with NaN": [0.0, -0.0, 1.0, -1.0, NAN, -NAN, INF],
    "one late": [0.0, 1.0, 2.0],
}


def chosen(op, old, value):
    """Return which of two floats stays, by the rules of combine."""
    if np.isnan(old) or np.isnan(value):
        old_stays = np.isnan(old) if op in ("min", "max") else np.isnan(value)
        return old if old_stays else value
    if old == value:
        if np.signbit(old) == np.signbit(value):
            return old
        return old if np.signbit(old) == (op in ("min", "fmin")) else value
    return old if (old < value) == (op in ("min", "fmin")) else value


def folded(op, a, index, values):
    """Return `a` after all entries, one by one."""
    result = a.copy()
    for i, value in zip(index.tolist(), values, strict=True):
        result[i] = chosen(op, result[i], value)
    return result


def all_ways():
    """Yield every level with what is chosen, then the last with every algorithm."""
    levels = CORE.levels()
    algorithms = product(levels[-1:], CORE.algorithms())
    for level, algorithm in (*product(levels, [None]), *algorithms):
        CORE.force_level(level)
        CORE.force_algorithm(algorithm)
        yield level, algorithm


@pytest.mark.parametrize("op", EXTREMES)
def test_long_doubles_by_all_of_their_digits(op):
    """Neighbours, subnormal numbers, both zeros, infinities, and NaN."""
    rng = rng_for("long doubles", op)
    one, least = np.longdouble(1), np.nextafter(np.longdouble(0), np.longdouble(1))
    info = np.finfo(np.longdouble)
    pool = [0 * one, one, one + info.eps, one - info.epsneg, least, 3 * least, info.max]
    pool += [info.tiny, info.tiny - least, 2 * one, np.longdouble(INF)]
    pool = np.array([*pool, *(-x for x in pool)], np.longdouble)
    n, size = 400, 50
    for own in (pool, np.append(pool, [NAN, -NAN]).astype(np.longdouble)):
        index = rng.integers(-size, size, n)
        a, values = own[rng.integers(0, len(own), size)], rng.choice(own, n)
        expected = folded(op, a, index, values)
        for _ in all_ways():
            for kind in (np.int64, np.int32):
                out = a.copy()
                DROP_INS[op](out, index.astype(kind), values)
                assert_same(out, expected)


@pytest.mark.parametrize("first", [0.0, -0.0, -5.0, NAN])
@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_ties_zeros_and_nan_follow_the_rules(dtype, pool, first):
    rng = rng_for(dtype, pool, first)
    n, size = 600, 20
    index = rng.integers(-size, size, n).astype(rng.choice([np.int32, np.int64]))
    index[:500] %= size
    values = rng.choice(np.array(POOLS[pool], DTYPES[dtype]), n)
    if pool == "one late":
        values[303:311] = [-0.0, 0.0, NAN, -0.0, 1.0, -1.0, -NAN, 0.0]
    a = np.full(size, first, DTYPES[dtype])
    for op in EXTREMES:
        expected = {n: folded(op, a, index[:n], values[:n]) for n in (9, 100, n)}
        expected["sorted"] = folded(op, a, np.sort(index), values)
        for way in all_ways():
            for name in expected:
                where = np.sort(index) if name == "sorted" else index[:name]
                some = values[: len(where)]
                target = a.copy()
                DROP_INS[op](target, where, some)
                assert_same(target, expected[name], f"{way} {op} {name}")
                fresh = ps.scatter(a, where, some, op=op)
                assert_same(fresh, expected[name], f"{way} {op} {name}")


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_zeros_of_both_signs_meet_in_blocks_that_follow_each_other(dtype, apart):
    """The one that comes first is what a later block finds; values beside which others
    lie are packed, into blocks that are shorter."""
    n, size = (6000, 7) if apart else (600_000, 1000)
    place = np.array([n // 20, n // 20 + n // 2]) // size * size + 3
    index = np.arange(n) % size
    for op, zeros in product(EXTREMES, ((0.0, -0.0), (-0.0, 0.0))):
        old = 5.0 if op in ("min", "fmin") else -5.0
        values = np.full(2 * n, old, DTYPES[dtype])[:: 2 if apart else 1][:n]
        values[place] = zeros
        a = np.full(size, old, DTYPES[dtype])
        expected = a.copy()
        expected[3] = -0.0 if op in ("min", "fmin") else 0.0
        assert_same(ps.scatter(a, index, values, op=op), expected, f"{op} {zeros}")
        DROP_INS[op](a, index, values)
        assert_same(a, expected, f"{op} {zeros}")


@pytest.mark.parametrize("op", ["max", "min", "add", "mul"])
@pytest.mark.parametrize("dtype", ["b1", "i8", "u16", "i32", "u64", "f64", "c64"])
def test_longer_indices_of_any_type_are_numpys(dtype, op):
    if dtype == "c64" and op in ("max", "min"):
        op = "sub"
    rng = rng_for(dtype, op)
    ufunc = {"max": np.maximum, "min": np.minimum, "add": np.add}.get(op, np.multiply)
    ufunc = np.subtract if op == "sub" else ufunc
    for n, size in ((57, 5), (5000, 7), (5000, 300), (5000, 9000)):
        index = rng.integers(0, size, n)
        values = rng.integers(0, 3, n).astype(DTYPES[dtype])
        a = rng.integers(0, 3, size).astype(DTYPES[dtype])
        expected = a.copy()
        ufunc.at(expected, index, values)
        for way in all_ways():
            for some in (index, index.astype(np.int32), index - size * (index % 2)):
                target = a.copy()
                ps.scatter(target, some, values, op=op, out=target)
                assert_same(target, expected, f"{way} {n} {size}")


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["partition", None])
@pytest.mark.parametrize("index_dtype", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", ["i32", "f32", "f64", "u64"])
def test_bins_without_lists_are_numpys(dtype, index_dtype, algorithm):
    """Also of a last bin that is short, and with an index that is bad at its end."""
    CORE.force_algorithm(algorithm)
    rng = rng_for("bins", dtype, index_dtype)
    size, n = 3_000_000, 800_000
    index = rng.integers(-size, size, n).astype(index_dtype)
    values = rng.integers(0, 50, n).astype(DTYPES[dtype])
    for op, ufunc in (("add", np.add), ("min", np.minimum), ("set", None)):
        expected = np.full(size, 20, DTYPES[dtype])
        if ufunc is None:
            expected[index] = values
        else:
            ufunc.at(expected, index, values)
        for threads in (1, 3):
            with ps.num_threads(threads):
                a = np.full(size, 20, DTYPES[dtype])
                assert_same(ps.scatter(a, index, values, op=op), expected)
                assert_same(ps.scatter(a, index, values, op=op, out=a), expected)
    index[-1] = size
    for out in (None, a):
        with pytest.raises(IndexError, match=f"index {size} is out of bounds"):
            ps.scatter(a, index, values, op="add", out=out)
    assert_same(a, expected)


@pytest.mark.parametrize("step", [0, 2, -1])
def test_values_of_any_stride(step):
    rng = rng_for("stride", step)
    index = rng.integers(0, 30, 3000)
    memory = rng.standard_normal(6000)
    values = np.broadcast_to(memory[5], 3000) if step == 0 else memory[::step][:3000]
    for op, ufunc in (("add", np.add), ("max", np.maximum)):
        expected = np.zeros(30)
        ufunc.at(expected, index, values)
        for way in all_ways():
            target = np.zeros(30)
            ps.scatter(target, index, values, op=op, out=target)
            assert_same(target, expected, f"{way} {op}")


ARITHMETIC = ("add", "sub", "mul", "div", "floor_div")


@pytest.mark.parametrize("op", [*ARITHMETIC, *EXTREMES])
def test_float32_meets_float64_as_if_it_had_been_cast(op):
    """Kernels that widen values themselves; n and size ask for every way."""
    rng = rng_for("widens", op)
    pool = [0.0, -0.0, 1.5, -7.1, 1e-45, 3e38, INF, 0.1]
    for n, size in ((3, 2), (57, 5), (600, 20), (5000, 7), (9000, 9000)):
        index = rng.integers(0, size, n).astype(rng.choice([np.int32, np.int64]))
        index[-n // 3 :] -= size
        values = rng.choice(np.array(pool, np.float32), n)
        values[n // 2] = NAN
        a = rng.standard_normal(size)
        expected = ps.scatter(a, index, values.astype(np.float64), op=op)
        if op in EXTREMES and n <= 600:
            assert_same(expected, folded(op, a, index, values.astype(np.float64)))
        apart = np.repeat(values, 2)[::2]
        for way in all_ways():
            for some in (values, apart, values.astype(">f4")):
                target = a.copy()
                ps.scatter(target, index, some, op=op, out=target)
                assert_same(target, expected, f"{way} {n}")
                assert_same(ps.scatter(a, index, some, op=op), expected, f"{way} {n}")
        CORE.force_algorithm(None)


@pytest.mark.parametrize("index_dtype", [np.int32, np.uint32, np.int64, np.uint64])
def test_the_check_finds_the_first_bad_number_anywhere(index_dtype):
    """A stretch is read by quarters; what is left of one, and of all, one by one."""
    is_signed = np.issubdtype(index_dtype, np.signedinteger)
    a = np.zeros(50)
    for n in (*range(1, 14), 16_383, 16_391, 40_003):
        index = np.zeros(n, index_dtype)
        index[:: n // 2 + 1] = -50 if is_signed else 49
        quarter = min(n, 16_384) // 4
        near = (0, 1, quarter, 2 * quarter, 3 * quarter, 4 * quarter, n)
        places = {p for q in near for p in (q - 1, q) if 0 <= p < n}
        for place, level in product(places, CORE.levels()):
            CORE.force_level(level)
            where = index.copy()
            where[place] = 50
            where[place + 1 :: 3] = 51
            with pytest.raises(IndexError, match=f"index 50 .*position {place} of {n}"):
                ps.add_at(a, where, 1.0)
            assert not a.any()


@pytest.mark.parametrize("n", [56, 57, 4096, 4097, 20_000])
@pytest.mark.parametrize("index_dtype", [np.int32, np.int64])
def test_a_bad_index_leaves_the_target_alone(index_dtype, n):
    index = np.arange(n, dtype=index_dtype) % 50
    for op, place, bad in product(("add", "max"), (0, n // 2, n - 1), (50, -51)):
        where = index.copy()
        where[place] = bad
        for way in all_ways():
            target = np.zeros(50)
            message = f"index {bad} is out of bounds for axis 0 with size 50"
            with pytest.raises(IndexError, match=f"{message} .position {place} of"):
                ps.scatter(target, where, 1.0, op=op, out=target)
            assert not target.any(), way


def test_elements_without_a_name_are_not_written():
    """What other threads write between named elements stays."""
    target = np.zeros(2000)
    index = 2 * np.random.default_rng(0).integers(0, 1000, 400_000)
    stop = threading.Event()

    def write():
        i = 0
        while not stop.is_set():
            i += 1
            target[1::2] = i
        target[1::2] = -1

    writer = threading.Thread(target=write)
    writer.start()
    for _ in range(20):
        ps.add_at(target, index, 1.0)
    stop.set()
    writer.join()
    assert (target[1::2] == -1).all()
    assert target[::2].sum() == 20 * len(index)


@pytest.mark.parametrize("size", [0, 1, 100])
@pytest.mark.parametrize("index_dtype", ["i8", "u8", "i16", "i32", "u32", "i64", "u64"])
def test_every_index_type_is_checked_to_its_limits(index_dtype, size):
    info = np.iinfo(DTYPES[index_dtype])
    a = np.zeros(size)
    for bad in {info.min, -size - 1, size, 2**31 - 1, 2**31, info.max}:
        if not info.min <= bad <= info.max or -size <= bad < size:
            continue
        for n in (1, 60, 5000):
            index = np.zeros(n, info.dtype)
            index[-1] = bad
            if size == 0:
                index[:] = bad
            for way in all_ways():
                with pytest.raises(IndexError, match=f"index {bad} is out of bounds"):
                    ps.add_at(a, index, 1.0)
                assert not a.any(), way
