"""The slow twin of the bins family: one element after the other, compared with edges.

An element is in the last bin whose left edge it reaches; the last bin has its right
edge too. Numbers are compared as Python compares them, exactly; what kernels compare as
float64 is made that first.
"""

import math

import numpy as np

from .segment import segment_reduce


def as_numbers(x):
    """Return (elements in C order as Python numbers, shape), floats as float64."""
    array = np.asarray(x)
    exact = array if array.dtype.kind in "iu" else array.astype(np.float64)
    return exact.ravel().tolist(), array.shape


def even_edges(n, low, high):
    """Return what np.linspace has, for an empty range half to either side."""
    if low == high:
        low, high = low - 0.5, high + 0.5
    with np.errstate(all="ignore"):
        return np.linspace(low, high, n + 1)


def edges_of(numbers, bins, limits):
    """Return the edges: given ones, or so many in a range that is given or found."""
    if np.ndim(bins):
        return np.asarray(bins)
    if limits is None:
        finite = [float(v) for v in numbers if math.isfinite(v)]
        limits = (min(finite), max(finite)) if finite else (0.0, 1.0)
    return even_edges(int(bins), *map(float, limits))


def place_of(value, edges):
    """Return 0 below all edges, 1 .. n in a bin, n + 1 above, n + 2 for NaN."""
    n = len(edges) - 1
    if value != value:
        return n + 2
    if value == edges[-1]:
        return max(k for k in range(n + 1) if k == 0 or edges[k - 1] <= value)
    return sum(edge <= value for edge in edges)


def bin_of(place, n, outside):
    """Return the number that a place has under a rule for what is outside."""
    if outside == "extend":
        return min(place, n + 1)
    if outside == "clip" and place < n + 2:
        return min(max(place - 1, 0), n - 1)
    return place - 1 if 1 <= place <= n else -1


def bin_index(x, bins=10, range=None, *, outside="drop"):  # noqa: A002
    """Return (ids, edges)."""
    numbers, shape = as_numbers(x)
    edges = edges_of(numbers, bins, range)
    are_whole = edges.dtype.kind in "iu" and np.asarray(x).dtype.kind in "iu"
    limits = edges.tolist() if are_whole else edges.astype(np.float64).tolist()
    values = numbers if are_whole else [float(v) for v in numbers]
    ids = [bin_of(place_of(v, limits), len(edges) - 1, outside) for v in values]
    return np.array(ids, np.intp).reshape(shape), edges


def binned_reduce(
    coords,
    values=None,
    bins=10,
    range=None,  # noqa: A002
    *,
    op="count",
    outside="drop",
    **options,
):
    """Return (result, edges, ids) of a tuple of coordinates, with bins for each."""
    coords = [np.asarray(c) for c in coords]
    parts = zip(coords, bins, range, strict=True)
    each = [bin_index(c, b, r, outside=outside) for c, b, r in parts]
    sizes = [len(e) - 1 + 2 * (outside == "extend") for _, e in each]
    ids = np.zeros(coords[0].shape, np.intp)
    for (own, _), size in zip(each, sizes, strict=True):
        ids = np.where((ids < 0) | (own < 0), -1, ids * size + own)
    n_axes = coords[0].ndim
    rows = None
    if values is not None:
        rows = np.asarray(values)
        rows = rows.reshape(ids.size, *rows.shape[n_axes:])
    flat = segment_reduce(
        rows, ids.ravel(), int(np.prod(sizes)), op=op, mode="drop", **options
    )
    edges = [e for _, e in each]
    return flat.reshape(*sizes, *flat.shape[1:]), edges, ids
