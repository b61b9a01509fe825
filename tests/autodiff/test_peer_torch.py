"""Gradients against torch's, where torch is right; where it is not, exact arithmetic.

Torch is wrong for set with duplicates, for ties with an old value that takes no part,
and for products that underflow; its sparse matrices have gradients by another name.
"""

from fractions import Fraction
from math import prod

import numpy as np
import pytest

import pyscatter as ps
from tests.cases import rng_for

torch = pytest.importorskip("torch")
RNG = rng_for("torch")
A, V = RNG.standard_normal((4, 3)), RNG.standard_normal((6, 3))
INDEX = np.array([0, 2, 2, 0, 1, 2])
G = RNG.standard_normal((4, 3))


def leaf(x):
    return torch.tensor(x, requires_grad=True)


def their_gradients(function, g, *arrays):
    """Return torch's gradients of a function of leaves."""
    leaves = [leaf(x) for x in arrays]
    function(*leaves).backward(torch.tensor(g))
    return [x.grad.numpy() for x in leaves]


def assert_close(ours, theirs):
    for mine, other in zip(ours, theirs, strict=True):
        assert np.allclose(mine, other, rtol=1e-12, atol=1e-14)


NAMES = {"add": "sum", "mul": "prod", "mean": "mean", "min": "amin", "max": "amax"}


@pytest.mark.parametrize("op", NAMES)
@pytest.mark.parametrize("include_self", [True, False])
def test_scatter_reduce(op, include_self):
    index = torch.tensor(np.repeat(INDEX[:, None], 3, axis=1))

    def theirs(a, v):
        return a.scatter_reduce(0, index, v, NAMES[op], include_self=include_self)

    options = {"op": op, "include_self": include_self}
    _, back = ps.vjp(ps.scatter, A, INDEX, V, **options)
    own, _, new = back(G)
    assert_close([own, new], their_gradients(theirs, G, A, V))


@pytest.mark.parametrize("op", ["min", "max"])
def test_ties_share(op):
    a, v = np.round(A), np.round(V)
    index = torch.tensor(np.repeat(INDEX[:, None], 3, axis=1))
    _, back = ps.vjp(ps.scatter, a, INDEX, v, op=op)
    own, _, new = back(G)
    expected = their_gradients(
        lambda a, v: a.scatter_reduce(0, index, v, NAMES[op]), G, a, v
    )
    assert_close([own, new], expected)


def test_gathers_and_choices():
    index = torch.tensor(INDEX)
    g = RNG.standard_normal((6, 3))
    _, back = ps.vjp(ps.gather, A, INDEX)
    assert_close(back(g)[:1], their_gradients(lambda a: a[index], g, A))
    mask = RNG.random((4, 3)) < 0.5
    _, back = ps.vjp(ps.where, mask, A, A[0])
    expected = their_gradients(
        lambda x, y: torch.where(torch.tensor(mask), x, y), G, A, A[0]
    )
    assert_close(back(G)[1:], expected)
    _, back = ps.vjp(ps.gather_where, A, mask)
    g = RNG.standard_normal(mask.sum())
    assert_close(back(g)[:1], their_gradients(lambda a: a[torch.tensor(mask)], g, A))


@pytest.mark.parametrize(("op", "theirs"), [
    ("logsumexp", lambda x: x.logsumexp(0, keepdim=True)),
    ("var", lambda x: x.var(0, correction=0, keepdim=True)),
    ("std", lambda x: x.std(0, correction=0, keepdim=True)),
    ("mean", lambda x: x.mean(0, keepdim=True)),
    ("mul", lambda x: x.prod(0, keepdim=True)),
])  # fmt: skip
def test_segments(op, theirs):
    _, back = ps.vjp(ps.segment_reduce, V, offsets=[0, 6], op=op)
    assert_close(back(G[:1]), their_gradients(theirs, G[:1], V))


def test_entries():
    g = RNG.standard_normal((6, 3))
    for ours, theirs in (
        (ps.segment_softmax, lambda x: x.softmax(0)),
        (ps.segment_log_softmax, lambda x: x.log_softmax(0)),
        (ps.segment_cumsum, lambda x: x.cumsum(0)),
    ):
        _, back = ps.vjp(ours, V, offsets=[0, 6])
        assert_close(back(g), their_gradients(theirs, g, V))
    _, back = ps.vjp(ps.segment_scan, V, offsets=[0, 6], op="mul")
    assert_close(back(g), their_gradients(lambda x: x.cumprod(0), g, V))
    with_zero = np.where(V > 0.5, 0.0, V)
    _, back = ps.vjp(ps.segment_scan, with_zero, offsets=[0, 6], op="mul")
    assert_close(back(g), their_gradients(lambda x: x.cumprod(0), g, with_zero))


@pytest.mark.filterwarnings("ignore")  # torch calls its sparse matrices a prototype
def test_sparse_products():
    row, col = np.array([0, 0, 1, 4, 3]), np.array([1, 2, 0, 3, 2])
    data, X = RNG.standard_normal(5), RNG.standard_normal((4, 3))
    g = RNG.standard_normal((5, 3))
    _, back = ps.vjp(ps.spmm, ps.COO((data, (row, col)), (5, 4)), X)
    of_A, of_X = back(g)

    def theirs(v, x):
        places = torch.tensor(np.stack([row, col]))
        return torch.sparse.mm(torch.sparse_coo_tensor(places, v, (5, 4)), x)

    assert_close([of_A.data, of_X], their_gradients(theirs, g, data, X))


def test_complex_gradients_follow_the_same_convention():
    z, c = A[0] + 1j * A[1], A[2] - 1j * A[3]
    g = G[0] + 1j * G[1]
    index = torch.tensor([0, 0, 2])
    _, back = ps.vjp(ps.scatter, z, [0, 0, 2], c, op="add")
    own, _, new = back(g)
    expected = their_gradients(lambda z, c: z.index_add(0, index, c), g, z, c)
    assert_close([own, new], expected)
    _, back = ps.vjp(ps.segment_prod, z, [0, 0, 0])
    assert_close(
        back(g[:1])[:1], their_gradients(lambda z: z.prod().reshape(1), g[:1], z)
    )


# --- where torch is not right ---------------------------------------------------------


def test_products_that_underflow_by_fractions():
    values = np.array([1e-200, 1e120, 1e-250, 1.0])
    _, back = ps.vjp(ps.segment_prod, values, [0] * 4)
    for i, got in enumerate(back(np.ones(1))[0]):
        others = [Fraction(x) for k, x in enumerate(values.tolist()) if k != i]
        assert got == pytest.approx(float(prod(others)), rel=1e-15, abs=0)
    theirs = their_gradients(lambda x: x.prod(), np.float64(1.0), values)[0]
    assert theirs[0] == 0 < back(np.ones(1))[0][0]


def test_duplicates_of_set_and_ties_with_what_takes_no_part():
    index = torch.tensor([0, 0])
    both = np.array([1.0, 2.0])
    _, back = ps.vjp(ps.scatter, np.zeros(2), [0, 0], both)
    theirs = their_gradients(
        lambda v: torch.zeros(2, dtype=v.dtype).scatter(0, index, v), np.ones(2), both
    )
    assert back(np.ones(2))[2].tolist() == [0, 1] != theirs[0].tolist()
    one = np.array([2.0])
    _, back = ps.vjp(ps.scatter, one, [0], one.copy(), op="max", include_self=False)
    theirs = their_gradients(
        lambda a, v: a.scatter_reduce(0, index[:1], v, "amax", include_self=False),
        *(np.ones(1), one, one),
    )
    own, _, new = back(np.ones(1))
    assert (own.tolist(), new.tolist()) == ([0], [1]) and theirs[1].tolist() == [0.5]
