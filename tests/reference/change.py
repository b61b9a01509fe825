"""The slow twin of the change family: one pair of elements after the other.

Same names, signature and exceptions as pyscatter's public function. Counts are exact;
sums are those of exact fractions, rounded once, so that the library's may differ in the
last places of the type that it sums in.
"""

import math
from types import SimpleNamespace

import numpy as np

from .addressing import check_axis, refuse_masked

MEASURED = "biufc"


def bits(array):
    """Return the bit pattern of each element, in C order; bools are truths."""
    native = array.astype(array.dtype.newbyteorder("="), order="C").ravel()
    if native.dtype == np.bool_:
        return [bytes([bool(x)]) for x in native]
    return [native[i : i + 1].tobytes() for i in range(native.size)]


def as_numbers(array, view):
    """Return the array as Python numbers in C order, and whether it is complex."""
    if view == "bfloat16":
        wide = array.astype(np.uint32) << 16
        return [float(x) for x in np.ascontiguousarray(wide).view(np.float32).ravel()]
    if array.dtype.kind == "c":
        return [complex(x) for x in array.ravel()]
    if array.dtype.kind in "biu":
        return [int(x) for x in array.ravel()]
    return [float(x) for x in array.astype(np.float64).ravel()]


def rounding(array, view):
    """Return the type that differences are rounded to: float32 or float64."""
    name = "bfloat16" if view else array.dtype.name
    return np.float32 if name in NARROW else np.float64


NARROW = ("float16", "bfloat16", "float32", "complex64")


def part_difference(old, new, narrow):
    """Subtract as floats of a type do, or as float64 where that overflows."""
    if isinstance(old, int):
        return float(new - old)
    near = float(narrow(new) - narrow(old))
    return near if math.isfinite(near) else float(np.float64(new) - np.float64(old))


def difference(old, new, narrow):
    """Return new - old."""
    if isinstance(old, complex):
        re = part_difference(old.real, new.real, narrow)
        return complex(re, part_difference(old.imag, new.imag, narrow))
    return part_difference(old, new, narrow)


def is_nan(x):
    """Whether a number, or a part of it, is NaN."""
    return x != x


def is_finite(x):
    """Whether a number and its parts are finite."""
    if isinstance(x, complex):
        return math.isfinite(x.real) and math.isfinite(x.imag)
    return isinstance(x, int) or math.isfinite(x)


def is_over(old, new, diff, atol, rtol, narrow):
    """numpy.isclose with `old` as reference, NaN being equal to NaN; negated."""
    if old == new or (is_nan(old) and is_nan(new)):
        return False
    if not is_finite(old):
        return True
    if isinstance(old, int):
        limit = atol + rtol * abs(float(old))
        return not limit >= abs(new - old)
    limit = narrow(atol) + narrow(rtol) * narrow(abs(old))
    return not narrow(abs(diff)) <= limit


def total(values):
    """Sum floats exactly, or as IEEE has it where some are not finite."""
    values = [float(v) for v in values]
    try:
        return math.fsum(values)
    except (OverflowError, ValueError):
        return float(np.sum(values))


def moments(values):
    """Return n, mean and summed squared distances; complex numbers by parts."""
    n = len(values)
    if n == 0:
        return 0, math.nan, 0.0
    if any(isinstance(v, complex) for v in values):
        _, re, m2_re = moments([v.real for v in values])
        _, im, m2_im = moments([v.imag for v in values])
        return n, complex(re, im), m2_re + m2_im
    mean = total(values) / n
    rest = [float(v) - mean for v in values]
    return n, mean, total([x * x for x in rest])


def squares(values):
    """Sum |x|^2."""
    parts = [complex(v) for v in values]
    return total([v.real * v.real + v.imag * v.imag for v in parts])


def largest(values, best):
    """Return an extreme and its position; the first NaN wins."""
    for i, v in enumerate(values):
        if is_nan(v):
            return math.nan, i
    return (best(values), values.index(best(values))) if values else (math.nan, -1)


def check(old, new, view, name="old"):
    """Raise what the arguments call for."""
    for array, label in ((old, name), (new, "new")):
        kind = array.dtype.kind
        is_bf16 = array.dtype.name == "bfloat16"
        if view == "bfloat16" and array.dtype.newbyteorder("=") != np.uint16:
            raise TypeError(f"{label}: view")
        if array.dtype.char in "gG" or (kind not in MEASURED and not is_bf16):
            raise TypeError(f"{label}: dtype")
    if old.dtype.newbyteorder("=") != new.dtype.newbyteorder("="):
        raise ValueError("dtypes")
    if old.shape != new.shape:
        raise ValueError("shapes")


def change_stats(
    old,
    new,
    *,
    axis=0,
    atol=0,
    rtol=0,
    per_row=False,
    per_feature=False,
    finite_only=False,
    view=None,
    copy_new_to=None,
):
    """Compare pair by pair."""
    for a in (old, new):
        refuse_masked(a)
    old, new = np.asarray(old), np.asarray(new)
    if view not in (None, "bfloat16"):
        raise ValueError("view")
    if not atol >= 0 or not rtol >= 0:
        raise ValueError("tolerance")
    check(old, new, view)
    if new.ndim or per_row or per_feature:
        axis = check_axis(axis, new.ndim)
    result = measure(old, new, atol, rtol, finite_only, view)
    rows = [np.moveaxis(a, axis, 0) if a.ndim else a for a in (old, new)]
    if per_row:
        add_rows(result, rows, finite_only, view)
    if per_feature:
        add_features(result, rows, finite_only, view)
    if copy_new_to is not None:
        copy_new_to[...] = new
    return result


def add_rows(result, rows, finite_only, view):
    """Compare row by row."""
    parts = [measure(o, n, 0, 0, finite_only, view) for o, n in zip(*rows, strict=True)]
    result.row_abs_sum = [p.sum_abs for p in parts]
    result.row_max_abs = [p.max_abs if p.n else 0.0 for p in parts]
    result.row_changed = [p.n_changed > 0 for p in parts]
    result.changed_rows = [i for i, p in enumerate(parts) if p.n_changed]


def add_features(result, rows, finite_only, view):
    """Compare place by place."""
    flat = [a.reshape(a.shape[0], int(np.prod(a.shape[1:]))).T for a in rows]
    parts = [measure(o, n, 0, 0, finite_only, view) for o, n in zip(*flat, strict=True)]
    result.feature_mean = [p.mean for p in parts]
    result.feature_m2 = [p.m2 if p.n else math.nan for p in parts]
    result.feature_max_abs = [p.max_abs for p in parts]
    result.feature_n_changed = [p.n_changed for p in parts]
    result.feature_new_mean = [p.new_mean for p in parts]
    result.feature_new_m2 = [p.new_m2 if p.n_new else math.nan for p in parts]
    result.n_dead = sum(0 < p.n_zero == p.n_compared for p in parts)


@np.errstate(all="ignore")
def measure(old, new, atol, rtol, finite_only, view):
    """Return all scalar fields of a pair of arrays."""
    narrow = rounding(new, view)
    pairs = list(zip(as_numbers(old, view), as_numbers(new, view), strict=True))
    diffs = [difference(o, n, narrow) for o, n in pairs]
    r = SimpleNamespace(n_compared=len(pairs))
    both = zip(bits(old), bits(new), strict=True)
    r.n_changed = sum(a != b for a, b in both)
    r.frac_changed = r.n_changed / len(pairs) if pairs else 0.0
    r.n_over_tol = sum(
        is_over(o, n, diffs[i], atol, rtol, narrow) for i, (o, n) in enumerate(pairs)
    )
    is_complex = new.dtype.kind == "c"
    count(r, pairs, is_complex)
    keep = [not finite_only or (is_finite(o) and is_finite(n)) for o, n in pairs]
    places = [i for i, kept in enumerate(keep) if kept]
    r.n_skipped = len(pairs) - len(places)
    describe_difference(r, [diffs[i] for i in places], places, is_complex)
    describe_arrays(r, [pairs[i] for i in places])
    levels = [n for _, n in pairs if not finite_only or is_finite(n)]
    describe_new(r, levels, is_complex)
    return r


def count(r, pairs, is_complex):
    """Count what new elements are, and how they differ from the old ones."""
    r.n_changed_value = sum(not (o == n or (is_nan(o) and is_nan(n))) for o, n in pairs)
    r.n_zero = sum(n == 0 for _, n in pairs)
    r.n_became_zero = sum(n == 0 and o != 0 for o, n in pairs)
    r.n_left_zero = sum(o == 0 and n != 0 for o, n in pairs)
    r.n_nan = sum(is_nan(n) for _, n in pairs)
    infinite = [n for _, n in pairs if not is_nan(n) and not is_finite(n)]
    r.n_posinf = sum(math.inf in (complex(n).real, complex(n).imag) for n in infinite)
    r.n_neginf = len(infinite) - r.n_posinf
    odd = [i for i, (_, n) in enumerate(pairs) if not is_finite(n)]
    r.first_nonfinite = (0, odd[0]) if odd else None
    r.n_sign_flips = 0
    if not is_complex:
        r.n_sign_flips = sum(
            o != 0 and n != 0 and math.copysign(1, o) != math.copysign(1, n)
            for o, n in pairs
        )


def describe_difference(r, d, places, is_complex):
    """Describe the differences that count, which stand at `places`."""
    r.n, r.mean, r.m2 = moments(d)
    r.var = r.m2 / r.n if r.n else math.nan
    sizes = [math.hypot(complex(x).real, complex(x).imag) for x in d]
    r.sum_abs = total(sizes)
    r.mean_abs = r.sum_abs / r.n if r.n else math.nan
    r.l2 = math.sqrt(squares(d))
    r.rms = math.sqrt(squares(d) / r.n) if r.n else math.nan
    r.max_abs, at = largest(sizes, max)
    r.argmax_abs = places[at] if at >= 0 else -1
    real = not is_complex and bool(d)
    r.min = largest(d, min)[0] if real else math.nan
    r.max = largest(d, max)[0] if real else math.nan


def describe_arrays(r, pairs):
    """Norms and what follows from them."""
    r.old_norm = math.sqrt(squares([o for o, _ in pairs]))
    r.new_norm = math.sqrt(squares([n for _, n in pairs]))
    r.dot = dot(pairs)
    r.rel_change = relative(r.l2, r.old_norm)


def describe_new(r, levels, is_complex):
    """Describe the elements of the new array that count."""
    r.n_new, r.new_mean, r.new_m2 = moments(levels)
    r.new_var = r.new_m2 / r.n_new if r.n_new else math.nan
    real = not is_complex and bool(levels)
    r.new_min = float(largest(levels, min)[0]) if real else math.nan
    r.new_max = float(largest(levels, max)[0]) if real else math.nan


def dot(pairs):
    """Sum re(conj(old) * new)."""
    terms = []
    for o, n in pairs:
        o, n = complex(o), complex(n)
        terms.append(float(np.float64(o.real) * n.real + np.float64(o.imag) * n.imag))
    return total(terms)


def relative(l2, old_norm):
    """l2 / old_norm, 0 / 0 being 0."""
    if l2 == 0 and old_norm == 0:
        return 0.0
    return float(np.float64(l2) / np.float64(old_norm))
