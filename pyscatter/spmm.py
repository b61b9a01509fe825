"""The spmm family: products of a sparse matrix and dense arrays.

A matrix is a container of pyscatter, or whatever has the attributes of SciPy's CSR, CSC
and COO arrays. The functions are C functions; this module gives them their text.
"""

from pyscatter._core import sddmm, spmm
from pyscatter._docs import document

document(
    spmm,
    "(A, X, *, alpha=1, beta=0, out=None, op='add', semiring=None, transpose=False, "
    "conjugate=False, fill_value=None, dtype=None)",
    """
    Multiply a sparse matrix and a dense array, from either side.

    ``spmm(A, X)`` is ``A @ X``; ``spmm(X, A)`` with the dense array first is ``X @ A``.

    Parameters
    ----------
    A : sparse matrix, shape (m, n)
        CSR, CSC or COO; entries in any order, places as often as they are named. Absent
        data (None) are ones. Its structure is checked at every call.
    X : array_like, shape (n,), (n, k) or (..., n, k)
        A vector, a matrix or a batch of them; in ``spmm(X, A)`` of shape (m,), (k, m)
        or (..., k, m).
    alpha : scalar, optional
        What the finished product is multiplied by.
    beta : scalar, optional
        What `out` is multiplied by before it is added. A beta of 0 never reads `out`;
        any other needs one.
    out : ndarray, optional
        Receives the result and is returned. It may share memory with the operands.
    op : {"add", "mean", "min", "max"} or ufunc, optional
        How the products of a row meet: their sum (default), their mean over the stored
        entries, the least or the greatest; np.add, np.minimum and np.maximum too.
    semiring : {"min_plus", "max_plus", "max_times", "or_and"}, optional
        Least or greatest of sums or products instead; "or_and" asks whether any product
        is true and gives bools. Excludes `op`, `alpha` and `beta`.
    transpose : bool, optional
        Use the transpose of `A`.
    conjugate : bool, optional
        Use the complex conjugate of `A`; with `transpose` the adjoint.
    fill_value : scalar, optional
        What rows without entries become, before alpha and beta. By default 0 for sums,
        NaN for means, and for the least and greatest what every number replaces:
        infinities, or the extremes of an integer type.
    dtype : dtype, optional
        What is computed in, and without `out` the dtype of the result. By default
        NumPy's promotion of `A`, `X` and the factors; float64 for means of integers and
        bools. float16 and bfloat16 are computed in float32 and rounded once.

    Returns
    -------
    ndarray
        `out`, or a new C-ordered array of shape (m,), (m, k) or (..., m, k); for
        ``spmm(X, A)`` (n,), (k, n) or (..., k, n).

    Raises
    ------
    ValueError
        Sizes do not fit; a malformed structure, told by array, position and value; a
        beta without `out`; an unknown op or semiring. `out` is as it was.
    TypeError
        Both operands are sparse (see spgemm), or none; another sparse format (convert
        it by ``.tocsr()``); longdouble, times or objects; complex numbers have no least
        or greatest; a result that cannot be cast to `out`.

    Notes
    -----
    *Order and duplicates*: an element of the result is the sum of its row's entries
    from first to last as they are stored, beginning at +0, each product rounded before
    it is added; complex products are (ac - bd, ad + bc). A place that is named twice is
    two entries. Zeros that are stored count; places that are not stored do not,
    whatever `X` holds there, so NaN and infinities reach only the rows that name them.
    Integers wrap, the sum of bools is "or".

    *Determinism*: the same bits for any format, number of columns, batch, number of
    threads and CPU. Which NaN, where several meet, is not promised.

    *Derivatives*: of a sum with respect to X it is ``spmm(A, G, transpose=True,
    conjugate=True)``, with respect to the data ``sddmm(A, G, X)``; by `vjp` and `jvp`,
    for means, the least and greatest, and real semirings too. Winners share.

    *Cost*: one row of `X` is read for each entry. CSR, and COO in the order of its
    rows, runs by rows on all threads. CSC and other COO with rows of 256 bytes and more
    are sorted by rows first where there are several threads, which takes a copy of the
    entries; else CSC runs on one thread. A `CSC`, or a `CSR` that is transposed, keeps
    the order by rows from its second product of such rows on: later ones run as those
    of a CSR do, once the structure has been compared with what was sorted. That takes
    12 bytes an entry for int32 structure, until the container and its transposes are
    gone. Memory beyond that and the result: for each row a number, a copy of what has
    another dtype or layout, and for CSC and unordered COO with a beta an array like the
    result.

    See Also
    --------
    sddmm, scatter, segment_reduce
    scipy.sparse.csr_array, torch.sparse.mm, torch.addmm, tf.sparse.sparse_dense_matmul

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import numpy as np
    >>> import pyscatter as ps
    >>> A = SimpleNamespace(
    ...     format="csr",
    ...     shape=(3, 3),
    ...     data=np.array([1.0, 2.0, 10.0]),
    ...     indices=np.array([0, 2, 2]),
    ...     indptr=np.array([0, 2, 2, 3]),
    ... )
    >>> ps.spmm(A, np.array([1.0, 2.0, 3.0]))
    array([ 7.,  0., 30.])
    >>> ps.spmm(A, np.array([1.0, 2.0, 3.0]), op="max", fill_value=0)
    array([ 6.,  0., 30.])
    >>> ps.spmm(np.array([[1.0, 2.0, 3.0]]), A)
    array([[ 1.,  0., 32.]])

    A place that is named twice is two entries:

    >>> B = SimpleNamespace(
    ...     format="coo", shape=(2, 2), data=None, row=[0, 0], col=[1, 1]
    ... )
    >>> ps.spmm(B, np.array([5, 7]))
    array([14,  0])
    """,
)

document(
    sddmm,
    "(A, X, Y, *, values='pattern', out=None)",
    """
    Take the product ``X @ Y.T`` at the entries of a sparse matrix alone.

    Parameters
    ----------
    A : sparse matrix, shape (m, n)
        CSR, CSC or COO, whose entries say where; see spmm.
    X : array_like, shape (..., m, k)
        Rows for the rows of `A`.
    Y : array_like, shape (..., n, k)
        Rows for its columns; the leading axes are those of `X`.
    values : {"pattern", "scale"}, optional
        "pattern" (default) asks only where entries are; "scale" multiplies each result
        by the entry's value, which is 1 where `A` has no data.
    out : ndarray, optional
        Receives the result and is returned. It may share memory with the operands.

    Returns
    -------
    ndarray, shape (..., nnz)
        For the entry at (r, c), in the order in which `A` stores them, the inner
        product of ``X[..., r, :]`` and ``Y[..., c, :]``; nothing is conjugated. Its
        dtype is NumPy's promotion of `X` and `Y`, and of `A` where that scales.

    Raises
    ------
    ValueError
        Shapes do not fit; a malformed structure; an unknown `values`. `out` is as it
        was.
    TypeError
        A dtype or format that products are not defined for; see spmm.

    Notes
    -----
    *Order and duplicates*: sixteen partial sums take every sixteenth product, each
    rounded, from left to right; then the upper half of them joins the lower until one
    is left. A place that is named twice has two results. An inner product of nothing is
    0.

    *Determinism*: the same bits for any format, batch, number of threads and CPU.

    *Derivatives*: with respect to X, ``spmm`` of the pattern with the cotangent as its
    data, and Y; with respect to Y the same of its transpose, and X; with values="scale"
    also with respect to the data of `A`.

    *Cost*: one row of `X` and one of `Y` are read for each entry.

    See Also
    --------
    spmm
    torch.sparse.sampled_addmm

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import numpy as np
    >>> import pyscatter as ps
    >>> A = SimpleNamespace(
    ...     format="coo", shape=(2, 2), data=None, row=[0, 1, 1], col=[1, 0, 0]
    ... )
    >>> X = np.array([[1, 2], [3, 4]])
    >>> ps.sddmm(A, X, X)
    array([11, 11, 11])
    """,
)
