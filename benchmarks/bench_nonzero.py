"""Nonzero against NumPy and rivals: ``python -m benchmarks.bench_nonzero``.

First the workloads of the README's table at their full sizes, then every dtype that
kernels() lists against its NumPy twin. ``python -m benchmarks.bench_nonzero plot``
instead goes over sizes, densities and lengths of runs and redraws the chart of the
design note; single sizes can be named behind it, as in ``plot 1000 1e6``.
"""

import sys
import time
from functools import partial
from itertools import repeat
from pathlib import Path

import numpy as np

import pyscatter as ps
from benchmarks import harness, plot
from benchmarks.bench_scatter import MILLION, scaled
from pyscatter.bench import OURS, Problem, Way, Workload, rng

CHART = Path(__file__).parent.parent / "docs" / "design" / "nonzero.svg"
SIZES = tuple(10**k for k in range(9))
DENSITIES = (0, 0.001, 0.01, 0.1, 0.5, 0.9, 1)
RUN = 1000


def condition(shape, density, run=1):
    """A random mask whose elements come in runs of equals."""
    n = int(np.prod(shape))
    draws = rng().random(-(-n // run), np.float32) < density
    return np.repeat(draws, run)[:n].reshape(shape)


def flat(a):
    """Places in the flattened array; of numbers NumPy's faster way counts as well."""
    ways = {
        "np.flatnonzero": Way(partial(np.flatnonzero, a)),
        OURS: Way(partial(ps.flatnonzero, a)),
    }
    if a.dtype != bool:
        zero = np.zeros((), a.dtype)[()]  # newer NumPy warns of times beside a plain 0
        ways["np.flatnonzero(a != 0)"] = Way(lambda: np.flatnonzero(a != zero))
    return Problem("nonzero", a, a, None, ways)


def rows_of_places(a):
    """One row for each place."""
    ways = {
        "np.argwhere": Way(partial(np.argwhere, a)),
        "np.nonzero, stacked": Way(lambda: np.stack(np.nonzero(a), axis=1)),
        OURS: Way(partial(ps.argwhere, a)),
    }
    return Problem("argwhere", a, a, None, ways)


def counts(a, axis):
    """The number of true elements along an axis."""
    ways = {
        "np.count_nonzero": Way(partial(np.count_nonzero, a, axis=axis)),
        OURS: Way(partial(ps.count_nonzero, a, axis=axis)),
    }
    return Problem("count_nonzero", a, a, None, ways)


def flat_of(density):
    return Workload(
        f"flatnonzero, bool, {density:.1%} of 1,000,000",
        lambda scale: flat(condition(scaled(MILLION, scale), density)),
    )


def square(scale, density):
    side = scaled(4096, scale**0.5)
    return condition((side, side), density)


WORKLOADS = (
    flat_of(0.001),
    flat_of(0.09),
    flat_of(0.5),
    Workload(
        "flatnonzero, float64, 50 % of 1,000,000",
        lambda scale: flat(condition(scaled(MILLION, scale), 0.5).astype(float)),
    ),
    Workload(
        "argwhere, 4096 x 4096 bool, 3 %",
        lambda scale: rows_of_places(square(scale, 0.03)),
    ),
    Workload(
        "count_nonzero along an axis, float32",
        lambda scale: counts(square(scale, 0.5).astype(np.float32), 0),
    ),
    Workload("flatnonzero, ten elements", lambda scale: flat(condition(10, 0.5))),
)


def sweep_rows():
    """Every dtype that kernels() lists and NumPy has."""
    rows = harness.kernel_rows("nonzero")
    return [row for row in rows if harness.numpy_dtype(row[1]) is not None]


def sweep_problem(op, dtype, n, width):
    """One dtype: n elements, or rows of them; half are true."""
    shape = n if width == 1 else (n, width)
    return flat(condition(shape, 0.5).astype(dtype))


SUITE = harness.Suite(
    "bench_nonzero", WORKLOADS, sweep_rows, sweep_problem, ("find", "b1")
)


# ---------------------------------------------------------------- the chart


def cpu_seconds(call, times):
    """Processor time of one of `times` calls in a row."""
    start = time.thread_time()
    for _ in repeat(None, times):
        call()
    return (time.thread_time() - start) / times


def ratio_of(problem, rounds=9, block=2e-3, budget=1.0):
    """NumPy's fastest way over pyscatter: the best of some rounds in turn.

    Processor time of one thread, since a chart takes a minute in which a shared machine
    is never quiet throughout.
    """
    calls = {name: way.call for name, way in problem.ways.items()}
    best = {name: min(cpu_seconds(call, 1), 1.0) for name, call in calls.items()}
    times = {name: int(block / (once + 1e-7)) + 1 for name, once in best.items()}
    rounds = max(4, min(rounds, int(budget / sum(best.values()))))
    for _ in range(rounds):
        for name, call in calls.items():
            best[name] = min(best[name], cpu_seconds(call, times[name]))
    return min(best[name] for name in calls if name != OURS) / best[OURS]


def panel(title, sizes, build):
    """Ratios by density and size; `build(n, density)` makes a problem."""
    curves = {}
    for density in DENSITIES:
        curve = {float(n): ratio_of(build(n, density)) for n in sizes}
        curves[f"{density:.1%}"] = curve
        shown = "  ".join(f"{n:.0e}: {ratio:.2f}" for n, ratio in curve.items())
        print(f"{title}, {density:.1%}:  {shown}", flush=True)
    return plot.Panel(title, curves)


def draw_chart(sizes):
    """Measure everything; redraw the chart when all sizes were measured."""
    panels = [
        panel("bool, at random", sizes, lambda n, d: flat(condition(n, d))),
        panel("bool, runs of 1,000", sizes, lambda n, d: flat(condition(n, d, RUN))),
        panel(
            "float64, at random",
            [n for n in sizes if n <= 10 * MILLION],
            lambda n, d: flat(condition(n, d).astype(float)),
        ),
    ]
    if tuple(sizes) == SIZES:
        caption = "elements; NumPy's time over pyscatter's, by share of true elements"
        CHART.write_text(plot.svg(panels, caption))


if __name__ == "__main__":
    if sys.argv[1:2] == ["plot"]:
        harness.restart_clean(threads=1)
        draw_chart([int(float(n)) for n in sys.argv[2:]] or SIZES)
        sys.exit(0)
    sys.exit(harness.main(SUITE))
