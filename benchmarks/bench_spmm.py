"""Products with sparse matrices against NumPy and rivals.

``python -m benchmarks.bench_spmm``: first products of a graph of the size of
ogbn-arxiv and of a small one, whose places are drawn as those of the graph in
bench_scatter; then every op and dtype that kernels() lists against its NumPy twin; then
what the check of a structure takes of each of these products.
"""

import sys
from functools import partial
from statistics import median
from types import SimpleNamespace

import numpy as np

import pyscatter as ps
from benchmarks import harness
from benchmarks.bench_scatter import EDGES, NODES, scaled
from pyscatter.bench import OURS, Problem, Way, Workload, draw, measure, rng

SMALL = (10_000, 100_000)
METHODS = {"add": np.add, "min": np.minimum, "max": np.maximum}


def graph(size, n, dtype=np.float32):
    """A square matrix: columns of a power law, rows at random and in order."""
    row, col = np.sort(rng().integers(0, size, n)), draw(n, size, "power")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=size))])
    made = SimpleNamespace(
        format="csr",
        shape=(size, size),
        data=(rng().random(n) * 8).astype(dtype),
        indices=col.astype(np.int32),
        indptr=indptr.astype(np.int32),
    )
    return made, row


def turned(A):
    """The transpose: the same arrays in the other format."""
    other = {"csr": "csc", "csc": "csr"}[A.format]
    return SimpleNamespace(**{**vars(A), "format": other})


def by_numpy(A, row, X, meet=np.add, start=0):
    """Rows are gathered, multiplied and met one by one."""
    to, of = (row, A.indices) if A.format == "csr" else (A.indices, row)
    out = np.full((A.shape[0], *X.shape[1:]), start, X.dtype)
    data = A.data if X.ndim == 1 else A.data[:, None]
    meet.at(out, to, np.multiply(data, X[of]))
    return out


def product(size, n, width, format):
    """A matrix times `width` columns; a container of it keeps its entries by rows."""
    A, row = graph(size, n)
    A = A if format == "csr" else turned(A)
    X = rng().random((size, width) if width > 1 else size, np.float32)
    out = np.empty_like(X)
    form = {"csr": ps.CSR, "csc": ps.CSC}[format]
    container = form((A.data, A.indices, A.indptr), A.shape)
    ways = {
        "np.add.at": Way(partial(by_numpy, A, row, X)),
        "pyscatter, fresh": Way(partial(ps.spmm, A, X)),
        "pyscatter, container": Way(partial(ps.spmm, container, X)),
        OURS: Way(partial(ps.spmm, A, X, out=out)),
    }
    return Problem(f"spmm {format}", X, (A.indptr, A.indices), A.data, ways)


def sampled(size, n, width):
    """Inner products at the entries."""
    A, row = graph(size, n)
    X, Y = (rng().random((size, width), np.float32) for _ in "XY")
    ways = {
        "np.einsum": Way(lambda: np.einsum("ek,ek->e", X[row], Y[A.indices])),
        OURS: Way(partial(ps.sddmm, A, X, Y)),
    }
    return Problem("sddmm", X, (A.indptr, A.indices), Y, ways, same_order=False)


def checked(size, n):
    """The check that every product makes, beside what NumPy needs for it."""
    A, _ = graph(size, n)
    indices, indptr = A.indices, A.indptr

    def by_hand():
        bad = (indices < 0).any() or (indices >= size).any()
        return np.array(bad or (np.diff(indptr) < 0).any())

    ways = {
        "NumPy": Way(by_hand),
        OURS: Way(lambda: np.array(ps._core.check_matrix(A) is not None)),
    }
    return Problem("check", indices, indptr, None, ways)


def product_of(name, sizes, width, format):
    return Workload(
        f"spmm {name} {format}, K={width}",
        lambda scale: product(*(scaled(n, scale) for n in sizes), width, format),
    )


def sampled_of(name, sizes, width):
    return Workload(
        f"sddmm {name}, K={width}",
        lambda scale: sampled(*(scaled(n, scale) for n in sizes), width),
    )


GRAPHS = {"169k": (NODES, EDGES), "10k": SMALL}
WORKLOADS = (
    *(
        product_of(name, sizes, width, format)
        for name, sizes in GRAPHS.items()
        for width in (1, 16, 64, 128)
        for format in ("csr", "csc")
    ),
    *(
        sampled_of(name, sizes, width)
        for name, sizes in GRAPHS.items()
        for width in (16, 64)
    ),
    Workload(
        "check of 169k",
        lambda scale: checked(scaled(NODES, scale), scaled(EDGES, scale)),
    ),
)


def sweep_rows():
    """Every sum, minimum and maximum of products that kernels() lists."""
    rows = [
        (op.removesuffix("_times"), dtype)
        for op, dtype in harness.kernel_rows("spmm")
        if op.endswith("_times")
    ]
    return [row for row in rows if harness.numpy_dtype(row[1]) is not None]


def sweep_problem(op, dtype, n, width):
    """One op on one dtype: about n products."""
    dtype = harness.numpy_dtype(dtype)
    size = max(1, n // (8 * width))
    A, row = graph(size, 8 * size, dtype)
    X = (rng().random((size, width) if width > 1 else size) * 8).astype(dtype)
    start = ps.spmm(SimpleNamespace(**{**vars(A), **empty(size)}), X, op=op).flat[0]
    ways = {
        f"{METHODS[op].__name__}.at": Way(
            partial(by_numpy, A, row, X, METHODS[op], start)
        ),
        OURS: Way(partial(ps.spmm, A, X, op=op)),
    }
    return Problem(op, X, A.indices, A.data, ways)


def empty(size):
    """Attributes of a matrix without entries."""
    none = np.zeros(0, np.int32)
    return {"data": None, "indices": none, "indptr": np.zeros(size + 1, np.int32)}


SUITE = harness.Suite(
    "bench_spmm", WORKLOADS, sweep_rows, sweep_problem, ("add", "f32")
)


# --------------------------------------------------------- what the check takes


def share(A, calls):
    """What a whole check of A alone takes, over what each call with A takes."""
    ways = {name: Way(call) for name, call in calls.items()}
    check = {"check": Way(partial(ps._core.check_matrix, A))}
    times = measure(check | ways, seconds=1.0)
    return {
        name: median(
            part / whole
            for part, whole in zip(times["check"], times[name], strict=True)
        )
        for name in calls
    }


def shares(size, n):
    """(format, name of the call, share) of products and inner products of a graph."""
    A, _ = graph(size, n)
    for width in (1, 16, 64, 128):
        X = rng().random((size, width) if width > 1 else size, np.float32)
        out = np.empty_like(X)
        for B in (A, turned(A)):
            calls = {
                f"spmm K={width}": partial(ps.spmm, B, X),
                f"spmm K={width}, out=": partial(ps.spmm, B, X, out=out),
            }
            if width in (16, 64):
                calls[f"sddmm K={width}"] = partial(ps.sddmm, B, X, X)
            for name, part in share(B, calls).items():
                yield B.format, name, part


def print_shares(scale):
    """A line for each cell. Fresh results are filled while the structure is checked."""
    print("\nthe check of the structure alone, over the whole call")
    for graph_name, sizes in GRAPHS.items():
        for format, name, part in shares(*(scaled(k, scale) for k in sizes)):
            print(f"{graph_name:>6s} {format} {name:18s} {part:7.1%}", flush=True)


def main(argv=None):
    """Run the suite, then show the shares."""
    status = harness.main(SUITE, argv)
    options = harness.parse(SUITE, argv)
    if not options.only:
        print_shares(0.02 if options.quick else 1.0)
    return status


if __name__ == "__main__":
    sys.exit(main())
