"""How products are compared: bit for bit, but for which NaN it is."""

import numpy as np


def assert_same(actual, expected, context=""):
    """Same dtype, shape and bits; one NaN is as good as another."""
    assert actual.dtype == expected.dtype, context
    assert actual.shape == expected.shape, context
    real = actual.dtype.type(0).real.dtype if actual.dtype.kind == "c" else actual.dtype
    one, other = (
        np.ascontiguousarray(x).reshape(-1).view(real) for x in (actual, expected)
    )
    missing = (one != one) & (other != other)
    bits = np.dtype(f"u{real.itemsize}")
    same = missing | (one.view(bits) == other.view(bits))
    assert same.all(), f"{context}: {one[~same][:3]} should be {other[~same][:3]}"
