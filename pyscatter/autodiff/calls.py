"""`vjp` and `jvp`: a call, its pullback and its pushforward."""

import operator

import numpy as np

from pyscatter._core import begin
from pyscatter.autodiff.buffers import (
    add_all,
    dtype_of,
    finished,
    is_matrix,
    vars_of,
    with_data,
)
from pyscatter.autodiff.parts import Call
from pyscatter.autodiff.rules import NONE, RULES
from pyscatter.sparse import Sparse


def rule_of(op):
    """Return the rule of an operation, or say why it has none."""
    try:
        return RULES[op]
    except (KeyError, TypeError):  # not known, or not even hashable
        name = getattr(op, "__name__", repr(op))
    why = NONE.get(name, "it is no operation of pyscatter that has one")
    raise TypeError(f"{name} has no derivative: {why}")


def is_inexact(dtype):
    """Whether numbers of a dtype have derivatives."""
    return dtype.char in "efdFD" or dtype.name == "bfloat16"


def chosen(rule, count, wrt):
    """Return the positions of a call that gradients are wanted of."""
    if wrt is None and count > rule.starred[-1]:
        return rule.starred
    if type(wrt) is int and wrt < count and wrt in rule.starred:
        return (wrt,)
    given = tuple(i for i in rule.starred if i < count)
    if wrt is None:
        return given
    wanted = wrt if isinstance(wrt, (tuple, list)) else (wrt,)
    wanted = tuple(dict.fromkeys(operator.index(i) for i in wanted))
    for i in wanted:
        if i not in given:
            have = ", ".join(f"{j} ({rule.arguments[j]})" for j in given) or "none"
            raise ValueError(
                f"wrt={i} is no position of {rule.name} that has a gradient; these "
                f"have one: {have}"
            )
    return wanted


def require_inexact(name, x):
    """Refuse integers: nothing flows through them."""
    parts = x if isinstance(x, tuple) and not is_matrix(x) else (x,)
    for part in parts:
        dtype = dtype_of(part)
        if dtype is not None and not is_inexact(dtype):
            raise TypeError(
                f"{name!r} has dtype {dtype}; derivatives need floats or complex "
                "numbers of at most double precision (cast it, or leave it out by wrt=)"
            )


def refuse_options(rule, options):
    """Refuse what has no derivative."""
    for name, instead in rule.refused.items():
        given = options.get(name)
        if (
            given is not None
            and given is not False
            and not (name == "beta" and given == 0)
        ):
            raise TypeError(f"{rule.name} with {name}= has no derivative: {instead}")
    if isinstance(options.get("op"), (tuple, list)):
        raise TypeError("several ops in one call have no derivative: use one at a time")


def result_of(rule, primals, options):
    """Make the call itself; return its result."""
    if options:
        refuse_options(rule, options)
    out = rule.called(*primals, **options)
    require_inexact_result(rule, out)
    return out


def require_ties(ties):
    """Refuse what is no way to treat ties."""
    if ties != "even" and ties != "first":
        raise ValueError(f"ties must be 'even' or 'first', got {ties!r}")


def run(rule, primals, options, ties):
    """Make the call itself; return it with its arguments."""
    require_ties(ties)
    return Call(rule, primals, options, result_of(rule, primals, options), ties)


def require_inexact_result(rule, out):
    """Refuse results of integers."""
    if not is_inexact(numbers_of(out).dtype):
        raise TypeError(
            f"the result of {rule.name} has dtype {out.dtype}; derivatives need floats "
            "or complex numbers"
        )


def numbers_of(out):
    """Return the numbers of a result: of a sparse one, its data."""
    return out.data if isinstance(out, Sparse) else out


def require_structure(what, A, B):
    """Refuse a matrix whose values lie elsewhere than those of what it belongs to."""
    if isinstance(B, np.ndarray) or not (is_matrix(A) and is_matrix(B)):
        return
    fits = A.format == B.format and A.shape == B.shape
    for one, other in zip(vars_of(A)[1:], vars_of(B)[1:], strict=True):
        fits = fits and (one is other or np.array_equal(one, other))
    if not fits:
        raise ValueError(f"the {what} is a matrix of another structure")


def cotangent_of(out, g):
    """Return a cotangent as a native array that fits the result."""
    if type(g) is type(out) is np.ndarray:
        if g.dtype is out.dtype and g.shape == out.shape:
            return g
    require_structure("cotangent", out, g)
    out = numbers_of(out)
    g = np.asarray(g.data if is_matrix(g) else g)
    if g.shape != out.shape:
        raise ValueError(
            f"the cotangent has shape {g.shape}, but the result has {out.shape}"
        )
    if not is_inexact(g.dtype) or (g.dtype.kind == "c" and out.dtype.kind != "c"):
        raise ValueError(
            f"the cotangent has dtype {g.dtype}, but the result has {out.dtype}"
        )
    return g if g.dtype.isnative else g.astype(g.dtype.newbyteorder("="))


class Pullback(Call):
    """What takes a cotangent of a call's result to the gradients of its arguments.

    ``pullback(g, *, into=None, sparse=False, coalesce=False)``, see `by_rule`. It holds
    the arguments and the result, not copies of them.
    """

    __slots__ = ()

    @property
    def __signature__(self):
        """How it is called, which its base in C does not tell."""
        import inspect

        return inspect.signature(self.by_rule)

    def by_rule(self, g, *, into=None, sparse=False, coalesce=False):
        """Return one gradient for each positional argument of the call.

        Parameters
        ----------
        g : array_like or None
            Cotangent of the result, of its shape; of its pattern, if it is sparse. It
            may be wider than the result; gradients have its precision. None is zero.
        into : tuple or list, optional
            For each argument an array to which its gradient is added, or None.
        sparse : bool, optional
            Return a `RowSparse` where the gradient consists of rows.
        coalesce : bool, optional
            With `sparse`: each row once, in ascending order.

        Returns
        -------
        tuple
            Gradients; None for what has none or was not asked for. Where `into` has
            buffers, these.
        """
        primals, vjps = self.primals, self.rule.vjps
        parts = [None] * len(primals)
        if g is not None:
            g = cotangent_of(self.out, g)
            for i in self.wanted:
                parts[i] = vjps[i](self, g)
        if into is not None:
            return add_all(parts, primals, into, g, sparse, coalesce)
        for i in self.wanted:
            if parts[i] is not None:
                parts[i] = finished(parts[i], primals[i], g.dtype, sparse, coalesce)
        return tuple(parts)

    def __repr__(self):
        """Return what it is the pullback of."""
        return f"<pullback of {self.rule.name}>"


def vjp(op, /, *primals, ties="even", wrt=None, **options):
    """
    Call an operation, and return with its result what takes cotangents back.

    Parameters
    ----------
    op : callable
        An operation of pyscatter, such as ``ps.scatter``.
    primals : array_like
        Its arguments by position. Those that hold data have gradients, and must be
        floats or complex numbers; Python numbers are weak and have some too. Indices,
        masks and ids have none.
    ties : {"even", "first"}, optional
        Where several elements are the least or the greatest, or equal the order
        statistic: all share the gradient, or the first has it, old values before new
        ones.
    wrt : int or tuple of int, optional
        Positions of the arguments whose gradients are wanted; by default all that have
        one.
    options : optional
        Keywords of the call. They are constants, `weights` of segments among them.

    Returns
    -------
    out : ndarray or CSR
        What the call returns.
    pullback : callable
        ``pullback(g, *, into=None, sparse=False, coalesce=False)`` returns a tuple with
        the gradient of each argument, or None, for a cotangent g of the result. Arrays
        of ``into=``, one for each argument or None, are added to instead. With
        ``sparse=True`` gradients that consist of rows are `RowSparse`, in which
        duplicates stay unless ``coalesce=True``. The gradient of a sparse matrix is a
        matrix of its class and structure.

    Raises
    ------
    TypeError
        An operation without derivative, or with `out=`, `beta=`, several ops or more
        than one result; integers where floats are needed.
    ValueError
        `wrt` names no argument with a gradient; later, in the pullback: a cotangent of
        another shape or structure, of integers, or complex for a real result; buffers
        that are read-only, of another shape, or share memory with an input. No buffer
        has then been written.

    Notes
    -----
    A gradient has the precision of its cotangent, which may be wider than the result. A
    complex gradient is that of steepest ascent: the adjoint of the derivative under
    ``<a, b> = Re(vdot(a, b))``, as in torch. None as cotangent is zero. A gradient may
    be the cotangent itself, not a copy of it.

    *Order and duplicates*: exact. "set" gives its gradient to the value that stayed,
    products have for a factor the product of all others, without a division, and what
    is dropped, left out or not selected has exactly zero.

    *Determinism*: the same bits for any number of threads and any CPU level.

    *Derivatives*: `hvp` of a `Tape` takes second ones.

    *Cost*: a call of the operation; the pullback of a linear one is its transpose, one
    call again. The arguments and the result are held, not copied: do not write to them
    before the pullback has been called.

    See Also
    --------
    jvp, jacobian, Tape
    jax.vjp, torch.func.vjp, autograd.make_vjp

    Examples
    --------
    >>> import numpy as np
    >>> import pyscatter as ps
    >>> table = np.array([1.0, 2.0, 4.0])
    >>> out, pullback = ps.vjp(ps.gather, table, [2, 0, 2])
    >>> pullback(np.array([1.0, 10.0, 100.0]))
    (array([ 10.,   0., 101.]), None)

    The last of several values for one place stays, and has the gradient:

    >>> out, pullback = ps.vjp(ps.scatter, np.zeros(3), [1, 1], np.array([5.0, 6.0]))
    >>> pullback(np.ones(3))
    (array([1., 0., 1.]), None, array([0., 1.]))
    """
    try:
        rule = RULES[op]
    except (KeyError, TypeError):
        rule = rule_of(op)
    if ties != "even":
        require_ties(ties)
    wanted = rule.starred
    if wrt is not None or len(primals) <= rule.last:
        wanted = chosen(rule, len(primals), wrt)
    if rule.plain is not None:
        called = rule, rule.plain, rule.called, primals, options
        pair = begin(Pullback, *called, ties, wanted)
        if pair is not None:
            return pair
    for i in wanted:
        require_inexact(rule.arguments[i], primals[i])
    out = result_of(rule, primals, options)
    return out, Pullback(rule, primals, options, out, ties, wanted)


def tangent_of(name, x, tangent):
    """Return a tangent as an array that fits its primal."""
    if isinstance(x, tuple) and isinstance(tangent, tuple):
        pairs = zip(x, tangent, strict=True)
        return tuple(None if t is None else tangent_of(name, y, t) for y, t in pairs)
    require_structure("tangent", x, tangent)
    tangent = np.asarray(tangent.data if is_matrix(tangent) else tangent)
    shape = np.shape(x.data if is_matrix(x) else x)
    if tangent.shape != shape:
        raise ValueError(
            f"the tangent of {name!r} has shape {tangent.shape}, but it has {shape}"
        )
    dtype = dtype_of(x)
    complex_for_real = (
        tangent.dtype.kind == "c" and dtype is not None and (dtype.kind != "c")
    )
    if not is_inexact(tangent.dtype) or complex_for_real:
        raise ValueError(
            f"the tangent of {name!r} has dtype {tangent.dtype}, but it has {dtype}"
        )
    return tangent


def tangents_of(rule, primals, tangents):
    """Return the tangents of starred arguments; None for zero."""
    if not isinstance(tangents, (tuple, list)) or len(tangents) != len(primals):
        raise ValueError(
            f"{rule.name} was called with {len(primals)} arguments; give a tuple with "
            "a tangent, or None, for each"
        )
    for i, tangent in enumerate(tangents):
        if tangent is not None and i not in rule.starred:
            raise ValueError(f"{rule.arguments[i]!r} has no tangent; give None")
    pairs = [(i, None if i >= len(tangents) else tangents[i]) for i in rule.starred]
    for i, tangent in pairs:
        if tangent is not None:
            require_inexact(rule.arguments[i], primals[i])
    return tuple(
        None if t is None else tangent_of(rule.arguments[i], primals[i], t)
        for i, t in pairs
    )


def pushed(rule, call, tangents):
    """Return the tangent of a result, real and of its form where that is."""
    out = call.out
    if all(t is None for t in tangents):
        made = np.zeros_like(numbers_of(out))
    else:
        made = rule.jvp(call, tangents)
        if made.dtype.kind == "c" and numbers_of(out).dtype.kind != "c":
            made = np.ascontiguousarray(made.real)
    return with_data(out, made) if isinstance(out, Sparse) else made


def jvp(op, primals, tangents, /, *, ties="even", **options):
    """
    Call an operation, and return its result and the tangent of that.

    Parameters
    ----------
    op : callable
        An operation of pyscatter.
    primals : tuple
        Its arguments by position.
    tangents : tuple
        For each argument how it moves: an array of its shape, or None, which is zero.
        That of a sparse matrix is a matrix of its structure, or the values of one.
    ties : {"even", "first"}, optional
        As in `vjp`.
    options : optional
        Keywords of the call.

    Returns
    -------
    out : ndarray or CSR
        What the call returns.
    tangent : ndarray or CSR
        How it moves, to first order.

    Raises
    ------
    TypeError
        As `vjp`.
    ValueError
        A tangent of another shape or structure than its argument, of integers, complex
        for a real argument, or for one that cannot move; not one for each argument.

    Notes
    -----
    *Order and duplicates*: as `vjp`; both modes have the same factors, so that
    ``<g, J v>`` is ``<J* g, v>`` but for rounding.

    *Determinism*: the same bits for any number of threads and any CPU level.

    *Derivatives*: `hvp` of a `Tape` takes second ones.

    *Cost*: that of the call, and for a linear operation as much again.

    See Also
    --------
    vjp, linear_operator
    jax.jvp, torch.func.jvp

    Examples
    --------
    >>> import numpy as np
    >>> import pyscatter as ps
    >>> a, values = np.array([2.0, 3.0]), np.array([5.0, 7.0])
    >>> ps.jvp(ps.scatter, (a, [0, 0], values), (None, None, [1.0, 0.0]), op="mul")
    (array([70.,  3.]), array([14.,  0.]))
    """
    rule = rule_of(op)
    primals = tuple(primals)
    tangents = tangents_of(rule, primals, tangents)
    call = run(rule, primals, options, ties)
    return call.out, pushed(rule, call, tangents)
