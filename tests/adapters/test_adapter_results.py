"""Room for a result: the same result and the same refusals as without it."""

import numpy as np
import pytest

import pyscatter as ps
from pyscatter.adapters import _results
from pyscatter.adapters._calls import Call
from tests.compat.peers import peer

RNG = np.random.default_rng(4)
A = RNG.normal(size=(4, 3))
V = RNG.normal(size=(5, 3))
INDEX = np.array([0, 2, 2, 1, 0])
ALONG = np.array([[0, 2, 2], [1, 1, 0]])
TUPLES = np.array([[0, 1], [3, 2], [0, 1]])
MATRIX = ps.CSR.from_dense([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]])
AIX = ("a", "index", "values")


@pytest.fixture(autouse=True)
def every_result_is_large(monkeypatch):
    monkeypatch.setattr(_results, "LARGE", 0)


CALLS = {
    "rows": (Call("gather", ("a", "index"), {}), [A, INDEX]),
    "flat": (Call("gather", ("a", "index"), {"axis": None}), [A, ALONG]),
    "last": (Call("gather", ("a", "index"), {"axis": -1}), [A, ALONG]),
    "along": (Call("gather_along_axis", ("a", "index"), {"axis": 0}), [A, ALONG]),
    "tuples": (Call("gather_nd", ("a", "indices"), {}), [A, TUPLES]),
    "set": (Call("scatter", AIX, {}), [A, INDEX, V]),
    "add": (Call("scatter", AIX, {"op": "add"}), [A, INDEX, V]),
    "mean": (Call("scatter", AIX, {"op": "mean"}), [np.arange(4), INDEX, INDEX]),
    "where": (Call("where", ("condition", "x", "y"), {}), [A > 0, A, V[0]]),
    "mask": (Call("scatter_where", ("a", "mask", "values"), {}), [A, A > 0, A]),
    "segments": (
        Call("segment_reduce", ("values", "ids"), {"num_segments": 3}),
        [V, INDEX],
    ),
    "found segments": (Call("segment_reduce", ("values", "ids"), {}), [V, INDEX]),
    "quantiles": (
        Call("segment_reduce", ("values", "offsets"), {"op": "quantile", "q": [0, 1]}),
        [V, np.array([0, 2, 5])],
    ),
    "product": (Call("spmm", ("X",), {}, MATRIX), [V[:3]]),
    "right": (Call("spmm", ("X",), {}, MATRIX, True), [V[:, :2]]),
    "transposed": (Call("spmm", ("X",), {"transpose": True}, MATRIX), [V[:2]]),
    "sampled": (Call("sddmm", ("X", "Y"), {}, MATRIX), [V[:2], V[:3]]),
    "nothing": (Call("gather", ("a", "index"), {}), [A[:, :0], INDEX]),
}


@pytest.mark.parametrize("name", CALLS)
def test_room_holds_the_same(name):
    call, arrays = CALLS[name]
    expected, ret = call.run(arrays), _results.run(call, arrays)
    np.testing.assert_array_equal(ret, expected, strict=True)
    assert _results.is_aligned(ret) or name in ("found segments", "nothing")


BAD = {
    "axis": (Call("gather", ("a", "index"), {"axis": 5}), [A, INDEX]),
    "index": (Call("gather", ("a", "index"), {}), [A, INDEX + 3]),
    "floats": (Call("gather", ("a", "index"), {}), [A, V]),
    "no axes": (Call("gather", ("a", "index"), {}), [np.array(1.0), INDEX]),
    "long tuples": (Call("gather_nd", ("a", "indices"), {}), [A[0], TUPLES]),
    "values": (Call("scatter", AIX, {}), [A, INDEX, V[:2]]),
    "op": (Call("scatter", AIX, {"op": "xor"}), [A, INDEX, V]),
    "shapes": (Call("where", ("condition", "x", "y"), {}), [A > 0, A, V]),
    "ids": (
        Call("segment_reduce", ("values", "ids"), {"num_segments": 2}),
        [V, INDEX],
    ),
    "too many": (
        Call("segment_reduce", ("values", "ids"), {"num_segments": 2**62}),
        [V, INDEX],
    ),
    "no count": (
        Call("segment_reduce", ("values", "ids"), {"num_segments": 2.5}),
        [V, INDEX],
    ),
    "offsets": (
        Call("segment_reduce", ("values", "offsets"), {}),
        [V, np.array(3)],
    ),
    "product": (Call("spmm", ("X",), {}, MATRIX), [V]),
    "sampled": (Call("sddmm", ("X", "Y"), {}, MATRIX), [V, V]),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_calls_are_refused_in_the_same_words(name):
    call, arrays = BAD[name]
    with pytest.raises(Exception) as plain:
        call.run(arrays)
    with pytest.raises(type(plain.value)) as roomy:
        _results.run(call, arrays)
    assert str(roomy.value) == str(plain.value)


@pytest.mark.parametrize("dtype", ["f4", "i4", "u1", "?", "c8", "f2"])
def test_jax_takes_results(dtype):
    jax = peer("jax")
    import pyscatter.adapters.jax as pj

    a = jax.numpy.zeros((4, 3), dtype)
    out = pj.scatter(a, INDEX, np.ones((5, 3), dtype))
    assert out.dtype == a.dtype and np.asarray(out).sum() == 9
    assert not np.asarray(a).any()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", ["f4", "i4", "u1", "?", "c8", "f2"])
def test_tensorflow_takes_results(dtype):
    tf = peer("tensorflow")
    import pyscatter.adapters.tensorflow as pt

    a, v = tf.zeros((4, 3), np.dtype(dtype)), tf.constant(np.ones((5, 3), dtype))
    out = pt.scatter(a, INDEX, v)
    assert out.dtype == a.dtype and out.numpy().sum() == 9
    assert not a.numpy().any()
    held = tf.Variable(out)
    held.assign(a)
    assert out.numpy().sum() == 9
