"""The counting of numbers under NumPy's name, with more axes, dtypes and `out`.

A C function, to which this module gives its text.
"""

from pyscatter._core import bincount
from pyscatter._docs import document

document(
    bincount,
    "(x, weights=None, minlength=0, *, axis=None, where=None, dtype=None, out=None)",
    """
    Count how often each number occurs, or add up the weights of its occurrences.

    Parameters
    ----------
    x : array_like of int
        Numbers from 0, of any integer dtype; used without a cast.
    weights : array_like, optional
        One for each number, of any real or complex dtype; more axes behind those of x
        make each weight a row.
    minlength : int, optional
        The least length of the counted axis.
    axis : int, optional
        Count along this axis of x, for each place of the others. By default its only
        one.
    where : array_like of bool, optional
        Which numbers take part; broadcasts to the shape of x. The others are not
        looked at.
    dtype : dtype, optional
        Of the result. By default intp for counts, float64 for real weights and
        complex128 for complex ones. With `out`, of the accumulator.
    out : ndarray, optional
        Counts are added to what it holds.

    Returns
    -------
    ndarray
        `out`, or a new array: the shape of x with `axis` replaced by ``max(x) + 1``, or
        `minlength` where that is more, and the axes of a weight's row behind.

    Raises
    ------
    ValueError
        A negative number; a number so large that counts up to there were hardly meant;
        shapes that do not fit; `minlength` negative, or more than `out` has; an `out`
        that is read-only or whose elements share memory.
    IndexError
        `out` is too short for a number; it is untouched.
    TypeError
        x is not of integers; a masked array; a cast not of one kind.
    numpy.exceptions.AxisError
        `axis` is out of bounds.

    Notes
    -----
    *Order and duplicates*: weights of equal numbers add from first to last, starting at
    zero, or at what `out` holds; as `numpy.bincount` does.

    *Determinism*: the same bits for any number of threads and any CPU level.

    *Derivatives*: linear in `weights`.

    *Cost*: a pass for the largest number and one that counts.

    See Also
    --------
    segment_sum, scatter, add_at
    numpy.bincount, torch.bincount, jax.numpy.bincount, tf.math.bincount

    Examples
    --------
    >>> import numpy as np
    >>> import pyscatter as ps
    >>> ps.bincount([0, 3, 3])
    array([1, 0, 0, 2])
    >>> ps.bincount([[0, 1, 1], [2, 2, 2]], axis=1)
    array([[1, 2, 0],
           [0, 0, 3]])
    >>> ps.bincount([0, 1, 1], [[1.0, 0.5], [2.0, 0.5], [4.0, 0.5]])
    array([[1. , 0.5],
           [6. , 1. ]])
    """,
)
