"""Sparse matrices in plain Python: lists of (row, column, value), one by one."""

import numpy as np

from .combine import times


def entries(matrix):
    """Return the (row, column, value) of each stored entry, in storage order."""
    data = [True] * matrix.nnz if matrix.data is None else list(matrix.data)
    if matrix.format == "coo":
        places = zip(matrix.row.tolist(), matrix.col.tolist(), strict=True)
        return [(r, c, v) for (r, c), v in zip(places, data, strict=True)]
    found = []
    pointers = matrix.indptr.tolist()
    for k in range(len(pointers) - 1):
        for at in range(pointers[k], pointers[k + 1]):
            other = int(matrix.indices[at])
            place = (k, other) if matrix.format == "csr" else (other, k)
            found.append((*place, data[at]))
    return found


def plus(a, b):
    """Add two values of one dtype: bools by or, integers wrap."""
    with np.errstate(all="ignore"):
        return a | b if isinstance(a, np.bool_) else a + b


def sums_of(found):
    """Return {(row, column): sum}: from the first entry, in order."""
    sums = {}
    for row, column, value in found:
        place = row, column
        sums[place] = plus(sums[place], value) if place in sums else value
    return dict(sorted(sums.items()))


def in_wide(values):
    """Return values as what they are summed in: half types in float32."""
    values = np.asarray(values)
    half = values.dtype.itemsize == 2 and values.dtype.kind not in "iu"
    return values.astype(np.float32) if half else values


def assemble(data, row, col):
    """Return {(row, column): sum} of contributions that are broadcast together."""
    data = np.asarray(data)
    row, col, wide = np.broadcast_arrays(row, col, in_wide(data))
    found = zip(row.ravel().tolist(), col.ravel().tolist(), wide.ravel(), strict=True)
    return {k: data.dtype.type(v) for k, v in sums_of(found).items()}


@np.errstate(all="ignore")
def spgemm(a, b):
    """Return {(row, column): sum} of the product of two matrices, and its dtype.

    Terms are added to zero in a's storage order, then b's.
    """
    result = np.result_type(a.dtype, b.dtype)
    is_half = result.itemsize == 2 and result.kind not in "iu"
    wide = np.dtype(np.float32) if is_half else result
    right = {}
    for k, column, value in entries(b):
        right.setdefault(k, []).append((column, wide.type(value)))
    sums = {}
    for row, k, value in entries(a):
        for column, other in right.get(k, ()):
            term = times(wide.type(value), other)
            old = sums.get((row, column), wide.type(0))
            sums[row, column] = plus(old, term)
    return {k: result.type(v) for k, v in sorted(sums.items())}, result
