"""Rules of order statistics, and of running products and extremes.

All of them look at the entries of a segment in order, so they are sorted by segment.
"""

import math

import numpy as np

from pyscatter import _core
from pyscatter.autodiff.parts import equal
from pyscatter.autodiff.scatters import extreme, name_of

# --- medians and quantiles ------------------------------------------------------------


def _ranked(at, arrivals, shape):
    """Return (sorted values, where each element's begin, how many they are)."""
    groups = np.broadcast_to(at.numbers(shape), arrivals.values.shape)
    if arrivals.kept is not None:
        groups = np.where(arrivals.kept, groups, 0)
    groups, values = groups.reshape(-1), arrivals.values.reshape(-1)
    order = np.lexsort((values, groups))
    count = np.bincount(groups, minlength=1 + math.prod(shape))
    begins = np.cumsum(count) - count
    return values[order], begins[1:].reshape(shape), count[1:].reshape(shape)


def _neighbours(ranked, q):
    """Return the order statistics beside a quantile, and the weight of the upper."""
    values, begins, count = ranked
    place = np.maximum(count - 1, 0) * q
    below, above = np.floor(place).astype(np.intp), np.ceil(place).astype(np.intp)
    if not values.size:
        blank = np.zeros(count.shape, values.dtype)
        return blank, blank, place
    last = values.size - 1
    low, high = (values[np.minimum(begins + k, last)] for k in (below, above))
    top = values[np.minimum(begins + np.maximum(count - 1, 0), last)]
    has_nan = top != top
    return np.where(has_nan, top, low), np.where(has_nan, top, high), place - below


def order_maps(at, arrivals, q, out):
    """Return what takes cotangents to entries, and tangents of entries to the result.

    All elements that equal one of the two order statistics share its part.
    """
    shape = out.shape[q.ndim :]
    ranked = _ranked(at, arrivals, shape)
    parts = []
    for each in q.reshape(-1):
        low, high, weight = _neighbours(ranked, each)
        for value, part in ((low, 1 - weight), (high, weight)):
            _, term = extreme(arrivals._replace(out=value))
            parts.append((term, part))

    def back(g):
        g = g.reshape((q.size, *shape))
        moves = [
            term.times(at.gather(g[k // 2] * part))
            for k, (term, part) in enumerate(parts)
        ]
        return sum(moves[1:], moves[0]) if moves else np.zeros(arrivals.values.shape)

    def forward(moves):
        made = [
            part * at.scatter(np.zeros(shape), term.times(moves))
            for term, part in parts
        ]
        rows = [low + high for low, high in zip(made[::2], made[1::2], strict=True)]
        return np.asarray(rows).reshape(out.shape)

    return back, forward


# --- running forms --------------------------------------------------------------------


class Lines:
    """Entries sorted by segment, one line of numbers after the other."""

    __slots__ = ("order", "group", "shape")

    def __init__(self, call):
        values = np.asarray(call.get("values"))
        axis, ids = call.get("axis", 0), _ids(call)
        if axis is None:
            axis, self.shape = 0, (values.size,)
        else:
            axis, self.shape = int(axis) % max(values.ndim, 1), values.shape
        behind = self.shape[axis + ids.ndim :]
        rest = np.arange(math.prod(self.shape[:axis] + behind))
        ones = (1,) * ids.ndim
        rest = rest.reshape(self.shape[:axis] + ones + behind)
        ids = ids.reshape(ids.shape + (1,) * len(behind))
        size = 1 + int(ids.max(initial=0))
        key = np.broadcast_to(rest * size + ids, self.shape).reshape(-1)
        self.order = np.argsort(key, kind="stable")
        if call.get("reverse", False):
            self.order = self.order[::-1]
        self.group = key[self.order]

    def sort(self, x):
        """Return an array in lines."""
        return x.reshape(-1)[self.order]

    def restore(self, lines, shape):
        """Return lines as an array again."""
        x = np.empty_like(lines)
        x[self.order] = lines
        return x.reshape(shape)

    def shifted(self, lines, by):
        """Return lines moved by one, with zero where none comes in."""
        moved = np.zeros_like(lines)
        if by > 0:
            same = self.group[1:] == self.group[:-1]
            moved[1:] = np.where(same, lines[:-1], 0)
        else:
            same = self.group[1:] == self.group[:-1]
            moved[:-1] = np.where(same, lines[1:], 0)
        return moved


def _ids(call):
    """Return the segment of each entry."""
    if call.get("ids") is not None:
        ids = call.get("ids")
        is_plan = hasattr(ids, "n_dropped")
        ids = _core.plan_index(ids) if is_plan else np.asarray(ids).astype(np.intp)
        if call.get("axis", 0) is None:
            ids = ids.reshape(-1)
        return ids
    if call.get("offsets") is not None:
        lengths = np.diff(np.asarray(call.get("offsets")).astype(np.intp))
    else:
        lengths = np.asarray(call.get("lengths")).astype(np.intp)
    return np.repeat(np.arange(lengths.size), lengths)


def recurrence(factors, terms, group):
    """Return y with y[i] = factors[i] y[i-1] + terms[i] within groups.

    By doubling: no division, so zeros and tiny products cost nothing.
    """
    y, factors, step = terms.copy(), factors.copy(), 1
    while step < group.size and (group[step:] == group[:-step]).any():
        same = group[step:] == group[:-step]
        with np.errstate(all="ignore"):
            moved = y[step:] + factors[step:] * y[:-step]
            product = factors[step:] * factors[:-step]
        y[step:] = np.where(same, moved, y[step:])
        factors[step:] = np.where(same, product, factors[step:])
        step *= 2
    return y


def _products_back(lines, x, g):
    before = _core.segment_scan(x, _runs(lines.group), op="mul", exclusive=True)
    ahead = np.conj(lines.shifted(x, -1))
    reached = recurrence(ahead[::-1], g[::-1], lines.group[::-1])[::-1]
    return np.conj(before) * reached


def _products_forward(lines, x, dx):
    before = _core.segment_scan(x, _runs(lines.group), op="mul", exclusive=True)
    return recurrence(x, before * dx, lines.group)


def _runs(key):
    """Return keys that come in runs as numbers from 0."""
    if not key.size:
        return np.zeros(0, np.intp)
    return np.concatenate(([0], np.cumsum(key[1:] != key[:-1])))


def _levels(lines, x, call):
    """Return (runs of one extreme, its holders, how many so far)."""
    groups = _runs(lines.group)
    best = _core.segment_scan(x, groups, op=_op(call))
    new = np.ones(x.size, np.bool_)
    new[1:] = ~equal(best[1:], best[:-1]) | (groups[1:] != groups[:-1])
    runs = np.cumsum(new) - 1
    wins = equal(x, best)
    count = _core.segment_scan(wins.astype(np.float64), runs)
    if call.ties == "first":
        wins = wins & (count == 1)
        count = np.ones_like(count)
    return runs, wins, np.maximum(count, 1)


def _op(call):
    return name_of(call.get("op", "add"))


def _scan_options(call, *more):
    given = call.options_of("ids", "offsets", "lengths", "axis", *more)
    return {name: x for name, x in given.items() if x is not None or name == "axis"}


def scan_back(call, g):
    """Give each entry what all that it reached have for a cotangent."""
    op = _op(call)
    shape = np.shape(call.get("values"))
    if op == "add":
        options = _scan_options(call, "exclusive")
        options["reverse"] = not call.get("reverse", False)
        return _core.segment_scan(g, **options).reshape(shape)
    lines = call.once(Lines)
    x, g = lines.sort(np.asarray(call.get("values"))), lines.sort(g)
    if call.get("exclusive", False):
        g = lines.shifted(g, -1)
    if op == "mul":
        return lines.restore(_products_back(lines, x, g), shape)
    runs, wins, count = _levels(lines, x, call)
    sums = _core.segment_scan(g / count, runs, reverse=True)
    return lines.restore(np.where(wins, sums, sums.dtype.type(0)), shape)


def scan_forward(call, tangents):
    """Give each entry what all before it move it by."""
    (given,) = tangents
    op = _op(call)
    if op == "add":
        return _core.segment_scan(given, **_scan_options(call, "exclusive", "reverse"))
    lines = call.once(Lines)
    x, dx = lines.sort(np.asarray(call.get("values"))), lines.sort(given)
    if op == "mul":
        made = _products_forward(lines, x, dx)
    else:
        runs, wins, count = _levels(lines, x, call)
        made = _core.segment_scan(np.where(wins, dx, 0), runs) / count
    if call.get("exclusive", False):
        made = lines.shifted(made, 1)
    return lines.restore(made, call.out.shape)
