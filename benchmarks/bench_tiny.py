"""Ten elements: ``python -m benchmarks.bench_tiny``, what a call costs before it works.

A row for every public function with its defaults, and rows with options. The aims are
those of the house: half a microsecond for a plain call, 0.8 for a product with a sparse
matrix, whose attributes are asked for, three for any option, two for a delta; a report
in words takes longer. The twin
is NumPy's shortest way to the same answer, where there is one; both take turns.
"""

import argparse
import sys
from collections.abc import Callable
from functools import partial
from statistics import median
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

import pyscatter as ps
from benchmarks.harness import describe, restart_clean
from pyscatter.bench import OURS, Way, measure

PLAIN_US, PRODUCT_US, OPTION_US = 0.5, 0.8, 3.0
N, SIZE = 10, 5
IDS = np.array([0, 3, 1, 3, 4, 0, 0, 2, 1, 4])
OFFSETS = np.array([0, 2, 5, 6, 8, 10])
A, V = np.zeros(SIZE), np.linspace(0.25, 2.5, N)
MASK = np.arange(N) % 3 == 0
PLAN = ps.Plan(IDS, SIZE)
CHANGE = ps.change_stats(V, V)
TABLE = np.arange(20.0).reshape(SIZE, 4)
COLUMNS = np.array([[1, 0, 3, 2]] * SIZE)
PAIRS = np.stack([IDS, IDS % 4], axis=-1)
COLUMN = IDS[:, None] % 4
STARTS, STOPS = OFFSETS[:-1], OFFSETS[1:]
MATRIX = SimpleNamespace(
    format="csr", shape=(SIZE, SIZE), data=V, indices=IDS, indptr=OFFSETS
)
SQUARE = np.ones((SIZE, SIZE))
CORNERS = np.arange(N + 1, dtype=np.int32)
ENTRIES = IDS.astype(np.int32), CORNERS
PRODUCT = ps.CSR((V, *ENTRIES), (N, N))


class Row(NamedTuple):
    """One call; `us` is the aim in microseconds."""

    function: str
    options: str
    us: float
    ours: Callable
    twin: Callable | None = None

    @property
    def name(self):
        """The call as the table shows it."""
        return f"{self.function}({self.options})"


def plain(function, ours, twin=None):
    """A call with its defaults."""
    return Row(function, "", PLAIN_US, ours, twin)


def option(function, options, ours, twin=None):
    """A call with an option."""
    return Row(function, options, OPTION_US, ours, twin)


def drop_in(name, ufunc, dtype=np.float64):
    """A drop-in for ufunc.at beside the ufunc's own."""
    a, values = A.astype(dtype) + 1, (V + 1).astype(dtype)
    twin = partial(ufunc.at, a.copy(), IDS, values)
    return plain(name, partial(getattr(ps, name), a, IDS, values), twin)


def by_ids(name, op, twin=None):
    """A reduction by ids."""
    function = getattr(ps, name)
    if name == "segment_reduce":
        return option(name, f"op={op!r}", partial(function, V, IDS, SIZE, op=op), twin)
    return plain(name, partial(function, V, IDS, SIZE), twin)


def by_offsets(name, ufunc):
    """A reduction by offsets beside reduceat."""
    ours = partial(getattr(ps, name), V, offsets=OFFSETS)
    return Row(name, "offsets=", PLAIN_US, ours, partial(ufunc.reduceat, V, STARTS))


def copied(update):
    """What NumPy does in place, to a copy."""

    def work():
        a = A.copy()
        update(a)
        return a

    return work


DROP_INS = (
    drop_in("add_at", np.add),
    drop_in("subtract_at", np.subtract),
    drop_in("multiply_at", np.multiply),
    drop_in("divide_at", np.divide),
    drop_in("floor_divide_at", np.floor_divide),
    drop_in("maximum_at", np.maximum),
    drop_in("minimum_at", np.minimum),
    drop_in("fmax_at", np.fmax),
    drop_in("fmin_at", np.fmin),
    drop_in("bitwise_and_at", np.bitwise_and, np.int64),
    drop_in("bitwise_or_at", np.bitwise_or, np.int64),
    drop_in("bitwise_xor_at", np.bitwise_xor, np.int64),
)
UPDATES = (
    plain(
        "scatter",
        partial(ps.scatter, A, IDS, V, op="add"),
        copied(lambda a: np.add.at(a, IDS, V)),
    ),
    option("scatter", "out=a", partial(ps.scatter, A, IDS, V, out=A)),
    option("scatter", "mode='drop'", partial(ps.scatter, A, IDS, V, mode="drop")),
    option("scatter", "op='mean'", partial(ps.scatter, A, IDS, V, op="mean")),
    option("scatter", "where=", partial(ps.scatter, A, IDS, V, where=MASK)),
    option("scatter", "plan", partial(ps.scatter, A, PLAN, V, op="add")),
    plain("scatter_nd", partial(ps.scatter_nd, TABLE, PAIRS, V, op="add")),
    plain("scatter_at", partial(ps.scatter_at, A, IDS, V, op="add")),
    plain(
        "scatter_along_axis",
        partial(ps.scatter_along_axis, TABLE, COLUMNS, TABLE),
        lambda: np.put_along_axis(TABLE.copy(), COLUMNS, TABLE, 1),
    ),
    plain("scatter_where", partial(ps.scatter_where, V, MASK, 1.0)),
)
LOOKS = (
    plain("gather", partial(ps.gather, A, IDS), partial(A.take, IDS)),
    option(
        "gather",
        "mode='fill'",
        partial(ps.gather, A, IDS, mode="fill", fill_value=np.nan),
    ),
    plain(
        "gather_nd",
        partial(ps.gather_nd, TABLE, PAIRS),
        lambda: TABLE[IDS, PAIRS[:, 1]],
    ),
    plain("gather_at", partial(ps.gather_at, A, IDS), lambda: A[IDS]),
    plain(
        "gather_along_axis",
        partial(ps.gather_along_axis, TABLE, COLUMNS),
        partial(np.take_along_axis, TABLE, COLUMNS, 1),
    ),
    plain(
        "gather_where",
        partial(ps.gather_where, V, MASK),
        partial(np.compress, MASK, V),
    ),
    plain("where", partial(ps.where, MASK, V, 0.0), partial(np.where, MASK, V, 0.0)),
    option("apply_where", "", partial(ps.apply_where, MASK, V, np.negative, np.square)),
    plain("nonzero", partial(ps.nonzero, MASK), partial(np.nonzero, MASK)),
    plain("flatnonzero", partial(ps.flatnonzero, MASK), partial(np.flatnonzero, MASK)),
    plain("argwhere", partial(ps.argwhere, MASK), partial(np.argwhere, MASK)),
    plain(
        "count_nonzero",
        partial(ps.count_nonzero, MASK),
        partial(np.count_nonzero, MASK),
    ),
    option("Plan", "ids, size", partial(ps.Plan, IDS, SIZE)),
    Row(
        "explain_diff",
        "",
        60.0,
        partial(ps.explain_diff, V, V + MASK),
        partial(np.isclose, V, V + MASK),
    ),
    Row("delta", "", 2.0, partial(ps.delta, V, V + MASK)),
    option(
        "Delta",
        "parts",
        partial(ps.Delta, (N,), V.dtype, None, None, "auto", IDS[:2], V[:2]),
    ),
)
SEGMENTS = (
    plain("bincount", partial(ps.bincount, IDS), partial(np.bincount, IDS)),
    option(
        "bincount",
        "weights",
        partial(ps.bincount, IDS, V),
        partial(np.bincount, IDS, V),
    ),
    option("histogram", "", partial(ps.histogram, V), partial(np.histogram, V)),
    option("histogram", "weights", partial(ps.histogram, V, 4, (0, 1), weights=V)),
    option("bin_index", "", partial(ps.bin_index, V, 2, (0, 1))),
    option("bin_index", "edges", partial(ps.bin_index, V, np.array([0.0, 0.5, 1.0]))),
    option("binned_reduce", "", partial(ps.binned_reduce, V, None, 2, (0, 1))),
    option("Binned", "", partial(ps.Binned, A, V, IDS)),
    option("Histogram", "", partial(ps.Histogram, *ps.histogram(V).__reduce__()[1])),
    option("binned_reduce", "op", partial(ps.binned_reduce, V, V, 2, (0, 1), op="add")),
    plain("segment_reduce", partial(ps.segment_reduce, V, IDS, SIZE)),
    by_ids("segment_sum", "add", partial(np.bincount, IDS, V, SIZE)),
    by_ids("segment_prod", "mul"),
    by_ids("segment_min", "min"),
    by_ids("segment_max", "max"),
    option("segment_mean", "", partial(ps.segment_mean, V, IDS, SIZE)),
    by_offsets("segment_sum", np.add),
    by_offsets("segment_min", np.minimum),
    by_offsets("segment_max", np.maximum),
    *(
        by_ids("segment_reduce", op)
        for op in ("count", "var", "std", "first", "any", "argmax", "logsumexp")
    ),
    by_ids("segment_reduce", "median"),
    option(
        "segment_reduce",
        "starts=, stops=",
        partial(ps.segment_reduce, V, starts=STARTS, stops=STOPS),
    ),
    option("segment_sum", "where=", partial(ps.segment_sum, V, IDS, SIZE, where=MASK)),
    option("segment_sum", "skipna", partial(ps.segment_sum, V, IDS, SIZE, skipna=True)),
    option("segment_sum", "weights=", partial(ps.segment_sum, V, IDS, SIZE, weights=V)),
    option(
        "segment_sum",
        "gather=",
        partial(ps.segment_sum, V, offsets=OFFSETS, gather=IDS),
    ),
    option("segment_sum", "plan", partial(ps.segment_sum, V, PLAN)),
    option("segment_softmax", "", partial(ps.segment_softmax, V, IDS, SIZE)),
    option("segment_log_softmax", "", partial(ps.segment_log_softmax, V, IDS, SIZE)),
    option("segment_scan", "", partial(ps.segment_scan, V, IDS)),
    option("segment_cumsum", "", partial(ps.segment_cumsum, V, IDS)),
    option("segment_expand", "", partial(ps.segment_expand, A, IDS)),
)
KEYS = (
    option(
        "factorize",
        "",
        partial(ps.factorize, IDS),
        partial(np.unique, IDS, return_inverse=True),
    ),
    option("factorize", "sort=False", partial(ps.factorize, IDS, sort=False)),
    option("factorize", "float64", partial(ps.factorize, V)),
    option("factorize", "str", partial(ps.factorize, V.astype("U12"))),
    option("factorize", "two keys", partial(ps.factorize, IDS, V)),
    option(
        "factorize",
        "return_first=, return_counts=",
        partial(ps.factorize, IDS, return_first=True, return_counts=True),
    ),
    option("group_reduce", "", partial(ps.group_reduce, V, IDS)),
    option("group_reduce", "op='mean'", partial(ps.group_reduce, V, IDS, op="mean")),
    option("group_reduce", "where=", partial(ps.group_reduce, V, IDS, where=MASK)),
)
PRODUCTS = (
    Row(
        "spmm", "", PRODUCT_US, partial(ps.spmm, MATRIX, A), partial(np.dot, SQUARE, A)
    ),
    option("spmm", "alpha=", partial(ps.spmm, MATRIX, A, alpha=2.0)),
    option("spmm", "op='mean'", partial(ps.spmm, MATRIX, A, op="mean")),
    option("spmm", "transpose", partial(ps.spmm, MATRIX, A, transpose=True)),
    Row("sddmm", "", PRODUCT_US, partial(ps.sddmm, MATRIX, TABLE, TABLE)),
)
SPARSE = (
    option("CSR", "", partial(ps.CSR, (V, *ENTRIES), (N, N))),
    option("CSC", "", partial(ps.CSC, (V, *ENTRIES), (N, N))),
    option("COO", "", partial(ps.COO, (V, (IDS, IDS)), (N, N))),
    option("coo_to_csr", "", partial(ps.coo_to_csr, V, (IDS, IDS), (N, N))),
    option("AssemblyPlan", "", partial(ps.AssemblyPlan, (IDS, IDS), (N, N))),
    option(
        "AssemblyPlan",
        "again",
        partial(ps.AssemblyPlan((IDS, IDS), (N, N)), V),
    ),
    option("spgemm", "", partial(ps.spgemm, PRODUCT, PRODUCT)),
)
FEW_ROWS = np.array([0, 3, 1]), np.ones((3, 4)), (SIZE, 4)
ADDED = ps.GradientAccumulator(SIZE)


def recorded():
    """A tape of one call."""
    tape = ps.Tape()
    return tape.apply(ps.gather, tape.variable(A), IDS)


DERIVATIVES = (
    Row("vjp", "gather", 2.5, partial(ps.vjp, ps.gather, A, IDS)),
    Row("vjp", "gather, called back", 4.0, lambda: ps.vjp(ps.gather, A, IDS)[1](V)),
    Row("jvp", "gather", 4.0, partial(ps.jvp, ps.gather, (A, IDS), (A, None))),
    Row("RowSparse", "", 12.0, partial(ps.RowSparse, *FEW_ROWS)),
    Row("GradientAccumulator", "add", 6.0, partial(ADDED.add, A)),
    Row("Tape", "variable, apply", 12.0, lambda: recorded().value),
    Row(
        "linear_operator",
        "gather",
        12.0,
        partial(ps.linear_operator, ps.gather, A, IDS),
    ),
    Row("jacobian", "gather", 60.0, partial(ps.jacobian, ps.gather, A, IDS)),
)
CHANGES = (
    option("change_stats", "", partial(ps.change_stats, V, V)),
    option("change_stats", "per_row", partial(ps.change_stats, V, V, per_row=True)),
    option("ChangeTracker", "update", partial(ps.ChangeTracker().update, V)),
    option("TrackerSet", "update", partial(ps.TrackerSet().update, {"v": V})),
    option("ChangeStats", "merge", partial(ps.ChangeStats.merge, [CHANGE, CHANGE])),
)
ROWS = (
    *DROP_INS,
    *UPDATES,
    *LOOKS,
    *SEGMENTS,
    *KEYS,
    *PRODUCTS,
    *SPARSE,
    *DERIVATIVES,
    *CHANGES,
)


def nanoseconds(row, rounds):
    """Medians of ours and of the twin, where there is one."""
    ways = {OURS: Way(row.ours)}
    if row.twin is not None:
        ways["NumPy"] = Way(row.twin)
    return {name: median(t) * 1e9 for name, t in measure(ways, rounds).items()}


def line(row, times):
    """One line of the table; what misses its aim is marked."""
    ours, twin = times[OURS], times.get("NumPy")
    beside = f"{twin:9.0f} {twin / ours:6.2f}" if twin is not None else " " * 16
    missed = "  over the aim" if ours > row.us * 1000 else ""
    return f"{row.name:36} {ours:9.0f} {row.us * 1000:7.0f} {beside}{missed}"


def main(argv=None):
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_tiny")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="", help="rows whose name contains this")
    args = parser.parse_args(argv)
    restart_clean()
    print(describe())
    print(f"{'call':36} {'ns':>9} {'aim':>7} {'NumPy ns':>9} {'ratio':>6}")
    with ps.num_threads(1):
        for row in ROWS:
            if args.only in row.name:
                print(line(row, nanoseconds(row, args.rounds)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
