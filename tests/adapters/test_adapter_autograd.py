"""The autograd adapter: both modes to second order, sparse cotangents, accelerate."""

import numpy as np
import pytest

import pyscatter as ps
from tests.compat.peers import peer

autograd = peer("autograd")

import autograd.numpy as anp  # noqa: E402
from autograd.test_util import check_grads  # noqa: E402

import pyscatter.adapters.autograd as pa  # noqa: E402

RNG = np.random.default_rng(3)
INDEX = np.array([0, 2, 2, 1, 0])
SECOND = ("set", "add", "sub", "mean", "min", "max")


def check(function, *args, order=2):
    check_grads(function, modes=["fwd", "rev"], order=order)(*args)


@pytest.mark.parametrize("op", [*SECOND, "mul", "div"])
def test_scatter_has_derivatives(op):
    a, values = RNG.normal(2, 1, (4, 3)), RNG.normal(2, 1, (5, 3))

    def call(a, values):
        return pa.scatter(a, INDEX, values, op=op)

    check(call, a, values, order=2 if op in SECOND else 1)
    if op not in SECOND:
        with pytest.raises(RuntimeError, match="has no second derivative"):
            check(call, a, values)


@pytest.mark.parametrize("op", ["add", "mean", "max", "min", "logsumexp", "mul"])
def test_segments_have_derivatives(op):
    ids = np.array([0, 2, 2, 1, 0])

    def call(values):
        return pa.segment_reduce(values, ids, 3, op=op)

    check(call, RNG.normal(2, 1, (5, 3)), order=1 if op in ("logsumexp", "mul") else 2)


def test_the_others_have_derivatives():
    a, b = RNG.normal(size=(4, 3)), RNG.normal(size=(4, 3))
    along, nd = np.array([[0, 2, 2], [1, 1, 0]]), np.array([[0, 1], [3, 2], [0, 1]])
    mask = np.array([True, False, True, False])
    check(lambda a: pa.gather(a, INDEX), a)
    check(lambda a: pa.gather(a, INDEX) ** 2, a)
    check(lambda a: pa.gather_along_axis(a, along, 0), a)
    check(lambda a: pa.gather_nd(a, nd), a)
    check(lambda a, v: pa.scatter_along_axis(a, along, v, 0, op="add"), a, b[:2])
    check(lambda a, v: pa.scatter_nd(a, nd, v), a, b[0])
    check(lambda a, b: pa.where(mask[:, None], a, b), a, b)
    check(lambda a: pa.where(mask[:, None], a, 0.0), a)
    check(lambda a, b: pa.scatter_where(a, mask, b, op="add"), a, b)


def test_products_have_derivatives():
    A = ps.CSR.from_dense([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]])
    left, right = RNG.normal(size=(2, 2)), RNG.normal(size=(3, 2))
    check(lambda d, x: pa.spmm(A, x, data=d), np.array(A.data), right)
    check(lambda d, x: pa.spmm(x, A, data=d), np.array(A.data), left)
    check(lambda x, y: pa.sddmm(A, x, y), left, right)


def test_many_gathers_add_to_one_array():
    table = RNG.normal(size=(6, 2))

    def loss(table):
        return anp.sum(pa.gather(table, INDEX) * pa.gather(table, INDEX[::-1]))

    ours = autograd.grad(loss)(table)
    theirs = autograd.grad(lambda t: anp.sum(t[INDEX] * t[INDEX[::-1]]))(table)
    np.testing.assert_allclose(ours, theirs)


def test_accelerated_indexing_gives_the_same_bits():
    table, index = RNG.normal(size=(50, 3)), RNG.integers(0, 50, 500)
    keys = (index, (index, index % 3), slice(3, 9), (slice(None), 1), table > 0, [1, 1])

    def gradients():
        return [
            autograd.grad(lambda t, key=key: anp.sum(t[key] ** 2))(table)
            for key in keys
        ]

    theirs = gradients()
    pa.accelerate()
    try:
        ours = gradients()
    finally:
        pa.accelerate(on=False)
    for x, y in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(x, y)


def test_bad_calls_are_refused():
    with pytest.raises(IndexError, match="index 7 is out of bounds"):
        autograd.grad(lambda a: anp.sum(pa.gather(a, [7])))(np.zeros(3))
    with pytest.raises(TypeError, match="float"):
        pa.gather(np.zeros(3), [0.5])
