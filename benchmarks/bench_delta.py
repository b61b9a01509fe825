"""Deltas against NumPy and torch: ``python -m benchmarks.bench_delta``.

First the workloads: finding what differs, at densities from 1 in 10,000 to 1 in 10, and
applying it, with every bound and the checksum of the bytes looked at. Then every dtype
that kernels() lists against its NumPy twin.
"""

import sys
from functools import partial

import numpy as np

import pyscatter as ps
from benchmarks import harness, rivals
from benchmarks.bench_scatter import MILLION, scaled
from pyscatter.bench import OURS, Problem, Way, Workload, rng


def pair(n, density, dtype):
    """Two arrays of `n` elements, of which a share differs."""
    dtype = np.dtype(dtype)
    old = rng().integers(0, 2 if dtype.kind == "b" else 100, n).astype(dtype)
    new = old.copy()
    at = rng().choice(n, int(n * density), replace=False)
    new.view(np.uint8).reshape(n, -1)[at] ^= 1
    return old, new


def bits_of(array):
    """An array of 1 to 8 bytes an element as unsigned integers, others as pairs."""
    size = array.itemsize
    if size <= 8:
        return array.view(f"u{size}")
    return array.view("u8").reshape(-1, size // 8)


def found_by_numpy(old, new):
    """Values of what differs."""
    differs = bits_of(old) != bits_of(new)
    if differs.ndim > 1:
        differs = differs.any(axis=1)
    return new[np.flatnonzero(differs)]


def find(old, new):
    """What differs, found and packed."""
    ways = {
        "np.flatnonzero(old != new), new[at]": Way(partial(found_by_numpy, old, new)),
        OURS: Way(lambda: ps.delta(old, new).values.view(new.dtype)),
    }
    torch = rivals.load("torch") if old.dtype == np.float32 else None
    if torch is not None:
        before, after = torch.from_numpy(old), torch.from_numpy(new)
        ways["torch"] = Way(
            lambda: after[torch.ne(before, after).nonzero().squeeze(1)].numpy()
        )
    return Problem("delta", old, old, None, ways)


def apply(old, new):
    """Positions and values put in their places, from bytes to the array."""
    made = ps.delta(old, new)
    wire, at, values = made.to_bytes(), made.positions, made.values.view(old.dtype)
    theirs, ours = old.copy(), old.copy()

    def assign():
        theirs[at] = values
        return theirs

    ways = {
        "a[at] = values": Way(assign),
        OURS: Way(lambda: ps.Delta.from_bytes(wire).apply(ours, out=ours)),
    }
    return Problem("apply", old, old, None, ways)


def find_of(density):
    return Workload(
        f"delta, float32, {density:.2%} of 10,000,000",
        lambda scale: find(*pair(scaled(10 * MILLION, scale), density, "f4")),
    )


WORKLOADS = (
    find_of(0.0001),
    find_of(0.01),
    find_of(0.1),
    Workload(
        "delta from bytes applied, uint16, 1 % of 100,000,000",
        lambda scale: apply(*pair(scaled(100 * MILLION, scale), 0.01, "u2")),
    ),
    Workload("delta, ten elements", lambda scale: find(*pair(10, 0.3, "f4"))),
)


def sweep_rows():
    """Every dtype that kernels() lists and NumPy has."""
    rows = harness.kernel_rows("delta")
    return [row for row in rows if harness.numpy_dtype(row[1]) is not None]


def sweep_problem(op, dtype, n, width):
    """One dtype: a hundredth differs."""
    return find(*pair(n * width, 0.01, dtype))


SUITE = harness.Suite(
    "bench_delta", WORKLOADS, sweep_rows, sweep_problem, ("find", "f32")
)

if __name__ == "__main__":
    sys.exit(harness.main(SUITE))
