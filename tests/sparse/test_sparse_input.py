"""Operations on containers whose arrays were spoilt since: an error, or the answer."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import pyscatter as ps
from tests.cases import rng_for
from tests.matrices import dense_of

FORMS = {"csr": ps.CSR, "csc": ps.CSC, "coo": ps.COO}
X, Y = np.arange(12.0).reshape(6, 2), np.arange(10.0).reshape(5, 2)
EYE = ps.CSR.from_dense(np.eye(5))

# What each makes of a matrix, and NumPy of the same as a dense array.
OPERATIONS = {
    "to_csr": (lambda A: A.to_csr().to_dense(), lambda D: D),
    "to_csc": (lambda A: A.to_csc().to_dense(), lambda D: D),
    "to_coo": (lambda A: A.to_coo().to_dense(), lambda D: D),
    "to_dense": (lambda A: A.to_dense(), lambda D: D),
    "sum_duplicates": (lambda A: A.sum_duplicates().to_dense(), lambda D: D),
    "sort_indices": (lambda A: A.sort_indices().to_dense(), lambda D: D),
    "spgemm": (lambda A: ps.spgemm(A, EYE).to_dense(), lambda D: D),
    "spgemm right": (lambda A: ps.spgemm(A.T, A).to_dense(), lambda D: D.T @ D),
    "spmm": (lambda A: ps.spmm(A, Y), lambda D: D @ Y),
    "spmm turned": (lambda A: ps.spmm(A, X, transpose=True), lambda D: D.T @ X),
    "sddmm": (lambda A: ps.sddmm(A, X, Y).sum(), None),
}


def spoilt(rng, form):
    """Return a container and its structure, a number of which has been overwritten."""
    shape, nnz = (6, 5), int(rng.integers(1, 9))
    slices = shape[form == "csc"]
    first = rng.integers(0, shape[0], nnz)
    second = rng.integers(0, shape[form != "csc"], nnz)
    if form != "coo":
        counts = np.bincount(rng.integers(0, slices, nnz), minlength=slices)
        first = np.concatenate([[0], np.cumsum(counts)])
    index = rng.choice(["i4", "i8"])
    first, second = first.astype(index), second.astype(index)
    places = ((first, second),) if form == "coo" else (second, first)
    A = FORMS[form]((rng.integers(1, 9, nnz).astype(float), *places), shape)
    array = first if rng.random() < 0.5 else second
    array[rng.integers(len(array))] = rng.integers(-2, 9)
    return A


@pytest.mark.parametrize("name", OPERATIONS)
def test_random_structures_end_in_an_error_or_the_answer(name):
    rng = rng_for(name, "spoilt")
    work, expected = OPERATIONS[name]
    outcomes = []
    for trial in range(1000):
        A = spoilt(rng, ("csr", "csc", "coo")[trial % 3])
        try:
            ps._core.check_matrix(A)
        except ValueError as error:
            with pytest.raises(ValueError, match=r"\[-?\d+\]") as again:
                work(A)
            if name != "spgemm right":
                assert str(again.value) == str(error)
            outcomes.append(False)
        else:
            result = work(A)
            if expected is not None:
                np.testing.assert_array_equal(result, expected(dense_of(A)))
            outcomes.append(True)
    assert 300 < sum(outcomes) < 900


def test_memory_maps_are_not_copied(tmp_path):
    rng = rng_for("maps")
    A = ps.CSR.from_dense(rng.random((30, 20)) * (rng.random((30, 20)) < 0.3))
    maps = []
    for name in ("data", "indices", "indptr"):
        getattr(A, name).tofile(tmp_path / name)
        maps.append(np.memmap(tmp_path / name, getattr(A, name).dtype, "r"))
    B = ps.CSR(tuple(maps), A.shape)
    for array, mapped in zip((B.data, B.indices, B.indptr), maps, strict=True):
        assert np.shares_memory(array, mapped)
    Z = rng.random((20, 3))
    assert (B @ Z).tolist() == (A @ Z).tolist()
    assert (B.T.to_csr() @ np.ones(30)).tolist() == (A.T @ np.ones(30)).tolist()
    assert ps.spgemm(B, B.T).data.tolist() == ps.spgemm(A, A.T).data.tolist()


BEYOND_MEMORY = """
import resource, sys
import numpy as np
import pyscatter as ps

n, folder = 1000, sys.argv[1]
data, indices, indptr = (
    np.memmap(f"{folder}/{name}", kind, "r")
    for name, kind in (("data", "f4"), ("indices", "i4"), ("indptr", "i4"))
)
x, out = np.ones(n, "f4"), np.empty(n, "f4")
ps.spmm(ps.CSR.from_dense(np.eye(3)), np.ones(3))
with open("/proc/self/status") as status:
    [used] = [line.split()[1] for line in status if line.startswith("VmData")]
room = 1024 * int(used) + (data.nbytes + indices.nbytes) // 8
resource.setrlimit(resource.RLIMIT_DATA, (room, room))
try:
    np.array(indices)
except MemoryError:
    print("refused")
for form in (ps.CSR, ps.CSC):
    A = form((data, indices, indptr), (n, n))
    assert ps.spmm(A, x).sum() == ps.spmm(A, x, out=out).sum() == data.size
    assert ps.spmm(A.T, x, transpose=True).sum() == data.size
    assert ps.spmm(A, np.ones((n, 4), "f4")).sum() == 4 * data.size
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of Linux")
@pytest.mark.skipif("PYSCATTER_SANITIZER" in os.environ, reason="needs memory itself")
def test_maps_beyond_the_memory_that_there_is(tmp_path):
    """Products of a mapped matrix in an eighth of what its entries would take."""
    n, nnz = 1000, 4_000_000
    (np.arange(nnz, dtype=np.int32) % n).tofile(tmp_path / "indices")
    np.ones(nnz, np.float32).tofile(tmp_path / "data")
    np.arange(0, nnz + 1, nnz // n, dtype=np.int32).tofile(tmp_path / "indptr")
    command = [sys.executable, "-c", BEYOND_MEMORY, tmp_path]
    variables = {**os.environ, "PYSCATTER_NUM_THREADS": "1"}
    ended = subprocess.run(
        command, env=variables, capture_output=True, text=True, check=False
    )
    assert ended.stderr == ""
    assert ended.stdout == "refused\n"


@pytest.mark.alone
@pytest.mark.parametrize("form", FORMS)
def test_another_thread_rewrites_during_conversions(form):
    rng = rng_for(form, "race")
    n = 30_000
    first = np.sort(rng.integers(0, 500, n))
    second = rng.integers(0, 500, n)
    if form != "coo":
        first = np.concatenate([[0], np.cumsum(np.bincount(first, minlength=500))])
    places = ((first, second),) if form == "coo" else (second, first)
    A = FORMS[form]((np.ones(n), *places), (500, 500))
    good, stop = (first.copy(), second.copy()), threading.Event()

    def rewrite():
        while not stop.is_set():
            first[1::3] = np.iinfo(np.int64).max
            second[::3] = -1
            first[:], second[:] = good

    thread = threading.Thread(target=rewrite)
    thread.start()
    try:
        for trial in range(60):
            ps.set_num_threads(1 + trial % 3)
            for name in ("to_csr", "to_csc", "to_coo", "sum_duplicates", "to_dense"):
                try:
                    getattr(A, name)()
                except (ValueError, RuntimeError, IndexError):
                    pass
    finally:
        stop.set()
        thread.join()
