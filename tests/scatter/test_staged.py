"""Accumulators beside a target: what a call does not name keeps its bits.

Dense accumulators of elements that lie side by side are compared with what was loaded;
others are marked, or counted, by a scatter of ones. Both are tried on every bit pattern
of half precision, and on values that an accumulator cannot hold.
"""

import numpy as np
import pytest

import pyscatter as ps
from tests import reference
from tests.cases import assert_same, rng_for

OPS = ("add", "mul", "max", "mean")
NARROW = [
    ("f2", {}),
    ("f4", {"dtype": "f8"}),
    ("f4", {"compensated": True}),
    ("f8", {"compensated": True}),
    ("c8", {"dtype": "c16"}),
    ("i2", {"dtype": "i8"}),
    (">i4", {}),
    (">f8", {}),
    (">c16", {}),
]


def bits(rng, dtype, n):
    """Every kind of number that the dtype has."""
    dtype = np.dtype(dtype)
    if dtype == "f2":
        return np.arange(1 << 16, dtype=np.uint16).view("f2")[:n].copy()
    return np.frombuffer(rng.bytes(n * dtype.itemsize), dtype)[:n].copy()


def ops_of(dtype, options):
    """The ops of this test that the dtype has."""
    if "compensated" in options:
        return ("add", "mean")
    return {"c": ("add", "mul", "mean"), "i": ("add", "mul", "max")}.get(
        dtype.kind, OPS
    )


def with_nans_as_one(a):
    """NaNs that arithmetic makes have no promised payload."""
    return np.where(np.isnan(a), np.nan, a).astype(a.dtype)


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize(("dtype", "options"), NARROW)
def test_elements_that_are_not_named(dtype, options, op):
    if op not in ops_of(np.dtype(dtype), options):
        return
    rng = rng_for("staged", dtype, op)
    a = bits(rng, dtype, 1 << 16)
    for n, self in ((20_000, True), (20_000, False), (300, True)):
        index = np.unique(rng.integers(0, 40_000, n)).repeat(2)
        values = rng.integers(0, 3, len(index)).astype(dtype)
        target = a.copy()
        with np.errstate(all="ignore"):
            ps.scatter(
                target, index, values, op=op, include_self=self, out=target, **options
            )
            some = a[: index[-1] + 1][index[:40]]
            expected = reference.scatter(
                some.astype(a.dtype.newbyteorder("=")),
                np.arange(20).repeat(2) * 2,
                values[:40],
                op=op,
                include_self=self,
                **options,
            )
        untouched = np.ones(len(a), bool)
        untouched[index] = False
        assert target[untouched].tobytes() == a[untouched].tobytes()
        got = target[index[:40]].astype(expected.dtype)[::2]
        assert_same(with_nans_as_one(got), with_nans_as_one(expected)[::2])


def test_an_accumulator_that_cannot_hold_what_it_loads():
    a = np.array([1 / 3, 2 / 3, 0.1])
    for library in (ps, reference):
        result = library.scatter(a, [0, 0, 2], [0.0, 0.0, 0.0], op="add", dtype="f4")
        assert result.tolist() == [
            float(np.float32(1 / 3)),
            2 / 3,
            float(np.float32(0.1)),
        ]


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_marks_and_counts_on_threads(threads):
    rng = rng_for("marks")
    n, size = 250_000, 400_000
    index = rng.integers(0, size, n)
    values = rng.integers(-9, 9, n).astype("f4")
    a = rng.standard_normal(size).astype("f4")
    plain = np.zeros(size)
    np.add.at(plain, index, values.astype(float))
    count = np.bincount(index, minlength=size)
    mean = np.where(count > 0, (a + plain) / (count + 1), a).astype("f4")
    alone = np.where(count > 0, plain / np.maximum(count, 1), a).astype("f4")
    wide = np.where(count > 0, (a + plain).astype("f4"), a)
    fresh = np.where(count > 0, plain.astype("f4"), a)
    keep = rng.random(n) < 0.5
    with ps.num_threads(threads):
        assert_same(ps.scatter(a, index, values, op="mean"), mean)
        assert_same(ps.scatter(a, index, values, op="mean", include_self=False), alone)
        assert_same(ps.scatter(a, index, values, op="add", dtype="f8"), wide)
        options = {"op": "add", "dtype": "f8", "include_self": False}
        assert_same(ps.scatter(a, index, values, **options), fresh)
        plan = ps.Plan(index, size)
        assert_same(ps.scatter(a, plan, values, op="mean"), mean)
        some = ps.scatter(a, index[keep], values[keep], op="mean")
        assert_same(ps.scatter(a, index, values, op="mean", where=keep), some)
        padded = np.where(keep, index, -1)
        assert_same(ps.scatter(a, padded, values, op="mean", mode="drop"), some)


@pytest.mark.parametrize("dtype", ["f2", "f4"])
def test_rows_and_strides(dtype):
    rng = rng_for("rows", dtype)
    for shape, axis in (((500, 3), 0), ((3, 500), 1), ((7, 50, 2), 1)):
        a = rng.integers(0, 9, shape).astype(dtype)
        index = rng.integers(0, shape[axis], 400)
        v = np.moveaxis(np.empty(shape), axis, 0)[index]
        values = np.moveaxis(rng.integers(0, 9, v.shape).astype(dtype), 0, axis)
        for op, self in (("add", True), ("mean", True), ("add", False)):
            expected = reference.scatter(
                a, index, values, axis, op=op, include_self=self, dtype="f8"
            )
            options = {"op": op, "include_self": self, "dtype": "f8"}
            assert_same(ps.scatter(a, index, values, axis, **options), expected)
            wide = np.zeros((*shape, 2), dtype)
            target = wide[..., 1]
            target[...] = a
            ps.scatter(target, index, values, axis, out=target, **options)
            assert_same(target.copy(), expected)
            assert not wide[..., 0].any()


def test_a_bad_index_leaves_the_target():
    a = np.arange(1000, dtype="f2")
    index = np.arange(900)
    index[700] = 1000
    for options in ({}, {"include_self": False}, {"dtype": "f8"}):
        for op in ("add", "mean"):
            target = a.copy()
            with pytest.raises(IndexError, match=r"position 700"):
                ps.scatter(target, index, 1.0, op=op, out=target, **options)
            assert_same(target, a)
