"""The nonzero family: the places of true elements, and how many there are.

A number is true unless it is zero: NaN and NaT are, -0.0 is not. The functions are C
functions; this module gives them their names and their text.
"""

from pyscatter._core import argwhere, count_nonzero, flatnonzero, nonzero
from pyscatter._docs import document

OPTIONS = "(a, *, size=None, fill_value=0)"

document(
    nonzero,
    OPTIONS,
    """
    Find the places of true elements, one array of coordinates for each axis.

    Parameters
    ----------
    <<condition>>
    <<places_size>>

    Returns
    -------
    tuple of ndarray of intp
        For each axis of `a` a contiguous array of coordinates, in C order of the
        places; together an index, as in ``a[nonzero(a)]``.

    Raises
    ------
    ValueError
        `a` has no axes, or `size` is negative.
    <<places_raises>>

    <<places_notes>>

    See Also
    --------
    flatnonzero, argwhere, count_nonzero, gather_at
    numpy.nonzero, torch.nonzero with as_tuple=True, jax.numpy.nonzero

    Examples
    --------
    >>> import numpy as np
    >>> import pyscatter as ps
    >>> a = np.array([[3, 0, 0], [0, -1, 2]])
    >>> ps.nonzero(a)
    (array([0, 1, 1]), array([0, 1, 2]))
    >>> a[ps.nonzero(a)]
    array([ 3, -1,  2])
    """,
)

document(
    flatnonzero,
    OPTIONS,
    """
    Find the numbers of true elements in the flattened array.

    Parameters
    ----------
    <<condition>>
    <<places_size>>

    Returns
    -------
    ndarray of intp, shape (count,) or (size,)
        The numbers in C order, ascending.

    Raises
    ------
    ValueError
        `size` is negative.
    <<places_raises>>

    <<places_notes>>

    See Also
    --------
    nonzero, argwhere, count_nonzero, gather
    numpy.flatnonzero, torch.nonzero, jax.numpy.flatnonzero

    Examples
    --------
    >>> import numpy as np
    >>> import pyscatter as ps
    >>> ps.flatnonzero([0.0, np.nan, -0.0, 4.0])
    array([1, 3])
    >>> ps.flatnonzero([True, False, True], size=4, fill_value=-1)
    array([ 0,  2, -1, -1])
    """,
)

document(
    argwhere,
    OPTIONS,
    """
    Find the places of true elements, one row of coordinates for each.

    Parameters
    ----------
    <<condition>>
    <<places_size>>

    Returns
    -------
    ndarray of intp, shape (count, a.ndim) or (size, a.ndim)
        The places in C order; the `indices` of `gather_nd` and `scatter_nd`.

    Raises
    ------
    ValueError
        `size` is negative.
    <<places_raises>>

    <<places_notes>>

    See Also
    --------
    nonzero, flatnonzero, gather_nd, scatter_nd
    numpy.argwhere, torch.nonzero, tf.where, jax.numpy.argwhere, onnx NonZero

    Examples
    --------
    >>> import numpy as np
    >>> import pyscatter as ps
    >>> a = np.array([[3, 0, 0], [0, -1, 2]])
    >>> ps.argwhere(a)
    array([[0, 0],
           [1, 1],
           [1, 2]])
    >>> ps.gather_nd(a, ps.argwhere(a))
    array([ 3, -1,  2])
    """,
)

document(
    count_nonzero,
    "(a, axis=None, *, keepdims=False)",
    """
    Count the true elements along some axes, or all of them.

    Parameters
    ----------
    <<condition>>
    axis : int or tuple of int, optional
        Axes to count along. By default all.
    keepdims : bool, optional
        Keep these axes in the result, with length 1.

    Returns
    -------
    int or ndarray of intp
        An int by default; with `axis` or `keepdims` an array of counts.

    Raises
    ------
    ValueError
        An axis is named twice.
    TypeError
        A masked array, StringDType, or an axis that is not an integer.
    numpy.exceptions.AxisError
        `axis` is out of bounds.

    Notes
    -----
    *Order and duplicates*: none; a count does not depend on any order.

    *Determinism*: the same for any number of threads and any CPU level.

    *Derivatives*: none; counts are integers.

    *Cost*: one read of `a`, whatever its layout, with no copy of it.

    See Also
    --------
    nonzero, flatnonzero
    numpy.count_nonzero, torch.count_nonzero, tf.math.count_nonzero,
    jax.numpy.count_nonzero

    Examples
    --------
    >>> import numpy as np
    >>> import pyscatter as ps
    >>> a = np.array([[3, 0, 0], [0, -1, 2]])
    >>> ps.count_nonzero(a)
    3
    >>> ps.count_nonzero(a, axis=1)
    array([1, 2])
    """,
)
