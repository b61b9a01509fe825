"""What gives each entry something back: running forms and expansion."""

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
from pyscatter._segment_folds import SUMS
from pyscatter._segment_form import normal_form
from pyscatter._segment_names import BITS, ORDER, dtypes_of, op_name
from pyscatter._segments import is_plan, plan_ids

RUNNING = (*SUMS, *ORDER, *BITS)
quiet = np.errstate(all="ignore")


# --- running forms --------------------------------------------------------------------


def scan(values, address, ways):
    """Return for each entry what its segment has come to."""
    running = _short_way(values, address, ways)
    return _long_way(values, address, ways) if running is None else running


def _short_way(values, address, ways):
    """Return the result of a common call, or None.

    Common are arrays as kernels take them, with a vector of ids or offsets.
    """
    op, exclusive, reverse, dtype = ways
    ids, offsets = address.ids, address.offsets
    index = ids if offsets is None else offsets
    is_common = (
        type(values) is type(index) is np.ndarray
        and (ids is None or offsets is None)
        and address.lengths is None
        and type(address.axis) is int
        and address.axis == 0
        and type(op) is str
        and op in RUNNING
        and values.ndim > 0
        and index.ndim == 1
        and index.dtype.kind in "iu"
        and (ids is None or len(ids) == len(values))
    )
    if not is_common:
        return None
    given = values.dtype
    dtype, accumulator = dtypes_of(op, given, None, dtype)
    if accumulator != given:
        return None  # a cast, which may have to be silenced
    return _core.segment_scan(
        values, ids, offsets, op, exclusive, reverse, dtype, accumulator
    )


@quiet
def _long_way(values, address, ways):
    op, exclusive, reverse, dtype = ways
    op = op_name(op)
    if op not in RUNNING:
        raise ValueError(f"op {op!r} has no running form; choose from {RUNNING}")
    ids = address.ids
    if ids is not None and not is_plan(ids):
        address = address._replace(num_segments=0)  # ids may be any numbers
    seg = normal_form(values, address)
    dtype, accumulator = dtypes_of(op, *seg.dtypes(), dtype)
    ids = plan_ids(seg.ids) if is_plan(seg.ids) else seg.ids
    running = _core.segment_scan(
        seg.values, ids, seg.offsets, op, exclusive, reverse, dtype, accumulator
    )
    if running is None:
        _raise_unfit(seg, ids, is_plan(address.ids))
    return seg.spread(running)


def _raise_unfit(seg, ids, from_plan):
    """Raise the error of ids below 0, or of offsets that are none."""
    if from_plan:
        raise ValueError("the plan drops entries, which then have no segment")
    if ids is None:
        seg.ensure()
    else:
        check_bounds(ids, max(int(ids.max()) + 1, 0), "ids")
    raise RuntimeError("ids or offsets changed during the call")


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
