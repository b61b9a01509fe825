"""Segments: the same bits for any threads, any CPU level, any algorithm, any run.

NumPy answers where the order of its additions is known: ufunc.at for ids, and a tree
spelled out below for ranges. Elsewhere the lowest level on one thread does.
"""

from functools import partial
from itertools import product

import numpy as np
import pytest

import pyscatter as ps
from tests.cases import (
    DTYPES,
    LAYOUTS,
    PATTERNS,
    assert_same,
    random_index,
    random_values,
    rng_for,
)

CORE = ps._core
THREADS = (1, 2, 7)
SEGMENTS = 700
SHAPES = {"line": (100_000,), "pairs": (40_000, 2), "rows": (10_000, 16)}
FORMS = ("ids", "offsets", "starts", "gather")
FOLDS = ("add", "mul", "min", "fmax", "mean", "first", "argmax", "count")
COMPOSED = ("var", "std", "logsumexp", "median", "quantile", "last", "any", "argmin")


def ways():
    """Yield (level, algorithm, threads): by choice on all levels, and each one once."""
    levels = CORE.levels()
    yield from product(levels[-1:], (None,), THREADS)
    yield from product(levels[:-1], (None,), (1, 2))
    yield from product(levels[-1:], CORE.algorithms(), (2,))


def work(way, call):
    """Return what the call gives when it is worked in this way."""
    level, algorithm, threads = way
    CORE.force_level(level)
    CORE.force_algorithm(algorithm)
    with ps.num_threads(threads):
        return call()


def check_all_ways(call, context):
    """Return the plain answer, having checked that every way gives its bytes."""
    plain = work((CORE.levels()[0], None, 1), call)
    for way in ways():
        result = work(way, call)
        if result.tobytes() != plain.tobytes():
            assert_same(result, plain, f"{way} {context}")
    return plain


def scaled(rng, dtype, shape):
    """Return values whose exponents vary, so that the order of sums shows."""
    values = random_values(rng, DTYPES[dtype], shape, special=False)
    if values.dtype.kind not in "fc":
        return values
    scale = np.exp2(rng.integers(-3, 4, values.shape)).astype(values.real.dtype)
    return values * scale


def edges_of(rng, n):
    """Return row pointers: most segments short, some empty, one of half the entries."""
    short = np.sort(rng.integers(0, n // 2, SEGMENTS - 1))
    return np.concatenate([[0], short, [n]])


def problem(dtype, shape, form, pattern="uniform"):
    """Return values and the options that address them."""
    rng = rng_for(dtype, shape, form, pattern)
    values = scaled(rng, dtype, SHAPES[shape])
    n = len(values)
    if form == "ids":
        ids = abs(random_index(rng, pattern, n, SEGMENTS, np.int32)) % SEGMENTS
        return values, {"ids": ids, "num_segments": SEGMENTS}
    if form == "starts":
        order = rng.permutation(SEGMENTS)
        edges = edges_of(rng, n)
        return values, {"starts": edges[:-1][order], "stops": edges[1:][order]}
    if form == "gather":
        picked = rng.integers(-n, n, n)
        return values, {"gather": picked, "offsets": edges_of(rng, n)}
    return values, {"offsets": edges_of(rng, n)}


def tree(values):
    """Sum a line of numbers in the written order: 16 lanes, blocks of 4,096."""
    total = None
    for first in range(0, len(values), 4096):
        block = values[first : first + 4096]
        lanes = np.full(-(-len(block) // 16) * 16, -0.0, values.dtype)
        lanes[: len(block)] = block
        rows = lanes.reshape(-1, 16)
        lanes = rows[0].copy()
        for row in rows[1:]:
            lanes += row
        for half in (8, 4, 2, 1):
            lanes = lanes[:half] + lanes[half : 2 * half]
        total = lanes[0] if total is None else total + lanes[0]
    return values.dtype.type(0) if total is None else total


def sums_of(values, options):
    """Return NumPy's sums in the written order."""
    if "ids" in options:
        zeros = np.zeros((SEGMENTS, *values.shape[1:]), values.dtype)
        np.add.at(zeros, options["ids"], values)
        return zeros
    rows = values[options["gather"]] if "gather" in options else values
    if "starts" in options:
        ends = options["starts"], options["stops"]
    else:
        ends = options["offsets"][:-1], options["offsets"][1:]
    parts = [rows[a:b] for a, b in zip(*ends, strict=True)]
    if rows.ndim == 1:
        return np.array([tree(part) for part in parts], values.dtype)
    sums = np.zeros((len(parts), *rows.shape[1:]), values.dtype)
    for total, part in zip(sums, parts, strict=True):
        if len(part):
            total[...] = np.add.accumulate(part, axis=0)[-1]
    return sums


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_quick_half(shape, form):
    values, options = problem("f32", shape, form)
    for op in ("add", "max"):
        call = partial(ps.segment_reduce, values, op=op, **options)
        plain = check_all_ways(call, f"{op} {shape} {form}")
        if op == "add":
            assert_same(plain, sums_of(values, options), f"{shape} {form}")


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", ["f32", "f64", "f16", "i16", "i64", "c64"])
def test_folds(dtype, form):
    for shape, op in product(SHAPES, FOLDS):
        if dtype == "c64" and op in ("min", "fmax", "argmax"):
            continue
        values, options = problem(dtype, shape, form)
        call = partial(ps.segment_reduce, values, op=op, **options)
        plain = check_all_ways(call, f"{op} {shape}")
        if op == "add" and dtype in ("f32", "f64"):
            assert_same(plain, sums_of(values, options), f"{shape} {form}")


@pytest.mark.slow
@pytest.mark.parametrize("form", ["ids", "offsets"])
@pytest.mark.parametrize("op", COMPOSED)
def test_composed_ops(op, form):
    q = {"q": [0.1, 0.5]} if op == "quantile" else {}
    for shape in ("line", "pairs"):
        values, options = problem("f32", shape, form)
        call = partial(ps.segment_reduce, values, op=op, **options, **q)
        check_all_ways(call, f"{op} {shape}")


@pytest.mark.slow
@pytest.mark.parametrize("pattern", PATTERNS)
def test_ids_of_every_pattern(pattern):
    for shape in SHAPES:
        values, options = problem("f64", shape, "ids", pattern)
        call = partial(ps.segment_reduce, values, **options)
        plain = check_all_ways(call, f"{shape} {pattern}")
        assert_same(plain, sums_of(values, options), f"{shape} {pattern}")


def test_weights_masks_and_the_rest():
    values, options = problem("f32", "line", "offsets")
    n, rng = len(values), rng_for("rest")
    mask, weights = rng.random(n) < 0.7, rng.random(n).astype(np.float32)
    kept = np.where(mask, values, np.float32(-0.0))
    call = partial(ps.segment_reduce, values, where=mask, **options)
    expected = sums_of(kept, options)
    expected[sums_of(mask.astype(float), options) == 0] = 0.0  # empty, not -0.0
    assert_same(check_all_ways(call, "where"), expected)
    call = partial(ps.segment_reduce, values, weights=weights, **options)
    assert_same(check_all_ways(call, "weights"), sums_of(weights * values, options))
    for extra in ({"compensated": True}, {"dtype": "f8"}, {"op": "mean"}):
        call = partial(ps.segment_reduce, values, **options, **extra)
        check_all_ways(call, f"{extra}")
    ids = np.sort(rng.integers(0, SEGMENTS, n))
    for name in ("segment_scan", "segment_softmax", "segment_log_softmax"):
        check_all_ways(partial(getattr(ps, name), values, ids), name)
    check_all_ways(partial(ps.segment_expand, values[:SEGMENTS], ids), "expand")
    counted = check_all_ways(partial(ps.bincount, ids, weights), "bincount")
    assert_same(counted, np.bincount(ids, weights))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layout_never_changes_bits(layout):
    for shape, form in product(("line", "pairs"), ("ids", "offsets")):
        values, options = problem("f32", shape, form)
        expected = ps.segment_reduce(values, **options)
        laid = {
            key: LAYOUTS[layout](x) if isinstance(x, np.ndarray) else x
            for key, x in options.items()
        }
        for threads in (1, 2):
            with ps.num_threads(threads):
                result = ps.segment_reduce(LAYOUTS[layout](values), **laid)
            assert_same(result, expected, f"{layout} {shape} {form}")
