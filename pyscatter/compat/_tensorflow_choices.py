"""TensorFlow's where, boolean_mask and sparse_dense_matmul: what needs no index."""

import numpy as np

import pyscatter as ps


def where(condition, x=None, y=None):
    """Choose between two arrays, or list the places where a condition holds.

    Parameters
    ----------
    condition : array_like
        True or anything but zero chooses `x`.
    x, y : array_like, optional
        Both or none of them; they broadcast with `condition`.

    Returns
    -------
    ndarray
        The chosen values; without `x` and `y` the places, int64 (n, condition.ndim).

    Raises
    ------
    ValueError
        Only one of `x` and `y` is given, or shapes do not broadcast.

    Notes
    -----
    *Order and duplicates*: places come in C order. *Determinism*: exact. *Derivatives*:
    those of `pyscatter.where`. *Cost*: one pass.

    See Also
    --------
    pyscatter.where, pyscatter.argwhere
    tf.where

    Examples
    --------
    >>> from pyscatter.compat.tensorflow import where
    >>> where([True, False, True], [1.0, 2.0, 3.0], 0.0)
    array([1., 0., 3.])
    >>> where([True, False, True])
    array([[0],
           [2]])
    """
    if (x is None) != (y is None):
        raise ValueError("x and y are given both or not at all")
    if x is None:
        return ps.argwhere(condition).astype(np.int64, copy=False)
    return ps.where(condition, x, y)


def boolean_mask(tensor, mask, axis=None):
    """Take what a mask of some adjoining axes chooses.

    Parameters
    ----------
    tensor : array_like
        The source.
    mask : array_like of bool
        Its shape is that of the axes from `axis` on; not 0-d.
    axis : int, optional
        The first of the mask's axes; default 0.

    Returns
    -------
    ndarray
        ``tensor.shape[:axis] + (count,) + tensor.shape[axis + mask.ndim:]``.

    Raises
    ------
    ValueError
        The mask is 0-d, or its shape is not that of the axes.
    TypeError
        The mask is not boolean.

    Notes
    -----
    *Order and duplicates*: what is chosen keeps its order. *Determinism*: a copy.
    *Derivatives*: those of `pyscatter.gather_where`. *Cost*: one pass over the mask and
    one over the result.

    See Also
    --------
    pyscatter.gather_where
    tf.boolean_mask

    Examples
    --------
    >>> from pyscatter.compat.tensorflow import boolean_mask
    >>> boolean_mask([[1, 2, 3], [4, 5, 6]], [True, False, True], axis=1)
    array([[1, 3],
           [4, 6]])
    """
    tensor, mask = np.asarray(tensor), np.asarray(mask)
    axis = (
        0
        if axis is None
        else np.lib.array_utils.normalize_axis_index(axis, tensor.ndim)
    )
    stop = axis + mask.ndim
    if mask.ndim == 0 or mask.shape != tensor.shape[axis:stop]:
        raise ValueError(
            f"mask has shape {mask.shape}; expected that of axes {axis} and on of "
            f"tensor {tensor.shape}, one axis at least"
        )
    if axis == 0:
        return ps.gather_where(tensor, mask)
    shape = tensor.shape[:axis] + (mask.size,) + tensor.shape[stop:]
    return ps.gather_where(tensor.reshape(shape), mask.reshape(-1), axis)


def sparse_dense_matmul(sp_a, b, adjoint_a=False, adjoint_b=False):
    """Multiply a sparse matrix and a dense one, from either side.

    Parameters
    ----------
    sp_a : sparse matrix or array_like
        (n, m): one of pyscatter's or SciPy's containers, or an object with the
        attributes of a SparseTensor: `indices` (nnz, 2), `values`, `dense_shape`. It
        may be dense if `b` is sparse.
    b : array_like or sparse matrix
        (m, k).
    adjoint_a, adjoint_b : bool, optional
        Use the conjugate transpose.

    Returns
    -------
    ndarray
        (n, k).

    Raises
    ------
    ValueError
        Shapes do not fit, or the sparse matrix is malformed.
    TypeError
        Both are dense or both are sparse.

    Notes
    -----
    *Order and duplicates*: each row's entries are summed in stored order; repeated ones
    add up. *Determinism*: the bits depend neither on threads nor on the CPU.
    *Derivatives*: those of `pyscatter.spmm`. *Cost*: nnz times k multiply-adds.

    See Also
    --------
    pyscatter.spmm
    tf.sparse.sparse_dense_matmul

    Examples
    --------
    >>> import numpy as np
    >>> from pyscatter import CSR
    >>> from pyscatter.compat.tensorflow import sparse_dense_matmul
    >>> a = CSR.from_dense([[0.0, 2.0], [1.0, 0.0]])
    >>> sparse_dense_matmul(a, [[1.0], [3.0]])
    array([[6.],
           [1.]])
    """
    sp_a, b = _matrix(sp_a), _matrix(b)
    if not isinstance(sp_a, np.ndarray):
        dense = np.asarray(b).conj().T if adjoint_b else b
        return ps.spmm(sp_a, dense, transpose=adjoint_a, conjugate=adjoint_a)
    dense = np.asarray(sp_a).conj().T if adjoint_a else sp_a
    return ps.spmm(dense, b, transpose=adjoint_b, conjugate=adjoint_b)


def _matrix(a):
    """Return a container for a SparseTensor's three arrays, an array for lists."""
    if hasattr(a, "dense_shape") and hasattr(a, "values"):
        indices = np.asarray(a.indices)
        if indices.ndim != 2 or indices.shape[1] != 2:
            raise ValueError(f"indices has shape {indices.shape}; expected (nnz, 2)")
        shape = tuple(int(n) for n in np.asarray(a.dense_shape))
        return ps.COO((np.asarray(a.values), (indices[:, 0], indices[:, 1])), shape)
    return a if hasattr(a, "format") or hasattr(a, "nnz") else np.asarray(a)
