"""Pullbacks: ``python -m benchmarks.bench_autodiff``, beside torch, JAX and NumPy.

First ten elements: what `vjp` and its pullback cost beyond the calls that somebody
would write who knew the rule by heart: the operation and its transpose, or the kernel
that takes back what is not linear. Then large arrays: the pullback alone, the
forward call having been made, beside the backward pass of others.
"""

import argparse
import sys
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import NamedTuple

import numpy as np

import pyscatter as ps
from benchmarks.bench_spmm import graph
from benchmarks.harness import describe, restart_clean
from benchmarks.rivals import load
from pyscatter.bench import OURS, Way, measure

# ---------------------------------------------------------------- ten elements

IDS = np.array([0, 3, 1, 3, 4, 0, 0, 2, 1, 4])
OFFSETS = np.array([0, 2, 5, 6, 8, 10])
A, V, G5, G10 = np.zeros(5), np.linspace(0.25, 2.5, 10), np.ones(5), np.ones(10)
MASK = np.arange(10) % 3 == 0
G4 = np.ones(4)
ROWS = np.ones((10, 2))
PRODUCT = ps.CSR((V, IDS.astype(np.int32), np.arange(11, dtype=np.int32)), (10, 10))


class Tiny(NamedTuple):
    """A call with its cotangent, and the calls that know the rule by heart."""

    op: str
    primals: tuple
    options: dict
    g: np.ndarray
    by_heart: Callable

    @property
    def name(self):
        """The call as the table shows it."""
        how = self.options.get("op") or ", ".join(f"{key}=" for key in self.options)
        return f"{self.op}({how})"

    def by_rule(self):
        """Call it, and take the cotangent back."""
        return ps.vjp(getattr(ps, self.op), *self.primals, **self.options)[1](self.g)


def added(put, where, g, *axis, n=5, **options):
    """The transpose of a gather: into new zeros."""
    new = np.zeros(n)
    return put(new, where, g, *axis, op="add", out=new, **options)


NOT_LINEAR = "first", "mean", "mul", "max"


def pulled(out, op, old):
    """The kernel that takes back what is not linear."""
    return ps._core.pull_back(op, old, IDS, V, out, G5, "even")


def softmax_back(y):
    """The transpose of softmax at its result."""
    return y * (G10 - ps.gather(ps.segment_sum(G10 * y, IDS, 5), IDS))


def chosen(x, y):
    """The transpose of `where`."""
    return ps.where(MASK, x, y), ps.where(MASK, G10, 0.0), ps.where(MASK, 0.0, G10)


def tiny():
    """Yield the calls of the first table."""
    column = IDS[:, None]
    yield Tiny(
        *("gather", (A, IDS), {}, G10),
        lambda: (ps.gather(A, IDS), added(ps.scatter, IDS, G10)),
    )
    yield Tiny(
        *("gather_along_axis", (A, IDS, 0), {}, G10),
        lambda: (
            ps.gather_along_axis(A, IDS, 0),
            added(ps.scatter_along_axis, IDS, G10, 0),
        ),
    )
    yield Tiny(
        *("gather_nd", (A, column), {}, G10),
        lambda: (ps.gather_nd(A, column), added(ps.scatter_nd, column, G10)),
    )
    yield Tiny(
        *("gather_at", (A, IDS), {}, G10),
        lambda: (ps.gather_at(A, IDS), added(ps.scatter_at, IDS, G10)),
    )
    yield Tiny(
        *("gather_where", (V, MASK), {}, G4),
        lambda: (
            ps.gather_where(V, MASK),
            added(ps.scatter_where, MASK, G4, n=10, packed=True),
        ),
    )
    yield Tiny(
        *("scatter", (A, IDS, V), {"op": "add"}, G5),
        lambda: (ps.scatter(A, IDS, V, op="add"), ps.gather(G5, IDS)),
    )
    for op in NOT_LINEAR:
        yield Tiny(
            *("scatter", (A, IDS, V), {"op": op}, G5),
            lambda op=op: pulled(ps.scatter(A, IDS, V, op=op), op, A),
        )
    yield Tiny(
        *("scatter_at", (A, IDS, V), {"op": "add"}, G5),
        lambda: (ps.scatter_at(A, IDS, V, op="add"), ps.gather_at(G5, IDS)),
    )
    yield Tiny(
        *("scatter_where", (V, MASK, V), {"op": "add"}, G10),
        lambda: (ps.scatter_where(V, MASK, V, op="add"), ps.where(MASK, G10, 0.0)),
    )
    yield Tiny("where", (MASK, V, V), {}, G10, partial(chosen, V, V))
    yield Tiny("where", (MASK, V, 1.0), {}, G10, partial(chosen, V, 1.0))
    yield from tiny_segments()
    yield from tiny_products()


def tiny_segments():
    """Yield the calls that reduce."""
    yield Tiny(
        *("segment_sum", (V, IDS, 5), {}, G5),
        lambda: (ps.segment_sum(V, IDS, 5), ps.gather(G5, IDS)),
    )
    for op in NOT_LINEAR:
        yield Tiny(
            *("segment_reduce", (V, IDS, 5), {"op": op}, G5),
            lambda op=op: pulled(ps.segment_reduce(V, IDS, 5, op=op), op, None),
        )
    yield Tiny(
        *("segment_sum", (V,), {"offsets": OFFSETS}, G5),
        lambda: (
            ps.segment_sum(V, offsets=OFFSETS),
            ps.segment_expand(G5, offsets=OFFSETS),
        ),
    )
    yield Tiny(
        *("segment_softmax", (V, IDS, 5), {}, G10),
        lambda: softmax_back(ps.segment_softmax(V, IDS, 5)),
    )
    yield Tiny(
        *("segment_cumsum", (V, IDS), {}, G10),
        lambda: (ps.segment_cumsum(V, IDS), ps.segment_cumsum(G10, IDS, reverse=True)),
    )
    yield Tiny(
        *("segment_expand", (A, IDS), {}, G10),
        lambda: (ps.segment_expand(A, IDS), ps.segment_sum(G10, IDS, 5)),
    )
    yield Tiny(
        *("bincount", (IDS, V), {}, G5),
        lambda: (ps.bincount(IDS, V), ps.gather(G5, IDS)),
    )


def tiny_products():
    """Yield the calls that multiply."""
    back = partial(ps.spmm, PRODUCT, ROWS, transpose=True)
    yield Tiny(
        *("spmm", (PRODUCT, ROWS), {"wrt": 1}, ROWS),
        lambda: (ps.spmm(PRODUCT, ROWS), back()),
    )
    yield Tiny(
        *("spmm", (PRODUCT, ROWS), {}, ROWS),
        lambda: (ps.spmm(PRODUCT, ROWS), back(), ps.sddmm(PRODUCT, ROWS, ROWS)),
    )
    yield Tiny(
        *("sddmm", (PRODUCT, ROWS, ROWS), {}, V),
        lambda: (ps.sddmm(PRODUCT, ROWS, ROWS), ps.spmm(PRODUCT, ROWS), back()),
    )


def print_tiny(rounds):
    """Print what rules cost beyond the calls; the least of many turns."""
    print("ten elements, in microseconds: by heart, by rule, the difference")
    for row in tiny():
        ways = {"heart": Way(row.by_heart), "rule": Way(row.by_rule)}
        times = measure(ways, rounds, block=2e-4)
        heart, rule = (min(times[name]) * 1e6 for name in ways)
        print(f"{row.name:28} {heart:6.2f} {rule:6.2f} {rule - heart:6.2f}", flush=True)


# ---------------------------------------------------------------- large arrays


def fresh(pullback):
    """A pullback that has kept nothing of what it made for its last cotangent."""
    pullback.store.clear()
    return pullback


def torch_back(function, arrays, g, index=()):
    """The backward pass of torch, the graph being kept; nothing without torch."""
    torch = load("torch")
    if torch is None:
        return {}
    tensors = [torch.from_numpy(x).requires_grad_() for x in arrays]
    out = function(torch, *tensors, *map(torch.from_numpy, index))
    grad = partial(torch.autograd.grad, out, tensors, torch.from_numpy(g))
    return {"torch": Way(lambda: grad(retain_graph=True)[0].numpy())}


def jax_back(function, arrays, g, index=()):
    """The compiled pullback of JAX; nothing without JAX."""
    jax = load("jax")
    if jax is None:
        return {}
    arrays, g, index = (jax.device_put(x) for x in (arrays, g, index))

    def pulled(arrays, index, g):
        return jax.vjp(lambda *x: function(jax.numpy, *x, *index), *arrays)[1](g)

    compiled = jax.jit(pulled)
    return {"jax": Way(lambda: np.asarray(compiled(arrays, index, g)[0]))}


def gathered(n):
    """Rows of 64 that a batch of ids takes."""
    rng = np.random.default_rng(0)
    table, ids = rng.random((n // 2, 64), np.float32), rng.integers(0, n // 2, n)
    g = rng.random((n, 64), np.float32)
    _, pullback = ps.vjp(ps.gather, table, ids)
    by_torch = torch_back(lambda t, x, i: t.index_select(x, 0, i), [table], g, [ids])
    by_jax = jax_back(lambda jnp, x, i: jnp.take(x, i, axis=0), [table], g, [ids])
    rows = Way(lambda: fresh(pullback)(g, sparse=True)[0].values)
    ours = Way(lambda: fresh(pullback)(g)[0])
    return {OURS: ours, f"{OURS}, row-sparse": rows, **by_torch, **by_jax}


def extremes(n, segments):
    """Greatest of values that arrive; segments have no old values."""
    rng = np.random.default_rng(0)
    values, ids = rng.random(n, np.float32), rng.integers(0, n // 8, n)
    a = rng.random(n // 8, np.float32)
    g = rng.random(n // 8, np.float32)
    if segments:
        _, pullback = ps.vjp(ps.segment_max, values, ids, n // 8)
    else:
        _, pullback = ps.vjp(ps.scatter, a, ids, values, op="max")

    def by_torch(t, x, y, i):
        return t.scatter_reduce(x, 0, i, y, "amax", include_self=not segments)

    def by_jax(jnp, x, y, i):
        return x.at[i].max(y)

    others = torch_back(by_torch, [a, values], g, [ids])
    if not segments:
        others |= jax_back(by_jax, [a, values], g, [ids])
    wanted = 0 if segments else 2
    return {OURS: Way(lambda: fresh(pullback)(g)[wanted]), **others}


def able(ways):
    """Those that can: torch makes the dense product, which may not fit in memory."""
    found = {}
    for name, way in ways.items():
        try:
            way.call()
        except RuntimeError as error:
            print(f"# {name} cannot: {str(error)[-80:]}", file=sys.stderr)
        else:
            found[name] = way
    return found


def multiplied(n, width, per_row=10):
    """Both gradients of a matrix times a dense one."""
    size = n // per_row
    A, row = graph(size, n)
    X, g = (np.random.default_rng(0).random((size, width), np.float32) for _ in "Xg")
    A = ps.CSR((A.data, A.indices, A.indptr), A.shape)
    _, pullback = ps.vjp(ps.spmm, A, X)
    ways = {OURS: Way(lambda: fresh(pullback)(g)[1])}
    torch, jax = load("torch"), load("jax")
    if torch is not None:
        ways |= able(torch_products(torch, A, row, X, g))
    if jax is not None:
        ways |= jax_product(jax, A, X, g)
    return ways


def torch_products(torch, A, row, X, g):
    """The same of torch: a matrix by rows, and by coordinates."""
    ways = {}
    X, g, data = map(torch.from_numpy, (X, g, A.data))
    rows = torch.sparse_csr_tensor(
        torch.from_numpy(A.indptr), torch.from_numpy(A.indices), data, A.shape
    )
    places = torch.from_numpy(np.stack([row, A.indices]))
    entries = torch.sparse_coo_tensor(places, data, A.shape, is_coalesced=True)
    for name, matrix in (("CSR", rows), ("COO", entries)):
        inputs = matrix.requires_grad_(), X.clone().requires_grad_()
        out = torch.sparse.mm(*inputs) if name == "COO" else inputs[0] @ inputs[1]
        grad = partial(torch.autograd.grad, out, inputs, g, retain_graph=True)
        ways[f"torch {name}"] = Way(lambda grad=grad: grad()[1].numpy())
    return ways


def jax_product(jax, A, X, g):
    """The same of JAX."""
    from jax.experimental import sparse

    arrays = [jax.device_put(x) for x in (A.data, A.indices, A.indptr, X, g)]

    @jax.jit
    def pulled(data, indices, indptr, X, g):
        def product(data, X):
            return sparse.BCSR((data, indices, indptr), shape=A.shape) @ X

        return jax.vjp(product, data, X)[1](g)

    return {"jax BCSR": Way(lambda: np.asarray(pulled(*arrays)[1]))}


def spread(n):
    """A choice whose second branch is one row for all."""
    rng = np.random.default_rng(0)
    x, y = rng.random((n // 64, 64), np.float32), rng.random(64, np.float32)
    condition, g = rng.random(x.shape) > 0.5, rng.random(x.shape, np.float32)
    _, pullback = ps.vjp(ps.where, condition, x, y, wrt=2)
    zero = np.float32(0)
    return {
        OURS: Way(lambda: fresh(pullback)(g)[2]),
        "NumPy": Way(lambda: np.where(condition, zero, g).sum(axis=0)),
    }


LARGE = {
    "gather rows, K=64": (gathered, 200_000),
    "spmm both, K=64": (partial(multiplied, width=64), 200_000),
    "spmm both, a graph": (partial(multiplied, width=64, per_row=7), 1_170_000),
    "scatter max": (partial(extremes, segments=False), 1_000_000),
    "segment max": (partial(extremes, segments=True), 1_000_000),
    "where, y one row": (spread, 10_000_000),
}


def print_large(rounds, scale, only):
    """Print the times of pullbacks, and what others take over ours."""
    print("large arrays, in milliseconds, and times ours")
    for name, (build, n) in LARGE.items():
        if only not in name:
            continue
        times = measure(build(int(n * scale)), rounds, 4.0)
        best = {way: median(t) * 1e3 for way, t in times.items()}
        cells = (f"{way} {t:.4g} ({t / best[OURS]:.2f})" for way, t in best.items())
        print(f"{name:22}", "  ".join(cells), flush=True)


def main(argv=None):
    """Print both tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_autodiff")
    parser.add_argument("--quick", action="store_true", help="small sizes, few rounds")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", default="", help="large arrays of these words alone")
    args = parser.parse_args(argv)
    restart_clean(args.threads)
    print(describe())
    if not args.only:
        print_tiny(10 if args.quick else 200)
    print_large(3 if args.quick else 9, 0.02 if args.quick else 1.0, args.only)
    return 0


if __name__ == "__main__":
    sys.exit(main())
