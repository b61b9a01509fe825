"""The slow twin of the nonzero family: one element after the other is asked.

Same names, signatures and exceptions as pyscatter's public functions. What is true is
what NumPy calls so: numbers other than zero (NaN is, -0.0 is not), times other than the
epoch (NaT is), and of the rest whatever NumPy's own test of one element says.
"""

import operator

import numpy as np

from .addressing import check_axis, element_number, refuse_masked
from .values import kind_of, plain, refuse_dtype


def as_source(a, name="a"):
    """Return `a` as an ndarray; masked arrays and StringDType are refused."""
    refuse_masked(a)
    array = np.asarray(a)
    refuse_dtype(array.dtype)
    return array


def truth(array):
    """Return for each element, in C order, whether it is true."""
    flat = plain(array)
    kind = kind_of(array.dtype)
    if kind == "other":
        return [bool(np.count_nonzero(flat[i : i + 1])) for i in range(flat.size)]
    if kind in ("datetime", "timedelta"):
        flat = flat.view(np.int64)
    return [bool(element != 0) for element in flat.tolist()]


def positions(array):
    """Return the positions of all true elements, in C order, as tuples."""
    places = np.ndindex(array.shape)
    return [here for here, is_true in zip(places, truth(array), strict=True) if is_true]


def fit(found, size, filler):
    """Cut a list after `size` entries, or make it so long; None leaves it as it is."""
    if size is None:
        return found
    size = operator.index(size)
    if size < 0:
        raise ValueError(f"size must not be negative, got {size}")
    return found[:size] + [filler] * (size - len(found))


def coordinates(array, size, fill_value):
    """Return the positions as an array of shape (count, ndim)."""
    fill = operator.index(fill_value)
    found = fit(positions(array), size, (fill,) * array.ndim)
    return np.array(found, np.intp).reshape(len(found), array.ndim)


def nonzero(a, *, size=None, fill_value=0):
    """Return the positions of the true elements, one array per axis."""
    array = as_source(a)
    if array.ndim == 0:
        raise ValueError("Calling nonzero on 0d arrays is not allowed")
    columns = coordinates(array, size, fill_value).T
    return tuple(np.array(column) for column in columns)


def flatnonzero(a, *, size=None, fill_value=0):
    """Return the numbers, in C order, of the true elements."""
    array = as_source(a)
    fill = operator.index(fill_value)
    numbers = [element_number(here, array.shape) for here in positions(array)]
    return np.array(fit(numbers, size, fill), np.intp)


def argwhere(a, *, size=None, fill_value=0):
    """Return the positions of the true elements, one row each."""
    return coordinates(as_source(a), size, fill_value)


def counted_axes(axis, ndim):
    """Return the axes to count along, from the front; ValueError if one is repeated."""
    if axis is None:
        return tuple(range(ndim))
    given = axis if isinstance(axis, tuple) else (axis,)
    axes = tuple(check_axis(one, ndim) for one in given)
    if len(set(axes)) < len(axes):
        raise ValueError(f"axis {axis} names an axis twice")
    return axes


def count_nonzero(a, axis=None, *, keepdims=False):
    """Return how many elements are true, along some axes or in all."""
    array = as_source(a)
    axes = counted_axes(axis, array.ndim)
    shape = tuple(1 if k in axes else size for k, size in enumerate(array.shape))
    counts = np.zeros(shape, np.intp)
    for here in positions(array):
        counts[tuple(0 if k in axes else i for k, i in enumerate(here))] += 1
    return counts if keepdims else counts.squeeze(axes)
