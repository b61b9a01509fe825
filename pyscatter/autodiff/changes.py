"""Rules of `change_stats`: of one field at a time, named by ``field=``.

A field is a number, or an array with one for each row or feature, that is made of the
difference or of one of the arrays; its slopes are known for every element. Counts and
places have none. A gradient of the old array is there, too; `wrt=1` leaves it out.

Slopes are analytic where they are not constant piece by piece: an imaginary step of the
arrays and of the field makes them tell how they change, for second derivatives.
"""

from copy import copy

import numpy as np

from pyscatter import _core
from pyscatter.autodiff.parts import STEP, equal


class Field:
    """One field of a call: the elements that it is made of, and along which axes."""

    __slots__ = ("old", "new", "kept", "axes", "value", "count", "ties")

    def __init__(self, call):
        name, old, new = call.get("field"), call.get("old"), call.get("new")
        self.old, self.new = (np.asarray(x, np.float64) for x in (old, new))
        self.ties = call.ties
        self.kept = np.ones(self.new.shape, np.bool_)
        if call.get("finite_only", False):
            self.kept = np.isfinite(self.old) & np.isfinite(self.new)
        axis = int(call.get("axis", 0)) % max(self.new.ndim, 1)
        others = tuple(i for i in range(self.new.ndim) if i != axis)
        self.axes = None
        if name.startswith("row_"):
            self.axes = others
        elif name.startswith("feature_"):
            self.axes = (axis,)
        self.value = self.spread(call.out)
        self.count = self.sum(np.ones(self.new.shape))

    def sum(self, x):
        """Return sums over what the field reduces, in its place."""
        x = np.where(self.kept, x, 0)
        axes = tuple(range(x.ndim)) if self.axes is None else self.axes
        return x.sum(axis=axes, keepdims=True)

    def spread(self, x):
        """Return a field, or its cotangent, so that it meets the elements."""
        x = np.asarray(x, np.float64)
        if self.axes is None or x.ndim == self.new.ndim:
            return x
        return x.reshape(self.sum(self.new).shape)

    def along(self, moves, tangent):
        """Return the field an imaginary step away; `moves` of the arrays by position.

        What takes part, and what is zero, is told by the real parts.
        """
        moved = copy(self)
        moved.old = self.old + 1j * STEP * moves.get(0, 0.0)
        moved.new = self.new + 1j * STEP * moves.get(1, 0.0)
        moved.value = self.value + 1j * STEP * self.spread(tangent)
        return moved

    @property
    def apart(self):
        """The difference."""
        return self.new - self.old


def _over(x, y):
    """Return x / y, zero where y is."""
    is_zero = np.real(y) == 0
    with np.errstate(all="ignore"):
        return np.where(is_zero, 0.0, x / np.where(is_zero, 1.0, y))


def _winners(field, x, slope):
    """Return a slope shared by all elements that equal the field."""
    wins = equal(x, field.value) & field.kept
    if field.ties == "first":
        order = np.cumsum(wins.reshape(-1)).reshape(wins.shape)
        if field.axes is None:
            return np.where(wins & (order == 1), slope, 0.0)
    return _over(np.where(wins, slope, 0.0), field.sum(wins.astype(np.float64)))


def _centred(field, x):
    return 2 * (x - field.sum(x) / np.maximum(field.count, 1))


def _of_difference(slope):
    """A field of new - old: both slopes are one, but for the sign."""

    def slopes(field):
        made = slope(field, field.apart)
        return -made, made

    return slopes


def _of_new(slope):
    return lambda field: (None, slope(field, field.new))


def _norms(field):
    return np.sqrt(field.sum(field.old**2)), np.sqrt(field.sum(field.new**2))


def _relative(field):
    """l2 / old_norm."""
    norm, length = _norms(field)[0], np.sqrt(field.sum(field.apart**2))
    made = _over(_over(field.apart, length), norm)
    return -made - _over(length * field.old, norm * norm * norm), made


def _cosine(field):
    """<o, n> / (|o| |n|); flat where a norm is zero."""
    old, new = _norms(field)
    both = old * new
    of_old = _over(field.new, both) - field.value * _over(field.old, old**2)
    of_new = _over(field.old, both) - field.value * _over(field.new, new**2)
    is_flat = (np.real(old) == 0) | (np.real(new) == 0)
    return np.where(is_flat, 0.0, of_old), np.where(is_flat, 0.0, of_new)


def _mean(field, x):
    return np.broadcast_to(_over(1.0, field.count), x.shape)


def _mean_abs(field, x):
    return np.sign(x) * _mean(field, x)


def _extreme(field, x):
    return _winners(field, x, 1.0)


def _max_abs(field, x):
    return _winners(field, np.abs(x), np.sign(x))


def _m2(field, x):
    return _centred(field, x)


def _var(field, x):
    return _centred(field, x) * _mean(field, x)


SLOPES = {
    "mean": _of_difference(_mean),
    "mean_abs": _of_difference(_mean_abs),
    "rms": _of_difference(lambda f, x: _over(x, f.count * f.value)),
    "l2": _of_difference(lambda f, x: _over(x, f.value)),
    "var": _of_difference(_var),
    "min": _of_difference(_extreme),
    "max": _of_difference(_extreme),
    "max_abs": _of_difference(_max_abs),
    "rel_change": _relative,
    "cosine": _cosine,
    "dot": lambda field: (field.new, field.old),
    "old_norm": lambda field: (_over(field.old, field.value), None),
    "new_norm": lambda field: (None, _over(field.new, field.value)),
    "new_mean": _of_new(_mean),
    "new_var": _of_new(_var),
    "new_min": _of_new(_extreme),
    "new_max": _of_new(_extreme),
    "row_abs_sum": _of_difference(lambda f, x: np.sign(x)),
    "row_max_abs": _of_difference(_max_abs),
    "feature_mean": _of_difference(_mean),
    "feature_m2": _of_difference(_m2),
    "feature_max_abs": _of_difference(_max_abs),
    "feature_new_mean": _of_new(_mean),
    "feature_new_m2": _of_new(_m2),
}

# Those whose slopes change from point to point; the others are linear piece by piece.
CURVED = {
    *("rms", "l2", "var", "rel_change", "cosine", "dot", "old_norm", "new_norm"),
    *("new_var", "feature_m2", "feature_new_m2"),
}


def field_of(old, new, *, field=None, **options):
    """Return one field of the statistics, as an array."""
    if field not in SLOPES:
        known = ", ".join(SLOPES)
        raise TypeError(f"change_stats needs field=, one of {known}; got {field!r}")
    if np.iscomplexobj(old) or np.iscomplexobj(new):
        raise TypeError("change_stats of complex numbers has no derivative")
    if field.startswith(("row_", "feature_")):
        options["per_row" if field.startswith("row_") else "per_feature"] = True
    return np.asarray(getattr(_core.change_stats(old, new, **options), field))


def _slopes(call):
    """Return the slopes of a field, and the field itself."""
    field = call.once(Field)
    made = SLOPES[call.get("field")](field)
    return field, [None if s is None else np.where(field.kept, s, 0.0) for s in made]


def _back(which):
    """Return the rule of the old array, or of the new one."""

    def rule(call, g):
        field, slopes = call.once(_slopes)
        slope = slopes[which]
        if slope is None:
            return np.zeros(field.new.shape, g.dtype)
        return np.broadcast_to(field.spread(g), slope.shape) * slope

    return rule


of_old, of_new = _back(0), _back(1)


def bend(call, g, moves, tangent):
    """Return how the gradients change, by position, when the arrays move."""
    name = call.get("field")
    if name not in CURVED:
        return {}
    field = call.once(Field)
    with np.errstate(all="ignore"):
        slopes = SLOPES[name](field.along(moves, tangent))
    g = field.spread(g)
    return {
        i: np.where(field.kept, slope.imag / STEP * g, 0.0)
        for i, slope in enumerate(slopes)
        if slope is not None
    }


def forward(call, tangents):
    """Add up slopes times tangents."""
    field, slopes = call.once(_slopes)
    pairs = zip(slopes, tangents, strict=True)
    moves = [s * t for s, t in pairs if s is not None and t is not None]
    made = sum(field.sum(x) for x in moves) if moves else np.zeros(call.out.shape)
    return np.asarray(made).reshape(call.out.shape)
