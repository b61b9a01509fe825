"""Softmax, its logarithm, and logsumexp: what is made of exponentials of segments.

One op in C takes entries with ids, or with starts and stops. Sums are in float64, with
one rounding at the end, unless the caller names a narrower dtype; exponentials and
logarithms are the library's own, since NumPy's differ from CPU to CPU.
"""

import math

import numpy as np

from pyscatter import _core
from pyscatter._segment_checks import as_scalar
from pyscatter._segment_folds import is_real
from pyscatter._segment_form import normal_form
from pyscatter._segment_names import dtypes_of


def softmax(values, address, is_log):
    """Return exp(x) / sum(exp(x)) over each segment, or its logarithm."""
    seg = normal_form(values, address)
    types = dtypes_of("logsumexp", *seg.dtypes(), None)
    lean = seg if seg.ids is None else seg.lean()
    if lean.n != seg.n:
        raise ValueError("the plan drops entries, which then have no segment")
    form = "log_softmax" if is_log else "softmax"
    result = _run(form, lean, lean.values, types)
    is_plain = len(seg.layout.entries) == 1 and not seg.layout.before
    return result if is_plain else seg.spread(result)


def logsumexp(seg, request):
    """log(sum(exp(x))), shifted by the largest of each segment; (size, *rest)."""
    types = request.dtype, request.accumulator
    if types[1].kind == "c":  # of real values; the cast comes last
        types = (np.zeros((), types[1]).real.dtype,) * 2
    dtype, initial = types[1], request.initial
    if initial is not None:
        initial = as_scalar(initial, dtype, "initial")
    if seg.ids is not None:
        lean = seg.lean()
        return seg.shaped(_run("logsumexp", lean, lean.values, types, initial))
    values = seg.values
    if seg.where is not None:
        # Entries left out keep their lane in the sum, as zeros.
        mask = seg.where.reshape(
            *seg.where.shape, *(1,) * (values.ndim - seg.where.ndim)
        )
        values = np.where(mask, values.astype(dtype), dtype.type(-np.inf))
    return _run("logsumexp", seg, values, types, initial)


def _run(form, seg, values, types, initial=None):
    """Return what C makes of entries along the first axis, (n or size, *rest).

    Axes that lie before the entries in the caller's array go before them again, so that
    nothing is copied.
    """
    axis = 0
    dtype, accumulator = types
    if not is_real(values.dtype):
        values = values.astype(accumulator)
    if seg.layout.before and seg.rest:
        axis, before = 1, len(seg.layout.before)
        shape = math.prod(seg.rest[:before]), math.prod(seg.rest[before:])
        values = np.moveaxis(values.reshape(len(values), *shape), 0, 1)
    starts, stops = (None, None) if seg.ids is not None else (seg.starts, seg.stops)
    where = axis, seg.ids, seg.size, starts, stops, seg.gather
    result = _core.softmax(form, values, *where, accumulator, dtype, initial)
    if result is None:
        seg.ensure()
        raise RuntimeError("offsets or gather changed during the call")
    seg.is_sure = True
    if axis == 1:
        result = np.moveaxis(result, 1, 0)
        result = result.reshape(len(result), *seg.rest)
    return result
