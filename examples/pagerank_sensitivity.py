"""Which link matters to a page's rank: python examples/pagerank_sensitivity.py

The rank of a page depends on every link. One solve of the adjoint system gives its
derivative with respect to all of them, and any linear solver that knows products alone
does it: here conjugate gradients on the normal equations, from the derivative of `spmm`
as a linear operator. The derivatives are checked against a solve with a changed link.
"""

import numpy as np

import pyscatter as ps

PAGES, LINKS, DAMPING = 60, 5, 0.85


def web():
    """Return the matrix whose column is how a reader leaves a page."""
    rng = np.random.default_rng(0)
    source = np.repeat(np.arange(PAGES), LINKS)
    favour = rng.integers(0, PAGES, (2, source.size)).min(axis=0)
    weights = np.full(source.size, 1 / LINKS)
    return ps.coo_to_csr(weights, (favour, source), (PAGES, PAGES))


def system(links):
    """Return I - d * links as a matrix of the same entries and the diagonal."""
    coo, everyone = links.to_coo(), np.arange(PAGES)
    data = np.concatenate([-DAMPING * coo.data, np.ones(PAGES)])
    where = np.append(coo.row, everyone), np.append(coo.col, everyone)
    return ps.COO((data, where), (PAGES, PAGES))


def solve(operator, b):
    """Solve operator @ x = b by conjugate gradients on the normal equations."""
    x = np.zeros(operator.shape[1])
    r = b.copy()
    p = z = operator.rmatvec(r)
    size = z @ z
    for _ in range(20 * b.size):
        if size < 1e-26:
            break
        w = operator.matvec(p)
        step = size / (w @ w)
        x, r = x + step * p, r - step * w
        z = operator.rmatvec(r)
        size, old = z @ z, size
        p = z + (size / old) * p
    return x


def ranks(matrix):
    """Return the ranks of all pages, and the system as an operator."""
    operator = ps.linear_operator(ps.spmm, matrix, np.zeros(PAGES), wrt=1)
    return solve(operator, np.full(PAGES, (1 - DAMPING) / PAGES)), operator


def main():
    """Find the links that raise the rank of one page most."""
    links = web()
    matrix = system(links)
    rank, operator = ranks(matrix)
    page = int(rank.argsort()[PAGES // 2])
    # rank = M^-1 b, so d rank[page] = -<M^-T e_page, dM rank>: the pullback of M @ rank
    adjoint = solve(operator.H, np.eye(PAGES)[page])
    _, pullback = ps.vjp(ps.spmm, matrix, rank, wrt=0)
    slopes = -pullback(adjoint)[0].data[: links.nnz] * -DAMPING
    best = int(slopes.argmax())
    h, data = 1e-5, matrix.data.copy()
    ends = []
    for sign in (1, -1):
        data[best] = matrix.data[best] - sign * DAMPING * h
        moved = ps.COO((data.copy(), (matrix.row, matrix.col)), matrix.shape)
        ends.append(ranks(moved)[0][page])
    assert np.isclose((ends[0] - ends[1]) / (2 * h), slopes[best], rtol=1e-5)
    row, col = links.to_coo().row, links.indices
    print(f"{links.nnz} links between {PAGES} pages; ranks add up to {rank.sum():.6f}")
    print(f"page {page} has rank {rank[page]:.5f}")
    print(f"it gains most from the link {col[best]} -> {row[best]}: {slopes[best]:.5f}")
    print("a changed link moves the rank as the derivative says")


if __name__ == "__main__":
    main()
