"""Cases that NumPy does for us: objects and odd accumulators.

All are rare and none is worth kernels. Object arrays are addressed by gathering the
positions of their elements, with every option, from an array of numbers.
"""

import numpy as np

from pyscatter import _core
from pyscatter._values import arriving

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


def _as_object_values(values, dtype, shape, casting):
    """Values as an array of `dtype`; leading axes of length 1 may go, as in NumPy."""
    if isinstance(values, (np.ndarray, np.generic)):
        values = arriving(values, dtype, casting)
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
    """Move objects, or records that hold some: set, first and last only.

    `a` or `out` has them. Objects that are to be numbers become such before the call.
    """
    options = _where_options(axis, batch_dims, where)
    dtype_of_result = (np.asarray(a) if out is None else out).dtype.newbyteorder("=")
    a = np.array(a, dtype_of_result, order="C", subok=False)
    if not dtype_of_result.hasobject:
        options |= {"op": op, "casting": casting, "out": out}
        if form == "where":
            options["mask"] = options.pop("where")
            return _core.scatter_where(a, values=values, **options)
        options |= {"mode": mode, "include_self": include_self, "dtype": dtype}
        return FORMS[form][0](a, index, values, compensated=compensated, **options)
    if op not in ("set", "first"):
        raise TypeError("object arrays can be set and gathered; no other op is defined")
    positions = _positions(form, a, index, mode, options)
    values = _as_object_values(values, a.dtype, positions.shape, casting)
    keep = positions >= 0
    arriving_values, named = values[keep], positions[keep]
    if op == "first":
        arriving_values, named = arriving_values[::-1], named[::-1]
    a.reshape(-1)[named] = arriving_values  # the last of several stays
    if out is None:
        return a
    np.asarray(out)[...] = a
    return out


# The signature is that of the binding's call: every option of a gather, by position.
def gather_objects(form, a, index, axis, batch_dims, where, mode, fill_value, out):
    """Gather objects, or records that hold some, through their positions.

    Into a new array, as in `gather_filled`, from which the binding copies to `out`.
    """
    a = np.asarray(a)
    options = _where_options(axis, batch_dims, where)
    positions = _positions(form, a, index, mode, options)
    result = np.zeros(positions.shape, dtype=a.dtype.newbyteorder("="))
    if fill_value is not None:
        item = np.empty((), dtype=result.dtype)
        item[()] = fill_value
        result[...] = item
    keep = positions >= 0
    result[keep] = a.reshape(-1)[positions[keep]]
    return result


# The signature is that of the binding's call: every option of a gather, by position.
def gather_filled(form, a, index, axis, batch_dims, where, mode, fill_value, out):
    """Gather where the fill value is one of out's dtype, which is not that of `a`."""
    gather = FORMS[form][1]
    a = np.asarray(a)
    dtype = out.dtype.newbyteorder("=")
    _core.require_cast("'a'", a.dtype, dtype, "same_kind")
    options = {"mode": mode, **_where_options(axis, batch_dims, where)}
    found = gather(np.broadcast_to(True, a.shape), index, fill_value=False, **options)
    items = gather(a, index, **options).astype(dtype)
    fill = np.zeros(1, dtype)
    fill = _core.gather(fill, [1], mode="fill", fill_value=fill_value)
    return _core.where(found, items, fill.reshape(()))


def _computed_as(dtype):
    """Halves are summed in float32; NumPy calls those of other packages void."""
    is_half = dtype == np.float16 or dtype.kind == "V"
    return np.dtype(np.float32) if is_half else dtype


def _in_unit_of(values, target):
    """Numbers that are to be times are times of the target's unit."""
    has_unit = values.dtype.kind in "mM" and np.datetime_data(values.dtype)[0] != (
        "generic"
    )
    return values if has_unit or target.kind not in "mM" else values.astype(target)


# The signature is that of the binding's call: every option of a scatter, by position.
def scatter_through(
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
    """A scatter whose target and accumulator kernels do not cast into each other.

    NumPy casts copies there and back; the second cast is that of named elements alone.
    Values are checked, and warned of, as those of any call are.
    """
    scatter = FORMS[form][0]
    dtype = _computed_as(np.dtype(dtype))
    target = (np.asarray(a) if out is None else out).dtype.newbyteorder("=")
    if out is None and op == "mean" and target.kind in "biu":
        target = np.dtype(float)
    options = {"mode": mode, **_where_options(axis, batch_dims, where)}
    result = np.array(a, target, order="C", subok=False)
    scatter(result, index, values, casting=casting, **options)
    named = scatter(np.zeros(result.shape, bool), index, True, **options)
    options |= {"include_self": include_self, "compensated": compensated}
    wide = _in_unit_of(np.asarray(values), target).astype(dtype)
    sums = scatter(result.astype(dtype), index, wide, op=op, **options)
    np.copyto(result, sums, where=named, casting="unsafe")
    if out is None:
        return result
    np.asarray(out)[...] = result
    return out


def truth_of(a):
    """Return as bools which elements of strings, records or objects are true.

    The copy holds its objects, so that their own code may do to `a` what it likes.
    """
    a = np.asarray(a)
    truth = np.zeros(a.shape, bool)
    truth.reshape(-1)[np.flatnonzero(a.copy())] = True
    return truth


# --- segments -------------------------------------------------------------------------


# What a call of segment_reduce says, one thing after the other.
def reduce_foreign(values, op, dtype, initial, fill_value, options):
    """Move the first or last of values that kernels do not know, or into such a dtype.

    The numbers of elements are reduced in their place. Returns (results, places,
    counts), each None where it is not asked for.
    """
    numbers = np.arange(values.size, dtype=float).reshape(values.shape)
    if options.get("skipna") and values.dtype.kind in "fcmM":
        numbers[values != values] = np.nan
    found = _core.segment_reduce(numbers, op=op, fill_value=-1.0, **options)
    parts = list(found) if isinstance(found, tuple) else [found]
    chosen = parts.pop(0).astype(np.intp)
    places = parts.pop(0) if options.get("return_arg") else None
    result = np.zeros(chosen.shape, values.dtype.newbyteorder("="))
    if initial is not None:
        result[...] = _scalar(initial, result.dtype, "initial")
    elif result.dtype.kind in "fcmM":
        result[...] = np.array("NaT" if result.dtype.kind in "mM" else np.nan)
    some = chosen >= 0
    result[some] = values.reshape(-1)[chosen[some]]
    result = result.astype(dtype, copy=False)
    if fill_value is not None:
        result[~some] = _scalar(fill_value, result.dtype, "fill_value")
    return result, places, parts[0] if parts else None


def _scalar(value, dtype, name):
    """Return an element of `dtype`, by the rules of values."""
    if np.ndim(value):
        raise ValueError(f"{name} has shape {np.shape(value)}; expected a scalar")
    result = np.zeros((), dtype)
    return _core.scatter_where(result, True, value, out=result)


@np.errstate(all="ignore")
def weighed(values, weights):
    """Return products, each rounded, in the dtype of the weights.

    NumPy's product of complex numbers is fused on some CPUs, and has other bits there.
    """
    products = values.astype(weights.dtype, order="C")
    if weights.dtype.kind != "c":
        return products * weights
    weights = np.broadcast_to(weights, products.shape)
    return _core.scatter_where(products, True, weights, op="mul", out=products)


@np.errstate(all="ignore")
def divided(sums, weights, counts):
    """Divide weighted sums by the weights in their place; NaN where nothing came."""
    sums /= weights
    np.copyto(sums, np.nan, where=counts == 0)


@np.errstate(all="ignore")
def squared(values, centre):
    """Return |values - centre|^2, in the dtype of the centre."""
    apart = values.astype(centre.dtype) - centre
    return apart.real**2 + apart.imag**2 if apart.dtype.kind == "c" else apart * apart
