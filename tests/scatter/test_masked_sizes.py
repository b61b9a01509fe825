"""Masked updates and gathers of every size around the blocks, on every CPU level.

NumPy answers for them: a choice between old and new, and a[mask].
"""

from itertools import product

import numpy as np
import pytest

import pyscatter as ps
from tests.cases import (
    DTYPES,
    LAYOUTS,
    MASK_SIZES,
    MASKS,
    assert_same,
    random_mask,
    rng_for,
)

CORE = ps._core
UFUNCS = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "min": np.minimum,
    "max": np.maximum,
    "fmin": np.fmin,
    "fmax": np.fmax,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "floor_div": np.floor_divide,
}


def numpys(op, a, mask, values):
    """Return NumPy's answer by a plain choice between old and new."""
    if op in ("set", "first"):
        return np.where(mask, values, a)
    with np.errstate(all="ignore"):
        return np.where(mask, UFUNCS[op](a, values), a)


def numbers(rng, dtype, n):
    """Return numbers on which NumPy and the rules agree: no NaN, zero or extreme."""
    values = rng.integers(1, 100, n).astype(DTYPES[dtype])
    return values / 8 if values.dtype.kind == "f" else values


@pytest.mark.parametrize("isa", CORE.levels())
@pytest.mark.parametrize("dtype", ["f32", "f64", "i8", "i16", "i32", "u64", "f16"])
def test_block_edges(dtype, isa):
    CORE.force_level(isa)
    ops = ["set", *UFUNCS]
    if DTYPES[dtype].kind == "f":
        ops = [op for op in ops if op not in ("and", "or", "xor", "floor_div")]
    else:
        ops.remove("div")
    for count, n in enumerate(MASK_SIZES):
        for number, kind in enumerate(MASKS):
            op = ops[(count + number) % len(ops)]
            rng = rng_for(n, kind)
            mask = random_mask(rng, kind, (n,))
            a, values = (numbers(rng, dtype, n) for _ in "av")
            expected = numpys(op, a, mask, values)
            context = f"{n} {kind} {op}"
            assert_same(ps.scatter_where(a, mask, values, op=op), expected, context)
            b = np.zeros(n + 1, a.dtype)[1:]
            b[:] = a
            ps.scatter_where(b, mask, values, op=op, out=b)
            assert_same(b.copy(), expected, f"{context} in place")
            b = np.zeros((n, 3), a.dtype)[:: 1 - count % 2 * 2, 1]
            b[:] = a
            ps.scatter_where(b, mask, values, op=op, out=b)
            assert_same(b.copy(), expected, f"{context} apart")
            assert not n or not b.base[:, ::2].any()
            ps.scatter_where(a, mask, values[mask], op=op, packed=True, out=a)
            assert_same(a, expected, f"{context} packed")
            if n and op != "floor_div":
                one = values[n // 2]
                expected = numpys(op, a, mask, one)
                b[:] = a
                for target in (a, b):
                    ps.scatter_where(target, mask, one, op=op, out=target)
                    assert_same(target.copy(), expected, f"{context} one value")


@pytest.mark.parametrize("isa", CORE.levels())
@pytest.mark.parametrize("kind", MASKS)
def test_block_edges_of_gathers(kind, isa):
    CORE.force_level(isa)
    rng = rng_for("gather", kind)
    for n in MASK_SIZES:
        mask = random_mask(rng, kind, (n,))
        for nbytes in (1, 2, 4, 8, 16, 3, 24) if n < 2100 or n % 3 == 0 else (4, 8):
            a = rng.integers(0, 256, (n, nbytes), np.uint8).view(f"V{nbytes}")[:, 0]
            expected = a[mask].tobytes()
            context = f"{n} {nbytes}"
            assert ps.gather_where(a, mask).tobytes() == expected, context
            assert ps.gather_where(a, mask, 0).tobytes() == expected, context
            unaligned = LAYOUTS["unaligned"](a)
            assert ps.gather_where(unaligned, mask).tobytes() == expected, context
            target = np.zeros_like(a)
            ps.scatter_where(target, mask, a[mask], packed=True, out=target)
            assert target[mask].tobytes() == expected, context
            assert not any(target[~mask].tobytes()), context


@pytest.mark.parametrize("isa", CORE.levels())
@pytest.mark.parametrize("width", [1, 2, 3, 16, 70])
def test_rows(width, isa):
    CORE.force_level(isa)
    rng = rng_for("rows", width)
    for n, kind in product((1, 63, 64, 65, 700), MASKS):
        mask = random_mask(rng, kind, (n,))
        for dtype in ("f4", "u1", "c16"):
            a = rng.integers(0, 100, (n, width)).astype(dtype)
            assert_same(ps.gather_where(a, mask), a[mask])
            columns = np.asfortranarray(a)
            assert_same(ps.gather_where(columns, mask), a[mask])
            assert_same(ps.gather_where(a.T.copy(), mask, 1), a[mask].T.copy())
            expected = np.where(mask[:, None], a + a[::-1], a)
            assert_same(ps.scatter_where(a, mask, a[::-1], op="add"), expected)
            given = mask[:, None]
            assert_same(ps.scatter_where(a, given, a[::-1], op="add"), expected)
            packed = a[::-1][mask]
            ps.scatter_where(a, mask, packed, op="add", packed=True, out=a)
            assert_same(a, expected)
