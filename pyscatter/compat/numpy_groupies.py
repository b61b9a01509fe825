"""`aggregate` with numpy-groupies' contract, worked by pyscatter's segment functions.

The rules of that library (version 0.16) hold in here, where they differ from those of
`segment_reduce`: the fill value of each function, its dtypes, its exceptions, its NaN
in argmin. Names and dtypes are in _groupies_names.py, the ways to label in
_groupies_input.py, the functions in _groupies_folds.py and _groupies_ordered.py.
"""

import numpy as np

from pyscatter.compat._groupies_folds import FOLDS
from pyscatter.compat._groupies_input import (
    NEGATIVE,
    TOO_LARGE,
    Labels,
    as_labels,
    check_ids,
    is_number,
)
from pyscatter.compat._groupies_names import (
    POSITIONS,
    canonical,
    check_fill,
    default_fill,
    plain_name,
    result_dtype,
    skips_nan,
)
from pyscatter.compat._groupies_ordered import ORDERED, call_groups

__all__ = ["aggregate"]


class _Default:
    """The request for the fill value of the function."""

    def __repr__(self):
        return "DEFAULT_FILL_VALUE"


DEFAULT_FILL_VALUE = _Default()
OF_NUMBERS = ("sum", "prod", "len")  # what has a meaning for one value for all
# Functions that leave NaN out by themselves; the others get the values without them.
SKIPPERS = (*POSITIONS, "cumsum", "cumprod", "cummax", "cummin")
# Functions whose first step looks at every id and refuses one that names no group.
CHECKERS = ("sum", "prod", "mean", "min", "max", "argmin", "argmax", "all", "any")


def aggregate(
    group_idx,
    a,
    func="sum",
    size=None,
    fill_value=DEFAULT_FILL_VALUE,
    order="C",
    dtype=None,
    axis=None,
    **kwargs,
):
    """Apply a function to each group of values that have the same label.

    Parameters
    ----------
    group_idx : array_like of integers
        The group of each value: (n,), or (d, n) for groups in d dimensions; with axis
        labels of that axis, or of every element.
    a : array_like or scalar
        The values, (n,); of any shape with axis. A scalar counts once for every label
        under "sum", "prod" and "len".
    func : str or callable, optional
        "sum", "prod", "mean", "var", "std", "min", "max", "argmin", "argmax", "first",
        "last", "len", "all", "any", "allnan", "anynan", "median", "quantile",
        "percentile", "nunique", "sumofsquares", "trapezoid", "skew", "kurt", "sort",
        "array", "cumsum", "cumprod", "cummax", "cummin", most of them also with "nan"
        in front to leave NaN out; an alias such as ``sum``, ``np.max`` or ``list``; or
        a function of one group's values.
    size : int or tuple of int, optional
        The number of groups, in each dimension; default: what the labels need.
    fill_value : scalar, optional
        What a group without values holds; by default what NumPy's function returns for
        nothing: 0 for sums and counts, 1 for products, -1 for positions, NaN for means
        and for floats otherwise.
    order : {"C", "F"}, optional
        Memory order of a result of several dimensions.
    dtype : dtype, optional
        Of the result.
    axis : int, optional
        The axis of a that the labels belong to.
    **kwargs
        ddof for var and std, q and method for quantile and percentile, dx for
        trapezoid, reverse for sort.

    Returns
    -------
    ndarray
        One value per group; under "sort" and the running forms one per value.

    Raises
    ------
    ValueError
        If labels are empty, negative, too large for size, or of another length than a;
        if the result cannot hold fill_value; if func is unknown.
    TypeError
        If labels are no integers; if dtype would lose the result.
    OverflowError
        If the mean or variance of whole numbers could not be exact.
    NotImplementedError
        If out= is given.

    Notes
    -----
    *Order and duplicates*: values of a group are taken in the order in which they come.
    *Determinism*: the bits do not depend on threads or CPU. *Derivatives*: none; use
    `pyscatter.segment_reduce`. *Cost*: "sum", "mean", "min", "max", "prod", "first",
    "last", "len" and the positions are one pass; "var" and "std" two; the others sort.

    See Also
    --------
    pyscatter.segment_reduce
    numpy_groupies.aggregate

    Examples
    --------
    >>> from pyscatter.compat.numpy_groupies import aggregate
    >>> aggregate([3, 0, 0, 1, 0], [1.0, 2, 3, 4, 5], func="mean")
    array([3.33333333, 4.        ,        nan, 1.        ])
    >>> aggregate([3, 0, 0, 1, 0], [1, 2, 3, 4, 5], func="max", fill_value=-1)
    array([ 5,  4, -1,  1])
    """
    if kwargs.pop("out", None) is not None:
        raise NotImplementedError("out= is not supported")
    name = canonical(func)
    labels = as_labels(group_idx, a, size, order, axis, name)
    try:
        ret = _by_name(labels, name, fill_value, dtype, kwargs)
    except IndexError:
        raise _about_ids(labels) from None
    if labels.shape is None:
        return ret
    return _shaped(ret, labels.shape, order, name)


def _about_ids(labels):
    """Return the exception for ids that name no group."""
    if np.min(labels.ids) < 0:
        return ValueError(NEGATIVE)
    return ValueError(TOO_LARGE.format(labels.size))


def _by_name(labels, name, fill, dtype, kwargs):
    """Return the line of results, after everything about the call is checked."""
    ids, values, size = labels[:3]
    if not isinstance(name, str):
        return _by_callable(labels, name, fill, dtype)
    plain = plain_name(name)
    if is_number(values):
        if name not in OF_NUMBERS:
            raise ValueError(
                "scalar inputs are supported only for 'sum', 'prod' and 'len'"
            )
        given = np.asarray(values).dtype
    else:
        given = values.dtype
        if skips_nan(name):
            labels, kwargs = _without_nan(labels, plain, kwargs)
            ids, values, size = labels[:3]
    if is_number(values) or plain not in CHECKERS or given.kind == "c":
        size = check_ids(ids, size)
    elif size is None:
        size = int(ids.max()) + 1 if ids.size else 0
    dtype = result_dtype(name, given, dtype, ids.size)
    if _is_default(fill):
        fill = default_fill(name, dtype)
    else:
        check_fill(name, fill, dtype)
    function = FOLDS[plain] if plain in FOLDS else ORDERED[plain]
    ret = function(ids, values, size, fill, dtype, **kwargs)
    return _positions(ret, labels.along, fill, dtype) if plain in POSITIONS else ret


def _is_default(fill):
    """Is it the request for a default, ours or that of numpy-groupies?"""
    return (
        repr(fill) == "DEFAULT_FILL_VALUE" if type(fill) not in (int, float) else False
    )


def _by_callable(labels, function, fill, dtype):
    """Apply a function of the caller's own."""
    size = check_ids(labels.ids, labels.size)
    values = np.asarray(labels.values)
    if values.ndim == 0:
        values = np.broadcast_to(values, labels.ids.shape)
    kind = np.dtype(dtype) if dtype is not None else values.dtype
    if _is_default(fill):
        fill = default_fill("mean", kind)
    elif fill is None:
        check_fill("", fill, kind)
    return call_groups(function, labels.ids, values, size, fill, dtype)


def _without_nan(labels, plain, kwargs):
    """Leave NaN out, or have the function do it."""
    if plain in SKIPPERS:
        return labels, {**kwargs, "skip": True}
    ids, values, size = labels[:3]
    if values.dtype.kind not in "fc":
        return labels, kwargs
    size = check_ids(ids, size)
    good = ~np.isnan(values)
    if good.all():
        return labels, kwargs
    return Labels(ids[good], values[good], size, *labels[3:]), kwargs


def _positions(ret, along, fill, dtype):
    """Return positions along the axis, and the fill value where there is none."""
    missing = ret < 0
    if along is not None:
        shape, axis = along
        ret = np.unravel_index(np.where(missing, 0, ret), shape)[axis]
    if along is not None or fill != -1:
        ret = np.where(missing, fill, ret)
    return ret.astype(dtype, copy=False)


def _shaped(ret, shape, order, name):
    """Return a line of results in the shape of the groups, or of the values."""
    total = int(np.prod(shape))
    if ret.size != total:
        name = getattr(name, "__name__", name)
        raise ValueError(
            f"'{name}' gives one value per input item and cannot fill the "
            f"{total - ret.size} absent group entries of size {shape}"
        )
    return ret.reshape(shape, order=order)
