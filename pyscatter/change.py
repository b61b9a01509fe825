"""The change family: how an array differs from the one before it, in one pass.

`change_stats` is a C function; this module gives it its text, and its answers names. An
answer stays what C left until a field is asked for.
"""

import math
import struct

import numpy as np

from pyscatter import _core
from pyscatter._core import change_stats
from pyscatter._docs import document
from pyscatter.histogram import histogram

_COUNTS, _REALS = (names.split() for names in _core.change_fields())
_FIELDS = (*_COUNTS, *_REALS, "size", "n_compared", "has_old", "is_complex")
_LAYOUT = struct.Struct(f"={len(_COUNTS)}q{len(_REALS)}d4q")
_ARGMAX, _FIRST_NONFINITE = map(_FIELDS.index, ("argmax_abs", "first_nonfinite"))

_ROWS = ("row_abs_sum", "row_max_abs", "row_changed")
_FEATURES = (
    "feature_mean",
    "feature_m2",
    "feature_max_abs",
    "feature_n_changed",
    "feature_new_mean",
    "feature_new_m2",
    "feature_is_dead",
    "feature_n",
    "feature_new_n",
)


def _divide(a, b):
    """a / b as floats do it, without an exception."""
    if b:
        return a / b
    return math.nan if not a or a != a else math.copysign(math.inf, a)


def _root(x):
    return math.sqrt(x) if x == x and x < math.inf else x


def _complex_mean(n, sum_name, m, count):
    re = n[sum_name] / m if m else math.nan
    if not n["is_complex"]:
        return re
    return complex(re, n[sum_name + "_imag"] / m if count else math.nan)


def _mean(sum_name, count_name):
    def field(n):
        count = n[count_name]
        return _complex_mean(n, sum_name, count, count)

    return field


def _ratio(name, count_name):
    def field(n):
        count = n[count_name]
        return n[name] / count if count else math.nan

    return field


def _where_any(name, count_name):
    return lambda n: n[name] if n[count_name] else math.nan


def _relative(n):
    """||d|| / ||o||: nothing of nothing is no change."""
    if not n["has_old"]:
        return math.nan
    d, old = _root(n["sum_squares"]), _root(n["old_squares"])
    return 0.0 if d == 0 and old == 0 else _divide(d, old)


def _cosine(n):
    old, new, dot = n["old_squares"], n["new_squares"], n["dot"]
    if not n["has_old"] or old == 0 or new == 0:
        return math.nan
    product = old * new
    # Equal arrays have a cosine of exactly 1, unless squares leave the range of floats.
    norms = _root(product) if 1e-280 < product < 1e280 else _root(old) * _root(new)
    cosine = dot / norms if norms == norms and norms < math.inf else math.nan
    return min(1.0, max(-1.0, cosine)) if cosine == cosine else cosine


def _count(name):
    return lambda n: n[name]


_DIFFERENCE = {
    "n_compared": _count("n_compared"),
    "n_changed": _count("n_changed"),
    "frac_changed": lambda n: n["n_changed"] / (n["n_compared"] or 1),
    "n_changed_value": _count("n_changed_value"),
    "n_over_tol": _count("n_over_tol"),
    "mean": _mean("sum", "n"),
    "var": _ratio("m2", "n"),
    "min": _where_any("min", "n"),
    "max": _where_any("max", "n"),
    "mean_abs": _ratio("sum_abs", "n"),
    "rms": lambda n: _root(n["sum_squares"] / n["n"]) if n["n"] else math.nan,
    "l2": lambda n: _root(n["sum_squares"]) if n["has_old"] else math.nan,
    "max_abs": _where_any("max_abs", "n"),
    "argmax_abs": _count("argmax_abs"),
    "rel_change": _relative,
    "cosine": _cosine,
    "dot": lambda n: n["dot"] if n["has_old"] else math.nan,
    "old_norm": lambda n: _root(n["old_squares"]) if n["has_old"] else math.nan,
    "n_sign_flips": _count("n_sign_flips"),
    "n_became_zero": _count("n_became_zero"),
    "n_left_zero": _count("n_left_zero"),
    "n_skipped": _count("n_skipped"),
}
_LEVEL = {
    "new_norm": lambda n: _root(n["new_squares"]),
    "new_mean": _mean("new_sum", "n_new"),
    "new_var": _ratio("new_m2", "n_new"),
    "new_min": _where_any("new_min", "n_new"),
    "new_max": _where_any("new_max", "n_new"),
    "n_zero": _count("n_zero"),
    "n_nan": _count("n_nan"),
    "n_posinf": _count("n_posinf"),
    "n_neginf": _count("n_neginf"),
}
_NUMBERS = {**_DIFFERENCE, **_LEVEL}
# What an answer knows beside numbers: each with how to say that it was not asked for.
_ASKED = {
    **dict.fromkeys((*_ROWS, "changed_rows"), "per_row=True"),
    **dict.fromkeys((*_FEATURES, "n_dead"), "per_feature=True"),
    "hist": "hist=",
    "ema": "a tracker with ema=",
    "dead_for": "a tracker with per_feature=True",
    "stale_rows": "a tracker with per_row=True",
}
_CONTEXT = {"first": False, "step": 0, "name": None, "n_added": 0, "n_removed": 0}
_ALIGNED_ONLY = {
    *_DIFFERENCE,
    *_ROWS,
    "changed_rows",
    "feature_m2",
    "feature_max_abs",
    "feature_n_changed",
    "stale_rows",
    "n_added",
    "n_removed",
}
_PRIVATE = ("feature_is_dead", "feature_n", "feature_new_n")


class ChangeStats(_core.ChangeRecord):
    """
    How one array differs from another: the answer of `change_stats` and of trackers.

    Fields without a prefix speak of the difference ``new - old``, those with ``old_``
    and ``new_`` of the arrays; counts of zeros and of what is not finite are of the new
    one. Scalars are Python numbers. A field that was not asked for, or that the mode of
    a tracker does not have, is an AttributeError that says so.

    Parameters
    ----------
    raw : bytes
        What C has left; records are made by `change_stats` and trackers, not by hand.
    arrays : tuple or None, optional
        What is told of rows and features.
    context : dict, optional
        What a tracker adds.

    Returns
    -------
    ChangeStats

    Raises
    ------
    AttributeError
        A field does not exist, was not asked for, or is written to.

    Attributes
    ----------
    n_compared, n_changed, frac_changed : int, int, float
        Elements that were compared; those whose bit patterns differ, and their share.
    n_changed_value : int
        Elements that differ as numbers: -0.0 equals 0.0, NaN equals NaN.
    n_over_tol : int
        Elements that `numpy.isclose` with the old array as reference, `atol`, `rtol`
        and equal_nan=True calls different.
    mean, var, min, max, mean_abs, rms, l2, max_abs : float
        Of the difference; `var` with ddof 0, `l2` its norm. The mean of complex numbers
        is complex, and sizes are moduli.
    argmax_abs : int
        Flat position of `max_abs`, the first of several; -1 where there is none.
    rel_change, cosine, dot, old_norm, new_norm : float
        ``l2 / old_norm`` (0 where both are 0); the angle between both arrays, and what
        it is made of.
    n_sign_flips, n_became_zero, n_left_zero, n_zero : int
        Other signs on both sides of zero; zeros.
    n_nan, n_posinf, n_neginf, n_skipped : int
        What is not finite in the new array; elements left out by `finite_only`.
    first_nonfinite : tuple of int or None
        (step, flat position) of the first of these.
    new_mean, new_var, new_min, new_max : float
        Of the new array.
    row_abs_sum, row_max_abs, row_changed, changed_rows : ndarray
        With per_row=True: sums and maxima of ``|new - old|`` for each row, whether any
        of its bits has changed, and the numbers of those rows (int64, ascending).
    feature_mean, feature_m2, feature_max_abs, feature_n_changed : ndarray
        With per_feature=True, for each place of a row over all rows: mean and summed
        squared distances of the difference, its largest size, how often it changed.
    feature_new_mean, feature_new_m2, n_dead : ndarray, ndarray, int
        The same of the new array; features that are zero in all rows.
    hist : Histogram
        Of the new array, where one was asked for.
    first, step, name, n_added, n_removed, ema, dead_for, stale_rows
        What a tracker adds.

    Notes
    -----
    *Order and duplicates*: those of `change_stats`.

    *Determinism*: a record is what was measured; it holds no array of the caller's.

    *Derivatives*: none.

    *Cost*: fields are worked out when they are asked for.

    See Also
    --------
    change_stats, ChangeTracker

    Examples
    --------
    >>> import numpy as np
    >>> import pyscatter as ps
    >>> c = ps.change_stats(np.zeros(3), np.array([0.0, 2.0, 0.0]))
    >>> c
    ChangeStats(step=0, 1 of 3 changed (33.3 %), mean=0.6667, rms=1.155, max_abs=2 at 1)
    >>> ps.ChangeStats.merge([c, c]).n_changed
    2
    """

    __slots__ = ()

    def _read(self):
        if self._numbers is None:
            numbers = zip(_FIELDS, _LAYOUT.unpack(self._raw), strict=True)
            self._numbers = dict(numbers)
        return self._numbers

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        if name in _ALIGNED_ONLY and self._is_distribution:
            raise AttributeError(
                f"{name} compares element by element, which mode='distribution' does "
                "not; use mode='aligned'"
            )
        field = _NUMBERS.get(name)
        if field is not None:
            return field(self._read())
        if name in self._context:
            return self._context[name]
        if name in _CONTEXT:
            return _CONTEXT[name]
        if name in _ASKED:
            return self._asked(name)
        if name == "first_nonfinite":
            position = self._read()["first_nonfinite"]
            return None if position < 0 else (self.step, position)
        raise AttributeError(f"ChangeStats has no field {name!r}")

    @property
    def _is_distribution(self):
        return self._context.get("mode") == "distribution"

    def _asked(self, name):
        """Return an array or what follows from arrays; AttributeError if not asked."""
        rows, features = self._arrays or (None, None)
        if name in _ROWS and rows is not None:
            return rows[_ROWS.index(name)]
        if name == "changed_rows" and rows is not None:
            return _core.flatnonzero(rows[2])
        if name in _FEATURES and features is not None:
            return features[_FEATURES.index(name)]
        if name == "n_dead" and features is not None:
            return int(_core.count_nonzero(features[6]))
        raise AttributeError(f"{name} was not asked for; pass {_ASKED[name]}")

    def __dir__(self):
        names = {*_NUMBERS, *_ASKED, *_CONTEXT, "first_nonfinite"} - set(_PRIVATE)
        return sorted({*names, *object.__dir__(self)})

    def _scalar_names(self):
        names = _LEVEL if self._is_distribution else _NUMBERS
        context = ["first", "step"]
        if not self._is_distribution:
            context += ["n_added", "n_removed"]
        has_features = self._arrays is not None and self._arrays[1] is not None
        return [*context, *names, "first_nonfinite", *["n_dead"] * has_features]

    def as_dict(self, prefix=""):
        """
        Return the scalars of this record, as JSON can hold them.

        Parameters
        ----------
        prefix : str, optional
            Goes before each name.

        Returns
        -------
        dict
            Names to Python numbers; complex means and positions are lists of two, and
            moving averages have names that begin with ``ema_``.
        """
        result = {}
        for name in self._scalar_names():
            value = getattr(self, name)
            if isinstance(value, complex):
                value = [value.real, value.imag]
            result[prefix + name] = list(value) if isinstance(value, tuple) else value
        for name, value in self._context.get("ema", {}).items():
            if isinstance(value, complex):
                value = [value.real, value.imag]
            result[f"{prefix}ema_{name}"] = value
        return result

    @staticmethod
    def merge(records):
        """
        Join records of stretches of one array, or of the ranks of a job, to one.

        Parameters
        ----------
        records : iterable of ChangeStats
            In order: sums of floats are added in this order, and of equal extremes the
            first counts. Rows follow each other; features are those of all rows.

        Returns
        -------
        ChangeStats
            Positions are those within the record that they come from. What belongs to a
            tracker (moving averages, `dead_for`, `stale_rows`) is not merged.

        Raises
        ------
        ValueError
            No records, or of different modes or features.
        TypeError
            What is no record.
        """
        records = list(records)
        for record in records:
            if not isinstance(record, ChangeStats):
                raise TypeError(f"expected ChangeStats, got {type(record).__name__}")
        if not records:
            raise ValueError("no records to merge")
        if len({r._is_distribution for r in records}) > 1:
            raise ValueError("records of both modes do not merge")
        raw = _core.change_join(tuple(r._raw for r in records))
        return ChangeStats(raw, _merge_arrays(records), _merge_context(records))

    def unbound(self):
        """Return the bytes of the numbers, and what JSON can hold of the rest."""
        kept = ("step", "name", "mode", "first", "n_added", "n_removed", "ema")
        return self._raw, {k: self._context[k] for k in kept if k in self._context}

    @staticmethod
    def bound(raw, context):
        """Return the record of these, without arrays; ValueError for other bytes."""
        if len(raw) != _LAYOUT.size:
            raise ValueError(f"a record has {_LAYOUT.size} bytes, got {len(raw)}")
        return ChangeStats(raw, None, context)

    def __reduce__(self):
        return ChangeStats._revive, (self._read(), self._arrays, dict(self._context))

    @staticmethod
    def _revive(numbers, arrays, context):
        raw = _LAYOUT.pack(*(numbers[name] for name in _FIELDS))
        return ChangeStats(raw, arrays, context)

    def __repr__(self):
        n, kind = self._read(), self.name or ""
        head = f"ChangeStats({kind!r}, " if kind else "ChangeStats("
        head += f"step={self.step}, "
        level = f"new_mean={self.new_mean:.4g}, new_var={self.new_var:.4g}"
        odd = n["n_nan"] + n["n_posinf"] + n["n_neginf"]
        tail = f", {odd} not finite" if odd else ""
        if self.first or self._is_distribution or not n["has_old"]:
            first = "first=True, " if self.first else ""
            return f"{head}{first}{n['size']} elements, {level}{tail})"
        return (
            f"{head}{n['n_changed']} of {n['n_compared']} changed "
            f"({100 * self.frac_changed:.3g} %), mean={self.mean:.4g}, "
            f"rms={self.rms:.4g}, max_abs={self.max_abs:.4g} at {self.argmax_abs}"
            f"{tail})"
        )

    def _repr_html_(self):
        rows = "".join(
            f"<tr><td>{name}</td><td style='text-align:right'>{_short(value)}</td></tr>"
            for name, value in self.as_dict().items()
        )
        hist = self._context.get("hist")
        return f"<table>{rows}</table>{'' if hist is None else hist._repr_html_()}"


def join_parts(raws, places):
    """Join the answers of parts of an array; `places` turn positions into its own."""
    numbers = list(_LAYOUT.unpack(_core.change_join(raws)))
    positions = [
        place(n)
        for raw, place in zip(raws, places, strict=True)
        if (n := _LAYOUT.unpack(raw)[_FIRST_NONFINITE]) >= 0
    ]
    numbers[_FIRST_NONFINITE] = min(positions, default=-1)
    if numbers[_ARGMAX] >= 0:  # elements are compared in the first part alone
        numbers[_ARGMAX] = places[0](numbers[_ARGMAX])
    return _LAYOUT.pack(*numbers)


def histogram_of(x, bins, is_bfloat16=False):
    """Return the histogram of an array, whose uint16 may be bfloat16."""
    if is_bfloat16:
        x = (x.astype(np.uint32) << 16).view(np.float32)
    return histogram(x, bins)


def _short(value):
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _merge_arrays(records):
    """Rows of all records, one after the other, and features of all their rows."""
    if any(r._arrays is None for r in records):
        return None
    rows = [r._arrays[0] for r in records]
    features = [r._arrays[1] for r in records]
    joined = None
    if all(group is not None for group in rows):
        joined = tuple(np.concatenate(parts) for parts in zip(*rows, strict=True))
    total = None
    if all(group is not None for group in features):
        if len({group[1].shape for group in features}) > 1:
            raise ValueError("records have features of different shapes")
        total = features[0]
        for group in features[1:]:
            total = _join_features(total, group)
    return joined, total


def _join_features(a, b):
    mean, m2, n = join_moments(a[0], a[1], a[7], b[0], b[1], b[7])
    new_mean, new_m2, new_n = join_moments(a[4], a[5], a[8], b[4], b[5], b[8])
    largest = np.where(
        a[7] == 0, b[2], np.where(b[7] == 0, a[2], np.maximum(a[2], b[2]))
    )
    dead = a[6] & b[6]
    return mean, m2, largest, a[3] + b[3], new_mean, new_m2, dead, n, new_n


def join_moments(mean_a, m2_a, n_a, mean_b, m2_b, n_b):
    """Mean, summed squared distances and number of two groups, by Chan's formula."""
    n = n_a + n_b
    with np.errstate(all="ignore"):
        delta = mean_b - mean_a
        mean = mean_a + delta * (n_b / n)
        m2 = m2_a + m2_b + np.abs(delta) ** 2 * (n_a * (n_b / n))
    mean = np.where(n_a == 0, mean_b, np.where(n_b == 0, mean_a, mean))
    m2 = np.where(n_a == 0, m2_b, np.where(n_b == 0, m2_a, m2))
    return mean, m2, n


def _merge_context(records):
    contexts = [r._context for r in records]
    merged = {
        "step": max(r.step for r in records),
        "first": all(r.first for r in records),
        "n_added": sum(c.get("n_added", 0) for c in contexts),
        "n_removed": sum(c.get("n_removed", 0) for c in contexts),
        "mode": contexts[0].get("mode", "aligned"),
        "name": contexts[0].get("name"),
    }
    places = [r.first_nonfinite for r in records if r.first_nonfinite is not None]
    merged["first_nonfinite"] = min(places) if places else None
    hists = [c.get("hist") for c in contexts]
    if all(hist is not None for hist in hists):
        merged["hist"] = hists[0]
        for hist in hists[1:]:
            merged["hist"] = merged["hist"].merge(hist)
    return merged


document(
    change_stats,
    "(old, new, *, axis=0, atol=0, rtol=0, hist=None, per_row=False, "
    "per_feature=False, finite_only=False, view=None, copy_new_to=None)",
    """
    Measure how `new` differs from `old`, element by element, in one pass.

    Parameters
    ----------
    old : array_like of numbers or bools
        Any layout and byte order; halves and bfloat16 as well.
    new : array_like
        Of the same shape and dtype.
    axis : int, optional
        Along which rows are numbered, for `per_row` and `per_feature`.
    atol : float, optional
    rtol : float, optional
        ``|new - old| > atol + rtol * |old|`` counts in ``n_over_tol``.
    hist : None, str, int or array_like, optional
        Also make a histogram of `new`: the `bins` of `histogram`.
    per_row : bool, optional
    per_feature : bool, optional
        Whether sums and maxima of each row, and moments of each place in a row over all
        rows, are kept as well.
    finite_only : bool, optional
        Leave pairs with a NaN or an infinity out of all statistics of the difference,
        and such elements out of those of `new`; they are counted in ``n_skipped``.
        By default they propagate.
    view : None or "bfloat16", optional
        "bfloat16" reads arrays of uint16 as that.
    copy_new_to : ndarray, optional
        Receives `new` in the same pass; of its shape and dtype, and possibly `old`
        itself. What was measured is what was copied.

    Returns
    -------
    ChangeStats

    Raises
    ------
    ValueError
        Shapes or dtypes differ; a tolerance is negative or NaN; `copy_new_to` is
        read-only or shares its elements' memory.
    TypeError
        The dtype is not one of numbers (datetime64, longdouble, object, string,
        structured); a masked array.
    AxisError
        There is no such axis.

    Notes
    -----
    *Definitions*: differences of float16, bfloat16 and float32 are those of float32,
    and are taken again in float64 where they, or their squares, overflow or underflow;
    all others are taken in float64, of which integers never wrap. Changes are counted
    by bit patterns. Equal infinities have the difference NaN, but are neither changed
    nor over. Of empty arrays counts and norms are 0, means and extremes NaN.

    *Order and duplicates*: elements are summed in C order of the array: in blocks of
    1,024 element i goes to lane i mod 8; blocks and stretches of 64 blocks are added in
    order.

    *Determinism*: layout, threads and CPU level change no bit.

    *Derivatives*: none.

    *Cost*: reads both arrays once, beside what is asked for by rows and features. An
    error leaves `copy_new_to` as it was; Ctrl-C after half a second of copying leaves
    it with some blocks copied.

    See Also
    --------
    ChangeStats, ChangeTracker
    numpy.testing.assert_allclose, numpy.isclose, torch.ne

    Examples
    --------
    >>> import numpy as np
    >>> import pyscatter as ps
    >>> old = np.array([[1.0, 2.0], [0.0, 4.0]], np.float32)
    >>> new = np.array([[1.0, 2.5], [0.0, 3.0]], np.float32)
    >>> c = ps.change_stats(old, new, per_row=True)
    >>> c.n_changed, c.mean_abs, c.max_abs, c.argmax_abs
    (2, 0.375, 1.0, 3)
    >>> c.changed_rows
    array([0, 1])
    """,
)
