"""Sparse matrices in plain Python: lists of (row, column, value), one by one."""

import numpy as np


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
