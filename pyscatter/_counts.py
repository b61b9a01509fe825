"""Counting numbers, and adding up what belongs to them: what `bincount` does."""

import numpy as np

from pyscatter import _core
from pyscatter._segment_checks import (
    LIMIT,
    as_integers,
    as_mask,
    as_size,
    check_axis,
    check_bounds,
)
from pyscatter._segment_folds import half_or, reduce_ids
from pyscatter._segments import ones
from pyscatter._values import as_plain, is_bfloat16


def bincount(x, weights, minlength, axis, where, dtype, out):
    """Count each number of x along an axis, by default its only one."""
    x = as_integers(x, "x")
    if axis is None and x.ndim != 1:
        raise ValueError(f"x has shape {x.shape}; say with axis= along which to count")
    axis = check_axis(0 if axis is None else axis, x.ndim, 0)
    others = x.ndim - 1
    where = None if where is None else _mask_of(where, x)
    weights = None if weights is None else _weights_of(weights, x)
    rest = () if weights is None else weights.shape[x.ndim :]
    if axis != others:
        x, where, weights = (
            array if array is None else np.moveaxis(array, axis, others)
            for array in (x, where, weights)
        )
    size = _size_of(x, where, as_size(minlength, "minlength"), out, axis)
    shape = (*x.shape[:-1], size, *rest)
    if out is not None:
        _add_into(_target_of(out, shape, axis, others), x, weights, where, dtype)
        return out
    dtype = _dtype_of(weights, dtype)
    if not others and half_or(dtype, np.float32) == dtype:
        terms = ones(len(x)) if weights is None else weights
        return reduce_ids(terms, x, size, "add", dtype=dtype, where=where)
    target = np.zeros(shape, dtype)
    _add_into(target, x, weights, where, None)
    return np.array(np.moveaxis(target, others, axis), order="C", copy=None)


def _add_into(target, x, weights, where, dtype):
    """Add to what the target holds; the axes of x but the last are batches."""
    values = 1 if weights is None else weights
    options = {"where": where, "dtype": dtype, "out": target}
    _core.scatter(target, x, values, batch_dims=x.ndim - 1, op="add", **options)


def _mask_of(where, x):
    where = as_mask(where)
    try:
        return np.broadcast_to(where, x.shape)
    except ValueError:
        raise ValueError(
            f"'where' has shape {where.shape}; expected to broadcast to {x.shape}, "
            "the shape of x"
        ) from None


def _weights_of(weights, x):
    weights = as_plain(weights, "weights")
    if weights.shape[: x.ndim] != x.shape:
        raise ValueError(
            f"weights has shape {weights.shape}; expected {x.shape}, the shape of x, "
            "or more axes behind it"
        )
    if weights.dtype.kind not in "biufc" and not is_bfloat16(weights.dtype):
        raise TypeError(f"'weights' has dtype {weights.dtype}; expected numbers")
    return weights


def _size_of(x, where, minlength, out, axis):
    """Return the length of the counted axis."""
    taking = x if where is None else x[where]
    top = int(taking.max()) + 1 if taking.size else 0
    if taking.size and taking.min() < 0:
        bad = taking.reshape(-1) < 0
        value = int(taking.reshape(-1)[np.argmax(bad)])
        raise ValueError(f"x must not be negative; it holds {value}")
    if out is not None:
        if not isinstance(out, np.ndarray):
            raise TypeError(f"'out' must be an array, not {type(out).__name__}")
        size = out.shape[axis] if axis < out.ndim else 0
        check_bounds(x, size, "x", where)
        if minlength > size:
            raise ValueError(f"out has length {size}, less than minlength {minlength}")
        return size
    if top >= LIMIT or (top > 2**27 and top > max(minlength, 64 * x.size)):
        raise ValueError(
            f"x goes up to {top - 1} with only {x.size} entries; pass minlength if "
            f"{top} counts are meant"
        )
    return max(top, minlength)


def _dtype_of(weights, dtype):
    if dtype is not None:
        return np.dtype(dtype).newbyteorder("=")
    if weights is None:
        return np.dtype(np.intp)
    return np.dtype(np.complex128 if weights.dtype.kind == "c" else np.float64)


def _target_of(out, shape, axis, others):
    """Return the view of `out` whose counted axis lies behind the others."""
    out = as_plain(out, "out")
    if out.ndim == len(shape):
        target = np.moveaxis(out, axis, others)
        if target.shape == shape:
            return target
    *before, size = shape[: others + 1]
    expected = (*before[:axis], size, *before[axis:], *shape[others + 1 :])
    raise ValueError(f"out has shape {out.shape}; expected {expected}")
