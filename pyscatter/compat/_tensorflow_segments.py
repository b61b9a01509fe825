"""TensorFlow's segment functions: sorted ids, and ids in any order.

Both are `pyscatter.segment_reduce`; what differs is TensorFlow's: sums keep the dtype
of the data, empty groups of sorted ids are 0 under every op but "prod", those of
unsorted ids hold the least or the largest finite number under "max" and "min", and a
negative unsorted id drops its entry.
"""

import numpy as np

import pyscatter as ps

DOC = """{first}

    Parameters
    ----------
    data : array_like
        Numbers; {data}.
    segment_ids : array_like of integers
        {ids}
{more}
    Returns
    -------
    ndarray
        {returns}

    Raises
    ------
    IndexError
        {index_error}
    ValueError
        {value_error}
    TypeError
        Ids are no integers; data are bools, which have no sum in TensorFlow.

    Notes
    -----
    *Order and duplicates*: the entries of a segment are taken in the order in which
    they come. *Determinism*: the bits depend neither on threads nor on the CPU.
    *Derivatives*: those of `pyscatter.segment_reduce`. *Cost*: one pass over the data.

    See Also
    --------
    pyscatter.segment_reduce
    tf.math.{name}

    Examples
    --------
    >>> from pyscatter.compat.tensorflow import {name}
    >>> {call}
    {shown}
"""
SORTED = {
    "data": "the segments lie along axis 0",
    "ids": "(n,) with ``n = data.shape[0]``: not negative, in rising order.",
    "more": "",
    "returns": "``(last id + 1,) + data.shape[1:]``.\n"
    "        Empty segments are {empty}.",
    "index_error": "An id is negative.",
    "value_error": "Ids are not sorted, or are not (n,).",
}
UNSORTED = {
    "data": "the ids cover its first axes",
    "ids": "``data.shape[:segment_ids.ndim]``; a negative id drops its entry.",
    "more": "    num_segments : int\n        The length of the result's axis 0.\n",
    "returns": "``(num_segments,) + data.shape[segment_ids.ndim:]``.\n"
    "        Empty segments are {empty}.",
    "index_error": "An id is num_segments or more.",
    "value_error": "Ids do not have the shape of the first axes of data.",
}


def _checked(data, segment_ids):
    """Return both arguments as arrays; refuse bools."""
    data, ids = np.asarray(data), np.asarray(segment_ids)
    if data.dtype == bool:
        raise TypeError("data has dtype bool; TensorFlow's segments want numbers")
    if ids.size == 0 and ids.dtype.kind == "f":
        ids = ids.astype(np.intp)
    return data, ids


def _sorted(data, segment_ids, op, fill):
    """Reduce segments whose ids rise, as tf.math.segment_* does."""
    data, ids = _checked(data, segment_ids)
    if ids.ndim != 1 or ids.shape != data.shape[:1]:
        raise ValueError(
            f"segment_ids has shape {ids.shape}; expected {data.shape[:1]}, axis 0 of "
            f"data {data.shape}"
        )
    if ids.size and ids[0] < 0:
        raise IndexError(f"segment id {ids[0]} is negative (position 0)")
    whole_mean = op == "mean" and data.dtype.kind in "iu"
    ret = ps.segment_reduce(
        data,
        ids,
        op="add" if whole_mean else op,
        dtype=data.dtype if op != "mean" or whole_mean else None,
        fill_value=fill,
        assume_sorted=True,
        return_counts=whole_mean,
    )
    return _divided(*ret) if whole_mean else ret


def _divided(sums, counts):
    """Divide whole sums by counts, towards zero."""
    counts = np.maximum(counts, 1).astype(sums.dtype)
    counts = counts.reshape(counts.shape + (1,) * (sums.ndim - counts.ndim))
    return sums // counts + ((sums < 0) & (sums % counts != 0))


def _unsorted(data, segment_ids, num_segments, op, fill):
    """Reduce segments whose ids come in any order, as tf.math.unsorted_segment_*."""
    data, ids = _checked(data, segment_ids)
    return ps.segment_reduce(
        data,
        ids,
        num_segments,
        op=op,
        dtype=None if op == "mean" else data.dtype,
        fill_value=fill(data.dtype) if callable(fill) else fill,
        where=ids >= 0 if ids.dtype.kind == "i" else None,
        return_counts=op == "mean",
    )


def _lowest(dtype):
    """Return the least finite number of a type."""
    return -_largest(dtype) if dtype.kind in "fV" else np.iinfo(dtype).min


def _largest(dtype):
    """Return the largest finite number of a type."""
    if dtype.kind in "iu":
        return np.iinfo(dtype).max
    if dtype.kind == "f" and dtype.name != "bfloat16":
        return np.finfo(dtype).max
    return float(np.array(0x7F7F, np.uint16).view(dtype))  # bfloat16's bits


def _of_sorted(op, first, shown, fill=0):
    """Make one of the functions of sorted ids."""
    name = f"segment_{'sum' if op == 'add' else 'prod' if op == 'mul' else op}"

    def function(data, segment_ids):
        return _sorted(data, segment_ids, op, fill)

    text = {**SORTED, "returns": SORTED["returns"].format(empty=fill)}
    call = f"{name}([1.0, 2.0, 4.0], [0, 0, 2])"
    function.__doc__ = DOC.format(
        first=first, name=name, call=call, shown=shown, **text
    )
    function.__name__ = function.__qualname__ = name
    return function


def _of_unsorted(op, first, shown, fill, empty):
    """Make one of the functions of ids in any order."""
    name = f"unsorted_segment_{'sum' if op == 'add' else 'prod' if op == 'mul' else op}"

    def function(data, segment_ids, num_segments):
        ret = _unsorted(data, segment_ids, num_segments, op, fill)
        return ret[0] if op == "mean" else ret

    _name_unsorted(function, name, first, shown, empty)
    return function


def _name_unsorted(function, name, first, shown, empty):
    """Give a function of unsorted ids its name and text."""
    text = {**UNSORTED, "returns": UNSORTED["returns"].format(empty=empty)}
    call = f"{name}([1.0, 2.0, 4.0, 8.0], [1, 0, 1, -1], 3)"
    function.__doc__ = DOC.format(
        first=first, name=name, call=call, shown=shown, **text
    )
    function.__name__ = function.__qualname__ = name


def unsorted_segment_sqrt_n(data, segment_ids, num_segments):
    data, ids = _checked(data, segment_ids)
    sums, counts = ps.segment_reduce(
        data,
        ids,
        num_segments,
        dtype=data.dtype,
        where=ids >= 0 if ids.dtype.kind == "i" else None,
        return_counts=True,
    )
    roots = np.sqrt(np.maximum(counts, 1))
    roots = roots.reshape(roots.shape + (1,) * (sums.ndim - roots.ndim))
    if sums.dtype.kind in "iu":
        return sums / roots
    return (sums / roots.astype(sums.real.dtype)).astype(sums.dtype, copy=False)


segment_sum = _of_sorted("add", "Sum sorted segments.", "array([3., 0., 4.])")
segment_mean = _of_sorted(
    "mean",
    "Average sorted segments; the means of integers are cut towards zero.",
    "array([1.5, 0. , 4. ])",
)
segment_min = _of_sorted(
    "min", "Take minima of sorted segments.", "array([1., 0., 4.])"
)
segment_max = _of_sorted(
    "max", "Take maxima of sorted segments.", "array([2., 0., 4.])"
)
segment_prod = _of_sorted("mul", "Multiply sorted segments.", "array([2., 1., 4.])", 1)
unsorted_segment_sum = _of_unsorted(
    "add", "Sum segments.", "array([2., 5., 0.])", None, "0"
)
unsorted_segment_mean = _of_unsorted(
    "mean",
    "Average segments; the means of integers are float64.",
    "array([2. , 2.5, 0. ])",
    0,
    "0",
)
unsorted_segment_min = _of_unsorted(
    "min",
    "Take minima of segments.",
    "array([2.00000000e+000, 1.00000000e+000, 1.79769313e+308])",
    _largest,
    "the largest finite number",
)
unsorted_segment_max = _of_unsorted(
    "max",
    "Take maxima of segments.",
    "array([ 2.00000000e+000,  4.00000000e+000, -1.79769313e+308])",
    _lowest,
    "the least finite number",
)
unsorted_segment_prod = _of_unsorted(
    "mul", "Multiply segments.", "array([2., 4., 1.])", None, "1"
)
_name_unsorted(
    unsorted_segment_sqrt_n,
    "unsorted_segment_sqrt_n",
    "Sum segments and divide by the root of their length.",
    "array([2.        , 3.53553391, 0.        ])",
    "0",
)
