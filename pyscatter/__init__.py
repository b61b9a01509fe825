"""Indexed updates for NumPy: exact, safe, deterministic and fast scatter and gather.

Public names only; each module documents its family.
"""

from pyscatter.gather import gather, gather_along_axis, gather_at, gather_nd
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

__version__ = "0.1.0"

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
    "get_num_threads",
    "maximum_at",
    "minimum_at",
    "multiply_at",
    "num_threads",
    "scatter",
    "scatter_along_axis",
    "scatter_at",
    "scatter_nd",
    "set_num_threads",
    "show_config",
    "subtract_at",
]
