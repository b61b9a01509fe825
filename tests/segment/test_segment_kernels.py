"""Every kernel of the segment family that was built, answered by the slow twin.

Lengths go from nothing to more than a block of the tree, so that short segments in
groups, lanes that end within memory and at its end, and joined blocks are all reached;
rows are of widths that fill vectors and of some that do not.
"""

from functools import cache

import numpy as np
import pytest

import pyscatter as ps
from tests import reference
from tests.cases import (
    DTYPES,
    assert_same,
    assert_same_outcome,
    outcome,
    random_values,
    rng_for,
)

LENGTHS = (0, 1, 3, 0, 16, 15, 17, 2, 2, 1, 5, 40, 8, 8, 0, 4, 7, 33, 1, 1, 1, 1, 12, 6)
WIDTHS = (None, 1, 2, 5, 33)
STORED = {"t64": ("datetime", "timedelta")}


def kernel_rows():
    """Return (op, dtype, isa) of the family's kernels."""
    return sorted({row[1:4] for row in ps._core.kernels() if row[0] == "segment"})


def calls(rng, op, dtype):
    """Yield arguments of segment_reduce that reach the kernels of one op and dtype."""
    n = sum(LENGTHS)
    for width in WIDTHS:
        tail = () if width is None else (width,)
        values = random_values(rng, dtype, (n, *tail))
        yield values, {"lengths": LENGTHS}
        yield values[3:20], {"starts": [2, 0, 16, 4], "stops": [17, 17, 17, 4]}
        index = rng.integers(-n, n, 90)
        yield values, {"lengths": (0, 20, 3, 0, 60, 7), "gather": index}
    values = random_values(rng, dtype, 4100)
    yield values, {"starts": (0, 1, 4096, 4), "stops": (4100, 4098, 4100, 4099)}


@cache
def kernel_cases(op, name):
    """Return calls with the twin's answers; each row of the table has its own."""
    cases = []
    for stored in STORED.get(name, (name,)):
        rng = rng_for("segments", op, stored)
        for values, options in calls(rng, op, DTYPES[stored]):
            with np.errstate(all="ignore"):
                expected = outcome(reference.segment_reduce, values, op=op, **options)
            cases.append((values, options, expected))
    return cases


@pytest.mark.parametrize(("op", "dtype", "isa"), kernel_rows())
def test_every_kernel(op, dtype, isa):
    ps._core.force_level(isa)
    for values, options, expected in kernel_cases(op, dtype):
        result = outcome(ps.segment_reduce, values, op=op, **options)
        assert_same_outcome(result, expected, f"{values.shape} {options}")


def test_sums_of_every_length_start_at_their_first_element():
    values = np.full(40, -0.0, np.float32)
    for length in range(1, 40):
        result = ps.segment_reduce(values, starts=[0] * 9, stops=[length] * 9)
        assert np.signbit(result).all(), length


def test_the_tree_is_that_of_sixteen_lanes():
    values = np.float32([1e8, 1, -1e8, 1] + [0] * 13)
    # Lanes 0 and 2 meet first, lanes 1 and 3 as well: nothing is lost.
    assert ps.segment_reduce(values, offsets=[0, 17])[0] == 2
    assert ps.segment_reduce(values, np.zeros(17, int), 1)[0] == 1


@pytest.mark.parametrize("dtype", ["c64", "c128"])
def test_complex_weights_are_rounded_part_by_part(dtype):
    rng, dtype = rng_for("turning", dtype), DTYPES[dtype]
    parts = rng.standard_normal((4, 3000)).astype(np.zeros(0, dtype).real.dtype)
    a, b, c, d = parts
    values, weights = a + 1j * b, c + 1j * d
    expected = np.empty(3000, dtype)
    expected.real, expected.imag = a * c - b * d, a * d + b * c
    n = np.arange(3000)
    for where in ({"ids": n}, {"lengths": n * 0 + 1}, {"starts": n, "stops": n + 1}):
        for extra in ({}, {"compensated": True}, {"where": n >= 0}, {"initial": 0}):
            result = ps.segment_reduce(
                values.astype(dtype), weights=weights.astype(dtype), **where, **extra
            )
            assert_same(result + 0, expected + 0, f"{where} {extra}")
    rows = np.stack((values, weights), axis=1).astype(dtype)
    by_ids = ps.segment_reduce(rows, n // 3, weights=weights.astype(dtype))
    by_runs = ps.segment_reduce(
        rows, offsets=n[:1001] * 3, weights=weights.astype(dtype)
    )
    assert_same(by_ids, by_runs)
