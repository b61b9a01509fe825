"""Gradients over many batches: sums or means, checked and added in place.

The loop is C (`_core.accumulate`); this module has the object that holds the sums and
their weights, and what happens to what is not finite.
"""

import math
import threading

import numpy as np

from pyscatter._sums import (
    ALL,
    FINITE,
    DenseSum,
    RowSum,
    require_parameter,
    restored,
)
from pyscatter.autodiff.row_sparse import RowSparse

REDUCTIONS = ("sum", "mean", "mean_of_sums")
POLICIES = ("count", "raise", "skip", "zero")
SPARSE = ("auto", True, False)
KERNEL_TYPES = ("float32", "float64", "complex64", "complex128")


def _choice(name, value, choices):
    if value not in choices:
        raise ValueError(f"unknown {name} {value!r}; choose from {', '.join(choices)}")
    return value


def _dtype_for(dtype):
    """Return what a parameter's gradients add up in."""
    dtype = np.dtype(dtype).newbyteorder("=")
    if dtype.itemsize == 2 and (dtype.kind == "f" or dtype.name == "bfloat16"):
        return np.dtype(np.float32)
    if dtype.name not in KERNEL_TYPES:
        raise TypeError(f"gradients add up in floats or complex numbers, not {dtype}")
    return dtype


class GradientAccumulator:
    """
    Sums, or means, of gradients over many batches.

    Parameters
    ----------
    shape : int or tuple of int
        Shape of the parameter. For several parameters, in a list, tuple or dict, use
        ``GradientAccumulator.like(params)``, which takes the same options.
    dtype : dtype, optional
        What is added up in: float32, float64 or complex; float32 stands for halves. By
        default float64, and for `like` the dtype of each parameter.
    reduction : {"sum", "mean", "mean_of_sums"}, optional
        What `value` gives for gradients g of weight w: ``sum(g)``;
        ``sum(w * g) / sum(w)``, where each g is a mean over w items; or
        ``sum(g) / sum(w)``, where each g is a sum over w items. Both means are right
        for batches of unequal size.
    sparse : {"auto", True, False}, optional
        Whether rows are held instead of whole arrays. "auto": as long as only
        `RowSparse` gradients come; True: anything else is a ValueError.
    on_nonfinite : {"count", "raise", "skip", "zero"}, optional
        What infinities and NaN do: they are added and counted; FloatingPointError; the
        whole `add` is left out; they count as zero. "raise" and "skip" look at all
        arrays of an `add` before the first is changed.

    Returns
    -------
    GradientAccumulator
        Methods ``add(grads, weight=1)``, ``add_rows(indices, values, weight=1,
        key=None)``, ``value(sparse=None)``, ``take(sparse=None)``, ``zero()``,
        ``sgd_step(params, lr)``, ``merge(other)``, ``get_state()`` and
        ``set_state(state)``; safe to use from several threads.

    Attributes
    ----------
    weight, n_adds
        Sum of the weights, and number of gradients, since the last `zero`.
    n_skipped, n_nonfinite
        How many an `add` left out, and elements that were not finite, in all.
    rows
        Numbers of the rows that have been named since the last `zero`; None: all.

    Raises
    ------
    ValueError
        An unknown option; later, gradients whose number, keys or shapes do not fit;
        a weight that is negative or not finite; parameters that cannot be written to.
        No sum has then been changed.
    TypeError
        A dtype that is not of floats or complex numbers, also of gradients.
    FloatingPointError
        A gradient that is not finite, under "raise".

    Notes
    -----
    *Order and duplicates*: gradients are added in the order in which they come; rows
    that one of them names twice add up first.

    *Determinism*: the same bits for any number of threads and any CPU level.

    *Derivatives*: linear in every gradient.

    *Cost*: one pass over gradient and sum, in which numbers are looked at for free;
    "raise" and "skip" look first, which is one more read of the gradient. Row-sparse
    gradients cost their rows and those held; `zero` and `sgd_step` visit named rows
    alone.

    See Also
    --------
    vjp, RowSparse
    optax.MultiSteps, tf.compat.v1.ConditionalAccumulator, torch.Tensor.grad

    Examples
    --------
    >>> import numpy as np
    >>> import pyscatter as ps
    >>> sums = ps.GradientAccumulator(3, reduction="mean")
    >>> sums.add(np.array([1.0, 1.0, 1.0]), weight=32)
    >>> sums.add(np.array([9.0, 9.0, 9.0]), weight=4)
    >>> sums.value()
    array([1.88888889, 1.88888889, 1.88888889])
    >>> table = np.ones((1000, 2), np.float32)
    >>> sums = ps.GradientAccumulator.like(table)
    >>> sums.add_rows([7, 7], [[1.0, 2.0], [3.0, 4.0]])
    >>> sums.value()
    RowSparse(shape=(1000, 2), rows=1, dtype=float32)
    >>> sums.sgd_step(table, lr=0.5)
    >>> table[7]
    array([-1., -2.], dtype=float32)
    """

    def __init__(
        self, shape, dtype=None, *, reduction="sum", sparse="auto", on_nonfinite="count"
    ):
        shape = np.broadcast_shapes(shape)
        self._begin(reduction, sparse, on_nonfinite)
        self._keys = None
        self._sums = [self._new_sum(shape, np.float64 if dtype is None else dtype)]

    def _begin(self, reduction, sparse, on_nonfinite):
        self._reduction = _choice("reduction", reduction, REDUCTIONS)
        self._policy = _choice("on_nonfinite", on_nonfinite, POLICIES)
        if not isinstance(sparse, (str, bool, np.bool_)) or sparse not in SPARSE:
            raise ValueError(f"sparse must be 'auto', True or False, got {sparse!r}")
        self._sparse = sparse if isinstance(sparse, str) else bool(sparse)
        self._lock = threading.RLock()
        self.weight, self.n_adds, self.n_skipped, self.n_nonfinite = 0.0, 0, 0, 0

    def _new_sum(self, shape, dtype):
        dtype = _dtype_for(dtype)
        if self._sparse is False or not shape:
            return DenseSum(shape, dtype)
        return RowSum(shape, dtype)

    @classmethod
    def like(
        cls, params, dtype=None, *, reduction="sum", sparse="auto", on_nonfinite="count"
    ):
        """Return one for an array, or for a list, tuple or dict of arrays."""
        made = cls.__new__(cls)
        made._begin(reduction, sparse, on_nonfinite)
        made._keys, arrays = cls._taken_apart(params)
        arrays = [np.asarray(x) for x in arrays]
        made._sums = [
            made._new_sum(x.shape, x.dtype if dtype is None else dtype) for x in arrays
        ]
        return made

    @staticmethod
    def _taken_apart(params):
        """Return (keys, arrays): keys of a dict, the type of a sequence, or None."""
        if isinstance(params, dict):
            return list(params), list(params.values())
        if isinstance(params, (list, tuple)):
            return type(params), list(params)
        return None, [params]

    def _together(self, parts):
        """Return what there is for each parameter as the parameters came."""
        if self._keys is None:
            return parts[0]
        if isinstance(self._keys, list):
            return dict(zip(self._keys, parts, strict=True))
        return list(parts) if self._keys is list else tuple(parts)

    def _apart(self, given, what):
        """Return one entry for each parameter."""
        if self._keys is None:
            return [given]
        if isinstance(self._keys, list):
            if not isinstance(given, dict) or not set(given) <= set(self._keys):
                raise ValueError(f"{what} must be a dict with keys among {self._keys}")
            return [given.get(key) for key in self._keys]
        if not isinstance(given, (list, tuple)) or len(given) != len(self._sums):
            raise ValueError(f"{what} must be a sequence of {len(self._sums)} arrays")
        return list(given)

    def _checked(self, g, held):
        """Return a gradient that fits, None for none."""
        if g is None:
            return None
        if isinstance(g, RowSparse):
            g = RowSparse(*g)  # its arrays are the caller's, who may have changed them
        else:
            g = np.asarray(g)
            self._require_rows()
        if g.shape != held.shape:
            raise ValueError(f"a gradient has shape {g.shape}; expected {held.shape}")
        real = g.dtype.kind == "f" or g.dtype.name == "bfloat16"
        if not real and not (g.dtype.kind == "c" == held.dtype.kind):
            raise TypeError(f"a gradient has dtype {g.dtype}; its sum {held.dtype}")
        return g

    def _require_rows(self):
        """Refuse whole arrays where only rows are wanted."""
        if self._sparse is True:
            raise ValueError("sparse=True takes RowSparse gradients alone")

    def add(self, grads, weight=1):
        """Add gradients: one for each parameter, or None.

        A weight is the number of items that a gradient is of.
        """
        weight = float(weight)
        if not (0 <= weight < math.inf):
            raise ValueError(f"weight must be finite and not negative, got {weight}")
        with self._lock:
            pairs = [
                (i, self._checked(g, held))
                for i, (g, held) in enumerate(
                    zip(self._apart(grads, "grads"), self._sums, strict=True)
                )
            ]
            pairs = [(i, g) for i, g in pairs if g is not None]
            factor = weight if self._reduction == "mean" else 1.0
            if self._policy in ("raise", "skip") and not self._passes(pairs, factor):
                return
            how = FINITE if self._policy == "zero" else ALL
            for i, g in pairs:
                if isinstance(self._sums[i], RowSum) and not isinstance(g, RowSparse):
                    self._sums[i] = self._sums[i].densified()
                self.n_nonfinite += self._sums[i].add(g, factor, how)
            self.weight += weight
            self.n_adds += 1

    def _passes(self, pairs, factor):
        """Look at all gradients before any is added."""
        odd = [(i, self._sums[i].count(g, factor)) for i, g in pairs]
        found = sum(count for _, count in odd)
        if not found:
            return True
        self.n_nonfinite += found
        if self._policy == "raise":
            first = next(i for i, count in odd if count)
            name = first if not isinstance(self._keys, list) else self._keys[first]
            raise FloatingPointError(
                f"{found} elements of the gradients are not finite, the first in that "
                f"of parameter {name!r}; nothing was added"
            )
        self.n_skipped += 1
        return False

    def add_rows(self, indices, values, weight=1, key=None):
        """Add rows of a gradient; `key` says of which parameter."""
        with self._lock:
            held = self._sums[self._number(key)]
            values = np.asarray(values)
            if values.dtype.kind in "iu":
                values = values.astype(held.dtype)
            rows = RowSparse(indices, values, held.shape)
            parts = [rows if one is held else None for one in self._sums]
            self.add(self._together(parts), weight)

    def _number(self, key):
        """Return which of the parameters a key means."""
        numbers = self._keys if isinstance(self._keys, list) else range(len(self._sums))
        if self._keys is None:
            return 0
        if key not in numbers:
            raise ValueError(f"key={key!r} is no parameter; expected one of {numbers}")
        return numbers.index(key)

    @property
    def rows(self):
        """Rows that have been named since the last `zero`; None: all."""
        with self._lock:
            return self._together([held.rows() for held in self._sums])

    def _factor(self):
        """Return what sums are multiplied by to become values."""
        if self._reduction == "sum":
            return None
        return 1.0 / self.weight if self.weight else 0.0

    def value(self, sparse=None):
        """Return the sums or means, as new arrays.

        RowSparse where rows are held; ndarrays if `sparse` is False, rows if True. The
        mean of nothing is zero.
        """
        with self._lock:
            return self._together([self._value(held, sparse) for held in self._sums])

    def _value(self, held, sparse):
        as_rows = isinstance(held, RowSum) if sparse is None else sparse
        made = held.sparse() if as_rows else held.dense()
        if self._reduction == "sum":
            return made
        numbers = made.values if as_rows else made
        np.divide(numbers, self.weight or 1.0, out=numbers)
        return made

    def take(self, sparse=None):
        """Return the value and begin anew."""
        with self._lock:
            value = self.value(sparse)
            self.zero()
            return value

    def zero(self):
        """Begin anew; counts of what was skipped and not finite go on."""
        with self._lock:
            for held in self._sums:
                held.zero()
            self.weight, self.n_adds = 0.0, 0

    def sgd_step(self, params, lr):
        """Subtract lr times the value from parameters, in place; the sums stay."""
        with self._lock:
            params = self._apart(params, "params")
            for parameter, held in zip(params, self._sums, strict=True):
                require_parameter(parameter, held)
            factor = self._factor()
            factor = -float(lr) if factor is None else -float(lr) * factor
            for parameter, held in zip(params, self._sums, strict=True):
                held.step(parameter, factor)

    def merge(self, other):
        """Add what another one with the same parameters and reduction holds."""
        if not isinstance(other, GradientAccumulator):
            raise TypeError(f"cannot merge a {type(other).__name__}")
        if other is self:
            raise ValueError("cannot merge an accumulator with itself")
        mine, theirs = sorted((self, other), key=id)
        with mine._lock, theirs._lock:
            self._require_like(other)
            if any(isinstance(held, DenseSum) and held.shape for held in other._sums):
                self._require_rows()
            for i, held in enumerate(other._sums):
                g = held.dense() if isinstance(held, DenseSum) else held.sparse()
                if (
                    isinstance(held, DenseSum)
                    and held.touched is not None
                    and held.shape
                ):
                    g = held.sparse()
                if isinstance(self._sums[i], RowSum) and not isinstance(g, RowSparse):
                    self._sums[i] = self._sums[i].densified()
                self._sums[i].add(g, 1.0, ALL)
            self.weight += other.weight
            self.n_adds += other.n_adds
            self.n_skipped += other.n_skipped
            self.n_nonfinite += other.n_nonfinite

    def _require_like(self, other):
        shapes = [(held.shape, held.dtype.kind) for held in self._sums]
        others = [(held.shape, held.dtype.kind) for held in other._sums]
        if shapes != others or self._keys != other._keys:
            raise ValueError("the other accumulator has other parameters")
        if self._reduction != other._reduction:
            raise ValueError(
                f"reductions differ: {self._reduction!r} and {other._reduction!r}"
            )

    def get_state(self):
        """Return arrays by name, which `numpy.savez` takes, and `set_state`."""
        with self._lock:
            counts = (self.weight, self.n_adds, self.n_skipped, self.n_nonfinite)
            state = {"counts": np.array(counts, np.float64)}
            state["reduction"] = np.array(self._reduction)
            for i, held in enumerate(self._sums):
                if isinstance(held, RowSum):
                    state[f"rows.{i}"], state[f"values.{i}"], _ = held.sparse()
                else:
                    state[f"sum.{i}"] = held.dense()
            return state

    def set_state(self, state):
        """Go on from a state of an accumulator with the same parameters."""
        with self._lock:
            if str(state["reduction"]) != self._reduction:
                raise ValueError(f"the state is of reduction {state['reduction']}")
            counts = np.asarray(state["counts"], np.float64)
            if counts.shape != (4,) or not (np.isfinite(counts) & (counts >= 0)).all():
                raise ValueError(f"the state has counts {counts}; expected 4 of them")
            sums = [restored(state, i, held) for i, held in enumerate(self._sums)]
            if any(isinstance(held, DenseSum) and held.shape for held in sums):
                self._require_rows()
            if self._sparse is False:
                sums = [s.densified() if isinstance(s, RowSum) else s for s in sums]
            self._sums = sums
            self.weight = float(counts[0])
            self.n_adds, self.n_skipped, self.n_nonfinite = map(int, counts[1:])

    def __repr__(self):
        """Return what is summed and how far it is."""
        return (
            f"GradientAccumulator({len(self._sums)} parameters, {self._reduction!r}, "
            f"n_adds={self.n_adds}, weight={self.weight:g})"
        )
