"""Pullbacks of plain calls: arrays as they come, and no options.

Rules are general, and a general rule looks at some ten options before it does anything.
Inner loops of Python are full of calls that have none, for which the transpose is one
call of the library. Each function here is the rule of such calls in one piece: it
returns a gradient for each argument, or None where a call is not so plain, and the
general rule is asked. Tests hold both to the same numbers.

The cotangent is an array of the dtype and the shape of the result.
"""

import numpy as np

from pyscatter import _core
from pyscatter.sparse import CSC, CSR

ndarray, zeros, BOOL = np.ndarray, np.zeros, np.dtype(np.bool_)


def gathered(put):
    """Return the rule of gathers: what `put` adds to zeros."""

    def back(call, g):
        primals = call.primals
        if call.options:
            return None
        a, index = primals[0], primals[1]
        new = zeros(a.shape if type(a) is ndarray else np.shape(a), g.dtype)
        if len(primals) == 2:
            return put(new, index, g, op="add", out=new), None
        return put(new, index, g, primals[2], op="add", out=new), None, None

    return back


def gathered_where(call, g):
    """Elements under a mask go back to it."""
    if call.options or len(call.primals) != 2:
        return None
    a, mask = call.primals
    new = zeros(np.shape(a), g.dtype)
    put = _core.scatter_where
    return put(new, mask, g, op="add", packed=True, out=new), None


# What `pull_back` calls the ways in which values meet (ops/pullback.h).
MEETINGS = {"set": 0, "last": 0, "update": 0, "first": 1, "mean": 2}
MEETINGS |= dict.fromkeys(("mul", "prod", "multiply"), 3)
MEETINGS |= dict.fromkeys(("min", "minimum", "amin", "fmin"), 4)
MEETINGS |= dict.fromkeys(("max", "maximum", "amax", "fmax"), 4)


def _pulled(call, op, old, index, values, g):
    """Return the gradients of old values and of what arrived, or None."""
    how = MEETINGS.get(op)
    if how is None:
        return None
    if how == 4 and call.ties == "first":
        how = 5
    return _core.pull_back(how, old, index, values, call.out, g)


def scattered(take, is_along_first=False):
    """Return the rule of scatters: of sums what `take` gathers of a cotangent.

    Other ops are one call where an index names rows of the first axis.
    """

    def back(call, g):
        primals, options, wanted = call.primals, call.options, call.wanted
        if len(primals) < 3 or len(options) > 1:
            return None
        op = options.get("op") if options else "set"
        if op == "add" or op == "sub":
            values = primals[2]
            if len(wanted) < 2 or type(values) is not ndarray:
                return None
            made = (
                take(g, primals[1])
                if len(primals) == 3
                else take(g, primals[1], primals[3])
            )
            if made.shape != values.shape or values.dtype is not g.dtype:
                return None
            of_old, of_values = g, made if op == "add" else np.asarray(-made)
        elif is_along_first and len(primals) == 3:
            pair = _pulled(call, op, *primals, g)
            if pair is None:
                return None
            of_old = pair[0] if 0 in wanted else None
            of_values = pair[1] if 2 in wanted else None
        else:
            return None
        if len(primals) == 3:
            return of_old, None, of_values
        return of_old, None, of_values, None

    return back


def scattered_where(call, g):
    """What was added under a mask has its cotangent there."""
    if len(call.primals) < 3 or call.options != {"op": "add"}:
        return None
    _, mask, values = call.primals
    if not _fills(values, g) or not _is_mask(mask, g):
        return None
    wanted = call.wanted
    made = _core.where(mask, g, 0.0) if 2 in wanted else None
    return g if 0 in wanted else None, None, made


def _fills(x, g):
    """Whether an argument is an array like the cotangent."""
    return type(x) is ndarray and x.shape == g.shape and x.dtype is g.dtype


def _is_mask(mask, g):
    """Whether a mask has an element for each of the cotangent's."""
    return type(mask) is ndarray and mask.dtype is BOOL and mask.shape == g.shape


def chosen(call, g):
    """Each branch has the cotangent where it was chosen; numbers have its sum."""
    if call.options:
        return None
    condition, x, y = call.primals
    if not _is_mask(condition, g):
        return None
    wanted, of_x, of_y = call.wanted, None, None
    if 1 in wanted:
        of_x = (
            _core.where(condition, g, 0.0)
            if _fills(x, g)
            else _sum_of(x, condition, True, g)
        )
        if of_x is None:
            return None
    if 2 in wanted:
        of_y = (
            _core.where(condition, 0.0, g)
            if _fills(y, g)
            else _sum_of(y, condition, False, g)
        )
        if of_y is None:
            return None
    return None, of_x, of_y


def _sum_of(x, condition, is_x, g):
    """Return the gradient of a branch that is a number, or None."""
    if type(x) is not float or g.dtype.char not in "fd":
        return None
    if not (g.flags.c_contiguous and condition.flags.c_contiguous):
        return None
    column = (1, -1, 1)
    sums = _core.sum_chosen(g.reshape(column), condition.reshape(column), is_x)
    return sums.reshape(())


def reduced(name):
    """Return the rule of a reduction; of sums each entry has its segment's."""

    def back(call, g):
        primals, options = call.primals, call.options
        values = primals[0]
        if type(values) is not ndarray or values.dtype is not g.dtype:
            return None
        op = options.get("op", name)
        more = len(options) - ("op" in options)
        if more:
            made = _spread(options, g) if op == "add" and more == 1 else None
        elif len(primals) == 1:
            return None
        elif op == "add" or op == "sum":
            made = _core.gather(g, primals[1])
        else:
            pair = _pulled(call, op, None, primals[1], values, g)
            made = None if pair is None else pair[1]
        if made is None or made.shape != values.shape:
            return None
        return (made, None, None)[: len(primals)]

    return back


def _spread(options, g):
    """Return for each entry what its segment has, if offsets= alone say which."""
    ends = options.get("offsets")
    return None if ends is None else _core.segment_expand(g, offsets=ends)


def softmax(call, g):
    """Softmax: y (g - sum of g y)."""
    if call.options or type(call.primals[0]) is not ndarray:
        return None
    y, (_, ids, *size) = call.out, call.primals
    if type(ids) is not ndarray or ids.ndim != 1:
        return None
    sums = _core.segment_sum(g * y, ids, *size)
    made = y * (g - _core.gather(sums, ids))
    return (made, None, None) if size else (made, None)


def running(call, g):
    """Running sums: those from the other end."""
    if call.options or len(call.primals) != 2:
        return None
    return _core.segment_cumsum(g, call.primals[1], reverse=True), None


def expanded(call, g):
    """A segment has the sum of its entries."""
    if call.options or len(call.primals) != 2:
        return None
    of, ids = call.primals
    return _core.segment_sum(g, ids, np.shape(of)[0]), None


def counted(call, g):
    """A weight has the cotangent of its number's count."""
    if call.options:
        return None
    x, weights, *size = call.primals
    if type(weights) is not ndarray or weights.dtype is not g.dtype:
        return None
    made = _core.gather(g, x)
    if made.shape != weights.shape:
        return None
    return (None, made, None) if size else (None, made)


def _is_real_product(A, X, g):
    is_ours = type(A) is CSR or type(A) is CSC
    return is_ours and _is_real_matrix(X, g) and A.data is not None


def _is_real_matrix(X, g):
    return type(X) is ndarray and X.ndim == 2 and X.dtype is g.dtype


def multiplied(call, g):
    """A matrix times a dense one: samples for the one, the transpose for the other."""
    if call.options or g.dtype.char not in "fd":
        return None
    A, X = call.primals
    if not _is_real_product(A, X, g):
        return None
    if A.data.dtype is not g.dtype:
        return None
    wanted = call.wanted
    of_A = A._with_data(_core.sddmm(A, g, X)) if 0 in wanted else None
    of_X = _core.spmm(A, g, transpose=True) if 1 in wanted else None
    return of_A, of_X


def sampled(call, g):
    """Inner products on a pattern: two products with the cotangent on it."""
    if call.options or g.dtype.char not in "fd":
        return None
    A, X, Y = call.primals
    if not _is_real_product(A, X, g) or not _is_real_matrix(Y, g):
        return None
    of, wanted = A._with_data(g), call.wanted
    of_X = _core.spmm(of, Y) if 1 in wanted else None
    of_Y = _core.spmm(of, X, transpose=True) if 2 in wanted else None
    return None, of_X, of_Y
