"""Indexed updates for NumPy: exact, safe, deterministic and fast scatter and gather.

Public names only; each module documents its family.
"""

from pyscatter.gather import gather, gather_along_axis, gather_at, gather_nd
from pyscatter.nonzero import argwhere, count_nonzero, flatnonzero, nonzero
from pyscatter.scatter import (
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
from pyscatter.threads import (
    get_num_threads,
    num_threads,
    set_num_threads,
    show_config,
)
from pyscatter.where import apply_where, gather_where, scatter_where, where

__version__ = "0.1.0"

__all__ = [
    "add_at",
    "apply_where",
    "argwhere",
    "bitwise_and_at",
    "bitwise_or_at",
    "bitwise_xor_at",
    "count_nonzero",
    "divide_at",
    "flatnonzero",
    "floor_divide_at",
    "fmax_at",
    "fmin_at",
    "gather",
    "gather_along_axis",
    "gather_at",
    "gather_nd",
    "gather_where",
    "get_num_threads",
    "maximum_at",
    "minimum_at",
    "multiply_at",
    "nonzero",
    "num_threads",
    "scatter",
    "scatter_along_axis",
    "scatter_at",
    "scatter_nd",
    "scatter_where",
    "set_num_threads",
    "show_config",
    "subtract_at",
    "where",
]
