"""Malformed structures in every operation that takes a sparse matrix.

A container is made of good arrays, which are then spoilt: in `indptr` and among the
places, at both ends and at the edges of the blocks that are read at once, by numbers
just outside, far outside and negative. Each case is a ValueError that names array,
position and value, and `out` keeps its bytes.
"""

import numpy as np

import pyscatter as ps
from tests.isolated.harness import case

ROWS, COLUMNS, NNZ = 300, 200, 6000
FAR = (-1, -(2**31), 2**31 - 1)
PLACES = (0, 511, 512, 1023, NNZ - 1)
EDGES = (1, 255, 256, -2)


def dense(n, width=3):
    return np.ones((n, width))


def eye(n):
    return ps.CSR.from_dense(np.eye(n))


OPERATIONS = {
    "spmm": lambda A: ps.spmm(A, dense(A.shape[1])),
    "spmm of a column": lambda A: ps.spmm(A, np.ones(A.shape[1])),
    "spmm turned": lambda A: ps.spmm(A, dense(A.shape[0], 64), transpose=True),
    "spmm from the left": lambda A: ps.spmm(dense(A.shape[0]).T, A),
    "spmm max": lambda A: ps.spmm(A, dense(A.shape[1]), op="max"),
    "spmm again": lambda A: [ps.spmm(A, dense(A.shape[1], 64)) for _ in range(3)],
    "spmm out": lambda A, out: ps.spmm(A, dense(A.shape[1]), beta=2, out=out),
    "sddmm": lambda A: ps.sddmm(A, dense(A.shape[0]), dense(A.shape[1])),
    "spgemm": lambda A: ps.spgemm(A, eye(A.shape[1])),
    "spgemm right": lambda A: ps.spgemm(eye(A.shape[0]), A),
    "to_csr": lambda A: A.to_coo() if A.format == "csr" else A.to_csr(),
    "to_csc": lambda A: A.to_coo() if A.format == "csc" else A.to_csc(),
    "sum_duplicates": lambda A: A.sum_duplicates(),
    "sort_indices": lambda A: A.sort_indices(),
    "to_dense": lambda A: A.to_dense(),
    "copy": lambda A: type(A)((A.data, *parts(A)), A.shape),
}


def parts(A):
    """Return the structure as a constructor takes it."""
    return ((A.row, A.col),) if A.format == "coo" else (A.indices, A.indptr)


def made(form, index):
    """Return a container and its arrays, which may be written to."""
    n = np.arange(NNZ)
    slices, size = (COLUMNS, ROWS) if form is ps.CSC else (ROWS, COLUMNS)
    places = (n * 7 % size).astype(index)
    if form is ps.COO:
        row = (n * 11 % ROWS).astype(index)
        arrays = {"row": row, "col": places}
        return form((np.ones(NNZ), (row, places)), (ROWS, COLUMNS)), arrays
    indptr = (np.arange(slices + 1) * (NNZ // slices)).astype(index)
    arrays = {"indptr": indptr, "indices": places}
    return form((np.ones(NNZ), places, indptr), (ROWS, COLUMNS)), arrays


def faults():
    """Yield a format, the name of an array, a position and a number that is wrong."""
    for form in (ps.CSR, ps.CSC, ps.COO):
        places = {"row": ROWS, "col": COLUMNS} if form is ps.COO else {}
        if form is not ps.COO:
            places["indices"] = ROWS if form is ps.CSC else COLUMNS
            for i, at in enumerate(EDGES):
                yield form, "indptr", min(at, 198) if form is ps.CSC else at, FAR[i % 3]
            yield form, "indptr", 0, 1
            yield form, "indptr", -1, NNZ - 1
        for name, size in places.items():
            for i, at in enumerate(PLACES):
                yield form, name, at, (size, *FAR)[i % 4]


def malformed():
    """Every operation on every fault."""
    for k, (form, name, at, wrong) in enumerate(faults()):
        A, arrays = made(form, (np.int32, np.int64)[k % 2])
        arrays[name][at] = wrong
        for operation, call in OPERATIONS.items():
            out = [np.full((ROWS, 3), 7.0)] if operation.endswith("out") else []
            title = f"{form.__name__} {name} {at} {wrong} {operation}"
            yield case(title, "ValueError", call, A, *out, says=(f"{name}[",))


GROUPS = {"malformed matrices": malformed}
