"""Slow twins of pyscatter's functions: plain Python loops that are obviously right.

Every test compares with these. They follow the written rules and nothing else, and are
themselves compared with NumPy wherever NumPy means the same.
"""

from .bins import bin_index, binned_reduce
from .change import change_stats
from .gather import gather, gather_along_axis, gather_at, gather_nd
from .histogram import histogram
from .keys import factorize, group_reduce
from .nonzero import argwhere, count_nonzero, flatnonzero, nonzero
from .plan import Plan
from .scatter import (
    add_at,
    bitwise_and_at,
    bitwise_or_at,
    bitwise_xor_at,
    divide_at,
    floor_divide_at,
    fmax_at,
    fmin_at,
    maximum_at,
    minimum_at,
    multiply_at,
    scatter,
    scatter_along_axis,
    scatter_at,
    scatter_nd,
    subtract_at,
)
from .segment import segment_reduce
from .segment_kin import (
    bincount,
    segment_expand,
    segment_log_softmax,
    segment_scan,
    segment_softmax,
)
from .spmm import sddmm, spmm
from .where import apply_where, gather_where, scatter_where, where

__all__ = [
    "Plan",
    "add_at",
    "apply_where",
    "argwhere",
    "bin_index",
    "bincount",
    "binned_reduce",
    "bitwise_and_at",
    "bitwise_or_at",
    "bitwise_xor_at",
    "change_stats",
    "count_nonzero",
    "divide_at",
    "factorize",
    "flatnonzero",
    "floor_divide_at",
    "fmax_at",
    "fmin_at",
    "gather",
    "gather_along_axis",
    "gather_at",
    "gather_nd",
    "gather_where",
    "group_reduce",
    "histogram",
    "maximum_at",
    "minimum_at",
    "multiply_at",
    "nonzero",
    "scatter",
    "scatter_along_axis",
    "scatter_at",
    "scatter_nd",
    "scatter_where",
    "sddmm",
    "segment_expand",
    "segment_log_softmax",
    "segment_reduce",
    "segment_scan",
    "segment_softmax",
    "spmm",
    "subtract_at",
    "where",
]
