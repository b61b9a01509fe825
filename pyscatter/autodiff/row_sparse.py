"""Row-sparse arrays: some rows of a large array, the others zero."""

import operator

import numpy as np

from pyscatter.gather import gather
from pyscatter.scatter import scatter
from pyscatter.segment import segment_sum


class RowSparse:
    """
    Rows of an array that is zero elsewhere: what many gradients of tables are.

    Parameters
    ----------
    indices : array_like of int, shape (n,)
        Which rows, in any order; a row that is named twice is the sum of both.
    values : array_like, shape (n,) + shape[1:]
        The rows.
    shape : tuple of int
        Shape of the whole array.

    Returns
    -------
    RowSparse
        Immutable; it unpacks as ``indices, values, shape``. ``-x``, ``x * number`` and
        ``x + y`` are row-sparse too; a sum keeps the rows of both.

    Attributes
    ----------
    indices, values, shape
        As given.
    nbytes
        Bytes of indices and values.

    Raises
    ------
    ValueError
        Shapes that do not fit, in construction or in a sum; an index out of bounds.
    TypeError
        Indices that are not integers.

    Notes
    -----
    *Order and duplicates*: `coalesce` sorts the rows and adds up duplicates from first
    to last; `to_dense` adds in the same order.

    *Determinism*: the same bits for any number of threads and any CPU level.

    *Derivatives*: none of its own; it is what `pullback` gives with ``sparse=True``.

    *Cost*: no array is copied. `coalesce` sorts the indices.

    See Also
    --------
    vjp, GradientAccumulator
    tf.IndexedSlices, torch.sparse_coo_tensor

    Examples
    --------
    >>> import numpy as np
    >>> import pyscatter as ps
    >>> g = ps.RowSparse([3, 0, 3], np.array([1.0, 2.0, 4.0]), (5,))
    >>> g.to_dense()
    array([2., 0., 0., 5., 0.])
    >>> g.coalesce().indices
    array([0, 3])
    """

    __slots__ = ("indices", "values", "shape")
    __array_ufunc__ = None

    def __init__(self, indices, values, shape):
        indices, values = np.asarray(indices), np.asarray(values)
        shape = tuple(operator.index(size) for size in shape)
        if indices.size == 0 and indices.dtype == np.float64:
            indices = indices.astype(np.intp)
        if indices.dtype.kind not in "iu":
            raise TypeError(f"'indices' has dtype {indices.dtype}; expected integers")
        expected = indices.shape + shape[1:]
        if indices.ndim != 1 or not shape or values.shape != expected:
            raise ValueError(
                f"values has shape {values.shape} and indices {indices.shape}; "
                f"expected (n,) + {shape[1:]} and (n,) for an array of shape {shape}"
            )
        if indices.size and not 0 <= indices.min() <= indices.max() < shape[0]:
            raise ValueError(f"indices must be from 0 to {shape[0] - 1}")
        self._set(indices, values, shape)

    def _set(self, *fields):
        for name, value in zip(self.__slots__, fields, strict=True):
            object.__setattr__(self, name, value)

    @classmethod
    def _of(cls, indices, values, shape):
        """Return one of parts that are known to fit."""
        made = cls.__new__(cls)
        made._set(indices, values, shape)
        return made

    def __setattr__(self, name, value):
        raise AttributeError(f"RowSparse is immutable: cannot set {name!r}")

    def __delattr__(self, name):
        raise AttributeError(f"RowSparse is immutable: cannot delete {name!r}")

    @property
    def dtype(self):
        """Dtype of the values."""
        return self.values.dtype

    @property
    def nbytes(self):
        """Bytes of indices and values."""
        return self.indices.nbytes + self.values.nbytes

    def coalesce(self):
        """Return the same rows in ascending order, none twice."""
        rows, ids = np.unique(self.indices, return_inverse=True)
        values = segment_sum(self.values, ids.reshape(-1), rows.size, dtype=self.dtype)
        return RowSparse._of(rows, values, self.shape)

    def to_dense(self):
        """Return an ndarray, in which duplicates add up."""
        out = np.zeros(self.shape, self.dtype)
        return scatter(out, self.indices, self.values, op="add", out=out)

    def take(self, rows):
        """Return these rows of the whole array, zeros where none are held."""
        own = self.coalesce()
        held = own.indices.astype(np.intp, copy=False)
        place = np.searchsorted(held, rows)
        known = np.append(held, -1)[place] == rows
        return gather(own.values, np.where(known, place, -1), mode="fill")

    def __iter__(self):
        return iter((self.indices, self.values, self.shape))

    def __neg__(self):
        return RowSparse._of(self.indices, -self.values, self.shape)

    def __mul__(self, number):
        if np.ndim(number):
            return NotImplemented
        return RowSparse._of(self.indices, self.values * number, self.shape)

    __rmul__ = __mul__

    def __add__(self, other):
        if not isinstance(other, RowSparse):
            return NotImplemented
        if other.shape != self.shape:
            raise ValueError(f"shapes {self.shape} and {other.shape} differ")
        return RowSparse._of(
            np.concatenate((self.indices, other.indices)),
            np.concatenate((self.values, other.values)),
            self.shape,
        )

    def __reduce__(self):
        return RowSparse, tuple(self)

    def __repr__(self):
        """Return shape, rows and dtype."""
        rows = self.indices.size
        return f"RowSparse(shape={self.shape}, rows={rows}, dtype={self.dtype})"
