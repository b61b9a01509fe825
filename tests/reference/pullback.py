"""Pullbacks of reductions along the first axis in plain Python, entry by entry."""

import numpy as np

LAST, FIRST, MEAN, PRODUCT, EXTREME, ONE = range(6)


def same(a, b):
    """Equal as winners are."""
    return a == b or (a != a and b != b)


def pull_back(how, old, index, values, out, g):
    """Return the gradients of old values (None without them) and of what arrived."""
    shape, row = values.shape, out.shape[1:]
    to = [int(i) % len(out) for i in index.reshape(-1)]
    values = values.reshape((len(to), *row))
    of_values = np.zeros_like(values)
    of_old = None if old is None else np.zeros_like(out)
    for p in range(len(out)):
        own = [k for k, row_of in enumerate(to) if row_of == p]
        for j in np.ndindex(row):
            before = None if old is None else old[(p, *j)]
            column = [values[(k, *j)] for k in own]
            first, rest = RULES[how](before, column, out[(p, *j)], g[(p, *j)])
            if old is not None:
                of_old[(p, *j)] = first
            for k, part in zip(own, rest, strict=True):
                of_values[(k, *j)] = part
    return of_old, of_values.reshape(shape)


def moved(winner):
    """Return the rule of what keeps one arrival."""

    def rule(old, column, out, g):
        kept = winner % len(column) if column else None
        return 0 if column else g, [g if k == kept else 0 for k in range(len(column))]

    return rule


def averaged(old, column, out, g):
    """All have the same part, the old value too."""
    part = float(g) * (1 / max(1, len(column) + (old is not None)))
    return part, [part] * len(column)


def multiplied(old, column, out, g):
    """Each has the product of all others."""
    one = type(out)(1)
    whole, befores, behind, parts = one, [], one, []
    for value in column:
        befores.append(whole if old is None else old * whole)
        whole = whole * value
    for before, value in zip(befores[::-1], column[::-1], strict=True):
        parts.append(g * (before * behind))
        behind = behind * value
    return g * whole, parts[::-1]


def shared(old, column, out, g):
    """Winners share."""
    own = old is not None and same(old, out)
    wins = [same(value, out) for value in column]
    part = float(g) * (1 / max(1, own + sum(wins)))
    return part if own else 0, [part if won else 0 for won in wins]


def alone(old, column, out, g):
    """The first winner has all, the old value before all others."""
    own = old is not None and same(old, out)
    wins = [same(value, out) for value in column]
    first = wins.index(True) if not own and any(wins) else None
    return g if own else 0, [g if k == first else 0 for k in range(len(wins))]


RULES = {
    LAST: moved(-1),
    FIRST: moved(0),
    MEAN: averaged,
    PRODUCT: multiplied,
    EXTREME: shared,
    ONE: alone,
}
