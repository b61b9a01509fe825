"""Arithmetic on two scalars of one dtype: what each op does to old and arriving value.

NumPy scalars wrap, round and propagate as arrays do; where NumPy leaves a case open
(signed zeros in min and max) or may contract (complex products), it is spelled out.
"""

import operator

import numpy as np

from .values import kind_of


def is_missing(x):
    """Is x a NaN or NaT?"""
    return bool(np.isnat(x)) if x.dtype.kind in "mM" else bool(x != x)


def precedes(x, y):
    """Is x below y, where -0.0 is below +0.0?"""
    if x.dtype.kind != "f":
        return x < y
    return x < y or (x == y and np.signbit(x) and not np.signbit(y))


def least(x, y):
    """Return the smaller of two; a NaN wins."""
    if is_missing(x) or is_missing(y):
        return x if is_missing(x) else y
    return y if precedes(y, x) else x


def greatest(x, y):
    """Return the larger of two; a NaN wins."""
    if is_missing(x) or is_missing(y):
        return x if is_missing(x) else y
    return y if precedes(x, y) else x


def least_number(x, y):
    """Return the smaller of two; a NaN loses."""
    if is_missing(x) or is_missing(y):
        return y if is_missing(x) else x
    return least(x, y)


def greatest_number(x, y):
    """Return the larger of two; a NaN loses."""
    if is_missing(x) or is_missing(y):
        return y if is_missing(x) else x
    return greatest(x, y)


def complex_of(re, im):
    """Return re + i im without any arithmetic."""
    return np.stack([re, im]).view(np.result_type(re, np.complex64))[0]


def times(x, y):
    """Return the product; complex: each product is rounded before it is added."""
    if x.dtype.kind != "c":
        return x * y
    a, b, c, d = x.real, x.imag, y.real, y.imag
    return complex_of(a * c - b * d, a * d + b * c)


def over(x, y):
    """Return the quotient; complex: Smith's method with the reciprocal, as NumPy."""
    if x.dtype.kind != "c":
        return x / y
    a, b, c, d = x.real, x.imag, y.real, y.imag
    one = type(c)(1)
    if c == 0 and d == 0:
        return complex_of(a / abs(c), b / abs(c))
    if abs(c) >= abs(d):
        ratio = d / c
        scale = one / (c + d * ratio)
        return complex_of((a + b * ratio) * scale, (b - a * ratio) * scale)
    ratio = c / d
    scale = one / (d + c * ratio)
    return complex_of((a * ratio + b) * scale, (b * ratio - a) * scale)


def floor_over(x, y):
    """Return the quotient rounded down; integers: 0 for a zero divisor, wraps."""
    if x.dtype.kind == "f":
        return np.floor_divide(x, y)
    quotient = int(x) // int(y) if y != 0 else 0
    return np.array(quotient, object).astype(x.dtype)[()] if fits(quotient, x) else x


def fits(number, x):
    """Does the integer fit the dtype of x? Only INT_MIN // -1 does not."""
    return np.iinfo(x.dtype).min <= number <= np.iinfo(x.dtype).max


def in_ticks(operate):
    """Make an operation that, on times, is the one on integers: it wraps.

    NumPy says so for the sums of times before 2.5, and raises from then on.
    """

    def result(x, y):
        if x.dtype.kind != "m":
            return operate(x, y)
        if is_missing(x) or is_missing(y):
            return np.array("NaT", x.dtype)[()]
        return operate(x.view(np.int64), y.view(np.int64)).view(x.dtype)

    return result


COMBINE = {
    "add": in_ticks(operator.add),
    "sub": in_ticks(operator.sub),
    "mul": times,
    "div": over,
    "floor_div": floor_over,
    "min": least,
    "max": greatest,
    "fmin": least_number,
    "fmax": greatest_number,
    "and": lambda x, y: x & y,
    "or": lambda x, y: x | y,
    "xor": lambda x, y: x ^ y,
}
COMPLEX_ORDER = {
    "min": np.minimum,
    "max": np.maximum,
    "fmin": np.fmin,
    "fmax": np.fmax,
}


def combiner(op, dtype):
    """Return the function of two scalars for `op`; complex order is NumPy's."""
    if kind_of(dtype) == "complex" and op in COMPLEX_ORDER:
        return COMPLEX_ORDER[op]
    return COMBINE[op]


def neumaier_part(start, arrivals, sign):
    """Sum real numbers, carrying what each addition rounds away.

    A sum that stopped being finite, or lost nothing, stays as plain summation gives it:
    of nothing but -0.0, -0.0.
    """
    total, rest = start, type(start)(0)
    for value in arrivals:
        value = value if sign > 0 else -value
        after = total + value
        if abs(total) >= abs(value):
            rest = rest + ((total - after) + value)
        else:
            rest = rest + ((value - after) + total)
        total = after
    return total + rest if np.isfinite(total) and rest != 0 else total


def neumaier(start, arrivals, sign):
    """Compensated sum; the parts of complex numbers are summed separately."""
    if start.dtype.kind != "c":
        return neumaier_part(start, arrivals, sign)
    re = neumaier_part(start.real, [value.real for value in arrivals], sign)
    im = neumaier_part(start.imag, [value.imag for value in arrivals], sign)
    return complex_of(re, im)


def divide_by_count(total, count, result):
    """Return the mean: a sum over a count, for the `result` dtype.

    Integers are floored; times are divided as np.mean does.
    """
    kind = kind_of(total.dtype)
    if kind_of(result) == "int":
        exact = int(total) // count if kind == "int" else np.floor(total / count)
        return np.array(exact).astype(result)[()]
    if kind == "int":
        return np.float64(total) / np.float64(count)
    if kind == "timedelta":
        return total / np.int64(count)
    if kind == "complex":
        part = type(total.real)(count)
        return complex_of(total.real / part, total.imag / part)
    return total / type(total)(count)
