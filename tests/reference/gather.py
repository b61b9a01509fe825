"""The slow twin of the gather family: one element after the other.

Same names, signatures and exceptions as pyscatter's public functions. What is out of
bounds under "drop" and "fill", or excluded by where=, receives the fill value.
"""

import numpy as np

from .addressing import (
    BATCH_DIMS,
    GATHER_MODES,
    along_places,
    at_places,
    axis_places,
    check_mode,
    nd_places,
)
from .values import (
    as_target,
    as_values,
    can_cast,
    check_writable,
    kind_of,
    native,
    plain,
    require_array,
)


def as_fill(fill_value, dtype):
    """Return the fill value as an array of one element; default: the dtype's zero."""
    if fill_value is None:
        missing = kind_of(dtype) in ("datetime", "timedelta")
        return np.full(1, "NaT", dtype) if missing else np.zeros(1, dtype)
    return as_values(fill_value, dtype, dtype, "same_kind").reshape(1)


def take(a, resolve, mode, fill_value, out):
    """Do one gather; `resolve(shape)` returns its places."""
    check_mode(mode, GATHER_MODES)
    source = as_target(a)
    if out is not None:
        require_array(out)
    dtype = native(source.dtype if out is None else out.dtype)
    if not can_cast(source.dtype, dtype, "same_kind"):
        raise TypeError(f"cannot cast {source.dtype} to {dtype}")
    places = resolve(source.shape)
    if out is not None:
        check_writable(out, places.shape)
    fill = as_fill(fill_value, dtype)
    with np.errstate(all="ignore"):
        flat = plain(source).astype(dtype)
    result = np.zeros(len(places.targets), dtype)
    for number, target in enumerate(places.targets):
        found = fill if target is None else flat[target : target + 1]
        result[number : number + 1] = found
    result = result.reshape(places.shape)
    if out is None:
        return result
    np.copyto(out, result, casting="equiv")
    return out


def gather(
    a,
    index,
    axis=BATCH_DIMS,
    *,
    batch_dims=0,
    where=None,
    mode="raise",
    fill_value=None,
    out=None,
):
    """Take the elements at positions `index` of one axis."""

    def resolve(shape):
        return axis_places(shape, index, axis, batch_dims, where, mode)

    return take(a, resolve, mode, fill_value, out)


def gather_along_axis(
    a, index, axis=-1, *, where=None, mode="raise", fill_value=None, out=None
):
    """Take element by element along an axis."""

    def resolve(shape):
        return along_places(shape, index, axis, where, mode)

    return take(a, resolve, mode, fill_value, out)


def gather_nd(
    a, indices, *, batch_dims=0, where=None, mode="raise", fill_value=None, out=None
):
    """Take what the tuples in the last axis of `indices` name."""

    def resolve(shape):
        return nd_places(shape, indices, batch_dims, where, mode)

    return take(a, resolve, mode, fill_value, out)


def gather_at(a, indices, *, where=None, mode="raise", fill_value=None, out=None):
    """Return a[indices], always a fresh array."""

    def resolve(shape):
        return at_places(shape, indices, where, mode)

    return take(a, resolve, mode, fill_value, out)
