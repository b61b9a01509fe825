"""TensorFlow's scatter, gather and segment functions on NumPy arrays.

Names, argument order and rules are TensorFlow's (2.21); `name=` and `use_locking=`,
which have no meaning for arrays, are left out. Negative indices are refused, shapes
must fit exactly, empty groups hold what TensorFlow puts there. What fails leaves every
array as it was, which TensorFlow does not promise. TensorFlow is not imported.

Everywhere: repeated indices all count, "update" keeps the last of them in the order of
the indices; the bits depend neither on threads nor on the CPU.
"""

import numpy as np

import pyscatter as ps
from pyscatter.compat._negatives import in_their_words, unsigned
from pyscatter.compat._tensorflow_choices import (
    boolean_mask,
    sparse_dense_matmul,
    where,
)
from pyscatter.compat._tensorflow_segments import (
    segment_max,
    segment_mean,
    segment_min,
    segment_prod,
    segment_sum,
    unsorted_segment_max,
    unsorted_segment_mean,
    unsorted_segment_min,
    unsorted_segment_prod,
    unsorted_segment_sqrt_n,
    unsorted_segment_sum,
)

__all__ = [
    "batch_scatter_add",
    "batch_scatter_div",
    "batch_scatter_max",
    "batch_scatter_min",
    "batch_scatter_mul",
    "batch_scatter_sub",
    "batch_scatter_update",
    "boolean_mask",
    "gather",
    "gather_nd",
    "scatter_nd",
    "segment_max",
    "segment_mean",
    "segment_min",
    "segment_prod",
    "segment_sum",
    "sparse_dense_matmul",
    "tensor_scatter_nd_add",
    "tensor_scatter_nd_max",
    "tensor_scatter_nd_min",
    "tensor_scatter_nd_sub",
    "tensor_scatter_nd_update",
    "unsorted_segment_max",
    "unsorted_segment_mean",
    "unsorted_segment_min",
    "unsorted_segment_prod",
    "unsorted_segment_sqrt_n",
    "unsorted_segment_sum",
    "where",
]

POLICIES = {"": "raise", "DEFAULT": "raise", "ERROR": "raise", "IGNORE": "drop"}

BATCH = """{first}

    Parameters
    ----------
    ref : ndarray
        (B..., rows, ...): the target, changed in place.
    indices : array_like of integers
        (B..., N): for each batch the rows that are meant; all axes but the last are
        batch axes, which `ref` has as well.
    updates : array_like
        (B..., N, ...): one row for each index, ``indices.shape + ref.shape[k:]`` with k
        the number of axes of `indices`.

    Returns
    -------
    ndarray
        `ref`.

    Raises
    ------
    IndexError
        An index is negative or too large. Nothing has been written.
    ValueError
        Shapes do not fit; `ref` is read-only or its elements share memory.
    TypeError
        `ref` is no ndarray, or `updates` cannot be cast to its dtype.

    Notes
    -----
    *Order and duplicates*: {order}
    *Determinism*: the bits depend neither on threads nor on the CPU. *Derivatives*:
    none, as for every update in place; use `pyscatter.scatter`. *Cost*: one pass over
    the indices and one over the updates.

    See Also
    --------
    pyscatter.scatter : the same with ``batch_dims=1``
    {twin}

    Examples
    --------
    >>> import numpy as np
    >>> from pyscatter.compat.tensorflow import {name}
    >>> ref = np.full((2, 3), 8.0)
    >>> {name}(ref, [[0, 1], [2, 2]], [[1.0, 2.0], [4.0, 2.0]])
    {shown}
"""


def scatter_nd(indices, updates, shape, bad_indices_policy=""):
    """Add updates into an array of zeros.

    Parameters
    ----------
    indices : array_like of integers
        (..., k): tuples that name elements (or slices) of the result.
    updates : array_like
        ``indices.shape[:-1] + shape[k:]``.
    shape : sequence of int
        Of the result.
    bad_indices_policy : {"", "DEFAULT", "ERROR", "IGNORE"}, optional
        "IGNORE" leaves out what is out of bounds; the others raise.

    Returns
    -------
    ndarray
        With the dtype of `updates`.

    Raises
    ------
    IndexError
        An index is negative or too large.
    ValueError
        Shapes do not fit; an unknown policy.
    TypeError
        Indices are no integers; `updates` cannot be added.

    Notes
    -----
    *Order and duplicates*: repeated tuples add up in the order of the indices.
    *Determinism*: the bits depend neither on threads nor on the CPU. *Derivatives*:
    those of `pyscatter.scatter_nd`. *Cost*: one pass over indices and updates.

    See Also
    --------
    pyscatter.scatter_nd
    tf.scatter_nd

    Examples
    --------
    >>> from pyscatter.compat.tensorflow import scatter_nd
    >>> scatter_nd([[0], [2], [0]], [1.0, 2.0, 4.0], [4])
    array([5., 0., 2., 0.])
    """
    updates = np.asarray(updates)
    return _scatter_nd(
        np.zeros(shape, updates.dtype), indices, updates, bad_indices_policy, "add"
    )


def _scatter_nd(a, indices, updates, policy, op):
    """Scatter with TensorFlow's strictness about shapes and negative indices."""
    if policy not in POLICIES:
        raise ValueError(
            f"bad_indices_policy {policy!r} is unknown; expected one of {[*POLICIES]}"
        )
    a, indices, updates = np.asarray(a), np.asarray(indices), np.asarray(updates)
    if indices.ndim == 0:
        raise ValueError("indices has shape (); expected (..., k)")
    expected = indices.shape[:-1] + a.shape[indices.shape[-1] :]
    if updates.shape != expected:
        raise ValueError(
            f"updates has shape {updates.shape}; expected {expected} = "
            "indices.shape[:-1] + shape[k:]"
        )
    with in_their_words(indices):
        return ps.scatter_nd(
            a, unsigned(indices), updates, op=op, mode=POLICIES[policy]
        )


def _tensor_scatter(name, op, first, shown):
    """Make one of the functions that scatter into a copy of a tensor."""

    def function(tensor, indices, updates, bad_indices_policy=""):
        return _scatter_nd(tensor, indices, updates, bad_indices_policy, op)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""{first}

    Parameters
    ----------
    tensor : array_like
        The target; it is copied.
    indices : array_like of integers
        (..., k): tuples that name elements (or slices) of `tensor`.
    updates : array_like
        ``indices.shape[:-1] + tensor.shape[k:]``.
    bad_indices_policy : {{"", "DEFAULT", "ERROR", "IGNORE"}}, optional
        "IGNORE" leaves out what is out of bounds; the others raise.

    Returns
    -------
    ndarray
        A new array with the dtype of `tensor`.

    Raises
    ------
    IndexError
        An index is negative or too large.
    ValueError
        Shapes do not fit; an unknown policy.
    TypeError
        Indices are no integers; `updates` cannot be cast to the dtype of `tensor`.

    Notes
    -----
    *Order and duplicates*: repeated tuples all count, in the order of the indices.
    *Determinism*: the bits depend neither on threads nor on the CPU. *Derivatives*:
    those of `pyscatter.scatter_nd`. *Cost*: a copy, and one pass over the updates.

    See Also
    --------
    pyscatter.scatter_nd : the same with ``op={op!r}``
    tf.{name}

    Examples
    --------
    >>> from pyscatter.compat.tensorflow import {name}
    >>> {name}([8.0, 8.0, 8.0], [[0], [2], [0]], [1.0, 2.0, 9.0])
    {shown}
    """
    return function


tensor_scatter_nd_update = _tensor_scatter(
    "tensor_scatter_nd_update", "set", "Write updates.", "array([9., 8., 2.])"
)
tensor_scatter_nd_add = _tensor_scatter(
    "tensor_scatter_nd_add", "add", "Add updates.", "array([18.,  8., 10.])"
)
tensor_scatter_nd_sub = _tensor_scatter(
    "tensor_scatter_nd_sub", "sub", "Subtract updates.", "array([-2.,  8.,  6.])"
)
tensor_scatter_nd_min = _tensor_scatter(
    "tensor_scatter_nd_min", "min", "Keep what is smaller.", "array([1., 8., 2.])"
)
tensor_scatter_nd_max = _tensor_scatter(
    "tensor_scatter_nd_max", "max", "Keep what is larger.", "array([9., 8., 8.])"
)


def _batch_scatter(op, first, shown, order=None):
    """Make one of the functions that update rows of each batch in place."""
    name = f"batch_scatter_{'update' if op == 'set' else op}"

    def function(ref, indices, updates):
        return _batched(ref, indices, updates, op)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = BATCH.format(
        first=first,
        name=name,
        shown=shown.replace("\n", "\n    "),
        order=order or "repeated indices all count, in the order of the indices.",
        twin="tf.compat.v1.batch_scatter_update",
    )
    return function


def _batched(ref, indices, updates, op):
    """Update the rows that indices name in each batch of ref."""
    indices, updates = np.asarray(indices), np.asarray(updates)
    if not isinstance(ref, np.ndarray):
        raise TypeError(f"ref is a {type(ref).__name__}; expected an ndarray")
    if indices.ndim == 0:
        raise ValueError("indices has shape (); expected (B..., N)")
    expected = indices.shape + ref.shape[indices.ndim :]
    if ref.ndim < indices.ndim or updates.shape != expected:
        raise ValueError(
            f"updates has shape {updates.shape} for indices {indices.shape} and ref "
            f"{ref.shape}; expected {expected} = indices.shape + "
            f"ref.shape[{indices.ndim}:]"
        )
    options = {"batch_dims": indices.ndim - 1}
    with in_their_words(indices):
        if op != "div" or ref.dtype.kind not in "iu":
            options |= {"op": op, "out": ref}
            return ps.scatter(ref, unsigned(indices), updates, **options)
        return _divide(ref, unsigned(indices), updates, options)


def _divide(ref, indices, updates, options):
    """Divide integers towards zero: sizes by sizes, then the signs."""
    if ref.dtype.kind == "u":
        return ps.scatter(ref, indices, updates, op="floor_div", out=ref, **options)
    if not np.can_cast(updates.dtype, ref.dtype, "same_kind"):
        raise TypeError(f"updates of {updates.dtype} do not fit ref of {ref.dtype}")
    updates = updates.astype(ref.dtype)
    sizes = [np.abs(x).view(ref.dtype.str.replace("i", "u")) for x in (ref, updates)]
    signs = [np.where(x < 0, -1, 1).astype(np.int8) for x in (ref, updates)]
    size = ps.scatter(sizes[0], indices, sizes[1], op="floor_div", **options)
    sign = ps.scatter(signs[0], indices, signs[1], op="mul", **options)
    quotient = size.view(size.dtype.str.replace("u", "i")) * sign
    return ps.scatter_where(ref, True, quotient, out=ref)


batch_scatter_update = _batch_scatter(
    "set",
    "Write rows of each batch in place.",
    "array([[1., 2., 8.],\n       [8., 8., 2.]])",
    "of repeated indices the last one stays.",
)
batch_scatter_add = _batch_scatter(
    "add",
    "Add to rows of each batch in place.",
    "array([[ 9., 10.,  8.],\n       [ 8.,  8., 14.]])",
)
batch_scatter_sub = _batch_scatter(
    "sub",
    "Subtract from rows of each batch in place.",
    "array([[7., 6., 8.],\n       [8., 8., 2.]])",
)
batch_scatter_mul = _batch_scatter(
    "mul",
    "Multiply rows of each batch in place.",
    "array([[ 8., 16.,  8.],\n       [ 8.,  8., 64.]])",
)
batch_scatter_div = _batch_scatter(
    "div",
    "Divide rows of each batch in place; integers towards zero.",
    "array([[8., 4., 8.],\n       [8., 8., 1.]])",
)
batch_scatter_min = _batch_scatter(
    "min",
    "Keep the smaller values in rows of each batch, in place.",
    "array([[1., 2., 8.],\n       [8., 8., 2.]])",
)
batch_scatter_max = _batch_scatter(
    "max",
    "Keep the larger values in rows of each batch, in place.",
    "array([[8., 8., 8.],\n       [8., 8., 8.]])",
)


def gather(params, indices, axis=None, batch_dims=0):
    """Take slices of an axis.

    Parameters
    ----------
    params : array_like
        The source.
    indices : array_like of integers
        Of any shape; its first `batch_dims` axes are those of `params`.
    axis : int, optional
        The axis that is indexed; default: the first one behind the batch axes.
    batch_dims : int, optional
        How many leading axes both have; negative: counted from the axes of `indices`.

    Returns
    -------
    ndarray
        ``params.shape[:axis] + indices.shape[batch_dims:] + params.shape[axis + 1:]``.

    Raises
    ------
    IndexError
        An index is negative or too large.
    ValueError
        `axis` and `batch_dims` do not fit the shapes.
    TypeError
        Indices are no integers.

    Notes
    -----
    *Order and duplicates*: an index may come any number of times. *Determinism*: a
    copy. *Derivatives*: those of `pyscatter.gather`. *Cost*: one pass over the result.

    See Also
    --------
    pyscatter.gather
    tf.gather

    Examples
    --------
    >>> from pyscatter.compat.tensorflow import gather
    >>> gather([[1.0, 2.0], [3.0, 4.0]], [[1, 1], [0, 1]], batch_dims=1)
    array([[2., 2.],
           [3., 4.]])
    """
    indices = np.asarray(indices)
    if batch_dims < 0:
        batch_dims += indices.ndim
    axis = batch_dims if axis is None else axis
    with in_their_words(indices):
        return ps.gather(params, unsigned(indices), axis, batch_dims=batch_dims)


def gather_nd(params, indices, batch_dims=0, bad_indices_policy=""):
    """Take the elements or slices that tuples name.

    Parameters
    ----------
    params : array_like
        The source.
    indices : array_like of integers
        (..., k): tuples; the first `batch_dims` axes are those of `params`.
    batch_dims : int, optional
        How many leading axes both have.
    bad_indices_policy : {"", "DEFAULT", "ERROR", "IGNORE"}, optional
        "IGNORE" gives zeros for what is out of bounds; the others raise.

    Returns
    -------
    ndarray
        ``indices.shape[:-1] + params.shape[batch_dims + k:]``.

    Raises
    ------
    IndexError
        An index is negative or too large.
    ValueError
        Shapes do not fit; an unknown policy.
    TypeError
        Indices are no integers.

    Notes
    -----
    *Order and duplicates*: a tuple may come any number of times. *Determinism*: a copy.
    *Derivatives*: those of `pyscatter.gather_nd`. *Cost*: one pass over the result.

    See Also
    --------
    pyscatter.gather_nd
    tf.gather_nd

    Examples
    --------
    >>> from pyscatter.compat.tensorflow import gather_nd
    >>> gather_nd([[1.0, 2.0], [3.0, 4.0]], [[1, 0], [0, 0], [1, 0]])
    array([3., 1., 3.])
    """
    if bad_indices_policy not in POLICIES:
        raise ValueError(
            f"bad_indices_policy {bad_indices_policy!r} is unknown; "
            f"expected one of {[*POLICIES]}"
        )
    mode = POLICIES[bad_indices_policy]
    with in_their_words(indices):
        return ps.gather_nd(params, unsigned(indices), batch_dims=batch_dims, mode=mode)
