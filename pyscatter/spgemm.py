"""Sparse times sparse."""

from pyscatter import _core
from pyscatter.sparse import CSR


class SpgemmPlan:
    """The structure of a product, for other values of its factors.

    Made by ``spgemm(A, B, plan=True)``. ``plan(A_data, B_data)`` takes values in the
    storage order of `A` and `B` (None: ones) and returns a CSR of the same structure.
    """

    __slots__ = ("_like", "_structure")

    @property
    def shape(self):
        """Rows and columns of the product."""
        return self._like.shape

    @property
    def nnz(self):
        """Entries of the product."""
        return self._like.nnz

    def __call__(self, A_data, B_data):
        """Return the product of factors with these values."""
        return _core.spgemm_again(CSR, self._like, self._structure, A_data, B_data)

    def __repr__(self):
        """Return shape and entries."""
        return f"SpgemmPlan(shape={self.shape}, nnz={self.nnz})"


def spgemm(A, B, *, plan=False):
    """
    Multiply a sparse matrix by a sparse matrix.

    Parameters
    ----------
    A : CSR, CSC, COO, or a SciPy array or matrix of these formats
        The left factor.
    B : the same
        The right factor, with as many rows as A has columns. Values may be of any
        dtypes, which are promoted as NumPy does.
    plan : bool, optional
        Also return a plan: ``plan(A_data, B_data)`` is the product of other values on
        the same structure, in the storage order of A and B.

    Returns
    -------
    CSR or (CSR, SpgemmPlan)
        Always pyscatter's CSR, in order of rows, then columns, none twice. It has an
        entry wherever terms meet, also where they sum to zero. The structure is of
        int64 where that of a factor is, or where a size needs it, else of int32.

    Raises
    ------
    ValueError
        Shapes that do not fit; a malformed structure: the message names array, position
        and value; later, values whose number does not fit the plan.
    TypeError
        A factor that is not sparse, or of another format; values that are not numbers,
        or longdouble.

    Notes
    -----
    *Order and duplicates*: the terms of an entry are added to zero in A's storage
    order, then B's; duplicates are terms of their own. float16 and bfloat16 are
    multiplied and added in float32 and rounded once, bool is or of ands, integers wrap.

    *Determinism*: the same bits for any number of threads and any CPU level.

    *Derivatives*: bilinear in the values of A and B; each has its gradient on its own
    pattern.

    *Cost*: 5 to 15 ns a term on one core of Zen 3, the more the emptier the rows are.
    Up to 2^24 terms are gone through once, and the result is held twice until the call
    has ended; more of them, or a result of more than 2^24 columns, or of far more than
    there are terms, twice: sizes and then values. A plan's call finds values alone.
    Work memory beside the factors by rows is 16 bytes for each row of the result and
    some 10 for each column; it does not depend on the inner size.

    See Also
    --------
    CSR, coo_to_csr
    scipy.sparse.csr_array.__matmul__, torch.sparse.mm, sparse_dot_mkl.dot_product_mkl

    Examples
    --------
    >>> import numpy as np
    >>> import pyscatter as ps
    >>> A = ps.CSR((np.array([1.0, 2.0, 3.0]), [0, 1, 1], [0, 2, 3]), (2, 2))
    >>> C, plan = ps.spgemm(A, A, plan=True)
    >>> C.to_dense()
    array([[1., 8.],
           [0., 9.]])
    >>> plan(A.data, np.ones(3)).data
    array([1., 3., 3.])
    >>> repeated = ps.COO((np.array([1.0, 1.0]), ([0, 0], [1, 1])), (1, 2))
    >>> ps.spgemm(repeated, A).data
    array([6.])
    """
    matrix, structure = _core.spgemm(CSR, A, B)
    if not plan:
        return matrix
    made = SpgemmPlan()
    made._like, made._structure = matrix, structure
    return matrix, made
