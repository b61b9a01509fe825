"""Median and quantile of segments: what the order of a segment's entries decides."""

import numpy as np

from pyscatter import _core
from pyscatter._segments import is_plan, plan_ids


def missing_of(dtype):
    """Return NaT or NaN."""
    if dtype.kind in "mM":
        return np.array("NaT", dtype)
    return np.array(np.nan).astype(dtype)


def order_statistic(seg, request):
    """Return the median, or quantiles, of each segment."""
    dtype, levels = request.accumulator, request.q
    if request.op == "median":
        levels = 0.5 if dtype.kind == "M" else None  # NumPy adds no dates to halve them
    is_fine = np.ndim(seg.where) > 1
    named, where = (seg.named, seg.where) if is_fine else (seg.where, None)
    ids, mode = seg.ids, seg.mode
    if is_plan(ids):
        ids, mode = plan_ids(ids), "drop"
    starts, stops = (None, None) if ids is not None else (seg.starts, seg.stops)
    result = _core.segment_quantile(
        *(seg.values, ids, starts, stops, seg.size, seg.gather, named, where, mode),
        *(dtype, None if levels is None else np.reshape(levels, -1).astype(float)),
    )
    if result is None:
        seg.ensure()
        raise RuntimeError("offsets or gather changed during the call")
    is_one = levels is not None and np.ndim(levels) == 0
    return result[0] if is_one else result, None
