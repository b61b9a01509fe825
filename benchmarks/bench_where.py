"""Where against NumPy and rivals: ``python -m benchmarks.bench_where``.

First the workloads of the README's table at their full sizes, then every op and dtype
that kernels() lists against its NumPy twin. ``python -m benchmarks.bench_where plot``
instead goes over sizes, densities and lengths of runs and redraws the chart of the
design note; single sizes can be named behind it, as in ``plot 1000 1e6``.
"""

import operator
import sys
from functools import partial
from pathlib import Path

import numpy as np

import pyscatter as ps
from benchmarks import harness, plot
from benchmarks.bench_nonzero import RUN, condition
from benchmarks.bench_scatter import MILLION, UFUNCS, scaled, sweep_values
from pyscatter.bench import (
    OURS,
    Problem,
    Way,
    Workload,
    in_place,
    in_place_out,
    measure,
    rng,
)

CHART = Path(__file__).parent.parent / "docs" / "design" / "where.svg"
SIZES = tuple(10**k for k in range(9))
DENSITIES = (0, 0.01, 0.1, 0.5, 0.9, 1)


def numbers(n, dtype=float):
    return (rng().random(n) * 100).astype(dtype)


def select(mask, dtype=float):
    """x where the mask is true, else y, into arrays that exist where there is out=."""
    x, y = numbers(mask.size, dtype), numbers(mask.size, dtype)[::-1].copy()
    out, copied = np.empty_like(x), np.empty_like(x)

    def by_copies():
        np.copyto(copied, y)
        np.copyto(copied, x, where=mask)

    ways = {
        "np.where": Way(partial(np.where, mask, x, y)),
        "np.copyto": Way(by_copies, copied),
        OURS: Way(partial(ps.where, mask, x, y, out=out), out),
    }
    return Problem("where", x, mask, y, ways)


def masked_set(mask, dtype=float):
    """Elements overwritten where the mask is true."""
    a, v = numbers(mask.size, dtype), numbers(mask.size, dtype)

    def copy(a):
        np.copyto(a, v, where=mask)

    ways = {
        "np.copyto": in_place(copy, a),
        "np.putmask": in_place(np.putmask, a, mask, v),
        OURS: in_place_out(ps.scatter_where, a, mask, v),
    }
    return Problem("masked set", a, mask, v, ways)


def masked_op(op, mask, dtype=float):
    """Elements combined with values where the mask is true."""
    a = np.ones(mask.size, dtype)
    v = sweep_values(op, dtype, mask.size)
    ufunc = getattr(np, UFUNCS[op])

    def twin(a):
        ufunc(a, v, out=a, where=mask)

    ways = {
        f"np.{UFUNCS[op]}": in_place(twin, a),
        OURS: in_place_out(ps.scatter_where, a, mask, v, op=op),
    }
    return Problem(f"masked {op}", a, mask, v, ways)


def compress(mask, dtype=float):
    """The elements that the mask selects."""
    a = numbers(mask.size, dtype)
    ways = {
        "a[mask]": Way(partial(operator.getitem, a, mask)),
        "np.compress": Way(partial(np.compress, mask, a)),
        OURS: Way(partial(ps.gather_where, a, mask)),
    }
    return Problem("compress", a, mask, None, ways)


def where_ten():
    """Ten elements into a new array: all overhead."""
    mask, x, y = condition(10, 0.5), np.arange(10.0), np.ones(10)
    ways = {
        "np.where": Way(partial(np.where, mask, x, y)),
        OURS: Way(partial(ps.where, mask, x, y)),
    }
    return Problem("where", x, mask, y, ways)


def of_mask(name, density, build, size=MILLION):
    """A workload under a random mask."""
    return Workload(
        f"{name}, {density:.1%} of {size:,}",
        lambda scale: build(condition(scaled(size, scale), density)),
    )


WORKLOADS = (
    of_mask("where, float64", 0.5, select),
    of_mask("where, float32", 0.5, partial(select, dtype=np.float32)),
    of_mask("where, float64", 0.5, select, 32 * MILLION),
    *(of_mask("masked set", density, masked_set) for density in (0.001, 0.5)),
    *(of_mask("masked mul", d, partial(masked_op, "mul")) for d in (0.001, 0.5)),
    *(of_mask("compress", density, compress) for density in (0.01, 0.5)),
    Workload("where, ten elements", lambda scale: where_ten()),
)


def sweep_rows():
    """Every op and dtype that kernels() lists and NumPy has."""
    return [
        (op, dtype)
        for op, dtype in harness.kernel_rows("where")
        if harness.numpy_dtype(dtype) is not None
    ]


def sweep_problem(op, dtype, n, width):
    """One op on one dtype under a mask, half of which is true, in runs of `width`."""
    mask = condition(n * width, 0.5, width)
    builds = {"select": select, "set": masked_set, "compress": compress}
    return builds.get(op, partial(masked_op, op))(mask, dtype)


SUITE = harness.Suite(
    "bench_where", WORKLOADS, sweep_rows, sweep_problem, ("select", "f32")
)


# ---------------------------------------------------------------- the chart


def ratio_of(problem):
    """NumPy's fastest way over pyscatter; the least of a few times each.

    Hundreds of cells are measured shortly, and what disturbs one only adds to it.
    """
    rounds = 9 if problem.a.size <= MILLION else 3
    times = measure(problem.ways, rounds, seconds=0.1)
    best = {name: min(t) for name, t in times.items()}
    return min(v for name, v in best.items() if name != OURS) / best[OURS]


def panel(title, sizes, run, build):
    """Ratios by density and size."""
    curves = {}
    for density in DENSITIES:
        curve = {float(n): ratio_of(build(condition(n, density, run))) for n in sizes}
        curves[f"{density:.0%}"] = curve
        shown = "  ".join(f"{n:.0e}: {ratio:.2f}" for n, ratio in curve.items())
        print(f"{title}, {density:.0%}:  {shown}", flush=True)
    return plot.Panel(title, curves)


def draw_chart(sizes):
    """Measure everything; redraw the chart unless only a few sizes were asked for."""
    few = [n for n in sizes if n <= 10 * MILLION]
    mul = partial(masked_op, "mul")
    panels = [
        panel("where, at random", sizes, 1, select),
        panel("where, runs of 1,000", few, RUN, select),
        panel("masked mul, at random", few, 1, mul),
        panel("compress, at random", few, 1, compress),
        panel("compress, runs of 1,000", few, RUN, compress),
    ]
    if len(sizes) >= len(SIZES) - 1:
        caption = "float64 elements; NumPy's time over pyscatter's, by share of trues"
        CHART.write_text(plot.svg(panels, caption))


if __name__ == "__main__":
    if sys.argv[1:2] == ["plot"]:
        harness.restart_clean(threads=1)
        draw_chart([int(float(n)) for n in sys.argv[2:]] or SIZES)
        sys.exit(0)
    sys.exit(harness.main(SUITE))
