"""The segment family, entry by entry: softmax, running forms, and expansion.

The results have the shape of the values, or of the ids, and not that of the segments.
"""

from pyscatter._core import (
    segment_cumsum,
    segment_expand,
    segment_log_softmax,
    segment_scan,
    segment_softmax,
)
from pyscatter._docs import document

WITH_SIZE = (
    "(values, ids=None, num_segments=None, *, offsets=None, lengths=None, axis=..., "
    "batch_dims=0)"
)

document(
    segment_softmax,
    WITH_SIZE,
    """
    Divide exp(x) by its sum over the segment, for each entry.

    <<softmax>>

    See Also
    --------
    segment_log_softmax, segment_reduce
    torch_geometric.utils.softmax, scipy.special.softmax, jax.nn.softmax

    Examples
    --------
    >>> import numpy as np
    >>> import pyscatter as ps
    >>> ps.segment_softmax(np.log([1.0, 5.0, 3.0]), [0, 1, 0])
    array([0.25, 1.  , 0.75])
    """,
)

document(
    segment_log_softmax,
    WITH_SIZE,
    """
    Subtract from each entry log(sum(exp(x))) of its segment.

    <<softmax>>

    See Also
    --------
    segment_softmax, segment_reduce
    torch.nn.functional.log_softmax, scipy.special.log_softmax, jax.nn.log_softmax

    Examples
    --------
    >>> import numpy as np
    >>> import pyscatter as ps
    >>> np.exp(ps.segment_log_softmax(np.log([1.0, 5.0, 3.0]), offsets=[0, 2, 3]))
    array([0.16666667, 0.83333333, 1.        ])
    """,
)

document(
    segment_scan,
    "(values, ids=None, *, offsets=None, lengths=None, axis=0, op='add', "
    "exclusive=False, reverse=False, dtype=None)",
    """
    Give each entry what its segment has come to: the running form of a reduction.

    Parameters
    ----------
    values : array_like
        What is joined.
    <<entry_ids>>
    axis : int, optional
        The first axis of the entries.
    op : str or ufunc, optional
        "add" (default), "mul", "min", "max", "fmin", "fmax", "and", "or", "xor", an
        alias or a ufunc.
    exclusive : bool, optional
        Without the entry itself: the first one gets the op's identity.
    reverse : bool, optional
        From the last entry to the first.
    dtype : dtype, optional
        Of the accumulator and of the result; by default as in `segment_reduce`.

    Returns
    -------
    ndarray
        Of the shape of `values`.

    <<entry_raises>>

    Notes
    -----
    *Order and duplicates*: entries of a segment are joined from first to last, wherever
    they stand; the last of them has the sum that `segment_reduce` gives by ids.

    *Determinism*: the same bits for any number of threads and any CPU level. Nothing
    is subtracted: no segment can harm another.

    *Derivatives*: linear in `values` for add; the transpose is the scan in the other
    direction. Products are exact for zeros; for extremes the holders so far share.

    *Cost*: one pass, and a running value for each segment; no sort, but of ids that are
    far larger than there are entries.

    See Also
    --------
    segment_cumsum, segment_reduce
    numpy.ufunc.accumulate, jax.lax.associative_scan, pandas groupby cumsum

    Examples
    --------
    >>> import pyscatter as ps
    >>> ps.segment_scan([1, 2, 4, 8], [0, 1, 0, 1])
    array([ 1,  2,  5, 10])
    >>> ps.segment_scan([3, 1, 2], lengths=[2, 1], op="max", reverse=True)
    array([3, 1, 2])
    """,
)

document(
    segment_cumsum,
    "(values, ids=None, **options)",
    """
    Give each entry the sum of its segment up to there.

    Parameters
    ----------
    values : array_like
        What is added.
    ids : array_like of int, or Plan, optional
        For each entry the segment that it belongs to; or say the segments by
        ``offsets=`` or ``lengths=``.
    options : optional
        Every other keyword of `segment_scan` but `op`.

    Returns
    -------
    ndarray
        Of the shape of `values`; integers widen as in `numpy.cumsum`.

    <<entry_raises>>

    Notes
    -----
    This is `segment_scan` with ``op="add"``, whose order, determinism, derivatives and
    cost it has.

    See Also
    --------
    segment_scan, segment_sum
    numpy.cumsum, pandas groupby cumsum

    Examples
    --------
    >>> import pyscatter as ps
    >>> ps.segment_cumsum([1.0, 2.0, 4.0], [7, 1, 7])
    array([1., 2., 5.])
    """,
)

document(
    segment_expand,
    "(g, ids=None, *, offsets=None, lengths=None, axis=0)",
    """
    Give each entry the value of its segment: the way back from a reduction.

    Parameters
    ----------
    g : array_like
        One value, or row, for each segment along `axis`.
    <<entry_ids>>
    axis : int, optional
        The axis of `g` that counts segments.

    Returns
    -------
    ndarray
        ``g.shape[:axis] + ids.shape + g.shape[axis+1:]``, of the dtype of `g`; ranges
        count as ids with one axis.

    <<entry_raises>>

    Notes
    -----
    *Order and duplicates*: an entry for each id, in the order of the ids.

    *Determinism*: every bit is moved as it is.

    *Derivatives*: linear in `g`; the transpose is `segment_sum`.

    *Cost*: one pass over ids and result.

    See Also
    --------
    segment_reduce, gather
    numpy.take, numpy.repeat, torch.repeat_interleave, torch_scatter.gather_csr

    Examples
    --------
    >>> import numpy as np
    >>> import pyscatter as ps
    >>> x, ids = np.array([1.0, 3.0, 5.0]), [0, 1, 0]
    >>> x - ps.segment_expand(ps.segment_mean(x, ids), ids)
    array([-2.,  0.,  2.])
    """,
)
