"""The torch adapter: values, both modes, second order, bad input."""

import numpy as np
import pytest

import pyscatter as ps
from tests.compat.peers import peer

torch = peer("torch")

from torch.autograd import gradcheck, gradgradcheck  # noqa: E402

import pyscatter.adapters.torch as pt  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
INDEX = torch.tensor([0, 2, 2, 1, 0])
SECOND = ("set", "add", "sub", "mean", "min", "max")


def leaf(*shape, seed=0):
    random = np.random.default_rng(seed)
    return torch.tensor(random.normal(2.0, 1.0, shape), requires_grad=True)


def check(function, *leaves, second=True):
    assert gradcheck(function, leaves, check_forward_ad=True)
    if second:
        assert gradgradcheck(function, leaves)
        return
    with pytest.raises(RuntimeError, match="has no second derivative"):
        gradgradcheck(function, leaves)


@pytest.mark.parametrize("op", [*SECOND, "mul", "div"])
def test_scatter_has_derivatives(op):
    a, values = leaf(4, 3), leaf(5, 3, seed=1)
    check(lambda a, v: pt.scatter(a, INDEX, v, op=op), a, values, second=op in SECOND)


@pytest.mark.parametrize("op", ["add", "mean", "max", "mul", "logsumexp"])
def test_segments_have_derivatives(op):
    def reduce(values):
        return pt.segment_reduce(values, INDEX, 4, op=op, fill_value=0.0)

    if op == "logsumexp":
        INDEX_FULL = torch.tensor([0, 2, 3, 1, 0])
        check(
            lambda v: pt.segment_reduce(v, INDEX_FULL, 4, op=op),
            leaf(5, 3),
            second=False,
        )
    else:
        check(reduce, leaf(5, 3), second=op != "mul")


def test_the_others_have_derivatives():
    a, b = leaf(4, 3), leaf(4, 3, seed=2)
    along = torch.tensor([[0, 2, 2], [1, 1, 0]])
    nd = torch.tensor([[0, 1], [3, 2], [0, 1]])
    mask = torch.tensor([True, False, True, False])
    check(lambda a: pt.gather(a, INDEX), a)
    check(lambda a: pt.gather(a, torch.tensor([0, -1, 9]), mode="fill"), a)
    check(lambda a: pt.gather_along_axis(a, along, 0), a)
    check(lambda a: pt.gather_nd(a, nd), a)
    check(lambda a, b: pt.scatter_along_axis(a, along, b, 0, op="add"), a, leaf(2, 3))
    check(lambda a, v: pt.scatter_nd(a, nd, v), a, leaf(3, seed=3))
    check(lambda a, b: pt.where(a > 2, a, b), a, b)
    check(lambda a: pt.where(a > 2, a, 0.0), a)
    check(lambda a, b: pt.scatter_where(a, mask, b, op="add"), a, b)


def test_products_have_derivatives():
    A = ps.CSR.from_dense([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]])
    data = torch.tensor(A.data.copy(), requires_grad=True)
    left, right = leaf(2, 2), leaf(3, 2)
    check(lambda d, x: pt.spmm(A, x, data=d), data, right)
    check(lambda d, x: pt.spmm(x, A, data=d), data, left)
    check(lambda d, x: pt.spmm(A, x, data=d, transpose=True), data, left)
    check(lambda x: pt.spmm(A, x), right)
    check(lambda x, y: pt.sddmm(A, x, y), left, right)


def test_transforms_of_functions():
    a, values = leaf(4, 3).detach(), leaf(5, 3, seed=1).detach()

    def inner(b):
        return (pt.scatter(b, INDEX, values, op="add") ** 2).sum()

    gradient = torch.func.grad(inner)(a)
    assert torch.allclose(gradient, 2 * torch.index_add(a, 0, INDEX, values))
    second = torch.func.grad(lambda b: torch.func.grad(inner)(b).sum())(a)
    assert torch.allclose(second, torch.full_like(a, 2))
    _, moved = torch.func.jvp(lambda b: pt.gather(b, INDEX), (a,), (a,))
    assert torch.equal(moved, a[INDEX])


@pytest.mark.parametrize(
    "dtype", ["bfloat16", "float16", "float32", "complex64", "int32"]
)
def test_dtypes_pass_without_a_copy(dtype):
    dtype = getattr(torch, dtype)
    a, values = torch.zeros(4, dtype=dtype), torch.ones(300, dtype=dtype)
    out = pt.scatter(a, torch.zeros(300, dtype=torch.int16), values, op="add")
    assert out.dtype == dtype and out[0] == 300
    assert pt.scatter_(a, torch.zeros(300, dtype=torch.long), values, op="add") is a
    assert torch.equal(a, out)
    if dtype.is_floating_point:
        a.requires_grad_()
        pt.gather(a, INDEX).sum().backward()
        assert a.grad.dtype == dtype and a.grad[2] == 2


def test_a_bad_index_leaves_all_as_it_was():
    a = torch.zeros(3)
    with pytest.raises(IndexError, match="index 7 is out of bounds"):
        pt.scatter_(a, torch.tensor([0, 7]), torch.ones(2))
    with pytest.raises(IndexError, match="index 7 is out of bounds"):
        pt.scatter_nd_(a, torch.tensor([[0], [7]]), torch.ones(2))
    assert not a.any()
    with pytest.raises(IndexError, match="index 7"):
        pt.gather(a.requires_grad_(), torch.tensor([7]))


def test_bad_tensors_are_refused():
    a, one = torch.zeros(3), torch.ones(1)
    zero = torch.zeros(1, dtype=torch.long)
    with pytest.raises(TypeError, match=r"is on meta.*\.cpu\(\)"):
        pt.gather(a.to("meta"), zero)
    with pytest.raises(TypeError, match="layout"):
        pt.gather(a.to_sparse(), zero)
    with pytest.raises(TypeError, match="float"):
        pt.gather(a, one)
    with pytest.raises(TypeError, match="would be lost"):
        pt.scatter_(a.clone().requires_grad_(), zero, one)
    with pytest.raises(TypeError, match="would be lost"):
        pt.scatter_(a, zero, one.clone().requires_grad_())
    with pytest.raises(TypeError, match="no keyword"):
        pt.scatter_(a, zero, one, size=3)
    with pytest.raises(TypeError, match="expected a Tensor"):
        pt.scatter_(a.numpy(), zero, one)
    with pytest.raises(TypeError, match="sparse"):
        pt.spmm(a, a)
    with pytest.raises(ValueError, match="expected to broadcast"):
        pt.scatter(a, zero, torch.ones(2))
    overlapping = torch.zeros(1).expand(3)
    with pytest.raises(ValueError):
        pt.scatter_(overlapping, zero, one)
    assert not a.any()


def test_gradients_share_no_memory():
    a, values, g = leaf(4, 3), leaf(5, 3), torch.ones(4, 3, dtype=torch.double)
    out = pt.scatter(a, INDEX, values, op="add")
    out.backward(g)
    a.grad.zero_()
    assert g.sum() == 12
    out = pt.scatter(a, INDEX, values, op="add")
    _, moved = torch.func.jvp(
        lambda x: pt.scatter(x, INDEX, values.detach(), op="add"), (a.detach(),), (g,)
    )
    moved.zero_()
    assert g.sum() == 12


def test_a_changed_operand_is_noticed():
    values = leaf(5, 3)
    scale = values * 1
    out = pt.scatter(leaf(4, 3), INDEX, scale, op="mul")
    with torch.no_grad():
        pt.scatter_(scale, torch.tensor([0]), torch.zeros(1, 3, dtype=torch.double))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


@pytest.mark.filterwarnings("ignore")
def test_compiled_functions_give_the_same():
    def step(a, values):
        return pt.scatter(a * 2, INDEX, values, op="add") * 3

    a, values = leaf(4, 3), leaf(5, 3)
    compiled = torch.compile(step, backend="eager")(a, values)
    assert torch.equal(compiled, step(a, values))
    compiled.sum().backward()
    assert torch.equal(a.grad, torch.full_like(a, 6))
