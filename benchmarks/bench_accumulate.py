"""Sums of gradients: ``python -m benchmarks.bench_accumulate``, beside NumPy's add.

NumPy's way to the same answer is an add and a look at every element of the gradient.
"""

import argparse
import sys
from functools import partial
from statistics import median

import numpy as np

import pyscatter as ps
from benchmarks.harness import describe, restart_clean
from pyscatter.bench import OURS, Way, measure

ALL = 0


def looked_at(total, g):
    """Add and look, in two passes."""
    np.add(total, g, out=total)
    return np.isfinite(g).all()


def rows(n):
    """Yield (name, ways) of sums of n elements."""
    rng = np.random.default_rng(0)
    for to, of in (("f4", "f4"), ("f8", "f8"), ("f4", "f2")):
        total, g = np.zeros(n, to), rng.standard_normal(n).astype(of)
        yield (
            f"{of} into {to}",
            {
                OURS: Way(partial(ps._core.accumulate, total, g, 1.0, ALL)),
                "np.add": Way(partial(np.add, total, g, out=total)),
                "and isfinite": Way(partial(looked_at, total, g)),
            },
        )


def main(argv=None):
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_accumulate")
    parser.add_argument("--size", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args(argv)
    restart_clean()
    print(describe())
    with ps.num_threads(args.threads):
        for name, ways in rows(args.size):
            times = {k: median(t) * 1e3 for k, t in measure(ways, args.rounds).items()}
            cells = "  ".join(f"{k} {t:8.2f} ms" for k, t in times.items())
            print(f"{name:12} {cells}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
