"""What gives each entry something back: running forms and expansion.

A running form joins entries one by one within each segment; nothing that belongs to
another segment ever enters, so it has the bits of a loop.
"""

import math

import numpy as np

from pyscatter import _core
from pyscatter._segment_checks import (
    as_integers,
    as_plain,
    check_axis,
    check_bounds,
    check_lengths,
    check_offsets,
)
from pyscatter._segment_folds import (
    SUMS,
    identity,
    is_missing,
)
from pyscatter._segment_form import normal_form
from pyscatter._segment_names import (
    BITS,
    ORDER,
    UFUNCS,
    dtypes_of,
    op_name,
)
from pyscatter._segments import is_plan, plan_ids, stable_order

RUNNING = (*SUMS, *ORDER, *BITS)
quiet = np.errstate(all="ignore")
JOINS = {name: ufunc for ufunc, name in UFUNCS.items()}


# --- running forms --------------------------------------------------------------------


@quiet
def scan(values, address, ways):
    """Return for each entry what its segment has come to."""
    op, exclusive, reverse, dtype = ways
    op = op_name(op)
    if op not in RUNNING:
        raise ValueError(f"op {op!r} has no running form; choose from {RUNNING}")
    seg = normal_form(values, address._replace(ids=_small_ids(address.ids)))
    dtype, accumulator = dtypes_of(op, *seg.dtypes(), dtype)
    packed = _whole(seg)
    order = None if seg.ids is None else stable_order(packed.ids, packed.size)
    terms = packed.values.astype(accumulator)
    terms = terms if order is None else terms[order]
    counts = np.bincount(packed.ids, minlength=packed.size)
    counts = counts[counts > 0]
    if reverse:
        terms, counts = terms[::-1], counts[::-1]
    starts = np.cumsum(counts) - counts
    running = _running(terms, starts, counts, op).astype(dtype, copy=False)
    if exclusive:
        running = np.concatenate((running[:1], running[:-1]))
        running[starts] = identity(op, dtype)
    running = running[::-1] if reverse else running
    if order is not None:
        result = np.empty_like(running)
        result[order] = running
        running = result
    return seg.spread(running)


def _whole(seg):
    """Return packed segments that every entry belongs to."""
    packed = seg.packed()
    if packed.n != seg.n:
        raise ValueError("the plan drops entries, which then have no segment")
    return packed


def _small_ids(ids):
    """Return ids that say the same in numbers that can be counted."""
    if ids is None or is_plan(ids):
        return ids
    ids = as_integers(ids, "ids")
    top = int(ids.max()) if ids.size else 0
    check_bounds(ids, max(top + 1, 0), "ids")
    if top > 2**16 and top > 64 * ids.size:
        return np.unique(ids, return_inverse=True)[1].reshape(ids.shape)
    return ids


def _running(terms, starts, counts, op):
    """Join the terms of each segment, which lie side by side."""
    running = _joined(terms, starts, counts, JOINS[op])
    is_float = is_missing(terms) is not None and terms.dtype.kind not in "mM"
    if op not in ORDER or not is_float:
        return running
    # NumPy leaves open which zero is the less; here it is the negative one.
    winner = terms.dtype.type(-0.0 if op in ("min", "fmin") else 0.0)
    won = (terms == 0) & (np.signbit(terms) == np.signbit(winner))
    if won.any():
        won = _joined(won, starts, counts, np.bitwise_or)
    return np.where(running == 0, np.where(won, winner, -winner), running)


def _joined(terms, starts, counts, join):
    """Long segments are walked one by one, short ones all at once."""
    running = np.array(terms, order="C")
    is_long = counts > min(64, math.isqrt(len(terms)))
    firsts, lengths = starts[is_long].tolist(), counts[is_long].tolist()
    for first, length in zip(firsts, lengths, strict=True):
        part = running[first : first + length]
        join.accumulate(part, axis=0, dtype=part.dtype, out=part)
    short = np.flatnonzero(~is_long)
    short = short[np.argsort(-counts[short], kind="stable")]
    starts, counts = starts[short], counts[short]
    for rank in range(1, int(counts[0]) if len(counts) else 0):
        starts = starts[: np.count_nonzero(counts > rank)]
        here = starts + rank
        running[here] = join(running[here - 1], terms[here])
    return running


# --- expansion ------------------------------------------------------------------------


def expand(g, ids, offsets, lengths, axis):
    """Return the value of its segment for each entry."""
    g = as_plain(g, "g")
    if (ids is not None) + (offsets is not None) + (lengths is not None) != 1:
        raise TypeError("exactly one of ids, offsets, lengths is needed")
    axis = check_axis(axis, g.ndim, 0)
    size = g.shape[axis]
    if is_plan(ids):
        ids = plan_ids(ids)
    elif ids is None:
        ids = _owners(offsets, lengths, size, axis)
    else:
        ids = as_integers(ids, "ids")
    check_bounds(ids, size, "ids")
    return _core.gather(g, ids, axis)


def _owners(offsets, lengths, size, axis):
    """Return the segment of each entry."""
    name = "lengths" if offsets is None else "offsets"
    if offsets is None:
        offsets = check_lengths(lengths, None)
    else:
        offsets = check_offsets(offsets, None)
    if len(offsets) - 1 != size:
        raise ValueError(
            f"{name} names {len(offsets) - 1} segments; g has {size} along axis {axis}"
        )
    return np.repeat(np.arange(size), np.diff(offsets))
