"""Derivatives as linear operators: products with a Jacobian that nobody makes."""

import operator

import numpy as np

from pyscatter.autodiff import calls
from pyscatter.autodiff.buffers import finished, is_matrix


class JacobianOperator:
    """The derivative of a call at its arguments, for SciPy's iterative solvers."""

    __array_ufunc__ = None

    def __init__(self, rule, call, primals, wrt):
        self._rule, self._call, self._primals = rule, call, primals
        self._wrt = wrt
        out = calls.numbers_of(call.out)
        x = calls.numbers_of(primals[wrt]) if is_matrix(primals[wrt]) else primals[wrt]
        x = np.asarray(x.data if is_matrix(x) else x)
        self._x_shape, self._out_shape = x.shape, out.shape
        self.shape, self.ndim = (out.size, x.size), 2
        self.dtype = np.result_type(out.dtype, x.dtype)
        self._is_complex = (out.dtype.kind == "c", x.dtype.kind == "c")

    def matvec(self, v):
        """Return the Jacobian times a vector of the size of the argument."""
        return self._by_parts(self._forward, np.asarray(v), 1)

    def _forward(self, v):
        moved = v.reshape(self._x_shape)
        tangents = [None] * len(self._rule.starred)
        tangents[self._rule.starred.index(self._wrt)] = moved
        call = self._call.anew()
        made = calls.numbers_of(calls.pushed(self._rule, call, tuple(tangents)))
        return made.reshape((self.shape[0],) + v.shape[1:])

    def rmatvec(self, u):
        """Return the adjoint of the Jacobian times a vector of the result's size."""
        return self._by_parts(self._back, np.asarray(u), 0)

    def _back(self, u):
        g = u.reshape(self._out_shape)
        call = self._call.anew()
        x = self._primals[self._wrt]
        made = finished(self._rule.vjps[self._wrt](call, g), x, g.dtype, False, False)
        if made is None:
            return np.zeros((self.shape[1],) + u.shape[1:], g.dtype)
        made = made.data if is_matrix(made) else made
        return made.reshape((self.shape[1],) + u.shape[1:])

    def _by_parts(self, way, v, side):
        """Return a product; a real operator takes the parts of a complex vector."""
        if v.dtype.kind in "biu":
            v = v.astype(np.result_type(v.dtype, np.float32))
        if not calls.is_inexact(v.dtype) and v.dtype.kind not in "fc":
            raise TypeError(f"a vector has dtype {v.dtype}; expected numbers")
        if v.dtype.kind != "c" or self._is_complex[side]:
            return way(v)
        if any(self._is_complex):
            what = ("result", "argument")[side]
            raise ValueError(f"a complex vector for a real {what}")
        made = way(np.ascontiguousarray(v.real))
        both = np.empty(made.shape, np.result_type(made.dtype, np.complex64))
        both.real, both.imag = made, way(np.ascontiguousarray(v.imag))
        return both

    def matmat(self, V):
        """Return the Jacobian times the columns of a matrix."""
        V = np.asarray(V)
        made = [self.matvec(column) for column in V.T]
        return np.stack(made, axis=1) if made else np.zeros((self.shape[0], 0))

    def rmatmat(self, U):
        """Return the adjoint times the columns of a matrix."""
        U = np.asarray(U)
        made = [self.rmatvec(column) for column in U.T]
        return np.stack(made, axis=1) if made else np.zeros((self.shape[1], 0))

    @property
    def H(self):
        """The adjoint."""
        return _Adjoint(self)

    T = H

    def __matmul__(self, x):
        x = np.asarray(x)
        if x.ndim not in (1, 2):
            raise ValueError(f"an operand has {x.ndim} axes; expected 1 or 2")
        return self.matvec(x) if x.ndim == 1 else self.matmat(x)

    dot = __matmul__

    def __repr__(self):
        """Return its shape and dtype."""
        return f"<{type(self).__name__} of shape {self.shape}, dtype {self.dtype}>"


class _Adjoint(JacobianOperator):
    """The adjoint of another operator."""

    def __init__(self, turned):
        self._of = turned
        self.shape, self.ndim = turned.shape[::-1], 2
        self.dtype = turned.dtype

    def matvec(self, v):
        """Return the adjoint times a vector."""
        return self._of.rmatvec(v)

    def rmatvec(self, u):
        """Return the operator itself times a vector."""
        return self._of.matvec(u)

    @property
    def H(self):
        """The operator whose adjoint this is."""
        return self._of

    T = H


def linear_operator(op, /, *primals, wrt=0, ties="even", **options):
    """
    Return the derivative of a call as a linear operator.

    Parameters
    ----------
    op : callable
        An operation of pyscatter.
    primals : array_like
        Its arguments by position; the derivative is taken at these.
    wrt : int, optional
        The position of the argument that moves.
    ties : {"even", "first"}, optional
        As in `vjp`.
    options : optional
        Keywords of the call.

    Returns
    -------
    JacobianOperator
        Of shape ``(out.size, x.size)``, with ``matvec``, ``rmatvec``, ``matmat``,
        ``rmatmat``, ``H``, ``dtype`` and ``@``: what SciPy's lsqr, cg, gmres and
        ``aslinearoperator`` ask for. SciPy is not imported.

    Raises
    ------
    TypeError, ValueError
        As `vjp`; vectors of another size, or that are no numbers; a complex one for
        the real side of an operator whose other side is complex.

    Notes
    -----
    ``T`` is the adjoint, as ``H`` is, so that real and complex code read the same. A
    real operator times a complex vector is its product with both parts.

    *Order and duplicates*: as `vjp`.

    *Determinism*: the same bits for any number of threads and any CPU level.

    *Derivatives*: for linear operations it does not depend on the argument that moves.

    *Cost*: one call of `op`; a product is what `jvp` or the pullback costs.

    See Also
    --------
    jacobian, jvp, vjp
    scipy.sparse.linalg.LinearOperator, jax.linearize

    Examples
    --------
    >>> import numpy as np
    >>> import pyscatter as ps
    >>> J = ps.linear_operator(ps.segment_sum, np.zeros(4), [0, 1, 0, 1])
    >>> J
    <JacobianOperator of shape (2, 4), dtype float64>
    >>> J @ np.array([1.0, 2.0, 3.0, 4.0])
    array([4., 6.])
    >>> J.rmatvec(np.array([1.0, 10.0]))
    array([ 1., 10.,  1., 10.])
    """
    rule = calls.rule_of(op)
    wrt = operator.index(wrt)
    calls.chosen(rule, len(primals), wrt)
    calls.require_inexact(rule.arguments[wrt], primals[wrt])
    call = calls.run(rule, primals, options, ties)
    return JacobianOperator(rule, call, primals, wrt)
