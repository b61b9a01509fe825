"""Cases of masks and conditions that need words or NumPy's own copies.

The binding calls these for what is rare: objects, casts that warn, rows under a mask of
few axes, values in the order of the trues. Only selected elements are ever read.
"""

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from pyscatter import _core
from pyscatter._values import WEAK_TYPES, arriving, is_bfloat16


def promoted(x, y):
    """Return the native dtype of a choice between x and y; Python numbers are weak."""
    both = [v if type(v) in WEAK_TYPES else v.dtype for v in (x, y)]
    half = [d for d in both if isinstance(d, np.dtype) and is_bfloat16(d)]
    if half and float in (type(x), type(y)):
        return half[0]  # NumPy does not know that Python floats are weak here
    return np.result_type(*both).newbyteorder("=")


def _as_branch(number, dtype, casting):
    """A Python number, where the result is no number type, as np.copyto can take it."""
    array = np.asarray(number)
    _core.require_cast("a Python number", array.dtype, dtype, casting)
    return array


def spread(array, shape):
    """Return the array, or a view of it, in a shape that it broadcasts to."""
    return array if array.shape == shape else np.broadcast_to(array, shape)


def where_by_numpy(condition, x, y, shape, dtype, casting):
    """Choose by two masked copies, which cast what is selected and nothing else.

    A single element is cast by np.copyto whether it is selected or not.
    """
    condition = np.asarray(condition)
    x, y = (v if type(v) in WEAK_TYPES else np.asarray(v) for v in (x, y))
    is_plain = dtype.names is None or dtype == np.result_type(dtype, dtype)
    if is_plain and all(getattr(side, "dtype", None) == dtype for side in (x, y)):
        return np.array(np.where(condition, x, y), order="C", copy=None)
    mask = spread(_core.where(condition, True, False), shape)
    result = np.zeros(shape, dtype)
    for branch, selected in ((x, mask), (y, ~mask)):
        if type(branch) in WEAK_TYPES:
            branch = _as_branch(branch, dtype, casting)
        if branch.size > 1 or selected.any():
            np.copyto(result, branch, where=selected, casting="unsafe")
    return result


def _places(mask, array):
    """Return the places of the trues in the axes of `array` that the mask covers."""
    return _core.nonzero(spread(mask, array.shape[: mask.ndim]))


def packed_places(a, mask, values):
    """Return an index of the trues, of which `values` holds one each, or a scalar."""
    mask = np.asarray(mask)
    if mask.ndim == 0:
        places, count = mask, int(_core.count_nonzero(mask))
    else:
        places = _places(mask, a)
        count = len(places[0])
    shape = (count, *a.shape[mask.ndim :])
    own_shape = np.asarray(values).shape
    if own_shape and own_shape != shape:
        raise ValueError(
            f"values has shape {own_shape}; the mask selects {count}, so "
            f"packed=True expects {shape} or a scalar"
        )
    return places


def scatter_cast(a, mask, values, target, dtype, op, casting, out):
    """Scatter values whose cast can warn: the selected ones alone are cast.

    Their cast to `target` is what the rule allows; they are cast to `dtype`, in which
    the op is computed.
    """
    rows = values = arriving(values, target.newbyteorder("="), casting)
    while rows.ndim > a.ndim and rows.shape[0] == 1:
        rows = rows[0]
    try:
        rows = np.broadcast_to(rows, a.shape)
    except ValueError:
        raise ValueError(
            f"values has shape {values.shape}; expected to broadcast to {a.shape} = "
            "a.shape (one value for each true: packed=True)"
        ) from None
    selected = gather_masked(rows, mask, None, None).astype(dtype.newbyteorder("="))
    return _core.scatter_where(
        a, mask, selected, op=op, packed=True, casting=casting, out=out
    )


def gather_masked(a, mask, axis, out):
    """Gather rows under a prefix, along an axis, objects, and items of odd sizes."""
    a, mask = np.asarray(a), np.asarray(mask)
    if axis is None:
        if mask.ndim == 0:
            return _core.gather(a[np.newaxis], _core.flatnonzero(mask), out=out)
        return _core.gather_at(a, _places(mask, a), out=out)
    length = a.shape[normalize_axis_index(axis, a.ndim)]
    if mask.shape != (length,):
        raise ValueError(
            f"'mask' has shape {mask.shape}; expected ({length},), the length of axis "
            f"{axis} of 'a'"
        )
    return _core.gather(a, _core.flatnonzero(mask), axis=axis, out=out)
