"""The normal form of a call on segments, and how it is packed.

Entries lie along the first axis of the values; each has an id, or its place in ranges.
The primitives take ids or ranges as they are; what needs more (which entry it was, an
order, the value of another entry) takes packed segments: ids within bounds for those
entries alone that take part.
"""

import math
from typing import NamedTuple

import numpy as np

from pyscatter import _core
from pyscatter._segment_checks import (
    check_offsets,
    check_ranges,
    check_rows,
    resolve,
)
from pyscatter._segment_folds import range_positions, reduce_ids

PLAN = getattr(_core, "Plan", ())


class Address(NamedTuple):
    """Which entries belong to which segment, as the caller says it."""

    ids: object = None
    num_segments: object = None
    offsets: object = None
    starts: object = None
    stops: object = None
    lengths: object = None
    gather: object = None
    axis: object = ...
    batch_dims: object = 0
    mode: str = "raise"
    assume_sorted: bool = False


class Layout(NamedTuple):
    """Where the axes of a result belong."""

    batch: tuple  # leading axes that ids and values share
    before: tuple  # axes of the values between these and the segment axis
    after: tuple  # axes behind the segment axis
    entries: tuple  # the axes of the entries, batches included

    @property
    def own(self):
        """The axes of the entries without those of the batch."""
        return self.entries[len(self.batch) :]


class Segments:
    """Entries along axis 0 of `values`, and what they belong to."""

    __slots__ = (
        "values",  # (n, *rest), or None, or the rows that `gather` names
        "n",
        "rest",
        "size",  # segments, of all batches
        "segments",  # in each batch
        *("ids", "mode"),  # (n,), or a Plan, or None
        *("starts", "stops", "offsets"),  # (size,) or None, (size + 1,) or None
        "gather",  # (n,) row numbers, or None
        "is_sure",  # have ids, or ranges and rows, been within bounds already?
        "is_own",  # can nobody else write to ranges and rows?
        "where",  # (n,) or (n, *rest) of bools, or None
        "named",  # (n,) of bools or None: the entries whose ids are looked at
        "weights",  # (n,) or None
        "is_fine",  # are entries chosen element by element?
        "layout",
        "positions",  # of packed entries: their numbers, None for all
        "cache",
    )

    def __init__(self, values, n, rest, layout):
        self.values, self.n, self.rest, self.layout = values, n, rest, layout
        self.size = self.segments = 0
        self.ids = self.starts = self.stops = self.gather = None
        self.where = self.named = self.weights = self.positions = None
        self.offsets, self.mode = None, "raise"
        self.is_sure = self.is_own = self.is_fine = False
        self.cache = {}

    def dtypes(self):
        """Return the dtypes of values and weights; None for weights that are not."""
        given = np.dtype(bool) if self.values is None else self.values.dtype
        return given, None if self.weights is None else self.weights.dtype

    def restore(self, result):
        """Return a result (size, *rest) with its axes where the values have them."""
        batch, before, after, _ = self.layout
        if not batch and not before:
            return np.array(result, order="C", copy=None)
        result = result.reshape(*batch, self.segments, *before, *after)
        result = np.moveaxis(result, len(batch), len(batch) + len(before))
        return np.array(result, order="C", copy=None)

    def shape(self):
        """Return the shape of a result with its axes in place."""
        batch, before, after, _ = self.layout
        return (*batch, *before, self.segments, *after)

    def restored_counts(self):
        """Return the counts with the axes that the caller expects."""
        counts = self.counts()
        if self.is_fine:
            return self.restore(counts)
        return counts.reshape(*self.layout.batch, self.segments)

    def spread(self, result):
        """Return what each entry has come to, (n, *rest), in the values' shape."""
        batch, before, after, entries = self.layout
        own = self.layout.own
        result = result.reshape((*entries, *before, *after))
        ends = len(entries), len(entries) + len(before)
        order = [
            *range(len(batch)),
            *range(*ends),
            *range(len(batch), len(batch) + len(own)),
            *range(ends[1], result.ndim),
        ]
        return np.array(result.transpose(order), order="C", copy=None)

    def with_values(self, values, where=..., gather=...):
        """Return the same segments of other values, without weights."""
        other = Segments(values, self.n, self.rest, self.layout)
        other.size, other.segments = self.size, self.segments
        other.ids, other.mode = self.ids, self.mode
        other.starts, other.stops = self.starts, self.stops
        other.offsets, other.is_sure = self.offsets, self.is_sure
        other.is_own, other.is_fine = self.is_own, self.is_fine
        other.where = self.where if where is ... else where
        other.gather = self.gather if gather is ... else gather
        other.positions, other.named = self.positions, self.named
        return other

    def with_rows(self):
        """Return the same segments with rows that gather names made an array."""
        if self.gather is None:
            return self
        self.own()
        other = self.with_values(self.values[self.gather], gather=None)
        other.weights = self.weights
        return other

    def ensure(self):
        """Raise the error of offsets or rows that are no ranges or out of bounds.

        The kernels check what they use, so calls that need nothing else come here only
        for the words.
        """
        if self.ids is not None:
            return
        if self.offsets is not None:
            check_offsets(self.offsets, self.n)
        else:
            check_ranges(self.starts, self.stops, self.n)
        if self.gather is not None:
            check_rows(self.gather, len(self.values), "gather")

    def check_listed(self):
        """Raise IndexError for rows of gather= that no range names either.

        Offsets name every row, and kernels check what they use.
        """
        if self.ids is None and self.offsets is None and self.gather is not None:
            check_rows(self.gather, len(self.values), "gather")

    def own(self):
        """Make ranges and rows our own, and check them.

        NumPy checks an index before it uses it, so nobody else may write to it
        meanwhile.
        """
        if self.ids is not None or self.is_own:
            return
        if self.offsets is not None:
            self.offsets = self.offsets.copy()
            self.starts, self.stops = self.offsets[:-1], self.offsets[1:]
        else:
            self.starts, self.stops = self.starts.copy(), self.stops.copy()
        self.gather = None if self.gather is None else self.gather.copy()
        self.ensure()
        self.is_own = True

    def bounded(self):
        """Return the same segments with ids that are within bounds where they count."""
        ids, mode, named = self.ids, self.mode, self.named
        if is_plan(ids):
            ids, mode = plan_ids(ids), "drop"
        ids, named = resolve(ids, self.size, mode, named)
        where = self.where
        if where is None:
            where = named
        elif named is not None:
            where = where & named.reshape(self.n, *(1,) * (where.ndim - 1))
        other = self.with_values(self.values, where)
        other.ids, other.named, other.mode = ids, named, "raise"
        other.weights = self.weights
        return other

    def lean(self):
        """Return packed segments for kernels, which check what they use."""
        is_plain = isinstance(self.ids, np.ndarray) and self.where is None
        return self if is_plain and self.mode == "raise" else self.packed()

    def has_wide_rows(self):
        """Are there axes behind the segments, whose elements lie side by side?"""
        return math.prod(self.layout.after) != 1

    def shaped(self, result):
        """Return what packed segments gave as (size, *rest)."""
        return result.reshape(self.size, *self.rest)

    def counts(self):
        """Return how many entries take part, (size,) or (size, *rest) if is_fine."""
        if "counts" not in self.cache:
            self.cache["counts"] = _counts(self)
        return self.cache["counts"]

    def row_counts(self):
        """Return the counts in a shape that broadcasts against (size, *rest)."""
        counts = self.counts()
        if self.is_fine:
            return counts
        return counts.reshape(self.size, *(1,) * len(self.rest))

    def packed(self):
        """Return the entries that take part, by ids within bounds, as Segments.

        Entries chosen element by element become segments of elements, one for each
        column, so that no packed entry is ever left out.
        """
        if "packed" not in self.cache:
            self.cache["packed"] = _pack(self)
        return self.cache["packed"]


ONE = np.ones((), np.int64)


def ones(n):
    """Return n ones that share their memory."""
    return np.ndarray((n,), ONE.dtype, ONE, strides=(0,))


def count_ids(n, ids, size, **options):
    """Return how many of n entries each segment has."""
    return reduce_ids(ones(n), ids, size, "add", dtype=ONE.dtype, **options)


def is_plan(ids):
    """Are these ids a Plan: checked, sorted, and kept by the caller?"""
    return isinstance(ids, PLAN)


def plan_ids(plan):
    """Return the ids that a plan holds, -1 for those that it drops."""
    if plan.has_negative and plan.mode == "raise":
        raise IndexError("the plan holds negative indices, which are no segment ids")
    return _core.plan_index(plan)


# --- packing --------------------------------------------------------------------------


def _counts(seg):
    """Count the entries of each segment that take part."""
    if seg.ids is not None and np.ndim(seg.where) < 2:
        counts = count_ids(seg.n, seg.ids, seg.size, where=seg.where, mode=seg.mode)
        seg.is_sure = True
    elif seg.ids is not None:
        packed = seg.packed()
        counts = seg.shaped(np.bincount(packed.ids, minlength=packed.size))
    elif seg.where is None:
        if not seg.is_sure:
            seg.ensure()
        counts = seg.stops - seg.starts
    else:
        seg.own()
        sums = np.zeros((seg.n + 1, *seg.where.shape[1:]), np.int64)
        np.cumsum(seg.where, axis=0, dtype=np.int64, out=sums[1:])
        counts = sums[seg.stops] - sums[seg.starts]
    return _as_fine(seg, counts)


def _as_fine(seg, counts):
    if not seg.is_fine or counts.ndim > 1:
        return counts
    counts = counts.reshape(seg.size, *(1,) * len(seg.rest))
    return np.array(np.broadcast_to(counts, (seg.size, *seg.rest)))


def _pack(seg):
    """Return packed segments; see there."""
    ids, positions, where = _exploded(seg)
    rows, values, weights = seg.gather, seg.values, seg.weights
    if positions is not None:
        rows = positions if rows is None else rows[positions]
    if rows is not None and values is not None:
        values = values[rows]
    if positions is not None:
        weights = None if weights is None else weights[positions]
        where = None if where is None else where[positions]
    packed = Segments(values, len(ids), seg.rest, seg.layout)
    packed.size, packed.ids = seg.size, ids
    packed.weights, packed.positions = weights, positions
    if where is not None:
        _drop(packed, where)
    return packed


def _exploded(seg):
    """Return ids within bounds, the entries they are for or None for all, and where."""
    if seg.ids is None:
        seg.own()
        lengths = seg.stops - seg.starts
        ids = np.repeat(np.arange(seg.size), lengths)
        positions = None
        if seg.offsets is None:
            positions = range_positions(seg.starts, lengths)
        return ids, positions, seg.where
    bounded = seg.bounded()
    return bounded.ids, None, bounded.where


def _drop(packed, where):
    """Keep the entries, or the elements, where it is true."""
    entry, ids = np.flatnonzero(where), packed.ids
    values, positions = packed.values, packed.positions
    if where.ndim > 1:
        width = math.prod(packed.rest)
        entry, column = np.divmod(entry, max(1, width))
        values = values[where]
        ids = ids[entry] * width + column
        packed.size, packed.rest = packed.size * width, ()
    else:
        values = None if values is None else values[entry]
        ids = ids[entry]
    packed.values, packed.ids, packed.n = values, ids, len(entry)
    packed.positions = entry if positions is None else positions[entry]
    if packed.weights is not None:
        packed.weights = packed.weights[entry]
