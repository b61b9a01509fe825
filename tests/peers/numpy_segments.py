"""NumPy's reduceat and bincount, answered by pyscatter.

An index of reduceat that is not below the next one names a single element; with starts
and stops that is a range of length 1, so that the whole meaning is shared. What it
refuses, objects, and arithmetic that pyscatter does not offer stay NumPy's.
"""

import numpy as np

import pyscatter as ps
from tests.peers.numpy_calls import reached

OPS = {
    getattr(np, name)
    for name in (
        "add multiply minimum maximum fmin fmax bitwise_and bitwise_or bitwise_xor"
    ).split()
}


def _shared(ufunc, a):
    """Say whether pyscatter has this reduction on this array, with the same result."""
    if a.dtype.kind not in "biufc" or a.dtype.char in "gG" or a.dtype.num >= 24:
        return False
    if a.dtype.kind == "c":
        return ufunc in (np.add, np.multiply)
    return a.dtype.kind != "f" or not ufunc.__name__.startswith("bitwise")


def _ranges(array, indices, axis=0, dtype=None, out=None):
    """Return the arguments of the same call by starts and stops, or None."""
    a = np.asarray(array) if isinstance(array, list) else array
    known = isinstance(axis, int) and isinstance(out, (np.ndarray, type(None)))
    if not known or type(a) is not np.ndarray or a.ndim == 0:
        return None
    starts, n = np.asarray(indices, np.intp), a.shape[axis]
    if starts.ndim != 1 or np.any((starts < 0) | (starts >= n)):
        return None
    following = np.append(starts[1:], n)[: starts.size]
    stops = np.where(following > starts, following, starts + 1)
    chosen = {"starts": starts, "stops": stops, "axis": axis}
    return a, {**chosen, "dtype": dtype, "out": out}


def reduceat(ufunc, *args, **kwargs):
    """Answer ufunc.reduceat with starts and stops."""
    ranges = _ranges(*args, **kwargs) if ufunc in OPS else None
    if ranges is None or not _shared(ufunc, ranges[0]):
        return ufunc.reduceat(*args, **kwargs)
    reached("reduceat")
    return ps.segment_reduce(ranges[0], op=ufunc, **ranges[1])


def _bincount(x, /, weights=None, minlength=0):
    reached("bincount")
    return ps.bincount(x, weights, minlength)


FUNCTIONS = {"bincount": _bincount}
