"""The gather family: elements, rows and slices of an array, named by an index.

Four addressings, each the transpose of its scatter. The functions are C functions; this
module gives them their names and their text.
"""

from pyscatter._core import gather, gather_along_axis, gather_at, gather_nd
from pyscatter._docs import document

OPTIONS = "where=None, mode='raise', fill_value=None, out=None)"

document(
    gather,
    f"(a, index, axis=..., *, batch_dims=0, {OPTIONS}",
    """
    Take the rows of an array that an index names along one axis.

    Parameters
    ----------
    a : array_like
        The source, of any dtype and layout.
    index : array_like of int, any shape
        Rows of axis `axis`. With ``batch_dims=b`` its first b axes are a's.
    axis : int or None, optional
        Default `batch_dims`; None means the flattened array.
    batch_dims : int, optional
        Leading axes that `a` and `index` share and that are independent of each other.
    <<where: entries=index.shape>>
    <<gather_mode>>
    <<gather_out>>

    Returns
    -------
    ndarray
        `out`, or a new native C-ordered array of shape
        ``a.shape[:axis] + index.shape[batch_dims:] + a.shape[axis+1:]``.

    <<gather_raises>>

    <<gather_notes: transpose=`scatter`>>

    See Also
    --------
    scatter, gather_nd, gather_along_axis
    numpy.take, torch.index_select, tf.gather, jax.numpy.take

    Examples
    --------
    >>> import numpy as np
    >>> import pyscatter as ps
    >>> ps.gather(np.array([10, 20, 30]), [2, 0, 2])
    array([30, 10, 30])
    >>> ps.gather(np.array([10, 20, 30]), [2, -1], mode="fill", fill_value=99)
    array([30, 99])
    """,
)

document(
    gather_along_axis,
    f"(a, index, axis=-1, *, {OPTIONS}",
    """
    Take the elements that an index names along an axis, one by one.

    Parameters
    ----------
    a : array_like
        The source.
    index : array_like of int
        As many axes as `a`; off the axis it broadcasts against a's shape.
    axis : int or None, optional
        Default -1; None means the flattened array.
    <<where: entries=index.shape>>
    <<gather_mode>>
    <<gather_out>>

    Returns
    -------
    ndarray
        `out`, or a new native C-ordered array of the shape of `index` broadcast against
        `a` off the axis.

    <<gather_raises>>

    <<gather_notes: transpose=`scatter_along_axis`>>

    See Also
    --------
    scatter_along_axis, gather
    numpy.take_along_axis, torch.gather, onnx GatherElements

    Examples
    --------
    >>> import numpy as np
    >>> import pyscatter as ps
    >>> a = np.array([[3, 1, 2], [6, 5, 4]])
    >>> ps.gather_along_axis(a, np.argsort(a, axis=-1)[:, [0, 0]])
    array([[1, 1],
           [4, 4]])
    """,
)

document(
    gather_nd,
    f"(a, indices, *, batch_dims=0, {OPTIONS}",
    """
    Take the elements or slices that index tuples name.

    Parameters
    ----------
    a : array_like
        The source.
    indices : array_like of int, shape (..., k)
        Each run of k numbers in the last axis indexes a's axes `batch_dims` to
        ``batch_dims + k - 1``. An array of shape (k,) is one tuple.
    batch_dims : int, optional
        Leading axes that `a` and `indices` share.
    <<where: entries=indices.shape[:-1]>>
    <<gather_mode>>
    <<gather_out>>

    Returns
    -------
    ndarray
        `out`, or a new native C-ordered array of shape
        ``indices.shape[:-1] + a.shape[batch_dims + k:]``.

    <<gather_raises>>

    <<gather_notes: transpose=`scatter_nd`>>

    See Also
    --------
    scatter_nd, gather, gather_at
    tf.gather_nd, onnx GatherND

    Examples
    --------
    >>> import numpy as np
    >>> import pyscatter as ps
    >>> ps.gather_nd(np.arange(6).reshape(2, 3), [[0, 1], [1, 2], [0, 1]])
    array([1, 5, 1])
    """,
)

document(
    gather_at,
    f"(a, indices, *, {OPTIONS}",
    """
    Take what any NumPy index expression names, as a fresh array.

    Parameters
    ----------
    a : array_like
        The source.
    indices : index expression
        Integers, slices, None, Ellipsis, integer arrays, masks, or a tuple of them, as
        in ``a[indices]``.
    <<where: entries=the common shape of the index arrays>>
    <<gather_mode>>
    <<gather_out>>

    Returns
    -------
    ndarray
        `out`, or a new native C-ordered array, also for slices.

    <<gather_raises>>

    <<gather_notes: transpose=`scatter_at`>>

    See Also
    --------
    scatter_at, gather_nd
    numpy indexing, jax.numpy.ndarray.at

    Examples
    --------
    >>> import numpy as np
    >>> import pyscatter as ps
    >>> ps.gather_at(np.arange(6).reshape(2, 3), (slice(None), [0, 0, -1]))
    array([[0, 0, 2],
           [3, 3, 5]])
    """,
)
