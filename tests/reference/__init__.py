"""Slow twins of pyscatter's functions: plain Python loops that are obviously right.

Every test compares with these. They follow the written rules and nothing else, and are
themselves compared with NumPy wherever NumPy means the same.
"""

from .gather import gather, gather_along_axis, gather_at, gather_nd
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

__all__ = [
    "add_at",
    "bitwise_and_at",
    "bitwise_or_at",
    "bitwise_xor_at",
    "divide_at",
    "floor_divide_at",
    "fmax_at",
    "fmin_at",
    "gather",
    "gather_along_axis",
    "gather_at",
    "gather_nd",
    "maximum_at",
    "minimum_at",
    "multiply_at",
    "scatter",
    "scatter_along_axis",
    "scatter_at",
    "scatter_nd",
    "subtract_at",
]
