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

zeros = np.zeros


def gathered(put):
    """Return the rule of gathers: what `put` adds to zeros."""

    def back(call, g):
        if call.options:
            return None
        a, index, *axis = call.primals
        new = zeros(np.shape(a), g.dtype)
        made = put(new, index, g, *axis, op="add", out=new)
        return (made, None, None) if axis else (made, None)

    return back


def gathered_where(call, g):
    """Elements under a mask go back to it."""
    if call.options or len(call.primals) != 2:
        return None
    a, mask = call.primals
    new = zeros(np.shape(a), g.dtype)
    put = _core.scatter_where
    return put(new, mask, g, op="add", packed=True, out=new), None


def _op_alone(call, default):
    """Return the op of a call that has no other option, else None."""
    options = call.options
    if not options:
        return default
    return options.get("op") if len(options) == 1 else None


def scattered(take):
    """Return the rule of sums of what arrives: what `take` gathers of a cotangent."""

    def back(call, g):
        op = _op_alone(call, "set")
        a, index, values, *axis = call.primals
        if (op != "add" and op != "sub") or type(values) is not np.ndarray:
            return None
        wanted, made = call.wanted, None
        if 2 in wanted:
            made = take(g, index, *axis)
            if made.shape != values.shape or values.dtype is not g.dtype:
                return None
            if op == "sub":
                made = -made
        of_old = g if 0 in wanted else None
        return (of_old, None, made, None) if axis else (of_old, None, made)

    return back


def scattered_where(call, g):
    """What was added under a mask has its cotangent there."""
    _, mask, values = call.primals
    if (
        _op_alone(call, "set") != "add"
        or not _fills(values, g)
        or not _is_mask(mask, g)
    ):
        return None
    wanted = call.wanted
    made = _core.where(mask, g, 0.0) if 2 in wanted else None
    return g if 0 in wanted else None, None, made


def _fills(x, g):
    """Whether an argument is an array like the cotangent."""
    return type(x) is np.ndarray and x.shape == g.shape and x.dtype is g.dtype


def _is_mask(mask, g):
    """Whether a mask has an element for each of the cotangent's."""
    return type(mask) is np.ndarray and mask.dtype.char == "?" and mask.shape == g.shape


def chosen(call, g):
    """Each branch has the cotangent where it was chosen; numbers have its sum."""
    condition, x, y = call.primals
    if call.options or not _is_mask(condition, g):
        return None
    parts = [None, None, None]
    for i in call.wanted:
        parts[i] = _of_branch(condition, i == 1, x if i == 1 else y, g)
        if parts[i] is None:
            return None
    return tuple(parts)


def _of_branch(condition, is_x, x, g):
    if _fills(x, g):
        return (
            _core.where(condition, g, 0.0) if is_x else _core.where(condition, 0.0, g)
        )
    if type(x) is not float or g.dtype.char not in "fd":
        return None
    if not (g.flags.c_contiguous and condition.flags.c_contiguous):
        return None
    column = (1, -1, 1)
    sums = _core.sum_chosen(g.reshape(column), condition.reshape(column), is_x)
    return sums.reshape(())


def summed(call, g):
    """Each entry has the cotangent of its segment."""
    primals, options = call.primals, call.options
    values = primals[0]
    if type(values) is not np.ndarray or values.dtype is not g.dtype:
        return None
    if options.get("op", "add") != "add":
        return None
    more = len(options) - ("op" in options)
    if not more and len(primals) > 1:
        made = _core.gather(g, primals[1])
    elif more == 1 and "offsets" in options and len(primals) == 1:
        made = _core.segment_expand(g, offsets=options["offsets"])
    else:
        return None
    return (made, None, None)[: len(primals)] if made.shape == values.shape else None


def softmax(call, g):
    """Softmax: y (g - sum of g y)."""
    if call.options or type(call.primals[0]) is not np.ndarray:
        return None
    y, (_, ids, *size) = call.out, call.primals
    if type(ids) is not np.ndarray or ids.ndim != 1:
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
    if type(weights) is not np.ndarray or weights.dtype is not g.dtype:
        return None
    made = _core.gather(g, x)
    if made.shape != weights.shape:
        return None
    return (None, made, None) if size else (None, made)


def _is_real_product(A, X, g):
    is_ours = type(A) is CSR or type(A) is CSC
    return is_ours and _is_real_matrix(X, g) and A.data is not None


def _is_real_matrix(X, g):
    return type(X) is np.ndarray and X.ndim == 2 and X.dtype is g.dtype


def multiplied(call, g):
    """A matrix times a dense one: samples for the one, the transpose for the other."""
    A, X = call.primals
    if call.options or g.dtype.char not in "fd" or not _is_real_product(A, X, g):
        return None
    if A.data.dtype is not g.dtype:
        return None
    wanted = call.wanted
    of_A = A._with_data(_core.sddmm(A, g, X)) if 0 in wanted else None
    of_X = _core.spmm(A, g, transpose=True) if 1 in wanted else None
    return of_A, of_X


def sampled(call, g):
    """Inner products on a pattern: two products with the cotangent on it."""
    A, X, Y = call.primals
    if call.options or g.dtype.char not in "fd" or not _is_real_product(A, X, g):
        return None
    if not _is_real_matrix(Y, g):
        return None
    of, wanted = A._with_data(g), call.wanted
    of_X = _core.spmm(of, Y) if 1 in wanted else None
    of_Y = _core.spmm(of, X, transpose=True) if 2 in wanted else None
    return None, of_X, of_Y
