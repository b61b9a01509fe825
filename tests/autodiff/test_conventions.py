"""What gradients are where it is a matter of choice, and what is refused.

Each case is small enough to be checked by hand; user reports are named by what they
were about.
"""

import math
import threading

import numpy as np
import pytest

import pyscatter as ps

INF, NAN = np.inf, np.nan


def gradients(op, /, *primals, g=None, pulled=None, **options):
    """Return the gradients for a cotangent of ones."""
    out, pullback = ps.vjp(op, *primals, **options)
    g = (
        np.ones(np.shape(out.data if hasattr(out, "format") else out))
        if g is None
        else g
    )
    return pullback(g, **(pulled or {}))


def same(given, expected):
    assert given.tolist() == pytest.approx(expected, nan_ok=True), given


# --- duplicates, ties, zeros ----------------------------------------------------------


def test_the_last_of_several_has_the_gradient():
    own, _, new = gradients(ps.scatter, np.zeros(2), [0, 0], np.array([1.0, 2.0]))
    same(own, [0, 1])
    same(new, [0, 1])
    own, _, new = gradients(
        ps.scatter, np.zeros(2), [0, 0], np.array([1.0, 2.0]), op="first"
    )
    same(new, [1, 0])


def test_a_fill_has_the_gradient_of_each_place_once():
    _, _, new = gradients(ps.scatter, np.zeros(4), [1, 1, 3], 7.0)
    assert new.shape == () and new == 2


@pytest.mark.parametrize(
    ("ties", "own", "new"),
    [("even", [1 / 3], [1 / 3, 1 / 3, 0]), ("first", [1], [0, 0, 0])],
)
def test_ties_with_the_old_value(ties, own, new):
    values = np.array([2.0, 2.0, 1.0])
    made = gradients(
        ps.scatter, np.array([2.0]), [0, 0, 0], values, op="max", ties=ties
    )
    same(made[0], own)
    same(made[2], new)


def test_excluded_old_values_do_not_tie():
    made = gradients(
        ps.scatter, np.array([2.0]), [0], np.array([2.0]), op="max", include_self=False
    )
    same(made[0], [0])
    same(made[2], [1])
    own, _, new = gradients(
        ps.scatter, np.array([-INF]), [0] * 3, [1.0, 3.0, 2.0], op="max",
        include_self=False,
    )  # fmt: skip
    same(own, [0])
    same(new, [0, 1, 0])


def test_zeros_of_both_signs_tie():
    made = gradients(ps.segment_max, np.array([0.0, -0.0, -1.0]), [0, 0, 0])
    same(made[0], [0.5, 0.5, 0])


def test_nan_winners_share():
    made = gradients(ps.segment_max, np.array([NAN, 1.0, NAN]), [0, 0, 0])
    same(made[0], [0.5, 0, 0.5])
    made = gradients(ps.segment_reduce, np.array([NAN, 1.0]), [0, 0], op="fmax")
    same(made[0], [0, 1])


def test_infinite_factors_are_selected_away():
    g = np.array([INF, 1.0])
    made = gradients(ps.segment_max, np.array([1.0, 2.0, 3.0]), [0, 0, 1], g=g)
    same(made[0], [0, INF, 1])


def test_products_with_zeros():
    for values, expected in (
        ([0.0, 2.0, 3.0], [6, 0, 0]),
        ([0.0, 0.0, 3.0], [0, 0, 0]),
        ([1e-200, 1e-200, 1.0], [1e-200, 1e-200, 0]),
        ([1e-200, 1e-200, 1e200], [1, 1, 0]),
    ):
        values = np.array(values)
        assert gradients(ps.segment_prod, values, [0, 0, 0])[0].tolist() == (
            pytest.approx(expected, rel=1e-12, abs=0)
        )
        _, _, new = gradients(ps.scatter, np.ones(1), [0, 0, 0], values, op="mul")
        assert new.tolist() == pytest.approx(expected, rel=1e-12, abs=0)


def test_running_products_with_zeros():
    made = gradients(ps.segment_scan, np.array([2.0, 0.0, 3.0, 5.0]), [0] * 4, op="mul")
    same(made[0], [1, 2 + 2 * 3 + 2 * 15, 0, 0])


def test_floor_division_is_flat():
    made = gradients(ps.scatter, np.array([7.0, 5.0]), [0], 2.0, op="floor_div")
    same(made[0], [0, 1])
    assert made[2] == 0


def test_spread_of_equal_values():
    same(gradients(ps.segment_reduce, np.ones(3), [0] * 3, op="std")[0], [0, 0, 0])
    alone = gradients(ps.segment_reduce, np.ones(1), [0], op="std", ddof=1)
    same(alone[0], [NAN])


def test_log_sums_of_infinities():
    x = np.array([-INF, -INF, INF, 1.0, INF])
    made = gradients(ps.segment_reduce, x, [0, 0, 1, 1, 1], 3, op="logsumexp")
    same(made[0], [0, 0, 0.5, 0, 0.5])


def test_medians_share_among_equals():
    same(
        gradients(ps.segment_reduce, np.array([1.0, 2, 2, 2]), [0] * 4, op="median")[0],
        [0, 1 / 3, 1 / 3, 1 / 3],
    )
    x = np.array([4.0, 1.0, 3.0, 1.0])
    made = gradients(ps.segment_reduce, x, [0] * 4, op="median")
    same(made[0], [0, 0.25, 0.5, 0.25])
    made = gradients(ps.segment_reduce, x, [0] * 4, op="median", ties="first")
    same(made[0], [0, 0.5, 0.5, 0])


def test_initial_values_take_their_share():
    x = np.array([2.0, 1.0])
    same(gradients(ps.segment_max, x, [0, 0], initial=2.0)[0], [0.5, 0])
    same(gradients(ps.segment_max, x, [0, 0], initial=5.0)[0], [0, 0])


# --- what takes no part has exactly zero ----------------------------------------------


def test_where_selects():
    x = np.array([-1.0, 4.0])
    made = gradients(ps.where, x > 0, 1.0, x, g=np.array([1.0, NAN]))
    assert made[1].shape == () and np.isnan(made[1])
    same(made[2], [1, 0])
    same(gradients(ps.where, [True, False, True], 2.0, 5.0)[1], 2)


def test_no_nan_from_elements_that_are_not_selected():
    x = np.array([0.0, 1.0, 4.0])
    root = {"fill_value": 0.0, "derivative": lambda v: 0.5 / np.sqrt(v)}
    same(gradients(ps.apply_where, x > 0, x, np.sqrt, **root)[1], [0, 0.5, 0.25])


def test_log_of_what_a_mask_takes():
    a = np.array([0.0, 1.0, 2.0])
    taken, back = ps.vjp(ps.gather_where, a, a > 0)
    same(back(1 / taken)[0], [0, 1, 0.5])


def test_dropped_entries_have_zero():
    made = gradients(ps.scatter, np.zeros(2), [0, -1, 5], [1.0, NAN, 2.0], op="add",
                     mode="drop")  # fmt: skip
    same(made[2], [1, 0, 0])
    ids = np.array([0, 1, -1])
    same(
        gradients(ps.segment_sum, np.ones(3), ids, 2, mode="drop", g=[1.0, 2.0])[0],
        [1, 2, 0],
    )


def test_rows_that_no_range_covers_have_zero():
    x = np.ones((8, 2))
    made = gradients(ps.segment_mean, x, starts=[0, 3], stops=[3, 7])
    same(made[0][:, 0], [1 / 3] * 3 + [1 / 4] * 4 + [0])
    made = gradients(ps.segment_mean, x, offsets=[0, 8, 8, 8])
    same(made[0][:, 0], [1 / 8] * 8)


def test_clipped_entries_accumulate_at_the_end():
    same(gradients(ps.gather, np.zeros(3), [1, 9, 7], mode="clip")[0], [0, 1, 2])


# --- complex --------------------------------------------------------------------------


def test_complex_gradients_are_adjoint():
    z, c = np.array([1 + 1j]), np.array([3 - 1j])
    _, back = ps.vjp(ps.scatter, z, [0], c, op="mul")
    same(back(np.ones(1))[0], [3 + 1j])
    real = gradients(ps.spmm, ps.CSR((np.array([1 + 2j]), [0], [0, 1]), (1, 1)),
                     np.ones(1), g=np.array([1j]))  # fmt: skip
    assert real[1].dtype == np.float64 and real[1].tolist() == [2]


# --- precision and forms of gradients -------------------------------------------------


def test_gradients_have_the_precision_of_the_cotangent():
    x = np.ones(3, "f4")
    for dtype in ("f2", "f4", "f8"):
        for op in ("mean", "mul", "max", "std", "logsumexp"):
            g = np.ones(1, dtype)
            made = gradients(ps.segment_reduce, x, [0, 0, 0], op=op, g=g)
            assert made[0].dtype == dtype
        assert gradients(ps.gather, x, [0], g=np.ones(1, dtype))[0].dtype == dtype


def test_none_is_zero():
    out, back = ps.vjp(ps.gather, np.ones(3), [0])
    assert back(None) == (None, None)
    out, tangent = ps.jvp(ps.gather, (np.ones(3), [0]), (None, None))
    same(tangent, [0])


def test_sparse_gradients_consist_of_rows():
    table = np.zeros((6, 2))
    for mode, expected in (("raise", [1, 5, 1]), ("drop", [1, 1])):
        out, back = ps.vjp(ps.gather, table, [1, -1, 1], mode=mode)
        rows = back(np.ones(out.shape), sparse=True)[0]
        assert isinstance(rows, ps.RowSparse) and rows.indices.tolist() == expected
        assert np.array_equal(rows.to_dense(), back(np.ones(out.shape))[0])
        once = back(np.ones(out.shape), sparse=True, coalesce=True)[0]
        assert once.indices.tolist() == sorted(set(expected))
    out, back = ps.vjp(ps.gather_nd, table, [[1], [-1]])
    assert back(np.ones(out.shape), sparse=True)[0].indices.tolist() == [1, 5]
    bag = {"gather": [3, 3, -1], "weights": [1.0, 2.0, 4.0]}
    out, back = ps.vjp(ps.segment_sum, table, offsets=[0, 1, 3], **bag)
    rows = back(np.ones(out.shape), sparse=True)[0]
    assert rows.coalesce().values.tolist() == [[3, 3], [4, 4]]
    assert np.array_equal(rows.to_dense(), back(np.ones(out.shape))[0])
    made = gradients(ps.scatter, table, [0], 1.0, pulled={"sparse": True})
    assert isinstance(made[0], np.ndarray)


def test_a_matrix_has_the_gradient_of_each_stored_entry():
    A = ps.COO((np.array([1.0, 0.0, 2.0]), ([0, 0, 0], [1, 0, 1])), (1, 2))
    made, _ = gradients(ps.spmm, A, np.array([3.0, 5.0]))
    assert type(made) is ps.COO and made.data.tolist() == [5, 3, 5]
    assert made.row.tolist() == [0, 0, 0]


def test_sparse_times_sparse_follows_the_storage_order():
    one = ps.CSR.from_dense(np.eye(3))
    made, _ = gradients(ps.spgemm, one, one)
    assert made.to_dense().tolist() == np.eye(3).tolist()


# --- buffers --------------------------------------------------------------------------


def test_buffers_are_added_to():
    table = np.zeros((4, 2))
    buffer = np.full((4, 2), 10.0)
    out, back = ps.vjp(ps.gather, table, [3, 3])
    (given, none) = back(np.ones((2, 2)), into=(buffer, None))
    assert given is buffer and none is None
    assert buffer[:, 0].tolist() == [10, 10, 10, 12]
    A = ps.CSR.from_dense(np.eye(2))
    data, dense = np.ones(2), np.ones((2, 1), "f4")
    out, back = ps.vjp(ps.spmm, A, np.full((2, 1), 3.0))
    back(np.ones((2, 1)), into=(data, dense))
    assert data.tolist() == [4, 4] and dense.tolist() == [[2], [2]]


def readonly(n):
    buffer = np.zeros(n)
    buffer.flags.writeable = False
    return buffer


@pytest.mark.parametrize(
    ("buffer", "words"),
    [
        (readonly(3), "read-only"),
        (np.zeros(2), r"shape \(2,\); expected \(3,\)"),
        (np.zeros(3, int), "dtype int64"),
        ([0.0] * 3, "must be an ndarray"),
    ],
)
def test_buffers_are_refused_before_anything_is_written(buffer, words):
    other = np.zeros(2)
    out, back = ps.vjp(ps.scatter, np.zeros(3), [0, 1], np.ones(2), op="add")
    with pytest.raises(ValueError, match=words):
        back(np.ones(3), into=(buffer, None, other))
    with pytest.raises(ValueError, match="argument 1"):
        back(np.ones(3), into=(None, np.zeros(2), other))
    assert other.tolist() == [0, 0]


def test_buffers_that_share_memory_are_refused():
    a, values = np.zeros(3), np.ones(2)
    out, back = ps.vjp(ps.scatter, a, [0, 1], values, op="add")
    g, two = np.ones(3), np.zeros(4)
    for into in ((a, None, None), (g, None, None), (two[:3], None, two[2:])):
        with pytest.raises(ValueError, match="shares memory"):
            back(g, into=into)
    for into in ((a,), a, 3):
        with pytest.raises(ValueError, match="into"):
            back(g, into=into)
    assert a.tolist() == [0, 0, 0] and two.tolist() == [0] * 4


def test_an_error_half_way_says_what_was_added(monkeypatch):
    from pyscatter.autodiff import buffers

    out, back = ps.vjp(ps.scatter, np.zeros(3), [0, 1], np.ones(2), op="add")
    first, second = np.zeros(3), np.zeros(2)
    real, calls = buffers.add_one, []

    def failing(*arguments):
        calls.append(1)
        if len(calls) == 2:
            raise MemoryError("none left")
        real(*arguments)

    monkeypatch.setattr(buffers, "add_one", failing)
    with pytest.raises(MemoryError) as caught:
        back(np.ones(3), into=(first, None, second))
    assert caught.value.__notes__ == ["gradients of these arguments had been added: 0"]
    assert first.tolist() == [1, 1, 1] and second.tolist() == [0, 0]


# --- refusals -------------------------------------------------------------------------

V = np.array([1.0, 2.0])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ps.vjp(ps.scatter, np.zeros(2, int), [0, 1], [1, 2]), "dtype int64"),
        (lambda: ps.vjp(ps.gather, np.zeros(2, bool), [0]), "dtype bool"),
        (lambda: ps.vjp(ps.scatter, V, [0, 1], np.array([1, 2])), "'values'"),
        (lambda: ps.jvp(ps.gather, (np.arange(2), [0]), (V, None)), "dtype int64"),
        (lambda: ps.vjp(ps.add_at, V, [0], 1.0), "scatter_at"),
        (lambda: ps.vjp(ps.nonzero, V), "integers"),
        (lambda: ps.vjp(np.sin, V), "no operation of pyscatter"),
        (lambda: ps.vjp([], V), "no operation of pyscatter"),
        (lambda: ps.vjp(ps.gather, V, [0], out=np.zeros(1)), "into="),
        (lambda: ps.vjp(ps.spmm, ps.CSR.from_dense(np.eye(2)), V, beta=1, out=V), "="),
        (lambda: ps.vjp(ps.segment_sum, V, [0, 0], return_counts=True), "result alone"),
        (lambda: ps.vjp(ps.segment_reduce, V, [0, 0], op=("add", "max")), "one at a"),
        (lambda: gradients(ps.segment_reduce, V, [0, 0], op="argmax"), "int64"),
        (lambda: ps.vjp(ps.segment_reduce, V, [0, 0], op="any"), "bool"),
        (lambda: ps.vjp(ps.bincount, [0, 1]), "int64"),
        (lambda: ps.vjp(ps.gather, V.astype(object), [0]), "dtype object"),
        (lambda: ps.vjp(ps.gather, np.zeros(2, "m8[s]"), [0]), "timedelta"),
        (lambda: ps.vjp(ps.gather, V.astype("g"), [0]), "at most double precision"),
    ],
)
def test_what_has_no_derivative(call, words):
    with pytest.raises(TypeError, match=words):
        call()


@pytest.mark.parametrize(
    ("g", "words"),
    [
        (np.ones(3), r"shape \(3,\), but the result has \(2,\)"),
        (np.ones(2, int), "dtype int64, but the result has float64"),
        (np.ones(2, complex), "complex128, but the result has float64"),
    ],
)
def test_cotangents_that_do_not_fit(g, words):
    _, back = ps.vjp(ps.gather, V, [0, 1])
    with pytest.raises(ValueError, match=words):
        back(g)
    with pytest.raises(ValueError, match=words.split(",")[0].split(r"\(")[0]):
        ps.jvp(ps.gather, (V, [0, 1]), (g, None))


def test_positions_that_do_not_fit():
    with pytest.raises(ValueError, match=r"wrt=1 .* 0 \(a\), 2 \(values\)"):
        ps.vjp(ps.scatter, V, [0], 1.0, wrt=1)
    with pytest.raises(ValueError, match="no tangent"):
        ps.jvp(ps.scatter, (V, [0], 1.0), (None, V, None))
    with pytest.raises(ValueError, match="3 arguments"):
        ps.jvp(ps.scatter, (V, [0], 1.0), (V,))
    with pytest.raises(ValueError, match="ties"):
        ps.vjp(ps.gather, V, [0], ties="last")
    own, none, new = gradients(ps.scatter, V, [0], np.array([1]), wrt=0)
    assert new is None and own.tolist() == [0, 1]


def test_pullbacks_serve_several_threads():
    rng = np.random.default_rng(0)
    values, ids = rng.standard_normal((500, 8)), rng.integers(0, 40, 500)
    out, back = ps.vjp(ps.segment_max, values, ids, 40)
    g = rng.standard_normal(out.shape)
    results = [None] * 4

    def work(i):
        results[i] = back(g)[0]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(results[0], other) for other in results[1:])


def test_matrices_of_another_structure_are_refused():
    edges, x = [0, 1, 2], np.ones((2, 1))
    A = ps.CSR((np.ones(2), [0, 1], edges), (2, 2))
    B = ps.CSR((np.ones(2), [1, 0], edges), (2, 2))
    for other in (B, A.to_csc(), A.to_coo()):
        with pytest.raises(ValueError, match="tangent is a matrix of another struct"):
            ps.jvp(ps.spmm, (A, x), (other, None))
    same = ps.CSR((np.array([2.0, 3.0]), [0, 1], edges), (2, 2))
    assert ps.jvp(ps.spmm, (A, x), (same, None))[1].tolist() == [[2.0], [3.0]]
    out, pullback = ps.vjp(ps.spgemm, A, A)
    assert pullback(out)[0].data.tolist() == [1.0, 1.0]
    with pytest.raises(ValueError, match="cotangent is a matrix of another struct"):
        pullback(B)


def test_a_position_that_is_wanted_twice():
    out, pullback = ps.vjp(ps.gather, np.ones(3), [1, 1], wrt=(0, 0))
    assert pullback(np.ones(2), sparse=True, coalesce=True)[0].values.tolist() == [2.0]


@pytest.mark.parametrize("nnz", [0, 2])
@pytest.mark.parametrize("n", [0, 2])
@pytest.mark.parametrize("batch", [(), (0,), (2,)])
@pytest.mark.parametrize("columns", [0, 1])
def test_products_of_nothing(nnz, n, batch, columns):
    nnz = min(nnz, n)
    edges = np.minimum(np.arange(3), nnz)
    A = ps.CSR((np.ones(nnz), np.arange(nnz), edges), (2, n))
    x, X = np.ones((*batch, n, columns)), np.ones((*batch, 2, columns))
    for op in ("add", "max"):
        out, pullback = ps.vjp(ps.spmm, A, x, op=op)
        dA, dx = pullback(np.ones(out.shape))
        assert dA.data.shape == (nnz,)
        assert dx.shape == x.shape
        assert (dA.data == out.size // 2).all()
        assert ps.jvp(ps.spmm, (A, x), (A, x), op=op)[1].shape == out.shape
    out, pullback = ps.vjp(ps.sddmm, A, X, x, values="scale")
    grads = pullback(np.ones(out.shape))
    assert grads[0].data.tolist() == [math.prod(batch) * columns] * nnz
    assert [g.shape for g in grads[1:]] == [X.shape, x.shape]
    tangent = ps.jvp(ps.sddmm, (A, X, x), (A, X, x), values="scale")[1]
    assert tangent.tolist() == np.full(out.shape, 3.0 * columns).tolist()
