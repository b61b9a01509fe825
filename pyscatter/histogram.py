"""Histograms: counts by bin, and what lies beside the bins, in one pass.

`histogram` is a C function, to which this module gives its text; what it returns is a
`Histogram`, whose fields C fills and whose methods are here.
"""

import math
from html import escape

import numpy as np

from pyscatter._core import HistogramRecord, histogram
from pyscatter._docs import document

__all__ = ["Histogram", "histogram"]

COUNTERS = ("n_nan", "n_posinf", "n_neginf", "n_below", "n_above", "num")
FLAGS = ("density", "weighted", "range_found")
FIELDS = ("counts", "edges", "kind", *FLAGS, *COUNTERS)
MOMENTS = ("min", "max", "sum", "sum_squares")
LOG2_STEP = 2.0**50  # of the order of float64 from bin to bin
LARGEST = float(np.finfo(np.float64).max)


class Histogram(HistogramRecord):
    """
    Counts by bin, with what lies beside the bins and what the elements add up to.

    Made by `histogram`. Unpacks as ``counts, edges``.

    Parameters
    ----------
    fields : ndarray, str, bool, int, float
        Those below, in their order, all of them: for copies and merged histograms.

    Attributes
    ----------
    counts : ndarray
        Of each bin: elements (int64), sums of weights, or densities.
    edges : ndarray of float64
        One more than there are bins. A bin holds its left edge, the last one both.
    kind : str
        "bins" (a number of them), "edges" (given), "tb1", "tb2" or "log2".
    density, weighted, range_found : bool
        Whether counts are densities; are of weights; and whether the range was that of
        the elements.
    n_nan, n_posinf, n_neginf : int
        Elements that are not finite.
    n_below, n_above : int
        Finite elements outside the edges.
    num : int
        Finite elements.
    min, max, sum, sum_squares : float
        Of the finite elements; the extremes of none are NaN.

    Returns
    -------
    Histogram
        Whose fields cannot be set; counts and edges are arrays, whose elements can.

    Raises
    ------
    TypeError
        A field is missing or of another kind.

    Notes
    -----
    Methods: `merge`, `quantile`, `tb1`, `tb2`. Pickles.

    See Also
    --------
    histogram

    Examples
    --------
    >>> import pyscatter as ps
    >>> ps.histogram([1.0, 2.0, 2.5, 4.0], 3).tb2()
    array([[1., 2., 1.],
           [2., 3., 2.],
           [3., 4., 1.]])
    """

    __slots__ = ()

    def __len__(self):
        """Two: counts and edges."""
        return 2

    def __iter__(self):
        """Counts, then edges."""
        yield self.counts
        yield self.edges

    def __getitem__(self, item):
        """Counts are item 0, edges item 1."""
        return (self.counts, self.edges)[item]

    def __reduce__(self):
        """Pickle, and copy, by fields."""
        return type(self), tuple(getattr(self, name) for name in (*FIELDS, *MOMENTS))

    def __repr__(self):
        """One line: bins, elements, and what is left out, where something is."""
        odd = [f"{n}={getattr(self, n)}" for n in COUNTERS[:-1] if getattr(self, n)]
        parts = [
            f"kind={self.kind!r}",
            f"bins={len(self.counts)}",
            f"num={self.num}",
            f"min={self.min:.6g}",
            f"max={self.max:.6g}",
            *odd,
        ]
        return f"Histogram({', '.join(parts)})"

    def _repr_html_(self):
        """Return the same beside a small picture."""
        return f"{self._svg()}<br><code>{escape(repr(self))}</code>"

    def _svg(self, width=240, height=48):
        """Bars of at most 60 groups of bins, each as high as its counts."""
        counts = np.abs(np.nan_to_num(self.counts))
        step = -(-len(counts) // 60) or 1
        bars = np.add.reduceat(counts, np.arange(0, len(counts), step))
        high = bars.max(initial=0) or 1
        wide = width / max(len(bars), 1)
        boxes = "".join(
            f'<rect x="{i * wide:.1f}" y="{height * (1 - b / high):.1f}" '
            f'width="{wide:.1f}" height="{height * b / high:.1f}"/>'
            for i, b in enumerate(bars.tolist())
        )
        return f'<svg width="{width}" height="{height}" fill="steelblue">{boxes}</svg>'

    def merge(self, *others):
        """
        Join histograms of the same bins, as if all elements had been counted at once.

        Parameters
        ----------
        *others : Histogram
            With the same edges; those of "log2" may lie anywhere.

        Returns
        -------
        Histogram
            Counts of elements and of whole weights come out the same in any order of
            merging; sums of floats may differ in their last bits.

        Raises
        ------
        ValueError
            Densities, of which counts are no longer known; other edges or kinds.
        TypeError
            An argument that is no histogram.
        """
        all_of_them = (self, *others)
        for one in all_of_them:
            check_mergeable(self, one)
        counts, edges = joined(all_of_them)
        totals = [sum(getattr(h, name) for h in all_of_them) for name in COUNTERS]
        found = [h for h in all_of_them if h.num]
        low = min((h.min for h in found), default=math.nan)
        high = max((h.max for h in found), default=math.nan)
        sums = [sum(getattr(h, name) for h in all_of_them) for name in MOMENTS[2:]]
        flags = (False, any(h.weighted for h in all_of_them), False)
        return type(self)(counts, edges, self.kind, *flags, *totals, low, high, *sums)

    def quantile(self, q):
        """
        Quantiles of the elements, as far as the counts tell.

        Parameters
        ----------
        q : float or array_like
            From 0 to 1.

        Returns
        -------
        float or ndarray
            What `numpy.quantile` finds, with each element moved within its bin: to the
            middle for "log2", which is off by an eighth of itself at most, else to
            where it would be if the elements of a bin lay evenly. 0 and 1 give `min`
            and `max`, which also stand for edges that are infinite. Of weights, the
            quantile of their sum. NaN of nothing.

        Raises
        ------
        ValueError
            `q` outside [0, 1], complex or negative weights, densities.
        """
        q = np.asarray(q, np.float64)
        if not ((q >= 0) & (q <= 1)).all():
            msg = "q must be in [0, 1]"
            raise ValueError(msg)
        if self.density or np.iscomplexobj(self.counts) or (self.counts < 0).any():
            msg = "quantiles need counts, or real weights that are not negative"
            raise ValueError(msg)
        limits, counts = self._shares()
        total = counts.sum()
        if self.weighted:
            found = spread(limits, counts, q * total)
        else:
            found = self._of_ranks(limits, counts, q * max(total - 1, 0))
        found = np.clip(found, self.min, self.max) if total else found * math.nan
        found = np.where(q == 0, self.min, np.where(q == 1, self.max, found))
        return float(found) if found.ndim == 0 else found

    def _shares(self):
        """Limits and counts, elements outside the edges in bins of their own."""
        limits, counts = self.edges, self.counts
        if np.isinf(limits[0]) or np.isinf(limits[-1]):
            limits = np.clip(limits, self.min, self.max)
        if self.n_below and not self.weighted:
            limits, counts = np.r_[self.min, limits], np.r_[self.n_below, counts]
        if self.n_above and not self.weighted:
            limits, counts = np.r_[limits, self.max], np.r_[counts, self.n_above]
        return limits, counts

    def _of_ranks(self, limits, counts, rank):
        """Values at ranks from 0, between whole ones by their distance."""
        below = np.floor(rank)
        low = self._at(limits, counts, below)
        high = self._at(limits, counts, np.ceil(rank))
        part = rank - below
        return low * (1 - part) + high * part

    def _at(self, limits, counts, rank):
        """Values of the elements of whole ranks."""
        if self.kind != "log2":
            return spread(limits, counts, rank + 0.5)
        at = np.searchsorted(np.cumsum(counts), rank, side="right")
        at = np.minimum(at, len(counts) - 1)
        return limits[at] / 2 + limits[at + 1] / 2

    def tb1(self):
        """
        Arguments of `add_histogram_raw` of a TensorBoard writer.

        Returns
        -------
        dict
            min, max, num, sum, sum_squares, bucket_limits, bucket_counts: lists and
            plain numbers. A bucket ends at its limit; the first one ends where the
            edges begin and holds what is below, so that the left edge is kept. Empty
            buckets of "tb1" that follow one another are one.
        """
        limits, counts = self.edges, np.r_[self.n_below, self.counts]
        if self.n_above:
            limits, counts = np.r_[limits, LARGEST], np.r_[counts, self.n_above]
        if self.kind in ("tb1", "log2"):
            limits, counts = without_empty(limits, counts)
        return {
            "min": self.min if self.num else 0.0,
            "max": self.max if self.num else 0.0,
            "num": float(counts.sum() if self.weighted else self.num),
            "sum": self.sum,
            "sum_squares": self.sum_squares,
            "bucket_limits": limits.tolist(),
            "bucket_counts": counts.astype(np.float64).tolist(),
        }

    def tb2(self):
        """
        Buckets of TensorBoard's second kind of histogram.

        Returns
        -------
        ndarray of float64
            (bins, 3): left edge, right edge, count. Of elements that are all equal and
            a range that was theirs, all edges are that value and the last bucket holds
            them; of none, all is 0, as TensorBoard has it.
        """
        n = len(self.counts)
        table = np.zeros((n, 3))
        if self.num == 0 and self.range_found:
            return table
        if self.range_found and self.min == self.max:
            table[:, :2] = self.min
            table[-1, 2] = self.counts.sum()
            return table
        table[:, 0], table[:, 1] = self.edges[:-1], self.edges[1:]
        table[:, 2] = self.counts
        return table


def check_mergeable(one, other):
    """Refuse what has other bins, or counts no longer."""
    if not isinstance(other, Histogram):
        msg = f"expected histograms, got {type(other).__name__}"
        raise TypeError(msg)
    if other.density:
        msg = "densities cannot be merged; merge counts, and divide then"
        raise ValueError(msg)
    are_log2 = one.kind == other.kind == "log2"
    if not are_log2 and not np.array_equal(one.edges, other.edges):
        msg = (
            f"histograms to be merged need the same edges; got {len(one.counts)} bins "
            f"from {one.edges[0]:g} to {one.edges[-1]:g} and {len(other.counts)} from "
            f"{other.edges[0]:g} to {other.edges[-1]:g} (give range= or edges, or use "
            "bins='log2')"
        )
        raise ValueError(msg)


def joined(histograms):
    """Counts of all, and edges around all."""
    first = histograms[0]
    dtype = np.result_type(*(h.counts for h in histograms))
    if first.kind != "log2":
        return sum((h.counts for h in histograms[1:]), first.counts.copy()), first.edges
    found = [h for h in histograms if h.num] or [first]
    low = min(found, key=lambda h: h.edges[0])
    high = max(found, key=lambda h: h.edges[-1])
    start = bin_number(low)
    counts = np.zeros(bin_number(high) + len(high.counts) - start, dtype)
    for one in found:
        at = bin_number(one) - start
        counts[at : at + len(one.counts)] += one.counts
    return counts, log2_edges(start, len(counts) + 1)


def bin_number(histogram):
    """Where the bins of a "log2" begin, in its count of bins from 0."""
    [bits] = np.abs(histogram.edges[:1]).view(np.int64).tolist()
    number = -(-bits // int(LOG2_STEP))
    return -number if histogram.edges[0] < 0 else number


def log2_edges(first, n):
    """n edges from the one with this number on."""
    number = np.arange(first, first + n)
    size = (np.abs(number) * int(LOG2_STEP)).view(np.float64)
    return np.copysign(np.minimum(size, LARGEST), number)


def spread(limits, counts, mass):
    """Where this much of the counts lies below, those of a bin lying evenly in it."""
    before = np.r_[0, np.cumsum(counts)].astype(np.float64)
    at = np.searchsorted(before[1:], mass, side="left")
    at = np.minimum(at, len(counts) - 1)
    share = (mass - before[at]) / np.maximum(counts[at], np.finfo(float).tiny)
    share = np.clip(share, 0, 1)
    return limits[at] * (1 - share) + limits[at + 1] * share


def without_empty(limits, counts):
    """Join empty buckets that follow one another, and drop those at the end."""
    is_kept = counts != 0
    is_kept[:-1] |= counts[1:] != 0  # ends where one with something begins
    is_kept[0] |= not is_kept.any()
    return limits[is_kept], counts[is_kept]


document(
    histogram,
    "(x, bins=10, range=None, density=False, weights=None)",
    """
    Count elements by bin: `numpy.histogram`, with what is not finite counted apart.

    Parameters
    ----------
    x : array_like
        Real numbers of any shape and layout: bool, integers, float16, bfloat16,
        float32, float64, longdouble. Compared as float64.
    bins : int, str or array_like, optional
        A number of bins of equal width; or edges, which never decrease; or

        - "tb1", the 1,551 limits of TensorBoard's first kind of histogram;
        - "tb2", 30 bins between the extremes, as TensorBoard's second kind has;
        - "log2", four bins to every power of two, of both signs, from the least
          element's to the largest one's: histograms of any arrays can be merged.
    range : pair of float, optional
        Where bins of equal width begin and end: then one pass suffices. By default the
        finite extremes. With edges it plays no part, as in NumPy.
    density : bool, optional
        Divide counts by the widths of bins and by their sum.
    weights : array_like, optional
        One for each element, of any real or complex dtype; counts become their sums.

    Returns
    -------
    Histogram
        Unpacks as ``counts, edges``. Counts are int64; sums of bools and integers are
        int64 too, others float64 or complex128.

    Raises
    ------
    ValueError
        `bins` is 0, negative, or more than 2**27 and 64 for each element; edges that
        decrease or are NaN; a range that is reversed or not finite; weights of another
        shape; an unknown name.
    TypeError
        Elements or edges that are no real numbers; a masked array; `range` with "tb1"
        or "log2".

    Notes
    -----
    A range that cannot hold so many bins in float64, such as that of equal elements,
    becomes wider; NumPy raises. One that overflows float64 has edges nonetheless.

    *Order and duplicates*: float weights of a bin add from first to last in chunks of
    65,536 elements, or more where there are many bins, whose sums are added in order,
    as NumPy does for bins of equal width. Whole ones wrap in int64.

    *Determinism*: the same bits for any number of threads, any CPU level and layout;
    sums are made in fixed lanes of float64.

    *Derivatives*: none; counts are constant nearly everywhere.

    *Cost*: one pass with a range, edges or "tb1", otherwise two.

    See Also
    --------
    bin_index, binned_reduce, bincount
    numpy.histogram, torch.histc, jax.numpy.histogram, tf.histogram_fixed_width

    Examples
    --------
    >>> import numpy as np
    >>> import pyscatter as ps
    >>> counts, edges = ps.histogram([1, 1, 2, 5], bins=4, range=(1, 5))
    >>> counts
    array([2, 1, 0, 1])
    >>> ps.histogram([0.5, np.nan, 3.0], [0.0, 1.0, 2.0])
    Histogram(kind='edges', bins=2, num=2, min=0.5, max=3, n_nan=1, n_above=1)
    >>> a, b = ps.histogram([1.0, 3.0], "log2"), ps.histogram([9.0], "log2")
    >>> a.merge(b).quantile(0.5)
    3.25
    """,
)
