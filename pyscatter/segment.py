"""The segment family: entries of an axis in groups, each reduced to one value.

Segments are said by ids, by offsets, by starts and stops, or by lengths.
`segment_reduce` has every option; `segment_sum` and its sisters are names for it. The
functions are C functions; this module gives them their text. What gives each entry
something back is in segment_entries.py.
"""

from pyscatter._core import (
    segment_max,
    segment_mean,
    segment_min,
    segment_prod,
    segment_reduce,
    segment_sum,
)
from pyscatter._docs import document

document(
    segment_reduce,
    "(values, ids=None, num_segments=None, *, offsets=None, starts=None, stops=None, "
    "lengths=None, gather=None, weights=None, axis=..., batch_dims=0, op='add', "
    "q=None, ddof=0, initial=None, fill_value=None, where=None, skipna=False, "
    "mode='raise', return_arg=False, return_counts=False, assume_sorted=False, "
    "dtype=None, compensated=False, out=None)",
    """
    Reduce each segment of an axis to one value.

    Parameters
    ----------
    values : array_like
        What is reduced, of any dtype that the op knows. None with ``op="count"``.
    ids : array_like of int, or Plan
        For each entry the segment that it belongs to, in any order. Its shape is that
        of the axes of `values` from `axis` on, after the batch axes. Negative ids are
        out of range.
    num_segments : int, optional
        How many segments there are. By default the largest id and one.
    offsets : array_like of int, shape (num_segments + 1,)
        Instead of `ids`: segment s has the entries from ``offsets[s]`` to
        ``offsets[s + 1]``; first 0, last the number of entries, never decreasing.
    starts : array_like of int, shape (num_segments,)
        Instead of `ids`: segment s has the entries from ``starts[s]`` to ``stops[s]``.
        Ranges may overlap, leave entries out, and come in any order.
    stops : array_like of int, shape (num_segments,)
        Goes with `starts`.
    lengths : array_like of int, shape (num_segments,)
        Instead of `ids`: how many entries each segment has, one after the other.
    gather : array_like of int, optional
        The entries are the rows of `values` along `axis` that it names, repeated as it
        likes: ``values[gather]`` without making it. Negatives count from the end.
    weights : array_like, optional
        One for each entry: "add" is sum(w x), "mean" is sum(w x) / sum(w).
    axis : int or None, optional
        The first axis of the entries; default `batch_dims`. None: all, flattened.
    batch_dims : int, optional
        Leading axes that `values` and `ids` share and that are independent.
    op : str, ufunc, or tuple of them, optional
        "add" (default), "mul", "min", "max", "fmin", "fmax", "and", "or", "xor",
        "mean", "var", "std", "count", "first", "last", "any", "all", "argmin",
        "argmax", "logsumexp", "median", "quantile", their aliases "sum", "prod",
        "amin", "amax", "minimum", "maximum", "multiply", or a NumPy ufunc. A tuple
        gives a tuple of results.
    q : float or list of float, optional
        For "quantile": from 0 to 1; a list makes a leading axis.
    ddof : int, optional
        For "var" and "std": what is taken off the count.
    initial : scalar, optional
        An element that starts every reduction, and the value of empty segments.
    fill_value : scalar, optional
        The value of empty segments. By default the op's identity; NaN (NaT) for mean,
        var, std, median, quantile, and for first and last of floats, complex numbers
        and times, 0 otherwise; -1 for positions.
    where : array_like of bool, optional
        Which entries take part, in the shape of the entries, or in the shape of the
        values, element by element. Ids of the others are not looked at.
    skipna : bool, optional
        Leave out NaN and NaT, element by element.
    mode : {"raise", "drop", "clip", "wrap"}, optional
        What an id out of range does.
    return_arg : bool, optional
        Also return which entry was chosen, for min, max, fmin, fmax, first and last;
        -1 where none was, or `initial` was.
    return_counts : bool, optional
        Also return how many entries took part.
    assume_sorted : bool, optional
        A promise that ids never decrease; a break is a ValueError.
    dtype : dtype, optional
        Of the accumulator and of the result. By default as in `numpy.sum` for sums and
        products, float64 for means of integers, else that of `values`; float16 and
        bfloat16 are accumulated in float32, logsumexp of all of them in float64, with
        one rounding.
    compensated : bool, optional
        Neumaier sums, for add, mean, var and std.
    out : ndarray or tuple of ndarray, optional
        Receives the result, or the results; same-kind casting.

    Returns
    -------
    ndarray, or a tuple of out, arg and counts as asked
        The result has the shape of `values` with the axes of the entries replaced by
        ``num_segments``. `arg` is int64, along the axis (entry numbers with `gather`
        or ids of several axes). `counts` is int64 of shape ``(num_segments,)``, after
        the batch axes; of the result's shape with `skipna`, or where `where` works
        element by element.

    Raises
    ------
    IndexError
        An id is out of range under mode="raise", or `gather` is; `out` is untouched.
    ValueError
        Shapes that do not fit; offsets, lengths, starts or stops that are no ranges;
        ids that are not sorted as promised; a number of segments that is negative, or
        that one large id alone would ask for; an unknown op or mode; an `out` of
        another shape, read-only, or whose elements share memory.
    TypeError
        Not exactly one way of saying segments; ids that are not integers; a dtype or
        an option that the op does not have; a masked array; a cast not of one kind.
    OverflowError
        `initial` or `fill_value` does not fit the dtype.
    numpy.exceptions.AxisError
        `axis` is out of bounds.

    Notes
    -----
    *Order and duplicates*: by ids, each segment adds from first to last, with the bits
    of `scatter` into zeros. By ranges, rows of one element are summed in blocks of
    4,096 entries from the segment's start, each in 16 lanes that are added by halves;
    wider rows from first to last. ``w x`` is rounded before it is added, `initial`
    enters first, entries left out keep their lane and change no bit.

    *Determinism*: the same bits for any number of threads and any CPU level. The first
    wins ties and the first NaN wins, in min and max, over numbers; fmin and fmax give
    NaN where all are; -0.0 is less than +0.0; integers wrap. Medians are those of
    `numpy.median`, without its overflow; quantiles interpolate linearly as
    `numpy.quantile`, but between equal infinities there is no NaN. Exponentials and
    logarithms are the library's own, so that not even NumPy's choice of code for the
    CPU shows.

    *Derivatives*: of floats with respect to `values`, by `vjp` and `jvp`, for one op
    that is no count, place, any or all: those that are chosen, or equal the order
    statistic, share; products are exact for zeros; a standard deviation of 0 has 0.
    Weights are constants. Linear for add and mean.

    *Cost*: one pass for the common ops; median and quantile copy the values once and
    select, without a sort.

    See Also
    --------
    segment_sum, segment_mean, segment_softmax, segment_scan, segment_expand, scatter
    numpy.add.reduceat, numpy.bincount, torch.segment_reduce, jax.ops.segment_sum,
    tf.math.unsorted_segment_sum, torch_scatter.segment_csr,
    numpy_groupies.aggregate, scipy.ndimage.sum_labels

    Examples
    --------
    >>> import numpy as np
    >>> import pyscatter as ps
    >>> values = np.array([1.0, 2.0, 4.0, 8.0])
    >>> ps.segment_reduce(values, [0, 2, 0, 2], 4)
    array([ 5.,  0., 10.,  0.])
    >>> ps.segment_reduce(values, offsets=[0, 3, 3, 4], op="max", fill_value=0)
    array([4., 0., 8.])
    >>> ps.segment_reduce(values, starts=[0, 1], stops=[3, 4], op="mean")
    array([2.33333333, 4.66666667])
    >>> ps.segment_reduce(values, [0, 1, 0, 1], op=("min", "max"), return_arg=True)
    ((array([1., 2.]), array([4., 8.])), (array([0, 1]), array([2, 3])))
    """,
)

NAMED = "(values, ids=None, num_segments=None, **options)"

document(
    segment_sum,
    NAMED,
    """
    Add up each segment of an axis.

    <<reduction: name=add>>

    Examples
    --------
    >>> import pyscatter as ps
    >>> ps.segment_sum([1.0, 2.0, 4.0], [0, 2, 0])
    array([5., 0., 2.])
    """,
)

document(
    segment_mean,
    NAMED,
    """
    Average each segment of an axis; NaN where it is empty.

    <<reduction: name=mean>>

    Examples
    --------
    >>> import pyscatter as ps
    >>> ps.segment_mean([1.0, 2.0, 4.0], [0, 2, 0])
    array([2.5, nan, 2. ])
    """,
)

document(
    segment_min,
    NAMED,
    """
    Find the least element of each segment of an axis.

    <<reduction: name=min>>

    Examples
    --------
    >>> import pyscatter as ps
    >>> ps.segment_min([4.0, 2.0, 1.0], [0, 2, 0])
    array([ 1., inf,  2.])
    """,
)

document(
    segment_max,
    NAMED,
    """
    Find the greatest element of each segment of an axis.

    <<reduction: name=max>>

    Examples
    --------
    >>> import pyscatter as ps
    >>> ps.segment_max([4.0, 2.0, 1.0], [0, 2, 0], fill_value=0)
    array([4., 0., 2.])
    """,
)

document(
    segment_prod,
    NAMED,
    """
    Multiply the elements of each segment of an axis.

    <<reduction: name=mul>>

    Examples
    --------
    >>> import pyscatter as ps
    >>> ps.segment_prod([4.0, 2.0, 0.5], [0, 2, 0])
    array([2., 1., 2.])
    """,
)
