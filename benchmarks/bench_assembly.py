"""Sparse matrices made and multiplied: ``python -m benchmarks.bench_assembly``.

Assembly of a mesh of triangles, the first time and again with other values;
conversions; products of a power-law graph with itself; each beside SciPy, where it can
be imported. Candidates take turns and medians are compared; the last column is SciPy's
time over ours.
"""

import argparse
import sys
from functools import partial
from statistics import median

import numpy as np

import pyscatter as ps
from benchmarks import rivals
from pyscatter.bench import Way, draw, measure, rng

TRIANGLES, NODES, LINKS = 1_000_000, 40_000, 300_000


def mesh(n):
    """Return the corners of n triangles in a square, and how many corners there are."""
    side = int((n / 2) ** 0.5) + 1
    i, j = np.meshgrid(np.arange(side), np.arange(side), indexing="ij")
    corner = (i * (side + 1) + j).ravel()
    lower = np.stack([corner, corner + 1, corner + side + 1], 1)
    upper = np.stack([corner + 1, corner + side + 2, corner + side + 1], 1)
    return np.concatenate([lower, upper])[:n], (side + 1) ** 2


def graph(scale):
    """Return a CSR whose columns few nodes take most of."""
    size, n = int(NODES * scale) + 1, int(LINKS * scale)
    links = rng().integers(0, size, n), draw(n, size, "power")
    return ps.coo_to_csr(np.ones(n, np.float32), links, (size, size))


def assembly(scale):
    """Element matrices: ours takes them as they are, SciPy wants flat arrays."""
    nodes, size = mesh(int(TRIANGLES * scale) + 1)
    row, col = np.repeat(nodes, 3, 1).ravel(), np.tile(nodes, (1, 3)).ravel()
    data, shape = rng().random(row.size), (size, size)
    plan = ps.AssemblyPlan((row, col), shape)
    broadcast = nodes[:, :, None], nodes[:, None, :]
    blocks = data.reshape(-1, 3, 3)
    ours = {
        "assembly, first": partial(ps.coo_to_csr, data, (row, col), shape),
        "assembly, first, (n, 3, 3)": partial(ps.coo_to_csr, blocks, broadcast, shape),
        "assembly, again": partial(plan, data),
    }
    sparse = rivals.load("scipy") and rivals.load("scipy.sparse")
    if not sparse:
        return {name: (call, None) for name, call in ours.items()}

    def scipys():
        return sparse.coo_array((data, (row, col)), shape=shape).tocsr()

    return {name: (call, scipys) for name, call in ours.items()}


def products(scale):
    """A graph's two-step neighbours, and the formats of its matrix."""
    a = graph(scale)
    c, plan = ps.spgemm(a, a, plan=True)
    ours = {
        "spgemm": (partial(ps.spgemm, a, a), lambda s: s @ s),
        "spgemm, again": (partial(plan, a.data, a.data), lambda s: s @ s),
        "to_csc": (a.to_csc, lambda s: s.tocsc()),
        "to_coo": (a.to_coo, lambda s: s.tocoo()),
    }
    sparse = rivals.load("scipy") and rivals.load("scipy.sparse")
    s = sparse.csr_array((a.data, a.indices, a.indptr), a.shape) if sparse else None
    return {
        name: (call, None if s is None else partial(twin, s))
        for name, (call, twin) in ours.items()
    }


def line(name, ours, twin):
    """Measure one pair and return its line."""
    ways = {"ours": Way(ours)} | ({"scipy": Way(twin)} if twin else {})
    times = {key: 1e3 * median(found) for key, found in measure(ways).items()}
    rest = (
        f"{times['scipy']:10.2f} {times['scipy'] / times['ours']:7.2f}" if twin else ""
    )
    return f"{name:28s} {times['ours']:10.2f} {rest}"


def main(argv=None):
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_assembly")
    parser.add_argument("--scale", type=float, default=1.0, help="1.0: full sizes")
    parser.add_argument("--threads", type=int, help="threads of pyscatter")
    options = parser.parse_args(argv)
    if options.threads:
        ps.set_num_threads(options.threads)
    print(f"{'ms':28s} {'ours':>10s} {'scipy':>10s} {'ratio':>7s}")
    for build in (assembly, products):
        for name, (ours, twin) in build(options.scale).items():
            print(line(name, ours, twin))
    return 0


if __name__ == "__main__":
    sys.exit(main())
