"""From the arguments of a call on segments to their normal form.

However segments are said (ids of any shape, offsets, lengths, starts and stops, with
gather=, weights=, where=, skipna=, an axis, batches), what comes out is a `Segments`.
Everything the caller said has been checked by then, but for the numbers of ids, offsets
and gather, which the primitives check where they use them.
"""

import math

import numpy as np

from pyscatter import _core
from pyscatter._masks import promoted
from pyscatter._segment_checks import (
    MODES,
    as_integers,
    as_mask,
    as_size,
    check_axis,
    check_batch,
    check_bounds,
    check_lengths,
    check_mode,
    check_offsets,
    check_product,
    check_ranges,
    check_rows,
    check_sorted,
    open_offsets,
    size_from,
)
from pyscatter._segment_folds import is_missing
from pyscatter._segments import Layout, Segments, is_plan, plan_ids
from pyscatter._values import WEAK_TYPES, as_plain


def plain_form(values, address):
    """Return the Segments of a common call, or None: see `normal_form` then.

    Common are arrays, entries along their first axis, and one array of ids or offsets.
    """
    ids, offsets = address.ids, address.offsets
    index = ids if offsets is None else offsets
    is_plain = (
        type(values) is np.ndarray
        and type(index) is np.ndarray
        and (ids is None or offsets is None)
        and address.axis is ...
        and type(address.batch_dims) is int
        and address.batch_dims == 0
        and values.ndim > 0
        and index.ndim == 1
        and index.dtype.kind in "iu"
        and address.starts is address.stops is None
        and address.lengths is address.gather is None
        and address.mode in MODES
        and not (address.assume_sorted and ids is None)
    )
    n = len(values) if is_plain else 0
    if not is_plain or (ids is not None and len(ids) != n):
        return None
    rest = values.shape[1:]
    seg = Segments(values, n, rest, Layout((), (), rest, (n,)))
    return _placed(seg, ids, address)


def normal_form(values, address, where=None, weights=None, skipna=False):
    """Return the Segments of a call."""
    is_bare = where is None and weights is None and not skipna
    seg = plain_form(values, address) if is_bare else None
    if seg is not None:
        return seg
    check_mode(address.mode)
    _check_one(address)
    values = None if values is None else as_plain(values, "values")
    ids, gather = address.ids, address.gather
    if ids is not None and not is_plan(ids):
        ids = as_integers(ids, "ids")
    if gather is not None:
        gather = as_integers(gather, "gather")
    if address.axis is None:
        address = address._replace(axis=0)
        values, ids, where = _flattened(values, ids, where, address)
    shape = _full_shape(values, address, ids, gather)
    batch_dims, axis, entries = _place_entries(shape, address, ids, gather)
    after = shape[axis + len(entries) - batch_dims :]
    layout = Layout(shape[:batch_dims], shape[batch_dims:axis], after, entries)
    if where is not None:
        where = _check_where(where, entries, layout)
    if gather is not None:
        values, gather = _gathered(values, gather, axis, layout, where, address, skipna)
    seg = _moved(values, layout)
    seg.gather = gather
    _place_where(seg, where, skipna)
    if weights is not None:
        seg.weights = _place_weights(weights, entries, seg.values)
    return _placed(seg, ids, address, where is None)


def _placed(seg, ids, address, has_all_rows=False):
    """Give the entries their segments; `has_all_rows`: every row of gather= counts."""
    if ids is None:
        _set_ranges(seg, address)
    else:
        _set_ids(seg, ids, address)
    check_product(seg.size, seg.rest)
    if has_all_rows:
        seg.check_listed()
    return seg


def _flattened(values, ids, where, address):
    """Return the arguments for axis=None: one axis, in C order."""
    if address.batch_dims:
        raise ValueError("axis=None has no batches")
    if values is not None:
        values = values.reshape(-1)
    if ids is not None and not is_plan(ids) and address.gather is None:
        ids = ids.reshape(-1)
    if where is not None and np.ndim(where) > 1 and address.gather is None:
        where = as_mask(where).reshape(-1)
    return values, ids, where


def _check_one(address):
    """Raise TypeError unless segments are said in exactly one way."""
    ways = {
        "ids": address.ids is not None,
        "offsets": address.offsets is not None,
        "starts and stops": address.starts is not None or address.stops is not None,
        "lengths": address.lengths is not None,
    }
    given = [name for name, is_given in ways.items() if is_given]
    if len(given) != 1:
        found = " and ".join(given) or "none"
        raise TypeError(f"exactly one of {', '.join(ways)} is needed; got {found}")
    if address.ids is None and address.assume_sorted:
        raise TypeError("assume_sorted goes with ids")


def _full_shape(values, address, ids, gather):
    """Return the shape of the values, gathered."""
    if values is not None:
        shape = values.shape
    elif gather is not None:
        raise TypeError("gather= needs values")
    elif ids is not None:
        return ids.shape
    else:
        return (_count_entries(address),)
    if gather is None:
        return shape
    batch_dims = check_batch(address.batch_dims, shape, gather.shape, "gather")
    axis = batch_dims if address.axis is ... else address.axis
    axis = check_axis(axis, len(shape), batch_dims)
    return shape[:axis] + gather.shape[batch_dims:] + shape[axis + 1 :]


def _count_entries(address):
    """Return how many entries there are where only ranges say it."""
    if address.offsets is not None:
        return int(check_offsets(address.offsets, None)[-1])
    if address.lengths is not None:
        return int(check_lengths(address.lengths, None)[-1])
    return int(check_ranges(address.starts, address.stops, None)[1].max(initial=0))


def _place_entries(shape, address, ids, gather):
    """Return (batch axes, first axis of the entries, shape of the entries)."""
    index = ids if ids is not None else gather
    name = "ids" if ids is not None else "gather"
    own = () if index is None else index.shape
    if ids is None and address.batch_dims:
        raise ValueError("batch_dims goes with ids")
    batch_dims = check_batch(address.batch_dims, shape, own, name)
    axis = batch_dims if address.axis is ... else address.axis
    if gather is not None:
        source = len(shape) - (gather.ndim - batch_dims) + 1
        axis = check_axis(axis, source, batch_dims)
    elif index is None or len(own) > batch_dims:
        axis = check_axis(axis, len(shape), batch_dims)
    else:
        axis = check_axis(axis, len(shape) + 1, batch_dims)
    if ids is None:
        if gather is not None and gather.ndim != 1:
            raise ValueError(f"gather has shape {gather.shape}; expected one axis")
        return 0, axis, shape[axis : axis + 1]
    expected = shape[:batch_dims] + shape[axis : axis + len(own) - batch_dims]
    if gather is not None and own != gather.shape:
        raise ValueError(f"ids has shape {own}; expected {gather.shape} = gather.shape")
    if own != expected:
        raise ValueError(
            f"ids has shape {own}; expected {expected}, the axes of values "
            f"{shape} from axis {axis} on"
        )
    return batch_dims, axis, own


def _check_where(where, entries, layout):
    where = as_mask(where)
    full = layout.batch + layout.before + layout.own + layout.after
    if where.ndim == 0:
        return np.broadcast_to(where, entries)
    if where.shape not in (entries, full):
        others = "" if full == entries else f", or {full}, that of the values"
        raise ValueError(
            f"'where' has shape {where.shape}; expected {entries}, the shape of the "
            f"entries{others}"
        )
    return where


# Seven things decide whether rows are gathered now, or one by one as they are added.
def _gathered(values, gather, axis, layout, where, address, skipna):
    """Return (values, row numbers): one is made of the other, or both are kept."""
    if address.ids is None and where is None and not skipna and axis == 0:
        return values, gather
    taking = where
    if where is not None and where.shape != layout.entries:
        taking = None
    size = values.shape[axis]
    if taking is None:
        check_rows(gather, size, "gather")
    else:
        outside = (gather < -size) | (gather >= size)
        check_bounds(gather, size, "gather", taking & outside)
    batch_dims = len(layout.batch)
    rows = _core.gather(values, gather, axis, batch_dims=batch_dims, where=taking)
    return rows, None


def _moved(values, layout):
    """Return Segments whose values have their entries on the first axis."""
    stays = not layout.batch and not layout.before and len(layout.entries) == 1
    if values is not None and not stays:
        values = _entries_first(values, layout)
    n, rest = math.prod(layout.entries), layout.before + layout.after
    return Segments(values, n, rest, layout)


def _entries_first(array, layout):
    """Return an array of the values' full shape as (n, *rest)."""
    batch, before, after, _ = layout
    own = layout.own
    order = [
        *range(len(batch)),
        *range(len(batch) + len(before), len(batch) + len(before) + len(own)),
        *range(len(batch), len(batch) + len(before)),
        *range(len(batch) + len(before) + len(own), array.ndim),
    ]
    n = math.prod(layout.entries)
    return array.transpose(order).reshape(n, *before, *after)


def _place_where(seg, where, skipna):
    """Bring the choice of entries into place; skipna leaves out what is missing."""
    layout = seg.layout
    if where is not None:
        seg.is_fine = where.shape != layout.entries
        where = _entries_first(where, layout) if seg.is_fine else where.reshape(-1)
        seg.named = None if seg.is_fine else where
    if skipna:
        seg.is_fine = True
        missing = None if seg.values is None else is_missing(seg.values)
        if missing is not None:
            if where is not None and where.ndim < missing.ndim:
                where = where.reshape(-1, *(1,) * len(seg.rest))
            where = ~missing if where is None else where & ~missing
    if where is not None and where.ndim > 1 and seg.rest == ():
        where = where.reshape(seg.n)
    if where is not None and not where.all():
        seg.where = where


def _place_weights(weights, entries, values):
    """Return one weight for each entry; Python numbers are weak."""
    if type(weights) in WEAK_TYPES and values.dtype.kind not in "biu":
        weights = np.asarray(weights, promoted(values, weights))
    weights = as_plain(weights, "weights")
    if weights.dtype.kind not in "biufc" and weights.dtype.name != "bfloat16":
        raise TypeError(f"'weights' has dtype {weights.dtype}; expected numbers")
    try:
        return np.broadcast_to(weights, entries).reshape(-1)
    except ValueError:
        raise ValueError(
            f"weights has shape {weights.shape}; expected to broadcast to {entries}, "
            "the shape of the entries"
        ) from None


def _set_ranges(seg, address):
    if address.starts is not None or address.stops is not None:
        seg.starts, seg.stops = check_ranges(address.starts, address.stops, seg.n)
    else:
        if address.offsets is not None:
            offsets = open_offsets(address.offsets, seg.n)
        else:
            offsets = check_lengths(address.lengths, seg.n)
        seg.offsets, seg.starts, seg.stops = offsets, offsets[:-1], offsets[1:]
    seg.size = len(seg.starts)
    if address.num_segments is not None:
        size = as_size(address.num_segments, "num_segments")
        if size != seg.size:
            raise ValueError(
                f"num_segments is {size}; the ranges say that it is {seg.size}"
            )
    seg.segments = seg.size


def _set_ids(seg, ids, address):
    mode = address.mode
    if is_plan(ids):
        return _set_plan(seg, ids, address)
    if address.assume_sorted:
        check_sorted(ids, len(seg.layout.batch))
    ids = ids.reshape(-1)
    if address.num_segments is None:
        size = size_from(ids, seg.named)
    else:
        size = as_size(address.num_segments, "num_segments")
    seg.size = seg.segments = size
    seg.ids, seg.mode = ids, mode
    if mode == "raise" and seg.where is not seg.named:
        check_bounds(ids, size, "ids", seg.named)  # skipna does not excuse ids
    if seg.layout.batch:
        _fold_batches(seg)


def _fold_batches(seg):
    """Give the segments of all batches numbers of their own."""
    size = seg.segments
    rows = math.prod(seg.layout.batch)
    check_product(size * rows, seg.rest)
    bounded = seg.bounded()
    seg.mode, seg.where, seg.named = "raise", bounded.where, bounded.named
    ids = bounded.ids.reshape(rows, -1 if rows else 0) + size * np.arange(rows)[:, None]
    seg.ids, seg.size = ids.reshape(-1), size * rows


def _set_plan(seg, plan, address):
    """Use a plan as it is; batches and ids of several axes need the ids it holds."""
    if address.mode not in ("raise", plan.mode):
        raise ValueError(f"the plan has mode {plan.mode!r}, the call {address.mode!r}")
    ids = plan_ids(plan)
    if address.num_segments is not None:
        size = as_size(address.num_segments, "num_segments")
        if size != plan.size:
            raise ValueError(f"num_segments is {size}; the plan has size {plan.size}")
    if address.assume_sorted and not plan.is_sorted:
        raise ValueError("assume_sorted: the plan's ids are not sorted")
    seg.size = seg.segments = plan.size
    seg.ids, seg.mode = plan, plan.mode
    if seg.layout.batch or len(plan.shape) != 1:
        seg.ids, seg.mode = ids.reshape(-1), "drop"
    if seg.layout.batch:
        _fold_batches(seg)
