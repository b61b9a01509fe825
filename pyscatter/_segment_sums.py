"""Sums of segments, and what is made of sums: mean, var, std.

Each takes `Segments` and a `Request` and returns an array (size, *rest) in the
accumulator's dtype. Variance is the sum of squares about the mean, never a difference
of sums, which cancels.
"""

import math
from typing import NamedTuple

import numpy as np

from pyscatter import _core
from pyscatter._segment_checks import as_scalar
from pyscatter._segment_folds import (
    BLOCK,
    deviations,
    identity,
    neutral,
    range_positions,
    reduce_ids,
    reduce_ranges,
    weighted,
)

LANES = 16  # of a block, in which entries meet by halves


class Request(NamedTuple):
    """One reduction as the caller asks for it."""

    op: str
    dtype: np.dtype  # of the result
    accumulator: np.dtype
    q: object = None
    ddof: object = 0
    initial: object = None
    compensated: bool = False
    wants_arg: bool = False


def total(seg, request, op="add"):
    """Add up or multiply entries, in the order that the addressing fixes."""
    start = None
    if request.initial is not None:
        start = as_scalar(request.initial, request.accumulator, "initial")
    if seg.ids is None:
        return _total_of_ranges(seg, request, op, start)
    if seg.where is not None and seg.where.ndim > 1:
        return seg.shaped(total(seg.packed(), request, op))
    values = _weighted(seg, request.accumulator)
    if start is not None:
        return _from_start(values, seg, request, op, start)
    result = reduce_ids(
        values,
        seg.ids,
        seg.size,
        op,
        dtype=request.accumulator,
        where=seg.where,
        mode=seg.mode,
        compensated=request.compensated,
    )
    seg.is_sure = True
    return result


def _weighted(seg, dtype):
    """Return the terms of a sum: each product is rounded before it is added."""
    if seg.weights is None:
        return seg.values
    return weighted(seg.values, seg.weights, dtype)


def _from_start(values, seg, request, op, start):
    """Add entries by ids to `start`, from first to last."""
    if seg.mode != "drop":
        seg = seg.bounded()
    target = np.full((seg.size, *values.shape[1:]), start)
    return _core.scatter(
        target,
        seg.ids,
        values,
        0,
        op=op,
        where=seg.where,
        mode="drop",
        compensated=request.compensated,
        out=target,
    )


def _total_of_ranges(seg, request, op, start):
    """The same for ranges."""
    if seg.where is not None:
        return _total_of_some(seg, request, op, start)
    if seg.layout.before and not seg.has_wide_rows():
        return _total_of_columns(seg, request, op, start)
    if start is not None:
        return _ranges_from_start(seg, request, op, start)
    return fold_ranges(seg, op, request.accumulator, request.compensated)


def _total_of_some(seg, request, op, start):
    """Entries left out keep their lane, and change no bit."""
    dtype = request.accumulator
    if op == "mul" and dtype.kind == "c":
        return _product_of_some(seg, dtype, start)
    mask = seg.where.reshape(
        *seg.where.shape, *(1,) * (seg.values.ndim - seg.where.ndim)
    )
    terms = np.where(mask, _weighted(seg, dtype), neutral(op, dtype))
    whole = seg.with_values(terms.astype(dtype, copy=False), where=None)
    result = _total_of_ranges(whole, request, op, start)
    if start is None:
        np.copyto(result, identity(op, dtype), where=seg.row_counts() == 0)
    return result


def _product_of_some(seg, dtype, start):
    """Multiply complex entries, which nothing is neutral for, without some."""
    packed = seg.packed()
    values, owner = packed.values.astype(dtype), packed.ids
    if not seg.has_wide_rows():
        values, owner = _products_of_blocks(seg, packed, values)
    return seg.shaped(_products(values, owner, packed.size, start))


def _products(values, ids, size, start=None):
    """Multiply values by their ids, from `start` on, or from the first of each."""
    one = values.dtype.type(1)
    target = np.full((size, *values.shape[1:]), one if start is None else start)
    others = None
    if start is None:
        firsts = np.full(size, -1)
        _core.scatter(firsts, ids, np.arange(len(ids)), op="first", out=firsts)
        firsts = firsts[firsts >= 0]
        target[ids[firsts]] = values[firsts]
        others = np.ones(len(values), bool)
        others[firsts] = False
    return _core.scatter(target, ids, values, 0, op="mul", where=others, out=target)


def _products_of_blocks(seg, packed, values):
    """Return the products of blocks that hold entries, by lanes, and their owners."""
    columns = packed.size // max(1, seg.size)
    starts = np.repeat(seg.starts, columns)
    counts = -(-np.repeat(seg.stops - seg.starts, columns) // BLOCK)
    entries = np.arange(packed.n) if packed.positions is None else packed.positions
    rank = entries - starts[packed.ids]
    block = (np.cumsum(counts) - counts)[packed.ids] + rank // BLOCK
    lane = LANES * block + rank % LANES
    size = int(counts.sum()) * LANES
    lanes = _products(values, lane, size).reshape(-1, LANES, *values.shape[1:])
    live = (np.bincount(lane, minlength=size) > 0).reshape(-1, LANES)
    for half in (8, 4, 2, 1):
        low, high = live[:, :half], live[:, half : 2 * half]
        other = lanes[:, half : 2 * half]
        lanes = _core.scatter_where(lanes[:, :half], low & high, other, op="mul")
        lanes = _core.scatter_where(lanes, high & ~low, other)
        live = low | high
    owner = np.repeat(np.arange(len(counts)), counts)
    return lanes[live[:, 0], 0], owner[live[:, 0]]


def fold_ranges(seg, op, dtype, compensated=False):
    """Fold the ranges of segments whose entries all take part."""
    if compensated:
        seg.own()
    ends = seg.starts, seg.stops
    options = {"gather": seg.gather, "weights": seg.weights, "compensated": compensated}
    try:
        result = reduce_ranges(seg.values, *ends, op, dtype=dtype, **options)
    except RuntimeError:
        seg.ensure()  # says which number is bad
        raise
    seg.is_sure = True
    return result


def _total_of_columns(seg, request, op, start):
    """Columns that lie one after the other in memory are ranges of their own."""
    columns = math.prod(seg.rest)
    seg.own()
    values = _weighted(seg.with_rows(), request.accumulator).reshape(seg.n, columns)
    shift = (seg.n * np.arange(columns))[:, None]
    flat = seg.with_values(values.T.reshape(-1), where=None)
    flat.offsets = None
    flat.rest, flat.n, flat.size = (), seg.n * columns, seg.size * columns
    flat.starts = (seg.starts + shift).reshape(-1)
    flat.stops = (seg.stops + shift).reshape(-1)
    flat.layout = seg.layout._replace(before=())
    result = _total_of_ranges(flat, request, op, start)
    return seg.shaped(result.reshape(columns, seg.size).T)


def _ranges_from_start(seg, request, op, start):
    """Add the blocks of a range, or its rows, to `start`."""
    if request.compensated or seg.has_wide_rows():
        packed = seg.packed()
        values = _weighted(packed, request.accumulator)
        return _from_start(values, packed, request, op, start)
    seg.own()
    counts = -(-(seg.stops - seg.starts) // BLOCK)
    owner = np.repeat(np.arange(seg.size), counts)
    firsts = seg.starts[owner] + BLOCK * range_positions(0 * counts, counts)
    blocks = reduce_ranges(
        seg.values,
        firsts,
        np.minimum(firsts + BLOCK, seg.stops[owner]),
        op,
        dtype=request.accumulator,
        gather=seg.gather,
        weights=seg.weights,
    )
    target = np.full((seg.size, *blocks.shape[1:]), start)
    return _core.scatter(target, owner, blocks, 0, op=op, out=target)


def mean(seg, request):
    """The sum over the count, or over the sum of the weights; NaN where it is empty."""
    whole, counts = total(seg, request), seg.row_counts()
    if seg.weights is not None:
        weights = seg.weights.reshape(-1, *(1,) * len(seg.rest))
        spread = np.broadcast_to(weights, (seg.n, *seg.rest))
        whole /= total(seg.with_values(spread, gather=None), request)
        if whole.dtype.kind in "fc":
            np.copyto(whole, np.nan, where=counts == 0)
        return whole
    return divided(whole, counts)


@np.errstate(all="ignore")
def divided(whole, counts):
    """Return sums over counts; integers are floored, times cut, 0 / 0 is NaN."""
    kind = whole.dtype.kind
    if kind in "iu":
        return whole // counts
    if kind == "m":
        return whole / counts
    if kind == "f":
        return np.divide(whole, counts.astype(whole.dtype), out=whole)
    # Part by part: a complex quotient would round more than once.
    whole.real /= counts.astype(whole.real.dtype)
    whole.imag /= counts.astype(whole.real.dtype)
    np.copyto(whole, np.nan, where=counts == 0)
    return whole


def var(seg, request):
    """Squares about the mean, over the count less ddof."""
    centre = mean(seg, request)
    packed = seg.lean()
    centre = centre.reshape(packed.size, *packed.rest)
    squares = seg.shaped(
        deviations(packed.values, packed.ids, centre, request.compensated)
    )
    freedom = seg.row_counts() - request.ddof
    result = squares / freedom.astype(squares.dtype)
    return np.where(freedom > 0, result, np.full((), np.nan, result.dtype))


def std(seg, request):
    """The square root of the variance."""
    return np.sqrt(var(seg, request))
