"""The sparse family: containers of sparse matrices.

A container is three arrays that belong together and a shape; `_core.Container` holds
them, so that C reads them without asking. Here are their names, their text, and what
has no loop of its own.
"""

from pyscatter._core import Container, make_container
from pyscatter._sparse_docs import text_of


class Sparse(Container):
    """What CSR, CSC and COO have in common."""

    __slots__ = ()
    __array_ufunc__ = None

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


class Compressed(Sparse):
    """What CSR and CSC have in common."""

    __slots__ = ()
    indices = Container.entries
    indptr = Container.pointers

    def __reduce__(self):
        """Return what a copy or a pickle is made from; it is checked again."""
        return type(self), ((self.data, self.indices, self.indptr), self.shape)


class CSR(Compressed):
    __doc__ = text_of("CSR")
    __slots__ = ()
    format = "csr"

    @property
    def T(self):
        """Return the transpose, of the same arrays."""
        rows, columns = self.shape
        return make_container(CSC, self.data, self.indices, self.indptr, columns, rows)


class CSC(Compressed):
    __doc__ = text_of("CSC")
    __slots__ = ()
    format = "csc"

    @property
    def T(self):
        """Return the transpose, of the same arrays."""
        rows, columns = self.shape
        return make_container(CSR, self.data, self.indices, self.indptr, columns, rows)


class COO(Sparse):
    __doc__ = text_of("COO")
    __slots__ = ()
    format = "coo"
    row = Container.pointers
    col = Container.entries

    @property
    def T(self):
        """Return the transpose, of the same arrays."""
        rows, columns = self.shape
        return make_container(COO, self.data, self.row, self.col, columns, rows)

    def __reduce__(self):
        """Return what a copy or a pickle is made from; it is checked again."""
        return COO, ((self.data, (self.row, self.col)), self.shape)
