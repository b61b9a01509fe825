"""Where and how far two arrays differ: numpy.testing's report, as numbers."""

import operator

import numpy as np

from pyscatter import _core

LINES = 3  # of an array in the report, as numpy.testing shows it


class Difference:
    """What `explain_diff` finds; its docstring lists the attributes."""

    __slots__ = (
        "atol",
        "indices",
        "max_abs",
        "max_rel",
        "n",
        "n_mismatch",
        "rtol",
        "_lines",
    )

    def __bool__(self):
        """Whether anything differs by more than the tolerance."""
        return self.n_mismatch > 0

    def __repr__(self):
        """Return the numbers on one line."""
        return (
            f"Difference(n_mismatch={self.n_mismatch} of {self.n}, "
            f"max_abs={self.max_abs:.6g}, max_rel={self.max_rel:.6g})"
        )

    def __str__(self):
        """Return the report, in numpy.testing's words."""
        return "\n".join(self._lines)


def explain_diff(actual, desired, rtol=1e-7, atol=0):
    """
    Find where and by how much two arrays differ, in one pass.

    Parameters
    ----------
    actual : array_like
        The array that was obtained: numbers or bools.
    desired : array_like
        The array that was expected, of the same shape; either may be a single number.
    rtol : float, optional
        Relative tolerance: elements may differ by ``atol + rtol * abs(desired)``.
    atol : float, optional
        Absolute tolerance.

    Returns
    -------
    Difference
        True where anything differs by more than the tolerance. `n` elements were
        compared, `n_mismatch` of them do not match; `indices` holds the first five, as
        tuples. `max_abs` and `max_rel` are the largest differences among them, absolute
        and relative to `desired`: 0.0 where all match, NaN where no difference is a
        number. ``str()`` is the report of numpy.testing.

    Raises
    ------
    ValueError
        Shapes differ, or a tolerance is negative or NaN.
    TypeError
        Objects, strings, records, times, masked arrays.

    Notes
    -----
    NaN matches NaN, and an infinity matches itself alone. Differences are taken in
    float64, of integers exactly; complex numbers are as far apart as in the plane.

    *Order and duplicates*: elements are compared in C order.

    *Determinism*: the same for any CPU level and layout.

    *Derivatives*: none.

    *Cost*: both arrays are read once, in their own layout and dtype; complex64 and
    longdouble beside other types are copied. No array of differences is made.

    See Also
    --------
    delta, Delta
    numpy.testing.assert_allclose, numpy.isclose, torch.testing.assert_close

    Examples
    --------
    >>> import numpy as np
    >>> import pyscatter as ps
    >>> found = ps.explain_diff([1.0, 2.0, 3.0], [1.0, 2.5, 3.0])
    >>> found.n_mismatch, found.max_abs, found.max_rel, found.indices
    (1, 0.5, 0.2, [(1,)])
    >>> print(found)
    Not equal to tolerance rtol=1e-07, atol=0
    <BLANKLINE>
    Mismatched elements: 1 / 3 (33.3%)
    Mismatch at index:
     [1]: 2.0 (ACTUAL), 2.5 (DESIRED)
    Max absolute difference among violations: 0.5
    Max relative difference among violations: 0.2
     ACTUAL: array([1., 2., 3.])
     DESIRED: array([1. , 2.5, 3. ])
    >>> bool(ps.explain_diff([1.0, np.nan], [1.0 + 1e-9, np.nan]))
    False
    """
    actual, desired = np.asanyarray(actual), np.asanyarray(desired)
    for name, tolerance in (("rtol", rtol), ("atol", atol)):
        if not tolerance >= 0:
            raise ValueError(f"{name} must not be negative, got {tolerance!r}")
    found = Difference()
    found.rtol, found.atol = rtol, atol
    found.n, found.n_mismatch, numbers, largest, relative = _core.explain(
        actual, desired, rtol, atol
    )
    shape = max(actual.shape, desired.shape, key=len)
    found.indices = [
        tuple(map(operator.index, np.unravel_index(number, shape)))
        for number in numbers
    ]
    none = np.nan if found.n_mismatch else 0.0
    found.max_abs = largest if largest >= 0 else none
    found.max_rel = relative if relative >= 0 else (np.inf if largest >= 0 else none)
    found._lines = list(lines_of(found, actual, desired))
    return found


def lines_of(found, actual, desired):
    """Yield the lines of the report."""
    tolerance = f"rtol={found.rtol:g}, atol={found.atol:g}"
    if not found:
        yield f"All {found.n} elements are equal to tolerance {tolerance}"
        return
    percent = 100 * found.n_mismatch / found.n
    yield f"Not equal to tolerance {tolerance}"
    yield ""
    yield f"Mismatched elements: {found.n_mismatch} / {found.n} ({percent:.3g}%)"
    shown = len(found.indices)
    if shown < found.n_mismatch:
        yield f"First {shown} mismatches are at indices:"
    else:
        yield f"Mismatch at {'index' if shown == 1 else 'indices'}:"
    for index in found.indices:
        one = actual[index if actual.ndim else ()]
        other = desired[index if desired.ndim else ()]
        yield f" {list(index)}: {one} (ACTUAL), {other} (DESIRED)"
    kinds = {actual.dtype.kind, desired.dtype.kind}
    if kinds != {"b"}:
        size = int(found.max_abs) if kinds <= set("iu") else np.float64(found.max_abs)
        largest = np.array2string(np.array(size))
        yield f"Max absolute difference among violations: {largest}"
        relative = np.array2string(np.array(found.max_rel))
        yield f"Max relative difference among violations: {relative}"
    for name, array in (("ACTUAL", actual), ("DESIRED", desired)):
        text = repr(array)
        if text.count("\n") > LINES:
            text = "\n".join(text.splitlines()[:LINES]) + "..."
        yield f" {name}: {text}"
