"""What one segment's values become: the folds of the segment family's slow twin.

A fold is given the segment's entries in order, as (entry number, scalar) with None in
place of a scalar that where= or skipna leaves out, since such an entry keeps its place
in the order of summation. All scalars have the accumulator's dtype.
"""

from typing import NamedTuple

import numpy as np

from .combine import (
    combiner,
    divide_by_count,
    greatest,
    greatest_number,
    is_missing,
    least,
    least_number,
    neumaier,
    precedes,
)
from .values import is_bfloat16, kind_of

BLOCK, LANES = 4096, 16
SUMS = ("add", "mul")
BITS = ("and", "or", "xor")
ORDER = ("min", "max", "fmin", "fmax")
ARGS = ("argmin", "argmax")
PICKS = ("first", "last")
MOMENTS = ("mean", "var", "std", "median", "quantile")
FRACTIONS = (*MOMENTS, "logsumexp")
OPS = (
    *(*SUMS, *BITS, *ORDER, *ARGS, *PICKS, *FRACTIONS),
    *("count", "any", "all"),
)


class Fold(NamedTuple):
    """How the segments of a call are folded."""

    op: str
    result: np.dtype
    ranged: bool  # over ranges, whose sums start at their first element
    laned: bool = False  # of width 1, so that the terms go to lanes
    start: object = None  # initial=, as a scalar of the accumulator's dtype
    q: object = None
    ddof: int = 0
    compensated: bool = False


def result_dtype(op, given, dtype):
    """Return the dtype of the result of `op` on values of dtype `given`."""
    if op in ("count", *ARGS):
        return np.dtype(np.int64)
    if op in ("any", "all"):
        return np.dtype(np.bool_)
    if dtype is not None:
        return np.dtype(dtype).newbyteorder("=")
    if op in SUMS and given.kind in "bi":
        return np.dtype(np.int64)
    if op in SUMS and given.kind == "u":
        return np.dtype(np.uint64)
    if op in FRACTIONS and given.kind in "biu":
        return np.dtype(np.float64)
    if op in ("var", "std") and given.kind == "c":
        return np.empty(0, given).real.dtype
    return given


def accumulator_of(op, given, result):
    """Return the dtype that values are folded in; half types take float32."""
    if op in ARGS and is_bfloat16(given):
        return np.dtype(np.float32)
    if op in ("count", "any", "all", *ARGS, *PICKS):
        return given
    if op == "mean" and given.kind in "biu" and result.kind == "f":
        return np.dtype(np.uint64 if given.kind == "u" else np.int64)
    if op in ("var", "std") and given.kind == "c":
        return np.result_type(result, np.complex64)
    half = result == np.float16 or is_bfloat16(result)
    return np.dtype(np.float32) if half else result


def accumulator_for(op, given, dtype):
    """Return the same where the caller names `dtype`, or None."""
    result = result_dtype(op, given, dtype)
    accumulator = accumulator_of(op, given, result)
    if op == "logsumexp" and dtype is None:
        accumulator = np.result_type(accumulator, np.float64)
    return accumulator


def identity(op, dtype):
    """Return what an empty segment holds, as a scalar."""
    if dtype.kind in "mM" and op not in ("add", "count", *ARGS):
        return np.array("NaT", dtype)[()]
    if op in MOMENTS or (op in PICKS and dtype.kind not in "biu"):
        return np.array(np.nan).astype(dtype)[()]
    plain = {"mul": 1, "and": -1, "argmin": -1, "argmax": -1, "all": 1}
    if op in ORDER:
        return extreme(dtype, largest=op in ("min", "fmin"))
    if op == "logsumexp":
        return np.array(-np.inf).astype(dtype)[()]
    return np.array(plain.get(op, 0)).astype(dtype)[()]


def extreme(dtype, largest):
    """Return the largest or smallest value that `dtype` has."""
    if dtype.kind == "b":
        return np.bool_(largest)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return dtype.type(info.max if largest else info.min)
    return np.array(np.inf if largest else -np.inf).astype(dtype)[()]


def join(combine, x, y):
    """Combine two of which either may be missing."""
    if x is None or y is None:
        return x if y is None else y
    return combine(x, y)


def chain(terms, combine, start):
    """Combine from first to last."""
    for term in terms:
        start = join(combine, start, term)
    return start


def tree(terms, combine, start):
    """Combine in blocks of 4,096, each in 16 lanes that are then halved four times."""
    for first in range(0, len(terms), BLOCK):
        lanes = [None] * LANES
        for i, term in enumerate(terms[first : first + BLOCK]):
            lanes[i % LANES] = join(combine, lanes[i % LANES], term)
        for half in (8, 4, 2, 1):
            for i in range(half):
                lanes[i] = join(combine, lanes[i], lanes[i + half])
        start = join(combine, start, lanes[0])
    return start


def total(fold, op, terms, dtype):
    """Sum or multiply the terms in the order that decisions 3.7 fixes."""
    combine = combiner(op, dtype)
    start = fold.start
    if fold.compensated and kind_of(dtype) in ("float", "complex"):
        zero = dtype.type(0) if start is None else start
        return neumaier(zero, [term for term in terms if term is not None], 1)
    if fold.laned:
        return tree(terms, combine, start)
    if start is None and not fold.ranged:
        start = identity(op, dtype)  # sums by ids are scatters into zeros
    return chain(terms, combine, start)


def first_best(entries, op, start):
    """Return (entry number, value) of the winner; -1 for one that initial= is."""
    skips = op in ("fmin", "fmax")
    below = op in ("min", "fmin", "argmin")
    best = None if start is None else (-1, start)
    for number, value in entries:
        if best is None or beats(value, best[1], below, skips):
            best = number, value
    return best


def beats(value, best, below, skips):
    """Does a later value win? A NaN beats numbers, or loses to them if skipped."""
    if is_missing(value) or is_missing(best):
        return is_missing(best if skips else value) and not (
            is_missing(value) and is_missing(best)
        )
    return precedes(value, best) if below else precedes(best, value)


def spread_of(values, ddof, result):
    """Return the variance of some scalars: two passes, the second about the mean."""
    n, dtype = len(values), values[0].dtype
    if n <= ddof:
        return np.array(np.nan).astype(result)[()]
    centre = divide_by_count(sum(values[1:], values[0]), n, dtype)
    squares = [abs(value - centre) ** 2 for value in values]
    return sum(squares[1:], squares[0]) / type(squares[0])(n - ddof)


def log_sum(values, start):
    """Return log(sum(exp)), shifted by the largest; `start` is a first one or None."""
    values = values if start is None else [start, *values]
    top = chain(values, greatest, None)
    if not np.isfinite(top):
        return top
    return top + np.log(sum(np.exp(value - top) for value in values))


EXTREMES = {
    "min": least,
    "max": greatest,
    "fmin": least_number,
    "fmax": greatest_number,
}
TRUTHS = {"any": any, "all": all}


def fold_segment(fold, entries, weights):
    """Return what a segment holds that is not empty; a list of quantiles has many.

    `weights` are those of the entries, or None.
    """
    op, dtype = fold.op, next(v for _, v in entries if v is not None).dtype
    kept = [(number, value) for number, value in entries if value is not None]
    values = [value for _, value in kept]
    if op in (*SUMS, "mean"):
        return sum_or_mean(fold, entries, weights, dtype)
    if op in BITS:
        return chain(values, combiner(op, dtype), fold.start)
    if op in ORDER:
        return chain(values, EXTREMES[op], fold.start)
    if op in ARGS:
        return first_best(kept, op, fold.start)[0]
    if op in PICKS:
        return values[0 if op == "first" else -1]
    if op in TRUTHS:
        return TRUTHS[op](bool(value) for value in values)
    if op == "count":
        return len(values)
    if op in ("var", "std"):
        variance = spread_of(values, fold.ddof, fold.result)
        return np.sqrt(variance) if op == "std" else variance
    if op == "logsumexp":
        return log_sum(values, fold.start)
    return median(values) if op == "median" else quantiles(values, fold.q)


def in_order(values):
    """Return scalars from low to high, -0.0 before 0.0."""
    return sorted(values, key=lambda v: (v, v.dtype.kind == "f" and not np.signbit(v)))


def median(values):
    """Return numpy.median's, but without overflow; of dates the quantile 0.5."""
    dtype = values[0].dtype
    if dtype.kind == "M":
        return quantile(values, 0.5)
    if any(is_missing(value) for value in values):
        return np.array("NaT" if dtype.kind == "m" else np.nan).astype(dtype)[()]
    values = in_order(values)
    low, high = values[(len(values) - 1) // 2], values[len(values) // 2]
    if dtype.kind == "m":
        ticks = int(low.astype(np.int64)) + int(high.astype(np.int64))
        return np.array(abs(ticks) // 2 * (-1 if ticks < 0 else 1), dtype)[()]
    if np.isfinite(low) and np.isfinite(high) and np.isinf(low + high):
        return low / 2 + high / 2
    return np.median(np.array(values))


def quantiles(values, q):
    """Return one for each of `q`."""
    levels = [quantile(values, level) for level in np.reshape(q, -1).tolist()]
    return levels[0] if np.ndim(q) == 0 else np.array(levels, values[0].dtype)


def quantile(values, q):
    """Return numpy.quantile's, but without overflow, and NaN between equals."""
    dtype = values[0].dtype
    if any(is_missing(value) for value in values):
        return np.array("NaT" if dtype.kind in "mM" else np.nan).astype(dtype)[()]
    values = in_order(values)
    place = (len(values) - 1) * q
    low, t = values[int(place)], place - int(place)
    high = values[min(int(place) + 1, len(values) - 1)]
    if t == 0 or low == high:
        return low
    if dtype.kind in "mM":
        return between_times(low, high, t)
    scale = dtype.type(1)
    if np.isfinite(low) and np.isfinite(high) and np.isinf(high - low):
        scale = dtype.type(2)
    low, high = low / scale, high / scale
    if t < 0.5:
        return (low + (high - low) * dtype.type(t)) * scale
    return (high - (high - low) * dtype.type(1 - t)) * scale


def between_times(low, high, t):
    """Return a time between two others, as NumPy multiplies timedeltas."""
    a, b = int(low.astype(np.int64)), int(high.astype(np.int64))
    ticks = a + int(float(b - a) * t) if t < 0.5 else b - int(float(b - a) * (1 - t))
    return np.array(ticks, np.int64).astype(low.dtype)[()]


def sum_or_mean(fold, entries, weights, dtype):
    """Sum, product or mean, weighted or not; w x is rounded before it is added."""
    op = "mul" if fold.op == "mul" else "add"
    terms = [value for _, value in entries]
    count = sum(term is not None for term in terms)
    if weights is None:
        whole = total(fold, op, terms, dtype)
        mean = fold.op == "mean"
        return divide_by_count(whole, count, fold.result) if mean else whole
    times = combiner("mul", dtype)
    pairs = list(zip(weights, terms, strict=True))
    whole = total(fold, op, [v if v is None else times(w, v) for w, v in pairs], dtype)
    if fold.op == "add":
        return whole
    return whole / total(fold, op, [v if v is None else w for w, v in pairs], dtype)


def winner_of(fold, entries):
    """Return the entry number of the element that min, first and kin return."""
    kept = [(number, value) for number, value in entries if value is not None]
    if fold.op in PICKS:
        return kept[0 if fold.op == "first" else -1][0]
    return first_best(kept, fold.op, fold.start)[0]
