"""Masked updates and gathers: the same bits for any threads, any CPU level, any run.

NumPy answers, by a choice between old and new where it computes the same, and by the
straight work of the lowest level on one thread elsewhere.
"""

from functools import partial
from itertools import product

import numpy as np
import pytest

import pyscatter as ps
from tests.cases import (
    DTYPES,
    LAYOUTS,
    MASKS,
    WRITABLE_LAYOUTS,
    assert_same,
    random_mask,
    random_values,
    rng_for,
)

CORE = ps._core
THREADS = (1, 2, 3, 7)
SHAPES = {"line": (300_000,), "table": (700, 333), "rows": (20_000, 16)}
OPS = ("set", "add", "mul", "div", "min", "fmax", "mean", "sub", "first")


def ways():
    """Yield (level, threads): all threads on the highest level, two on the others."""
    levels = CORE.levels()
    yield from product(levels[-1:], THREADS)
    yield from product(levels[:-1], (2,))


def check_all_ways(call, context):
    """Return the plain answer, having checked that every way gives its bytes."""
    CORE.force_level(CORE.levels()[0])
    with ps.num_threads(1):
        plain = call()
    for level, threads in ways():
        CORE.force_level(level)
        with ps.num_threads(threads):
            result = call()
        if result.tobytes() != plain.tobytes():
            assert_same(result, plain, f"{level} {threads} {context}")
    return plain


def problem(dtype, shape, kind):
    """Return an array, a mask and values."""
    rng = rng_for(dtype, shape, kind)
    a = random_values(rng, DTYPES[dtype], SHAPES[shape], special=False)
    values = random_values(rng, DTYPES[dtype], SHAPES[shape], special=False)
    own = SHAPES[shape][: 1 if shape == "rows" else None]
    mask = random_mask(rng, kind, own)
    return a, mask, values


@pytest.mark.parametrize("kind", MASKS)
def test_the_quick_half(kind):
    for shape in SHAPES:
        a, mask, values = problem("f32", shape, kind)
        taken = check_all_ways(partial(ps.gather_where, a, mask), shape)
        assert_same(taken, a[mask])
        for op in ("set", "add"):
            call = partial(ps.scatter_where, a, mask, values, op=op)
            plain = check_all_ways(call, f"{shape} {op}")
            full = mask if mask.ndim == a.ndim else mask[:, None]
            right = values if op == "set" else a + values
            assert_same(plain, np.where(full, right, a), op)
        packed = values[mask] + 1
        call = partial(ps.scatter_where, a, mask, packed, packed=True)
        expected = a.copy()
        expected[mask] = packed
        assert_same(check_all_ways(call, f"{shape} packed"), expected)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["f32", "f64", "f16", "bf16", "i8", "i32", "c64"])
@pytest.mark.parametrize("kind", MASKS)
def test_every_op(kind, dtype):
    if dtype not in DTYPES:
        pytest.skip("needs ml_dtypes")
    # Every other pair of shape and op: each meets every other kind of mask.
    parity = (list(MASKS).index(kind) + len(dtype)) % 2
    problems = {shape: problem(dtype, shape, kind) for shape in SHAPES}
    for shape, op in list(product(SHAPES, OPS))[parity::2]:
        a, mask, values = problems[shape]
        if (op in ("min", "fmax") and dtype == "c64") or (op, dtype[0]) == ("div", "i"):
            continue
        for given in (values, values[:1], values.ravel()[0]):
            call = partial(ps.scatter_where, a, mask, given, op=op)
            check_all_ways(call, f"{shape} {op}")
        call = partial(ps.scatter_where, a, mask, values[mask], op=op, packed=True)
        plain = check_all_ways(call, f"{shape} {op} packed")
        assert_same(plain, ps.scatter_where(a, mask, values, op=op), f"{shape} {op}")
    for shape, (_, mask, values) in problems.items():
        check_all_ways(partial(ps.gather_where, values, mask), shape)


@pytest.mark.slow
@pytest.mark.parametrize("layout", WRITABLE_LAYOUTS)
def test_targets_of_any_layout(layout):
    problems = {shape: problem("f32", shape, "half") for shape in SHAPES}
    for shape, op in product(SHAPES, ("set", "add", "min")):
        a, mask, values = problems[shape]
        expected = ps.scatter_where(a, mask, values, op=op)

        def updated(given, mask=mask, values=values, op=op, a=a, **options):
            target = LAYOUTS[layout](a)
            mask = LAYOUTS[layout](mask)
            ps.scatter_where(target, mask, given, op=op, out=target, **options)
            return np.array(target, a.dtype, order="C", subok=False)

        call = partial(updated, LAYOUTS[layout](values))
        assert_same(check_all_ways(call, f"{shape} {op}"), expected)
        call = partial(updated, LAYOUTS[layout](values[mask]), packed=True)
        assert_same(check_all_ways(call, f"{shape} {op} packed"), expected)


@pytest.mark.slow
@pytest.mark.parametrize("kind", MASKS)
@pytest.mark.parametrize("dtype", ["u1", "u2", "f4", "f8", "c16", "V3"])
def test_arrays_beyond_the_caches(dtype, kind):
    n = 5_000_000 // np.dtype(dtype).itemsize
    mask = random_mask(rng_for("large", kind), kind, (n,))
    octets = (np.arange(n * np.dtype(dtype).itemsize) % 251).astype(np.uint8)
    a = octets.view(dtype)
    expected = a[mask]
    for threads in (1, 2):
        with ps.num_threads(threads):
            assert ps.gather_where(a, mask).tobytes() == expected.tobytes()
            target = np.zeros(n, dtype)
            ps.scatter_where(target, mask, expected, packed=True, out=target)
            assert target[mask].tobytes() == expected.tobytes()
            assert not any(target[~mask].tobytes()[:100_000])
            ps.scatter_where(target, ~mask, a, out=target)
            assert target.tobytes() == a.tobytes()
