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

    __slots__ = ("mask", "args", "is_tuple", "derivative", "slopes")

    def __init__(self, call):
        self.derivative = call.get("derivative")
        if self.derivative is None:
            raise TypeError(
                "apply_where has no derivative without derivative=, that of f1"
            )
        args = call.get("args")
        self.is_tuple = type(args) is tuple
        self.args = [np.asarray(x) for x in (args if self.is_tuple else (args,))]
        condition = np.asarray(call.get("cond")).astype(np.bool_)
        self.mask = np.broadcast_to(condition, call.out.shape)
        self.slopes = self.slopes_at([self.pack(x) for x in self.args])

    def pack(self, x):
        """Return the selected elements."""
        return _core.gather_where(np.broadcast_to(x, self.mask.shape), self.mask)

    def slopes_at(self, packed):
        """Return the derivative by each argument, at packed ones."""
        slopes = self.derivative(*packed)
        slopes = slopes if type(slopes) is tuple else (slopes,)
        if len(slopes) != len(self.args):
            raise ValueError(
                f"derivative returned {len(slopes)} arrays for {len(self.args)} "
                "arguments"
            )
        return slopes

    def back(self, slopes, g):
        """Give each argument its slope times the cotangent, where selected."""
        chosen, made = self.pack(g), []
        for x, slope in zip(self.args, slopes, strict=True):
            moves = np.conj(slope) * chosen
            whole = np.zeros(g.shape, moves.dtype)
            _core.scatter_where(whole, self.mask, moves, packed=True, out=whole)
            made.append(unbroadcast(whole, x.shape))
        return tuple(made) if self.is_tuple else made[0]

    def bend(self, g, tangents):
        """Return how the gradients change when arguments move by tangents."""
        given = tangents if type(tangents) is tuple else (tangents,)
        xs = [in_double(self.pack(x)) for x in self.args]
        changes = [0.0] * len(xs)
        for k, tangent in enumerate(given):
            if tangent is not None:
                parts = self._changes(xs, k, in_double(self.pack(tangent)))
                changes = [a + b for a, b in zip(changes, parts, strict=True)]
        return self.back(changes, g)

    def _changes(self, xs, k, moves):
        """Return how slopes change where argument k moves: central differences.

        The step is 1e-5, or a small part of the argument where that is steadier: near
        the end of what the function is defined on, and where numbers are large.
        """
        length = abs(moves)
        unit = np.where(length == 0, 1, length)
        with np.errstate(all="ignore"):
            steps = STEP / unit, RELATIVE * abs(xs[k]) / unit
            one, other = (self._steady(xs, k, moves, step) for step in steps)
            return tuple(
                np.where(length == 0, 0, steadier(a, b))
                for a, b in zip(one, other, strict=True)
            )

    def _steady(self, xs, k, moves, step):
        """Return differences of slopes, each with how far half a step is from it."""
        step = np.where((step > 0) & (step < np.inf), step, np.nan)
        made = []
        for h in (step, step / 2):
            ends = [xs[k] + s * h * moves for s in (1, -1)]
            slopes = [self.slopes_at([*xs[:k], x, *xs[k + 1 :]]) for x in ends]
            apart = ends[0] - ends[1]  # as they really are; NaN where they are infinite
            made.append(
                [
                    np.where((a == b) & (apart != 0), 0, (a - b) * moves / apart)
                    for a, b in zip(*slopes, strict=True)
                ]
            )
        pairs = zip(*made, strict=True)
        return [
            (a, np.where(a == b, 0, abs(a - b) / (abs(a) + abs(b)))) for a, b in pairs
        ]


def in_double(x):
    """Return numbers in double precision: others do not tell steps apart."""
    return x.astype(np.result_type(x, np.float64), copy=False)


def steadier(usual, other):
    """Choose between (differences, relative errors): the others where these are sure.

    What cannot be told has an error of NaN. A zero may be all that is left of a step
    too short or too long, so that of two sure ones it is the other that counts.
    """
    (a, a_error), (b, b_error) = usual, other
    better = (b != 0) & (b_error < a_error)
    surely = (b_error < SURE) & (better | (a == 0) | (a_error > SURE))
    return np.where(surely | (a_error != a_error), b, a)


STEP, RELATIVE, SURE = 1e-5, 1e-4, 1e-2  # of differences of slopes


def of_args(call, g):
    """Give each argument the derivative of f1 times the cotangent, where selected."""
    packed = call.once(Packed)
    return packed.back(packed.slopes, g)


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
