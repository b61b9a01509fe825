"""Median and quantile of segments: what needs all entries in order."""

import math

import numpy as np

from pyscatter._segment_folds import is_missing
from pyscatter._segments import stable_order


def missing_of(dtype):
    """Return NaT or NaN."""
    if dtype.kind in "mM":
        return np.array("NaT", dtype)
    return np.array(np.nan).astype(dtype)


def order_statistic(seg, request):
    """Quantiles of all entries, sorted within their segments."""
    packed = seg.packed()
    dtype = request.accumulator
    width = packed.values[:1].size if packed.n else 1
    groups = (packed.ids[:, None] * width + np.arange(width)).reshape(-1)
    values = packed.values.astype(dtype).reshape(-1)
    counts = np.bincount(groups, minlength=seg.size * math.prod(seg.rest))
    starts = np.cumsum(counts) - counts
    values = _sorted_within(values, groups, starts, counts)
    fractions = 0.5 if request.op == "median" else request.q
    levels = [
        seg.shaped(_quantile(values, starts, counts, q))
        for q in np.reshape(fractions, -1)
    ]
    if np.ndim(fractions) == 0:
        return levels[0], None
    shape = (len(levels), seg.size, *seg.rest)
    return np.array(levels, dtype).reshape(shape), None


def _sorted_within(values, groups, starts, counts):
    """Return the values group after group, each group in order.

    Large groups are sorted one by one; many small ones are sorted as a whole before
    they are brought together.
    """
    keys = _sort_keys(values)
    is_one_by_one = len(keys) > 16 * len(counts)
    if not is_one_by_one:
        order = np.argsort(keys)
        keys, groups = keys[order], groups[order]
    keys = keys[stable_order(groups, len(counts))]
    if is_one_by_one:
        for start, count in zip(starts.tolist(), counts.tolist(), strict=True):
            keys[start : start + count].sort()
    return keys if keys.dtype == values.dtype else _flipped(keys).view(values.dtype)


def _sort_keys(values):
    """Return integers in the order of the values, in which only same bits are equal.

    So it does not show that a fast sort is not stable. NaN comes last, -0.0 before 0.0.
    """
    if values.dtype.char not in "fd":
        return values
    bits = np.where(np.isnan(values), np.nan, values).astype(values.dtype)
    return _flipped(bits.view(f"i{bits.itemsize}"))


def _flipped(bits):
    """Turn the bits of floats into integers of the same order, and back."""
    is_negative = bits >> (8 * bits.itemsize - 1)
    return bits ^ (is_negative & np.iinfo(bits.dtype).max)


def _quantile(values, starts, counts, q):
    """Interpolate as np.quantile does; NaN sorts last, so the last one tells of any."""
    result = np.full(counts.shape, missing_of(values.dtype))
    some = counts > 0
    if not some.any():
        return result
    first, last = starts[some], counts[some] - 1
    place = last * q
    floor = np.floor(place).astype(np.int64)
    low = values[first + floor]
    high = values[first + np.minimum(floor + 1, last)]
    between = _interpolate(low, high, place - floor)
    top = values[first + last]
    result[some] = np.where(is_missing(top), top, between)
    return result


def _interpolate(low, high, t):
    """Walk from the nearer end, so that both ends are met; equals need no walk."""
    apart = high - low
    if low.dtype.kind in "mM":
        forth, back = low + apart * t, high - apart * (1 - t)
    else:
        kind = low.dtype
        forth = low + apart * t.astype(kind)
        back = high - apart * (1 - t).astype(kind)
    result = np.where(t >= 0.5, back, forth)
    return np.where((t == 0) | (low == high), low, result)
