"""torch's scatter_, index_*_ and put_: what writes by indices.

Each writer checks what torch checks and pyscatter does not (shapes that must be equal,
an index that may be smaller than both arrays, negative indices), cuts the arrays to the
index, and calls one function of pyscatter in place.
"""

import numpy as np

import pyscatter as ps
from pyscatter.compat._negatives import in_their_words, unsigned
from pyscatter.compat._torch_twins import LAST_STAYS, pair

REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")


def axis_of(dim, ndim):
    """Return dim counted from the front."""
    return np.lib.array_utils.normalize_axis_index(dim, max(ndim, 1))


def is_empty(index):
    """Is there nothing to do, whatever the other shapes are?"""
    return np.size(index) == 0


def check_op(reduce, known):
    """Return pyscatter's name of a reduction that the function knows."""
    if reduce not in known:
        raise ValueError(f"reduce={reduce!r} is unknown; expected one of {[*known]}")
    return reduce


def cut(input, dim, index, name):
    """Return the part of an array that an index of fewer elements is about."""
    if index.ndim != input.ndim:
        raise ValueError(
            f"index has shape {index.shape}, {name} {input.shape}; expected as "
            "many axes"
        )
    for axis, (length, limit) in enumerate(zip(index.shape, input.shape, strict=True)):
        if length > limit and axis != dim:
            raise ValueError(
                f"index has shape {index.shape}; expected no more than {name} "
                f"{input.shape} off axis {dim}"
            )
    return input[
        tuple(
            slice(None) if axis == dim else slice(length)
            for axis, length in enumerate(index.shape)
        )
    ]


def _elements(input, dim, index, src, op, include_self=True):
    """Update along an axis, where an index names the place of each element."""
    index, src = np.asarray(index), np.asarray(src)
    if is_empty(index):
        return
    dim = axis_of(dim, input.ndim)
    target, index = (x.reshape(1) if x.ndim == 0 else x for x in (input, index))
    part = cut(target, dim, index, "input")
    src = src.reshape(1) if src.ndim == 0 else src
    src = cut(src, -1, index, "src")
    casting = "unsafe" if op == "mean" and part.dtype.kind in "iu" else "same_kind"
    if casting == "unsafe" and not np.can_cast(src.dtype, part.dtype, "same_kind"):
        raise TypeError(f"src of {src.dtype} does not fit input of {part.dtype}")
    with in_their_words(index):
        ps.scatter_along_axis(
            part,
            unsigned(index),
            src,
            dim,
            op=op,
            include_self=include_self,
            casting=casting,
            out=part,
        )


def _scatter(input, dim, index, src, *, reduce=None):
    """Write values along an axis.

    dim : int
        The axis that `index` counts in.
    index : array_like of integers
        As many axes as `input`; no longer than `src`, nor than `input` off the axis.
    src : array_like or scalar
        The values; where the index is smaller, its part of them.
    reduce : {None, "add", "multiply"}, optional
        Add to or multiply what is there instead.
    """
    op = {"add": "add", "multiply": "mul", None: "set"}
    check_op(reduce, op)
    if np.ndim(src) == 0 and not isinstance(src, np.ndarray):
        src = np.broadcast_to(_weak(src, input.dtype), np.shape(index))
    _elements(input, dim, index, src, op[reduce])


def _weak(value, dtype):
    """Return a Python number in a dtype that it fits."""
    return ps.where(True, value, np.zeros((), dtype)).astype(dtype, casting="same_kind")


def _scatter_add(input, dim, index, src):
    """Add values along an axis.

    dim : int
        The axis that `index` counts in.
    index : array_like of integers
        As many axes as `input`; no longer than `src`, nor than `input` off the axis.
    src : array_like
        The values; where the index is smaller, its part of them.
    """
    _elements(input, dim, index, src, "add")


def _scatter_reduce(input, dim, index, src, reduce, *, include_self=True):
    """Reduce values along an axis.

    dim : int
        The axis that `index` counts in.
    index : array_like of integers
        As many axes as `input`; no longer than `src`, nor than `input` off the axis.
    src : array_like
        The values; where the index is smaller, its part of them.
    reduce : {"sum", "prod", "mean", "amax", "amin"}
        The reduction; means of integers are rounded down.
    include_self : bool, optional
        Whether what is there takes part.
    """
    op = check_op(reduce, REDUCTIONS)
    _elements(input, dim, index, src, op, include_self)


def _rows(input, dim, index, source, op, include_self=True):
    """Update slices of an axis; source has one for each index."""
    index, source = np.asarray(index), np.asarray(source)
    if index.ndim > 1:
        raise ValueError(f"index has shape {index.shape}; expected one axis at most")
    index = index.reshape(-1)
    dim = axis_of(dim, input.ndim)
    target = input.reshape(1) if input.ndim == 0 else input
    source = source.reshape(1) if source.ndim == 0 else source
    expected = (*target.shape[:dim], index.size, *target.shape[dim + 1 :])
    if source.shape != expected:
        raise ValueError(
            f"source has shape {source.shape}; expected {expected}, that of input with "
            f"one slice for each index on axis {dim}"
        )
    casting = "unsafe" if op == "mean" and target.dtype.kind in "iu" else "same_kind"
    if casting == "unsafe" and not np.can_cast(source.dtype, target.dtype, "same_kind"):
        raise TypeError(f"source of {source.dtype} does not fit {target.dtype}")
    with in_their_words(index):
        ps.scatter(
            target,
            unsigned(index),
            source,
            dim,
            op=op,
            include_self=include_self,
            casting=casting,
            out=target,
        )


def _index_add(input, dim, index, source, *, alpha=1):
    """Add slices to those that an index names.

    dim : int
        The axis that `index` counts in.
    index : array_like of integers
        (n,) or a number.
    source : array_like
        The shape of `input`, with n slices on the axis.
    alpha : scalar, optional
        What `source` is multiplied by.
    """
    source = np.asarray(source)
    _rows(input, dim, index, source if alpha == 1 else source * alpha, "add")


def _index_copy(input, dim, index, source):
    """Write slices to those that an index names.

    dim : int
        The axis that `index` counts in.
    index : array_like of integers
        (n,) or a number.
    source : array_like
        The shape of `input`, with n slices on the axis.
    """
    _rows(input, dim, index, source, "set")


def _index_fill(input, dim, index, value):
    """Write one number to the slices that an index names.

    dim : int
        The axis that `index` counts in.
    index : array_like of integers
        (n,) or a number; negative ones count from the end.
    value : scalar
        A number or a 0-d array.
    """
    if np.ndim(value) or np.ndim(index) > 1:
        raise ValueError(
            f"value has shape {np.shape(value)} and index {np.shape(index)}; expected "
            "a number, and one axis at most"
        )
    target = input.reshape(1) if input.ndim == 0 else input
    index = np.asarray(index).reshape(-1)
    index = index.astype(np.intp) if is_empty(index) else index
    ps.scatter(target, index, value, axis_of(dim, target.ndim), out=target)


def _index_reduce(input, dim, index, source, reduce, *, include_self=True):
    """Reduce slices into those that an index names.

    dim : int
        The axis that `index` counts in.
    index : array_like of integers
        (n,) or a number.
    source : array_like
        The shape of `input`, with n slices on the axis.
    reduce : {"prod", "mean", "amax", "amin"}
        The reduction; means of integers are rounded down.
    include_self : bool, optional
        Whether what is there takes part.
    """
    _rows(input, dim, index, source, check_op(reduce, REDUCTIONS[1:]), include_self)


def _index_put(input, indices, values, accumulate=False):
    """Write to the elements that a tuple of indices names.

    indices : tuple of array_like
        One for each of the first axes: integers (negative ones count from the end),
        bools, or None for all of an axis; they broadcast.
    values : array_like
        Broadcast to what the indices name.
    accumulate : bool, optional
        Add instead.
    """
    if not isinstance(indices, (tuple, list)):
        raise TypeError(f"indices is a {type(indices).__name__}; expected a tuple")
    key = tuple(slice(None) if i is None else np.asarray(i) for i in indices)
    ps.scatter_at(input, key, values, op="add" if accumulate else "set", out=input)


def _put(input, index, source, accumulate=False):
    """Write to elements of the flat array.

    index : array_like of integers
        Places in C order; negative ones count from the end.
    source : array_like
        As many values as there are indices.
    accumulate : bool, optional
        Add instead.
    """
    index, source = np.asarray(index), np.asarray(source)
    if index.size != source.size:
        raise ValueError(f"source has {source.size} values for {index.size} indices")
    if not is_empty(index):
        op = "add" if accumulate else "set"
        source = source.reshape(index.shape)
        ps.scatter(input, index, source, axis=None, op=op, out=input)


ALONG = "pyscatter.scatter_along_axis"
ROWS = "pyscatter.scatter"
scatter, scatter_ = pair(
    _scatter,
    call="0, [[1, 0]], [[7.0, 8.0]]",
    shown="array([[1., 8., 3.],\n       [7., 5., 6.]])",
    twin=ALONG,
    order=LAST_STAYS,
    value_error="; an unknown reduction",
)
scatter_add, scatter_add_ = pair(
    _scatter_add,
    call="0, [[1, 0], [1, 1]], [[7.0, 8.0], [1.0, 1.0]]",
    shown="array([[ 1., 10.,  3.],\n       [12.,  6.,  6.]])",
    twin=ALONG,
)
scatter_reduce, scatter_reduce_ = pair(
    _scatter_reduce,
    call='0, [[1, 0], [1, 1]], [[7.0, 8.0], [1.0, 1.0]], "amax", include_self=False',
    shown="array([[1., 8., 3.],\n       [7., 1., 6.]])",
    twin=ALONG,
    value_error="; an unknown reduction",
)
index_add, index_add_ = pair(
    _index_add,
    call="1, [0, 0], [[1.0, 2.0], [3.0, 4.0]], alpha=10",
    shown="array([[31.,  2.,  3.],\n       [74.,  5.,  6.]])",
    twin=ROWS,
)
index_copy, index_copy_ = pair(
    _index_copy,
    call="1, [0, 0], [[1.0, 2.0], [3.0, 4.0]]",
    shown="array([[2., 2., 3.],\n       [4., 5., 6.]])",
    twin=ROWS,
    order=LAST_STAYS,
)
index_fill, index_fill_ = pair(
    _index_fill,
    call="1, [0, -1], 9",
    shown="array([[9., 2., 9.],\n       [9., 5., 9.]])",
    twin=ROWS,
    index_error="An index is out of bounds.",
)
index_reduce, index_reduce_ = pair(
    _index_reduce,
    call='1, [0, 0], [[1.0, 2.0], [3.0, 4.0]], "prod"',
    shown="array([[ 2.,  2.,  3.],\n       [48.,  5.,  6.]])",
    twin=ROWS,
    value_error="; an unknown reduction",
)
index_put, index_put_ = pair(
    _index_put,
    call="([0, 0, -1], [1, 1, 0]), 10.0, accumulate=True",
    shown="array([[ 1., 22.,  3.],\n       [14.,  5.,  6.]])",
    twin="pyscatter.scatter_at",
    index_error="An index is out of bounds.",
    order="repeated indices all count under accumulate, else the last one stays.",
)
put, put_ = pair(
    _put,
    call="[0, -1, 0], [10.0, 20.0, 30.0], accumulate=True",
    shown="array([[41.,  2.,  3.],\n       [ 4.,  5., 26.]])",
    twin=ROWS,
    index_error="An index is out of bounds.",
    order="repeated indices all count under accumulate, else the last one stays.",
)
