"""Jacobians: every mode gives the same matrix, and operators its products."""

import numpy as np
import pytest

import pyscatter as ps
from tests.cases import rng_for

RNG = rng_for("jacobians")
A, X = RNG.standard_normal((4, 3)), RNG.standard_normal((6, 3))
IDS = np.array([0, 2, 2, 0, 1, 2])
ENTRIES = (RNG.standard_normal(7), ([0, 0, 1, 4, 4, 3, 0], [1, 1, 0, 3, 2, 2, 1]))
MATRIX = ps.COO(ENTRIES, (5, 4))


def check_jacobian(op, /, *primals, wrt=0, closed=True, **options):
    """Compare the operator's columns and rows, the closed form, and sweeps."""
    operator = ps.linear_operator(op, *primals, wrt=wrt, **options)
    expected = operator.matmat(np.eye(operator.shape[1]))
    back = operator.rmatmat(np.eye(operator.shape[0]))
    assert np.allclose(back.conj().T, expected)
    made = ps.jacobian(op, *primals, wrt=wrt, **options)
    assert (made.mode == "closed") is closed and made.shape == operator.shape
    assert np.allclose(made.to_dense(), expected)
    if "mode" not in options:
        for mode in ("forward", "reverse"):
            swept = ps.jacobian(op, *primals, wrt=wrt, mode=mode, **options)
            assert swept.mode == mode and swept.sweeps > 0
            assert np.allclose(swept.to_dense(), expected)


@pytest.mark.parametrize("op", "set add mul div min max mean".split())
@pytest.mark.parametrize("wrt", [0, 2])
def test_scatters(op, wrt):
    check_jacobian(ps.scatter, A, [0, 3, 3], X[:3], wrt=wrt, op=op)
    check_jacobian(ps.scatter, A, [0, 3, 3], 2.0, wrt=wrt, op=op)
    check_jacobian(ps.scatter, A, [0, -3, 3], X[:3], wrt=wrt, op=op, mode="drop")
    check_jacobian(ps.scatter_where, A, A > 0, A[A > 0], wrt=wrt, op=op, packed=True)


def test_gathers_and_choices():
    check_jacobian(ps.gather, A + 1j, [0, 3, 3])
    check_jacobian(ps.gather_where, A, A > 0)
    check_jacobian(ps.gather_nd, A, [[0], [1]])
    check_jacobian(ps.where, A > 0, A, A[0], wrt=1)
    check_jacobian(ps.where, A > 0, A, A[0], wrt=2)
    check_jacobian(ps.segment_expand, A, IDS)
    check_jacobian(ps.bincount, IDS, X, wrt=1)
    check_jacobian(ps.bincount, IDS, X[:, 0], wrt=1, where=IDS > 0)


@pytest.mark.parametrize("op", "add mul min mean var std logsumexp first".split())
def test_segments(op):
    check_jacobian(ps.segment_reduce, X, IDS, 3, op=op)
    check_jacobian(ps.segment_reduce, A, IDS, 3, op=op, gather=[3, 1, 1, 0, -1, 0])
    check_jacobian(ps.segment_reduce, X, starts=[3, 0], stops=[5, 4], op=op)


def test_entries_of_segments():
    check_jacobian(ps.segment_softmax, X, IDS)
    check_jacobian(ps.segment_log_softmax, X, offsets=[0, 2, 6])
    check_jacobian(ps.segment_scan, X, IDS, closed=False)
    check_jacobian(ps.segment_reduce, X, IDS, 3, op="median", closed=False)


@pytest.mark.parametrize("wrt", [0, 1])
def test_products(wrt):
    for matrix in (MATRIX, MATRIX.to_csr(), MATRIX.to_csc()):
        check_jacobian(ps.spmm, matrix, A, wrt=wrt, alpha=2.0)
        check_jacobian(ps.spmm, matrix, A[:, 0], wrt=wrt)
        check_jacobian(ps.spmm, matrix, np.ones((5, 2)), wrt=wrt, transpose=True)
        check_jacobian(ps.spmm, X[:2, :1] * np.ones(5), matrix, wrt=wrt)
        check_jacobian(ps.spgemm, matrix, matrix.T, wrt=wrt)
    largest = {"op": "max", "fill_value": 0}
    check_jacobian(ps.spmm, MATRIX, A, wrt=wrt, closed=False, **largest)


def test_samples_and_assembly():
    rows = RNG.standard_normal((5, 3))
    for wrt in (0, 1, 2):
        check_jacobian(ps.sddmm, MATRIX, rows, A, wrt=wrt, values="scale")
        check_jacobian(ps.sddmm, MATRIX, rows, A, wrt=wrt)
    check_jacobian(ps.coo_to_csr, X[0], ([0, 1, 0], [1, 0, 1]), (2, 2))


def test_several_arguments_stand_side_by_side():
    made = ps.jacobian(ps.scatter, A, [0, 3, 3], X[:3], wrt=(0, 2), op="add")
    assert made.shape == (12, 21)
    assert np.allclose(
        made.to_dense()[:, 12:],
        ps.jacobian(ps.scatter, A, [0, 3, 3], X[:3], wrt=2, op="add").to_dense(),
    )


# --- patterns -------------------------------------------------------------------------


def stencil(x):
    """A function whose Jacobian has three diagonals."""
    return x**2 + np.append(x[1:], 0) * np.append(0, x[:-1])


def stencil_jvp(tangents, out, x):
    t = tangents[0]
    ahead, behind = np.append(x[1:], 0), np.append(0, x[:-1])
    return 2 * x * t + np.append(t[1:], 0) * behind + ahead * np.append(0, t[:-1])


def stencil_vjp(g, out, x):
    ahead, behind = np.append(x[1:], 0), np.append(0, x[:-1])
    return 2 * x * g + np.append(0, (g * behind)[:-1]) + np.append((g * ahead)[1:], 0)


@pytest.mark.parametrize("mode", ["forward", "reverse", "auto"])
def test_patterns_are_coloured(mode):
    n = 40
    x = RNG.standard_normal(n)
    pattern = np.abs(np.subtract.outer(np.arange(n), np.arange(n))) <= 1
    rules = {"vjp": stencil_vjp, "jvp": stencil_jvp}
    dense = ps.jacobian(stencil, x, mode="forward", **rules)
    assert dense.sweeps == n
    for given in (pattern, ps.CSR.from_dense(pattern * 1.0)):
        made = ps.jacobian(stencil, x, mode=mode, pattern=given, **rules)
        assert made.sweeps <= 5 and made.cost < dense.cost
        assert np.allclose(made.to_dense(), dense.to_dense())


@pytest.mark.parametrize("density", [0.0, 0.02, 0.2, 1.0])
def test_colours_differ_within_rows(density):
    pattern = RNG.random((30, 20)) < density
    rows = ps.CSR.from_dense(pattern * 1.0)
    columns = rows.to_csc()
    order = RNG.permutation(20)
    colors, count = ps._core.color_columns(
        rows.indptr, rows.indices, columns.indptr, columns.indices, order
    )
    assert colors.max(initial=-1) + 1 == count <= 20
    for row in pattern:
        assert len(set(colors[row])) == row.sum()
    for i, column in enumerate(order):  # each has the least colour that was free
        earlier = [c for c in order[:i] if (pattern[:, c] & pattern[:, column]).any()]
        taken = {int(colors[c]) for c in earlier}
        assert colors[column] == min(set(range(21)) - taken)


def test_malformed_patterns_are_refused():
    good = [0, 1, 2], [0, 1], [0, 1, 2], [0, 1], [0, 1]
    assert ps._core.color_columns(*good)[1] == 1
    for at, bad in (
        (0, [0, 3, 2]),
        (0, [1, 1, 2]),
        (1, [0, 2]),
        (1, [0, -1]),
        (3, [0, 7]),
        (3, [0]),
        (4, [0, 2]),
        (4, [0]),
        (2, []),
    ):
        arrays = [*good]
        arrays[at] = bad
        with pytest.raises((ValueError, TypeError)):
            ps._core.color_columns(*arrays)
    with pytest.raises(ValueError, match=r"shape \(2, 2\); expected \(12, 12\)"):
        ps.jacobian(ps.scatter, A, [0], 1.0, pattern=np.eye(2))


# --- tapes and chains -----------------------------------------------------------------


def chain_of(sizes, counts):
    """A tape of gathers and sums, stage by stage."""
    tape = ps.Tape()
    x = node = tape.variable(RNG.standard_normal(sizes[0]))
    for size, many in zip(sizes[1:], counts, strict=True):
        ids = np.sort(RNG.integers(0, size, node.value.size * many))
        rows = RNG.integers(0, node.value.size, ids.size)
        node = tape.apply(ps.gather, node, rows)
        node = tape.apply(ps.segment_sum, node, ids, size)
    return tape, x, node


def test_chains_are_multiplied_in_the_cheapest_order():
    tape, x, node = chain_of([40, 3, 50, 30], [1, 1, 1])
    dense = ps.jacobian(tape, node, mode="reverse")
    made = ps.jacobian(tape, node, mode="chain")
    assert made.mode == "chain" and made.sweeps == 0 and made.cost > 0
    assert np.allclose(made.to_dense(), dense.to_dense())
    flat = str(made.order).replace("(", "").replace(")", "").split(", ")
    assert flat == ["5", "4", "3", "2", "1", "0"]  # all stages, the last one first
    auto = ps.jacobian(tape, node)
    assert auto.mode == "chain" and np.allclose(auto.to_dense(), dense.to_dense())


def test_brackets_are_the_best_of_all():
    from pyscatter.autodiff.chains import planned

    shapes = [(10, 1000), (500, 10), (5, 500)]
    counts = [float(m * n) for m, n in shapes]
    cost, order = planned(shapes, counts)
    # (2 1) 0: 5 * 500 * 10 + 5 * 10 * 1000; 2 (1 0): 500 * 10 * 1000 + 5 * 500 * 1000
    assert order == ((2, 1), 0) and cost == 75_000


def test_branches_have_no_chain():
    tape = ps.Tape()
    x = tape.variable(A)
    node = tape.apply(ps.where, A > 0, tape.apply(ps.gather, x, [0, 1, 2, 3]), x)
    with pytest.raises(ValueError, match="one path"):
        ps.jacobian(tape, mode="chain")
    made = ps.jacobian(tape, node)
    assert np.allclose(made.to_dense(), np.eye(12))


def test_tapes_with_functions_of_ones_own():
    tape = ps.Tape()
    x = tape.variable(RNG.standard_normal(6))
    rules = {"vjp": stencil_vjp, "jvp": stencil_jvp}
    node = tape.apply(ps.segment_sum, tape.apply(stencil, x, **rules), IDS, 3)
    expected = ps.jacobian(tape, mode="forward").to_dense()
    for mode in ("chain", "reverse", "auto"):
        assert np.allclose(ps.jacobian(tape, node, mode=mode).to_dense(), expected)


# --- refusals and operators -----------------------------------------------------------


def test_what_is_refused():
    with pytest.raises(ValueError, match="unknown mode"):
        ps.jacobian(ps.gather, A, [0], mode="both")
    with pytest.raises(ValueError, match="no closed form"):
        ps.jacobian(ps.segment_scan, X, IDS, mode="closed")
    with pytest.raises(ValueError, match="one path"):
        ps.jacobian(ps.gather, A, [0], mode="chain")
    with pytest.raises(TypeError, match="needs vjp="):
        ps.jacobian(np.square, X[0], mode="reverse", jvp=lambda t, y, x: 2 * x * t[0])
    with pytest.raises(ValueError, match="wrt=1"):
        ps.linear_operator(ps.gather, A, [0], wrt=1)
    with pytest.raises(TypeError, match="dtype int64"):
        ps.jacobian(ps.gather, np.arange(3), [0])


def test_operators_compose_as_matrices_do():
    J = ps.linear_operator(ps.spmm, MATRIX, A[:, 0], wrt=1)
    dense = MATRIX.to_dense()
    v, u = RNG.standard_normal(4), RNG.standard_normal(5)
    assert np.allclose(J @ v, dense @ v) and np.allclose(J.H @ u, dense.T @ u)
    assert np.allclose(J.T.H @ np.eye(4), dense) and J.H.shape == (4, 5)
    assert np.allclose(J.matvec([1, 0, 0, 0]), dense[:, 0])
    assert J.dtype == np.float64


def test_scipy_solves_with_operators():
    linalg = pytest.importorskip("scipy.sparse.linalg")
    J = ps.linear_operator(ps.spmm, MATRIX, A[:, 0], wrt=1)
    b = MATRIX.to_dense() @ np.array([1.0, -2.0, 3.0, 0.5])
    found = linalg.lsqr(linalg.aslinearoperator(J), b, atol=1e-12, btol=1e-12)[0]
    assert np.allclose(MATRIX.to_dense() @ found, b)


def test_real_operators_take_both_parts_of_complex_vectors():
    J = ps.linear_operator(ps.gather, np.ones(4), [0, 2, 2])
    assert (J @ np.array([1j, 2, 3 + 4j, 4])).tolist() == [1j, 3 + 4j, 3 + 4j]
    assert J.rmatvec(np.array([1j, 2, 3j])).tolist() == [1j, 0, 2 + 3j, 0]
    assert (J @ np.array([complex(1, np.inf), 0, 0, 0]))[0] == complex(1, np.inf)
    assert J.matvec(np.ones(4, np.complex64)).dtype == np.complex64
    target, values = np.ones(2, complex), np.ones(1)
    K = ps.linear_operator(ps.scatter, target, [0], values, wrt=2, op="add")
    assert K.rmatvec(np.array([3 + 1j, 2])).tolist() == [3]
    with pytest.raises(ValueError, match="a complex vector for a real argument"):
        K.matvec(np.array([1j]))


def test_operands_that_are_no_vectors():
    J = ps.linear_operator(ps.gather, np.ones(4), [0, 2, 2])
    for x in (np.array([None] * 4), np.array(list("abcd"))):
        with pytest.raises(TypeError, match="expected numbers"):
            J @ x
    for x in (1.0, np.ones((4, 2, 2))):
        with pytest.raises(ValueError, match="expected 1 or 2"):
            J @ x


def test_jacobians_of_what_is_not_there():
    tape = ps.Tape()
    with pytest.raises(ValueError, match="none of 0 variables"):
        ps.jacobian(tape)
    tape.variable(np.ones(3))
    for wrt in (1, -1):
        with pytest.raises(ValueError, match="none of 1 variables"):
            ps.jacobian(tape, wrt=wrt)
    with pytest.raises(ValueError, match="wrt names no argument"):
        ps.jacobian(ps.gather, np.ones(4), [0], wrt=())
    both = ps.jacobian(ps.scatter, np.ones(2), [0], np.ones(1), wrt=[0, 2])
    assert both.to_dense().tolist() == [[0, 0, 1], [0, 1, 0]]


def test_rules_that_return_another_shape():
    x, pattern = np.ones(3), np.eye(3)
    for options in ({}, {"pattern": pattern}):
        with pytest.raises(ValueError, match=r"vjp returned shape \(1,\)"):
            ps.jacobian(np.square, x, vjp=lambda g, y, x: np.ones(1), **options)
        with pytest.raises(ValueError, match=r"jvp returned shape \(1,\)"):
            ps.jacobian(np.square, x, jvp=lambda t, y, x: np.ones(1), **options)
        none = ps.jacobian(np.square, x, vjp=lambda g, y, x: None, **options)
        assert not none.to_dense().any()
    with pytest.raises(ValueError, match="vjp returned 2 gradients for 1"):
        ps.jacobian(np.square, x, vjp=lambda g, y, x: (x, x))
    with pytest.raises(ValueError, match="wrt=1 is none of 1 arguments"):
        ps.jacobian(np.square, x, wrt=1, vjp=lambda g, y, x: x)
