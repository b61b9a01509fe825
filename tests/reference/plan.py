"""The slow twin of the plan family: every entry settled, one after the other.

Calls with a plan have no twin of their own: they give the bits of the plain calls.
"""

import math
import operator

import numpy as np

from .addressing import SCATTER_MODES, as_index, check_mode, settle_all


class Plan:
    """The rows that an index names on an axis, and what can be said of them."""

    def __init__(self, index, size, *, mode="raise"):
        index = as_index(index)
        self.size = operator.index(size)
        if self.size < 0:
            raise ValueError(f"size must not be negative, got {size}")
        check_mode(mode, SCATTER_MODES)
        self.mode = mode
        self.shape = index.shape
        self.n = math.prod(index.shape)
        settled = settle_all(index, self.size, 0, mode, [True] * self.n, "index")
        kept = [row for row in settled.ravel().tolist() if row is not None]
        self.rows = np.array(
            [-1 if row is None else row for row in settled.ravel().tolist()], np.int64
        ).reshape(index.shape)
        self.n_dropped = self.n - len(kept)
        self.n_rows = len(set(kept))
        self.min = min(kept, default=None)
        self.max = max(kept, default=None)
        self.is_sorted = kept == sorted(kept)
        self.is_unique = len(set(kept)) == len(kept)
        self.has_negative = any(value < 0 for value in index.ravel().tolist())
