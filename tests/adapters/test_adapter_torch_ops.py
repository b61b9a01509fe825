"""`torch.ops.pyscatter`: opcheck, derivatives, compiled graphs, bad input."""

import numpy as np
import pytest

import pyscatter as ps
from tests.compat.peers import peer

torch = peer("torch")

from torch.autograd import gradcheck, gradgradcheck  # noqa: E402
from torch.library import opcheck  # noqa: E402

import pyscatter.adapters.torch as pt  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")
OPS = torch.ops.pyscatter
RNG = np.random.default_rng(3)
INDEX = torch.tensor([0, 2, 2, 1, 0])
ALONG = torch.tensor([[0, 2, 2], [1, 1, 0]])
TUPLES = torch.tensor([[0, 1], [3, 2], [0, 1]])
MASK = torch.tensor([True, False, True, False])
A = ps.CSR.from_dense([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]])
PATTERN = (torch.tensor(A.indices.copy()), torch.tensor(A.indptr.copy()), [2, 3])


def leaf(*shape):
    return torch.tensor(RNG.normal(2.0, 1.0, shape), requires_grad=True)


def data():
    return torch.tensor(A.data.copy(), requires_grad=True)


CASES = {
    "gather": lambda: ((leaf(4, 3), INDEX), {}),
    "gather_filled": lambda: ((leaf(4, 3), INDEX + 2), {"mode": "fill"}),
    "gather_along_axis": lambda: ((leaf(4, 3), ALONG, 0), {}),
    "gather_nd": lambda: ((leaf(4, 3), TUPLES), {}),
    "scatter": lambda: ((leaf(4, 3), INDEX, leaf(5, 3)), {}),
    "scatter_batches": lambda: (
        (leaf(2, 4, 3), ALONG, leaf(2, 3, 3)),
        {"batch_dims": 1, "op": "mean"},
    ),
    "scatter_product": lambda: ((leaf(4, 3), INDEX, leaf(5, 3)), {"op": "mul"}),
    "scatter_along_axis": lambda: ((leaf(4, 3), ALONG, leaf(2, 3), 0), {"op": "add"}),
    "scatter_nd": lambda: ((leaf(4, 3), TUPLES, leaf(3)), {"op": "max"}),
    "where": lambda: ((MASK[:, None], leaf(4, 3), leaf(3)), {}),
    "scatter_where": lambda: ((leaf(4, 3), MASK, leaf(4, 3)), {"op": "add"}),
    "segment_reduce": lambda: ((leaf(5, 3), INDEX, 4), {"fill_value": 0.0}),
    "segment_reduce_means": lambda: (
        (leaf(5, 3),),
        {"offsets": torch.tensor([0, 2, 5]), "op": "mean"},
    ),
    "spmm": lambda: ((data(), *PATTERN, leaf(3, 2)), {}),
    "spmm_transposed": lambda: ((data(), *PATTERN, leaf(2, 2)), {"transpose": True}),
    "sddmm": lambda: ((*PATTERN, leaf(2, 2), leaf(3, 2)), {}),
}


def operator(name):
    known = [op for op in CASES if name.startswith(op) and hasattr(OPS, op)]
    return getattr(OPS, max(known, key=len))


@pytest.mark.parametrize("name", CASES)
def test_operators_are_what_torch_expects(name):
    args, options = CASES[name]()
    opcheck(operator(name), args, options)


@pytest.mark.parametrize("name", CASES)
def test_operators_have_derivatives(name):
    args, options = CASES[name]()
    places = [i for i, x in enumerate(args) if getattr(x, "requires_grad", False)]

    def call(*leaves):
        given = list(args)
        for i, x in zip(places, leaves, strict=True):
            given[i] = x
        return operator(name)(*given, **options)

    leaves = [args[i] for i in places]
    assert gradcheck(call, leaves)
    if options.get("op") != "mul":
        assert gradgradcheck(call, leaves)
        return
    with pytest.raises(RuntimeError, match="has no second derivative"):
        gradgradcheck(call, leaves)


def test_operators_give_what_functions_give():
    a, values, X = leaf(4, 3), leaf(5, 3), leaf(3, 2)
    for op in ("set", "add", "mul", "mean", "min"):
        expected = pt.scatter(a, INDEX, values, op=op)
        assert torch.equal(OPS.scatter(a, INDEX, values, op=op), expected)
    for op in ("add", "prod", "var", "quantile"):
        options = {"op": op, "fill_value": 7.0, "q": 0.3 if op == "quantile" else None}
        expected = pt.segment_reduce(values, INDEX, 4, **options)
        assert torch.equal(OPS.segment_reduce(values, INDEX, 4, **options), expected)
    for options in ({"op": "max", "fill_value": -1.0}, {"alpha": 2}, {"op": "mean"}):
        expected = pt.spmm(A, X, **options)
        assert torch.equal(OPS.spmm(data(), *PATTERN, X, **options), expected)
    half = torch.ones(3, dtype=torch.bfloat16)
    assert OPS.gather(half, INDEX).dtype == torch.bfloat16
    whole = torch.arange(4)
    assert OPS.scatter(whole, INDEX, INDEX, op="mean").dtype == torch.float64


def test_compiled_graphs_are_whole():
    def step(a, index, values):
        taken = OPS.gather(a, index)
        sums = OPS.segment_reduce(taken * values, index, a.shape[0], fill_value=0.0)
        return OPS.scatter(sums, index, values, op="add") * 3

    compiled = torch.compile(step, backend="aot_eager", fullgraph=True, dynamic=True)
    for n in (5, 9):
        a, values = leaf(4, 3), leaf(n, 3)
        index = torch.tensor(RNG.integers(0, 4, n))
        out, expected = compiled(a, index, values), step(a, index, values)
        assert torch.equal(out, expected)
        ours = torch.autograd.grad((out**2).sum(), (a, values))
        theirs = torch.autograd.grad((expected**2).sum(), (a, values))
        assert all(map(torch.allclose, ours, theirs))


def test_updates_in_place_are_compiled():
    def step(a, values):
        OPS.scatter_(a, INDEX, values, op="add")
        OPS.scatter_nd_(a, TUPLES, values[:3, 0])
        return a * 2

    a, values = torch.zeros(4, 3), torch.ones(5, 3)
    out = torch.compile(step, backend="aot_eager", fullgraph=True)(a, values)
    expected = torch.zeros(4, 3)
    assert torch.equal(step(expected, values), out) and torch.equal(a, expected)
    rows, columns = torch.zeros(2, 4), torch.ones(2, 3)
    OPS.scatter_(rows, ALONG, columns, None, 1, None, "add")
    assert rows.tolist() == [[1, 0, 2, 0], [1, 2, 0, 0]]
    for name, given in (
        ("scatter_", (INDEX, values)),
        ("scatter_nd_", (TUPLES, values[:3, 0])),
    ):
        opcheck(getattr(OPS, name), (torch.zeros(4, 3), *given))


def test_bad_operands_are_refused():
    a, zero, one = torch.zeros(3), torch.tensor([0]), torch.ones(1)
    with pytest.raises(IndexError, match="index 7 is out of bounds"):
        OPS.scatter_(a, zero + 7, one)
    compiled = torch.compile(OPS.gather, backend="aot_eager")
    with pytest.raises(IndexError, match="index 7 is out of bounds"):
        compiled(a, zero + 7)
    with pytest.raises(TypeError, match="op 'xor' is not defined"):
        OPS.scatter(a, zero, one, op="xor")
    with pytest.raises(TypeError, match="num_segments is needed"):
        OPS.segment_reduce(one, zero)
    with pytest.raises(TypeError, match="layout"):
        OPS.gather(a.to_sparse(), zero)
    with pytest.raises(ValueError):
        OPS.spmm(one, zero + 9, torch.tensor([0, 1]), [1, 3], torch.ones(3, 1))
    lazy = torch.zeros(3, dtype=torch.complex64).conj()
    with pytest.raises(RuntimeError):
        OPS.scatter_(lazy, zero, one)
    with pytest.raises(TypeError, match=r"resolve_conj\(\)"):
        pt.scatter_(lazy, zero, one)
    assert not a.any()
    with pytest.raises(RuntimeError):
        OPS.scatter_(a, zero, one.clone().requires_grad_())
        a.sum().backward()
