"""Rules of scatters: for each op the terms of the old values and of arriving ones.

A term is what a tangent is multiplied by on its way to the result (parts.py). Segments
reduce by the same rules, without old values.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from pyscatter import _core
from pyscatter.autodiff.parts import MINUS, ONE, ZERO, Term, equal, in_shape, wide
from pyscatter.autodiff.parts import unbroadcast as summed_to
from pyscatter.plan import Plan


class Arrivals(NamedTuple):
    """What a scatter or a reduction is about, to rules that treat both.

    `old` is None where there are no old values, or where they take no part in what
    something arrives at (`excluded`). `kept` says which elements of `values` take part.
    """

    at: Any
    old: Any
    values: Any
    out: Any
    excluded: bool = False
    kept: Any = None
    ties: str = "even"


def _numbers(arrivals):
    """Return numbers of entries, from 1: one for a whole row, if its elements agree."""
    thin = arrivals.at.thin(arrivals.out.shape)
    shape = arrivals.at.gather(np.zeros(thin, np.bool_)).shape
    if arrivals.kept is not None:
        thin, shape = arrivals.out.shape, arrivals.values.shape
    count = np.arange(1, 1 + math.prod(shape), dtype=np.intp)
    count = count.reshape(shape)
    if arrivals.kept is not None:
        count = np.where(arrivals.kept, count, 0)
    return thin, count


def _touched(arrivals):
    """Return where something arrives."""
    thin = arrivals.at.thin(arrivals.out.shape)
    return arrivals.at.scatter(np.zeros(thin, np.bool_), True, "set")


def _never_repeats(at):
    return (
        isinstance(at.index, Plan)
        and at.index.is_unique
        and "where" not in (at.options)
    )


def moved(arrivals, op="set"):
    """One arrival stays: the last one, or the first."""
    at = arrivals.at
    if _never_repeats(at) and arrivals.kept is None:
        return Term(mask=~_touched(arrivals)), ONE
    thin, count = _numbers(arrivals)
    pick = {"set": "max", "first": "min"}[op]
    start = 0 if op == "set" else np.iinfo(np.intp).max
    if op == "first":
        count = np.where(count == 0, start, count)
    winners = at.scatter(np.full(thin, start, np.intp), count, pick)
    won = (at.gather(winners) == count) & (count != start)
    return Term(mask=winners == start), Term(mask=won)


def first(arrivals):
    """The first arrival stays."""
    return moved(arrivals, "first")


def added(arrivals):
    """All arrivals are added."""
    return _unless_excluded(arrivals, ONE), _kept(arrivals, ONE)


def subtracted(arrivals):
    """All arrivals are subtracted."""
    return _unless_excluded(arrivals, ONE), MINUS


def _unless_excluded(arrivals, term):
    if not arrivals.excluded:
        return term
    untouched = ~_touched(arrivals)
    return Term(mask=untouched)


def _kept(arrivals, term):
    if arrivals.kept is None:
        return term
    mask = arrivals.kept if term.mask is None else arrivals.kept & term.mask
    return Term(term.factor, mask)


def counts(arrivals):
    """Return how many entries arrive at each element, as floats."""
    at, kept = arrivals.at, arrivals.kept
    if kept is None:
        return at.scatter(np.zeros(at.thin(arrivals.out.shape)), 1.0)
    return at.scatter(np.zeros(arrivals.out.shape), kept.astype(np.float64))


def averaged(arrivals):
    """Arrivals are averaged, the old value among them if it takes part."""
    count = counts(arrivals)
    if arrivals.old is not None and not arrivals.excluded:
        share = 1 / (count + 1)
        return Term(share), Term(arrivals.at.gather(share))
    share = 1 / np.maximum(count, 1)
    return Term(mask=count == 0), _kept(arrivals, Term(arrivals.at.gather(share)))


def others(values, groups):
    """Return the product of all other values of the same group, for each value.

    A product of what comes before and of what comes after: exact for any number of
    zeros, and where the product of all of them leaves the range of floats.
    """
    shape = values.shape
    values, groups = values.reshape(-1), groups.reshape(-1)
    scan = {"op": "mul", "exclusive": True}
    before = _core.segment_scan(values, groups, **scan)
    after = _core.segment_scan(values, groups, reverse=True, **scan)
    return before.reshape(shape), after.reshape(shape)


def multiplied(arrivals):
    """Arrivals are multiplied: each has the product of the others for a factor."""
    at, values = arrivals.at, arrivals.values
    values = values.astype(wide(values.dtype), copy=False)
    if arrivals.kept is not None:
        values = np.where(arrivals.kept, values, values.dtype.type(1))
    before, after = others(values, at.numbers(arrivals.out.shape))
    with np.errstate(all="ignore"):
        if arrivals.old is not None and not arrivals.excluded:
            before = at.gather(arrivals.old) * before
        mine = Term(before * after)
    if arrivals.excluded or arrivals.old is None:
        return Term(mask=~_touched(arrivals)), _kept(arrivals, mine)
    product = at.scatter(np.ones(arrivals.out.shape, values.dtype), values, "mul")
    return Term(product), _kept(arrivals, mine)


def divided(arrivals):
    """Old values are divided by arrivals."""
    at, values = arrivals.at, arrivals.values
    values = values.astype(wide(values.dtype), copy=False)
    with np.errstate(all="ignore"):
        mine = Term(-at.gather(arrivals.out) / values)
    if arrivals.excluded:
        return Term(mask=~_touched(arrivals)), mine
    return Term(
        at.scatter(np.ones(arrivals.out.shape, values.dtype), values, "div")
    ), mine


def floor_divided(arrivals):
    """Steps: flat wherever something arrives."""
    return Term(mask=~_touched(arrivals)), ZERO


def extreme(arrivals):
    """The least or the greatest stays; those that tie share, or the first has all."""
    at, out = arrivals.at, arrivals.out
    wins = equal(arrivals.values, at.gather(out)) & (at.numbers(out.shape) > 0)
    if arrivals.kept is not None:
        wins &= arrivals.kept
    if arrivals.old is None:
        own = np.zeros(out.shape, np.bool_)
    else:
        own = equal(arrivals.old, out)
        if arrivals.excluded:
            own &= ~_touched(arrivals)
    if arrivals.ties == "first":
        return _first_of(at, own, wins)
    count = at.scatter(own.astype(np.float64), wins.astype(np.float64))
    share = 1 / np.maximum(count, 1)
    return Term(share, own), Term(at.gather(share), wins)


def _first_of(at, own, wins):
    """Return terms that give all to the first winner; old values come first."""
    none = np.iinfo(np.intp).max
    count = np.arange(wins.size, dtype=np.intp).reshape(wins.shape)
    count = np.where(wins, count, none)
    place = at.scatter(np.where(own, -1, none), count, "min")
    return Term(mask=own), Term(mask=wins & (at.gather(place) == count))


TERMS = {
    "set": moved,
    "first": first,
    "add": added,
    "sub": subtracted,
    "mul": multiplied,
    "div": divided,
    "floor_div": floor_divided,
    "min": extreme,
    "max": extreme,
    "fmin": extreme,
    "fmax": extreme,
    "mean": averaged,
}
ALIASES = _core.op_spellings() | {"true_divide": "div"}
LINEAR = {"set", "first", "add", "sub", "mean"}


def name_of(op):
    """Return an op's own name: of an alias, of a ufunc."""
    name = op.__name__ if isinstance(op, np.ufunc) else op
    return ALIASES.get(name, name)


def _arrivals(call, at):
    """Return what the call of a scatter is about."""
    old, out = np.asarray(call.get("a")), call.out
    shape = at.gather(np.broadcast_to(NO_ROOM, out.shape)).shape
    values = in_shape(call.get("values"), shape, out.dtype)
    excluded = not call.get("include_self", True)
    return Arrivals(at, old, values, out, excluded, None, call.ties)


NO_ROOM = np.zeros((), np.bool_)


def scatter_rules(address):
    """Return the rules of a scatter by this address: those of `a` and `values`; JVP."""

    def at_of(call):
        return address(call)

    def terms_of(call):
        op = name_of(call.get("op", "set"))
        at = call.once(at_of)
        if op == "add" and call.get("include_self", True):
            return ONE, ONE
        return TERMS[op](_arrivals(call, at))

    def of_old(call, g):
        return call.once(terms_of)[0].times(g, conjugate=True)

    def of_values(call, g):
        gathered = call.once(at_of).gather(g)
        mine = call.once(terms_of)[1].times(gathered, conjugate=True)
        return summed_to(mine, np.shape(call.get("values")))

    def tangent(call, tangents):
        old, values = tangents
        own, mine = call.once(terms_of)
        dtype = np.result_type(*(t for t in tangents if t is not None))
        if old is None:
            base = np.zeros(call.out.shape, dtype)
        else:
            base = own.times(old.astype(dtype, copy=False))
        if values is None:
            return base
        moves = mine.times(values)
        base = base.astype(np.result_type(base, moves), copy=False)
        return call.once(at_of).scatter(base, moves)

    return (of_old, of_values), tangent, (at_of, terms_of)
