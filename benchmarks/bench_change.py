"""Change statistics against NumPy: ``python -m benchmarks.bench_change``.

The same twelve statistics in NumPy with buffers that are kept, as somebody would write
them who minds the time; and a plain copy, for what it costs to keep the new array too.
"""

import sys
from functools import partial

import numpy as np

import pyscatter as ps
from benchmarks import harness
from pyscatter.bench import OURS, Problem, Way, Workload, rng

FIELDS = (
    "n_changed mean mean_abs rms max_abs min max cosine n_sign_flips n_zero new_mean "
    "new_var"
).split()


def arrays(shape, share=0.1, dtype=np.float32):
    """Two arrays of which a share of the elements differs."""
    old = rng().standard_normal(shape).astype(dtype)
    new = old.copy()
    new[rng().random(shape) < share] += dtype(1)
    return old, new


def tuned(old, new, buffer):
    """Twelve statistics, without a temporary array."""
    old, new, d = old.ravel(), new.ravel(), buffer.ravel()
    n, level = old.size, new.mean()
    flips = np.count_nonzero(np.signbit(np.multiply(old, new, out=d)))
    cosine = np.dot(old, new) / np.sqrt(float(np.dot(old, old)) * np.dot(new, new))
    np.subtract(new, level, out=d)
    level_var = np.dot(d, d) / n
    np.subtract(new, old, out=d)
    low, high, rms = d.min(), d.max(), np.sqrt(np.dot(d, d) / n)
    changed, mean, size = np.count_nonzero(d), d.mean(), np.abs(d, out=d).mean()
    zeros = n - np.count_nonzero(new)
    ends = (max(-low, high), low, high)
    numbers = (changed, mean, size, rms, *ends, cosine, flips, zeros, level, level_var)
    return np.array(numbers, np.float64)


def fields(record):
    """The same twelve from a record."""
    return np.array([getattr(record, name) for name in FIELDS], np.float64)


def statistics(shape, dtype=np.float32):
    old, new = arrays(shape, dtype=dtype)
    buffer = np.empty_like(old)
    ways = {
        "NumPy, twelve statistics": Way(lambda: tuned(old, new, buffer)),
        OURS: Way(lambda: fields(ps.change_stats(old, new))),
    }
    return Problem("change", old, new, None, ways, same_order=False)


def copying(shape):
    """The statistics and a copy of the new array, beside the copy alone."""
    old, new = arrays(shape)
    room, other = np.empty_like(old), np.empty_like(old)
    copied = partial(np.copyto, other, new)
    ours = partial(ps.change_stats, old, new, copy_new_to=room)
    ways = {"np.copyto alone": Way(copied, other), OURS: Way(ours, room)}
    return Problem("change", old, new, None, ways)


WORKLOADS = (
    Workload(
        "twelve statistics, [256, 10000] f32",
        lambda scale: statistics((256, max(1, int(10_000 * scale)))),
    ),
    Workload(
        "the same with a copy, beside np.copyto",
        lambda scale: copying((256, max(1, int(10_000 * scale)))),
        in_gate=False,
    ),
)


def sweep_problem(op, dtype, n, width):
    """One dtype."""
    return statistics((n, width), np.dtype(dtype).type)


SUITE = harness.Suite(
    "bench_change",
    WORKLOADS,
    lambda: [row for row in harness.kernel_rows("change") if row[1] in ("f32", "f64")],
    sweep_problem,
    ("measure", "f32"),
)

if __name__ == "__main__":
    sys.exit(harness.main(SUITE))
