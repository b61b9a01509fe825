"""How much time pyscatter saves on this machine: ``python -m pyscatter.bench``.

For each typical call the table shows the fastest way to do the same in NumPy, both
times, and their ratio: above 1 pyscatter is faster. NumPy and pyscatter take turns in
one process, results are compared before anything is timed, and slower calls are shown
like all others. The list of workloads here also feeds the speed gate and the table in
the README, so what is advertised, what is tested and what a user can rerun are one.
"""

import argparse
import operator
import platform
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import repeat
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np

import pyscatter as ps

OURS = "pyscatter"


class Way(NamedTuple):
    """One way to do a job: a call without arguments, and the array it writes into."""

    call: Callable[[], object]
    target: np.ndarray | None = None

    def result(self):
        """Do the job once; the target if there is one, else what the call returns."""
        value = self.call()
        return value if self.target is None else self.target


class Problem(NamedTuple):
    """A job with its data and all ways to do it; the first way is the oracle."""

    kind: str
    a: np.ndarray
    index: np.ndarray | tuple
    values: np.ndarray | None
    ways: dict[str, Way]
    same_order: bool = True  # do the oracle and pyscatter add in one order?


class Workload(NamedTuple):
    """A line of the table; `build(n)` makes its problem with about n updates."""

    name: str
    build: Callable[[int], Problem]
    in_gate: bool = True


class Row(NamedTuple):
    """What was measured for one workload; times are medians in milliseconds."""

    name: str
    rival: str
    rival_ms: float
    ours_ms: float
    ratio: float


# ---------------------------------------------------------------- problems


def rng():
    """The same generator for every problem, so that a rerun sees the same data."""
    return np.random.default_rng(20)


def draw(n, size, pattern="uniform"):
    """n indices below size; `pattern` is of the words uniform, power, sorted, same."""
    if pattern == "same":
        return np.full(n, size // 3)
    if "power" in pattern:
        # A cubed uniform number: few destinations take most updates, as words and
        # graph nodes do; the permutation spreads the busy ones over the target.
        hot = (size * rng().random(n) ** 3).astype(np.intp)
        index = rng().permutation(size)[hot]
    else:
        index = rng().integers(0, size, n)
    return np.sort(index) if "sorted" in pattern else index


def in_place(call, a, *args):
    """The way that applies `call` to its own copy of `a`."""
    target = a.copy()
    return Way(partial(call, target, *args), target)


def in_place_out(call, a, *args, **options):
    """The same for functions that update their first argument when it is also out=."""
    target = a.copy()
    return Way(partial(call, target, *args, out=target, **options), target)


def add_1d(n, size=1000, pattern="uniform", dtype=float, *, index=np.intp, values=None):
    """Numbers added to the elements that a 1-D index names; the rest are dtypes."""
    a = np.zeros(size, dtype)
    i = draw(n, size, pattern).astype(index)
    v = rng().random(n).astype(values or dtype)
    ways = {
        "np.add.at": in_place(np.add.at, a, i, v),
        "np.bincount": Way(partial(np.bincount, i, v, size)),
        OURS: in_place(ps.add_at, a, i, v),
    }
    return Problem("add", a, i, v, ways)


def count_1d(n, size=1000):
    """How often each number occurs."""
    a = np.zeros(size, np.int64)
    i = draw(n, size)
    ways = {
        "np.add.at": in_place(np.add.at, a, i, 1),
        "np.bincount": Way(partial(np.bincount, i, None, size)),
        OURS: in_place(ps.add_at, a, i, 1),
    }
    return Problem("count", a, i, None, ways)


def max_1d(n, size=1000, *, dtype=float):
    """The largest of the numbers that arrive at each element."""
    a = np.zeros(size, dtype)
    i = draw(n, size)
    v = (rng().random(n) * 1e6).astype(dtype)
    ways = {
        "np.maximum.at": in_place(np.maximum.at, a, i, v),
        OURS: in_place(ps.maximum_at, a, i, v),
    }
    return Problem("max", a, i, v, ways)


def set_1d(n, size=None):
    """Elements overwritten; of several values for one element the last stays."""
    a = np.zeros(size or n)
    i = draw(n, size or n)
    v = rng().random(n)
    ways = {
        "a[i] = v": in_place(operator.setitem, a, i, v),
        "np.put": in_place(np.put, a, i, v),
        OURS: in_place_out(ps.scatter, a, i, v),
    }
    return Problem("set", a, i, v, ways)


def add_2d(n, shape=(1000, 1000)):
    """Numbers added to a matrix at (row, column)."""
    a = np.zeros(shape)
    i, j = draw(n, shape[0]), draw(n, shape[1], "power")
    v = rng().random(n)

    def by_bincount():
        flat = np.ravel_multi_index((i, j), shape)
        return np.bincount(flat, v, a.size).reshape(shape)

    ways = {
        "np.add.at": in_place(np.add.at, a, (i, j), v),
        "np.bincount": Way(by_bincount),
        OURS: in_place(ps.add_at, a, (i, j), v),
    }
    return Problem("add nd", a, (i, j), v, ways)


def add_rows(n, size, width, *, pattern="power", dtype=np.float32):
    """Whole rows added to the rows that the index names, as an embedding's gradient."""
    a = np.zeros((size, width), dtype)
    i = draw(n, size, pattern)
    v = rng().standard_normal((n, width), dtype=np.float32).astype(dtype, copy=False)
    ways = {
        "np.add.at": in_place(np.add.at, a, i, v),
        OURS: in_place_out(ps.scatter, a, i, v, op="add"),
    }
    return Problem("add", a, i, v, ways)


def add_batch(n, batches=64, size=500, width=16):
    """Rows added to a table of their own in every batch."""
    a = np.zeros((batches, size, width), np.float32)
    per_batch = max(1, n // (batches * width))
    i = draw(batches * per_batch, size).reshape(batches, per_batch)
    v = rng().standard_normal(i.shape + (width,), dtype=np.float32)
    lead = np.arange(batches)[:, None]
    ways = {
        "np.add.at": in_place(np.add.at, a, (lead, i), v),
        OURS: in_place_out(ps.scatter, a, i, v, op="add", batch_dims=1),
    }
    return Problem("add batch", a, i, v, ways)


def add_nd(n, shape, depth, dtype=np.float32):
    """Slices added where tuples of `depth` numbers point."""
    a = np.zeros(shape, dtype)
    generator = rng()
    columns = [generator.integers(0, size, n) for size in shape[:depth]]
    indices = np.stack(columns, axis=-1)
    v = generator.standard_normal((n,) + shape[depth:]).astype(dtype)
    ways = {
        "np.add.at": in_place(np.add.at, a, tuple(indices.T), v),
        OURS: in_place_out(ps.scatter_nd, a, indices, v, op="add"),
    }
    return Problem("add nd", a, tuple(columns), v, ways)


def take_1d(n, size=1000, *, dtype=float):
    """Elements read by number, into an array that exists."""
    return take_from(rng().random(size).astype(dtype), draw(n, size))


def take_rows(n, size, width, *, dtype=np.float32):
    """Rows read by number, as an embedding's lookup."""
    a = rng().standard_normal((size, width), dtype=np.float32)
    return take_from(a.astype(dtype, copy=False), draw(n, size, "power"))


def take_from(a, i):
    """Elements or rows of `a` by number, into arrays that exist where there is out=."""
    outs = [np.empty(i.shape + a.shape[1:], a.dtype) for _ in range(3)]
    ways = {
        "a[i]": Way(partial(operator.getitem, a, i)),
        "np.take": Way(partial(np.take, a, i, 0, outs[0]), outs[0]),
        "np.take clip": Way(partial(np.take, a, i, 0, outs[1], "clip"), outs[1]),
        OURS: Way(partial(ps.gather, a, i, out=outs[2]), outs[2]),
    }
    return Problem("take", a, i, None, ways)


def take_nd(n, shape=(100, 100, 16)):
    """Slices read where tuples of two numbers point."""
    a = rng().standard_normal(shape, dtype=np.float32)
    n = max(1, n // shape[2])
    indices = np.stack([draw(n, shape[0]), draw(n, shape[1], "power")], axis=-1)
    ways = {
        "a[i, j]": Way(partial(operator.getitem, a, tuple(indices.T))),
        OURS: Way(partial(ps.gather_nd, a, indices)),
    }
    return Problem("take nd", a, tuple(indices.T), None, ways)


def take_along(n, width=1000):
    """Every row of a matrix in an order of its own."""
    a = rng().random((max(1, n // width), width))
    i = np.argsort(a, axis=1)
    ways = {
        "np.take_along_axis": Way(partial(np.take_along_axis, a, i, 1)),
        OURS: Way(partial(ps.gather_along_axis, a, i, 1)),
    }
    return Problem("take along", a, i, None, ways)


def put_along(n, width=1000):
    """Every row of a matrix written in an order of its own."""
    v = rng().random((max(1, n // width), width))
    i = np.argsort(v, axis=1)
    a = np.zeros_like(v)
    ways = {
        "np.put_along_axis": in_place(np.put_along_axis, a, i, v, 1),
        OURS: in_place_out(ps.scatter_along_axis, a, i, v, 1),
    }
    return Problem("set along", a, i, v, ways)


def take_ten(n=10):
    """Ten elements into a new array: all overhead."""
    a, i = np.arange(10.0), np.arange(10)
    ways = {
        "a[i]": Way(partial(operator.getitem, a, i)),
        "a.take(i)": Way(partial(a.take, i)),
        "np.take": Way(partial(np.take, a, i)),
        OURS: Way(partial(ps.gather, a, i)),
    }
    return Problem("take", a, i, None, ways)


WORKLOADS = (
    Workload("add_at, n into 1000", add_1d),
    Workload("add_at, n into 1000, sorted", partial(add_1d, pattern="sorted")),
    Workload("add_at, n into n", lambda n: add_1d(n, n)),
    Workload(
        "add_at, int32 index, float32",
        partial(add_1d, index=np.int32, dtype=np.float32),
    ),
    Workload("add_at, float32 into float64", partial(add_1d, values=np.float32)),
    Workload("add_at, counts", count_1d),
    Workload("add_at, (row, column)", add_2d),
    Workload("maximum_at, n into 1000", max_1d),
    Workload("scatter set, n into n", set_1d),
    Workload("scatter add, rows of 16", lambda n: add_rows(n // 16 + 1, 10_000, 16)),
    Workload("scatter add, rows of 64", lambda n: add_rows(n // 64 + 1, 2_500, 64)),
    Workload("scatter add, in 64 batches", add_batch),
    Workload(
        "scatter_nd add, slices of 16",
        lambda n: add_nd(n // 16 + 1, (100, 100, 16), 2),
    ),
    Workload("scatter_along_axis set", put_along),
    Workload("gather, n from n", lambda n: take_1d(n, n)),
    Workload("gather, rows of 64", lambda n: take_rows(n // 16 + 1, 50_000, 64)),
    Workload("gather_nd, slices of 16", take_nd),
    Workload("gather_along_axis", take_along),
    Workload("add_at, ten elements", lambda n: add_1d(10, 10), in_gate=False),
    Workload("gather, ten elements", take_ten, in_gate=False),
)


# ---------------------------------------------------------------- measuring


def check(problem):
    """Run every way once; return the first one's answer, which all must give.

    pyscatter must give its very bits where both add in one order. Other ways may round
    differently. Ways update their targets, so a problem can be checked only once, and
    before it is timed. AssertionError where answers differ.
    """
    (first, oracle), *others = problem.ways.items()
    expected = np.array(oracle.result())
    for name, way in others:
        got = np.asarray(way.result())
        is_exact = expected.dtype.kind in "mM" or (name == OURS and problem.same_order)
        if is_exact:
            same = got.dtype == expected.dtype and np.array_equal(got, expected)
        else:
            same = np.allclose(got, expected, rtol=1e-3, atol=1e-3)
        if not same:
            raise AssertionError(f"{name} and {first} disagree ({problem.kind})")
    return expected


def seconds_per_call(call, times):
    """Mean time of `times` calls in a row."""
    start = time.perf_counter()
    for _ in repeat(None, times):
        call()
    return (time.perf_counter() - start) / times


def measure(ways, rounds=5, seconds=float("inf"), block=2e-3):
    """Time all ways in turn, so that a slow moment of the machine meets all of them.

    Parameters
    ----------
    ways : dict of str to Way
    rounds : int
        Turns; at most 3 once `seconds` have passed.
    seconds : float
    block : float
        A call shorter than this many seconds is repeated to fill them.

    Returns
    -------
    dict of str to list of float
        Seconds per call, one entry per round.
    """
    once = {name: seconds_per_call(way.call, 1) for name, way in ways.items()}
    times = {name: [] for name in ways}
    end = time.perf_counter() + seconds
    for done in range(rounds):
        if done >= 3 and time.perf_counter() > end:
            break
        for name, way in ways.items():
            calls = max(1, int(block / max(once[name], 1e-9)))
            times[name].append(seconds_per_call(way.call, calls))
    return times


def compare(name, times):
    """The row for one workload: pyscatter against the fastest of the other ways."""
    others = {way: median(t) for way, t in times.items() if way != OURS}
    rival = min(others, key=others.get)
    pairs = zip(times[rival], times[OURS], strict=True)
    ratio = median(theirs / ours for theirs, ours in pairs)
    return Row(name, rival, others[rival] * 1e3, median(times[OURS]) * 1e3, ratio)


def run(workload, n, rounds=5):
    """Build, check and time one workload.

    Parameters
    ----------
    workload : Workload
    n : int
        About how many elements are updated or read.
    rounds : int

    Returns
    -------
    Row
    """
    problem = workload.build(n)
    check(problem)
    return compare(workload.name, measure(problem.ways, rounds))


# ---------------------------------------------------------------- printing


def cpu_model():
    """The processor's name as the system knows it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    facts = dict(line.split(":", 1) for line in lines if ":" in line)
    facts = {key.strip(): value.strip() for key, value in facts.items()}
    name = facts.get("model name") or platform.processor() or platform.machine()
    if "cpu family" in facts:
        name += f" (family {facts['cpu family']}, model {facts.get('model', '?')})"
    return name


def describe():
    """One line: processor, CPU level, threads and versions."""
    config = ps.show_config(mode="dicts")
    return (
        f"{cpu_model()}, CPU level {config['cpu_level']},"
        f" {config['threads']} thread(s), pyscatter {config['pyscatter']},"
        f" NumPy {config['numpy']}, Python {config['python']}"
    )


HEAD = f"{'':36s}{'NumPy way':>21s}{'NumPy ms':>11s}{'pyscatter ms':>14s}{'ratio':>8s}"


def line(row):
    """One measured row as text under HEAD."""
    return (
        f"{row.name:36s}{row.rival:>21s}{row.rival_ms:11.4g}"
        f"{row.ours_ms:14.4g}{row.ratio:8.2f}"
    )


def main(argv=None):
    """Print the table; the exit code is 0 unless results disagree."""
    parser = argparse.ArgumentParser(
        prog="python -m pyscatter.bench",
        description="NumPy's time over pyscatter's for typical calls.",
    )
    parser.add_argument("--updates", type=int, default=1_000_000, metavar="N")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args(argv)
    print(f"{describe()}\nn = {args.updates:,}; ratio = NumPy time / pyscatter time\n")
    print(HEAD)
    for workload in WORKLOADS:
        print(line(run(workload, args.updates, args.rounds)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
