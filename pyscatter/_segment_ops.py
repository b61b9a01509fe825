"""The reductions of segments: their table, and what is not made of sums.

A reduction takes `Segments` and a `Request` and returns an array (size, *rest), and
the numbers of the entries that won or None. Whether a segment is empty is asked of
counts, never of a value.
"""

from typing import NamedTuple

import numpy as np

from pyscatter import _core
from pyscatter._segment_checks import as_scalar, check_bounds
from pyscatter._segment_folds import find_ids, is_missing, reduce_ids
from pyscatter._segment_form import normal_form
from pyscatter._segment_names import (
    MOMENTS,
    ORDER,
    PICKS,
    WIDE,
    casts,
    dtypes_of,
    op_name,
)
from pyscatter._segment_softmax import logsumexp
from pyscatter._segment_sort import missing_of, order_statistic
from pyscatter._segment_sums import (
    Request,
    fold_ranges,
    mean,
    std,
    total,
    var,
)
from pyscatter._segments import Address

# --- one winner -----------------------------------------------------------------------


def extreme(seg, request):
    """Reductions whose order does not matter, and the entry that min and kin found."""
    dtype, op = request.accumulator, request.op
    best = _best(seg, op, dtype)
    arg = _winners(seg, op, dtype) if request.wants_arg else None
    if request.initial is None:
        return best, arg
    initial = as_scalar(request.initial, dtype, "initial")
    start = np.full(best.shape, initial)
    some = np.broadcast_to(seg.row_counts() > 0, best.shape)
    best = _core.scatter_where(start, some, best, op=op)
    if arg is not None:
        arg[_are_same(best, initial)] = -1
    return best, arg


def _best(seg, op, dtype):
    if seg.where is not None and (seg.ids is None or seg.where.ndim > 1):
        return seg.shaped(_best(seg.packed(), op, dtype))
    values = seg.values.astype(dtype, copy=False)
    if seg.ids is None:
        return fold_ranges(seg.with_values(values), op, dtype)
    options = {"dtype": dtype, "where": seg.where, "mode": seg.mode}
    result = reduce_ids(values, seg.ids, seg.size, op, **options)
    seg.is_sure = True
    return result


def _are_same(values, value):
    """Where is it the same number, zeros told apart by their sign?"""
    same = values == value
    missing = is_missing(values)
    if missing is None:
        return same
    if values.dtype.kind not in "mM":
        same &= np.signbit(values) == np.signbit(value)
    return same | (missing & is_missing(value))


def _winners(seg, op, dtype=None):
    """Return the entry number of each segment's winner, -1 where there is none."""
    packed = seg.lean()
    values = packed.values if dtype is None else packed.values.astype(dtype, copy=False)
    found = find_ids(values, packed.ids, packed.size, op)
    return seg.shaped(_positions(seg, packed, found))


def _positions(seg, packed, found):
    """Return the numbers that entries of packed segments have for the caller."""
    missing = found < 0
    if packed.positions is not None and packed.n:
        found = np.where(missing, -1, packed.positions[found])
    if seg.layout.batch:
        length = seg.n // max(1, seg.size // max(1, seg.segments))
        found = np.where(missing, -1, found % max(1, length))
    return found


def arg_extreme(seg, request):
    """Where the least or the greatest is."""
    op = request.op.removeprefix("arg")
    if request.initial is None:
        return _winners(seg, op, request.accumulator), None
    named = request._replace(op=op, wants_arg=True)
    return extreme(seg, named)[1], None


def pick(seg, request):
    """The first or the last entry, whatever it is."""
    dtype = request.accumulator
    fill = np.zeros((), dtype)
    if request.initial is not None:
        fill = as_scalar(request.initial, dtype, "initial")
    elif is_missing(fill) is not None:
        fill = missing_of(dtype)
    result = np.full((seg.size, *seg.rest), fill, dtype)
    if request.wants_arg or np.ndim(seg.where) > 1:
        return _pick_packed(seg, request, result)
    if seg.ids is None:
        return _pick_of_ranges(seg, request, result)
    if not isinstance(seg.ids, np.ndarray) or seg.mode != "raise":
        seg = seg.bounded()
    else:
        check_bounds(seg.ids, seg.size, "ids", seg.named)
    options = {"op": request.op, "where": seg.where, "out": result}
    return _core.scatter(result, seg.ids, seg.values, 0, **options), None


def _pick_of_ranges(seg, request, result):
    """The same for ranges, whose ends say which rows it is."""
    if seg.where is not None:
        return _pick_packed(seg, request, result)
    seg.own()
    some = seg.stops > seg.starts
    rows = (seg.starts if request.op == "first" else seg.stops - 1)[some]
    result[some] = seg.values[rows if seg.gather is None else seg.gather[rows]]
    return result, None


def _pick_packed(seg, request, result):
    """The same with the numbers of entries."""
    packed = seg.packed()
    found = find_ids(packed.values, packed.ids, packed.size, request.op)
    if packed.n:
        taken = np.take_along_axis(packed.values, np.maximum(found, 0), 0)
        is_taken = seg.shaped(found >= 0)
        np.copyto(result, seg.shaped(taken), where=is_taken, casting="unsafe")
    arg = seg.shaped(_positions(seg, packed, found)) if request.wants_arg else None
    return result, arg


# --- all entries ----------------------------------------------------------------------


def truth(seg, request):
    """Is any entry true, or are all? NaN and NaT are."""
    op = "or" if request.op == "any" else "and"
    bools = seg.with_values(seg.values.astype(bool))
    return extreme(bools, request._replace(op=op, accumulator=np.dtype(bool)))


def count(seg, request):
    """How many entries take part, for each element of the result."""
    counts = np.broadcast_to(seg.row_counts(), (seg.size, *seg.rest))
    return counts.astype(np.int64), None


# --- the table ------------------------------------------------------------------------


def _alone(function):
    """Give a reduction that has no winners the common form."""
    return lambda seg, request: (function(seg, request), None)


OPS = {
    "add": _alone(total),
    "mul": _alone(lambda seg, request: total(seg, request, "mul")),
    "min": extreme,
    "max": extreme,
    "fmin": extreme,
    "fmax": extreme,
    "and": extreme,
    "or": extreme,
    "xor": extreme,
    "mean": _alone(mean),
    "var": _alone(var),
    "std": _alone(std),
    "count": count,
    "first": pick,
    "last": pick,
    "any": truth,
    "all": truth,
    "argmin": arg_extreme,
    "argmax": arg_extreme,
    "logsumexp": _alone(logsumexp),
    "median": order_statistic,
    "quantile": order_statistic,
}


# --- running --------------------------------------------------------------------------


# The signature is that of segment_reduce, whose binding calls this where it has no way
# of its own.
def reduce_in_python(
    values=None,
    ids=None,
    num_segments=None,
    *,
    offsets=None,
    starts=None,
    stops=None,
    lengths=None,
    gather=None,
    weights=None,
    axis=...,
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
    """Return what segment_reduce does, whatever its options, or raise its error."""
    address = Address(
        *(ids, num_segments, offsets, starts, stops, lengths, gather, axis, batch_dims),
        *(mode, assume_sorted),
    )
    choice = where, weights, skipna
    ways = Options(q, ddof, initial, fill_value, return_arg, dtype, compensated)
    results, args, counts = reduce(values, address, choice, op, ways)
    is_many = isinstance(op, tuple)
    if out is not None:
        results = write_out(out, results, is_many)
    parts = [results if is_many else results[0]]
    if return_arg:
        parts.append(args if is_many else args[0])
    if return_counts:
        parts.append(counts())
    return parts[0] if len(parts) == 1 else tuple(parts)


class Options(NamedTuple):
    """What the caller asks for, for every op of a call."""

    q: object
    ddof: object
    initial: object
    fill_value: object
    return_arg: bool
    dtype: object
    compensated: bool


@np.errstate(all="ignore")
def reduce(values, address, choice, op, options):
    """Return (results, args, a function that gives counts) of a call."""
    where, weights, skipna = choice
    names = [op_name(name) for name in (op if isinstance(op, tuple) else (op,))]
    if not names:
        raise ValueError("op is an empty tuple; expected at least one name")
    for name in names:
        _check_options(name, options, weights is not None)
        if values is None and name != "count":
            raise TypeError("values is None, which goes with op='count' alone")
    seg = normal_form(values, address, where, weights, skipna)
    pairs = [_reduce_one(seg, name, options) for name in names]
    results, args = zip(*pairs, strict=True)
    return results, args, seg.restored_counts


def _reduce_one(seg, op, options):
    """Return (result, arg) of one op, with the caller's axes."""
    q, ddof, initial, fill_value, wants_arg, dtype, compensated = options
    given, weights = seg.dtypes()
    dtype, accumulator = dtypes_of(op, given, weights, dtype)
    request = Request(op, dtype, accumulator, q, ddof, initial, compensated, wants_arg)
    result, arg = OPS[op](seg, request)
    result = result.astype(dtype, copy=False)
    if fill_value is not None:
        fill = as_scalar(fill_value, dtype, "fill_value")
        is_empty = np.broadcast_to(seg.row_counts() == 0, (seg.size, *seg.rest))
        result[..., is_empty] = fill
    if result.ndim > 1 + len(seg.rest):
        shape = (len(result), *seg.shape())
        levels = [seg.restore(level) for level in result]
        return np.array(levels, dtype).reshape(shape), arg
    return seg.restore(result), None if arg is None else seg.restore(arg)


def _check_options(op, options, has_weights):
    """Raise the error of an option that an op does not have."""
    initial, q = options.initial, options.q
    if has_weights and op not in ("add", "mean"):
        raise TypeError(f"weights= goes with add and mean, not {op!r}")
    if options.compensated and op not in ("add", *WIDE):
        raise ValueError(f"compensated= goes with add, {', '.join(WIDE)}, not {op!r}")
    if initial is not None and op in (*MOMENTS, "count"):
        raise TypeError(f"initial= has no meaning for {op!r}")
    if initial is not None and options.fill_value is not None:
        raise TypeError("initial= and fill_value= exclude each other")
    if options.return_arg and op not in (*ORDER, *PICKS):
        raise TypeError(f"return_arg= goes with {', '.join(ORDER + PICKS)}, not {op!r}")
    ddof = np.asarray(options.ddof)
    if ddof.ndim or ddof.dtype.kind not in "biuf":
        raise TypeError(f"'ddof' must be a real number, not {options.ddof!r}")
    if op == "quantile" and q is None:
        raise TypeError("op='quantile' needs q=, numbers from 0 to 1")
    if q is not None:
        _check_levels(q)


def _check_levels(q):
    """Raise an error unless q is a number from 0 to 1, or a list of them."""
    levels = np.asarray(q)
    if levels.dtype.kind not in "iuf" and levels.size:
        raise TypeError(f"q is {q!r}; expected numbers from 0 to 1")
    if levels.ndim > 1 or not np.all((levels >= 0) & (levels <= 1)):
        raise ValueError(
            f"q is {q!r}; expected a number from 0 to 1, or a list of them"
        )


def _share_memory(one, other):
    """Do two arrays share a byte? Also where that is too hard to tell."""
    try:
        return np.shares_memory(one, other, max_work=1000)
    except np.exceptions.TooHardError:
        return True


@np.errstate(all="ignore")
def write_out(out, results, is_many):
    """Check all targets, then write all results; return the targets."""
    outs = out if isinstance(out, tuple) else (out,)
    if isinstance(out, tuple) != is_many or len(outs) != len(results):
        wanted = f"a tuple of {len(results)} arrays" if is_many else "an array"
        raise TypeError(f"'out' must be {wanted}, as op is")
    for target, result in zip(outs, results, strict=True):
        if not isinstance(target, np.ndarray):
            raise TypeError(f"'out' must be an array, not {type(target).__name__}")
        if target.shape != result.shape:
            raise ValueError(f"out has shape {target.shape}; expected {result.shape}")
        if not casts(result.dtype, target.dtype):
            raise TypeError(
                f"a result of dtype {result.dtype} does not cast to out, which has "
                f"dtype {target.dtype}"
            )
        _core.scatter_where(target, False, target, out=target)
    for i, target in enumerate(outs):
        if any(_share_memory(target, other) for other in outs[:i]):
            raise ValueError(f"out holds the same memory twice (item {i})")
    for target, result in zip(outs, results, strict=True):
        _core.scatter_where(target, True, result, casting="unsafe", out=target)
    return outs
