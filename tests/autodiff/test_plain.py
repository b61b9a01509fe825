"""Pullbacks of plain calls in one piece are those of the general rules."""

import copy
import gc
import inspect
import sys
from contextlib import suppress

import numpy as np
import pytest

import pyscatter as ps
from pyscatter.autodiff.calls import Pullback
from pyscatter.autodiff.rules import RULES
from tests.cases import rng_for

RNG = rng_for("plain")
A, X = RNG.standard_normal((4, 3)), RNG.standard_normal((6, 3))
IDS = np.array([0, 2, 2, 0, 1, -1])
SOME = X > 0
PAIRS = np.array([[0, 1], [3, 2], [0, 1]])
MATRIX = ps.CSR.from_dense(RNG.standard_normal((5, 4)) * (RNG.random((5, 4)) > 0.4))

CALLS = [
    (ps.gather, (A, IDS), {}),
    (ps.gather, (A, [[0, 1]], 1), {}),
    (ps.gather, (A.tolist(), IDS), {}),
    (ps.gather, (A, ps.Plan([0, 7, 1], 4, mode="drop")), {}),
    (ps.gather_along_axis, (A, [[0, 1, 1]], 0), {}),
    (ps.gather_nd, (A, PAIRS), {}),
    (ps.gather_at, (A, (slice(None), [0, 0])), {}),
    (ps.gather_where, (A, A > 0), {}),
    (ps.gather_where, (A, [True, False, True], 1), {}),
    (ps.where, (SOME, X, 2 * X), {}),
    (ps.where, (SOME, X, 1.0), {}),
    (ps.where, (SOME, *(1.5, 1.5)), {}),
    (ps.where, (SOME, 2.0, X[0]), {}),
    (ps.where, (SOME[:, :1], X, X), {}),
    (ps.where, (SOME.T, X.T, 1.0), {}),
    (ps.scatter_where, (X, SOME, X), {"op": "add"}),
    (ps.scatter_where, (X, SOME, 2.0), {"op": "add"}),
    (ps.scatter_where, (X, SOME[:, 0], X), {"op": "add"}),
    (ps.segment_sum, (X, abs(IDS), 4), {}),
    (ps.segment_sum, (X, abs(IDS)), {}),
    (ps.segment_sum, (X,), {"offsets": [0, 2, 2, 6]}),
    (ps.segment_sum, (X,), {"ids": abs(IDS)}),
    (ps.segment_reduce, (X, ps.Plan(abs(IDS), 4)), {"op": "add"}),
    (ps.segment_sum, (X.tolist(), abs(IDS)), {}),
    (ps.segment_softmax, (X, abs(IDS), 4), {}),
    (ps.segment_softmax, (X, ps.Plan(abs(IDS), 4)), {}),
    (ps.segment_cumsum, (X, abs(IDS)), {}),
    (ps.segment_scan, (X, abs(IDS)), {}),
    (ps.segment_expand, (A, [0, 1, 1]), {}),
    (ps.bincount, (abs(IDS), X[:, 0]), {}),
    (ps.bincount, (abs(IDS), X[:, 0], 9), {}),
    (ps.spmm, (MATRIX, A), {}),
    (ps.spmm, (MATRIX, A[:, 0]), {}),
    (ps.spmm, (MATRIX.to_csc(), A), {}),
    (ps.spmm, (A.T, MATRIX.T), {}),
    (ps.sddmm, (MATRIX, X[:5], A), {}),
    (ps.gather, (A,), {"index": IDS}),
    (ps.scatter, (A, IDS), {"values": 2.0}),
    (ps.scatter, (A, IDS), {"values": 2.0, "op": "add"}),
    (ps.scatter_where, (X, SOME), {"values": 2.0}),
    (ps.where, (SOME, X), {"y": 2.0}),
    (ps.segment_max, (X, abs(IDS), 4), {}),
    (ps.segment_mean, (X, abs(IDS)), {}),
    (ps.segment_prod, (X, abs(IDS), 9), {}),
    (ps.segment_reduce, (X, abs(IDS), 4), {"op": "first", "skipna": True}),
    (ps.spmm, (MATRIX,), {"X": A}),
    (ps.sddmm, (MATRIX, X[:5]), {"Y": A}),
]
for op in ("set", "add", "sub", "mul", "div", "min", "max", "mean", "first", "fmax"):
    CALLS += [
        (ps.scatter, (A, IDS, X), {"op": op}),
        (ps.scatter, (A, IDS, 2.0), {"op": op}),
        (ps.scatter, (A, [1, 1], A[:, :2], 1), {"op": op}),
        (ps.scatter_along_axis, (A, [[0, 1, 1]], X[:1], 0), {"op": op}),
        (ps.scatter_nd, (A, PAIRS, X[0]), {"op": op}),
        (ps.scatter_at, (A, IDS, X), {"op": op}),
        (ps.scatter, (np.round(A), IDS, np.round(X)), {"op": op}),
        (ps.scatter, (A[:, 0], np.array(1), np.array(2.0)), {"op": op}),
        (ps.scatter_at, (A, (1, 2), np.array(2.0)), {"op": op}),
    ]


def in_dtype(x, dtype):
    """Return an argument with its floats in another dtype."""
    if isinstance(x, np.ndarray) and x.dtype.kind == "f":
        unit = 1 + 1j if np.dtype(dtype).kind == "c" else 1
        return np.asarray(x.astype(dtype) * unit)
    return x._with_data(in_dtype(x.data, dtype)) if hasattr(x, "format") else x


def numbers(x):
    return np.asarray(x.data if hasattr(x, "format") else x)


def compare(op, primals, options, wrt=None):
    """Hold a pullback to the general rule."""
    out, pullback = ps.vjp(op, *primals, wrt=wrt, **options)
    shape, dtype = numbers(out).shape, numbers(out).dtype
    g = in_dtype(rng_for("cotangent").standard_normal(shape), dtype)
    got = pullback(g)
    _, general = ps.vjp(op, *primals, wrt=wrt, **options)
    general.recipe = None
    eps = np.finfo(dtype).eps
    for mine, expected in zip(got, general(g), strict=True):
        assert (mine is None) == (expected is None)
        if expected is not None:
            assert type(mine) is type(expected)
            mine, expected = numbers(mine), numbers(expected)
            assert mine.dtype == expected.dtype and mine.shape == expected.shape
            assert np.allclose(
                mine, expected, rtol=16 * eps, atol=16 * eps, equal_nan=True
            )


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "c16"])
@pytest.mark.parametrize(("op", "primals", "options"), CALLS)
def test_plain_calls(op, primals, options, dtype):
    if dtype == "c16" and options.get("op", "set")[-3:] in ("min", "max"):
        return
    if dtype == "c16" and op in (ps.segment_softmax, ps.segment_max):
        return
    primals = tuple(in_dtype(x, dtype) for x in primals)
    compare(op, primals, options)
    starred = [i for i in RULES[op].starred if i < len(primals)]
    for i in starred if len(starred) > 1 and dtype == "f8" else []:
        compare(op, primals, options, wrt=i)


FEW = abs(IDS)
FOLLOWED = [
    (ps.gather, (A, IDS), {}),
    (ps.gather, (A, [1, 0, 1], 1), {}),
    (ps.gather_along_axis, (A, [[0, 1, 1]], 0), {}),
    (ps.gather_nd, (A, PAIRS), {}),
    (ps.gather_at, (A, IDS), {}),
    (ps.gather_where, (X, SOME), {}),
    *((ps.scatter, (A, IDS, X), {"op": op}) for op in ("sum", "sub", "first", "amax")),
    (ps.scatter, (A, IDS, X), {}),
    (ps.scatter, (A, [1, 1], A[:, :2].copy(), 1), {"op": "add"}),
    (ps.scatter_where, (X, SOME, X), {"op": "add"}),
    (ps.scatter_where, (X, SOME, 2.0), {"op": "add"}),
    (ps.where, (SOME, X, X), {}),
    (ps.where, (SOME, X, 1.0), {}),
    (ps.segment_sum, (X, FEW), {}),
    (ps.segment_sum, (X,), {"ids": FEW}),
    (ps.segment_sum, (X,), {"offsets": [0, 2, 6]}),
    (ps.segment_max, (X, FEW, 4), {}),
    (ps.segment_reduce, (X, FEW), {"op": "mean"}),
    (ps.segment_softmax, (X, FEW, 4), {}),
    (ps.segment_cumsum, (X, FEW), {}),
    (ps.segment_expand, (A, [0, 1, 1]), {}),
    (ps.bincount, (FEW, X[:, 0]), {}),
    (ps.spmm, (MATRIX, A), {}),
    (ps.sddmm, (MATRIX, X[:5], A), {}),
]


@pytest.mark.parametrize(("op", "primals", "options"), FOLLOWED)
def test_recipes_ask_no_rule(op, primals, options, monkeypatch):
    out, pullback = ps.vjp(op, *primals, **options)
    monkeypatch.delattr(Pullback, "by_rule")
    parts = pullback(np.ones_like(numbers(out)))
    assert len(parts) == len(primals) and any(part is not None for part in parts)
    for part, x in zip(parts, primals, strict=True):
        assert part is None or np.shape(numbers(part)) == np.shape(numbers(x))


def test_rules_of_ids_without_a_sign_and_of_none():
    ids, g = np.array([0, 1, 1], np.uint8), np.array([1.0, 2.0, 4.0])
    for op, expected in (
        (ps.segment_softmax, [0, -0.5, 0.5]),
        (ps.segment_log_softmax, [0, -1, 1]),
    ):
        _, pullback = ps.vjp(op, np.zeros(3), ids)
        pullback.recipe = None
        assert np.allclose(pullback(g)[0], expected)
    _, pullback = ps.vjp(ps.bincount, [], np.zeros(0), 3)
    pullback.recipe = None
    assert pullback(g)[1].shape == (0,)


def test_a_cotangent_stays_writeable():
    out, pullback = ps.vjp(ps.sddmm, MATRIX, X[:5], A)
    g = np.ones_like(out)
    pullback(g)
    assert g.flags.writeable


def test_recipes_that_are_none():
    """Attributes of pullbacks are anybody's to set: an error, never a crash."""
    row = ps._core.gather, None, -1, 1
    odd = [
        *((), (3,), (3, 0), (3, ()), (3, (0,)), (3, (0, row), 1), ("3", (0, row))),
        *((3, (0, (len,))), (3, (0, (len, 3, 1))), (3, (0, (len, ("a", "b"), 1)))),
        *((3, (0, (0,) * 12)), (3, ((0, 1), (len, None, 1))), (3, (0, -9))),
        *((3, (10**30, -1)), (3, (0, 10**30)), (3, ((0, "a"), (len, None, 1)))),
        *((3, ((0,), (dict, None))), (3, (0, -4)), (3, ((0, 10**30), -5)), (3, "ab")),
        *((3, (0, (len, ("obj",), 7))), [], "add", 0),
    ]
    deep = row
    for _ in range(9):
        deep = len, None, deep
    for recipe in [*odd, (3, (0, deep))]:
        _, pullback = ps.vjp(ps.gather, A, IDS)
        pullback.recipe = recipe
        with suppress(TypeError, OverflowError):
            assert len(pullback(X)) == 2
    _, pullback = ps.vjp(ps.gather, A, IDS)
    pullback.primals, pullback.wanted, pullback.recipe = (), (), (3, ((0,), -3))
    with pytest.raises(TypeError, match="recipe"):
        pullback(X)
    for recipe in ((3, (None, -3)), (3, (0, (sum, (5,), [1], 2)))):
        _, pullback = ps.vjp(ps.gather, A, IDS)
        pullback.recipe, pullback.primals, pullback.wanted = recipe, (), ()
        if recipe[1][0] == 0:
            pullback.primals, pullback.wanted = (A, IDS), (0,)
        with pytest.raises(TypeError, match="no such recipe"):
            pullback(X)
    for name in ("primals", "wanted", "out", "ties", "rule", "options"):
        for value in (None, (), (7,), ("a",), 0):
            _, pullback = ps.vjp(ps.scatter, A, IDS, X, op="max")
            setattr(pullback, name, value)
            with suppress(TypeError, AttributeError, LookupError, ValueError):
                pullback(A)
            delattr(pullback, name)
            with suppress(TypeError, AttributeError):
                pullback(A)


def test_positions_that_change():
    """Code of an argument is not asked twice which position it is."""

    class Moving:
        def __init__(self):
            self.asked = 0

        def __index__(self):
            self.asked += 1
            return 0 if self.asked == 1 else 10**7

    _, pullback = ps.vjp(ps.gather, A, IDS)
    pullback.recipe, pullback.wanted = (3, (10**7, -1)), (Moving(),)
    with pytest.raises(TypeError, match="must be integers"):
        pullback(X)


def test_copies_and_how_it_is_called():
    out, pullback = ps.vjp(ps.spmm, MATRIX, A)
    g = np.ones_like(out)
    of_A, of_X = pullback(g)
    for other in (copy.copy(pullback), copy.deepcopy(pullback)):
        mine = other(g)
        assert other is not pullback and other.recipe is not None
        assert np.array_equal(mine[0].data, of_A.data)
        assert np.array_equal(mine[1], of_X)
    assert str(inspect.signature(pullback)).startswith("(g, *, into=None")


def test_starts_that_are_none():
    begin, rule = ps._core.begin, RULES[ps.gather]
    parts = [Pullback, rule, rule.plain, rule.called, (A, IDS), {}, "even", (0,)]
    assert begin(*parts) is not None
    for i, wrong in ((0, int), (0, 3), (4, [A]), (5, None), (7, [0])):
        with pytest.raises(TypeError):
            begin(*parts[:i], wrong, *parts[i + 1 :])
    for i, other in ((2, None), (4, (A.tolist(), IDS)), (5, {"mode": "clip"})):
        assert begin(*parts[:i], other, *parts[i + 1 :]) is None
    for wanted in ((), (("a",),)):
        with pytest.raises(TypeError):
            begin(*parts[:7], *wanted)
    with pytest.raises(TypeError):
        ps._core.Call(rule, (), {}, A)
    with pytest.raises(TypeError):
        ps._core.Call(rule, (), {}, A, ties="even")


def test_a_call_that_holds_itself_is_collected():
    _, pullback = ps.vjp(ps.gather, A, IDS)
    pullback.store["self"] = pullback
    kept = sys.getrefcount(A)
    del pullback
    gc.collect()
    assert sys.getrefcount(A) < kept


def test_a_long_chain_of_calls_ends():
    """Longer than the stack of a process that ends all of it at once."""
    chain = last = []
    kept = sys.getrefcount(last)
    for _ in range(400_000):
        chain = ps._core.Call(None, (), {}, chain, "even")
    del chain
    assert sys.getrefcount(last) == kept - 1


@pytest.mark.parametrize("op", ["sub", "mul", "mean"])
def test_one_element_into_a_buffer(op):
    values, buffer = np.array(2.0), np.ones(())
    out, pullback = ps.vjp(ps.scatter, A[:, 0], np.array(1), values, op=op)
    (_, _, alone), into = pullback(out), (None, None, buffer)
    assert type(alone) is np.ndarray
    assert pullback(out, into=into)[2] is buffer and buffer == 1 + alone


def test_plain_calls_of_nothing_wanted():
    for op, primals, options in CALLS:
        out, pullback = ps.vjp(op, *primals, wrt=(), **options)
        g = np.ones_like(numbers(out))
        assert pullback(g) == (None,) * len(primals)
