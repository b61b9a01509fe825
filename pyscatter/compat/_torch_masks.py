"""torch's masked_fill_, masked_scatter_ and masked_select, where and nonzero.

torch's masks broadcast as NumPy's arrays do, from the last axis; pyscatter's cover the
first axes. So a mask is broadcast to the array here, which costs no memory.
"""

import numpy as np

import pyscatter as ps
from pyscatter.compat._torch_twins import in_place, pair


def _cover(input, mask):
    """Return a mask in the shape of an array."""
    mask = np.asarray(mask)
    if mask.dtype != bool:
        raise TypeError(f"mask has dtype {mask.dtype}; expected bool")
    try:
        return np.broadcast_to(mask, input.shape)
    except ValueError:
        raise ValueError(
            f"mask has shape {mask.shape}; expected to broadcast to {input.shape} = "
            "input.shape"
        ) from None


def _number(value):
    """Return a fill value, which is one number."""
    if np.ndim(value):
        raise ValueError(f"value has shape {np.shape(value)}; expected a number")
    return value


def _masked_scatter(input, mask, source):
    """Write the values of a line to where a mask is true.

    mask : array_like of bool
        Broadcasts to `input`.
    source : array_like
        Its values are taken in C order; those that are not needed are left.
    """
    mask, line = _cover(input, mask), np.asarray(source).reshape(-1)
    needed = ps.count_nonzero(mask)
    if line.size < needed:
        raise ValueError(f"source has {line.size} values; the mask needs {needed}")
    ps.scatter_where(input, mask, line[:needed], packed=True, out=input)


masked_scatter, masked_scatter_ = pair(
    _masked_scatter,
    call="[True, False, True], [10.0, 20.0, 30.0, 40.0]",
    shown="array([[10.,  2., 20.],\n       [30.,  5., 40.]])",
    twin="pyscatter.scatter_where",
    index_error="Never.",
    value_error="; too few values",
    type_error="The mask is not boolean, or values do not fit the dtype.",
    order="values come in C order of the mask.",
)


def masked_fill_(input, mask, value):
    """Write one number to where a mask is true, in place.

    Parameters
    ----------
    input : ndarray
        The target.
    mask : array_like of bool
        Broadcasts to `input`.
    value : scalar
        A number or a 0-d array.

    Returns
    -------
    ndarray
        `input`.

    Raises
    ------
    ValueError
        The mask does not broadcast; `value` is no number; the target is read-only.
    TypeError
        The mask is not boolean, or the number does not fit the dtype.

    Notes
    -----
    *Order and duplicates*: none. *Determinism*: exact. *Derivatives*: none, as for
    every update in place. *Cost*: one pass over the mask.

    See Also
    --------
    pyscatter.scatter_where
    torch.Tensor.masked_fill_

    Examples
    --------
    >>> import numpy as np
    >>> from pyscatter.compat.torch import masked_fill_
    >>> masked_fill_(np.zeros((2, 3)), [True, False, True], 5)
    array([[5., 0., 5.],
           [5., 0., 5.]])
    """
    mask = _cover(in_place(input, "masked_fill"), mask)
    return ps.scatter_where(input, mask, _number(value), out=input)


def masked_fill(input, mask, value):
    """Write one number to where a mask is true, in a copy.

    Parameters
    ----------
    input : array_like
        What is copied; it broadcasts with the mask.
    mask : array_like of bool
        Broadcasts with `input`.
    value : scalar
        A number or a 0-d array.

    Returns
    -------
    ndarray
        Of the common shape.

    Raises
    ------
    ValueError
        The shapes do not broadcast; `value` is no number.
    TypeError
        The mask is not boolean, or the number does not fit the dtype.

    Notes
    -----
    *Order and duplicates*: none. *Determinism*: exact. *Derivatives*: those of
    `pyscatter.scatter_where`. *Cost*: a copy, and one pass over the mask.

    See Also
    --------
    pyscatter.scatter_where
    torch.masked_fill

    Examples
    --------
    >>> from pyscatter.compat.torch import masked_fill
    >>> masked_fill([1.0, 2.0], [[True, False], [False, False]], 5)
    array([[5., 2.],
           [1., 2.]])
    """
    input, mask = np.broadcast_arrays(np.asarray(input), np.asarray(mask))
    return ps.scatter_where(input, _cover(input, mask), _number(value))


def masked_select(input, mask):
    """Take the elements where a mask is true.

    Parameters
    ----------
    input : array_like
        The source; it broadcasts with the mask.
    mask : array_like of bool
        Broadcasts with `input`.

    Returns
    -------
    ndarray
        (count,), in C order.

    Raises
    ------
    ValueError
        The shapes do not broadcast.
    TypeError
        The mask is not boolean.

    Notes
    -----
    *Order and duplicates*: C order. *Determinism*: a copy. *Derivatives*: those of
    `pyscatter.gather_where`. *Cost*: one pass over the mask and one over the result.

    See Also
    --------
    pyscatter.gather_where
    torch.masked_select

    Examples
    --------
    >>> from pyscatter.compat.torch import masked_select
    >>> masked_select([[1.0, 2.0], [3.0, 4.0]], [True, False])
    array([1., 3.])
    """
    input, mask = np.broadcast_arrays(np.asarray(input), np.asarray(mask))
    return ps.gather_where(input, _cover(input, mask))


def where(condition, input=None, other=None):
    """Choose between two arrays, or list the places where a condition holds.

    Parameters
    ----------
    condition : array_like of bool
        True chooses `input`.
    input, other : array_like, optional
        Both or none of them; they broadcast with `condition`.

    Returns
    -------
    ndarray or tuple of ndarray
        The chosen values; without `input` and `other` as `nonzero` with as_tuple.

    Raises
    ------
    ValueError
        Only one of both is given, or shapes do not broadcast.
    TypeError
        The condition is not boolean although there is something to choose.

    Notes
    -----
    *Order and duplicates*: places come in C order. *Determinism*: exact. *Derivatives*:
    those of `pyscatter.where`. *Cost*: one pass.

    See Also
    --------
    pyscatter.where
    torch.where

    Examples
    --------
    >>> from pyscatter.compat.torch import where
    >>> where([True, False, True], [1.0, 2.0, 3.0], 0.0)
    array([1., 0., 3.])
    """
    if (input is None) != (other is None):
        raise ValueError("input and other are given both or not at all")
    if input is None:
        return nonzero(condition, as_tuple=True)
    condition = np.asarray(condition)
    if condition.dtype != bool:
        raise TypeError(f"condition has dtype {condition.dtype}; expected bool")
    return ps.where(condition, input, other)


def nonzero(input, *, as_tuple=False):
    """List the places of what is not zero.

    Parameters
    ----------
    input : array_like
        Numbers or bools.
    as_tuple : bool, optional
        Return one array for each axis, as NumPy does.

    Returns
    -------
    ndarray or tuple of ndarray
        int64 (count, input.ndim), or a tuple of int64 (count,).

    Raises
    ------
    TypeError
        `input` is a masked array.

    Notes
    -----
    *Order and duplicates*: C order. *Determinism*: exact. *Derivatives*: none. *Cost*:
    one pass to count and one to write.

    See Also
    --------
    pyscatter.nonzero, pyscatter.argwhere
    torch.nonzero

    Examples
    --------
    >>> from pyscatter.compat.torch import nonzero
    >>> nonzero([[0.0, 2.0], [3.0, 0.0]])
    array([[0, 1],
           [1, 0]])
    """
    if not as_tuple:
        return ps.argwhere(input).astype(np.int64, copy=False)
    places = ps.nonzero(np.atleast_1d(input))
    return tuple(place.astype(np.int64, copy=False) for place in places)
