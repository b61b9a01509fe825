"""The list of rules: one row for each operation that has derivatives.

A row names the operation, its arguments in order with a star on those that have a
gradient, a VJP for each of these, and a JVP. A VJP gets the call and the cotangent of
its result; a JVP gets the call and the tangents of the starred arguments (None: zero).
Every rule calls public operations, so it inherits their checks, order and bits.
"""

from functools import partial
from typing import Any, NamedTuple

from pyscatter import _core
from pyscatter.assembly import coo_to_csr
from pyscatter.autodiff import (
    changes,
    closed,
    entries,
    gathers,
    orders,
    plain,
    products,
    scatters,
    segments,
    structures,
    wheres,
)
from pyscatter.spgemm import spgemm
from pyscatter.where import apply_where

NO_OPTIONS = {}


class Rule(NamedTuple):
    """One row, taken apart."""

    name: str
    arguments: tuple
    starred: tuple  # positions of arguments that have a gradient
    vjps: dict  # by these positions
    jvp: Any
    refused: dict  # options that have no derivative, and what to do instead
    fixed: dict  # what the name stands for
    jacobian: Any  # makes the Jacobian; None: it is not known beforehand
    called: Any  # what is called
    plain: Any  # the recipes of plain calls (plain.py), or None
    last: int  # the last position that has a gradient


# A row is its columns, one argument each.
def row(
    op, arguments, vjps, jvp, jacobian=None, at_once=None, fixed=NO_OPTIONS,
    called=None, **refused,
):  # fmt: skip
    """Return the entry of one operation."""
    names = arguments.split()
    starred = tuple(i for i, name in enumerate(names) if name.endswith("*"))
    names = tuple(name.rstrip("*") for name in names)
    refused["out"] = "leave it away, and give the pullback buffers by into="
    vjps = dict(zip(starred, vjps, strict=True))
    columns = names, starred, vjps, jvp, refused, fixed, jacobian, called or op
    return op, Rule(op.__name__, *columns, at_once, starred[-1])


def gather_row(op, arguments, address, at_once):
    """Return the entry of a gather: linear, and its own tangent."""
    vjp = gathers.gather_vjp(address)
    of_gather = partial(closed.of_gather, address)
    jvp = gathers.gather_jvp(address)
    return row(op, arguments, (vjp,), jvp, of_gather, at_once)


def scatter_row(op, arguments, address, at_once):
    """Return the entry of a scatter; see scatters.py for its ops."""
    vjps, jvp, made = scatters.scatter_rules(address)
    return row(op, arguments, vjps, jvp, partial(closed.of_scatter, *made), at_once)


def segment_row(op, name):
    """Return the entry of a segment reduction; see segments.py for its ops."""
    many = "use one op at a time, and the result alone"
    refused = {"return_arg": many, "return_counts": many}
    fixed = NO_OPTIONS if name is None else {"op": name}
    vjps = (segments.of_values,)
    rules = vjps, segments.tangent, closed.of_segments
    return row(op, ENTRIES, *rules, plain.reduced(name), fixed, **refused)


ENTRIES = "values* ids num_segments"

# fmt: off
RULES = dict((
    gather_row(_core.gather, "a* index axis", gathers.by_axis,
        plain.gathered(_core.scatter)),
    gather_row(_core.gather_along_axis, "a* index axis", gathers.along_axis,
        plain.gathered(_core.scatter_along_axis)),
    gather_row(_core.gather_nd, "a* indices", gathers.by_tuples,
        plain.gathered(_core.scatter_nd)),
    gather_row(_core.gather_at, "a* indices", gathers.by_expression,
        plain.gathered(_core.scatter_at)),
    gather_row(_core.gather_where, "a* mask axis", gathers.by_packed_mask,
        plain.GATHERED_WHERE),

    scatter_row(_core.scatter, "a* index values* axis", gathers.by_axis,
        plain.scattered(_core.gather, True)),
    scatter_row(_core.scatter_along_axis, "a* index values* axis", gathers.along_axis,
        plain.scattered(_core.gather_along_axis)),
    scatter_row(_core.scatter_nd, "a* indices values*", gathers.by_tuples,
        plain.scattered(_core.gather_nd)),
    scatter_row(_core.scatter_at, "a* indices values*", gathers.by_expression,
        plain.scattered(_core.gather_at, True)),
    scatter_row(_core.scatter_where, "a* mask values*", gathers.by_mask,
        plain.SCATTERED_WHERE),

    row(_core.where, "condition x* y*", (wheres.of_x, wheres.of_y),
        wheres.where_tangent, closed.of_where, plain.CHOSEN),
    row(apply_where, "cond args* f1 f2", (wheres.of_args,), wheres.apply_tangent),

    segment_row(_core.segment_reduce, None),
    segment_row(_core.segment_sum, "add"),
    segment_row(_core.segment_mean, "mean"),
    segment_row(_core.segment_min, "min"),
    segment_row(_core.segment_max, "max"),
    segment_row(_core.segment_prod, "mul"),
    row(_core.segment_softmax, ENTRIES, (entries.softmax_back,),
        entries.softmax_forward, partial(closed.of_softmax, False), plain.SOFTMAX),
    row(_core.segment_log_softmax, ENTRIES, (entries.log_softmax_back,),
        entries.log_softmax_forward, partial(closed.of_softmax, True)),
    row(_core.segment_scan, ENTRIES, (orders.scan_back,), orders.scan_forward,
        at_once=plain.RUNNING),
    row(_core.segment_cumsum, ENTRIES, (orders.scan_back,), orders.scan_forward,
        at_once=plain.RUNNING),
    row(_core.segment_expand, "g* ids", (entries.expand_back,), entries.expand_forward,
        closed.of_expand, plain.EXPANDED),
    row(_core.bincount, "x weights* minlength", (entries.weights_back,),
        entries.weights_forward, closed.of_bincount, plain.COUNTED),

    row(_core.spmm, "A* X*", (products.of_first, products.of_second),
        products.spmm_forward, closed.of_spmm, plain.MULTIPLIED,
        beta="add the old array to the product"),
    row(_core.sddmm, "A* X* Y*", (products.sampled_values, products.sampled_left,
        products.sampled_right), products.sampled_forward, closed.of_sddmm,
        plain.SAMPLED),
    row(spgemm, "A* B*", (structures.of_left_factor, structures.of_right_factor),
        structures.spgemm_forward, closed.of_spgemm, plan="leave it away"),
    row(coo_to_csr, "data* coordinates shape", (structures.of_contributions,),
        structures.assembly_forward, closed.of_assembly, plan="leave it away"),

    row(_core.change_stats, "old* new*", (changes.of_old, changes.of_new),
        changes.forward, called=changes.field_of),
))
# fmt: on

# What has no derivative, and what to do instead.
NONE = {}
for _op, _ufunc in (
    ("add_at", "add"),
    ("subtract_at", "sub"),
    ("multiply_at", "mul"),
    ("divide_at", "div"),
    ("floor_divide_at", "floor_div"),
    ("minimum_at", "min"),
    ("maximum_at", "max"),
    ("fmin_at", "fmin"),
    ("fmax_at", "fmax"),
):
    NONE[_op] = f"it works in place; use scatter_at(a, indices, b, op={_ufunc!r})"
NONE |= dict.fromkeys(
    ("bitwise_and_at", "bitwise_or_at", "bitwise_xor_at"), "it works on integers"
)
NONE |= dict.fromkeys(
    ("nonzero", "flatnonzero", "argwhere", "count_nonzero", "factorize", "bin_index"),
    "its result is integers",
)
NONE |= {
    "histogram": "its result is counts",
    "delta": "it is made of bits",
    "explain_diff": "its result is text and counts",
    "group_reduce": "number the keys by factorize, then use segment_reduce",
    "binned_reduce": "number the bins by bin_index, then use segment_reduce",
}
