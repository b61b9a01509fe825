"""The scatter family: values go to the places of an array that an index names.

Four addressings with one set of options, and drop-ins for ``ufunc.at``. The functions
are C functions; this module gives them their names and their text.
"""

from pyscatter._core import (
    add_at,
    bitwise_and_at,
    bitwise_or_at,
    bitwise_xor_at,
    divide_at,
    floor_divide_at,
    fmax_at,
    fmin_at,
    maximum_at,
    minimum_at,
    multiply_at,
    scatter,
    scatter_along_axis,
    scatter_at,
    scatter_nd,
    subtract_at,
)
from pyscatter._docs import document

OPTIONS = (
    "op='set', where=None, mode='raise', include_self=True, dtype=None, "
    "compensated=False, casting='same_kind', out=None)"
)

document(
    scatter,
    f"(a, index, values, axis=..., *, batch_dims=0, {OPTIONS}",
    """
    Combine values with the rows of an array that an index names along one axis.

    Parameters
    ----------
    a : array_like
        The target, of any dtype and layout.
    index : array_like of int, any shape
        Rows of axis `axis`. With ``batch_dims=b`` its first b axes are a's.
    values : array_like
        Broadcasts to ``a.shape[:axis] + index.shape[batch_dims:] + a.shape[axis+1:]``.
        Python numbers and lists of them are weak: they take a's dtype.
    axis : int or None, optional
        Default `batch_dims`; None means the flattened array.
    batch_dims : int, optional
        Leading axes that `a` and `index` share and that are independent of each other.
    <<op>>
    <<where: entries=index.shape>>
    <<mode>>
    <<scatter_options>>

    <<scatter_returns>>

    <<scatter_raises>>

    <<scatter_notes>>

    See Also
    --------
    add_at, scatter_nd, scatter_along_axis, gather
    numpy.ufunc.at, numpy.put, torch.Tensor.index_add_, jax.numpy.ndarray.at,
    tf.tensor_scatter_nd_add, torch_scatter.scatter

    Examples
    --------
    >>> import numpy as np
    >>> import pyscatter as ps
    >>> ps.scatter(np.zeros(4), [1, 3, 1], [10.0, 20.0, 30.0], op="add")
    array([ 0., 40.,  0., 20.])

    The last of several values for one place stays:

    >>> ps.scatter(np.zeros(4, int), [1, 1, 1], [7, 8, 9])
    array([0, 9, 0, 0])

    A batch of independent tables, in place:

    >>> table = np.zeros((2, 3))
    >>> ps.scatter(table, [[0, 0], [2, -1]], 1.0, batch_dims=1, op="add", out=table)
    array([[2., 0., 0.],
           [0., 0., 2.]])
    """,
)

document(
    scatter_along_axis,
    f"(a, index, values, axis=-1, *, {OPTIONS}",
    """
    Combine values with the elements that an index names along an axis, one by one.

    Parameters
    ----------
    a : array_like
        The target.
    index : array_like of int
        As many axes as `a`; off the axis it broadcasts against a's shape.
    values : array_like
        Broadcasts to the shape of `index` broadcast against `a` off the axis.
    axis : int or None, optional
        Default -1; None means the flattened array.
    <<op>>
    <<where: entries=index.shape>>
    <<mode>>
    <<scatter_options>>

    <<scatter_returns>>

    <<scatter_raises>>

    <<scatter_notes>>

    See Also
    --------
    scatter, gather_along_axis
    numpy.put_along_axis, torch.Tensor.scatter_reduce, onnx ScatterElements

    Examples
    --------
    >>> import numpy as np
    >>> import pyscatter as ps
    >>> a = np.zeros((2, 3))
    >>> ps.scatter_along_axis(a, [[0, 0, 2], [1, 1, 1]], 1.0, op="add")
    array([[2., 0., 1.],
           [0., 3., 0.]])
    """,
)

document(
    scatter_nd,
    f"(a, indices, values, *, batch_dims=0, {OPTIONS}",
    """
    Combine values with the elements or slices that index tuples name.

    Parameters
    ----------
    a : array_like
        The target.
    indices : array_like of int, shape (..., k)
        Each run of k numbers in the last axis indexes a's axes `batch_dims` to
        ``batch_dims + k - 1``. An array of shape (k,) is one tuple.
    values : array_like
        Broadcasts to ``indices.shape[:-1] + a.shape[batch_dims + k:]``.
    batch_dims : int, optional
        Leading axes that `a` and `indices` share.
    <<op>>
    <<where: entries=indices.shape[:-1]>>
    <<mode>>
    <<scatter_options>>

    <<scatter_returns>>

    <<scatter_raises>>

    <<scatter_notes>>

    See Also
    --------
    scatter, scatter_at, gather_nd
    tf.tensor_scatter_nd_update, tf.scatter_nd, onnx ScatterND,
    torch.Tensor.index_put_

    Examples
    --------
    >>> import numpy as np
    >>> import pyscatter as ps
    >>> x = np.zeros((2, 2))
    >>> ps.scatter_nd(x, [[0, 1], [1, 0], [0, 1]], [10.0, 20.0, 5.0], op="add")
    array([[ 0., 15.],
           [20.,  0.]])
    """,
)

document(
    scatter_at,
    f"(a, indices, values, *, {OPTIONS}",
    """
    Combine values with what any NumPy index expression names.

    Parameters
    ----------
    a : array_like
        The target.
    indices : index expression
        Integers, slices, None, Ellipsis, integer arrays, masks, or a tuple of them, as
        in ``a[indices]``.
    values : array_like
        Broadcasts to the shape of ``a[indices]``.
    <<op>>
    <<where: entries=the common shape of the index arrays>>
    <<mode>>
    <<scatter_options>>

    <<scatter_returns>>

    <<scatter_raises>>

    <<scatter_notes>>

    See Also
    --------
    add_at, scatter_nd, gather_at
    numpy.ufunc.at, jax.numpy.ndarray.at, cupyx.scatter_add

    Examples
    --------
    >>> import numpy as np
    >>> import pyscatter as ps
    >>> a = np.zeros((2, 3), int)
    >>> ps.scatter_at(a, (slice(None), [0, 0, 2]), 1, op="add")
    array([[2, 0, 1],
           [2, 0, 1]])
    """,
)

DROP_IN = """
    {summary}

    Parameters
    ----------
    a : ndarray
        The target, changed in place.
    indices : index expression, or array_like of int with `axis`
        As in ``a[indices]``, or rows of axis `axis` as in `scatter`.
    b : array_like
        Broadcasts to the shape of ``a[indices]`` (with `axis`: see `scatter`).
    axis : int, optional
        Use the axis form of `scatter`.
    <<mode>>
    <<where: entries=the index>>

    Returns
    -------
    None

    Raises
    ------
    IndexError
        An index is out of bounds, or not of integers. Nothing has been written.
    ValueError
        Shapes do not fit; `a` is read-only or its elements share memory.
    TypeError
        `b` does not cast to a's dtype under the rule "same_kind"; a dtype for which the
        operation is not defined; `a` is no ndarray, or a masked one.
    OverflowError
        A Python integer does not fit a's dtype.

    Notes
    -----
    *Order and duplicates*: each occurrence of an index counts, from left to right.

    *Determinism*: the same bits for any number of threads and any CPU level.

    *Derivatives*: use `scatter_at`, which does not work in place.

    *Cost*: as `scatter`; a tiny call takes about 150 ns.

    Where it differs from ``np.{ufunc}.at`` on purpose: read-only and self-overlapping
    targets are refused, values are cast under "same_kind" instead of "unsafe", Python
    numbers are weak (as in NumPy 2.6), half types are summed in float32, an error
    leaves `a` untouched{more}.

    See Also
    --------
    scatter_at, scatter, numpy.ufunc.at, torch.Tensor.index_add_, jax.numpy.ndarray.at

    Examples
    --------
    >>> import numpy as np
    >>> import pyscatter as ps
    >>> a = {target}
    >>> ps.{name}(a, {indices}, {values})
    >>> a
    {result}
    """


def _document_drop_in(function, ufunc, summary, example, more=""):
    target, indices, values, result = example
    text = DROP_IN.format(
        summary=summary,
        ufunc=ufunc,
        name=function.__name__,
        target=target,
        indices=indices,
        values=values,
        result=result,
        more=more,
    )
    document(function, "(a, indices, b, *, axis=None, mode='raise', where=None)", text)


_document_drop_in(
    add_at,
    "add",
    "Add values to what an index names; every occurrence counts.",
    ("np.zeros(3)", "[0, 0, 2]", "1.0", "array([2., 0., 1.])"),
)
_document_drop_in(
    subtract_at,
    "subtract",
    "Subtract values from what an index names; every occurrence counts.",
    ("np.zeros(3)", "[0, 0, 2]", "1.0", "array([-2.,  0., -1.])"),
)
_document_drop_in(
    multiply_at,
    "multiply",
    "Multiply what an index names by values; every occurrence counts.",
    ("np.ones(3)", "[0, 0, 2]", "2.0", "array([4., 1., 2.])"),
)
_document_drop_in(
    divide_at,
    "divide",
    "Divide what an index names by values; every occurrence counts.",
    ("np.ones(3)", "[0, 0, 2]", "2.0", "array([0.25, 1.  , 0.5 ])"),
    ", integer targets are a TypeError that names `floor_divide_at`",
)
_document_drop_in(
    floor_divide_at,
    "floor_divide",
    "Floor-divide what an index names by values; every occurrence counts.",
    ("np.array([9, 9, 9])", "[0, 0, 2]", "2", "array([2, 9, 4])"),
)
_document_drop_in(
    minimum_at,
    "minimum",
    "Keep the least of what an index names and the values; NaN wins.",
    ("np.array([5, 5, 5])", "[0, 0, 2]", "[7, 3, 4]", "array([3, 5, 4])"),
)
_document_drop_in(
    maximum_at,
    "maximum",
    "Keep the greatest of what an index names and the values; NaN wins.",
    ("np.array([5, 5, 5])", "[0, 0, 2]", "[7, 3, 4]", "array([7, 5, 5])"),
)
_document_drop_in(
    fmin_at,
    "fmin",
    "Keep the least of what an index names and the values; NaN loses.",
    ("np.array([5.0, 5.0])", "[0, 0]", "[np.nan, 3.0]", "array([3., 5.])"),
)
_document_drop_in(
    fmax_at,
    "fmax",
    "Keep the greatest of what an index names and the values; NaN loses.",
    ("np.array([5.0, 5.0])", "[0, 0]", "[np.nan, 7.0]", "array([7., 5.])"),
)
_document_drop_in(
    bitwise_and_at,
    "bitwise_and",
    "And the bits of what an index names with values.",
    ("np.array([7, 7])", "[0, 0]", "[6, 5]", "array([4, 7])"),
)
_document_drop_in(
    bitwise_or_at,
    "bitwise_or",
    "Or the bits of what an index names with values.",
    ("np.array([0, 0])", "[0, 0]", "[1, 4]", "array([5, 0])"),
)
_document_drop_in(
    bitwise_xor_at,
    "bitwise_xor",
    "Exclusive-or the bits of what an index names with values.",
    ("np.array([1, 1])", "[0, 0]", "[3, 4]", "array([6, 1])"),
)
