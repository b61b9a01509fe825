"""pyscatter as primitives of HIPS autograd, with both modes of derivatives.

Every function is a primitive whose VJP and JVP are those of `pyscatter.vjp` and
`pyscatter.jvp`. The pullback is a primitive too, so second derivatives are right where
the operation is linear but for choices, and products; they are a RuntimeError for the
others. The cotangent of a gather's source is a SparseObject, which adds to one array.
"""

import numpy as np

import pyscatter as ps
from pyscatter.adapters._functions import functions
from pyscatter.adapters._imports import required

required("autograd", "autograd")

from autograd.extend import (  # noqa: E402
    SparseObject,
    defjvp_argnums,
    defvjp_argnums,
    primitive,
    vspace,
)
from autograd.numpy import numpy_vjps as _theirs  # noqa: E402
from autograd.tracer import getval  # noqa: E402

_GATHERS = ("gather", "gather_along_axis", "gather_nd")


@primitive
def _run(call, *operands):
    return call.run(operands)


@primitive
def _pull(call, wanted, g, *operands):
    return call.pull(operands, g, (wanted,))[0]


@primitive
def _push(call, i, move, *operands):
    moves = [move if j == i else None for j in call.numbers]
    return call.push(operands, moves)


@primitive
def _second(call, i, wanted, source, g, *operands):
    sources = [source if j == i else None for j in call.numbers]
    grads = dict(zip(call.numbers, call.second(operands, g, sources), strict=True))
    grad = grads.get(wanted)
    return np.zeros_like(operands[wanted]) if grad is None else grad


@primitive
def _cross(call, i, first, j, move, *operands):
    return call.cross(operands, {i: first}, {j: move})


@primitive
def _add(call, wanted, g, buffer, *operands):
    """Add a gradient to a buffer: what a SparseObject does."""
    args, options = call.arguments(operands)
    _, pullback = ps.vjp(getattr(ps, call.name), *args, **options)
    into = [None] * len(args)
    into[call.places((wanted,))[0]] = buffer
    pullback(g, into=into)
    return buffer


def _gradient(call, i, g, operands):
    """Return the gradient of an operand; row by row where it is a gather's source."""
    if call.name not in _GATHERS or type(g) is not np.ndarray:
        return _pull(call, i, g, *operands)
    values = tuple(map(getval, operands))
    return SparseObject(
        vspace(values[i]), lambda buffer: _add(call, i, g, buffer, *values)
    )


def _run_vjp(argnums, ans, args, kwargs):
    call, *operands = args
    return lambda g: tuple(_gradient(call, i - 1, g, operands) for i in argnums)


def _run_jvp(argnums, moves, ans, args, kwargs):
    call, *operands = args
    return sum(
        _push(call, i - 1, move, *operands)
        for i, move in zip(argnums, moves, strict=True)
    )


def _pull_vjp(argnums, ans, args, kwargs):
    call, wanted, g, *operands = args

    def pullback(source):
        return tuple(
            _push(call, wanted, source, *operands)
            if i == 2
            else _second(call, wanted, i - 3, source, g, *operands)
            for i in argnums
        )

    return pullback


def _pull_jvp(argnums, moves, ans, args, kwargs):
    call, wanted, g, *operands = args
    parts = []
    for i, move in zip(argnums, moves, strict=True):
        if i == 2:
            parts.append(_pull(call, wanted, move, *operands))
        else:
            parts.append(_second(call, i - 3, wanted, move, g, *operands))
    return sum(parts)


def _push_jvp(argnums, moves, ans, args, kwargs):
    call, i, first, *operands = args
    parts = []
    for j, move in zip(argnums, moves, strict=True):
        if j == 2:
            parts.append(_push(call, i, move, *operands))
        else:
            parts.append(_cross(call, i, first, j - 3, move, *operands))
    return sum(parts)


def _push_vjp(argnums, ans, args, kwargs):
    call, i, move, *operands = args

    def pullback(g):
        return tuple(
            _pull(call, i, g, *operands)
            if j == 2
            else _second(call, i, j - 3, move, g, *operands)
            for j in argnums
        )

    return pullback


defvjp_argnums(_run, _run_vjp)
defjvp_argnums(_run, _run_jvp)
defvjp_argnums(_pull, _pull_vjp)
defjvp_argnums(_pull, _pull_jvp)
defvjp_argnums(_push, _push_vjp)
defjvp_argnums(_push, _push_jvp)


def _apply(call, operands):
    """Call a primitive; what is no array and no box becomes one."""
    return _run(
        call, *(np.asarray(x) if isinstance(x, (list, tuple)) else x for x in operands)
    )


_MADE = functions(
    _apply,
    "array_like",
    "autograd",
    "there are no numbers to derive by",
)
globals().update(_MADE)

__all__ = [*_MADE, "accelerate"]

_OWN = _theirs.onp


class _Add:
    """np.add as autograd's indexing gradient sees it: its `at` is ours."""

    def at(self, a, indices, b):
        """Add in place; what pyscatter refuses is NumPy's."""
        try:
            ps.add_at(a, indices, b)
        except (TypeError, ValueError):
            np.add.at(a, indices, b)

    def __getattr__(self, name):
        return getattr(np.add, name)


class _Numpy:
    """numpy with another `add`."""

    add = _Add()

    def __getattr__(self, name):
        return getattr(np, name)


def accelerate(on=True):
    """Have autograd's own indexing gradient add by pyscatter.

    Parameters
    ----------
    on : bool, optional
        False restores autograd's own.

    Returns
    -------
    None

    Raises
    ------
    RuntimeError
        This autograd has no such place to change.

    Notes
    -----
    The gradient of ``x[index]`` adds its cotangent into zeros with ``np.add.at``; that
    call becomes `pyscatter.add_at`, which adds in the same order: the same bits. What
    pyscatter refuses goes to NumPy. *Derivatives*: unchanged. *Determinism*: the bits
    depend neither on threads nor on the CPU. The change holds for the whole process.

    See Also
    --------
    pyscatter.add_at

    Examples
    --------
    >>> from pyscatter.adapters.autograd import accelerate
    >>> accelerate()
    >>> accelerate(on=False)
    """
    if _OWN is not np or not hasattr(_theirs, "untake"):
        raise RuntimeError("this version of autograd has no numpy_vjps.untake")
    _theirs.onp = _Numpy() if on else _OWN
