"""The slow twins of products with sparse matrices: loops over the stored entries.

A matrix is anything with `format`, `shape` and the arrays of that format. Every result
element meets its entries one at a time, in the order in which they are stored.
"""

import numpy as np

from .combine import COMBINE, complex_of, divide_by_count, times
from .values import kind_of

SEMIRINGS = {
    "min_plus": ("add", "min"),
    "max_plus": ("add", "max"),
    "max_times": ("mul", "max"),
    "or_and": ("mul", "add"),
}
HALF = ("float16", "bfloat16")


def triples(A):
    """Return the rows, columns and values of all entries as they are stored."""
    if A.format == "coo":
        row, col = A.row, A.col
    else:
        slices = np.repeat(np.arange(len(A.indptr) - 1), np.diff(A.indptr))
        row, col = (slices, A.indices) if A.format == "csr" else (A.indices, slices)
    data = np.ones(len(row), bool) if A.data is None else np.asarray(A.data)
    return np.asarray(row), np.asarray(col), data


def result_dtype(operands, factors, form, dtype):
    """Return the dtype that is asked for, or NumPy's promotion."""
    if form == "or_and":
        return np.dtype(bool)
    if dtype is not None:
        return np.dtype(dtype)
    promoted = np.result_type(*(one.dtype for one in operands), *factors)
    is_counted = form == "mean" and promoted.kind in "biu"
    return np.dtype(float) if is_counted else promoted


def accumulator_of(dtype):
    """Half types are computed in float32."""
    return np.dtype(np.float32) if dtype.name in HALF else dtype


def identity(op, dtype):
    """Return what least and greatest start from; sums start from 0."""
    if op == "add":
        return np.zeros((), dtype)[()]
    if dtype.kind == "f":
        return dtype.type(np.inf if op == "min" else -np.inf)
    if dtype.kind == "b":
        return dtype.type(op == "min")
    info = np.iinfo(dtype)
    return dtype.type(info.max if op == "min" else info.min)


def conjugated(data):
    """Return the complex conjugates."""
    if data.dtype.kind != "c":
        return data
    return np.array([complex_of(x.real, -x.imag) for x in data], data.dtype)


def finish(value, count, mean, empty, alpha):
    """Return what a finished sum becomes before it meets `out`."""
    if count == 0 and empty is not None:
        value = empty
    elif mean:
        value = divide_by_count(value, count, value.dtype)
    return value if alpha is None else times(alpha, value)


@np.errstate(all="ignore")
def spmm(
    A,
    X,
    *,
    alpha=1,
    beta=0,
    out=None,
    op="add",
    semiring=None,
    transpose=False,
    conjugate=False,
    fill_value=None,
    dtype=None,
):
    """Multiply a sparse matrix and a dense operand, from either side."""
    is_left = hasattr(X, "format")
    matrix, dense = (X, np.asarray(A)) if is_left else (A, np.asarray(X))
    row, col, data = triples(matrix)
    n_rows, n_cols = matrix.shape
    if transpose != is_left:
        row, col, n_rows, n_cols = col, row, n_cols, n_rows
    form = semiring if semiring == "or_and" else op
    factors = [one for one in (alpha, beta) if not (type(one) is int and one in (0, 1))]
    result = result_dtype((data, dense), factors, form, dtype)
    work = accumulator_of(result)
    product, meet = SEMIRINGS.get(semiring, ("mul", "add" if op == "mean" else op))
    data = conjugated(data.astype(work)) if conjugate else data.astype(work)
    x = dense.astype(work)
    is_vector = x.ndim == 1
    x = x[:, None] if is_vector else x.swapaxes(-1, -2) if is_left else x
    batches = x.reshape(int(np.prod(x.shape[:-2])), *x.shape[-2:])
    sums = np.full((len(batches), n_rows, x.shape[-1]), identity(meet, work), work)
    for batch, total in zip(batches, sums, strict=True):
        for r, c, value in zip(row.tolist(), col.tolist(), data, strict=True):
            for j in range(x.shape[-1]):
                term = COMBINE[product](value, batch[c, j])
                total[r, j] = combine(meet, total[r, j], term)
    empty = np.nan if op == "mean" and fill_value is None else fill_value
    empty = None if empty is None else np.full((), empty, work)[()]
    factor = None if type(alpha) is int and alpha == 1 else np.full((), alpha, work)[()]
    counts = np.bincount(row, minlength=n_rows)
    for total in sums:
        for r in range(n_rows):
            for j in range(x.shape[-1]):
                value = total[r, j]
                total[r, j] = finish(value, counts[r], op == "mean", empty, factor)
    value = sums.reshape(*x.shape[:-2], n_rows, x.shape[-1])
    value = value[:, 0] if is_vector else value.swapaxes(-1, -2) if is_left else value
    return deliver(value, result, out, beta)


def combine(op, x, y):
    """Combine two scalars; the sum of bools is their disjunction."""
    return COMBINE["or" if op == "add" and kind_of(x.dtype) == "bool" else op](x, y)


def deliver(value, result, out, beta):
    """Return sums in the dtype of the result, or write them to `out`."""
    if out is None:
        return np.ascontiguousarray(value).astype(result)
    if beta != 0:
        old, factor = out.astype(value.dtype), np.full((), beta, value.dtype)[()]
        terms = [
            combine("add", new, times(factor, before))
            for new, before in zip(value.ravel(), old.ravel(), strict=True)
        ]
        value = np.array(terms, value.dtype).reshape(value.shape)
    out[...] = value.astype(out.dtype)
    return out


def lanes(x, y):
    """Sum products in sixteen lanes; the upper half of these joins the lower."""
    total = [np.zeros((), x.dtype)[()]] * 16
    for j in range(len(x)):
        total[j % 16] = combine("add", total[j % 16], times(x[j], y[j]))
    while len(total) > 1:
        half = len(total) // 2
        total = [combine("add", *pair) for pair in zip(total[:half], total[half:])]  # noqa: B905
    return total[0]


@np.errstate(all="ignore")
def sddmm(A, X, Y, *, values="pattern", out=None):
    """Return inner products of rows of X and Y at the entries of A."""
    row, col, data = triples(A)
    X, Y = np.asarray(X), np.asarray(Y)
    scales = values == "scale"
    dtype = np.result_type(X, Y, *([data] if scales else []))
    work = accumulator_of(dtype)
    x, y = X.astype(work), Y.astype(work)
    x, y = (one.reshape(int(np.prod(X.shape[:-2])), *one.shape[-2:]) for one in (x, y))
    sums = np.zeros((len(x), len(row)), work)
    for batch in range(len(x)):
        for e, (r, c) in enumerate(zip(row.tolist(), col.tolist(), strict=True)):
            dot = lanes(x[batch, r], y[batch, c])
            sums[batch, e] = times(data.astype(work)[e], dot) if scales else dot
    return deliver(sums.reshape(*X.shape[:-2], len(row)), dtype, out, 0)
