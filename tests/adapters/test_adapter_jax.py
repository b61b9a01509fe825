"""The JAX adapter: values, grad, jvp, jit, vmap, bad input."""

import numpy as np
import pytest

import pyscatter as ps
from tests.compat.peers import peer

jax = peer("jax")

import jax.numpy as jnp  # noqa: E402

import pyscatter.adapters.jax as pj  # noqa: E402

RNG = np.random.default_rng(5)
INDEX = np.array([0, 2, 2, 1, 0])
ALONG, TUPLES = np.array([[0, 2, 2]]), np.array([[0, 1], [3, 2], [0, 1]])
MASK = np.array([True, False, True, False])
A = ps.CSR.from_dense(np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]], "f4"))


def numbers(*shape):
    return RNG.normal(2, 1, shape).astype("f4")


CALLS = {
    "gather": (lambda m, a: m.gather(a, INDEX), (numbers(4, 3),)),
    "column": (lambda m, a: m.gather(a, INDEX, 1), (numbers(4, 3),)),
    "along": (lambda m, a: m.gather_along_axis(a, ALONG, 0), (numbers(4, 3),)),
    "nd": (lambda m, a: m.gather_nd(a, TUPLES), (numbers(4, 3),)),
    "put": (
        lambda m, a, v: m.scatter_nd(a, TUPLES, v, op="mul"),
        (numbers(4, 3), numbers(3)),
    ),
    "where": (lambda m, x, y: m.where(MASK, x, y), (numbers(4), numbers(4))),
    "mask": (
        lambda m, a, v: m.scatter_where(a, MASK, v, op="add"),
        (numbers(4), numbers(4)),
    ),
    "segments": (
        lambda m, v: m.segment_reduce(v, INDEX, 4, op="max", fill_value=0.0),
        (numbers(5, 2),),
    ),
    "spmm": (lambda m, x: m.spmm(A, x), (numbers(3, 2),)),
    "sddmm": (lambda m, x, y: m.sddmm(A, x, y), (numbers(2, 2), numbers(3, 2))),
}
for _op in ("set", "add", "mean", "min", "mul"):
    CALLS[_op] = (
        lambda m, a, v, op=_op: m.scatter(a, INDEX, v, op=op),
        (numbers(4, 3), numbers(5, 3)),
    )


@pytest.mark.parametrize("case", CALLS)
def test_calls_and_both_modes_are_pyscatter(case):
    call, arrays = CALLS[case]
    expected = call(ps, *arrays)
    for wrap in (lambda f: f, jax.jit):
        out, pullback = jax.vjp(wrap(lambda *x: call(pj, *x)), *arrays)
        np.testing.assert_array_equal(out, expected)
        grads = pullback(jnp.ones_like(out))
        moves = tuple(np.ones_like(x) for x in arrays)
        out, moved = jax.jvp(wrap(lambda *x: call(pj.forward, *x)), arrays, moves)
        np.testing.assert_array_equal(out, expected)
        total = sum(float(np.sum(g)) for g in grads)
        np.testing.assert_allclose(total, float(jnp.sum(moved)), rtol=1e-4)


def test_values_of_a_matrix_have_gradients():
    X = numbers(3, 2)
    grad = jax.grad(lambda d: jnp.sum(pj.spmm(A, X, data=d)))(jnp.asarray(A.data))
    np.testing.assert_allclose(grad, X.sum(axis=1)[np.asarray(A.indices)], rtol=1e-6)


def test_vmap_is_one_call_after_the_other():
    a, index = numbers(2, 4, 3), np.array([[0, 1], [3, -1]])

    def each(a, i):
        return pj.gather(a, i, mode="fill")

    def total(a, i):
        return jnp.sum(pj.gather(a, i, mode="fill"))

    out = jax.vmap(each)(a, index)
    np.testing.assert_array_equal(out[1], ps.gather(a[1], index[1], mode="fill"))
    shared = jax.jit(jax.vmap(each, in_axes=(None, 0)))(a[0], index)
    np.testing.assert_array_equal(shared[0], a[0][index[0]])
    grads = jax.vmap(jax.grad(total))(a, index)
    assert grads[1].sum() == 3 and grads[0].sum() == 6


def test_traced_indices():
    a, index = numbers(4, 3), np.array([0, 9])
    with pytest.raises(TypeError, match='"drop", "clip" or "fill"'):
        jax.jit(pj.gather)(a, index)
    with pytest.raises(TypeError, match="concrete"):
        jax.jit(lambda o: pj.segment_reduce(a, offsets=o, mode="drop"))(index)
    out = jax.jit(lambda a, i: pj.gather(a, i, mode="fill"))(a, index)
    assert not out[1].any()


@pytest.mark.parametrize(
    "call",
    [
        lambda a, i: pj.gather(a, i),
        lambda a, i: pj.gather_along_axis(a, i[None], 0),
        lambda a, i: pj.gather_nd(a, i[:, None]),
        lambda a, i: pj.scatter(a, i, 1.0),
        lambda a, i: pj.scatter_nd(a, i[:, None], 1.0),
        lambda a, i: pj.segment_reduce(a[:, 0], i, 4),
    ],
)
def test_concrete_indices_are_checked_outside(call):
    index = np.array([0, 9, 0, 0])
    with pytest.raises(IndexError, match="index 9 is out of bounds"):
        call(numbers(4, 4), index)
    with pytest.raises(IndexError, match="index 9 is out of bounds"):
        jax.jit(lambda a: call(a, index))(numbers(4, 4))


def test_bad_calls_are_refused():
    with pytest.raises(TypeError, match="float"):
        pj.gather(numbers(4), np.array([0.5]))
    with pytest.raises(TypeError, match="num_segments"):
        pj.segment_reduce(numbers(5), INDEX)
