"""numpy-groupies' functions that need a group's values together or in their order.

Groups are packed by one stable sort of the ids; running forms are segment_scan.
"""

import operator
from typing import NamedTuple

import numpy as np

from pyscatter.compat._groupies_folds import counts_of
from pyscatter.scatter import scatter
from pyscatter.segment_entries import segment_scan

METHODS = ("linear", "lower", "higher", "midpoint", "nearest")


class Packed(NamedTuple):
    """Values group by group: that of group g are values[starts[g] : stops[g]]."""

    values: np.ndarray
    starts: np.ndarray
    stops: np.ndarray


def pack(ids, a, size):
    """Pack the values by group, within a group as they came."""
    stops = np.cumsum(counts_of(ids, size))
    return Packed(a[by_group(ids)], np.concatenate([[0], stops[:-1]]), stops)


def by_group(ids):
    """Return a stable order of the ids; 16 bits are sorted by radix, in linear time."""
    narrow = ids.size and int(ids.max()) < 2**16
    return np.argsort(ids.astype(np.uint16) if narrow else ids, kind="stable")


def pack_sorted(ids, a, size):
    """Pack the values by group, within a group in order, NaN last.

    Large groups are sorted one by one; small ones are sorted first all together.
    """
    if a.size > 16 * size:
        packed = pack(ids, a, size)
        for start, stop in zip(packed.starts, packed.stops, strict=True):
            packed.values[start:stop].sort()
        return packed
    order = np.argsort(a)
    return pack(ids[order], a[order], size)


def order_median(ids, a, size, fill, dtype):
    """The middle value, or the mean of the two in the middle."""
    return order_quantile(ids, a, size, fill, dtype)


def order_percentile(ids, a, size, fill, dtype, q=50.0, method="linear"):
    """Quantiles in percent."""
    if not 0.0 <= q <= 100.0:
        raise ValueError("Percentiles must be in the range [0, 100]")
    return order_quantile(ids, a, size, fill, dtype, q / 100.0, method)


def order_quantile(ids, a, size, fill, dtype, q=0.5, method="linear"):
    """Quantiles by any of five ways to choose between two neighbours."""
    if method not in METHODS:
        raise ValueError(
            f"unknown interpolation method '{method}' - use one of {sorted(METHODS)}"
        )
    if not 0.0 <= q <= 1.0:
        raise ValueError("Quantiles must be in the range [0, 1]")
    packed = pack_sorted(ids, a, size)
    ret = np.full(size, fill, dtype)
    taken = packed.starts < packed.stops
    starts, stops = packed.starts[taken], packed.stops[taken]
    values = packed.values.astype(np.result_type(a, np.float64), copy=False)
    with np.errstate(all="ignore"):
        chosen = interpolate(values, starts, (stops - starts - 1) * q, method)
    if a.dtype.kind in "fc":
        poisoned = np.isnan(values[stops - 1])  # NaN is sorted to the end
        chosen[poisoned] = np.nan if a.dtype.kind == "f" else complex(np.nan, np.nan)
    ret[taken] = chosen
    return ret


def interpolate(values, starts, place, method):
    """Return the values at fractional places behind starts."""
    low = values[starts + np.floor(place).astype(np.intp)]
    high = values[starts + np.ceil(place).astype(np.intp)]
    if method == "lower":
        return low
    if method == "higher":
        return high
    if method == "midpoint":
        return (low + high) / 2
    if method == "nearest":
        return values[starts + np.round(place).astype(np.intp)]
    return low + (high - low) * (place - np.floor(place))


def order_nunique(ids, a, size, fill, dtype):
    """Numbers of distinct values; all NaN together are one."""
    nan = np.isnan(a) if a.dtype.kind in "fc" else np.zeros(a.size, bool)
    kept = a[~nan]
    packed = pack_sorted(ids[~nan], kept, size)
    new = np.ones(kept.size + 1, bool)
    new[1:-1] = packed.values[1:] != packed.values[:-1]
    new[packed.starts] = True
    seen = np.concatenate([[0], np.cumsum(new[:-1])])
    ret = seen[packed.stops] - seen[packed.starts]
    ret += counts_of(ids[nan], size) > 0
    ret[counts_of(ids, size) == 0] = fill
    return ret.astype(dtype, copy=False)


def order_sort(ids, a, size, fill, dtype, reverse=False):
    """The values of each group sorted into the places that the group has."""
    turned = operator.invert if a.dtype.kind in "iub" else operator.neg
    key = turned(a) if reverse else a
    ordered = pack_sorted(ids, key, size).values
    return scatter(a, by_group(ids), turned(ordered) if reverse else ordered)


def blocks_of(ids, a, size):
    """Return the values of each group, in the order in which they came."""
    packed = pack(ids, a, size)
    return np.split(packed.values, packed.stops[:-1])


def order_array(ids, a, size, fill, dtype):
    """The values of each group as arrays in an array of objects."""
    is_empty = isinstance(fill, (list, tuple, np.ndarray)) and len(fill) == 0
    if not (fill is None or np.isscalar(fill) or is_empty):
        raise ValueError("fill_value must be None, a scalar or an empty sequence")
    ret = np.empty(size, object)
    for group, block in enumerate(blocks_of(ids, a, size)):
        ret[group] = block if block.size or is_empty else fill
    return ret


def call_groups(function, ids, a, size, fill, dtype):
    """Call a function of the caller's own on the values of each group."""
    ret = np.full(size, fill, dtype or np.float64)
    for group, block in enumerate(blocks_of(ids, a, size)):
        if block.size:
            ret[group] = function(block)
    return ret


def running(op, neutral=None):
    """Make a running form; `neutral` stands in for NaN in its nan-version."""

    def scan(ids, a, size, fill, dtype, skip=False):
        if skip and neutral is not None and a.dtype.kind in "fc":
            a = np.where(np.isnan(a), a.dtype.type(neutral), a)
        chosen = "f" + op if skip and neutral is None else op
        return segment_scan(a, ids, op=chosen, dtype=dtype).astype(dtype, copy=False)

    return scan


ORDERED = {
    "median": order_median,
    "quantile": order_quantile,
    "percentile": order_percentile,
    "nunique": order_nunique,
    "sort": order_sort,
    "array": order_array,
    "cumsum": running("add", 0),
    "cumprod": running("mul", 1),
    "cummax": running("max"),
    "cummin": running("min"),
}
