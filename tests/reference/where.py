"""The slow twin of the where family: one element after the other.

Same names, signatures and exceptions as pyscatter's public functions. The masked
updates are scatters whose places a mask names; `where` chooses and casts each element
by itself, so that what is not chosen is never looked at.
"""

import math

import numpy as np

from .addressing import (
    Places,
    as_bools,
    check_axis,
    common_shape,
    element_number,
)
from .gather import take
from .nonzero import as_source, truth
from .scatter import Options, deliver, update
from .values import (
    RANKS,
    WEAK_KINDS,
    as_target,
    can_cast,
    check_writable,
    is_bfloat16,
    kind_of,
    native,
    refuse_dtype,
    weak_array,
)


def is_weak(value):
    """Is it a Python number, which takes the dtype of what it meets?"""
    return type(value) in WEAK_KINDS


def promoted(x, y):
    """Return the dtype of a choice between x and y."""
    both = [value if is_weak(value) else value.dtype for value in (x, y)]
    half = [d for d in both if isinstance(d, np.dtype) and is_bfloat16(d)]
    if half and float in (type(x), type(y)):
        return half[0]  # NumPy does not know that Python floats are weak here
    return native(np.result_type(*both))


def as_branch(value, dtype, casting):
    """Return x or y as an array of its own dtype; a weak one has the result's."""
    if is_weak(value) and kind_of(dtype) in (*RANKS, "longdouble"):
        with np.errstate(all="ignore"):
            return weak_array(value, WEAK_KINDS[type(value)], dtype, dtype, casting)
    array = np.asarray(value)
    if not can_cast(array.dtype, dtype, casting):
        raise TypeError(f"cannot cast {array.dtype} to {dtype} by rule {casting!r}")
    return array


def where(condition, x, y, *, out=None, dtype=None, casting="same_kind"):
    """Take elements of x where the condition is true, and of y elsewhere."""
    condition = as_source(condition, "condition")
    x, y = (v if is_weak(v) else as_source(v) for v in (x, y))
    if dtype is not None:
        dtype = native(np.dtype(dtype))
    else:
        dtype = native(out.dtype) if isinstance(out, np.ndarray) else promoted(x, y)
    refuse_dtype(dtype)
    shape = common_shape(condition.shape, np.shape(x), np.shape(y))
    if out is not None:
        check_writable(out, shape)
        if not can_cast(dtype, out.dtype, casting):
            raise TypeError(f"cannot cast {dtype} to {out.dtype} by rule {casting!r}")
    branches = [as_branch(value, dtype, casting) for value in (y, x)]

    spread = [np.broadcast_to(branch, shape).ravel() for branch in branches]
    chosen = truth(np.broadcast_to(condition, shape))
    result = np.empty(len(chosen), dtype)
    for i, which in enumerate(chosen):
        result[i : i + 1] = spread[which][i : i + 1].astype(dtype)
    result = result.reshape(shape)
    if out is None:
        return result
    return deliver(result.astype(native(out.dtype)), out)


def selected(mask, shape):
    """Return for each entry of the mask, spread over its axes, whether it is true."""
    fits = mask.shape == shape[: mask.ndim]
    if mask.ndim == len(shape):
        pairs = zip(mask.shape, shape, strict=True)
        fits = all(own in (1, size) for own, size in pairs)
    if not fits:
        raise ValueError(f"mask has shape {mask.shape}, which does not fit {shape}")
    return truth(np.broadcast_to(mask, shape[: mask.ndim]))


def mask_places(shape, mask, *, packed):
    """Return the places of a mask: those of all elements, or of the selected alone."""
    mask = as_bools(mask, "mask")
    rows = selected(mask, shape)
    rest = shape[mask.ndim :]
    width = math.prod(rest)
    targets = [
        row * width + i if is_true else None
        for row, is_true in enumerate(rows)
        for i in range(width)
    ]
    if not packed:
        return Places(shape, targets)
    targets = [target for target in targets if target is not None]
    return Places((sum(rows), *rest), targets)


def check_packed(values, shape):
    """Raise ValueError unless values are a scalar or have exactly this shape."""
    if np.ndim(values) and np.shape(values) != shape:
        raise ValueError(f"values has shape {np.shape(values)}; expected {shape}")


def scatter_where(
    a, mask, values, *, op="set", packed=False, casting="same_kind", out=None
):
    """Combine `values` into `a` where the mask is true."""

    def resolve(shape):
        places = mask_places(shape, mask, packed=packed)
        if packed:
            check_packed(values, places.shape)
        return places

    return update(a, resolve, values, Options(op=op, casting=casting, out=out))


def rows_of_axis(shape, mask, axis):
    """Return the places of what a mask of one axis keeps."""
    axis, mask = check_axis(axis, len(shape)), as_bools(mask, "mask")
    if mask.shape != (shape[axis],):
        raise ValueError(f"mask has shape {mask.shape}; expected ({shape[axis]},)")
    kept = [i for i, is_true in enumerate(truth(mask)) if is_true]
    found = (*shape[:axis], len(kept), *shape[axis + 1 :])
    targets = [
        element_number((*here[:axis], kept[here[axis]], *here[axis + 1 :]), shape)
        for here in np.ndindex(found)
    ]
    return Places(found, targets)


def gather_where(a, mask, axis=None, *, out=None):
    """Take the elements, or the rows, where the mask is true."""

    def resolve(shape):
        if axis is None:
            return mask_places(shape, mask, packed=True)
        return rows_of_axis(shape, mask, axis)

    return take(as_target(a), resolve, "raise", None, out)


def apply_where(cond, args, f1, f2=None, *, fill_value=None, derivative=None):
    """Call f1 with the selected elements alone, f2 with the others alone."""
    if (f2 is None) == (fill_value is None):
        raise TypeError("exactly one of f2 and fill_value must be given")
    if derivative is not None and not callable(derivative):
        raise TypeError("derivative is not callable")
    args = args if isinstance(args, tuple) else (args,)
    arrays = [as_source(array) for array in (cond, *args)]
    shape = common_shape(*(array.shape for array in arrays))
    if f2 is None:
        shape = common_shape(shape, np.shape(fill_value))
    chosen, *arrays = [np.broadcast_to(array, shape).ravel() for array in arrays]
    chosen = np.array(truth(chosen), bool)

    first = np.asarray(f1(*(array[chosen] for array in arrays)))
    if f2 is None:
        other = fill_value if is_weak(fill_value) else np.asarray(fill_value)
    else:
        other = np.asarray(f2(*(array[~chosen] for array in arrays)))
    dtype = promoted(first, other)
    result = np.empty(chosen.size, dtype)
    result[chosen] = first
    if f2 is None:
        filling = as_branch(other, dtype, "same_kind")
        result[~chosen] = np.broadcast_to(filling, shape).ravel()[~chosen].astype(dtype)
    else:
        result[~chosen] = other
    return result.reshape(shape)
