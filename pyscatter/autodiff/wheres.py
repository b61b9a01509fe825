"""Rules of `where` and `apply_where`: what was not selected is exactly zero.

Cotangents are selected, never multiplied by a mask, so that an infinity or a NaN of the
other branch cannot leak. Sums over axes that a branch was spread along are taken under
the mask, without an array of the full shape.
"""

import numpy as np

from pyscatter import _core
from pyscatter.autodiff.parts import chosen_sum, unbroadcast


def _condition(call):
    """Return the condition as bools, without a pass where it is."""
    condition = np.asarray(call.get("condition"))
    return condition if condition.dtype == np.bool_ else condition.astype(np.bool_)


def of_x(call, g):
    """Give the cotangent to x where the condition is true."""
    return chosen_sum(call.once(_condition), True, g, np.shape(call.get("x")))


def of_y(call, g):
    """Give the cotangent to y where the condition is false."""
    return chosen_sum(call.once(_condition), False, g, np.shape(call.get("y")))


def where_tangent(call, tangents):
    """Select between tangents."""
    dx, dy = (0 if t is None else t for t in tangents)
    made = _core.where(call.once(_condition), dx, dy)
    return np.broadcast_to(made, call.out.shape).copy()


class Packed:
    """The selected arguments of `apply_where`, and the derivative of its function."""

    __slots__ = ("mask", "args", "slopes")

    def __init__(self, call):
        derivative = call.get("derivative")
        if derivative is None:
            raise TypeError(
                "apply_where has no derivative without derivative=, that of f1"
            )
        args = call.get("args")
        self.args = [np.asarray(x) for x in (args if type(args) is tuple else (args,))]
        shape = call.out.shape
        condition = np.asarray(call.get("cond")).astype(np.bool_)
        self.mask = np.broadcast_to(condition, shape)
        slopes = derivative(*(self.pack(x) for x in self.args))
        self.slopes = slopes if type(slopes) is tuple else (slopes,)
        if len(self.slopes) != len(self.args):
            raise ValueError(
                f"derivative returned {len(self.slopes)} arrays for {len(self.args)} "
                "arguments"
            )

    def pack(self, x):
        """Return the selected elements."""
        return _core.gather_where(np.broadcast_to(x, self.mask.shape), self.mask)


def of_args(call, g):
    """Give each argument the derivative of f1 times the cotangent, where selected."""
    packed = call.once(Packed)
    chosen = packed.pack(g)
    made = []
    for x, slope in zip(packed.args, packed.slopes, strict=True):
        moves = np.conj(slope) * chosen
        whole = np.zeros(g.shape, moves.dtype)
        _core.scatter_where(whole, packed.mask, moves, packed=True, out=whole)
        made.append(unbroadcast(whole, x.shape))
    return tuple(made) if type(call.get("args")) is tuple else made[0]


def apply_tangent(call, tangents):
    """Move the selected elements by the derivative of f1."""
    packed = call.once(Packed)
    (given,) = tangents
    given = given if type(given) is tuple else (given,)
    moves = sum(
        slope * packed.pack(t)
        for slope, t in zip(packed.slopes, given, strict=True)
        if t is not None
    )
    whole = np.zeros(call.out.shape, np.result_type(moves, call.out.dtype.type(0)))
    if packed.args and not np.isscalar(moves):
        _core.scatter_where(whole, packed.mask, moves, packed=True, out=whole)
    return whole
