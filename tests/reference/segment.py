"""The slow twin of the segment family: a loop over segments, a list for each of them.

Every addressing becomes the same thing: values as (batch, before, entries, rest), and
for each batch and segment the numbers of its entries in order. What a segment then
becomes is in segment_folds.py.
"""

import math
from typing import NamedTuple

import numpy as np

from .addressing import BATCH_DIMS, as_index, check_axis, check_batch, check_mode
from .gather import gather as take_rows
from .scatter import ALIASES, UFUNCS
from .segment_folds import (
    OPS,
    Fold,
    accumulator_for,
    fold_segment,
    identity,
    is_missing,
    result_dtype,
    winner_of,
)
from .values import as_target, check_writable, kind_of, native, plain

ID_MODES = ("raise", "drop", "clip", "wrap")
WINNERS = ("min", "max", "fmin", "fmax", "first", "last")


class Where(NamedTuple):
    """Which entries belong to which segment, as the caller says it."""

    ids: object = None
    num_segments: object = None
    offsets: object = None
    starts: object = None
    stops: object = None
    lengths: object = None


class Options(NamedTuple):
    """What else a reduction is told."""

    weights: object = None
    dtype: object = None
    initial: object = None
    fill_value: object = None
    q: object = None
    ddof: int = 0
    compensated: bool = False


class Segments(NamedTuple):
    """The normal form of a call."""

    values: np.ndarray  # (batch, before, entries, rest)
    members: list  # members[batch][segment] is a list of entry numbers
    batch: tuple
    around: tuple  # the axes between the batch and the segments, and those behind
    entries: tuple  # the shape that where= and weights= may have
    full: tuple  # the shape of the values, gathered

    @property
    def size(self):
        return len(self.members[0]) if self.members else 0

    @property
    def shape(self):
        """The result's."""
        return (*self.batch, *self.around[0], self.size, *self.around[1])


def settle_id(value, size, mode, position):
    """Return the segment that an id means, or None; negatives are out of range."""
    if 0 <= value < size:
        return value
    if mode == "clip" and size:
        return min(max(value, 0), size - 1)
    if mode == "wrap" and size:
        return value % size
    if mode == "drop":
        return None
    raise IndexError(f"id {value} is out of range with {size} segments ({position})")


def members_of_ids(ids, size, mode, parts):
    """Return, for rows of ids, the entries of each segment; parts[...] False: none."""
    members = []
    for row, part in zip(ids.tolist(), parts.tolist(), strict=True):
        found = [[] for _ in range(size)]
        for entry, (value, takes_part) in enumerate(zip(row, part, strict=True)):
            segment = settle_id(value, size, mode, entry) if takes_part else None
            if segment is not None:
                found[segment].append(entry)
        members.append(found)
    return members


def size_from(ids, parts, mode):
    """Return max id + 1 of the entries that take part."""
    taking = [
        value
        for value, part in zip(
            ids.ravel().tolist(), parts.ravel().tolist(), strict=True
        )
        if part
    ]
    if mode == "raise" and any(value < 0 for value in taking):
        raise IndexError("negative id")
    size = max(taking, default=-1) + 1
    if size > 2**27 and size > 64 * ids.size:
        raise ValueError(f"ids up to {size - 1}: pass num_segments")
    return max(size, 0)


def ranges_of(where, n):
    """Return (start, stop) of each segment."""
    if where.offsets is not None:
        edges = as_index(where.offsets, "offsets").tolist()
        starts, stops = edges[:-1], edges[1:]
        decreasing = any(a > b for a, b in zip(starts, stops, strict=True))
        if not edges or edges[0] != 0 or edges[-1] != n or decreasing:
            raise ValueError("offsets must go from 0 to n (use starts and stops)")
    elif where.lengths is not None:
        lengths = as_index(where.lengths, "lengths").tolist()
        if min(lengths, default=0) < 0 or sum(lengths) != n:
            raise ValueError("lengths must sum to n")
        stops = np.cumsum(lengths, dtype=int).tolist()
        starts = [stop - length for stop, length in zip(stops, lengths, strict=True)]
    else:
        starts = as_index(where.starts, "starts").tolist()
        stops = as_index(where.stops, "stops").tolist()
        if any(not 0 <= a <= b <= n for a, b in zip(starts, stops, strict=True)):
            raise ValueError("starts and stops must lie within 0 and n")
    return list(zip(starts, stops, strict=True))


# One path for every addressing: the checks of each stand where they apply.
def normal_form(values, where, gather, axis, batch_dims, mode, parts):
    """Return the Segments of a call; `parts` is where= or None."""
    values = as_target(values)
    indexed = where.ids if where.ids is not None else gather
    own = as_index(indexed, "ids").shape if indexed is not None else ()
    batch = check_batch(values.shape, own, batch_dims) if batch_dims else 0
    axis = check_axis(batch if axis is BATCH_DIMS else axis, values.ndim)
    if axis < batch:
        raise ValueError(f"axis {axis} is one of the {batch} batch axes")
    if gather is not None:
        values = take_rows(values, gather, axis, batch_dims=batch)
        own = as_index(gather).shape
    if not own:
        own = values.shape[axis : axis + 1]
    end = axis + len(own) - batch
    if own[batch:] != values.shape[axis:end]:
        raise ValueError(f"ids of shape {own} do not fit values {values.shape}")
    parts = np.ones(own, bool) if np.shape(parts) != own else np.asarray(parts)

    rows, n = math.prod(own[:batch]), math.prod(own[batch:])
    if where.ids is not None:
        ids = as_index(where.ids, "ids")
        if ids.shape != own:
            raise ValueError(f"ids of shape {ids.shape}; expected {own}")
        size = where.num_segments
        size = size_from(ids, parts, mode) if size is None else size
        flat = ids.reshape(rows, n), parts.reshape(rows, n)
        members = members_of_ids(flat[0], size, mode, flat[1])
    else:
        found = [list(range(a, b)) for a, b in ranges_of(where, n)]
        members = [found] * rows
    around = values.shape[batch:axis], values.shape[end:]
    split = rows, math.prod(around[0]), n, math.prod(around[1])
    four = plain(values).reshape(split)
    return Segments(four, members, values.shape[:batch], around, own, values.shape)


def choice(seg, where, skipna):
    """Return (which elements take part, is the choice element by element?)."""
    fine = False
    chosen = np.ones(seg.values.shape, bool)
    if where is not None:
        where = np.asarray(where)
        fine = where.shape != seg.entries
        if fine and where.shape != seg.full:
            raise ValueError(f"where has shape {where.shape}; expected {seg.entries}")
        rows, _, n, _ = seg.values.shape
        shape = seg.values.shape if fine else (rows, 1, n, 1)
        chosen &= where.reshape(shape)
    if skipna and kind_of(seg.values.dtype) not in ("bool", "int"):
        missing = [is_missing(value) for value in seg.values.ravel()]
        chosen &= ~np.array(missing, bool).reshape(chosen.shape)
    return chosen, fine or bool(skipna)


def canonical(op):
    """Return an op's own name; last is a name of its own here."""
    if isinstance(op, np.ufunc):
        return UFUNCS[op]
    name = op if op == "last" else ALIASES.get(op, op)
    if name not in OPS:
        raise ValueError(f"unknown op {op!r}; choose one of {', '.join(OPS)}")
    return name


BITS = ("and", "or", "xor")
ORDERED = ("min", "max", "fmin", "fmax", "argmin", "argmax", "median", "quantile")
SPREADS = ("var", "std", "logsumexp")
NOT_OF_KIND = {
    "float": BITS,
    "complex": (*BITS, *ORDERED, "logsumexp"),
    "longdouble": (*BITS, *SPREADS, "add", "mul", "mean"),
    "datetime": (*BITS, *SPREADS, "add", "mul", "mean"),
    "timedelta": (*BITS, *SPREADS, "mul"),
}


def check_op(op, dtype):
    """Raise TypeError unless `op` has a meaning for `dtype`."""
    if op in NOT_OF_KIND.get(kind_of(dtype), ()):
        raise TypeError(f"op {op!r} is not defined for {dtype}")


def walk(seg, chosen):
    """Yield for each element of the result its place, and its entries in order."""
    rows, before, _, rest = seg.values.shape
    for b, p, s, w in np.ndindex(rows, before, seg.size, rest):
        entries = [
            (e, seg.values[b, p, e, w] if chosen[b, p, e, w] else None)
            for e in seg.members[b][s]
        ]
        yield (b, p, s, w), entries


def counts_of(seg, chosen, fine):
    """Return how many entries each segment has, or each element of the result."""
    rows, before, _, rest = seg.values.shape
    counts = np.zeros((rows, before, seg.size, rest), np.int64)
    for place, entries in walk(seg, chosen):
        counts[place] = sum(value is not None for _, value in entries)
    if fine:
        return counts.reshape(seg.shape)
    coarse = np.zeros((*seg.batch, seg.size), np.int64).reshape(rows, seg.size)
    for b, s in np.ndindex(coarse.shape):
        # Without rows or rest there is no element that could be asked.
        whole = seg.members[b][s]
        taken = [chosen[b, 0, e, 0] for e in whole] if before * rest else whole
        coarse[b, s] = sum(map(bool, taken)) if before * rest else len(whole)
    return coarse.reshape(*seg.batch, seg.size)


def fold_for(op, given, ranged, options):
    """Return the Fold of an op on values of dtype `given`, and the accumulator."""
    result = result_dtype(op, given, options.dtype)
    accumulator = accumulator_for(op, given, options.dtype)
    start = options.initial
    if start is not None:
        start = np.array(start).astype(accumulator)[()]
    rest = options.q, options.ddof, options.compensated
    return Fold(op, result, ranged is not None, bool(ranged), start, *rest), accumulator


def reduce_one(seg, chosen, op, ranged, options):
    """Return (result, arg) of one op."""
    given, weights = native(seg.values.dtype), options.weights
    if weights is not None:
        weights = np.broadcast_to(weights, seg.entries)
        weights = weights.reshape(seg.values.shape[0], -1)
        given = np.result_type(given, weights)
    laned = seg.values.shape[-1] == 1 if ranged else None
    fold, accumulator = fold_for(op, given, laned, options)
    seg = seg._replace(values=seg.values.astype(accumulator))

    shape = (seg.values.shape[0], seg.values.shape[1], seg.size, seg.values.shape[3])
    lead = np.shape(fold.q) if op == "quantile" else ()
    flat = np.full((*lead, *shape), empty_value(fold, options.fill_value), fold.result)
    arg = np.full(shape, -1, np.int64)
    for place, entries in walk(seg, chosen):
        if all(value is None for _, value in entries):
            continue
        own = None
        if weights is not None:
            row = weights[place[0]].astype(accumulator)
            own = [row[e] for e, _ in entries]
        flat[(..., *place)] = fold_segment(fold, entries, own)
        if op in WINNERS:
            arg[place] = winner_of(fold, entries)
    return flat.reshape(*lead, *seg.shape), arg.reshape(seg.shape)


def empty_value(fold, fill_value):
    """Return what an empty segment holds."""
    if fill_value is not None:
        return fill_value
    if fold.start is not None and fold.op in ("argmin", "argmax"):
        return -1
    return identity(fold.op, fold.result) if fold.start is None else fold.start


# Half of its lines are the signature.
@np.errstate(all="ignore")
def segment_reduce(
    values,
    ids=None,
    num_segments=None,
    *,
    offsets=None,
    starts=None,
    stops=None,
    lengths=None,
    gather=None,
    weights=None,
    axis=BATCH_DIMS,
    batch_dims=0,
    op="add",
    q=None,
    ddof=0,
    initial=None,
    fill_value=None,
    where=None,
    skipna=False,
    mode="raise",
    return_arg=False,
    return_counts=False,
    assume_sorted=False,
    dtype=None,
    compensated=False,
    out=None,
):
    """Reduce each segment of an axis to one value."""
    check_mode(mode, ID_MODES)
    if values is None:
        values = np.zeros(count_entries(ids, offsets, lengths), bool)
    if assume_sorted and np.any(np.diff(np.asarray(ids).ravel().astype(object)) < 0):
        raise ValueError("ids are not sorted")
    said = Where(ids, num_segments, offsets, starts, stops, lengths)
    seg = normal_form(values, said, gather, axis, batch_dims, mode, where)
    chosen, fine = choice(seg, where, skipna)
    options = Options(weights, dtype, initial, fill_value, q, ddof, compensated)
    results, args = zip(*reduce_all(seg, chosen, op, ids is None, options), strict=True)
    many = isinstance(op, tuple)
    if out is not None:
        results = write_all(out if many else (out,), results)
    parts = [results if many else results[0]]
    if return_arg:
        parts.append(args if many else args[0])
    if return_counts:
        parts.append(counts_of(seg, chosen, fine))
    return parts[0] if len(parts) == 1 else tuple(parts)


def reduce_all(seg, chosen, op, ranged, options):
    """Return (result, arg) of each op."""
    names = [canonical(name) for name in (op if isinstance(op, tuple) else (op,))]
    for name in names:
        check_op(name, seg.values.dtype)
    return [reduce_one(seg, chosen, name, ranged, options) for name in names]


def write_all(outs, results):
    """Put results into arrays of the caller's."""
    for target, result in zip(outs, results, strict=True):
        check_writable(target, result.shape)
        np.copyto(target, result, casting="same_kind")
    return outs


def count_entries(ids, offsets, lengths):
    """Return the shape of the entries of a call without values."""
    if ids is not None:
        return np.shape(ids)
    return (int(np.sum(lengths)) if lengths is not None else int(offsets[-1]),)
