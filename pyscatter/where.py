"""The where family: a choice between two arrays, and updates and rows under a mask.

`where`, `scatter_where` and `gather_where` are C functions; this module gives them
their names and their text. `apply_where` is composed of them.
"""

import numpy as np

from pyscatter._core import gather_where, scatter_where, where
from pyscatter._docs import document
from pyscatter._masks import promoted, spread
from pyscatter._values import WEAK_TYPES, as_plain

document(
    where,
    "(condition, x, y, *, out=None, dtype=None, casting='same_kind')",
    """
    Take elements of x where a condition is true, and of y elsewhere.

    Parameters
    ----------
    condition : array_like
        Of any dtype: true is what is not zero; NaN is true, -0.0 is not.
    x : array_like
        Broadcasts against `condition` and `y`. A Python number is weak: it takes the
        result's dtype, and warns as NumPy's casts do where it is selected and
        overflows. Lists are arrays.
    y : array_like
        As `x`.
    out : ndarray, optional
        Receives the result; of exactly its shape. May be `x` or `y`.
    dtype : dtype, optional
        The result's dtype. By default that of `out`, else what x and y promote to.
    casting : str, optional
        As in `numpy.copyto`: whether x and y may be cast to the result's dtype.

    Returns
    -------
    ndarray
        `out`, or a new native C-ordered array of the common shape.

    Raises
    ------
    ValueError
        Shapes that do not broadcast; an `out` of another shape, read-only, or whose
        elements share memory; an unknown casting.
    TypeError
        A cast that the rule refuses, dtypes without a common one, a masked array.
    OverflowError
        A Python integer does not fit the result's dtype.

    Notes
    -----
    *Order and duplicates*: each element of the result is one element of x or y.

    *Determinism*: every bit is moved as it is, NaN payloads included; bools come out as
    0 or 1, foreign byte orders native. A conversion warns as NumPy's does, for selected
    elements alone.

    *Derivatives*: linear in x and y; the gradient of what is not selected is exactly 0.

    *Cost*: one pass over condition, x, y and the result; nothing of full size is made
    for what is broadcast or cast.

    See Also
    --------
    scatter_where, apply_where
    numpy.where, torch.where, tf.where, jax.numpy.where, onnx Where

    Examples
    --------
    >>> import numpy as np
    >>> import pyscatter as ps
    >>> x = np.array([1.0, 5.0, 2.0])
    >>> ps.where(x < 3.0, 0.0, x)
    array([0., 5., 0.])
    >>> ps.where([[True], [False]], [1, 2], 7)
    array([[1, 2],
           [7, 7]])
    """,
)

document(
    scatter_where,
    "(a, mask, values, *, op='set', packed=False, casting='same_kind', out=None)",
    """
    Combine values with the elements of an array where a mask is true.

    Parameters
    ----------
    a : array_like
        The target, of any dtype and layout.
    <<mask>>
    values : array_like
        Broadcasts to ``a.shape``. Python numbers and lists of them are weak: they take
        a's dtype.
    <<op>>
    packed : bool, optional
        True: values come in the order of the trues, one for each; their shape is
        ``(count,) + a.shape[mask.ndim:]``, or they are a scalar.
    casting : str, optional
        As in `numpy.copyto`: whether `values` may be cast to the target's dtype.
    out : ndarray, optional
        Absent: the result is a new array. ``out=a``, or another view of
        the same elements: they are updated in place. Any other array of a's shape
        receives the result.

    <<scatter_returns>>

    Raises
    ------
    ValueError
        Shapes do not fit, or the number of packed values; an unknown op or casting; a
        target that is read-only or whose elements share memory.
    TypeError
        A mask that is not of bools; values or a dtype that the op or the casting rule
        refuses; a masked array.
    OverflowError
        A Python integer in `values` does not fit the target's dtype.

    Notes
    -----
    *Order and duplicates*: a mask names each element once; "first" is "set", and "mean"
    is the mean of the old value and the new one.

    *Determinism*: the same bits for any number of threads and any CPU level. What the
    mask leaves out is neither read nor written nor cast: it cannot warn, fault, or
    collide with another thread.

    *Derivatives*: of floats with respect to `a` and `values`, by `vjp` and `jvp`; what
    the mask leaves out has exactly 0. Linear for set, add, sub and mean.

    *Cost*: one pass over the mask and over the selected values and elements. Stretches
    of 64 that are not selected cost next to nothing.

    See Also
    --------
    where, gather_where, scatter_at
    numpy.putmask, numpy.place, numpy.copyto, torch.Tensor.masked_fill_,
    torch.Tensor.masked_scatter_

    Examples
    --------
    >>> import numpy as np
    >>> import pyscatter as ps
    >>> x, y = np.array([1.0, 2.0, 3.0]), np.array([0.5, 2.0, 4.0])
    >>> ps.scatter_where(x, y > 1.0, y, op="mul")
    array([ 1.,  4., 12.])
    >>> ps.scatter_where(x, [True, False, True], [10.0, 30.0], packed=True, out=x)
    array([10.,  2., 30.])
    """,
)

document(
    gather_where,
    "(a, mask, axis=None, *, out=None)",
    """
    Take the elements, or the rows, of an array where a mask is true.

    Parameters
    ----------
    a : array_like
        The source, of any dtype and layout.
    <<mask>>
    axis : int, optional
        The mask is one-dimensional and says which entries of this axis to keep.
    out : ndarray, optional
        Receives the result; of exactly its shape, and of a dtype to which that of `a`
        may be cast under "same_kind". An error leaves it as it was.

    Returns
    -------
    ndarray
        `out`, or a new native C-ordered array, of shape
        ``(count,) + a.shape[mask.ndim:]``, in C order of the mask; with `axis` as `a`
        but for the length of that axis.

    Raises
    ------
    ValueError
        The shape of the mask does not fit; an `out` of another shape, read-only, or
        whose elements share memory.
    TypeError
        A mask that is not of bools, a masked array, or an `out` of a dtype that the
        elements cannot be cast to.
    numpy.exceptions.AxisError
        `axis` is out of bounds.
    RuntimeError
        Another thread changed the mask during the call.

    Notes
    -----
    *Order and duplicates*: each selected element once, in C order.

    *Determinism*: every bit is moved as it is, NaN payloads included; bools come out as
    0 or 1, foreign byte orders native. What the mask leaves out is not read.

    *Derivatives*: linear in `a`; the transpose is `scatter_where` into zeros with
    ``packed=True``.

    *Cost*: one pass that counts the trues and one that moves what they select; the
    result is allocated once.

    See Also
    --------
    scatter_where, flatnonzero, gather
    numpy.compress, numpy.extract, torch.masked_select, tf.boolean_mask, onnx Compress

    Examples
    --------
    >>> import numpy as np
    >>> import pyscatter as ps
    >>> a = np.array([[1, 2], [3, 4], [5, 6]])
    >>> ps.gather_where(a, a > 2)
    array([3, 4, 5, 6])
    >>> ps.gather_where(a, [True, False, True])
    array([[1, 2],
           [5, 6]])
    >>> ps.gather_where(a, [False, True], axis=1)
    array([[2],
           [4],
           [6]])
    """,
)


def _check_choice(f1, f2, fill_value, derivative):
    if (f2 is None) == (fill_value is None):
        raise TypeError("apply_where() takes exactly one of f2 and fill_value")
    if not callable(f1):
        raise TypeError(f"f1 must be callable, got {f1!r}")
    for name, function in (("f2", f2), ("derivative", derivative)):
        if function is not None and not callable(function):
            raise TypeError(f"{name} must be callable or None, got {function!r}")


def _call(name, function, arrays, mask):
    """Return what a function makes of selected elements: one for each, or a scalar."""
    packed = [gather_where(array, mask) for array in arrays]
    result = np.asarray(function(*packed))
    count = int(np.count_nonzero(mask))
    if result.shape not in ((), (count,)):
        raise ValueError(
            f"{name} returned shape {result.shape}; expected ({count},), one for each "
            "of its elements, or a scalar"
        )
    return result


def _blank(shape, dtype):
    """An array whose elements will all be written; zero between fields of records."""
    return np.empty(shape, dtype) if dtype.names is None else np.zeros(shape, dtype)


def apply_where(cond, args, f1, f2=None, *, fill_value=None, derivative=None):
    """
    Call a function on selected elements alone, and another one on the others.

    No value of an element that is not selected reaches `f1`, so that no NaN, no warning
    and no infinite derivative can leak from there.

    Parameters
    ----------
    cond : array_like
        Where to use `f1`; of any dtype, true is what is not zero.
    args : array_like or tuple of array_like
        Arguments; they broadcast against each other and against `cond`.
    f1 : callable
        Gets for each argument a one-dimensional array of its selected elements, and
        returns an array of that length, or a scalar.
    f2 : callable, optional
        The same for the elements that are not selected.
    fill_value : scalar or array_like, optional
        Instead of `f2`: what elements that are not selected get. Python numbers are
        weak; an array broadcasts against `cond`.
    derivative : callable, optional
        The elementwise derivative of `f1`, with its arguments, or a tuple of them, one
        for each argument; kept for automatic differentiation, not called here.

    Returns
    -------
    ndarray
        A new array of the common shape; its dtype is what both results promote to.

    Raises
    ------
    ValueError
        Shapes that do not broadcast; a function that returns another number of values.
    TypeError
        Both or none of `f2` and `fill_value`; a function that cannot be called; a
        masked array.

    Notes
    -----
    *Order and duplicates*: selected elements are packed in C order.

    *Determinism*: that of `f1` and `f2`; each is called once, even if nothing is
    selected.

    *Derivatives*: those of `f1`, which `derivative` tells, on the selected elements,
    exactly 0 elsewhere; `f2` has none. None of second order.

    *Cost*: a copy of the arguments, packed, beside what the functions cost.

    See Also
    --------
    where, gather_where
    array_api_extra.apply_where, jax.lax.select

    Examples
    --------
    >>> import numpy as np
    >>> import pyscatter as ps
    >>> x = np.array([1.0, 0.0, 4.0])
    >>> ps.apply_where(x != 0, (8.0, x), np.divide, fill_value=-1.0)
    array([ 8., -1.,  2.])
    """
    _check_choice(f1, f2, fill_value, derivative)
    args = args if isinstance(args, tuple) else (args,)
    condition = where(cond, True, False)
    arrays = [condition, *(as_plain(array, "args") for array in args)]
    fills = (
        [] if type(fill_value) in WEAK_TYPES else [as_plain(fill_value, "fill_value")]
    )
    if f2 is not None:
        fills = []
    shape = np.broadcast_shapes(*(array.shape for array in arrays + fills))
    mask, *arrays = (spread(array, shape or (1,)) for array in arrays)

    chosen = _call("f1", f1, arrays, mask)
    if f2 is None:
        other = fills[0] if fills else fill_value
        result = _blank(mask.shape, promoted(chosen, other))
        scatter_where(result, ~mask, other, out=result)
    else:
        other = _call("f2", f2, arrays, ~mask)
        result = _blank(mask.shape, promoted(chosen, other))
        scatter_where(result, ~mask, other, packed=True, out=result)
    scatter_where(result, mask, chosen, packed=True, out=result)
    return result.reshape(shape)
