"""Bins of coordinates: their numbers, and any reduction by them.

C functions, to which this module gives their text, and the tuple that they return.
"""

import numpy as np

from pyscatter._core import bin_index, binned_reduce
from pyscatter._docs import document

__all__ = ["Binned", "bin_index", "binned_reduce"]


class Binned(tuple):
    """
    What `binned_reduce` returns: a named tuple (result, edges, ids).

    Parameters
    ----------
    result : ndarray or tuple
        As `segment_reduce` returns it, with an axis of bins for each coordinate.
    edges : ndarray or list of ndarray
        Of the only coordinate, or of each.
    ids : ndarray of intp
        The bin of each entry in the shape of the coordinates, numbered in C order of
        the result's axes of bins; -1: none.

    Returns
    -------
    Binned
        A tuple of three.

    Raises
    ------
    TypeError
        A part is missing.

    Notes
    -----
    Numbers of bins are kept in the smallest integers that hold them, and become `ids`
    when these are asked for.

    See Also
    --------
    binned_reduce
    scipy.stats.binned_statistic

    Examples
    --------
    >>> import pyscatter as ps
    >>> counts, edges, ids = ps.binned_reduce([0.1, 0.9, 0.8], bins=2, range=(0, 1))
    >>> counts
    array([1, 2])
    >>> ids
    array([0, 1, 1])
    """

    __slots__ = ()
    _fields = ("result", "edges", "ids")

    def __new__(cls, result, edges, ids):
        """Hold ids so that they can be replaced by an array of another dtype."""
        return tuple.__new__(cls, (result, edges, [ids]))

    @property
    def result(self):
        """The reduction of each bin."""
        return tuple.__getitem__(self, 0)

    @property
    def edges(self):
        """Where bins begin and end."""
        return tuple.__getitem__(self, 1)

    @property
    def ids(self):
        """The number of the bin of each entry."""
        held = tuple.__getitem__(self, 2)
        held[0] = np.asarray(held[0], np.intp)
        return held[0]

    def __iter__(self):
        """Result, edges, ids."""
        yield self.result
        yield self.edges
        yield self.ids

    def __getitem__(self, item):
        """Items of the tuple that it appears to be."""
        return (
            tuple(self)[item] if item not in (0, 1) else tuple.__getitem__(self, item)
        )

    def __eq__(self, other):
        """Equal are the tuples, as far as arrays say whether they are."""
        return tuple(self) == (tuple(other) if isinstance(other, Binned) else other)

    def __ne__(self, other):
        """Unlike are those that are not equal."""
        return not self == other

    def __hash__(self):
        """Arrays have no hash, and so a tuple of them has none."""
        return hash(tuple(self))

    def __reduce__(self):
        """Pickle by items."""
        return type(self), tuple(self)

    def __repr__(self):
        """As named tuples are shown."""
        return f"Binned(result={self.result!r}, edges={self.edges!r}, ids={self.ids!r})"

    def _asdict(self):
        """Items by their names."""
        return dict(zip(self._fields, self, strict=True))


document(
    bin_index,
    "(x, bins=10, range=None, *, outside='drop')",
    """
    Number the bin of each element, by the rule for edges of `numpy.histogram`.

    Parameters
    ----------
    x : array_like
        Real numbers of any shape and layout.
    bins : int or array_like, optional
        A number of bins of equal width, or edges, which never decrease.
    range : pair of float, optional
        Where bins of equal width begin and end. By default the finite extremes of x,
        or half to either side where these are equal. With edges it plays no part.
    outside : {"drop", "clip", "extend"}, optional
        What elements without a bin become: -1; the first or last bin, and NaN -1; or 0
        below and ``n + 1`` above and for NaN, the bins being 1 to n.

    Returns
    -------
    ids : ndarray of intp
        In the shape of x.
    edges : ndarray
        Float64, or the given ones in their dtype (those of longdouble are float64).

    Raises
    ------
    ValueError
        `bins` is 0, negative, or more than 2**27 and 64 for each element; edges that
        decrease or are NaN; a range that is reversed, not finite, or too narrow or too
        wide for so many bins in float64; an unknown `outside`.
    TypeError
        Elements or edges that are no real numbers; a masked array.

    Notes
    -----
    Bins are half-open, ``edges[i] <= x < edges[i + 1]``, and the last one is closed.
    Elements are compared as float64; integers with integers exactly, also beyond 2**53.

    *Order and duplicates*: each element for itself. Repeated edges make empty bins.

    *Determinism*: the same for any number of threads and any CPU level.

    *Derivatives*: none.

    *Cost*: one pass, and another one where the range is to be found.

    See Also
    --------
    binned_reduce, histogram, segment_reduce
    numpy.digitize, numpy.searchsorted, torch.bucketize, pandas.cut

    Examples
    --------
    >>> import pyscatter as ps
    >>> ids, edges = ps.bin_index([0.1, 0.1, 2.0, 1.0, 7.0], 2, (0, 2))
    >>> ids
    array([ 0,  0,  1,  1, -1])
    >>> edges
    array([0., 1., 2.])
    """,
)
document(
    binned_reduce,
    "(coords, values=None, bins=10, range=None, *, op='count', outside='drop', "
    "**options)",
    """
    Reduce values by the bins of one to several coordinates.

    Parameters
    ----------
    coords : array_like, tuple or list of array_like
        One coordinate of each entry; a tuple of D arrays of one shape; or an array
        (n, D).
    values : array_like or tuple of array_like, optional
        The shape of the coordinates, then axes of a row, if any. A tuple gives a tuple
        of results.
    bins : int or array_like, or a tuple of them, optional
        As in `bin_index`; a tuple or list of length D has one for each coordinate.
    range : pair of float, or a tuple of them, optional
        As in `bin_index`; one for all, or one or None for each coordinate.
    op : str, ufunc or tuple, optional
        Any of `segment_reduce`; a tuple gives a tuple of results.
    outside : {"drop", "clip", "extend"}, optional
        Entries outside the bins of a coordinate take no part; join the first or last
        bin; or have bins of their own, before and behind the others. NaN belongs to no
        bin, or with "extend" to the last.
    options : optional
        dtype, fill_value, initial, where, weights, skipna, ddof, q, compensated,
        return_arg, return_counts, out: as in `segment_reduce`. `where` and `weights`
        have the shape of the coordinates; `where` may have that of the values. `out` is
        a tuple where the result is one, of which nothing is written unless all fit.

    Returns
    -------
    Binned
        A named tuple (result, edges, ids).

    Raises
    ------
    ValueError
        What `bin_index` refuses, of each coordinate and of all bins together;
        coordinates of different shapes, or more than 32; values that do not begin with
        that shape.
    TypeError
        Coordinates that are no real numbers; options that the op does not have.

    Notes
    -----
    *Order and duplicates*: the values of a bin are reduced from first to last, as
    `segment_reduce` does by ids.

    *Determinism*: the same bits for any number of threads and any CPU level.

    *Derivatives*: that of `segment_reduce` with respect to `values`.

    *Cost*: counts alone are one pass over the coordinates, which also writes the number
    of each entry's bin, in one to four bytes; other ops take a second one.

    See Also
    --------
    bin_index, histogram, segment_reduce
    numpy.histogramdd, scipy.stats.binned_statistic_dd

    Examples
    --------
    >>> import pyscatter as ps
    >>> x, y, mass = [0.1, 0.2, 0.7], [0.9, 0.8, 0.1], [1.0, 2.0, 4.0]
    >>> ps.binned_reduce((x, y), mass, bins=2, range=(0, 1), op="add").result
    array([[0., 3.],
           [4., 0.]])
    >>> ps.binned_reduce(x, bins=[0.0, 0.5, 1.0]).result
    array([2, 1])
    """,
)
