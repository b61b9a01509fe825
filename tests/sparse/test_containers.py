"""CSR, CSC and COO: what they hold, what they show, what they refuse."""

import copy
import gc
import pickle
import weakref

import numpy as np
import pytest

import pyscatter as ps

DATA = np.array([1.0, 2.0, 4.0, 8.0])


def example(form, index=np.int32):
    """Return a matrix of 3 rows and 4 columns, or one of 4 rows and 3 columns (CSC)."""
    first, second = np.array([3, 0, 0, 2], index), np.array([0, 2, 2, 4], index)
    if form is ps.COO:
        return ps.COO((DATA, (np.array([2, 0, 0, 1], index), first)), (3, 4))
    return form((DATA, first, second), (3, 4) if form is ps.CSR else (4, 3))


FORMS = [ps.CSR, ps.CSC, ps.COO]
forms = pytest.mark.parametrize("form", FORMS)


# --- what they hold -------------------------------------------------------------------


@forms
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_arrays_are_read_only_views(form, index):
    a = example(form, index)
    arrays = (a.row, a.col) if form is ps.COO else (a.indices, a.indptr)
    assert a.nnz == 4
    assert a.dtype == np.float64
    assert a.format == form.__name__.lower()
    assert np.shares_memory(a.data, DATA)
    for array in (a.data, *arrays):
        assert type(array) is np.ndarray
        assert not array.flags.writeable
    for array in arrays:
        assert array.dtype == index


def test_later_changes_are_seen():
    data, indices = DATA.copy(), np.array([3, 0, 0, 2])
    a = ps.CSR((data, indices, np.array([0, 2, 2, 4])), (3, 4))
    data[0] = -1
    indices[0] = 1
    assert a.data[0] == -1
    assert a.indices[0] == 1


@forms
def test_attributes_cannot_be_set(form):
    a = example(form)
    for name in ("data", "indices", "indptr", "row", "col", "shape", "T", "new"):
        with pytest.raises(AttributeError):
            setattr(a, name, 1)


@forms
def test_the_transpose_holds_the_same_arrays(form):
    a = example(form)
    t = a.T
    assert type(t) is {ps.CSR: ps.CSC, ps.CSC: ps.CSR, ps.COO: ps.COO}[form]
    assert t.shape == a.shape[::-1]
    assert np.shares_memory(t.data, DATA)
    assert type(t.T) is form
    assert t.T.shape == a.shape


@pytest.mark.parametrize("dtype", ["u1", "i1", "u2", "i2", "u4", "u8", ">i4", ">i8"])
def test_other_integers_are_taken(dtype):
    a = ps.CSR((DATA, np.array([3, 0, 0, 2], dtype), [0, 2, 2, 4]), (3, 4))
    wide = np.dtype(dtype).itemsize == 8 or dtype == "u4"
    assert a.indices.dtype.newbyteorder("=") == (np.int64 if wide else np.int32)
    np.testing.assert_array_equal(a.indices, [3, 0, 0, 2])


def test_lists_are_what_numpy_makes_of_them():
    a = ps.CSR((None, [0, 1], [0, 1, 2]), (2, 2))
    assert a.indices.dtype == a.indptr.dtype == np.int64
    assert a.to_csc().indices.dtype == np.int64
    narrow = np.array([0, 1], np.int32)
    mixed = ps.CSR((None, narrow, [0, 1, 2]), (2, 2))
    assert (mixed.indices.dtype, mixed.indptr.dtype) == (np.int32, np.int64)
    assert ps.CSR.from_dense(np.eye(2)).indptr.dtype == np.int32


def test_strided_arrays_are_taken():
    pairs = np.array([[2, 3], [0, 0], [0, 0], [1, 2]], np.int32)
    a = ps.COO((np.repeat(DATA, 2)[::2], (pairs[:, 0], pairs[:, 1])), (3, 4))
    assert np.shares_memory(a.row, pairs)


def test_implicit_ones():
    a = ps.CSR((None, [0, 1], [0, 1, 2]), (2, 2))
    assert a.data is None
    assert a.dtype == np.bool_
    assert a.T.data is None
    assert a.nnz == 2


@forms
def test_sizes_of_zero(form):
    empty = np.zeros(0, np.int32)
    for shape in ((0, 0), (0, 3), (3, 0)):
        if form is ps.COO:
            a = form((np.zeros(0), (empty, empty)), shape)
        else:
            pointers = np.zeros(1 + shape[form is ps.CSC], np.int32)
            a = form((np.zeros(0), empty, pointers), shape)
        assert a.nnz == 0
        assert a.shape == shape


def test_huge_shapes():
    a = ps.COO(([1.0], ([2**40], [5])), (2**62, 2**62))
    assert a.T.shape == (2**62, 2**62)
    narrow = ps.CSR((np.ones(1), np.zeros(1, np.int32), np.array([0, 1])), (1, 2**31))
    assert narrow.shape == (1, 2**31)


@forms
def test_copies_and_pickles(form):
    a = example(form)
    for other in (copy.copy(a), copy.deepcopy(a), pickle.loads(pickle.dumps(a))):
        assert type(other) is form
        assert other.shape == a.shape
        np.testing.assert_array_equal(other.data, a.data)
        np.testing.assert_array_equal(other.entries, a.entries)
        np.testing.assert_array_equal(other.pointers, a.pointers)


def test_repr():
    assert repr(example(ps.CSC)) == "CSC(shape=(4, 3), nnz=4, dtype=float64)"


def test_cycles_are_collected():
    class Mine(ps.CSR):
        pass

    mine = Mine((DATA, [3, 0, 0, 2], [0, 2, 2, 4]), (3, 4))
    mine.me = mine
    gone = weakref.ref(mine)
    del mine
    gc.collect()
    assert gone() is None


# --- what they refuse -----------------------------------------------------------------


@forms
def test_no_array_unasked(form):
    a = example(form)
    for call in (np.asarray, np.array, np.sum, np.exp):
        with pytest.raises(TypeError):
            call(a)
    with pytest.raises(TypeError, match=r"use \.to_dense\(\)"):
        np.asarray(a)


@forms
def test_no_other_arithmetic(form):
    a, x = example(form), np.ones((3, 4))
    for call in (
        lambda: a + a,
        lambda: a * 2,
        lambda: 2 * a,
        lambda: x + a,
        lambda: a - x,
        lambda: a / 2,
        lambda: -a,
        lambda: a**2,
        lambda: np.add(x, a),
        lambda: abs(a),
        lambda: a[0],
        lambda: len(a),
        lambda: float(a),
    ):
        with pytest.raises(TypeError):
            call()


def csr(indices=(3, 0, 0, 2), indptr=(0, 2, 2, 4), data=DATA, shape=(3, 4)):
    return ps.CSR((data, np.array(indices), np.array(indptr, np.int64)), shape)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"indptr": (1, 2, 2, 4)}, r"indptr\[0\] must be 0, got 1"),
        ({"indptr": (-1, 2, 2, 4)}, r"indptr\[0\] must be 0, got -1"),
        ({"indptr": (0, 2, 2, 5)}, r"indptr\[3\] is 5, but there are 4 entries"),
        ({"indptr": (0, 2, 2, 3)}, r"indptr\[3\] is 3, but there are 4 entries"),
        (
            {"indptr": (0, 3, 2, 4)},
            r"indptr\[2\] is 2, less than indptr\[1\], which is 3",
        ),
        ({"indptr": (0, 2, 5, 4)}, r"indptr\[2\] is 5, but there are 4 entries"),
        (
            {"indptr": (0, 2, -7, 4)},
            r"indptr\[2\] is -7, less than indptr\[1\], which is 2",
        ),
        ({"indptr": (0, 2**62, 2, 4)}, r"indptr\[1\] is 46\d+, but there are 4"),
        ({"indptr": (0, 2, 4)}, r"indptr has length 3, but must have 4, one more than"),
        ({"indptr": (0, 2, 2, 2, 4)}, r"indptr has length 5, but must have 4"),
        ({"indptr": ()}, r"indptr has length 0, but must have 4"),
        (
            {"indices": (3, 4, 0, 2)},
            r"indices\[1\] is 4, out of bounds for a size of 4",
        ),
        ({"indices": (3, 0, 0, -1)}, r"indices\[3\] is -1, out of bounds for a size"),
        ({"indices": (2**31, 0, 0, 0)}, r"indices\[0\] is 2147483648, out of bounds"),
        (
            {"indices": (3, 0, 0)},
            r"data has length 4, but must have 3, the length of ind",
        ),
        (
            {"shape": (4, 4)},
            r"indptr has length 4, but must have 5, one more than there are rows",
        ),
        ({"shape": (3, 3)}, r"indices\[0\] is 3, out of bounds for a size of 3"),
        ({"shape": (3, -1)}, r"shape\[1\] must not be negative, got -1"),
        ({"shape": (3,)}, r"shape must have two sizes, got \(3,\)"),
        ({"shape": (3, 4, 1)}, r"shape must have two sizes"),
        ({"shape": (2**63, 4)}, r"shape\[0\] 9223372036854775808 does not fit"),
        ({"data": DATA[:, None]}, r"data must have one axis, got 2"),
        ({"indices": ((3, 0), (0, 2))}, r"indices must have one axis, got 2"),
    ],
)
def test_malformed_compressed(change, words):
    with pytest.raises(ValueError, match=words):
        csr(**change)


def test_malformed_columns():
    arrays = DATA, np.array([3, 0, 4, 2]), np.array([0, 2, 2, 4])
    with pytest.raises(
        ValueError, match=r"indices\[2\] is 4, out of bounds for a size of 4"
    ):
        ps.CSC(arrays, (4, 3))
    with pytest.raises(ValueError, match=r"one more than there are columns"):
        ps.CSC((DATA, arrays[1], [0, 4]), (5, 3))


@pytest.mark.parametrize(
    ("row", "col", "words"),
    [
        ([3, 0], [0, 0], r"row\[0\] is 3, out of bounds for a size of 3"),
        ([2, 0], [0, 4], r"col\[1\] is 4, out of bounds for a size of 4"),
        ([-1, 0], [0, 0], r"row\[0\] is -1, out of bounds"),
        ([2, 0, 1], [0, 3], r"row has length 3, but must have 2, the length of col"),
        ([2], [0], r"data has length 2, but must have 1, the length of col"),
    ],
)
def test_malformed_coordinates(row, col, words):
    with pytest.raises(ValueError, match=words):
        ps.COO(([1.0, 2.0], (row, col)), (3, 4))


def test_bad_numbers_far_into_an_array():
    indices = np.zeros(100_000, np.int32)
    for at in (4095, 4096, 99_999):
        indices[at] = 7
        with pytest.raises(ValueError, match=rf"indices\[{at}\] is 7"):
            ps.CSR((None, indices, [0, 100_000]), (1, 7))
        indices[at] = 0
    with pytest.raises(ValueError, match="is 18446744073709551615, out of bounds"):
        ps.CSR((None, np.array([2**64 - 1], np.uint64), [0, 1]), (1, 7))
    with pytest.raises(ValueError, match=r"indices\[0\] is -1, out of bounds"):
        ps.CSR((None, np.array([-1], np.int32), [0, 1]), (1, 2**62))
    with pytest.raises(ValueError, match=r"indices\[0\] is -1, out of bounds"):
        ps.CSR((None, np.array([-1]), [0, 1]), (1, 2**62))


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ((DATA, [3.0, 0, 0, 2], [0, 2, 2, 4]), "'indices' has dtype float64"),
        ((DATA, [3, 0, 0, 2], [0, 2, 2, 4.5]), "'indptr' has dtype float64"),
        ((DATA, np.ones(4, bool), [0, 2, 2, 4]), "'indices' has dtype bool"),
        ((DATA.astype("g"), [3, 0, 0, 2], [0, 2, 2, 4]), "longdouble|float128"),
        (
            (DATA.astype("M8[s]"), [3, 0, 0, 2], [0, 2, 2, 4]),
            "data has dtype datetime64",
        ),
        ((DATA.astype(object), [3, 0, 0, 2], [0, 2, 2, 4]), "data has dtype object"),
        ((DATA.astype(str), [3, 0, 0, 2], [0, 2, 2, 4]), "data has dtype <U"),
        ((np.ma.array(DATA), [3, 0, 0, 2], [0, 2, 2, 4]), "masked array"),
        ((DATA, [3, 0, 0, 2]), r"expected a tuple \(data, indices, indptr\)"),
        (np.eye(3), "from_dense"),
    ],
)
def test_wrong_kinds(arrays, words):
    with pytest.raises(TypeError, match=words):
        ps.CSR(arrays, (3, 4))


def test_wrong_forms_of_coordinates():
    for arrays in ((DATA, [0], [0]), (DATA, [[0], [0]]), 3):
        with pytest.raises(TypeError, match=r"expected a tuple \(data, \(row, col\)\)"):
            ps.COO(arrays, (1, 1))
    for shape in (3, None):
        with pytest.raises(TypeError):
            ps.COO((DATA, ([0], [0])), shape)
    with pytest.raises(TypeError, match="must be an integer"):
        ps.COO((DATA, ([0], [0])), (1.0, 1))


def test_a_hook_that_takes_the_shape_away():
    class Size:
        def __index__(self):
            shape.clear()
            return 3

    shape = [Size(), 4]
    with pytest.raises(RuntimeError, match="'shape' changed during the call"):
        ps.CSR((DATA, [3, 0, 0, 2], [0, 2, 2, 4]), shape)


def test_memory_that_is_gone():
    for n in (10, 100_000):
        arrays = np.ones(n), np.zeros(n, np.int32), np.array([0, n], np.int32)
        for k in range(3):
            mine = [array.copy() for array in arrays]
            a = ps.CSR(tuple(mine), (1, 1))
            mine[k].resize(1, refcheck=False)
            with pytest.raises(RuntimeError, match="changed during the call"):
                ps._core.check_matrix(a)
