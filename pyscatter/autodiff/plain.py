"""Pullbacks of plain calls as recipes: arrays as they come, and no options but one.

A general rule looks at some ten options before it does anything. Inner loops of Python
are full of calls that have none, for which the transpose is one call of the library or
two. These are written down here as data, which pullbacks follow without a frame of
Python (csrc/python/pullback_plain.c); where a call is not so plain, they give up, and
the general rule is asked. Tests hold both to the same numbers.

An operation has a dict of recipes: for calls without options that of None; for calls
with `op` alone that of the op, or of "op"; with another option alone that of its name.
A gradient must come out in the dtype and the shape of its argument, float32 or float64,
or the recipe is given up.
"""

import numpy as np

from pyscatter import _core
from pyscatter.sparse import Sparse

# Operands that are no arguments; arguments are numbers, by position.
G, OUT, ZEROS, OPTION, TIES = _core.pull_operands


def call(function, *operands, **keywords):
    """Return the node of a call; operands that the user did not give are left out."""
    return (function, tuple(keywords) or None, *operands, *keywords.values())


def recipe(most, *rows):
    """Return a recipe of calls with at most so many positional arguments."""
    return (most, *rows)


def gathered(put):
    """Return the recipes of a gather: what `put` adds to zeros."""
    made = call(put, ZEROS, 1, G, 2, op="add", out=ZEROS)
    return {None: recipe(3, (0, made))}


# Elements under a mask go back to it.
GATHERED_WHERE = {
    None: recipe(
        2, (0, call(_core.scatter_where, ZEROS, 1, G, op="add", packed=True, out=ZEROS))
    )
}


def scattered(take, is_along_first=False):
    """Return the recipes of a scatter: of sums what `take` gathers of a cotangent.

    Other ops are one call where an index names rows of the first axis.
    """
    arrived = call(take, G, 1, 3)
    sums = {
        "add": recipe(4, (0, G), (2, arrived)),
        "sub": recipe(4, (0, G), (2, call(np.negative, arrived))),
    }
    spelled = _core.op_spellings().items()
    recipes = {spelling: sums[op] for spelling, op in spelled if op in sums}
    for key, op in ((None, "set"), ("op", OPTION)) if is_along_first else ():
        met = call(_core.pull_back, op, 0, 1, 2, OUT, G, TIES)
        recipes[key] = recipe(3, ((0, 2), met))
    return recipes


# What was added under a mask has its cotangent there; a number has the sum of it.
SCATTERED_WHERE = {
    "add": recipe(
        3,
        (None, call(_core.covers, 1, G)),
        (0, G),
        (2, call(_core.where, 1, G, 0.0), call(_core.total_chosen, G, 1, True)),
    )
}

# Each branch has the cotangent where it was chosen; numbers have its sum.
CHOSEN = {
    None: recipe(
        3,
        (1, call(_core.where, 0, G, 0.0), call(_core.total_chosen, G, 0, True)),
        (2, call(_core.where, 0, 0.0, G), call(_core.total_chosen, G, 0, False)),
    )
}


def reduced(name):
    """Return the recipes of a reduction; None is the one that is told its op."""
    each = recipe(3, (0, call(_core.gather, G, 1)))
    if name == "add":
        spread = recipe(1, (0, call(_core.segment_expand, G, offsets=OPTION)))
        by_ids = recipe(1, (0, call(_core.gather, G, OPTION)))
        return {None: each, "offsets": spread, "ids": by_ids}
    op = OPTION if name is None else name
    # The gradient of ids, for which the kernel has old values, is None.
    made = call(_core.pull_back, op, None, 1, 0, OUT, G, TIES)
    met = recipe(3, ((1, 0), made))
    return {"add": each, "sum": each, "op": met} if name is None else {None: met}


# Softmax: y (g - sum of g y).
_SUMS = call(_core.segment_sum, call(np.multiply, G, OUT), 1, 2)
_APART = call(np.subtract, G, call(_core.gather, _SUMS, 1))
SOFTMAX = {None: recipe(3, (0, call(np.multiply, OUT, _APART)))}

# Running sums: those from the other end.
RUNNING = {None: recipe(3, (0, call(_core.segment_cumsum, G, 1, 2, reverse=True)))}

# A segment has the sum of its entries.
EXPANDED = {None: recipe(2, (0, call(_core.segment_sum, G, 1, call(len, 0))))}

# A weight has the cotangent of its number's count.
COUNTED = {None: recipe(3, (1, call(_core.gather, G, 0)))}

# A matrix times a dense one: samples for the one, the transpose for the other.
_SAMPLES = call(_core.sddmm, 0, G, 1)
MULTIPLIED = {
    None: recipe(
        2,
        (None, call(_core.are_factors, 0, 1)),
        (0, call(Sparse._with_data, 0, _SAMPLES)),
        (1, call(_core.spmm, 0, G, transpose=True)),
    )
}

# Inner products on a pattern: two products with the cotangent on it.
_ON_PATTERN = call(Sparse._with_data, 0, G)
SAMPLED = {
    None: recipe(
        3,
        (None, call(_core.are_factors, 0, 1, 2)),
        (1, call(_core.spmm, _ON_PATTERN, 2)),
        (2, call(_core.spmm, _ON_PATTERN, 1, transpose=True)),
    )
}
