"""Sparse times sparse: terms in order, whatever the formats, widths and threads."""

import itertools
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pyscatter as ps
from tests.reference import matrix as reference

THREADS = 1, 2, 3, 7
FORMS = {"csr": ps.CSR, "csc": ps.CSC, "coo": ps.COO}
DTYPES = "?", "i1", "u2", "i4", "u8", "f2", "f4", "f8", "c8", "c16"


def numbers(rng, dtype, n):
    """Return values of a dtype, zeros of both signs among them."""
    if dtype == "?":
        return rng.random(n) < 0.7
    values = rng.integers(-9, 9, n) / 4
    with np.errstate(invalid="ignore"):
        values = np.where(values == 0, -0.0, values).astype(dtype)
    if values.dtype.kind == "c":
        values.imag = rng.integers(-9, 9, n) / 8
    return values


def random_matrix(rng, form, shape, nnz, dtype="f8", index=np.int32):
    """Return an unsorted matrix with duplicates."""
    row, col = (rng.integers(0, max(size, 1), nnz).astype(index) for size in shape)
    coo = ps.COO((numbers(rng, dtype, nnz), (row, col)), shape)
    return getattr(coo, f"to_{form}")()


def check(a, b, result=None):
    """Compare with the reference, bit by bit."""
    result = ps.spgemm(a, b) if result is None else result
    wanted, dtype = reference.spgemm(a, b)
    assert type(result) is ps.CSR
    assert result.shape == (a.shape[0], b.shape[1])
    assert result.dtype == dtype
    ps._core.check_matrix(result)
    found = reference.entries(result)
    assert [(r, c) for r, c, _ in found] == list(wanted)
    assert result.data.tobytes() == np.array(list(wanted.values()), dtype).tobytes()
    return result


@pytest.mark.parametrize("left", FORMS)
@pytest.mark.parametrize("right", FORMS)
def test_any_formats(left, right):
    rng = np.random.default_rng(0)
    a = random_matrix(rng, left, (9, 7), 40)
    b = random_matrix(rng, right, (7, 12), 40)
    check(a, b)


@pytest.mark.parametrize("left", DTYPES)
@pytest.mark.parametrize("right", DTYPES)
def test_any_dtypes(left, right):
    rng = np.random.default_rng(1)
    a = random_matrix(rng, "csr", (6, 7), 30, left)
    check(a, random_matrix(rng, "csr", (7, 5), 30, right))


def test_halves_are_rounded_once():
    a = ps.CSR((np.array([2048, 1, 1], "f2"), [0, 0, 0], [0, 3]), (1, 1))
    b = ps.CSR((np.ones(1, "f2"), [0], [0, 1]), (1, 1))
    assert ps.spgemm(a, b).data[0] == 2050
    ml_dtypes = pytest.importorskip("ml_dtypes")
    c = ps.CSR(
        (np.array([1, 2**-8, 2**-8], ml_dtypes.bfloat16), [0] * 3, [0, 3]), (1, 1)
    )
    assert ps.spgemm(c, c.T).dtype == c.dtype


def test_implicit_ones():
    rng = np.random.default_rng(2)
    a = random_matrix(rng, "csr", (6, 7), 30)
    b = random_matrix(rng, "csr", (7, 5), 30)
    implicit = ps.CSR((None, b.indices, b.indptr), b.shape)
    check(a, implicit)
    assert ps.spgemm(implicit.T, implicit).dtype == np.bool_


def test_bytes_of_bools_that_are_not_one():
    ugly = np.array([2, 1, 0], np.uint8).view(np.bool_)
    a = ps.CSR((ugly, [0, 1, 2], [0, 3]), (1, 3))
    b = ps.CSR((ugly, [0, 0, 0], [0, 1, 2, 3]), (3, 1))
    result = ps.spgemm(a, b)
    assert result.data.view(np.uint8).tolist() == [1]


def test_layouts_of_values():
    rng = np.random.default_rng(3)
    a = random_matrix(rng, "csr", (6, 7), 30)
    wide = np.repeat(a.data, 2)
    for data in (wide[::2], a.data.astype(">f8"), wide[::2][::-1][::-1]):
        check(ps.CSR((data, a.indices, a.indptr), a.shape), a.T)


@pytest.mark.parametrize(
    "columns", [3, 64, 65, 4096, 4097, 100_000, 2**25, 2**33, 2**61]
)
@pytest.mark.parametrize("terms", [3, 100, 4000])
def test_rows_by_list_bits_and_hash(columns, terms):
    rng = np.random.default_rng(4)
    distinct = rng.integers(0, columns, 300)
    coo = ps.COO(
        (
            numbers(rng, "f8", terms),
            (rng.integers(0, 5, terms), rng.choice(distinct, terms)),
        ),
        (5, columns),
    )
    a = random_matrix(rng, "csr", (4, 5), 12)
    for form in ("csr", "coo"):
        check(a, getattr(coo, f"to_{form}")())


@pytest.mark.parametrize("terms", [1, 7, 8, 9, 191, 192, 193, 5000])
@pytest.mark.parametrize("dtype", ["f4", "c16", "?"])
def test_rows_of_one_entry_and_of_several(terms, dtype):
    """One entry of A and a row of B that ascends, falls at its end, or repeats."""
    rng = np.random.default_rng(terms)
    up = np.arange(terms) * 3
    last = up.copy()
    last[-1] = up[-2] if terms > 1 else 0
    short = np.arange(5) * 7
    col = np.concatenate([up, last, up[::-1], short, short])
    edge = np.cumsum([0, terms, terms, terms, 5, 5])
    b = ps.CSR((numbers(rng, dtype, col.size), col, edge), (5, 3 * terms + 40))
    k = np.array([0, 1, 2, 4, 0, 1, 3, 3, 4, 2])
    a = ps.CSR((numbers(rng, dtype, k.size), k, [0, 1, 2, 3, 4, 6, 8, 10]), (7, 5))
    found = set()
    for level in ps._core.levels():
        ps._core.force_level(level)
        c, plan = ps.spgemm(a, b, plan=True)
        assert plan(a.data, b.data).data.tobytes() == c.data.tobytes()
        found.add((c.data.tobytes(), c.indices.tobytes(), c.indptr.tobytes()))
    check(a, b, c)
    assert len(found) == 1


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_more_terms_than_there_is_room_for(index):
    """So many that sizes are found before values."""
    n, rows = 4096, 4100
    col = np.array([5, 3], index)[np.arange(n) % 2]
    b = ps.CSR((np.ones(n, "u4"), col, np.array([0, n], index)), (1, n))
    ones = np.ones(rows, "u4")
    a = ps.CSR(
        (ones, np.zeros(rows, index), np.arange(rows + 1, dtype=index)), (rows, 1)
    )
    for number in (1, 2):
        with ps.num_threads(number):
            c, plan = ps.spgemm(a, b, plan=True)
        assert c.nnz == plan.nnz == 2 * rows
        assert c.indices.dtype == index
        assert c.indices.tolist() == [3, 5] * rows
        assert c.data.tolist() == [n // 2] * (2 * rows)
        assert plan(2 * ones, b.data).data.tolist() == [n] * (2 * rows)


def test_memory_does_not_depend_on_the_inner_size():
    inner = 2**55
    k = np.array([5, 2**40, 2**54, 5])
    a = ps.CSR((np.arange(1.0, 5), k, np.array([0, 2, 4])), (2, inner))
    for values in ([2**40, 5, 5], [7, 7, 8], []):
        row = np.array(values, np.int64)
        b = ps.COO(
            (np.arange(1.0, 1 + row.size), (row, np.zeros_like(row))), (inner, 3)
        )
        check(a, b)
        check(b.T, a.T.to_coo(), None)


@pytest.mark.parametrize("m", [0, 4])
@pytest.mark.parametrize("inner", [0, 5])
@pytest.mark.parametrize("n", [0, 6])
def test_sizes_of_zero(m, inner, n):
    rng = np.random.default_rng(5)
    for left, right in itertools.product(FORMS, FORMS):
        for nnz in (0, 8):
            a = random_matrix(rng, left, (m, inner), nnz if m and inner else 0)
            b = random_matrix(rng, right, (inner, n), nnz if inner and n else 0)
            check(a, b)


def test_widths_of_the_structure():
    rng = np.random.default_rng(6)
    narrow = random_matrix(rng, "csr", (4, 4), 9)
    wide = random_matrix(rng, "csr", (4, 4), 9, index=np.int64)
    assert ps.spgemm(narrow, narrow).indices.dtype == np.int32
    for a, b in ((wide, narrow), (narrow, wide)):
        result = ps.spgemm(a, b)
        assert result.indices.dtype == result.indptr.dtype == np.int64
        check(a, b)


def test_entries_that_sum_to_zero_stay():
    a = ps.CSR((np.array([1.0, 1.0]), [0, 1], [0, 2]), (1, 2))
    b = ps.CSR((np.array([1.0, -1.0]), [0, 0], [0, 1, 2]), (2, 1))
    assert ps.spgemm(a, b).data.tolist() == [0.0]


def test_nan_and_inf_are_met_where_they_are_stored():
    a = ps.CSR((np.array([0.0, 1.0]), [0, 1], [0, 1, 2]), (2, 2))
    b = ps.CSR((np.array([np.inf, np.nan]), [0, 1], [0, 1, 2]), (2, 2))
    np.testing.assert_array_equal(
        ps.spgemm(a, b).to_dense(), np.array([[np.nan, 0], [0, np.nan]])
    )


@given(st.data())
def test_any_matrices(draw):
    sizes = draw.draw(st.tuples(*[st.integers(1, 6)] * 3))
    rng = np.random.default_rng(draw.draw(st.integers(0, 2**32)))
    left, right = (draw.draw(st.sampled_from(sorted(FORMS))) for _ in range(2))
    n = draw.draw(st.tuples(st.integers(0, 25), st.integers(0, 25)))
    dtype = draw.draw(st.sampled_from(DTYPES))
    a = random_matrix(rng, left, sizes[:2], n[0], dtype)
    check(a, random_matrix(rng, right, sizes[1:], n[1], dtype))


@pytest.mark.parametrize("columns", [3000, 2**40])
def test_same_bits_on_any_number_of_threads_and_level(columns):
    rng = np.random.default_rng(7)
    a = random_matrix(rng, "csr", (2000, 1500), 20_000, "f4")
    b = random_matrix(rng, "csr", (1500, 3000), 20_000, "f4")
    b = ps.CSR(
        (b.data, b.indices * np.int64(columns // 3000), b.indptr), (1500, columns)
    )
    results = set()
    for number, level in itertools.product(THREADS, ps._core.levels()):
        ps._core.force_level(level)
        with ps.num_threads(number):
            c, plan = ps.spgemm(a, b, plan=True)
            arrays = c.data, c.indices, c.indptr, plan(a.data, b.data).data
        results.add(tuple(array.tobytes() for array in arrays))
    assert len(results) == 1
    assert arrays[0].tobytes() == arrays[3].tobytes()
    if columns == 3000:
        np.testing.assert_allclose(c.to_dense(), a.to_dense() @ b.to_dense(), atol=1e-3)


def test_plans():
    rng = np.random.default_rng(8)
    for left, right in itertools.product(FORMS, FORMS):
        a = random_matrix(rng, left, (9, 7), 40)
        b = random_matrix(rng, right, (7, 12), 40)
        c, plan = ps.spgemm(a, b, plan=True)
        assert plan.shape == c.shape
        assert plan.nnz == c.nnz
        for dtype in ("f8", "i4", "f2"):
            other, more = numbers(rng, dtype, 40), numbers(rng, dtype, 40)
            d = plan(other, more)
            swap = [type(m).__reduce__(m)[1][0][1:] for m in (a, b)]
            x, y = (
                FORMS[f]((v, *s), m.shape)
                for f, v, s, m in zip(
                    (left, right), (other, more), swap, (a, b), strict=True
                )
            )
            check(x, y, d)
            assert np.shares_memory(d.indices, c.indices)
    ones = plan(None, None)
    assert ones.dtype == np.bool_
    assert ones.data.all()
    for call, words in (
        (
            lambda: plan(np.ones(39), more),
            r"A_data has shape \(39,\); expected \(40,\)",
        ),
        (lambda: plan(other, np.ones((40, 1))), r"B_data has shape \(40, 1\)"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
    with pytest.raises(TypeError, match="double precision"):
        plan(np.ones(40, "g"), more)


def test_a_plan_keeps_its_structure():
    a = ps.CSR((np.ones(2), np.array([0, 1]), np.array([0, 1, 2])), (2, 2))
    c, plan = ps.spgemm(a, a, plan=True)
    c.indices.setflags(write=True)
    c.indices[:] = 2**40
    for _ in range(3):
        assert plan(np.ones(2), np.ones(2)).data.tolist() == [1.0, 1.0]


def test_the_operator():
    rng = np.random.default_rng(15)
    a = random_matrix(rng, "csc", (4, 5), 9)
    b = random_matrix(rng, "coo", (5, 3), 9)
    check(a, b, a @ b)
    with pytest.raises(ValueError, match="the columns of A must be as many"):
        b @ a
    for wrong in ("b", None, 3):
        with pytest.raises((TypeError, ValueError)):
            a @ wrong
        with pytest.raises((TypeError, ValueError)):
            wrong @ a


def test_the_operator_with_dense_arrays():
    rng = np.random.default_rng(16)
    for form in FORMS:
        a = random_matrix(rng, form, (4, 5), 9)
        for x in (rng.random(5), rng.random((5, 3)), rng.random((2, 5, 3))):
            assert (a @ x).tobytes() == ps.spmm(a, x).tobytes()
        for x in (rng.random(4), rng.random((3, 4))):
            assert (x @ a).tobytes() == ps.spmm(x, a).tobytes()
        assert (a @ [1, 2, 3, 4, 5]).shape == (4,)


# --- what is refused ------------------------------------------------------------------


def test_shapes_that_do_not_fit():
    a = random_matrix(np.random.default_rng(9), "csr", (3, 4), 5)
    with pytest.raises(
        ValueError, match=r"A has shape \(3, 4\) and B has shape \(3, 4\)"
    ):
        ps.spgemm(a, a)


def test_wrong_kinds():
    a = random_matrix(np.random.default_rng(10), "csr", (3, 3), 5)
    for other in (np.eye(3), 3, None, [[1]]):
        with pytest.raises(TypeError, match="'B' must be a sparse matrix"):
            ps.spgemm(a, other)
        with pytest.raises(TypeError, match="'A' must be a sparse matrix"):
            ps.spgemm(other, a)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("side", ["left", "right"])
def test_structure_that_has_changed(form, side):
    rng = np.random.default_rng(11)
    good = random_matrix(rng, "csr", (50, 50), 400)
    for name, value in itertools.product(("entries", "pointers"), (-1, 50, 2**31 - 1)):
        a = random_matrix(rng, form, (50, 50), 400)
        arrays = {k: getattr(a, k).copy() for k in ("entries", "pointers")}
        order = [arrays["pointers"], arrays["entries"]]
        parts = (tuple(order),) if form == "coo" else tuple(order[::-1])
        bad = FORMS[form]((a.data, *parts), a.shape)
        arrays[name][7] = value if form == "coo" or name == "entries" else 401
        pair = (bad, good) if side == "left" else (good, bad)
        for number in THREADS:
            with ps.num_threads(number), pytest.raises(ValueError, match=r"\[7\] is "):
                ps.spgemm(*pair)


def test_random_triples_end_in_errors_or_right_answers():
    rng = np.random.default_rng(12)
    good = random_matrix(rng, "csr", (5, 5), 12)
    outcomes = set()
    for _ in range(400):
        indptr = np.sort(rng.integers(0, 8, 6))
        indptr[0], indptr[-1] = 0, 7
        indices = rng.integers(0, 5, 7)
        a = ps.CSR((numbers(rng, "f8", 7), indices, indptr), (5, 5))
        if rng.random() < 0.7:
            array = indices if rng.random() < 0.5 else indptr
            array[rng.integers(0, array.size)] = rng.integers(-9, 12)
        for pair in ((a, good), (good, a)):
            try:
                check(*pair)
                outcomes.add("right")
            except ValueError:
                outcomes.add("error")
    assert outcomes == {"right", "error"}


def test_another_thread_that_rewrites():
    rng = np.random.default_rng(13)
    a = random_matrix(rng, "csr", (300, 300), 6000)
    indices, indptr = a.indices.copy(), a.indptr.copy()
    shared = ps.CSR((a.data, indices, indptr), a.shape)
    stop = threading.Event()

    def rewrite():
        while not stop.is_set():
            indices[::7] = 2**30
            indptr[5] = 2**30
            indices[:], indptr[:] = a.indices, a.indptr

    thread = threading.Thread(target=rewrite)
    thread.start()
    try:
        for _ in range(60):
            try:
                ps._core.check_matrix(ps.spgemm(shared, shared))
            except (ValueError, RuntimeError):
                pass
    finally:
        stop.set()
        thread.join()


def test_scipy_goes_in():
    sparse = pytest.importorskip("scipy.sparse")
    rng = np.random.default_rng(14)
    for form in FORMS:
        s = sparse.random_array((30, 30), density=0.1, format=form, rng=rng)
        np.testing.assert_allclose(ps.spgemm(s, s).to_dense(), (s @ s).todense())
