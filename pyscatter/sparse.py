"""The sparse family: containers of sparse matrices.

A container is three arrays that belong together and a shape; `_core.Container` holds
them, so that C reads them without asking. Here are their names, their text, and what
has no loop of its own.
"""

import numpy as np

from pyscatter import _core, _sparse_docs
from pyscatter._core import Container, make_container

NARROW = np.iinfo(np.int32).max
FORMATS = "csr", "csc", "coo"


def _coordinates_of(x):
    """Return the coordinates of what is not equal to zero, and its values."""
    x = _core.as_plain(x, "x")
    if x.ndim != 2:
        raise ValueError(f"x must have two axes, got {x.ndim}")
    places = _core.nonzero(x)
    index = np.int32 if max(x.size, *x.shape) <= NARROW else np.int64
    row, col = (place.astype(index) for place in places)
    return COO((_core.gather_at(x, places), (row, col)), x.shape)


def _is_sparse(other):
    """Has it one of the three formats?"""
    return isinstance(other, Container) or getattr(other, "format", None) in FORMATS


class Sparse(Container):
    """What CSR, CSC and COO have in common."""

    __slots__ = ()
    __array_ufunc__ = None

    def _converted(self, form):
        """Return the entries in another format."""
        if form.format == self.format:
            return self
        data, entries, pointers = _core.convert(self, form.format)
        return make_container(form, data, entries, pointers, *self.shape)

    def to_csr(self):
        """Return a CSR of every entry, in its order among those of its row."""
        return self._converted(CSR)

    def to_csc(self):
        """Return a CSC of every entry, in its order among those of its column."""
        return self._converted(CSC)

    def to_coo(self):
        """Return a COO of every entry, in storage order."""
        return self._converted(COO)

    def to_dense(self):
        """Return an ndarray of the shape of the matrix, in which duplicates add up."""
        coo = self.to_coo()
        if coo is self:
            _core.check_matrix(self)  # what has been made anew is right
        if coo.data is None:
            coo = coo.astype(np.bool_)
        out = np.zeros(self.shape, coo.dtype)
        return _core.scatter_at(out, (coo.row, coo.col), coo.data, op="add", out=out)

    @classmethod
    def from_dense(cls, x):
        """Make a matrix of what in `x`, of two axes, is not equal to zero.

        NaN is stored, -0.0 is not. The structure is of int32 where sizes allow.
        """
        return _coordinates_of(x)._converted(cls)

    @classmethod
    def from_scipy(cls, A):
        """Make a matrix of a SciPy array or matrix, in any of the three formats.

        In its own format it is a view of its arrays, without a copy.
        """
        form = {form.format: form for form in (CSR, CSC, COO)}.get(_core.format_of(A))
        parts = (A.row, A.col) if form is COO else (A.indices, A.indptr)
        arrays = (A.data, parts) if form is COO else (A.data, *parts)
        made = form(arrays, A.shape)
        return made if cls is form else made._converted(cls)

    def astype(self, dtype):
        """Return the same structure with values cast to `dtype`."""
        ones = np.broadcast_to(np.True_, self.nnz)
        data = (ones if self.data is None else self.data).astype(dtype)
        return self._with_data(data)

    def __matmul__(self, other):
        """Return the product: `spgemm` of two sparse matrices, else `spmm`."""
        if not _is_sparse(other):
            return _core.spmm(self, other)
        matrix, _ = _core.spgemm(CSR, self, other)
        return matrix

    def __rmatmul__(self, other):
        """Return the product of a dense array and the matrix."""
        return _core.spmm(other, self)

    def __array__(self, dtype=None, copy=None):
        """Refuse to become an array unasked."""
        raise TypeError(
            f"a {type(self).__name__} is not an array; use .to_dense(), which makes "
            "all of its zeros"
        )

    def __repr__(self):
        """Return name, shape, entries and dtype."""
        shape, nnz, dtype = self.shape, self.nnz, self.dtype
        return f"{type(self).__name__}(shape={shape}, nnz={nnz}, dtype={dtype})"

    def _repr_html_(self):
        """Return the text, and a picture of where the entries are."""
        return _sparse_docs.picture(self)


class Compressed(Sparse):
    """What CSR and CSC have in common."""

    __slots__ = ()
    indices = Container.entries
    indptr = Container.pointers

    def to_scipy(self):
        """Return a SciPy array of copies, which SciPy may change."""
        import scipy.sparse

        form = getattr(scipy.sparse, f"{self.format}_array")
        data = np.ones(self.nnz, np.bool_) if self.data is None else self.data.copy()
        arrays = data, self.indices.copy(), self.indptr.copy()
        return form(arrays, shape=self.shape)

    def __reduce__(self):
        """Return what a copy or a pickle is made from; it is checked again."""
        return type(self), ((self.data, self.indices, self.indptr), self.shape)


class CSR(Compressed):
    __doc__ = _sparse_docs.text_of("CSR")
    __slots__ = ()
    format = "csr"

    @property
    def T(self):
        """Return the transpose, of the same arrays."""
        return make_container(CSC, *_parts(self), *self.shape[::-1], self)

    def sum_duplicates(self):
        """Return the matrix in order of rows, then columns, duplicates added up.

        Sums begin with the first entry and go on in storage order.
        """
        coo = self.to_coo()
        data = np.True_ if coo.data is None else coo.data
        made = _core.coo_to_csr(CSR, data, (coo.row, coo.col), self.shape)
        implicit = self.data is None
        return made if not implicit else made._without_data()

    def sort_indices(self):
        """Return each row in order of columns, duplicates as they were."""
        return self.to_csc().to_csr()

    def _without_data(self):
        return make_container(CSR, None, self.indices, self.indptr, *self.shape)


class CSC(Compressed):
    __doc__ = _sparse_docs.text_of("CSC")
    __slots__ = ()
    format = "csc"

    @property
    def T(self):
        """Return the transpose, of the same arrays."""
        return make_container(CSR, *_parts(self), *self.shape[::-1], self)

    def sum_duplicates(self):
        """Return the matrix in order of columns, then rows, duplicates added up.

        Sums begin with the first entry and go on in storage order.
        """
        return self.T.sum_duplicates().T

    def sort_indices(self):
        """Return each column in order of rows, duplicates as they were."""
        return self.to_csr().to_csc()


class COO(Sparse):
    __doc__ = _sparse_docs.text_of("COO")
    __slots__ = ()
    format = "coo"
    row = Container.pointers
    col = Container.entries

    @property
    def T(self):
        """Return the transpose, of the same arrays."""
        arrays = self.data, self.row, self.col
        return make_container(COO, *arrays, *self.shape[::-1])

    def sum_duplicates(self):
        """Return the matrix in order of rows, then columns, duplicates added up.

        Sums begin with the first entry and go on in storage order.
        """
        return self.to_csr().sum_duplicates().to_coo()

    def sort_indices(self):
        """Return them in order of rows, then columns, duplicates as they were."""
        return self.to_csc().to_csr().to_coo()

    def to_scipy(self):
        """Return a SciPy array of copies, which SciPy may change."""
        import scipy.sparse

        data = np.ones(self.nnz, np.bool_) if self.data is None else self.data.copy()
        where = self.row.copy(), self.col.copy()
        return scipy.sparse.coo_array((data, where), shape=self.shape)

    def __reduce__(self):
        """Return what a copy or a pickle is made from; it is checked again."""
        return COO, ((self.data, (self.row, self.col)), self.shape)


def _parts(matrix):
    """Return the arrays of a compressed matrix, as `make_container` takes them."""
    return matrix.data, matrix.indices, matrix.indptr
