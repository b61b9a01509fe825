"""NumPy's functions of masks and conditions, answered by pyscatter.

Their own rules are put around it: short values are repeated, short conditions are
filled up, numbers stand for bools. Masked arrays and StringDType stay NumPy's.
"""

import numpy as np

import pyscatter as ps
from tests.peers.numpy_calls import moved, reached


def _all_moved(*things):
    return all(moved(np.asanyarray(thing)) for thing in things)


def _where(condition, *args):
    if len(args) != 2 or not _all_moved(condition, *args):
        return np.where(condition, *args)
    reached("where")
    return ps.where(condition, *args)


def _nonzero(a):
    if not _all_moved(a):
        return np.nonzero(a)
    reached("nonzero")
    return ps.nonzero(a)


def _flatnonzero(a):
    if not _all_moved(a):
        return np.flatnonzero(a)
    reached("flatnonzero")
    return ps.flatnonzero(a)


def _argwhere(a):
    if not _all_moved(a):
        return np.argwhere(a)
    reached("argwhere")
    return ps.argwhere(a)


def _count_nonzero(a, axis=None, *, keepdims=False):
    if not _all_moved(a):
        return np.count_nonzero(a, axis, keepdims=keepdims)
    reached("count_nonzero")
    return np.asarray(ps.count_nonzero(a, axis, keepdims=keepdims))[()]


def _compress(condition, a, axis=None, out=None):
    """Fill up the condition; what NumPy refuses, and unusual targets, stay NumPy's."""
    array, mask = np.asanyarray(a), np.asarray(condition).astype(bool)
    length = array.size if axis is None else array.shape[axis]
    if not moved(array) or mask.ndim != 1 or mask[length:].any() or out is not None:
        return np.compress(condition, a, axis, out)
    reached("compress")
    mask = np.r_[mask[:length], np.zeros(length - mask[:length].size, bool)]
    if axis is None:
        return ps.gather_where(array.reshape(-1), mask)
    return ps.gather_where(array, mask, axis)


def _extract(condition, arr):
    condition, array = np.asarray(condition).ravel(), np.asanyarray(arr).ravel()
    if not moved(array) or condition.size != array.size:
        return np.extract(condition, arr)
    reached("extract")
    return ps.gather_where(array, condition.astype(bool))


def _putmask(a, /, mask, values):
    """Values are repeated by flat position; a mask counts by its size alone."""
    usual = not isinstance(a, np.ndarray) or np.size(mask) != a.size
    if usual or not moved(a):
        return np.putmask(a, mask, values)
    reached("putmask")
    mask = np.asarray(mask, bool).reshape(a.shape)
    values = np.asarray(values).astype(a.dtype)
    if values.size == 0:
        values, mask = np.zeros((), a.dtype), np.zeros(a.shape, bool)
    values = np.resize(values, a.shape)
    ps.scatter_where(a, mask, values, casting="unsafe", out=a)


def _place(arr, mask, vals):
    """Values are repeated by the number of trues."""
    if not isinstance(arr, np.ndarray) or not moved(arr) or np.size(vals) == 0:
        return np.place(arr, mask, vals)
    reached("place")
    mask, values = np.asarray(mask, bool), np.ravel(np.asarray(vals, arr.dtype))
    mask = mask.reshape(arr.shape) if mask.size == arr.size else mask
    if values.size:
        values = np.resize(values, np.count_nonzero(mask))
    ps.scatter_where(arr, mask, values, packed=True, casting="unsafe", out=arr)


def _copyto(dst, src, casting="same_kind", where=True):
    usual = where is True or not isinstance(dst, np.ndarray)
    if usual or not _all_moved(dst, src, where):
        return np.copyto(dst, src, casting=casting, where=where)
    reached("copyto")
    mask = np.broadcast_to(np.asarray(where, bool), dst.shape)
    ps.scatter_where(dst, mask, src, casting=casting, out=dst)


FUNCTIONS = {
    "where": _where,
    "nonzero": _nonzero,
    "flatnonzero": _flatnonzero,
    "argwhere": _argwhere,
    "count_nonzero": _count_nonzero,
    "compress": _compress,
    "extract": _extract,
    "putmask": _putmask,
    "place": _place,
    "copyto": _copyto,
}
METHODS = {
    "nonzero": _nonzero,
    "compress": lambda a, condition, axis=None, out=None: _compress(
        condition, a, axis, out
    ),
}
