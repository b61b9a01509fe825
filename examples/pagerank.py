"""PageRank on a graph of links: python examples/pagerank.py

A node is important if important nodes link to it. The links become a sparse matrix, in
which repeated links add up; each step is a sum over the links into each node.
"""

import numpy as np

import pyscatter as ps

NODES, LINKS, DAMPING = 5_000, 60_000, 0.85


def links(rng):
    """Return the ends of links: few nodes are linked to by many."""
    popularity = 1 / np.arange(1, NODES + 1)
    target = rng.choice(NODES, LINKS, p=popularity / popularity.sum())
    return rng.integers(0, NODES - 50, LINKS), target  # the last nodes link nowhere


def step_matrix(source, target):
    """Return the matrix that moves importance along links, and who has none."""
    counts = ps.coo_to_csr(np.ones(LINKS), (target, source), (NODES, NODES))
    out = ps.bincount(source, minlength=NODES)
    share = counts.data / ps.gather(out, counts.indices)
    return ps.CSR((share, counts.indices, counts.indptr), counts.shape), out == 0


def pagerank(matrix, is_dangling):
    """Return the rank of each node and the number of steps."""
    rank = np.full(NODES, 1 / NODES)
    for step in range(1, 200):
        lost = rank[is_dangling].sum()  # goes to everybody
        new = (1 - DAMPING + DAMPING * lost) / NODES + DAMPING * (matrix @ rank)
        if np.abs(new - rank).sum() < 1e-12:
            return new, step
        rank = new
    raise RuntimeError("no convergence")


def main():
    """Rank the nodes and check the fixed point with a dense matrix."""
    rng = np.random.default_rng(0)
    matrix, is_dangling = step_matrix(*links(rng))
    rank, steps = pagerank(matrix, is_dangling)
    dense = matrix.to_dense()
    dense[:, is_dangling] = 1 / NODES
    assert np.allclose(rank, (1 - DAMPING) / NODES + DAMPING * dense @ rank)
    assert np.isclose(rank.sum(), 1)
    print(f"{LINKS} links, {matrix.nnz} of them distinct, {NODES} nodes")
    print(f"{steps} steps; most important:")
    for node in np.argsort(rank)[:-4:-1]:
        print(f"  node {node}: {rank[node]:.4f}")


if __name__ == "__main__":
    main()
