"""Cases that NumPy moves for us: object arrays, and flat positions of strided arrays.

Both are rare and neither is worth kernels. Object arrays are addressed by gathering the
positions of their elements, with every option, from an array of numbers.
"""

import numpy as np

from pyscatter import _core

FORMS = {
    "axis": (_core.scatter, _core.gather),
    "along": (_core.scatter_along_axis, _core.gather_along_axis),
    "nd": (_core.scatter_nd, _core.gather_nd),
    "at": (_core.scatter_at, _core.gather_at),
}


def _where_options(axis, batch_dims, where):
    options = {"where": where}
    if axis is not NotImplemented:
        options["axis"] = axis
    if batch_dims is not None:
        options["batch_dims"] = batch_dims
    return options


def masked(mask, shape):
    """A mask with an entry for each element of an array of this shape."""
    mask = np.asarray(mask)
    rest = (1,) * (len(shape) - mask.ndim)
    return np.broadcast_to(mask.reshape(mask.shape + rest), shape)


def _positions(form, array, index, mode, options):
    """Flat positions of the elements that the call names; -1 for none."""
    numbers = np.arange(array.size, dtype=np.intp).reshape(array.shape)
    if form == "where":
        return np.where(masked(options["where"], array.shape), numbers, -1)
    if mode == "drop":
        mode = "fill"
    return FORMS[form][1](numbers, index, mode=mode, fill_value=-1, **options)


def _check_object_out(out, shape, dtype):
    if not isinstance(out, np.ndarray) or out.dtype != dtype:
        raise TypeError(f"'out' must be an array of dtype {dtype}")
    if out.shape != shape:
        raise ValueError(f"out has shape {out.shape}; expected {shape}")
    if not out.flags.writeable:
        raise ValueError("output array is read-only (copy it, or leave out= away)")


def _as_object_values(values, dtype, shape):
    """Values as an array of `dtype`; leading axes of length 1 may go, as in NumPy."""
    values = np.asarray(values, dtype=dtype)
    while values.ndim > len(shape) and values.shape[0] == 1:
        values = values[0]
    return np.broadcast_to(values, shape)


# The signature is that of the binding's call: every option of a scatter, by position.
def scatter_objects(
    form,
    a,
    index,
    values,
    axis,
    batch_dims,
    where,
    op,
    mode,
    include_self,
    dtype,
    compensated,
    casting,
    out,
):
    """Move objects, or records that hold some: set, first and last only."""
    if op not in ("set", "first"):
        raise TypeError("object arrays can be set and gathered; no other op is defined")
    a = np.asarray(a)
    if out is not None:
        _check_object_out(out, a.shape, a.dtype)
    options = _where_options(axis, batch_dims, where)
    positions = _positions(form, a, index, mode, options)
    values = _as_object_values(values, a.dtype, positions.shape)
    keep = positions >= 0
    arriving, named = values[keep], positions[keep]
    if op == "first":
        arriving, named = arriving[::-1], named[::-1]
    result = a.flatten()
    for i, position in enumerate(named):
        result[position] = arriving[i]
    result = result.reshape(a.shape)
    if out is None:
        return result
    np.asarray(out)[...] = result
    return out


def gather_objects(form, a, index, axis, batch_dims, where, mode, fill_value, out):
    """Gather objects, or records that hold some, through their positions."""
    a = np.asarray(a)
    options = _where_options(axis, batch_dims, where)
    positions = _positions(form, a, index, mode, options)
    result = np.zeros(positions.shape, dtype=a.dtype)
    if fill_value is not None:
        result[...] = fill_value
    keep = positions >= 0
    result[keep] = a.reshape(-1)[positions[keep]]
    if out is None:
        return result
    _check_object_out(out, result.shape, a.dtype)
    np.asarray(out)[...] = result
    return out


# The signature is that of the binding's call: every option of a scatter, by position.
def scatter_flat(
    form,
    a,
    index,
    values,
    axis,
    batch_dims,
    where,
    op,
    mode,
    include_self,
    dtype,
    compensated,
    casting,
    out,
):
    """axis=None in place on an array without a flat view: a copy, copied back."""
    flat = np.array(a, order="C", subok=False)
    FORMS[form][0](
        flat,
        index,
        values,
        axis=None,
        where=where,
        op=op,
        mode=mode,
        include_self=include_self,
        dtype=dtype,
        compensated=compensated,
        casting=casting,
        out=flat,
    )
    np.asarray(out)[...] = flat
    return out


def truth_of(a):
    """Return as bools which elements of strings, records or objects are true.

    The copy holds its objects, so that their own code may do to `a` what it likes.
    """
    a = np.asarray(a)
    truth = np.zeros(a.shape, bool)
    truth.reshape(-1)[np.flatnonzero(a.copy())] = True
    return truth
