"""Makers of sparse matrices for the tests: attributes on a plain object."""

from types import SimpleNamespace

import numpy as np

from tests.cases import random_values
from tests.reference.spmm import triples

FORMATS = ("csr", "csc", "coo")


def compressed(slices, n):
    """Return the offsets of slices that ascend."""
    return np.concatenate([[0], np.cumsum(np.bincount(slices, minlength=n))])


def matrix_of(format, row, col, data, shape, index=np.int32):
    """Return entries in a format; those of a slice keep their order."""
    row, col = np.asarray(row, np.int64), np.asarray(col, np.int64)
    if format == "coo":
        return SimpleNamespace(
            format="coo",
            shape=shape,
            data=data,
            row=row.astype(index),
            col=col.astype(index),
        )
    major, minor = (row, col) if format == "csr" else (col, row)
    order = np.argsort(major, kind="stable")
    return SimpleNamespace(
        format=format,
        shape=shape,
        data=None if data is None else data[order],
        indices=minor[order].astype(index),
        indptr=compressed(major, shape[format == "csc"]).astype(index),
    )


def random_matrix(rng, format, shape, nnz, dtype, *, index=np.int32, special=True):
    """Return a matrix whose entries come in no order and repeat; None: no data."""
    if 0 in shape:
        nnz = 0
    row = rng.integers(0, max(shape[0], 1), nnz)
    col = rng.integers(0, max(shape[1], 1), nnz)
    data = None if dtype is None else random_values(rng, dtype, nnz, special)
    return matrix_of(format, row, col, data, shape, index)


def dense_of(A, dtype=float):
    """Return the sum of all entries at each place."""
    dense = np.zeros(A.shape, dtype)
    row, col, data = triples(A)
    np.add.at(dense, (row, col), data)
    return dense
