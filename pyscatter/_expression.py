"""NumPy index expressions as what the core understands: a view and index arrays.

`resolve` takes slices, ``None`` and ``Ellipsis`` by a view of the array and leaves the
index arrays, whole numbers included, so that modes hold for them too. They name rows of
neighbouring axes of that view. Plain integer arrays never come here; the binding
handles them.
"""

import operator

import numpy as np

from pyscatter._refusals import index_trouble


class _OwnAxis:
    """An index array over a new axis of length 1: what a 0-d mask means."""

    def __init__(self, mask):
        self.array = np.zeros(int(mask), np.intp)


def resolve(array, indices):
    """Return (view, tuple of integer arrays, first indexed axis of the view)."""
    items = _expand_masks(array, _as_items(indices))
    together = _stand_together(items)
    items = _expand_ellipsis(array, items)
    if all(map(_is_basic, items)):
        return array[(*items, ...)], (), 0
    return _resolve_advanced(array, items, together)


def _as_items(indices):
    """The expression as a list whose array-likes are arrays of integers or bools."""
    items = list(indices) if isinstance(indices, tuple) else [indices]
    return [_as_item(item) for item in items]


def _as_item(item):
    if item is None or item is Ellipsis or isinstance(item, slice):
        return item
    if not isinstance(item, (np.ndarray, np.generic, list, tuple, bool)):
        try:
            item = operator.index(item)
        except TypeError:
            pass
    if isinstance(item, np.ma.MaskedArray):
        raise TypeError("an index is a masked array, whose mask would be lost")
    array = np.asarray(item)
    if array.size == 0 and not isinstance(item, np.ndarray):
        array = array.astype(np.intp)
    if array.dtype.kind not in "biu":
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`), None and integer or "
            f"boolean arrays are valid indices; one {index_trouble(item, array, '')}"
        )
    return item if type(item) is int else array


def _axes_of(item):
    """How many axes of the array an item uses up."""
    if item is None or item is Ellipsis or isinstance(item, _OwnAxis):
        return 0
    return item.ndim if _is_mask(item) else 1


def _is_mask(item):
    return isinstance(item, np.ndarray) and item.dtype == bool


def _expand_masks(array, items):
    """Replace each mask by the arrays of its positions."""
    result = []
    used = sum(map(_axes_of, items))
    axis = 0
    for item in items:
        if item is Ellipsis:
            axis += array.ndim - used
        if not _is_mask(item):
            result.append(item)
            axis += _axes_of(item)
            continue
        _check_mask(array, item, axis)
        result.extend(_positions(item))
        axis += item.ndim
    return result


def _check_mask(array, mask, axis):
    for i, length in enumerate(mask.shape):
        if axis + i >= array.ndim:
            raise IndexError(
                f"too many indices for array: array is {array.ndim}-dimensional"
            )
        if length != array.shape[axis + i]:
            raise IndexError(
                "boolean index did not match indexed array along axis "
                f"{axis + i}; size of axis is {array.shape[axis + i]} but size of "
                f"corresponding boolean axis is {length}"
            )


def _positions(mask):
    return list(np.nonzero(mask)) if mask.ndim else [_OwnAxis(mask)]


def _expand_ellipsis(array, items):
    used = sum(map(_axes_of, items))
    n_ellipses = sum(item is Ellipsis for item in items)
    if n_ellipses > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if used > array.ndim:
        raise IndexError(
            f"too many indices for array: array is {array.ndim}-dimensional, but "
            f"{used} were indexed"
        )
    rest = [slice(None)] * (array.ndim - used)
    if n_ellipses == 0:
        return [*items, *rest]
    at = next(i for i, item in enumerate(items) if item is Ellipsis)
    return [*items[:at], *rest, *items[at + 1 :]]


def _is_basic(item):
    return item is None or item is Ellipsis or isinstance(item, slice)


def _stand_together(items):
    """Is nothing, not even an empty Ellipsis, between numbers and arrays?"""
    places = [i for i, item in enumerate(items) if not _is_basic(item)]
    return not places or places[-1] - places[0] == len(places) - 1


def _resolve_advanced(array, items, together):
    """Numbers are index arrays without axes; slices and None become a view.

    Index arrays that stand together replace their axes in place; others put the
    result's index axes first, as in NumPy.
    """
    basic, arrays, axes = [], [], []
    for item in items:
        if _is_basic(item):
            basic.append(item)
            continue
        axes.append(len(basic))
        is_own = isinstance(item, _OwnAxis)
        arrays.append(item.array if is_own else np.asarray(item))
        basic.append(None if is_own else slice(None))
    view = array[tuple(basic)]
    if together:
        return view, tuple(arrays), axes[0]
    others = [axis for axis in range(view.ndim) if axis not in axes]
    return view.transpose(axes + others), tuple(arrays), 0
