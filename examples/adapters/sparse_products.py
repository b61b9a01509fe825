"""A sparse product with gradients for both: python examples/adapters/sparse_products.py

Values on a ring of nodes are smoothed by an unknown stencil; a model with the structure
of the ring, whose stored values are trained, and whose input is scaled by a trained
vector, finds both. The gradients are compared with torch's own dense product.
"""

import numpy as np
import torch

import pyscatter as ps
import pyscatter.adapters.torch as pt

NODES, BATCH, STEPS = 200, 64, 300


def ring():
    """Return the structure: each node, and both that are beside it."""
    row = np.repeat(np.arange(NODES), 3)
    col = (row + np.tile([-1, 0, 1], NODES)) % NODES
    return ps.coo_to_csr(
        np.full(3 * NODES, 0.3, np.float32), (row, col), (NODES, NODES)
    )


def check_gradients(A, data, scale, x):
    """Both gradients are those of the dense product, to rounding."""
    (pt.spmm(A, scale[:, None] * x, data=data) ** 2).sum().backward()
    ours = data.grad.clone(), scale.grad.clone()
    data.grad = scale.grad = None
    row = np.repeat(np.arange(NODES), np.diff(A.indptr))
    dense = torch.zeros(NODES, NODES).index_put(
        (torch.tensor(row), torch.tensor(A.indices.astype(np.int64))), data
    )
    ((dense @ (scale[:, None] * x)) ** 2).sum().backward()
    torch.testing.assert_close(ours[0], data.grad, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(ours[1], scale.grad, rtol=1e-4, atol=1e-4)
    data.grad = scale.grad = None


def main():
    """Fit the values of the matrix and the scale of the input."""
    torch.manual_seed(0)
    A = ring()
    goal = A.astype(np.float32)
    true = torch.rand(A.nnz), 0.5 + torch.rand(NODES)
    data = torch.tensor(np.array(goal.data), requires_grad=True)
    scale = torch.ones(NODES, requires_grad=True)
    check_gradients(A, data, scale, torch.randn(NODES, 8))
    print("gradients of both factors are those of a dense product, to rounding")
    optimizer = torch.optim.Adam([data, scale], 0.02)
    losses = []
    for _ in range(STEPS):
        x = torch.randn(NODES, BATCH)
        with torch.no_grad():
            y = pt.spmm(A, true[1][:, None] * x, data=true[0])
        loss = ((pt.spmm(A, scale[:, None] * x, data=data) - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(f"loss {losses[0]:.4f} -> {losses[-1]:.6f}")
    assert losses[-1] < 0.05 * losses[0]


if __name__ == "__main__":
    main()
