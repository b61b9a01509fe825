"""torch's gather, index_select, take, segment_reduce and counts: what only reads."""

import numpy as np

import pyscatter as ps
from pyscatter.compat._negatives import in_their_words, unsigned
from pyscatter.compat._torch_writes import axis_of, check_op, cut, is_empty

FOLDS = ("sum", "mean", "max", "min", "prod")


def gather(input, dim, index):
    """Take values along an axis, one for each element of an index.

    Parameters
    ----------
    input : array_like
        The source.
    dim : int
        The axis that `index` counts in.
    index : array_like of integers
        As many axes as `input`, off the axis no longer than it.

    Returns
    -------
    ndarray
        In the shape of `index`.

    Raises
    ------
    IndexError
        An index is negative or too large.
    ValueError
        Shapes do not fit.
    TypeError
        Indices are no integers.

    Notes
    -----
    *Order and duplicates*: an index may come any number of times. *Determinism*: a
    copy. *Derivatives*: those of `pyscatter.gather_along_axis`. *Cost*: one pass.

    See Also
    --------
    pyscatter.gather_along_axis
    torch.gather

    Examples
    --------
    >>> from pyscatter.compat.torch import gather
    >>> gather([[1.0, 2.0], [3.0, 4.0]], 1, [[0, 0], [1, 0]])
    array([[1., 1.],
           [4., 3.]])
    """
    input, index = np.asarray(input), np.asarray(index)
    if is_empty(index):
        return np.empty(index.shape, input.dtype)
    shape, dim = index.shape, axis_of(dim, input.ndim)
    input, index = (x.reshape(1) if x.ndim == 0 else x for x in (input, index))
    with in_their_words(index):
        part = cut(input, dim, index, "input")
        return ps.gather_along_axis(part, unsigned(index), dim).reshape(shape)


def take_along_dim(input, indices, dim=None):
    """Take values along an axis, where both arrays broadcast off it.

    Parameters
    ----------
    input : array_like
        The source.
    indices : array_like of integers
        As many axes as `input`; negative ones count from the end.
    dim : int, optional
        The axis; None: both are flat.

    Returns
    -------
    ndarray
        In the common shape off the axis, as long as `indices` on it.

    Raises
    ------
    IndexError
        An index is out of bounds.
    ValueError
        Shapes do not fit.
    TypeError
        Indices are no integers.

    Notes
    -----
    *Order and duplicates*: an index may come any number of times. *Determinism*: a
    copy. *Derivatives*: those of `pyscatter.gather_along_axis`. *Cost*: one pass.

    See Also
    --------
    pyscatter.gather_along_axis
    torch.take_along_dim

    Examples
    --------
    >>> from pyscatter.compat.torch import take_along_dim
    >>> take_along_dim([[1.0, 2.0], [3.0, 4.0]], [[-1], [0]], 1)
    array([[2.],
           [3.]])
    """
    if dim is None:
        input, indices, dim = np.ravel(input), np.ravel(indices), 0
    return ps.gather_along_axis(input, indices, dim)


def index_select(input, dim, index):
    """Take slices of an axis.

    Parameters
    ----------
    input : array_like
        The source.
    dim : int
        The axis.
    index : array_like of integers
        (n,) or a number, which gives one slice.

    Returns
    -------
    ndarray
        The shape of `input`, with n slices on the axis.

    Raises
    ------
    IndexError
        An index is negative or too large.
    ValueError
        `index` has several axes.
    TypeError
        Indices are no integers.

    Notes
    -----
    *Order and duplicates*: an index may come any number of times. *Determinism*: a
    copy. *Derivatives*: those of `pyscatter.gather`. *Cost*: one pass over the result.

    See Also
    --------
    pyscatter.gather
    torch.index_select

    Examples
    --------
    >>> from pyscatter.compat.torch import index_select
    >>> index_select([[1.0, 2.0], [3.0, 4.0]], 1, [1, 1])
    array([[2., 2.],
           [4., 4.]])
    """
    input, index = np.asarray(input), np.asarray(index)
    if index.ndim > 1:
        raise ValueError(f"index has shape {index.shape}; expected one axis at most")
    line = index.reshape(-1)
    dim = axis_of(dim, input.ndim)
    with in_their_words(line):
        if input.ndim == 0:
            return ps.gather(input.reshape(1), unsigned(index), dim).reshape(())
        return ps.gather(input, unsigned(line), dim)


def take(input, index):
    """Take elements of the flat array.

    Parameters
    ----------
    input : array_like
        The source.
    index : array_like of integers
        Places in C order; negative ones count from the end.

    Returns
    -------
    ndarray
        In the shape of `index`.

    Raises
    ------
    IndexError
        An index is out of bounds.
    TypeError
        Indices are no integers.

    Notes
    -----
    *Order and duplicates*: an index may come any number of times. *Determinism*: a
    copy. *Derivatives*: those of `pyscatter.gather`. *Cost*: one pass.

    See Also
    --------
    pyscatter.gather : the same with ``axis=None``
    torch.take

    Examples
    --------
    >>> from pyscatter.compat.torch import take
    >>> take([[1.0, 2.0], [3.0, 4.0]], [3, -1, 0])
    array([4., 4., 1.])
    """
    index = np.asarray(index)
    return ps.gather(input, index.astype(np.intp) if is_empty(index) else index, None)


def segment_reduce(
    data, reduce, *, lengths=None, offsets=None, axis=0, unsafe=False, initial=None
):
    """Reduce segments of an axis that lie one behind the other.

    Parameters
    ----------
    data : array_like
        Floats or integers.
    reduce : {"sum", "mean", "max", "min", "prod"}
        The reduction.
    lengths : array_like of integers, optional
        (..., n): the lengths of the segments; their axes but the last are those of
        `data`, and `axis` is their last.
    offsets : array_like of integers, optional
        (..., n + 1): where the segments begin and the last one ends.
    axis : int, optional
        The last axis of `lengths` or `offsets`.
    unsafe : bool, optional
        Let lengths end before the axis does; they are checked to end inside it.
    initial : scalar, optional
        Starts every segment, and is the value of an empty one.

    Returns
    -------
    ndarray
        The shape of `data`, with n values on the axis. Empty segments are 0, 1 for
        products, NaN for means, and infinite (or the type's limit) for max and min.

    Raises
    ------
    ValueError
        Not exactly one of `lengths` and `offsets` is given; shapes do not fit; segments
        leave the axis; lengths do not fill it and `unsafe` is False.
    TypeError
        Lengths or offsets are no integers; `initial` does not fit the dtype.

    Notes
    -----
    *Order and duplicates*: the order of sums depends on lengths alone. *Determinism*:
    the bits depend neither on threads nor on the CPU. *Derivatives*: those of
    `pyscatter.segment_reduce`. *Cost*: one pass over the data.

    See Also
    --------
    pyscatter.segment_reduce
    torch.segment_reduce

    Examples
    --------
    >>> from pyscatter.compat.torch import segment_reduce
    >>> segment_reduce([1.0, 2.0, 4.0], "sum", lengths=[2, 0, 1])
    array([3., 0., 4.])
    """
    data, op = np.asarray(data), check_op(reduce, FOLDS)
    starts, stops = _bounds(data, lengths, offsets, axis, unsafe)
    axis = starts.ndim - 1
    flat = data.reshape(int(np.prod(data.shape[: axis + 1])), *data.shape[axis + 1 :])
    options = {"starts": starts.reshape(-1), "stops": stops.reshape(-1), "op": op}
    if op != "mean":
        options["dtype"] = data.dtype
    if op != "mean" or initial is None:
        ret = ps.segment_reduce(flat, initial=initial, **options)
    else:
        ret = _mean_from(flat, initial, options)
    return ret.reshape(*starts.shape, *data.shape[axis + 1 :])


def _mean_from(flat, initial, options):
    """Return means whose sums start at a number, as torch has them."""
    counts = np.maximum(options["stops"] - options["starts"], 1)
    sums = ps.segment_reduce(flat, initial=initial, **{**options, "op": "add"})
    counts = counts.reshape(counts.shape + (1,) * (sums.ndim - 1))
    return (sums / counts).astype(sums.dtype, copy=False)


def _bounds(data, lengths, offsets, axis, unsafe):
    """Return where segments begin and end in the axis that data's first axes make."""
    if (lengths is None) == (offsets is None):
        raise ValueError("give lengths or offsets, one of both")
    name, given = ("lengths", lengths) if offsets is None else ("offsets", offsets)
    given = np.asarray(given)
    if given.dtype.kind not in "iu":
        raise TypeError(f"{name} has dtype {given.dtype}; expected integers")
    if given.ndim == 0 or given.shape[:-1] != data.shape[: given.ndim - 1]:
        raise ValueError(f"{name} has shape {given.shape}, data {data.shape}")
    if axis_of(axis, data.ndim) != given.ndim - 1 or given.ndim > data.ndim:
        raise ValueError(f"axis is {axis}; expected the last of {name}'s axes")
    length = data.shape[given.ndim - 1]
    given = given.astype(np.int64)
    if offsets is None:
        if (given < 0).any() or (given > length).any():
            raise ValueError("lengths are negative or longer than the axis")
        stops = np.cumsum(given, axis=-1)
        starts = stops - given
        if not unsafe and (given.sum(axis=-1) != length).any():
            raise ValueError(f"lengths do not sum to {length}, that of axis {axis}")
    else:
        starts, stops = given[..., :-1], given[..., 1:]
    if (starts < 0).any() or (stops > length).any() or (starts > stops).any():
        raise ValueError(f"{name} leave the axis, whose length is {length}, or fall")
    rows = np.arange(int(np.prod(starts.shape[:-1])), dtype=np.int64) * length
    rows = rows.reshape(*starts.shape[:-1], 1)
    return starts + rows, stops + rows


def bincount(input, weights=None, minlength=0):
    """Count how often each integer occurs, or sum weights by it.

    Parameters
    ----------
    input : array_like of integers
        (n,), not negative.
    weights : array_like, optional
        (n,).
    minlength : int, optional
        The least number of bins.

    Returns
    -------
    ndarray
        int64 counts, or float64 sums.

    Raises
    ------
    ValueError
        An integer is negative, or shapes do not fit.
    TypeError
        `input` holds no integers.

    Notes
    -----
    *Order and duplicates*: weights are added in order. *Determinism*: the bits depend
    neither on threads nor on the CPU. *Derivatives*: those of `pyscatter.bincount`.
    *Cost*: one pass.

    See Also
    --------
    pyscatter.bincount
    torch.bincount

    Examples
    --------
    >>> from pyscatter.compat.torch import bincount
    >>> bincount([0, 2, 2], minlength=4)
    array([1, 0, 2, 0])
    """
    return ps.bincount(input, weights, minlength)


def count_nonzero(input, dim=None):
    """Count what is not zero.

    Parameters
    ----------
    input : array_like
        Numbers or bools.
    dim : int or tuple of int, optional
        The axes that are counted over; None: all.

    Returns
    -------
    int or ndarray
        The count, or int64 counts.

    Raises
    ------
    ValueError
        There is no such axis.

    Notes
    -----
    *Order and duplicates*: none. *Determinism*: exact. *Derivatives*: none. *Cost*: one
    pass.

    See Also
    --------
    pyscatter.count_nonzero
    torch.count_nonzero

    Examples
    --------
    >>> from pyscatter.compat.torch import count_nonzero
    >>> count_nonzero([[0.0, 2.0], [3.0, 1.0]], dim=0)
    array([1, 2])
    """
    return ps.count_nonzero(input, dim)
