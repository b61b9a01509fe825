"""The slow twins of what goes with segment_reduce: running forms, expansion, counts."""

import numpy as np

from .addressing import as_index, check_axis
from .combine import combiner, greatest
from .gather import gather as take_rows
from .segment import Where, canonical, normal_form, walk
from .segment_folds import (
    accumulator_for,
    accumulator_of,
    chain,
    identity,
    join,
    result_dtype,
)
from .values import as_target, native


def addressed(values, ids, num_segments, offsets, lengths, axis):
    """Return the Segments of the functions that know no starts and stops."""
    said = Where(ids, num_segments, offsets, None, None, lengths)
    return normal_form(values, said, None, axis, 0, "raise", None)


@np.errstate(all="ignore")
def segment_scan(
    values,
    ids=None,
    *,
    offsets=None,
    lengths=None,
    axis=0,
    op="add",
    exclusive=False,
    reverse=False,
    dtype=None,
):
    """Return at each entry what its segment has come to."""
    seg = addressed(values, ids, None, offsets, lengths, axis)
    op = canonical(op)
    result = result_dtype(op, native(seg.values.dtype), dtype)
    accumulator = accumulator_of(op, seg.values.dtype, result)
    combine = combiner(op, accumulator)
    flat = np.empty(seg.values.shape, result)
    seg = seg._replace(values=seg.values.astype(accumulator))
    for (b, p, _, w), entries in walk(seg, np.ones(seg.values.shape, bool)):
        running = None
        for e, value in entries[::-1] if reverse else entries:
            before, running = running, join(combine, running, value)
            seen = before if exclusive else running
            flat[b, p, e, w] = identity(op, result) if seen is None else seen
    return flat.reshape(seg.full)


def segment_expand(g, ids=None, *, offsets=None, lengths=None, axis=0):
    """Give each entry the value of its segment."""
    g = as_target(g)
    if ids is None:
        lengths = np.diff(offsets) if lengths is None else np.asarray(lengths)
        ids = np.repeat(np.arange(len(lengths)), lengths.astype(int))
    return take_rows(g, ids, axis, mode="raise")


def shifted(values, ids, offsets, lengths, axis, finish):
    """Return finish(x - top, sum of exp(x - top)) at each entry, top its segment's."""
    seg = addressed(values, ids, None, offsets, lengths, axis)
    result = result_dtype("logsumexp", native(seg.values.dtype), None)
    accumulator = accumulator_for("logsumexp", native(seg.values.dtype), None)
    seg = seg._replace(values=seg.values.astype(accumulator))
    flat = np.empty(seg.values.shape, result)
    for (b, p, _, w), entries in walk(seg, np.ones(seg.values.shape, bool)):
        top = chain([value for _, value in entries], greatest, None)
        whole = sum(np.exp(value - top) for _, value in entries)
        for e, value in entries:
            flat[b, p, e, w] = finish(value - top, whole)
    return flat.reshape(seg.full)


@np.errstate(all="ignore")
def segment_softmax(values, ids=None, *, offsets=None, lengths=None, axis=0):
    """Return exp(x) / sum(exp(x)) over each segment."""
    return shifted(values, ids, offsets, lengths, axis, lambda x, s: np.exp(x) / s)


@np.errstate(all="ignore")
def segment_log_softmax(values, ids=None, *, offsets=None, lengths=None, axis=0):
    """Return x - log(sum(exp(x))) over each segment."""
    return shifted(values, ids, offsets, lengths, axis, lambda x, s: x - np.log(s))


def bincount(
    x, weights=None, minlength=0, *, axis=None, where=None, dtype=None, out=None
):
    """Count, or sum the weights of, each number in x."""
    x = as_index(x, "x")
    if axis is None and x.ndim != 1:
        raise ValueError("x must have one axis unless axis= names that of the numbers")
    parts = np.ones(x.shape, bool) if where is None else np.asarray(where)
    if any(value < 0 for value in x[parts].tolist()):
        raise ValueError("negative number in x")
    size = max(minlength, 0, *(value + 1 for value in x[parts].tolist()))
    if out is not None and size > out.shape[axis or 0]:
        raise IndexError("out is too short")
    axis = 0 if axis is None else check_axis(axis, x.ndim)
    rest = () if weights is None else np.shape(weights)[x.ndim :]
    if dtype is None:
        dtype = np.int64
        if weights is not None:
            dtype = complex if np.asarray(weights).dtype.kind == "c" else float
    shape = (*x.shape[:axis], size, *x.shape[axis + 1 :], *rest)
    counts = np.zeros(shape, dtype) if out is None else out
    for here in np.ndindex(x.shape):
        if parts[here]:
            place = (*here[:axis], int(x[here]), *here[axis + 1 :])
            counts[place] += 1 if weights is None else np.asarray(weights)[here]
    return counts
