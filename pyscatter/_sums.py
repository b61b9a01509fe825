"""Where gradients add up: one array, whole, or the rows of it that have been named."""

import numpy as np

from pyscatter import _core
from pyscatter.autodiff.row_sparse import RowSparse

ALL, FINITE, COUNT_ONLY = 0, 1, 2  # what _core.accumulate adds


def laid(g, dtype):
    """Return an array as the sum takes it: contiguous, native, of a kernel's type."""
    known = "FD" if dtype.kind == "c" else "efd"
    if g.dtype.char not in known and g.dtype.name != "bfloat16":
        g = g.astype(dtype)
    native = g if g.dtype.isnative else g.astype(g.dtype.newbyteorder("="))
    return np.require(native, requirements=("C", "A"))


class DenseSum:
    """The sum of gradients of one array, and which rows of it may differ from zero."""

    __slots__ = ("total", "touched")

    def __init__(self, shape, dtype):
        self.total = np.zeros(shape, dtype)
        self.touched = np.zeros(shape[:1], np.bool_)

    @property
    def shape(self):
        return self.total.shape

    @property
    def dtype(self):
        return self.total.dtype

    def count(self, g, weight):
        """Return how many products are not finite; nothing is added."""
        values = laid(g.values if isinstance(g, RowSparse) else g, self.dtype)
        stand_in = np.empty(values.shape, self.dtype)
        return _core.accumulate(stand_in, values, weight, COUNT_ONLY)

    def add(self, g, weight, how):
        """Add a product; return how many elements of it were not finite."""
        if isinstance(g, RowSparse):
            rows, odd = weighed(g, weight, how, self.dtype)
            if self.touched is not None:
                self.touched[rows.indices] = True
            total = self.total
            _core.scatter(total, rows.indices, rows.values, op="add", out=total)
            return odd
        self.touched = None
        return _core.accumulate(self.total, laid(g, self.dtype), weight, how)

    def rows(self):
        """Return the numbers of rows that have been named; None: all."""
        return None if self.touched is None else np.flatnonzero(self.touched)

    def zero(self):
        """Make it zero; rows that were not named are not visited."""
        rows = self.rows()
        if rows is None or not self.total.ndim:
            self.total[...] = 0
        else:
            self.total[rows] = 0
        self.touched = np.zeros(self.shape[:1], np.bool_)

    def sparse(self):
        """Return the rows that have been named."""
        if not self.shape:
            raise ValueError("a scalar has no rows: ask for sparse=False")
        rows = self.rows()
        rows = np.arange(self.shape[0]) if rows is None else rows
        return RowSparse._of(rows, _core.gather(self.total, rows), self.shape)

    def dense(self):
        """Return a copy of the whole."""
        return self.total.copy()

    def step(self, parameter, factor):
        """Add factor times the sum to a parameter in place."""
        if self.touched is not None and self.total.ndim:
            return step_rows(parameter, self.sparse(), factor)
        return step_all(parameter, self.total, factor)


def weighed(g, weight, how, dtype):
    """Return rows times a weight, each row once, and how many were not finite."""
    values = np.full(g.values.shape, -0.0, dtype)
    odd = _core.accumulate(values, laid(g.values, dtype), weight, how)
    indices = g.indices.astype(np.intp, copy=False)
    return RowSparse._of(indices, values, g.shape).coalesce(), odd


def step_all(parameter, total, factor):
    """Add factor times an array to a parameter in place."""
    plain = parameter.flags.carray and parameter.dtype.isnative
    known = "FD" if total.dtype.kind == "c" else "fd"
    if plain and parameter.dtype.char in known:
        _core.accumulate(parameter, total, factor, ALL)
        return
    moved = parameter.astype(total.dtype) + factor * total
    parameter[...] = moved.astype(parameter.dtype)


def step_rows(parameter, rows, factor):
    """Add factor times some rows to a parameter in place."""
    old = _core.gather(parameter, rows.indices).astype(rows.dtype)
    moved = (old + factor * rows.values).astype(rows.dtype)
    _core.scatter(parameter, rows.indices, moved.astype(parameter.dtype), out=parameter)


class RowSum:
    """The sum of row-sparse gradients: the rows that occur, in ascending order."""

    __slots__ = ("indices", "values", "shape")

    def __init__(self, shape, dtype):
        self.shape = shape
        self.indices = np.zeros(0, np.intp)
        self.values = np.zeros((0, *shape[1:]), dtype)

    @property
    def dtype(self):
        return self.values.dtype

    count = DenseSum.count

    def add(self, g, weight, how):
        """Merge the rows of a product; return how many elements were not finite."""
        new, odd = weighed(g, weight, how, self.dtype)
        place = np.searchsorted(self.indices, new.indices)
        known = np.append(self.indices, -1)[place] == new.indices
        place = np.where(known, place, 0)
        held = self.values
        _core.scatter(held, place, new.values, op="add", where=known, out=held)
        if not known.all():
            self._insert(new.indices[~known], new.values[~known])
        return odd

    def _insert(self, indices, values):
        place = np.searchsorted(self.indices, indices)
        self.indices = np.insert(self.indices, place, indices)
        self.values = np.insert(self.values, place, values, axis=0)

    def rows(self):
        """Return the numbers of rows that occur."""
        return self.indices.copy()

    def zero(self):
        """Forget all rows."""
        self.__init__(self.shape, self.dtype)

    def sparse(self):
        """Return a copy of the rows."""
        return RowSparse._of(self.indices.copy(), self.values.copy(), self.shape)

    def dense(self):
        """Return the whole, with its zeros."""
        return self.sparse().to_dense()

    def step(self, parameter, factor):
        """Add factor times the sum to the rows of a parameter, in place."""
        held = RowSparse._of(self.indices, self.values, self.shape)
        step_rows(parameter, held, factor)

    def densified(self):
        """Return the same sum as a whole array."""
        made = DenseSum(self.shape, self.dtype)
        made.total[self.indices] = self.values
        made.touched[self.indices] = True
        return made


def require_parameter(parameter, held):
    """Refuse what cannot be stepped, before anything is written."""
    if not isinstance(parameter, np.ndarray) or parameter.shape != held.shape:
        shape = getattr(parameter, "shape", None)
        raise ValueError(f"a parameter of shape {held.shape} is needed, got {shape}")
    if not parameter.flags.writeable:
        raise ValueError("a parameter is read-only")
    kinds = "c" if held.dtype.kind == "c" else "f"
    if parameter.dtype.kind not in kinds and parameter.dtype.name != "bfloat16":
        raise TypeError(f"a parameter has dtype {parameter.dtype}; expected floats")


def require_kind(numbers, dtype):
    """Refuse numbers of a state that its sum does not hold."""
    if not np.can_cast(numbers.dtype, dtype, "same_kind"):
        raise TypeError(f"the state has dtype {numbers.dtype}; its sum {dtype}")


def restored(state, i, held):
    """Return the sum number i of a state."""
    if f"sum.{i}" in state:
        made = DenseSum(held.shape, held.dtype)
        total = np.asarray(state[f"sum.{i}"])
        if total.shape != held.shape:
            raise ValueError(f"the state has shape {total.shape}, not {held.shape}")
        require_kind(total, held.dtype)
        made.total[...] = total
        made.touched = None
        return made
    rows = RowSparse(state[f"rows.{i}"], state[f"values.{i}"], held.shape)
    require_kind(rows, held.dtype)
    made = RowSum(held.shape, held.dtype)
    made.add(rows, 1.0, ALL)
    return made
