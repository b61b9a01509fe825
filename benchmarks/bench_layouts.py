"""Never slower than NumPy? ``python -m benchmarks.bench_layouts``.

A sweep over every kernel that kernels() lists and sizes from 1 to 1e7, over layouts and
axes, and over indices and values with ties. A cell is a call and NumPy's fastest twin;
those below 0.95 are listed at the end, each measured a second time. ``--quick`` takes
small sizes, ``--sizes N ...`` those named, ``--only TEXT`` the cells whose names hold
the text, and ``--seconds S`` as many cells, spread over all of them, as begin in that
time. ``--plot`` redraws the chart of the design note of scatter from the cells of
layouts, if all are measured.
"""

import argparse
import operator
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

import pyscatter as ps
from benchmarks import (
    bench_gather,
    bench_nonzero,
    bench_scatter,
    bench_where,
    harness,
    plot,
)
from benchmarks.bench_nonzero import ratio_of
from pyscatter.bench import OURS, Problem, Way, draw, in_place, in_place_out, rng

CHART = Path(__file__).parent.parent / "docs" / "design" / "scatter.svg"
SUITES = (
    bench_scatter.SUITE,
    bench_gather.SUITE,
    bench_where.SUITE,
    bench_nonzero.SUITE,
)
SIZES = tuple(10**k for k in range(8))
QUICK_SIZES = (10, 1000)
FLOOR = 0.95
WIDTH = 8  # columns of the arrays of the layouts


class Cell(NamedTuple):
    """A line of the sweep: `build()` makes its problem."""

    group: str
    name: str
    size: int
    build: Callable[[], Problem]


# ---------------------------------------------------------------- every kernel


def kernel_cells(sizes):
    """Each op on each dtype at each size, arrays in C order."""
    for suite in SUITES:
        for op, dtype in suite.rows():
            own = harness.numpy_dtype(dtype)
            for n in sizes if own is not None else ():
                build = partial(suite.build, op, own, n, 1)
                yield Cell("kernels", f"{suite.name[6:]} {op} {dtype}", n, build)


# ---------------------------------------------------------------- layouts


def strided(a):
    """Every second column of an array that is twice as wide."""
    wide = np.repeat(a, 2, axis=1)
    return wide[:, ::2]


LAYOUTS = {
    "C": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "reversed": lambda a: a[::-1, ::-1],
    "strided": strided,
}


def table(n, layout, dtype=np.float64):
    """About n numbers in rows of WIDTH."""
    rows = max(1, n // WIDTH)
    numbers = rng().integers(0, 100, (rows, WIDTH)).astype(dtype)
    return LAYOUTS[layout](numbers)


def index_of(a, axis):
    """As many numbers as name about as many elements as the array has."""
    if axis is None:
        return draw(a.size, a.size)
    return draw(a.shape[axis] if axis == 0 else WIDTH // 2, a.shape[axis])


def place_of(a, axis, index):
    """The same places as an expression that NumPy takes."""
    if axis is None:
        return np.unravel_index(index, a.shape)
    return (slice(None),) * axis + (index,)


def take(n, layout, axis):
    """Rows, columns or single elements, into an array that exists."""
    a = table(n, layout)
    index = index_of(a, axis)
    out, other = (np.take(a, index, axis) for _ in range(2))
    ways = {
        "np.take": Way(partial(np.take, a, index, axis, other, "clip"), other),
        OURS: Way(partial(ps.gather, a, index, axis=axis, out=out), out),
    }
    return Problem("take", a, index, None, ways)


def in_layout(kind, name, numpys, ours, make):
    """Two ways to update arrays of their own, which `make()` lays out alike."""
    targets = make(), make()
    ways = {
        name: Way(partial(numpys, targets[0]), targets[0]),
        OURS: Way(partial(ours, targets[1], out=targets[1]), targets[1]),
    }
    return Problem(kind, targets[0], None, None, ways)


def update(op, n, layout, axis):
    """Rows, columns or single elements, of which some arrive at one place."""
    a = table(n, layout)
    index = index_of(a, axis)
    place = place_of(a, axis, index)
    v = np.ones(a[place].shape)

    def numpys(target):
        if op == "add":
            np.add.at(target, place, v)
        else:
            target[place] = v

    ours = partial(ps.scatter, index=index, values=v, op=op, axis=axis)
    name = "np.add.at" if op == "add" else "a[i] = v"
    return in_layout(op, name, numpys, ours, partial(table, n, layout))


def half(a):
    """A mask of half of an array, in its layout."""
    mask = np.empty_like(a, bool)
    mask[...] = rng().random(a.shape) < 0.5
    return mask


def select(n, layout, axis):
    """Elements of one array or another; axis 0 and 1: by a condition for each row or
    column."""
    a, b = table(n, layout), table(n, layout)
    mask = half(a) if axis is None else half(a)[(slice(1),) * axis + (...,)]
    mask = mask[:, :1] if axis == 0 else mask[:1] if axis == 1 else mask
    ways = {
        "np.where": Way(partial(np.where, mask, a, b)),
        OURS: Way(partial(ps.where, mask, a, b)),
    }
    return Problem("where", a, mask, None, ways)


def put_under(n, layout, axis):
    """Elements under a mask; axis 0 and 1: of a single row or column."""

    def make():
        a = table(n * WIDTH if axis == 1 else n, layout)
        return a if axis is None else a[0] if axis == 0 else a[:, 3]

    mask, v = half(make()), np.ones(make().shape)
    return in_layout(
        "set under a mask",
        "np.copyto",
        lambda target: np.copyto(target, v, where=mask),
        partial(ps.scatter_where, mask=mask, values=v),
        make,
    )


def take_under(n, layout, axis):
    """What a mask selects, of all elements, of rows or of columns."""
    a = table(n, layout)
    mask = half(a) if axis is None else rng().random(a.shape[axis]) < 0.5
    place = mask if axis is None else (slice(None),) * axis + (mask,)
    ways = {
        "a[mask]": Way(partial(operator.getitem, a, place)),
        "np.compress": Way(partial(np.compress, mask, a, axis=axis)),
        OURS: Way(partial(ps.gather_where, a, mask, axis=axis)),
    }
    if axis is None:
        del ways["np.compress"]
    return Problem("compress", a, mask, None, ways)


def find(n, layout, axis):
    """Places of the trues, in the flattened array or by axes."""
    a = table(n, layout)
    np.multiply(a, half(a), out=a)
    if axis is None:
        return bench_nonzero.flat(a)
    ways = {
        "np.nonzero": Way(partial(np.nonzero, a)),
        OURS: Way(partial(ps.nonzero, a)),
    }
    return Problem("nonzero", a, a, None, ways)


JOBS = {
    "scatter add": (partial(update, "add"), (0, 1, None)),
    "scatter set": (partial(update, "set"), (0, 1, None)),
    "gather": (take, (0, 1, None)),
    "where": (select, (0, 1, None)),
    "scatter_where": (put_under, (0, 1, None)),
    "gather_where": (take_under, (0, 1, None)),
    "nonzero": (find, (0, None)),
}


def layout_cells(sizes):
    """Each job on each layout along each axis."""
    for job, (build, axes) in JOBS.items():
        for axis in axes:
            for layout in LAYOUTS:
                for n in sizes:
                    name = f"{job}, {layout}, axis {axis}"
                    yield Cell("layouts", name, n, partial(build, n, layout, axis))


# ---------------------------------------------------------------- ties

VALUES = {
    "any": lambda n: rng().standard_normal(n),
    "0 or 1": lambda n: rng().integers(0, 2, n).astype(float),
    "relu": lambda n: np.maximum(rng().standard_normal(n), 0),
}
PATTERNS = ("uniform", "power", "sorted", "same")


def reduce(op, n, pattern, values, dtype):
    """n numbers into a thousandth of as many places."""
    a = np.zeros(max(1, n // 1000), dtype)
    i, v = draw(n, len(a), pattern), VALUES[values](n).astype(dtype)
    ufunc = getattr(np, bench_scatter.UFUNCS[op])
    ways = {
        f"np.{bench_scatter.UFUNCS[op]}.at": in_place(ufunc.at, a, i, v),
        OURS: in_place_out(ps.scatter, a, i, v, op=op),
    }
    return Problem(op, a, i, v, ways, same_order=True)


def tie_cells(sizes):
    """Sums and extremes of values and indices that repeat."""
    for op in ("add", "max", "min"):
        for dtype in ("f32", "f64", "i64"):
            for pattern in PATTERNS:
                for values in VALUES if op != "add" else ("any",):
                    for n in sizes:
                        name = f"{op} {dtype}, index {pattern}, values {values}"
                        own = np.dtype(harness.DTYPES[dtype])
                        build = partial(reduce, op, n, pattern, values, own)
                        yield Cell("ties", name, n, build)


# ---------------------------------------------------------------- the sweep


def ratio(cell, rounds=5):
    """NumPy's time over ours; measured once more where it is below the floor."""
    budget = 0.12
    with np.errstate(all="ignore"):
        first = ratio_of(cell.build(), rounds, 5e-4, budget)
        if first >= FLOOR:
            return first
        return max(first, ratio_of(cell.build(), 3 * rounds, 1e-3, 3 * budget))


def spread(cells, seconds):
    """Cells until the time is over, in an order in which neighbours lie far apart."""
    order = rng().permutation(len(cells))
    start = time.monotonic()
    for i in order:
        if time.monotonic() - start > seconds:
            return
        yield cells[i]


def sweep(cells, out=print):
    """All ratios, in lines of one name; returns them by (group, name), then size."""
    found, line = {}, None
    for cell in cells:
        key = cell.group, cell.name
        if line is not None and key != line:
            out(row(line, found[line]))
        line = key
        found.setdefault(key, {})[cell.size] = ratio(cell)
    if line is not None:
        out(row(line, found[line]))
    return found


def row(key, ratios):
    """One name with its ratio at each size."""
    shown = "  ".join(f"{n:.0e}: {value:5.2f}" for n, value in ratios.items())
    return f"{key[0]:8s} {key[1]:44s} {shown}"


def below(found):
    """The cells below the floor, the slowest first."""
    slow = [
        (value, name, n)
        for (_, name), ratios in found.items()
        for n, value in ratios.items()
        if value < FLOOR
    ]
    return sorted(slow)


def chart(found):
    """A panel for each of three jobs, a curve for each layout and axis."""
    shown = {
        "C, axis 0": "C, axis 0",
        "C, axis 1": "C, axis 1",
        "Fortran, axis 0": "Fortran, axis 0",
        "Fortran, flat": "Fortran, axis None",
        "reversed, axis 0": "reversed, axis 0",
        "strided, axis 0": "strided, axis 0",
        "strided, axis 1": "strided, axis 1",
    }
    panels = [
        plot.Panel(
            job,
            {
                label: {
                    float(n): v for n, v in found["layouts", f"{job}, {name}"].items()
                }
                for label, name in shown.items()
            },
        )
        for job in ("scatter add", "gather", "gather_where")
    ]
    return plot.svg(
        panels, "elements; NumPy's time over pyscatter's, rows of 8 float64"
    )


def main(argv=None):
    """Run the sweep; list what is below the floor."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_layouts")
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--only", default="", help="cells whose name has this text")
    parser.add_argument("--plot", action="store_true", help="layouts; redraw the chart")
    parser.add_argument("--sizes", type=float, nargs="+", help="these alone")
    parser.add_argument("--seconds", type=float, help="a part, in this time")
    args = parser.parse_args(argv)
    harness.restart_clean(threads=1)
    sizes = QUICK_SIZES if args.quick else SIZES
    sizes = sizes if args.sizes is None else [int(n) for n in args.sizes]
    parts = [layout_cells] if args.plot else [kernel_cells, layout_cells, tie_cells]
    cells = [c for part in parts for c in part(sizes) if args.only in c.name]
    found = sweep(cells if args.seconds is None else spread(cells, args.seconds))
    slow = below(found)
    measured = sum(map(len, found.values()))
    print(f"\n{measured} of {len(cells)} cells, {len(slow)} below {FLOOR}")
    for value, name, n in slow:
        print(f"{value:6.2f}  {name}, {n:,} elements")
    if args.plot and measured == len(cells) and sizes is SIZES and not args.only:
        CHART.write_text(chart(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
