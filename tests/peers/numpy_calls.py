"""What both halves of NumPy's adapter share: the count of calls, and what is moved."""

from collections import Counter

import numpy as np

calls = Counter()


def reached(name):
    """Count a call that reaches pyscatter, before it can raise."""
    calls[name] += 1


def moved(a):
    """Say whether pyscatter promises to move elements of this array."""
    return a.dtype.num < 24 and not isinstance(a, np.ma.MaskedArray)
