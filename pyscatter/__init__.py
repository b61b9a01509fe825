"""Indexed updates for NumPy: exact, safe, deterministic and fast scatter and gather.

Public names only; each module documents its family.
"""

from pyscatter.accumulate import GradientAccumulator
from pyscatter.assembly import AssemblyPlan, coo_to_csr
from pyscatter.autodiff import RowSparse, Tape, jacobian, jvp, linear_operator, vjp
from pyscatter.bincount import bincount
from pyscatter.bins import Binned, bin_index, binned_reduce
from pyscatter.change import ChangeStats, change_stats
from pyscatter.delta import Delta, delta
from pyscatter.explain import explain_diff
from pyscatter.gather import gather, gather_along_axis, gather_at, gather_nd
from pyscatter.histogram import Histogram, histogram
from pyscatter.keys import factorize, group_reduce
from pyscatter.nonzero import argwhere, count_nonzero, flatnonzero, nonzero
from pyscatter.plan import Plan
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
from pyscatter.segment import (
    segment_max,
    segment_mean,
    segment_min,
    segment_prod,
    segment_reduce,
    segment_sum,
)
from pyscatter.segment_entries import (
    segment_cumsum,
    segment_expand,
    segment_log_softmax,
    segment_scan,
    segment_softmax,
)
from pyscatter.sparse import COO, CSC, CSR
from pyscatter.spgemm import spgemm
from pyscatter.spmm import sddmm, spmm
from pyscatter.threads import (
    get_num_threads,
    num_threads,
    set_num_threads,
    show_config,
)
from pyscatter.tracker import ChangeTracker
from pyscatter.tracker_set import TrackerSet
from pyscatter.where import apply_where, gather_where, scatter_where, where

__version__ = "0.1.0"

__all__ = [
    "AssemblyPlan",
    "Binned",
    "COO",
    "CSC",
    "CSR",
    "ChangeStats",
    "ChangeTracker",
    "Delta",
    "GradientAccumulator",
    "Histogram",
    "Plan",
    "RowSparse",
    "Tape",
    "TrackerSet",
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
    "coo_to_csr",
    "count_nonzero",
    "delta",
    "divide_at",
    "explain_diff",
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
    "get_num_threads",
    "group_reduce",
    "histogram",
    "jacobian",
    "jvp",
    "linear_operator",
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
    "sddmm",
    "segment_cumsum",
    "segment_expand",
    "segment_log_softmax",
    "segment_max",
    "segment_mean",
    "segment_min",
    "segment_prod",
    "segment_reduce",
    "segment_scan",
    "segment_softmax",
    "segment_sum",
    "set_num_threads",
    "show_config",
    "spgemm",
    "spmm",
    "subtract_at",
    "vjp",
    "where",
]
