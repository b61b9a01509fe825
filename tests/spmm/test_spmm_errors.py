"""What products refuse, and that nothing has been written by then."""

import threading
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import pyscatter as ps
from tests.cases import rng_for
from tests.matrices import FORMATS, matrix_of, random_matrix


def eye(n=2, format="csr"):
    return matrix_of(format, range(n), range(n), np.ones(n), (n, n))


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"op": "mul"}, ValueError, "op 'mul' has no product"),
        ({"op": "no"}, ValueError, "unknown op 'no'"),
        ({"semiring": "plus_times"}, ValueError, "unknown semiring 'plus_times'"),
        ({"semiring": 3}, ValueError, "unknown semiring 3"),
        ({"semiring": "or_and", "op": "add"}, ValueError, "leave these away"),
        ({"semiring": "or_and", "alpha": 2}, ValueError, "leave these away"),
        ({"semiring": "or_and", "dtype": int}, TypeError, "gives bools, not int64"),
        ({"beta": 1}, ValueError, "give both or neither"),
        ({"transpose": 1}, TypeError, "transpose must be True or False"),
        ({"alpha": "2"}, TypeError, "alpha must be a number"),
        ({"alpha": np.ones(2)}, TypeError, "alpha must be a number"),
        ({"fill_value": 1j}, TypeError, "fill_value 1j does not fit"),
        ({"fill_value": np.complex64(1)}, TypeError, "cannot cast fill_value"),
        ({"dtype": "O"}, TypeError, "products are of bools"),
        ({"dtype": np.longdouble}, TypeError, "products are of bools"),
        ({"dtype": "M8[s]"}, TypeError, "cannot cast an operand"),
        ({"out": np.zeros(3)}, ValueError, r"out has shape \(3,\); expected \(2,\)"),
        ({"out": np.zeros(2, int)}, TypeError, "cannot cast from dtype float64"),
        ({"out": [0, 0]}, TypeError, "'out' must be a NumPy array"),
        ({"out": np.broadcast_to(0.0, 2)}, ValueError, "read-only"),
        ({"beta": 1, "out": np.zeros(2, complex)}, TypeError, "cannot cast out"),
    ],
)
def test_options(options, error, words):
    with pytest.raises(error, match=words):
        ps.spmm(eye(), np.ones(2), **options)


@pytest.mark.parametrize(
    ("A", "X", "error", "words"),
    [
        (eye(), eye(), TypeError, "both operands are sparse: use spgemm"),
        (np.eye(2), np.eye(2), TypeError, "neither operand is sparse"),
        (eye(), np.ones(3), ValueError, "has 2 columns, the dense one 3"),
        (np.ones(3), eye(), ValueError, "has 2 rows, the dense one 3"),
        (eye(), 1.0, ValueError, "'X' must have at least 1 axis"),
        (eye(), np.ones(2, np.longdouble), TypeError, "at most double precision"),
        (eye(), np.ones(2, object), TypeError, "got dtype object"),
        (eye(), np.ma.ones(2), TypeError, "masked array"),
        (SimpleNamespace(format="dia"), np.ones(2), TypeError, r"\.tocsr\(\)"),
        (SimpleNamespace(format="csr"), np.ones(2), AttributeError, "shape"),
    ],
)
def test_operands(A, X, error, words):
    with pytest.raises(error, match=words):
        ps.spmm(A, X)


def damaged(rng, format):
    """Return a matrix with one number that is wrong, and the array that has it."""
    A = random_matrix(rng, format, (7, 7), 20, np.float64)
    name = rng.choice(["row", "col"] if format == "coo" else ["indptr", "indices"])
    numbers = getattr(A, name)
    i = int(rng.integers(len(numbers)))
    wrong = [-1, 100, -(2**31), 2**31 - 1, 7 if name != "indptr" else 21]
    numbers[i] = rng.choice(wrong)
    return A, name


@pytest.mark.parametrize("format", FORMATS)
def test_one_wrong_number_changes_nothing(format):
    rng = rng_for(format, "damaged")
    for trial in range(150):
        A, name = damaged(rng, format)
        ps.set_num_threads(1 + trial % 3)
        for width in (1, 5, 64):
            X = rng.random((7, width))
            out = np.full((7, width), 3.0)
            for options in ({}, {"out": out}, {"out": out, "beta": 2}, {"op": "max"}):
                for transpose in (False, True):
                    with pytest.raises(ValueError, match=rf"{name}\[\d+\]"):
                        ps.spmm(A, X, transpose=transpose, **options)
            assert (out == 3).all()


@pytest.mark.parametrize("format", FORMATS)
def test_random_triples_end_in_an_error_or_a_result(format):
    rng = rng_for(format, "random")
    for _ in range(350):
        m, n, nnz = rng.integers(0, 6, 3)
        low, high = rng.choice([-1, 0]), 1 + rng.integers(0, 7)
        sizes = {"csr": m + 1, "csc": n + 1, "coo": nnz}
        first = rng.integers(low, high, max(0, sizes[format] + rng.integers(-1, 2)))
        second = rng.integers(low, high, nnz)
        names = ("row", "col") if format == "coo" else ("indptr", "indices")
        A = SimpleNamespace(format=format, shape=(m, n), data=rng.random(nnz))
        setattr(A, names[0], np.sort(first) if rng.random() < 0.7 else first)
        setattr(A, names[1], second)
        try:
            ps._core.check_matrix(A)
        except ValueError as error:
            with pytest.raises(ValueError, match=".") as again:
                ps.spmm(A, np.ones((n, 3)))
            assert str(again.value) == str(error)
        else:
            assert ps.spmm(A, np.ones((n, 3))).shape == (m, 3)


class Hook:
    """An operand that runs code when it becomes an array."""

    def __init__(self, array, code):
        self.array, self.code = array, code

    def __array__(self, dtype=None, copy=None):
        self.code()
        return self.array


@pytest.mark.parametrize("format", FORMATS)
def test_hooks_that_change_the_matrix(format):
    for name in ("data", "row", "col", "indptr", "indices"):
        A = eye(64, format)
        if not hasattr(A, name):
            continue
        array = getattr(A, name)

        def shrink(array=array):
            array.resize(2, refcheck=False)

        def narrow(array=array):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                array.dtype = np.int16

        for code in (shrink, narrow):
            with pytest.raises((ValueError, RuntimeError), match="length|changed|axis"):
                ps.spmm(A, Hook(np.ones((64, 2)), code))


def test_attributes_that_are_asked_for_may_run_code():
    class Odd(SimpleNamespace):
        @property
        def indices(self):
            self.data.resize(1, refcheck=False)
            return np.zeros(4, np.int32)

    A = Odd(format="csr", shape=(1, 1), data=np.ones(4), indptr=np.array([0, 4]))
    with pytest.raises(ValueError, match="data has length 1, but must have 4"):
        ps.spmm(A, np.ones(1))


@pytest.mark.alone
@pytest.mark.parametrize("format", FORMATS)
def test_another_thread_rewrites_the_matrix(format):
    rng = rng_for(format, "race")
    A = random_matrix(rng, format, (2000, 2000), 40_000, np.float64, index=np.int64)
    numbers = [
        getattr(A, n) for n in vars(A) if n in ("row", "col", "indptr", "indices")
    ]
    kept = [array.copy() for array in numbers]
    X, stop = np.ones((2000, 8)), threading.Event()

    def rewrite():
        while not stop.is_set():
            for array, good in zip(numbers, kept, strict=True):
                array[:] = np.iinfo(np.int64).max
                array[:] = good
                array[::3] = -1
                array[:] = good

    thread = threading.Thread(target=rewrite)
    thread.start()
    try:
        for trial in range(60):
            ps.set_num_threads(1 + trial % 3)
            try:
                ps.spmm(A, X, transpose=trial % 2 == 0)
                ps.sddmm(A, X, X)
                ps.spmm(A, X, beta=1, out=np.ones((2000, 8)))
            except (ValueError, RuntimeError):
                pass
    finally:
        stop.set()
        thread.join()


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("value", [-1, 0, 2**31 - 1])
def test_offsets_are_checked_across_blocks(index, value):
    n = 1030
    A = matrix_of("csr", range(n), [0] * n, np.ones(n), (n, 1), index)
    for at in (1, 255, 256, 257, 511, 512, 513, 1023, 1024, 1029):
        A.indptr[at] = value
        words = rf"indptr\[{at}\] is {value}" if value < 2 else "indptr"
        for call in (
            lambda: ps.spmm(A, np.ones(1)),
            lambda: ps.spmm(A, np.ones((1, 16)), out=np.zeros((n, 16))),
            lambda: ps.sddmm(A, np.ones((n, 4)), np.ones((1, 4))),
        ):
            if (at, value) != (1, 0):
                with pytest.raises(ValueError, match=words):
                    call()
        A.indptr[at] = at


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("format", FORMATS)
def test_a_small_out_beside_many_entries(format, index):
    """It is made apart and copied, whatever its layout; a fault leaves it alone."""
    rng = rng_for("apart", format, index)
    shape = 700, 600
    A = random_matrix(rng, format, shape, 30_000, np.float32, index=index)
    name = "row" if format == "coo" else "indices"
    X = rng.random((3, 600, 2), np.float32)
    for x in (X[0, :, 0].copy(), X[0], X, X[:, :, :1]):
        wanted = ps.spmm(A, x)
        wide = np.zeros((*wanted.shape[:-1], 3 * wanted.shape[-1]), np.float32)
        for out in (
            wide[..., : wanted.shape[-1]],
            wide[..., ::3],
            np.empty_like(wanted),
        ):
            for threads in (1, 2):
                out[...] = 7
                with ps.num_threads(threads):
                    assert ps.spmm(A, x, out=out) is out
                    np.testing.assert_array_equal(out, wanted)
                    before = wide.copy()
                    getattr(A, name)[-3] += 1000
                    with pytest.raises(ValueError, match=r"\[29997\] is"):
                        ps.spmm(A, x, out=out)
                    getattr(A, name)[-3] -= 1000
                np.testing.assert_array_equal(out, wanted)
                np.testing.assert_array_equal(wide, before)


def test_structures_that_cannot_be_written(tmp_path):
    A = random_matrix(rng_for("memmap"), "csr", (50, 40), 300, float, special=False)
    expected = ps.spmm(A, np.ones(40))
    for name in ("data", "indices", "indptr"):
        path = tmp_path / name
        getattr(A, name).tofile(path)
        kind = getattr(A, name).dtype
        setattr(A, name, np.memmap(path, kind, "r"))
    assert (ps.spmm(A, np.ones(40)) == expected).all()


def test_sizes_beyond_32_bits():
    n = 2**33
    A = SimpleNamespace(
        format="coo",
        shape=(3, n),
        data=np.array([2.0, 3.0]),
        row=np.array([0, 2], np.int8),
        col=np.array([0, n - 1]),
    )
    X = np.broadcast_to(np.array([5.0]), (n,))
    assert ps.spmm(A, X).tolist() == [10, 0, 15]
    A.col = np.array([0, -1], np.int32)
    with pytest.raises(ValueError, match=r"col\[1\] is -1, out of bounds"):
        ps.spmm(A, X)
