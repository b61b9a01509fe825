"""What the benchmark scripts share: a clean process, calibration, timing, the sweep.

Candidates take turns (A B C A B C ...) and medians are compared, so that a slow moment
of the machine meets all of them. Results are compared before anything is timed; a
candidate that is wrong or fails is named and left out. The timer is pyscatter.bench's:
users and developers measure with the same clock.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np

import pyscatter as ps
from benchmarks import rivals
from pyscatter.bench import OURS, Problem, Way, Workload, check, measure, rng
from pyscatter.bench import describe as describe_pyscatter

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "PYSCATTER_NUM_THREADS",
)
# OpenBLAS obeys these even where they make it slow, and peers would look bad.
UNFAIR_VARIABLES = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")

DTYPES = {
    "b1": "?",
    "i8": "i1",
    "u8": "u1",
    "i16": "i2",
    "u16": "u2",
    "i32": "i4",
    "u32": "u4",
    "i64": "i8",
    "u64": "u8",
    "f16": "f2",
    "f32": "f4",
    "f64": "f8",
    "f80": "g",
    "c64": "c8",
    "c128": "c16",
    "t64": "m8[s]",
}
HALVES = ("f16", "bf16")


class Suite(NamedTuple):
    """What one benchmark script measures.

    `workloads` build from a scale, 1.0 for the sizes that the README shows. The sweep
    goes over the (op, dtype) pairs of `rows()`; `build(op, dtype, n, width)` makes its
    problems, and times per byte are related to those of the pair `base`.
    """

    name: str
    workloads: tuple[Workload, ...]
    rows: Callable[[], list[tuple[str, str]]]
    build: Callable[[str, np.dtype, int, int], Problem]
    base: tuple[str, str]


# ---------------------------------------------------------------- the process


def clean_environment(environment, threads=None):
    """A copy of `environment` in which all candidates get the same chances."""
    clean = {k: v for k, v in environment.items() if k not in UNFAIR_VARIABLES}
    if threads is not None:
        clean.update(dict.fromkeys(THREAD_VARIABLES, str(threads)))
    return clean


def restart_clean(threads=None):
    """Start the script again where the environment isn't clean.

    Libraries read these variables when they are loaded, which has happened by now.
    """
    clean = clean_environment(os.environ, threads)
    if clean != dict(os.environ):
        sys.stdout.flush()
        os.execve(sys.executable, sys.orig_argv, clean)


def calibrate():
    """What the memory gives right now: a large copy, and reads at random places."""
    source, target = np.ones(8_000_000), np.empty(8_000_000)
    index = rng().integers(0, len(source), 1_000_000)
    ways = {
        "copy": Way(partial(np.copyto, target, source)),
        "read": Way(partial(np.take, source, index, 0, target[: len(index)], "clip")),
    }
    best = {name: min(times) for name, times in measure(ways).items()}
    return {
        "copy_gb_per_s": round(source.nbytes / best["copy"] / 1e9, 1),
        "random_read_ns": round(best["read"] / len(index) * 1e9, 2),
    }


def describe():
    """Processor, versions, threads, load and calibration."""
    load = [round(x, 2) for x in os.getloadavg()] if hasattr(os, "getloadavg") else None
    return {
        "machine": describe_pyscatter(),
        "rivals": rivals.versions(),
        "load": load,
        **calibrate(),
    }


# ---------------------------------------------------------------- workloads


def ratio(times, rival):
    """Median over the rounds of the rival's time over pyscatter's."""
    return median(a / b for a, b in zip(times[rival], times[OURS], strict=True))


def usable(expected, ways):
    """Those of `ways` that run and give `expected`; the others are named on stderr."""
    scale = max(1.0, float(np.abs(expected).max(initial=0)))
    good = {}
    for name, way in ways.items():
        try:
            same = np.allclose(way.result(), expected, rtol=1e-3, atol=1e-3 * scale)
            fault = None if same else "wrong result"
        except Exception as error:  # a rival may fail in its own way: say so, go on
            fault = f"{type(error).__name__}: {str(error)[:100]}"
        if fault is None:
            good[name] = way
        else:
            print(f"# {name} left out: {fault}", file=sys.stderr)
    return good


def run(workload, scale, with_rivals=True, seconds=4.0, rounds=15):
    """Check and time one workload.

    Parameters
    ----------
    workload : Workload
    scale : float
    with_rivals : bool
    seconds, rounds
        As in pyscatter.bench.measure.

    Returns
    -------
    dict
        name, ms (median by candidate), numpy (its fastest way), best (of all others),
        and what each of these two takes over what pyscatter takes.
    """
    problem = workload.build(scale)
    expected = check(problem)
    others = usable(expected, rivals.ways(problem)) if with_rivals else {}
    times = measure(problem.ways | others, rounds, seconds)
    ms = {name: median(t) * 1e3 for name, t in times.items()}
    numpys = (name for name in problem.ways if not name.startswith(OURS))
    numpy = min(numpys, key=ms.get)
    best = min((name for name in ms if name != OURS), key=ms.get)
    return {
        "name": workload.name,
        "ms": ms,
        "numpy": numpy,
        "numpy_ratio": ratio(times, numpy),
        "best": best,
        "best_ratio": ratio(times, best),
    }


def print_record(record):
    """Both ratios, then all candidates from the fastest to the slowest."""
    by_time = sorted(record["ms"].items(), key=lambda item: item[1])
    times = "  ".join(f"{name} {ms:.4g}" for name, ms in by_time)
    print(
        f"{record['name']:38s} {record['numpy_ratio']:6.2f} over {record['numpy']},"
        f" {record['best_ratio']:.2f} over {record['best']}  [ms: {times}]",
        flush=True,
    )


# ---------------------------------------------------------------- the sweep


def kernel_rows(family):
    """The (op, dtype) pairs of a family in kernels(), whatever their CPU level."""
    rows = ((op, dtype) for f, op, dtype, *_ in ps._core.kernels() if f == family)
    return list(dict.fromkeys(rows))


def numpy_dtype(name):
    """The dtype that kernels() calls `name`; None for those that NumPy lacks."""
    if name == "bf16":
        ml_dtypes = rivals.load("ml_dtypes")
        return ml_dtypes and np.dtype(ml_dtypes.bfloat16)
    return np.dtype(DTYPES[name]) if name in DTYPES else None


def sweep(suite, n, rounds=3):
    """Time every (op, dtype) of a family against its NumPy twin.

    Parameters
    ----------
    suite : Suite
    n : int
        Elements updated, one by one and in rows of 64.
    rounds : int

    Returns
    -------
    list of dict
        op, dtype, width, numpy_ms, ours_ms, ratio (NumPy / pyscatter) and per_byte
        (time per byte over that of the suite's base row).
    """
    records = []
    for width in (1, 64):
        records += relate(
            [
                sweep_one(suite, op, dtype, n // width, width, rounds)
                for op, dtype in suite.rows()
                if numpy_dtype(dtype) is not None
            ],
            suite.base,
        )
    return records


def sweep_one(suite, op, dtype, n, width, rounds):
    """Check and time one op on one dtype."""
    problem = suite.build(op, numpy_dtype(dtype), n, width)
    if dtype not in HALVES:  # NumPy rounds after every step there, pyscatter once
        check(problem)
    with np.errstate(all="ignore"):  # sums of halves overflow when they are repeated
        times = measure(problem.ways, rounds)
    medians = {name: median(t) for name, t in times.items()}
    rival = min((name for name in medians if name != OURS), key=medians.get)
    return {
        "op": op,
        "dtype": dtype,
        "width": width,
        "nbytes": bytes_moved(problem),
        "numpy_ms": medians[rival] * 1e3,
        "ours_ms": medians[OURS] * 1e3,
        "ratio": ratio(times, rival),
    }


def bytes_moved(problem):
    """Bytes of index and values read, and of elements read and written."""
    elements = problem.index.size * problem.a[0].size
    passes = 2 if problem.values is None else 3
    return problem.index.nbytes + passes * elements * problem.a.itemsize


def relate(records, base):
    """Add to each record its time per byte over that of the base row."""
    per_byte = {(r["op"], r["dtype"]): r["ours_ms"] / r["nbytes"] for r in records}
    for record in records:
        mine = per_byte[record["op"], record["dtype"]]
        record["per_byte"] = mine / per_byte.get(base, mine)
    return records


def print_sweep(records, base):
    """One line for each record; those that miss a target are marked."""
    print(f"\nevery op and dtype; per byte: over {' '.join(base)} of the same width")
    print(f"{'op':>10s}{'dtype':>7s}{'width':>7s}{'NumPy ms':>11s}", end="")
    print(f"{'pyscatter ms':>14s}{'ratio':>8s}{'per byte':>10s}")
    for r in records:
        print(
            f"{r['op']:>10s}{r['dtype']:>7s}{r['width']:7d}{r['numpy_ms']:11.4g}"
            f"{r['ours_ms']:14.4g}{r['ratio']:8.2f}{r['per_byte']:10.2f}"
            f"{'  SLOWER THAN NUMPY' * is_slower(r)}{'  HEAVY' * is_heavy(r)}"
        )
    slower, heavy = sum(map(is_slower, records)), sum(map(is_heavy, records))
    print(f"{len(records)} rows, {slower} slower than NumPy, {heavy} above 2 per byte")


def is_slower(record):
    """Slower than NumPy, by more than two equal calls differ in a quiet process."""
    return record["ratio"] < 0.95


def is_heavy(record):
    """More than twice the base row's time per byte."""
    return record["per_byte"] > 2


# ---------------------------------------------------------------- the scripts


def parse(suite, argv):
    """The command line that the benchmark scripts have in common."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{suite.name}")
    parser.add_argument("--quick", action="store_true", help="small sizes, few rounds")
    parser.add_argument("--json", metavar="FILE", help="also write the numbers")
    parser.add_argument("--threads", type=int, help="threads of every candidate")
    parser.add_argument("--only", default="", help="workloads whose name has this text")
    parser.add_argument("--no-rivals", action="store_true", help="NumPy alone")
    parser.add_argument("--no-sweep", action="store_true", help="workloads alone")
    return parser.parse_args(argv)


def main(suite, argv=None):
    """Run a suite: workloads against NumPy and rivals, then the sweep."""
    args = parse(suite, argv)
    restart_clean(args.threads)
    note = describe()
    print("\n".join(f"# {key}: {value}" for key, value in note.items()), flush=True)
    scale, seconds = (0.02, 0.2) if args.quick else (1.0, 4.0)
    records = []
    for workload in suite.workloads:
        if args.only in workload.name:
            records.append(run(workload, scale, not args.no_rivals, seconds))
            print_record(records[-1])
    swept = []
    if not (args.no_sweep or args.only):
        swept = sweep(suite, 20_000 if args.quick else 1_000_000)
        print_sweep(swept, suite.base)
    if args.json:
        numbers = {"note": note, "workloads": records, "sweep": swept}
        Path(args.json).write_text(json.dumps(numbers, indent=1), encoding="utf-8")
    return 0
