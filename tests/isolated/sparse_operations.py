"""Calls on sparse matrices for tests that repeat them or refuse them memory; each
returns an array by which two results can be compared."""

import numpy as np

import pyscatter as ps
from tests.isolated.operations import Operation, mixed_index, numbers


def everything(matrix):
    """Return all numbers of a container in one array."""
    arrays = (matrix.data, matrix.entries, matrix.pointers)
    return np.concatenate([array.astype("f8") for array in arrays])


def made(form, arrays, shape):
    return everything(form(arrays, shape))


def assembled(*args, plan=False):
    result = ps.coo_to_csr(*args, plan=plan)
    return everything(result[1](args[0]) if plan else result)


def converted(matrix, name):
    return everything(getattr(matrix, name)())


def multiplied(a, b):
    product, plan = ps.spgemm(a, b, plan=True)
    return np.concatenate([everything(product), plan(a.data, b.data).data])


def multiplied_again(matrix, rows):
    """Products of one container, of which the second keeps something for the third."""
    fresh = ps.CSC((matrix.data, matrix.entries, matrix.pointers), matrix.shape)
    return np.concatenate([ps.spmm(fresh, rows) for _ in range(3)])


def sparse(count):
    """One of each, on `count` entries, in a narrow and in a wide matrix."""
    for columns in (90, 2**40):
        row = abs(mixed_index(count, 90)) % 90
        col = row[::-1] * (columns // 90)
        data, shape = numbers(count, dtype="f4"), (90, columns)
        where = data, (row, col), shape
        coo = ps.COO(*[(data, (row, col)), shape])
        csr = coo.to_csr()
        pairs = (csr.data, csr.indices, csr.indptr)
        yield Operation(f"CSR {columns}", made, (ps.CSR, pairs, shape))
        yield Operation(f"COO {columns}", made, (ps.COO, (data, (row, col)), shape))
        yield Operation(f"coo_to_csr {columns}", assembled, where)
        yield Operation(f"plan {columns}", assembled, where, {"plan": True})
        for name in ("to_csr", "sum_duplicates"):
            yield Operation(f"{name} {columns}", converted, (coo, name))
        yield Operation(f"to_coo {columns}", converted, (csr, "to_coo"))
        yield Operation(f"spgemm {columns}", multiplied, (csr, csr.T.to_coo()))
        if columns == 90:
            rows = np.ones((columns, 64), "f4")
            operation = multiplied_again, (csr.to_csc(), rows)
            yield Operation("products of a container", *operation)
        square = ps.COO((data, (row, row[::-1])), (90, 90))
        yield Operation(f"spgemm of COO {columns}", multiplied, (square, csr))


def sparse_failures(count):
    """Calls that raise."""
    row = abs(mixed_index(count, 90)) % 90
    data = numbers(count)
    csr = ps.coo_to_csr(data, (row, row), (90, 90))
    pairs = csr.data, csr.indices, csr.indptr
    yield Operation("CSR too narrow", ps.CSR, (pairs, (90, 3)))
    yield Operation("CSR of another length", ps.CSR, (pairs, (91, 90)))
    yield Operation("row out of bounds", ps.coo_to_csr, (data, (row, row), (3, 90)))
    yield Operation("shapes", ps.coo_to_csr, (data[1:], (row, row), (90, 90)))
    yield Operation("inner sizes", ps.spgemm, (csr, ps.CSR.from_dense(np.eye(3))))
    yield Operation("no matrix", ps.spgemm, (csr, data))
