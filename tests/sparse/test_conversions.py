"""CSR, CSC and COO into each other, into arrays and into SciPy's: every entry stays."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pyscatter as ps
from tests.reference import matrix as reference

THREADS = 1, 2, 3, 7
FORMS = {"csr": ps.CSR, "csc": ps.CSC, "coo": ps.COO}
forms = pytest.mark.parametrize("form", FORMS)
targets = pytest.mark.parametrize("target", FORMS)


def random_matrix(rng, form, shape, nnz, dtype=np.float64, index=np.int32):
    """Return a matrix with duplicates, unsorted, of values that tell entries apart."""
    data = np.arange(nnz).astype(dtype)
    places = [rng.integers(0, max(size, 1), nnz).astype(index) for size in shape]
    if form == "coo":
        return ps.COO((data, tuple(places)), shape)
    major = int(form == "csc")
    counts = np.bincount(places[major], minlength=shape[major])
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(index)
    return FORMS[form]((data, places[1 - major], indptr), shape)


def wanted(matrix, target):
    """Return the entries of a conversion, in storage order."""
    found = reference.entries(matrix)
    order = {"csr": 0, "csc": 1}.get(target)
    return found if order is None else sorted(found, key=lambda entry: entry[order])


def check(matrix, target):
    result = getattr(matrix, f"to_{target}")()
    assert type(result) is FORMS[target]
    assert result.shape == matrix.shape
    assert result.dtype == matrix.dtype
    assert (result.data is None) == (matrix.data is None)
    assert result.entries.dtype == result.pointers.dtype == matrix.entries.dtype
    ps._core.check_matrix(result)
    assert reference.entries(result) == wanted(matrix, target)
    return result


@forms
@targets
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_every_entry_stays_in_order(form, target, index):
    rng = np.random.default_rng(0)
    for shape, nnz in (((7, 5), 40), ((300, 200), 3000), ((1, 9), 20), ((9, 1), 20)):
        check(random_matrix(rng, form, shape, nnz, index=index), target)


@forms
@targets
@pytest.mark.parametrize("dtype", ["?", "i1", "f2", "u4", "f8", "c8", "c16", ">f4"])
def test_any_values(form, target, dtype):
    rng = np.random.default_rng(1)
    a = random_matrix(rng, form, (20, 30), 200, dtype)
    result = getattr(a, f"to_{target}")()
    assert result.dtype == (a.dtype if form == target else a.dtype.newbyteorder("="))
    assert reference.entries(result) == wanted(a, target)
    strided = np.repeat(a.data, 2)[::2]
    parts = (a.row, a.col) if form == "coo" else (a.indices, a.indptr)
    arrays = (strided, parts) if form == "coo" else (strided, *parts)
    b = type(a)(arrays, a.shape)
    assert reference.entries(getattr(b, f"to_{target}")()) == wanted(a, target)


@forms
@targets
def test_implicit_ones_and_sizes_of_zero(form, target):
    rng = np.random.default_rng(2)
    a = random_matrix(rng, form, (6, 7), 30)
    parts = (a.row, a.col) if form == "coo" else (a.indices, a.indptr)
    arrays = (None, parts) if form == "coo" else (None, *parts)
    check(FORMS[form](arrays, a.shape), target)
    for shape in ((0, 0), (0, 4), (4, 0), (4, 4)):
        check(random_matrix(rng, form, shape, 0), target)


@targets
def test_strided_structure(target):
    pairs = np.random.default_rng(3).integers(0, 9, (50, 2))
    a = ps.COO((np.arange(50.0), (pairs[:, 0], pairs[::-1, 1])), (9, 9))
    check(a, target)


def test_its_own_format_is_the_matrix_itself():
    a = random_matrix(np.random.default_rng(4), "csr", (3, 3), 5)
    assert a.to_csr() is a


@forms
@targets
def test_same_bits_on_any_number_of_threads(form, target):
    rng = np.random.default_rng(5)
    for shape in ((2000, 3000), (300_000, 5)):
        a = random_matrix(rng, form, shape, 250_000, np.float32)
        results = set()
        for number in THREADS:
            with ps.num_threads(number):
                b = getattr(a, f"to_{target}")()
            arrays = b.data, b.entries, b.pointers
            results.add(tuple(array.tobytes() for array in arrays))
        assert len(results) == 1


@given(st.data())
def test_there_and_back(draw):
    shape = draw.draw(st.tuples(st.integers(1, 6), st.integers(1, 6)))
    n = draw.draw(st.integers(0, 20))
    place = st.tuples(st.integers(0, shape[0] - 1), st.integers(0, shape[1] - 1))
    places = np.array(draw.draw(st.lists(place, min_size=n, max_size=n)), int)
    row, col = places.reshape(-1, 2).T
    a = ps.COO((np.arange(n), (row, col)), shape)
    for first in FORMS:
        b = getattr(a, f"to_{first}")()
        for second in FORMS:
            c = getattr(b, f"to_{second}")()
            assert reference.entries(c) == wanted(b, second)
            np.testing.assert_array_equal(c.T.to_dense(), a.to_dense().T)


# --- dense ----------------------------------------------------------------------------


@forms
def test_dense(form):
    x = np.array([[0, np.nan, -0.0], [1.5, 0, -2]])
    a = FORMS[form].from_dense(x)
    assert type(a) is FORMS[form]
    assert a.nnz == 3
    assert a.entries.dtype == np.int32
    np.testing.assert_array_equal(a.to_dense(), x + 0.0)
    assert a.to_dense().flags.c_contiguous


@forms
@pytest.mark.parametrize("dtype", ["?", "u1", "f2", "c16"])
def test_dense_of_any_dtype(form, dtype):
    x = (np.arange(12).reshape(3, 4) % 3).astype(dtype)
    a = FORMS[form].from_dense(x[:, ::-1])
    assert a.dtype == x.dtype
    np.testing.assert_array_equal(a.to_dense(), x[:, ::-1])


def test_duplicates_add_up_in_dense():
    a = ps.COO(([4.0, 5.0, 6.0], ([0, 0, 1], [1, 1, 0])), (2, 2))
    np.testing.assert_array_equal(a.to_dense(), [[0, 9], [6, 0]])
    b = ps.COO((None, ([0, 0, 1], [1, 1, 0])), (2, 2))
    np.testing.assert_array_equal(b.to_dense(), [[False, True], [True, False]])


def test_from_dense_refuses():
    for x in (np.zeros(3), np.zeros((1, 2, 3)), 4.0):
        with pytest.raises(ValueError, match="x must have two axes"):
            ps.CSR.from_dense(x)
    with pytest.raises(TypeError, match="masked array"):
        ps.CSR.from_dense(np.ma.zeros((2, 2)))
    with pytest.raises(TypeError, match="dtype object"):
        ps.CSR.from_dense(np.full((2, 2), None))


def test_dense_that_does_not_fit():
    with pytest.raises((MemoryError, ValueError)):
        ps.COO(([1.0], ([0], [0])), (2**40, 2**40)).to_dense()


# --- values and order -----------------------------------------------------------------


@forms
def test_sum_duplicates(form):
    rng = np.random.default_rng(6)
    a = random_matrix(rng, form, (7, 5), 60)
    b = a.sum_duplicates()
    assert type(b) is type(a)
    sums = reference.sums_of(reference.entries(a))
    order = (lambda e: (e[1], e[0])) if form == "csc" else (lambda e: e)
    found = [(*place, value) for place, value in sums.items()]
    assert reference.entries(b) == sorted(found, key=order)
    np.testing.assert_array_equal(a.to_dense(), b.to_dense())


@forms
def test_sums_begin_with_the_first_entry_in_storage_order(form):
    x = np.array([1e17, -1e17, 1.0])
    parts = ([0] * 3, [0] * 3) if form == "coo" else ([0] * 3, [0, 3])
    a = FORMS[form]((x, parts) if form == "coo" else (x, *parts), (1, 1))
    assert a.sum_duplicates().data.tolist() == [1.0]
    parts = ([0, 0], [0, 0]) if form == "coo" else ([0] * 2, [0, 2])
    zeros = np.array([-0.0, -0.0])
    a = FORMS[form]((zeros, parts) if form == "coo" else (zeros, *parts), (1, 1))
    assert np.signbit(a.sum_duplicates().data[0])


@forms
def test_sum_duplicates_of_implicit_ones(form):
    parts = ([0] * 3, [0] * 3) if form == "coo" else ([0] * 3, [0, 3])
    a = FORMS[form]((None, parts) if form == "coo" else (None, *parts), (1, 1))
    b = a.sum_duplicates()
    assert type(b) is type(a)
    assert b.data is None
    assert b.nnz == 1


@forms
def test_sort_indices(form):
    rng = np.random.default_rng(7)
    a = random_matrix(rng, form, (7, 5), 60)
    order = (lambda e: (e[1], e[0])) if form == "csc" else (lambda e: (e[0], e[1]))
    b = a.sort_indices()
    assert type(b) is type(a)
    assert reference.entries(b) == sorted(reference.entries(a), key=order)


@forms
def test_astype(form):
    a = random_matrix(np.random.default_rng(8), form, (7, 5), 60)
    b = a.astype(np.float16)
    assert type(b) is type(a)
    assert b.dtype == np.float16
    assert np.shares_memory(a.entries, b.entries)
    assert reference.entries(b) == reference.entries(a)
    with pytest.raises(TypeError, match="data has dtype"):
        a.astype(np.longdouble)


@forms
def test_nothing_of_the_input_is_written(form):
    a = random_matrix(np.random.default_rng(9), form, (40, 50), 600)
    before = [array.tobytes() for array in (a.data, a.entries, a.pointers)]
    for call in (a.sort_indices, a.sum_duplicates, a.to_csc, a.to_csr, a.to_dense):
        call()
    after = [array.tobytes() for array in (a.data, a.entries, a.pointers)]
    assert before == after


def test_pictures():
    rng = np.random.default_rng(10)
    for form in FORMS:
        for shape in ((3, 4), (100, 7), (0, 5), (1, 2**62), (2**62, 1)):
            if form == "coo" or max(shape) < 2**62:
                n = 10 if min(shape) else 0
                a = random_matrix(rng, form, shape, n, index=np.int64)
                text = a._repr_html_()
                assert text.startswith("<div>")
                assert a.__class__.__name__ in text
                assert text.count("<rect") <= 11


# --- structure that is wrong by now ---------------------------------------------------


@forms
@targets
def test_changed_structure_is_found(form, target):
    if form == target:
        return
    rng = np.random.default_rng(11)
    for name, value in (("entries", 99), ("entries", -1), ("pointers", 99)):
        a = random_matrix(rng, form, (9, 9), 80_000)
        arrays = [array.copy() for array in (a.data, a.entries, a.pointers)]
        arrays[0].setflags(write=True)
        parts = (arrays[2], arrays[1]) if form == "coo" else arrays[1:]
        made = (arrays[0], tuple(parts)) if form == "coo" else (arrays[0], *parts)
        b = FORMS[form](made, a.shape)
        bad = arrays[1] if name == "entries" else arrays[2]
        position = 70_000 if bad.size > 70_000 else 5
        bad[position] = value if bad.size > 70_000 else 99_999
        words = {"entries": "indices|col", "pointers": "indptr|row"}[name]
        for number in THREADS:
            with ps.num_threads(number):
                with pytest.raises(ValueError, match=rf"({words})\[{position}\] is "):
                    getattr(b, f"to_{target}")()


# --- SciPy ----------------------------------------------------------------------------


@forms
def test_scipy_there_and_back(form):
    sparse = pytest.importorskip("scipy.sparse")
    a = random_matrix(np.random.default_rng(12), form, (7, 5), 60)
    s = a.to_scipy()
    assert isinstance(s, getattr(sparse, f"{form}_array"))
    assert not np.shares_memory(s.data, a.data)
    for target, cls in FORMS.items():
        b = cls.from_scipy(s)
        assert reference.entries(b) == wanted(a, target) or form == target
        np.testing.assert_array_equal(b.to_dense(), s.todense())
    with pytest.raises(TypeError, match="tocsr"):
        ps.CSR.from_scipy(s.tolil())


def test_from_scipy_refuses_other_things():
    for x in (np.eye(2), 3, None, [[1]]):
        with pytest.raises(TypeError, match="expected a sparse matrix in CSR, CSC or"):
            ps.CSR.from_scipy(x)


class Fake:
    """What SciPy's matrices look like from outside."""

    format, shape = "csr", (2, 3)
    data = np.array([1.0, 2.0])
    indices, indptr = np.array([2, 0]), np.array([0, 1, 2])


def test_from_scipy_by_duck_typing():
    a = ps.CSC.from_scipy(Fake())
    assert a.indices.dtype == np.int64
    np.testing.assert_array_equal(a.to_dense(), [[0, 0, 1], [2, 0, 0]])
    b = ps.CSR.from_scipy(Fake())
    assert np.shares_memory(b.data, Fake.data)
