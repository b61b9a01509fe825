"""pyscatter on dask arrays: work by chunks, results that do not depend on workers.

Sums by segments are taken chunk by chunk and combined in a tree that the chunks and
`split_every` alone fix, so the bits are the same for any scheduler and any number of
workers. An update of rows sends to each chunk the whole index, in order: its bits are
those of one `pyscatter.scatter`. What an index does wrong is found when the result is
computed.
"""

import numpy as np

import pyscatter as ps
from pyscatter.adapters._imports import required

required("dask.array", "dask")

import dask  # noqa: E402
import dask.array as da  # noqa: E402

__all__ = ["bincount", "scatter", "segment_reduce", "spmm"]

OPS = ("add", "mul", "min", "max", "fmin", "fmax", "mean", "count")


def segment_reduce(values, ids, num_segments, *, op="add", mode="raise", split_every=8):
    """Reduce the entries of a dask array by segment.

    Parameters
    ----------
    values : dask array
        (n, ...); chunked along axis 0. With op="count" it may be None.
    ids : dask array or array_like of integers
        (n,).
    num_segments : int
        How many segments there are.
    op : str, optional
        "add" (default), "mul", "min", "max", "fmin", "fmax", "mean" or "count".
    mode : str, optional
        What an id out of bounds does, as in `pyscatter.segment_reduce`.
    split_every : int, optional
        How many partial results are combined at a time.

    Returns
    -------
    dask array
        (num_segments, ...), one chunk, with the dtype of `pyscatter.segment_reduce`.

    Raises
    ------
    ValueError
        An unknown op; shapes that do not fit; `split_every` below 2.
    IndexError
        When it is computed: an id is out of bounds; its position is that in its chunk.

    Notes
    -----
    *Order and duplicates*: in a chunk first to last, chunks in order. *Determinism*:
    the bits depend on chunks and `split_every`, never on workers. *Derivatives*: none.
    *Cost*: one pass, and a partial result for each chunk.

    See Also
    --------
    pyscatter.segment_reduce
    dask.array.bincount

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from pyscatter.adapters.dask import segment_reduce
    >>> values = da.from_array(np.arange(6.0), chunks=4)
    >>> segment_reduce(values, [0, 2, 2, 0, 0, 2], 3).compute()
    array([7., 0., 8.])
    """
    if op not in OPS:
        raise ValueError(f"op={op!r} is unknown here; expected one of {OPS}")
    if split_every < 2:
        raise ValueError(f"split_every={split_every}; expected 2 at least")
    ids = da.asarray(ids)
    values = ids if op == "count" else da.asarray(values)
    if ids.ndim != 1 or values.shape[:1] != ids.shape:
        raise ValueError(
            f"ids has shape {ids.shape}; expected {values.shape[:1]}, axis 0 of values"
        )
    values = values.rechunk({axis: -1 for axis in range(1, values.ndim)})
    ids = ids.rechunk((values.chunks[0],))
    parts = [
        dask.delayed(_part)(x, i, num_segments, op, mode)
        for x, i in zip(values.to_delayed().ravel(), ids.to_delayed(), strict=True)
    ]
    while len(parts) > 1:
        groups = (parts[i : i + split_every] for i in range(0, len(parts), split_every))
        parts = [dask.delayed(_combined)(group, op) for group in groups]
    probe = np.ones((1,) + (1,) * (values.ndim - 1), values.dtype)
    dtype = ps.segment_reduce(probe, [0], 1, op=op).dtype
    result = dask.delayed(_result)(parts[0], op, dtype)
    shape = (num_segments, *values.shape[1:])
    return da.from_delayed(result, shape, dtype)


def _part(x, ids, size, op, mode):
    """Return the partial result of a chunk: of means, sums and counts."""
    if op == "mean":
        wide = "c16" if x.dtype.kind == "c" else "f8"
        options = {"mode": mode, "dtype": wide, "return_counts": True}
        return ps.segment_reduce(x, ids, size, **options)
    if op == "count":
        return ps.segment_reduce(None, ids, size, op=op, mode=mode)
    return ps.segment_reduce(x, ids, size, op=op, mode=mode)


def _combined(parts, op):
    """Combine partial results in order."""
    if op == "mean":
        return tuple(_combined(same, "add") for same in zip(*parts, strict=True))
    op = "add" if op == "count" else op
    stacked = np.stack(parts)
    options = {} if op in ("fmin", "fmax") else {"dtype": stacked.dtype}
    return ps.segment_reduce(stacked, offsets=[0, len(parts)], op=op, **options)[0]


def _result(part, op, dtype):
    """Return the result: of means, sums by counts."""
    if op != "mean":
        return part.astype(dtype, copy=False)
    sums, counts = part
    counts = counts.reshape(counts.shape + (1,) * (sums.ndim - counts.ndim))
    with np.errstate(invalid="ignore"):
        return (sums / counts).astype(dtype, copy=False)


def scatter(a, index, values, axis=0, *, op, mode="raise", include_self=True):
    """Update slices of an axis of a dask array.

    Parameters
    ----------
    a : dask array
        The target.
    index : dask array or array_like of integers
        (n,): places on the axis.
    values : dask array or array_like
        Broadcasts to the shape of `a` with n slices on the axis.
    axis : int, optional
        The axis that is indexed.
    op : str
        What happens where values arrive.
    mode : {"raise", "drop"}, optional
        What an index out of bounds does.
    include_self : bool, optional
        Whether the old value takes part.

    Returns
    -------
    dask array
        A new array with the shape and chunks of `a` along the axis.

    Raises
    ------
    ValueError
        Shapes do not fit; an unknown mode.
    IndexError
        When it is computed: an index is out of bounds.

    Notes
    -----
    *Order and duplicates*: the order of the index, across chunks; under "set" the last
    one stays. *Determinism*: the bits of one `pyscatter.scatter`, for any chunks and
    workers. *Derivatives*: none. *Cost*: each chunk of the axis reads the whole index.

    See Also
    --------
    pyscatter.scatter

    Examples
    --------
    >>> import dask.array as da
    >>> from pyscatter.adapters.dask import scatter
    >>> scatter(da.zeros(4, chunks=2), [3, 0, 3], [1.0, 2.0, 4.0], op="add").compute()
    array([2., 0., 0., 5.])
    """
    if mode not in ("raise", "drop"):
        raise ValueError(f"mode={mode!r}; expected 'raise' or 'drop'")
    a = da.asarray(a)
    axis = np.lib.array_utils.normalize_axis_index(axis, a.ndim)
    index, values = da.asarray(index).rechunk(-1), da.asarray(values).rechunk(-1)
    if index.ndim != 1:
        raise ValueError(f"index has shape {index.shape}; expected (n,)")
    np.broadcast_shapes(
        values.shape, (*a.shape[:axis], index.shape[0], *a.shape[axis + 1 :])
    )
    a = a.rechunk({other: -1 for other in range(a.ndim) if other != axis})
    whole = [dask.delayed(x.to_delayed().ravel()[0]) for x in (index, values)]
    options = {"op": op, "include_self": include_self}
    starts = np.cumsum([0, *a.chunks[axis]])
    dtype = ps.scatter(np.zeros(1, a.dtype), [0], np.zeros(1, values.dtype), **options)
    blocks = [
        da.from_delayed(
            dask.delayed(_block)(x, *whole, axis, start, a.shape[axis], mode, options),
            (*a.shape[:axis], length, *a.shape[axis + 1 :]),
            dtype.dtype,
        )
        for x, start, length in zip(
            a.to_delayed().ravel(), starts[:-1].tolist(), a.chunks[axis], strict=True
        )
    ]
    return da.concatenate(blocks, axis=axis)


def _block(a, index, values, axis, start, size, mode, options):
    """Update one chunk by the whole index: what is not its own is dropped."""
    if mode == "raise":
        ps.gather(np.broadcast_to(np.False_, (size,)), index)
    index = np.asarray(index).astype(np.int64)
    if mode == "raise":
        index = np.where(index < 0, index + size, index)
    return ps.scatter(a, index - start, values, axis, mode="drop", **options)


def bincount(x, minlength, *, weights=None):
    """Count how often each integer occurs, or sum weights by it.

    Parameters
    ----------
    x : dask array or array_like of integers
        (n,), from 0 to minlength - 1.
    minlength : int
        The number of bins: a graph cannot depend on the largest integer.
    weights : dask array or array_like, optional
        (n, ...).

    Returns
    -------
    dask array
        (minlength, ...): int64 counts, or float64 sums.

    Raises
    ------
    ValueError
        Shapes do not fit.
    IndexError
        When it is computed: an integer is negative, or has no bin.

    Notes
    -----
    *Order and duplicates*, *Determinism*, *Cost*: as `segment_reduce`. *Derivatives*:
    none.

    See Also
    --------
    pyscatter.bincount
    dask.array.bincount

    Examples
    --------
    >>> from pyscatter.adapters.dask import bincount
    >>> bincount([0, 2, 2], 4).compute()
    array([1, 0, 2, 0])
    """
    if weights is None:
        return segment_reduce(None, x, minlength, op="count")
    weights = da.asarray(weights)
    if weights.dtype.kind != "c":
        weights = weights.astype("f8")
    return segment_reduce(weights, x, minlength)


def spmm(A, X):
    """Multiply a sparse matrix and a dask array.

    Parameters
    ----------
    A : sparse matrix
        (m, n): one of pyscatter's or SciPy's, sent to every worker.
    X : dask array
        (n,) or (n, k); chunked along k.

    Returns
    -------
    dask array
        (m,) or (m, k), with the chunks of X along k.

    Raises
    ------
    ValueError
        Shapes do not fit.

    Notes
    -----
    *Order and duplicates*: as `pyscatter.spmm`. *Determinism*: its bits, for any chunks
    and workers. *Derivatives*: none. *Cost*: that of the product.

    See Also
    --------
    pyscatter.spmm

    Examples
    --------
    >>> import dask.array as da
    >>> from pyscatter import CSR
    >>> from pyscatter.adapters.dask import spmm
    >>> spmm(CSR.from_dense([[0.0, 2.0], [1.0, 0.0]]), da.ones(2)).compute()
    array([2., 1.])
    """
    X = da.asarray(X)
    if X.ndim not in (1, 2) or X.shape[0] != A.shape[1]:
        raise ValueError(f"X has shape {X.shape}; expected ({A.shape[1]},) or with k")
    X = X.rechunk({0: -1})
    kind = np.dtype(bool) if A.data is None else A.data.dtype
    dtype = np.result_type(kind, X.dtype)
    chunks = ((A.shape[0],), *X.chunks[1:])
    meta = np.empty((0,) * X.ndim, dtype)
    return X.map_blocks(lambda x: ps.spmm(A, x), dtype=dtype, chunks=chunks, meta=meta)
