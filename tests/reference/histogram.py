"""The slow twin of histogram: counts by comparison, exact sums of what is finite."""

import math

import numpy as np

from .bins import bin_index, edges_of


def tb1_edges():
    """Return TensorFlow's limits, as its loop makes them."""
    limit, positive = 1e-12, []
    while limit < 1e20:
        positive.append(limit)
        limit *= 1.1
    largest = float(np.finfo(np.float64).max)
    negative = [-v for v in positive]
    return [-largest, *negative[::-1], 0.0, *positive, largest]


def log2_edges(values):
    """Return the limits of quarters of powers of two around all values."""
    largest = float(np.finfo(np.float64).max)
    limits = {0.0, largest}
    for exponent in range(-1022, 1024):
        limits |= {math.ldexp(4 + k, exponent - 2) for k in range(4)}
    limits |= {math.ldexp(k, -1024) for k in range(4)}
    limits = sorted(limits | {-v for v in limits})
    low = max(i for i, v in enumerate(limits) if v <= min(values))
    high = min(i for i, v in enumerate(limits) if v > max(values) or v == largest)
    return limits[low : high + 1]


def histogram(x, bins=10, range=None, weights=None):  # noqa: A002
    """Return (counts, edges, fields) with the names of Histogram's fields."""
    values = np.asarray(x).astype(np.float64).ravel()
    finite = values[np.isfinite(values)]
    named = {
        "tb1": tb1_edges,
        "log2": lambda: log2_edges(finite.tolist() or [0.0]),
        "tb2": lambda: edges_of(values.tolist(), 30, range),
    }
    edges = (
        named[bins]()
        if isinstance(bins, str)
        else edges_of(values.tolist(), bins, range)
    )
    edges = np.asarray(edges, np.float64)
    ids, _ = bin_index(values, edges)
    counts = [0] * (len(edges) - 1)
    amounts = np.ones(len(ids), int) if weights is None else np.asarray(weights).ravel()
    for number, amount in zip(ids.tolist(), amounts.tolist(), strict=True):
        if number >= 0:
            counts[number] += amount
    fields = {
        "n_nan": int(np.isnan(values).sum()),
        "n_posinf": int((values == np.inf).sum()),
        "n_neginf": int((values == -np.inf).sum()),
        "n_below": int((finite < edges[0]).sum()),
        "n_above": int((finite > edges[-1]).sum()),
        "num": len(finite),
        "min": min(finite.tolist(), default=math.nan),
        "max": max(finite.tolist(), default=math.nan),
        "sum": math.fsum(finite.tolist()),
        "sum_squares": math.fsum(v * v for v in finite.tolist()),
    }
    return counts, edges, fields
