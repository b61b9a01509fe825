"""numpy-groupies' reductions, each as few calls of pyscatter's segment functions.

Every function takes (ids, a, size, fill, dtype) with ids and a of one length, or a a
number where that has a meaning, and returns a line of `size` results. Sums of floats
are taken in float64 whatever the dtype of the result, as NumPy's bincount does.
"""

import numpy as np

from pyscatter.compat._groupies_input import is_number
from pyscatter.compat._groupies_names import minimum_dtype
from pyscatter.gather import gather
from pyscatter.scatter import maximum_at, minimum_at, scatter
from pyscatter.segment import segment_reduce

NEAR = 32  # entries per group that are looked at first
EXACT = 2**53  # the whole numbers up to here are exact in float64
WIDE = {"f": np.dtype(np.float64), "c": np.dtype(np.complex128)}


def reduce(a, ids, size, op, dtype=None, **options):
    """Reduce with what a call does not need left out, which is its quickest form."""
    if dtype is not None and dtype != a.dtype:
        options["dtype"] = dtype
    return segment_reduce(a, ids, size, op=op, **options)


def counts_of(ids, size):
    """Return the number of entries of each group; the ids have been checked."""
    return scatter(np.zeros(size, np.int64), ids, 1, op="add")


def fill_absent(ret, ids, fill, usual):
    """Put the fill value into absent groups, which hold `usual` so far.

    Entries are counted only if some group looks like an absent one.
    """
    if fill == usual or (fill != fill and usual != usual):
        return ret
    alike = np.isnan(ret) if usual != usual else ret == usual
    if alike.any():
        ret[counts_of(ids, ret.size) == 0] = fill
    return ret


def bound_of(a):
    """Return the largest magnitude among whole numbers."""
    return max(int(a.max()), -int(a.min())) if a.size else 0


def fold_sum(ids, a, size, fill, dtype):
    """Sums; a number counts once for each entry."""
    dtype = minimum_dtype(fill, dtype)
    if is_number(a):
        counts = counts_of(ids, size)
        ret = (counts.astype(dtype) * a).astype(dtype, copy=False)
        ret[counts == 0] = fill
        return ret
    wide = WIDE.get("f" if dtype.kind == "f" else a.dtype.kind)
    ret = reduce(a, ids, size, "add", wide).astype(dtype, copy=False)
    return fill_absent(ret, ids, fill, 0)


def fold_prod(ids, a, size, fill, dtype):
    """Products, in the dtype of the result."""
    dtype = minimum_dtype(fill, dtype)
    if is_number(a):
        a = np.full(ids.size, a)
    if a.dtype.kind == "b":
        a = a.astype(np.int8)
    wide = dtype if dtype.kind != "b" else None
    if wide is not None and not np.can_cast(a.dtype, wide, "same_kind"):
        wide = None
    ret = reduce(a, ids, size, "mul", wide).astype(dtype, copy=False)
    return fill_absent(ret, ids, fill, 1)


def fold_len(ids, a, size, fill, dtype):
    """Numbers of entries."""
    counts = counts_of(ids, size).astype(minimum_dtype(fill, dtype), copy=False)
    return fill_absent(counts, ids, fill, 0)


def extreme(op):
    """Make min or max."""

    def fold(ids, a, size, fill, dtype):
        dtype = minimum_dtype(fill, dtype)
        a = a.astype(dtype, copy=False)
        if dtype.kind == "c":
            return complex_extreme(ids, a, size, fill, op)
        ret = reduce(a, ids, size, op)
        return fill_absent(ret, ids, fill, start_of(op, dtype))

    return fold


def start_of(op, dtype):
    """Return what min or max of nothing is."""
    if dtype.kind == "b":
        return op == "min"
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return limits.max if op == "min" else limits.min
    return EXTREMES[op][1]


def pick(op, end):
    """Make first or last: what is written over the fill value first, or last.

    One end of long input mostly has an entry of every group, and is then enough.
    """

    def fold(ids, a, size, fill, dtype):
        dtype = minimum_dtype(fill, dtype)
        a = a.astype(dtype, copy=False)
        blank = np.full(size, fill, dtype)
        near = slice(0, NEAR * size) if end == 0 else slice(-NEAR * size, None)
        if size and ids.size > 2 * NEAR * size:
            seen = scatter(np.zeros(size, bool), ids[near], True)
            if seen.all():
                ids, a = ids[near], a[near]
        return scatter(blank, ids, a, op=op)

    return fold


EXTREMES = {"min": (minimum_at, np.inf), "max": (maximum_at, -np.inf)}


def complex_extreme(ids, a, size, fill, op):
    """Extremes in NumPy's order of complex numbers: real part first."""
    update, start = EXTREMES[op]
    ret = np.full(size, complex(start, start), a.dtype)
    update(ret, ids, a)
    ret[counts_of(ids, size) == 0] = fill
    return ret


def arg(op):
    """Make argmin or argmax: -1 for a group that is absent or holds a NaN."""

    def fold(ids, a, size, fill, dtype, skip=False):
        if a.dtype.kind == "c":
            return complex_arg(ids, a, size, op, skip)
        if not skip:
            places = reduce(a, ids, size, "arg" + op)
        else:
            _, places = reduce(a, ids, size, "f" + op, return_arg=True)
        if a.dtype.kind == "f" and a.size:
            places[np.isnan(a[places])] = -1
        return places

    return fold


def complex_arg(ids, a, size, op, skip):
    """The first entry that equals its group's extreme; a NaN equals nothing."""
    good = ~np.isnan(a) if skip else slice(None)
    start = complex(EXTREMES[op][1], EXTREMES[op][1])
    best = complex_extreme(ids[good], a[good], size, start, op)
    wins = np.flatnonzero(a == gather(best, ids))
    return scatter(np.full(size, -1), ids[wins], wins, op="first")


def fold_mean(ids, a, size, fill, dtype):
    """Means in float64; those of whole numbers are exact or refused."""
    if a.dtype.kind in "iu":
        check_mean(a)
    is_complex = a.dtype.kind == "c"
    total = reduce(a, ids, size, "add", WIDE["c" if is_complex else "f"])
    counts = counts_of(ids, size)
    with np.errstate(all="ignore"):
        ret = total / counts
    if is_complex:  # NaN in both parts where it is in one
        ret[np.isnan(ret)] = complex(np.nan, np.nan)
    if fill == fill:
        ret[counts == 0] = fill
    return ret.astype(dtype, copy=False)


def check_mean(a):
    """Raise OverflowError where sums of whole numbers may leave float64's range."""
    bound = bound_of(a)
    if a.size * bound > EXACT:
        raise OverflowError(
            f"cannot compute an exact mean of {a.size} integer values with magnitude "
            f"up to {bound}: their sums can exceed +/-{EXACT}, the range float64 "
            "represents exactly - cast the input to a float dtype to accept rounding, "
            "or use sum and len"
        )


def fold_var(ids, a, size, fill, dtype, ddof=0):
    """Variances about each group's mean; too few entries divide by zero."""
    if a.dtype.kind in "iub":
        a = centred(ids, a, size)
    wide = WIDE["c" if a.dtype.kind == "c" else "f"]
    a = a.astype(wide, copy=False)
    ret = segment_reduce(a, ids, size, op="var", ddof=ddof)
    if ddof or fill == fill:
        ret = few_entries(ret, ids, a, size, fill, ddof)
    return ret.astype(dtype, copy=False)


def few_entries(ret, ids, a, size, fill, ddof):
    """Put the fill value, or a quotient by zero, where at most ddof entries are."""
    counts = counts_of(ids, size)
    few = counts <= ddof
    if fill == fill:
        ret[few] = fill
    elif np.any(few & (counts > 0)):
        spread = segment_reduce(a, ids, size, op="var")
        ret[few & (spread > 0)] = np.inf
    return ret


def centred(ids, a, size):
    """Return whole numbers as floats, less their group's first where that is exact."""
    if a.dtype.kind == "b" or a.size * bound_of(a) <= EXACT:
        return a.astype(np.float64)
    low, high = int(a.min()), int(a.max())
    if high - low > 2**63 - 1:
        raise OverflowError(
            f"cannot compute an exact variance: the integer values span [{low}, "
            f"{high}], wider than +/-{2**63 - 1}, so centering each group on its first "
            "value would overflow the signed 64-bit deviation - cast the input to a "
            "float dtype first"
        )
    first = segment_reduce(a, ids, size, op="first")
    with np.errstate(over="ignore"):
        return (a - first[ids]).view(np.int64).astype(np.float64)


def fold_std(ids, a, size, fill, dtype, ddof=0):
    """Square roots of variances."""
    ret = np.sqrt(fold_var(ids, a, size, np.nan, WIDE["f"], ddof))
    if fill == fill:
        ret[counts_of(ids, size) <= ddof] = fill
    return ret.astype(dtype, copy=False)


def truth(op):
    """Make all or any."""

    def fold(ids, a, size, fill, dtype):
        ret = reduce(a.astype(bool), ids, size, "and" if op == "all" else "or")
        return fill_absent(ret, ids, bool(fill), op == "all")

    return fold


def truth_of_nan(op):
    """Make allnan or anynan."""

    def fold(ids, a, size, fill, dtype):
        return truth(op)(ids, np.isnan(a), size, fill, dtype)

    return fold


def fold_squares(ids, a, size, fill, dtype):
    """Sums of squared magnitudes."""
    if a.dtype.kind == "c":
        squares = a.real.astype(np.float64) ** 2 + a.imag.astype(np.float64) ** 2
    else:
        whole = a.dtype.kind in "iub" and dtype.kind in "iu"
        a = a.astype(np.int64 if whole else np.float64)
        squares = a * a
    ret = segment_reduce(squares, ids, size).astype(dtype, copy=False)
    return fill_absent(ret, ids, fill, 0)


def fold_trapezoid(ids, a, size, fill, dtype, dx=1.0):
    """Integrals: the sum less half of the ends, and 0 for a single sample."""
    a = a.astype(WIDE["c" if a.dtype.kind == "c" else "f"], copy=False)
    total, first, last = segment_reduce(a, ids, size, op=("add", "first", "last"))
    counts = counts_of(ids, size)
    ret = (total - 0.5 * (first + last)) * dx
    ret[counts < 2] = 0
    ret[counts == 0] = fill
    return ret.astype(dtype, copy=False)


def moments(ids, a, size):
    """Return counts and the sums of the second to fourth powers of deviations."""
    if a.dtype.kind == "c":
        raise TypeError("the skewness and the kurtosis are not defined for complex")
    if a.dtype.kind in "iu":
        check_mean(a)
    a = a.astype(np.float64)
    deviations = a - segment_reduce(a, ids, size, op="mean")[ids]
    powers = [deviations**k for k in (2, 3, 4)]
    sums = [segment_reduce(power, ids, size) for power in powers]
    return counts_of(ids, size).astype(float), *sums


@np.errstate(all="ignore")
def fold_skew(ids, a, size, fill, dtype):
    """Skewness, corrected for the number of entries; NaN below three of them."""
    n, s2, s3, _ = moments(ids, a, size)
    ret = n * np.sqrt(n - 1) / (n - 2) * s3 / s2**1.5
    return finish_moment(ret, n, s2, 3, fill).astype(dtype, copy=False)


@np.errstate(all="ignore")
def fold_kurt(ids, a, size, fill, dtype):
    """Excess kurtosis, corrected for the number of entries; NaN below four of them."""
    n, s2, _, s4 = moments(ids, a, size)
    pairs = (n - 2) * (n - 3)
    ret = n * (n + 1) * (n - 1) * s4 / (pairs * s2**2) - 3 * (n - 1) ** 2 / pairs
    return finish_moment(ret, n, s2, 4, fill).astype(dtype, copy=False)


def finish_moment(ret, n, s2, least, fill):
    """Return 0 for groups without spread, NaN for small ones, and the fill value."""
    ret = np.where(s2 == 0, 0.0, ret)
    ret = np.where(n >= least, ret, np.nan)
    return np.where(n > 0, ret, fill)


FOLDS = {
    "sum": fold_sum,
    "prod": fold_prod,
    "len": fold_len,
    "first": pick("first", 0),
    "last": pick("set", -1),
    "min": extreme("min"),
    "max": extreme("max"),
    "argmin": arg("min"),
    "argmax": arg("max"),
    "mean": fold_mean,
    "var": fold_var,
    "std": fold_std,
    "all": truth("all"),
    "any": truth("any"),
    "allnan": truth_of_nan("all"),
    "anynan": truth_of_nan("any"),
    "sumofsquares": fold_squares,
    "trapezoid": fold_trapezoid,
    "skew": fold_skew,
    "kurt": fold_kurt,
}
