"""Every rule: both modes agree, and differences of values tell the same tangent."""

import numpy as np
import pytest

import pyscatter as ps
from pyscatter import autodiff
from pyscatter.autodiff.rules import NONE, RULES
from pyscatter.testing import check_grads
from tests.cases import rng_for

RNG = rng_for("rules")
A, X = RNG.standard_normal((4, 3)), RNG.standard_normal((6, 3))
IDS = np.array([0, 2, 2, 0, 1, 2])
SOME = X > 0
GRID = np.arange(18).reshape(6, 3) % 4

SCATTERS = ("set first add sub mul div floor_div min max fmin fmax mean").split()
FOLDS = "add mul min max fmin fmax mean var std first last logsumexp median".split()
SCANS = "add mul min max fmin fmax".split()


# --- scatters and gathers -------------------------------------------------------------


@pytest.mark.parametrize("op", SCATTERS)
@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("mode", ["raise", "drop", "clip", "wrap"])
def test_scatter_by_axis(op, include_self, mode):
    index = np.array([0, 1, 1, -1, 0, 1])
    options = {"op": op, "include_self": include_self, "mode": mode}
    check_grads(ps.scatter, A, index, X, **options)
    check_grads(ps.scatter, A, index, X, where=IDS > 0, **options)


@pytest.mark.parametrize("op", SCATTERS)
def test_scatter_addressings(op):
    check_grads(ps.scatter, A, [0, 2, 2], A, 1, op=op)
    check_grads(ps.scatter, A, [0, 3, 3], 2.0, op=op)
    check_grads(ps.scatter, A, [1, 5, 5], A[0], None, op=op)
    check_grads(ps.scatter, A, GRID[:4] % 3, X[0], batch_dims=1, op=op)
    check_grads(ps.scatter, A, ps.Plan([1, 0, 1], 4), X[:3], op=op)
    check_grads(ps.scatter, A, ps.Plan([1, 0], 4), X[:2], op=op)
    check_grads(ps.scatter_along_axis, A, [[0, 1, 1]], A, op=op)
    check_grads(
        ps.scatter_along_axis, A, [[3], [3]], X[:2], 0, op=op, where=SOME[:2, :1]
    )
    check_grads(ps.scatter_nd, A, [[0, 1], [0, 1], [3, 2]], X[0], op=op)
    check_grads(ps.scatter_nd, A, [[1], [1], [-1]], X[:3], op=op)
    check_grads(ps.scatter_at, A, (slice(None), [0, 2, 2]), A, op=op)
    check_grads(ps.scatter_where, A, SOME[:4], A, op=op)
    check_grads(ps.scatter_where, A, SOME[:4, :1], 1.5, op=op)
    check_grads(ps.scatter_where, A, A > 0, A[A > 0] * 2, op=op, packed=True)


@pytest.mark.parametrize("op", [op for op in SCATTERS if op[1:] not in ("min", "max")])
def test_scatter_complex(op):
    if op not in ("min", "max", "floor_div"):
        check_grads(ps.scatter, A + 1j, IDS, X - 2j * X, op=op)
        check_grads(ps.scatter, A + 1j, IDS, X, op=op, include_self=False)


def test_gathers():
    check_grads(ps.gather, A, [[3, 1], [-1, 0]])
    check_grads(ps.gather, A, [3, 7, -1], 0, mode="fill", where=[True, True, False])
    check_grads(ps.gather, A, GRID[:4] % 3, batch_dims=1)
    check_grads(ps.gather, A, ps.Plan([3, 7, 3], 4, mode="drop"))
    check_grads(ps.gather_along_axis, A, [[0, 1, 1]], 0, mode="clip")
    check_grads(ps.gather_nd, A + 1j, [[0, 1], [1, 1], [0, 1]])
    check_grads(ps.gather_at, A, (slice(1, None), [0, 0]))
    check_grads(ps.gather_where, A, A > 0)
    check_grads(ps.gather_where, A, [True, False, True], 1)


# --- choices --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "x", "y"),
    [
        (A > 0, A, 2 * A),
        (A > 0, A, 1.0),
        (A > 0, 2.0, A[0]),
        (A > 0, A[:, :1], A[0]),
        (A[:, :1] > 0, A[0], A),
        ([True, False, True], 1.5, 2.5),
        (A > 0, A + 1j, A),
        (A > 0, A.astype("f4"), A[None]),
        (A, A, A[:1]),
    ],
)
def test_where(condition, x, y):
    check_grads(ps.where, condition, x, y)


def test_apply_where():
    root = {"fill_value": 0.0, "derivative": lambda v: 0.5 / np.sqrt(v)}
    check_grads(ps.apply_where, A > 0, A, np.sqrt, **root)
    two = {"fill_value": 0.0, "derivative": lambda u, v: (v, u)}
    check_grads(ps.apply_where, A > 0, (A, A[0]), np.multiply, **two)
    with pytest.raises(TypeError, match="derivative="):
        check_grads(ps.apply_where, A > 0, A, np.sqrt, fill_value=0.0)


# --- segments -------------------------------------------------------------------------

CHOICES = ({}, {"where": IDS > 0}, {"where": SOME}, {"skipna": True})


@pytest.mark.parametrize("op", FOLDS)
@pytest.mark.parametrize("more", CHOICES, ids=str)
def test_segments(op, more):
    options = {"op": op, **more}
    check_grads(ps.segment_reduce, X, IDS, 4, **options)
    check_grads(ps.segment_reduce, X, offsets=[0, 2, 2, 6], **options)
    check_grads(ps.segment_reduce, X, lengths=[1, 5], **options)
    check_grads(ps.segment_reduce, X, starts=[3, 0, 1], stops=[5, 4, 1], **options)
    if more.get("where") is not SOME:
        options["gather"] = [3, 1, 1, 0, -1, 0]
        check_grads(ps.segment_reduce, A, IDS, 4, **options)
        check_grads(ps.segment_reduce, A, starts=[3, 0], stops=[5, 4], **options)


@pytest.mark.parametrize("op", FOLDS)
def test_segments_laid_out_otherwise(op):
    check_grads(ps.segment_reduce, X, IDS - 1, 2, op=op, mode="drop")
    check_grads(ps.segment_reduce, X, IDS - 1, 2, op=op, mode="clip")
    check_grads(ps.segment_reduce, X, IDS[:3], 4, op=op, axis=1)
    check_grads(ps.segment_reduce, X, GRID, 4, op=op)
    check_grads(ps.segment_reduce, X, GRID, 4, op=op, axis=None)
    check_grads(ps.segment_reduce, X, GRID, 4, op=op, batch_dims=1)
    check_grads(ps.segment_reduce, X, ps.Plan(IDS, 4), op=op)
    check_grads(ps.segment_reduce, X[:0], IDS[:0], 3, op=op)
    if op in "add mul mean var std first last".split():
        check_grads(ps.segment_reduce, X + 1j * X[::-1], IDS, 4, op=op)
    if op not in "mean var std median".split():
        check_grads(ps.segment_reduce, X, IDS, 4, op=op, initial=0.5)


@pytest.mark.parametrize("op", FOLDS)
def test_segments_with_missing_values(op):
    values = X.copy()
    values[[0, 2, 5], [1, 1, 1]] = np.nan
    check_grads(ps.segment_reduce, values, IDS, 3, op=op, skipna=True)
    assert not ps.vjp(ps.segment_reduce, values, IDS, 3, op=op, skipna=True)[1](
        np.ones((3, 3))
    )[0][np.isnan(values)].any()


def test_segments_weighed_and_asked():
    weights = np.arange(6.0)
    for op in ("add", "mean"):
        check_grads(ps.segment_reduce, X, IDS, 4, op=op, weights=weights)
        check_grads(ps.segment_reduce, X, IDS, 4, op=op, weights=weights + 1j)
        check_grads(ps.segment_reduce, X, IDS, 4, op=op, weights=weights, where=SOME)
        rows = {"gather": [3, 1, 1, 0, -1, 0], "weights": weights}
        check_grads(ps.segment_reduce, A, IDS, 4, op=op, **rows)
    for op in ("var", "std"):
        check_grads(ps.segment_reduce, X, IDS % 2, 2, op=op, ddof=1)
    check_grads(ps.segment_reduce, X, IDS, 4, op="quantile", q=0.3)
    check_grads(ps.segment_reduce, X, IDS, 4, op="quantile", q=[0, 0.3, 1])


@pytest.mark.parametrize(
    "function", [f for f in RULES if f.__name__.startswith("segment_")]
)
def test_segment_names(function):
    if "expand" in function.__name__:
        check_grads(function, A, [[0, 1], [1, 2]], axis=1)
        check_grads(function, A, offsets=[0, 1, 1, 3, 7])
        check_grads(function, A, lengths=[2, 1, 3], axis=1)
        return
    check_grads(function, X, IDS)
    check_grads(function, X, offsets=[0, 2, 2, 6])
    check_grads(function, X, lengths=[4, 2])
    check_grads(function, X, IDS[:3], axis=1)
    check_grads(function, X[:0], IDS[:0])


@pytest.mark.parametrize("op", SCANS)
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_scans(op, exclusive, reverse):
    options = {"op": op, "exclusive": exclusive, "reverse": reverse}
    check_grads(ps.segment_scan, X, IDS, **options)
    check_grads(ps.segment_scan, np.round(X), offsets=[0, 2, 2, 6], **options)
    check_grads(ps.segment_scan, X, IDS[:3], axis=1, **options)
    check_grads(ps.segment_scan, np.round(X), GRID, axis=None, ties="first", **options)


def test_complex_scans():
    check_grads(ps.segment_scan, X + 1j, IDS, op="mul")
    check_grads(ps.segment_scan, X + 1j, IDS, op="add")


def test_bincount():
    check_grads(ps.bincount, IDS, X[:, 0])
    check_grads(ps.bincount, IDS, X, 7, where=IDS > 0)
    check_grads(ps.bincount, IDS.reshape(2, 3), X[:2] + 1j, axis=1)
    check_grads(ps.bincount, IDS.reshape(2, 3), X.reshape(2, 3, 3), axis=0)


# --- products -------------------------------------------------------------------------


def matrices(form):
    """Yield matrices with an empty row: sorted, and with duplicates out of order."""
    dense = RNG.standard_normal((5, 4)) * (RNG.random((5, 4)) > 0.4)
    dense[2] = 0
    yield form.from_dense(dense)
    where = [0, 0, 1, 4, 4, 3, 0], [1, 1, 0, 3, 2, 2, 1]
    yield ps.COO((RNG.standard_normal(7), where), (5, 4))._converted(form)


KINDS = [{}, {"op": "mean"}, {"alpha": 2.5}]
EXTREMES = [{"op": "min"}, {"op": "max", "alpha": -2.0}]
EXTREMES += [{"semiring": name} for name in ("min_plus", "max_plus", "max_times")]


@pytest.mark.parametrize("form", [ps.CSR, ps.CSC, ps.COO])
@pytest.mark.parametrize("kind", KINDS + EXTREMES, ids=str)
def test_spmm(form, kind):
    if kind in EXTREMES:
        kind = {"fill_value": 0, **kind}
    for A in matrices(form):
        n, m = RNG.standard_normal((4, 3)), RNG.standard_normal((3, 5))
        check_grads(ps.spmm, A, n, **kind)
        check_grads(ps.spmm, A, n[:, 0], **kind)
        check_grads(ps.spmm, A, m.T, transpose=True, **kind)
        check_grads(ps.spmm, m, A, **kind)
        check_grads(ps.spmm, n.T, A, transpose=True, **kind)
        check_grads(ps.spmm, A, RNG.standard_normal((2, 4, 3)), **kind)
        check_grads(ps.spmm, RNG.standard_normal((2, 3, 5)), A, **kind)


@pytest.mark.parametrize("form", [ps.CSR, ps.CSC, ps.COO])
def test_complex_spmm(form):
    for real in matrices(form):
        A = real._with_data(real.data * (1 + 2j))
        n, m = RNG.standard_normal((4, 3)), RNG.standard_normal((3, 5)) + 1j
        check_grads(ps.spmm, A, n)
        check_grads(ps.spmm, A, n - 1j, conjugate=True, op="mean")
        check_grads(ps.spmm, A, m.T, conjugate=True, transpose=True)
        check_grads(ps.spmm, real, n + 1j, alpha=2 - 1j)
        check_grads(ps.spmm, m, A, conjugate=True)


@pytest.mark.parametrize("form", [ps.CSR, ps.CSC, ps.COO])
def test_sparse_results_and_samples(form):
    for A in matrices(form):
        P, Q = RNG.standard_normal((2, 5, 3)), RNG.standard_normal((2, 4, 3))
        B = form.from_dense(Q[0] * (Q[0] > 0))
        for values in ("pattern", "scale"):
            check_grads(ps.sddmm, A, P, Q, values=values)
            check_grads(ps.sddmm, A, P[0] + 1j, Q[1] - 2j, values=values)
        check_grads(ps.spgemm, A, B)
        check_grads(ps.spgemm, A, A.T)
        check_grads(ps.spgemm, A._with_data(A.data * 1j), B)


def test_patterns_without_values():
    A = ps.COO((None, ([0, 1], [1, 1])), (5, 4))
    check_grads(ps.spmm, A, RNG.standard_normal((4, 2)))
    out, pullback = ps.vjp(ps.spmm, A, np.ones(4))
    assert pullback(np.ones(5))[0] is None


def test_assembly():
    check_grads(ps.coo_to_csr, X[0], ([0, 1, 0], [1, 0, 1]), (2, 2))
    check_grads(ps.coo_to_csr, X[:2, :1], ([[0], [1]], [1, 0]), (2, 2))


def test_every_operation_has_a_rule_or_a_reason():
    named = {op.__name__ for op in RULES} | set(NONE) | set(autodiff.__all__)
    public = {n for n in ps.__all__ if n.islower() and callable(getattr(ps, n))}
    settings = {"num_threads", "get_num_threads", "set_num_threads", "show_config"}
    assert public - named == settings
