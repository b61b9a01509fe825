"""The four primitives that every reduction of segments is composed of.

Values have their entries along axis 0 and any axes behind it. Sums by ids add from
first to last in the order of the entries. Sums over ranges of rows of width 1 have a
fixed tree: blocks of 4,096 entries from the segment's start, in a block 16 lanes, which
are added up by halves; so they depend on nothing but lengths, and a machine may add 16
numbers at a time. Wider rows, which have lanes of their own, add from first to last.
"""

import functools

import numpy as np

from pyscatter import _core
from pyscatter._segment_checks import check_bounds

BLOCK = 4096
SUMS = ("add", "mul")


def half_or(dtype, wider):
    """Return `wider` for float16 and bfloat16, else the dtype itself."""
    is_half = dtype.char == "e" or (dtype.kind == "V" and dtype.name == "bfloat16")
    return np.dtype(wider) if is_half else dtype


def is_missing(values):
    """Return where values are NaN or NaT, or None for types that have neither."""
    if values.dtype.kind in "mM":
        return np.isnat(values)
    if values.dtype.kind in "fc" or values.dtype.name == "bfloat16":
        return np.isnan(values)
    return None


def present(values, where, batch_dims, axis):
    """Return where elements are neither missing nor left out by `where`, or None.

    `where` has the shape of the values, batch_dims being -1, or that of the entries:
    the batch axes and `axis`. The result has the shape of the values.
    """
    missing = is_missing(values)
    if missing is None:
        whole = np.ones(values.shape, bool)
    else:
        whole = ~missing
    if where is not None:
        if batch_dims >= 0:
            shape = (*values.shape[:batch_dims], *(1,) * (values.ndim - batch_dims))
            shape = (*shape[:axis], values.shape[axis], *shape[axis + 1 :])
            where = where.reshape(shape)
        whole &= where
    return whole


@functools.cache
def identity(op, dtype):
    """Return what an empty segment holds, as a scalar of `dtype`."""
    if op == "mul":
        return dtype.type(1)
    if op in ("min", "fmin", "max", "fmax"):
        return _extreme(dtype, op in ("min", "fmin"))
    if op == "and":
        return np.array(-1).astype(dtype)[()]
    return np.zeros((), dtype)[()]


def _extreme(dtype, largest):
    if dtype.kind in "mM":
        return np.array("NaT", dtype)[()]
    if dtype.kind == "b":
        return np.bool_(largest)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return dtype.type(info.max if largest else info.min)
    return np.array(np.inf if largest else -np.inf).astype(dtype)[()]


def neutral(op, dtype):
    """Return what a sum may take in without a change of any bit: -0.0, 0 or 1."""
    if op == "mul":
        return dtype.type(1)
    return -np.zeros((), dtype)[()] if dtype.kind in "fc" else np.zeros((), dtype)[()]


def reduce_ids(
    values, ids, size, op, *, dtype, where=None, mode="raise", compensated=False
):
    """result[ids[i]] = result[ids[i]] op values[i], in order, from the identity.

    `values` (n, *rest), `ids` (n,) of any integers, or a Plan, unchecked; `where` (n,)
    or None. Returns (size, *rest) of `dtype`, which is the accumulator. Sums are those
    of a scatter into zeros; fmin, fmax and times, whose identity is what a segment of
    nothing but NaN or NaT returns as well, start from the first entry.
    """
    shape = (size, *values.shape[1:])
    if op == "add":
        target = np.zeros(shape, dtype)
    else:
        target = np.full(shape, identity(op, dtype), dtype)
    starts = op not in ("fmin", "fmax") and dtype.kind not in "mM"
    try:
        _core.fold_ids(target, ids, values, op, where, mode, starts, compensated)
    except IndexError:
        if isinstance(ids, np.ndarray):
            check_bounds(ids, size, "ids", where)
        raise
    return target


def range_positions(starts, lengths):
    """Return the entries of all ranges, one range after the other."""
    stops = np.cumsum(lengths)
    total = int(stops[-1]) if len(stops) else 0
    return np.arange(total) + np.repeat(starts - (stops - lengths), lengths)


def reduce_ranges(
    values,
    starts,
    stops,
    op,
    *,
    dtype,
    gather=None,
    weights=None,
    compensated=False,
):
    """result[s] = the entries from starts[s] to stops[s], joined by op.

    `values` (n, *rest), or (N, *rest) with `gather` (n,), whose entries are row numbers
    within bounds; `weights` (n,) or None; `starts` and `stops` (m,) int64 within 0 and
    n. Returns (m, *rest) of `dtype`, the accumulator; the identity where a range is
    empty.
    """
    if compensated:
        lengths = stops - starts
        positions = range_positions(starts, lengths)
        rows = _terms(values, positions, gather, weights, dtype)
        owner = np.repeat(np.arange(len(starts)), lengths)
        return reduce_ids(rows, owner, len(starts), op, dtype=dtype, compensated=True)
    kept = half_or(dtype, np.float32)
    if not (is_real(values.dtype) and is_real(kept)):
        values = values.astype(kept, copy=False)
    result = _core.fold_ranges(values, starts, stops, op, kept, gather, weights)
    if result is None:
        raise RuntimeError("offsets or gather changed during the call")
    return result.astype(dtype, copy=False)


def is_real(dtype):
    """Can kernels cast it: bools, integers, and floats up to float64?"""
    return (
        dtype.kind in "biu" or half_or(dtype, np.float32).char in "fd"
    ) and dtype.itemsize <= 8


def _terms(values, positions, gather, weights, dtype):
    """Return what is added: rows, each multiplied by its weight and rounded."""
    rows = values[positions if gather is None else gather[positions]]
    if weights is None:
        return rows.astype(dtype, copy=False)
    return weighted(rows, weights[positions], dtype)


def weighted(rows, weights, dtype):
    """Return the products of rows (n, *rest) and weights (n,), each rounded.

    NumPy's product of complex numbers is fused on some CPUs, and has other bits there.
    """
    weights = weights.astype(dtype).reshape(-1, *(1,) * (rows.ndim - 1))
    if dtype.char not in "FD":
        return rows.astype(dtype) * weights
    rows = rows.astype(dtype, order="C")
    weights = np.broadcast_to(weights, rows.shape)
    return _core.scatter_where(rows, True, weights, op="mul", out=rows)


def find_ids(values, ids, size, op):
    """Return which entry each segment's result is, as int64; -1 where there is none.

    `values` (n, *rest); `ids` (n,), unchecked for extremes, else within bounds; `op` is
    min, max, fmin, fmax, first or last. The first of equals wins, -0.0 is less than
    +0.0, the first NaN wins (for fmin and fmax only where all are NaN). Returns (size,
    *rest).
    """
    if op in ("first", "last"):
        rest = values.shape[1:]
        ends = np.full(size, -1, np.int64)
        _core.scatter(ends, ids, np.arange(len(values)), op=op, out=ends)
        ends = ends.reshape(-1, *(1,) * len(rest))
        return np.array(np.broadcast_to(ends, (size, *rest)))
    values = values.astype(half_or(values.dtype, np.float32), copy=False)
    found = _core.find_extremes(values, ids, size, op)
    if found is None:
        check_bounds(ids, size, "ids")
        raise RuntimeError("ids changed during the call")
    return found


def deviations(values, ids, centre, compensated=False):
    """Return the sums of |values[i] - centre[ids[i]]|^2, from first to last.

    `values` (n, *rest), `ids` (n,) within bounds, `centre` (size, *rest), whose dtype
    is the accumulator. Returns (size, *rest), real.
    """
    if centre.dtype.char in "fd" and not compensated:
        terms = values.astype(centre.dtype, copy=False)
        return _core.sum_deviations(terms, ids, centre)
    apart = values.astype(centre.dtype) - centre[ids.copy()]
    if apart.dtype.kind == "c":
        squares = apart.real**2 + apart.imag**2
    else:
        squares = apart * apart
    options = {"dtype": squares.dtype, "compensated": compensated}
    return reduce_ids(squares, ids, len(centre), "add", **options)
