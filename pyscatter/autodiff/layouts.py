"""The entries of a segment reduction, whatever its segments are said by.

Ids, offsets, lengths, or starts and stops become entries with ids, and, where entries
are not simply the rows of the values, the row that each of them takes.
"""

from typing import Any, NamedTuple

import numpy as np

from pyscatter import _core
from pyscatter.autodiff.gathers import resolved
from pyscatter.autodiff.parts import Address
from pyscatter.plan import Plan


class Layout(NamedTuple):
    """The entries of a call: which segment, which row, and what takes part."""

    at: Address  # of entries in the result
    axis: int
    batch_dims: int
    values: Any  # the array, flat if axis=None
    take: Any  # the row of `values` that each entry takes; None: entry i takes row i
    where: Any  # which entries take part
    kept: Any  # which elements take part; None: all
    weights: Any


def _ranges(starts, lengths):
    """Return all numbers of ranges, one range after the other."""
    ends = np.cumsum(lengths)
    skip = np.repeat(starts - (ends - lengths), lengths)
    return np.arange(skip.size, dtype=np.intp) + skip


def _ids_of(call):
    """Return (ids, entry numbers): which segment, and which entry, None for all."""
    if call.get("ids") is not None:
        return call.get("ids"), None
    if call.get("offsets") is not None:
        lengths = np.diff(np.asarray(call.get("offsets")).astype(np.intp))
    elif call.get("lengths") is not None:
        lengths = np.asarray(call.get("lengths")).astype(np.intp)
    else:
        starts = np.asarray(call.get("starts")).astype(np.intp)
        lengths = np.asarray(call.get("stops")).astype(np.intp) - starts
        ids = np.repeat(np.arange(lengths.size), lengths)
        return ids, _ranges(starts, lengths)
    return np.repeat(np.arange(lengths.size), lengths), None


def entry_shape(ids):
    return ids.shape if isinstance(ids, Plan) else np.shape(ids)


def _choice(call, values, axis, take, shape):
    """Return (which entries, which elements) take part; None for all."""
    where, kept = call.get("where"), None
    whole = values.shape
    if take is not None:
        batch = len(shape) - np.ndim(take)
        whole = values.shape[:axis] + shape[batch:] + values.shape[axis + 1 :]
    if where is not None:
        where = np.asarray(where)
        fits = where.ndim <= len(shape) and all(
            m in (1, n) for m, n in zip(where.shape[::-1], shape[::-1], strict=False)
        )
        if fits:
            where = np.broadcast_to(where, shape)
        else:
            where, kept = None, np.broadcast_to(where, whole)
    return where, kept


def layout(call):
    """Return the entries of a call."""
    values = np.asarray(call.get("values"))
    batch = int(np.asarray(call.get("batch_dims", 0)))
    axis = call.get("axis", batch)
    ids, numbers = _ids_of(call)
    if axis is None or axis is Ellipsis:
        if axis is None:
            values = values.reshape(-1)
            ids = ids if isinstance(ids, Plan) else np.reshape(ids, -1)
        axis = 0 if axis is None else batch
    axis = int(axis) % max(values.ndim, 1)
    return _laid(call, values, batch, axis, ids, numbers)


def _laid(call, values, batch, axis, ids, numbers):
    take, weights = call.get("gather"), call.get("weights")
    if take is not None:
        size = values.shape[axis]
        take, _ = resolved(take, size, {})
    shape = entry_shape(ids) if numbers is None else None
    if numbers is not None:  # entries of ranges that may overlap or leave rows out
        shape = (values.shape[axis] if take is None else take.size,)
        where, kept = _choice(call, values, axis, take, shape)
        where = None if where is None else where[numbers]
        kept = None if kept is None else np.take(kept, numbers, axis)
        if weights is not None:
            weights = np.broadcast_to(weights, shape)[numbers]
        take = numbers if take is None else take[numbers]
    else:
        where, kept = _choice(call, values, axis, take, shape)
    options = {"axis": axis}
    if batch:
        options["batch_dims"] = batch
    if call.get("ids") is not None and "mode" in call.args:
        options["mode"] = call.get("mode")
    if where is not None:
        options["where"] = where
    own = (*range(batch), axis)
    at = Address(_core.gather, _core.scatter, ids, options, own)
    return Layout(at, axis, batch, values, take, where, kept, weights)


def _row_options(it):
    batch = {"batch_dims": it.batch_dims} if it.batch_dims else {}
    return {"axis": it.axis, **batch}


def taken(it, values):
    """Return what entries take of an array that lies as the values do."""
    values = values.reshape(it.values.shape)
    if it.take is None:
        return values
    return _core.gather(values, it.take, **_row_options(it))


def entries_of(call):
    """Return the values of the entries."""
    it = call.once(layout)
    return taken(it, it.values)


def given_back(call, gradient):
    """Return the gradient of the values from that of the entries."""
    it = call.once(layout)
    if it.take is not None:
        made = np.zeros(it.values.shape, gradient.dtype)
        options = {"op": "add", "out": made, **_row_options(it)}
        gradient = _core.scatter(made, it.take, gradient, **options)
    return gradient.reshape(np.shape(call.get("values")))
