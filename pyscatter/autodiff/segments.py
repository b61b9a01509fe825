"""Rules of segment reductions: those of scatters, without old values.

Entries, and which row of the values each of them takes, are found by layouts.py.
"""

import numpy as np

from pyscatter import _core
from pyscatter.autodiff import scatters
from pyscatter.autodiff.gathers import resolved
from pyscatter.autodiff.layouts import (
    entries_of,
    entry_shape,
    given_back,
    layout,
    taken,
)
from pyscatter.autodiff.orders import order_maps
from pyscatter.autodiff.parts import Term, equal
from pyscatter.autodiff.row_sparse import RowSparse
from pyscatter.autodiff.scatters import Arrivals, counts


def _kept(call):
    """Return which elements of the entries take part, None for all."""
    kept = call.once(layout).kept
    if call.get("skipna", False):
        x = call.once(entries_of)
        known = x == x
        return known if kept is None else known & kept
    return kept


def _arrivals(call, out=None):
    x = call.once(entries_of)
    at, kept = call.once(layout).at, call.once(_kept)
    out = call.out if out is None else out
    dtype = x.dtype if np.can_cast(out.dtype, x.dtype) else out.dtype
    return Arrivals(at, None, x.astype(dtype, copy=False), out, False, kept, call.ties)


def _with_mask(term, kept):
    """Return a term for what takes part alone."""
    if kept is None:
        return term
    return Term(term.factor, kept if term.mask is None else term.mask & kept)


# --- what weighs on the entries, for each op ------------------------------------------


def _weights(call):
    """Return weights with the axes of the entries, or None."""
    it = call.once(layout)
    if it.weights is None:
        return None
    shape = entry_shape(it.at.index)
    weights = np.broadcast_to(it.weights, shape)
    ones = (1,) * (it.axis - it.batch_dims)
    behind = (1,) * (call.once(entries_of).ndim - len(ones) - len(shape))
    b = it.batch_dims
    return weights.reshape(shape[:b] + ones + shape[b:] + behind)


def add_term(call):
    """Sums: the weight, or one."""
    return _with_mask(Term(call.once(_weights)), call.once(_kept))


def mean_term(call):
    """Means: one over the count, or the weight over the sum of weights."""
    arrivals, weights = _arrivals(call), call.once(_weights)
    at, kept = arrivals.at, arrivals.kept
    if weights is None:
        share = at.gather(1 / np.maximum(counts(arrivals), 1))
        return _with_mask(Term(share), kept)
    shape = call.out.shape if kept is not None else at.thin(call.out.shape)
    given = weights if kept is None else np.where(kept, weights, 0)
    total = at.scatter(np.zeros(shape, np.result_type(given, np.float64)), given)
    with np.errstate(all="ignore"):
        return _with_mask(Term(weights / at.gather(total)), kept)


def mul_term(call):
    """Products: all others, and the initial value."""
    arrivals = _arrivals(call)
    factor, mask = scatters.multiplied(arrivals)[1]
    initial = call.get("initial")
    if initial is not None:
        factor = factor * np.asarray(initial)
    return Term(factor, mask)


def extreme_term(call):
    """Extremes: winners share, the initial value among them."""
    arrivals = _arrivals(call)
    initial = call.get("initial")
    if initial is None:
        return scatters.extreme(arrivals)[1]
    own = equal(np.full(call.out.shape, initial, call.out.dtype), call.out)
    start = np.where(own, call.out, _not_equal(call.out))
    return scatters.extreme(arrivals._replace(old=start))[1]


def _not_equal(out):
    """Return numbers none of which equals that of `out`."""
    with np.errstate(invalid="ignore"):
        return np.where(out > 0, out.dtype.type(-1), out.dtype.type(1))


def first_term(call):
    """The first one alone."""
    return scatters.first(_arrivals(call))[1]


def last_term(call):
    """The last one alone."""
    return scatters.moved(_arrivals(call))[1]


def centred(call, x):
    """Return deviations of entries from the mean of their segment."""
    arrivals = _arrivals(call)
    at, kept = arrivals.at, arrivals.kept
    precise = np.result_type(x.dtype, np.float64)
    if kept is not None:
        x = np.where(kept, x, x.dtype.type(0))
    sums = at.scatter(np.zeros(call.out.shape, precise), x.astype(precise, copy=False))
    return x - at.gather(sums / np.maximum(counts(arrivals), 1))


def left(call):
    """Return n - ddof, NaN where nothing is left."""
    count = counts(_arrivals(call)) - float(np.asarray(call.get("ddof", 0)))
    return np.where(count > 0, count, np.nan)


def var_term(call):
    """Variances: twice the deviation over n - ddof; NaN where there are too few."""
    it = call.once(layout)
    apart = centred(call, call.once(entries_of))
    factor = np.conj(apart) * it.at.gather(2 / left(call))
    return _with_mask(Term(factor), call.once(_kept))


def std_term(call):
    """Standard deviations: the deviation over n - ddof and the result; 0 at 0."""
    it, room = call.once(layout), left(call)
    apart = centred(call, call.once(entries_of))
    with np.errstate(all="ignore"):
        scale = np.where(call.out == 0, 0 * room, 1 / (room * call.out))
        factor = np.conj(apart) * it.at.gather(scale)
    return _with_mask(Term(factor), call.once(_kept))


def logsumexp_term(call):
    """Log-sums: softmax; zero where all are -inf, shared among +inf."""
    arrivals = _arrivals(call)
    at, x, out = arrivals.at, arrivals.values, call.out
    x = x.astype(np.float64, copy=False)
    top = at.gather(out.astype(np.float64, copy=False))
    with np.errstate(all="ignore"):
        factor = _core.elementary("exp", np.ascontiguousarray(x - top))
    wins = (x == np.inf) & (top == np.inf)
    if wins.any():
        kept = arrivals.kept
        wins = wins if kept is None else wins & kept
        share = 1 / np.maximum(at.scatter(np.zeros(out.shape), wins.astype(float)), 1)
        factor = np.where(top == np.inf, np.where(wins, at.gather(share), 0), factor)
    return _with_mask(Term(factor, top > -np.inf), arrivals.kept)


TERMS = {
    "add": add_term,
    "mul": mul_term,
    "min": extreme_term,
    "max": extreme_term,
    "fmin": extreme_term,
    "fmax": extreme_term,
    "mean": mean_term,
    "var": var_term,
    "std": std_term,
    "first": first_term,
    "last": last_term,
    "logsumexp": logsumexp_term,
}
ORDERS = {"median", "quantile"}


def _op(call):
    op = call.get("op", "add")
    name = scatters.name_of(op)
    if name == "set":
        return "last"
    if name not in TERMS and name not in ORDERS:
        raise TypeError(f"segment_reduce with op={name!r} has no derivative")
    return name


def term_of(call):
    """Return the term of the entries."""
    return TERMS[_op(call)](call)


class Summed:
    """The gradient of a sum over gathered rows: no entry is made, but for rows."""

    __slots__ = ("it", "g", "shape", "weights")

    def __init__(self, it, g, shape):
        self.it, self.g, self.shape = it, g, shape
        self.weights = it.weights

    def _options(self):
        ids, found = resolved(self.it.at.index, self.g.shape[0], self.it.at.options)
        weights = self.weights
        if weights is not None:
            weights = np.conj(np.broadcast_to(weights, ids.shape)).reshape(-1)
        options = {"weights": weights, "dtype": self.g.dtype}
        ids, take = ids.reshape(-1), self.it.take.reshape(-1)
        if found is not None:
            found = found.reshape(-1)
            ids, take = ids[found], take[found]
            options["weights"] = None if weights is None else weights[found]
        return ids, take, options

    def dense(self):
        """Return it as a new array."""
        ids, take, options = self._options()
        return _core.segment_reduce(self.g, take, self.shape[0], gather=ids, **options)

    def add_to(self, buffer):
        """Add it to an array, entry by entry."""
        rows = self.sparse()
        _core.scatter(buffer, rows.indices, rows.values, op="add", out=buffer)

    def sparse(self):
        """Return the rows that are taken, one for each entry."""
        ids, take, options = self._options()
        rows = _core.gather(self.g, ids)
        if options["weights"] is not None:
            weights = options["weights"].reshape((-1,) + (1,) * (rows.ndim - 1))
            rows = (rows * weights).astype(self.g.dtype, copy=False)
        return RowSparse._of(take, rows, self.shape)


def of_values(call, g):
    """Give each entry the cotangent of its segment times its term."""
    op, it = _op(call), call.once(layout)
    if op in ORDERS:
        return given_back(call, statistics(call)[0](g))
    if op == "add" and it.take is not None and _is_plain(call, it, g):
        return Summed(it, g, it.values.shape)
    moves = call.once(term_of).times(it.at.gather(g), conjugate=True)
    return given_back(call, moves)


def _is_plain(call, it, g):
    """Whether a sum's gradient is one of whole rows."""
    rows = it.axis == 0 and not it.batch_dims and call.once(_kept) is None
    shaped = np.shape(call.get("values")) == it.values.shape
    return rows and shaped and np.iscomplexobj(g) <= np.iscomplexobj(it.values)


def statistics(call):
    """Return the maps of medians and quantiles: back, and forward."""
    it = call.once(layout)
    arrivals = _arrivals(call)
    q = 0.5 if _op(call) == "median" else call.get("q")
    return order_maps(it.at, arrivals, np.asarray(q, np.float64), call.out)


def tangent(call, tangents):
    """Add up the terms times tangents, segment by segment."""
    it = call.once(layout)
    (given,) = tangents
    moves = taken(it, given)
    if _op(call) in ORDERS:
        return statistics(call)[1](moves)
    moves = call.once(term_of).times(moves)
    return it.at.scatter(np.zeros(call.out.shape, moves.dtype), moves)
