"""The Keras layers on one backend; test_adapter_keras.py runs this once for each."""

import os
import subprocess
import sys

import keras
import numpy as np
import pytest
from keras import layers

import pyscatter as ps
import pyscatter.adapters.keras as pk

BACKEND = keras.backend.backend()
RNG = np.random.default_rng(5)
IDS = np.array([[0, 2, 2], [1, 1, 0]], "i4")
A = ps.CSR.from_dense([[0.0, 2.0, 0.0, 1.0], [1.0, 0.0, 3.0, 0.0], [0.0] * 4])


def numbers(*shape):
    return RNG.normal(size=shape).astype("f4")


def result(layer, *inputs):
    inputs = [keras.ops.convert_to_tensor(x) for x in inputs]
    out = layer(inputs if len(inputs) > 1 else inputs[0])
    specs = [keras.KerasTensor(x.shape, x.dtype) for x in inputs]
    spec = layer(specs if len(specs) > 1 else specs[0])
    assert tuple(spec.shape) == tuple(out.shape)
    again = type(layer).from_config(layer.get_config())
    assert again.get_config() == layer.get_config()
    return keras.ops.convert_to_numpy(out)


# --- values ---------------------------------------------------------------------------


@pytest.mark.parametrize("op", ["add", "set", "mul", "div", "mean", "max"])
def test_batch_scatter(op):
    a, values = numbers(2, 4, 5), numbers(2, 3, 5)
    expected = ps.scatter(a, IDS, values, batch_dims=1, op=op)
    np.testing.assert_array_equal(result(pk.BatchScatter(op), a, IDS, values), expected)


def test_tuples():
    a, values = numbers(2, 4, 5), numbers(2, 3)
    tuples = np.stack([IDS, IDS], axis=-1)
    expected = ps.scatter_nd(a, tuples, values, batch_dims=1, op="add")
    np.testing.assert_array_equal(result(pk.ScatterNd(), a, tuples, values), expected)
    expected = ps.gather_nd(a, tuples, batch_dims=1)
    np.testing.assert_array_equal(result(pk.GatherNd(), a, tuples), expected)


@pytest.mark.parametrize("op", ["add", "mean", "max", "logsumexp"])
def test_segments(op):
    values = numbers(2, 3, 5)
    fill = {"mean": 0.0, "logsumexp": 0.0}.get(op)
    expected = ps.segment_reduce(values, IDS, 4, batch_dims=1, op=op, fill_value=fill)
    layer = pk.SegmentReduce(4, op)
    np.testing.assert_array_equal(result(layer, values, IDS), expected)


def test_padding_is_dropped():
    layer = pk.SegmentReduce(2, mode="drop")
    out = result(layer, np.ones((1, 3), "f4"), np.array([[1, -1, 1]], "i4"))
    assert out.tolist() == [[0, 2]]


def test_sparse_products():
    x = numbers(2, 4, 5)
    expected = ps.spmm(A.astype(np.float32), x)
    np.testing.assert_array_equal(result(pk.SparseDense(A), x), expected)
    out = result(pk.SparseDense(A, trainable_values=True), x[..., 0])
    np.testing.assert_array_equal(out, expected[..., 0])


def test_conditions():
    x, y = numbers(2, 3), numbers(2, 3)
    layer = pk.ConditionalUpdate("less", 0.5, value=0.0)
    np.testing.assert_array_equal(result(layer, x), np.where(x < 0.5, 0, x))
    layer = pk.ConditionalUpdate("greater", 0.0)
    np.testing.assert_array_equal(result(layer, x, y), np.where(y > 0, y, x))
    layer = pk.ConditionalUpdate(op="mul")
    expected = np.where(x > 0, x * y, x)
    np.testing.assert_array_equal(result(layer, x, x > 0, y), expected)
    layer = pk.ConditionalUpdate("greater_equal", 0.0, value=2.0, op="mul")
    np.testing.assert_array_equal(result(layer, x, y), np.where(y >= 0, 2 * x, x))


# --- models ---------------------------------------------------------------------------


def model_of():
    """Return a model in which every layer lies on the way of a gradient."""
    tokens = keras.Input((4, 3), name="tokens")
    ids = keras.Input((4,), dtype="int32", name="ids")
    table = layers.Dense(3)(layers.Embedding(6, 3)(keras.ops.mod(ids, 5)))
    rows = layers.Dense(3)(tokens)
    mixed = pk.BatchScatter("add")([table, ids, rows])
    pairs = keras.ops.stack([ids, keras.ops.mod(ids, 3)], axis=-1)
    taken = pk.GatherNd()([mixed, pairs])
    mixed = pk.ScatterNd("add")([mixed, pairs, taken])
    sums = pk.SegmentReduce(4, "mean")([mixed, ids])
    spread = pk.SparseDense(A, trainable_values=True, name="sparse")(sums)
    kept = pk.ConditionalUpdate("less", -1.0, value=0.1, op="mul")(spread)
    out = layers.Dense(1)(layers.Flatten()(kept))
    model = keras.Model([tokens, ids], out)
    model.compile("adam", "mse")
    return model


def data_of(n=256):
    tokens = numbers(n, 4, 3)
    ids = RNG.integers(0, 4, (n, 4)).astype("i4")
    sums = ps.segment_reduce(tokens.sum(-1), ids, 4, batch_dims=1)
    return [tokens, ids], sums[:, :1]


def test_a_model_trains_and_is_loaded_elsewhere(tmp_path):
    keras.utils.set_random_seed(3)
    model = model_of()
    inputs, y = data_of()
    before = [np.array(w) for w in model.get_weights()]
    model.optimizer.learning_rate = 0.03
    history = model.fit(inputs, y, epochs=6, batch_size=32, verbose=0).history["loss"]
    assert history[-1] < 0.9 * history[0]
    for old, new in zip(before, model.get_weights(), strict=True):
        assert not np.array_equal(old, new)
    path, saved = tmp_path / "m.keras", tmp_path / "x.npz"
    model.save(path)
    expected = model.predict(inputs, verbose=0)
    np.savez(saved, tokens=inputs[0], ids=inputs[1], expected=expected)
    code = (
        "import sys, numpy as np, keras, pyscatter.adapters.keras\n"
        "model = keras.saving.load_model(sys.argv[1])\n"
        "d = np.load(sys.argv[2])\n"
        "out = model.predict([d['tokens'], d['ids']], verbose=0)\n"
        "np.testing.assert_allclose(out, d['expected'], rtol=1e-6)\n"
    )
    command = [sys.executable, "-c", code, str(path), str(saved)]
    done = subprocess.run(command, env=os.environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


def test_an_index_out_of_bounds_under_fit():
    model = model_of()
    inputs, y = data_of(32)
    inputs[1][5, 2] = 9
    before = [np.array(w) for w in model.get_weights()]
    if BACKEND == "jax":
        model.fit(inputs, y, verbose=0)
        return
    with pytest.raises(Exception, match="index 9 is out of bounds for axis"):
        model.fit(inputs, y, batch_size=32, verbose=0, shuffle=False)
    for old, new in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)


# --- bad input ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "layer, shapes, words",
    [
        (pk.BatchScatter(name="b"), [(4, 5), (3,)], "expected a list"),
        (
            pk.BatchScatter(name="b"),
            [(4, 5), (3,), (2, 5)],
            r"'b': values has shape \(None, 2, 5\); expected \(None, 3, 5\)",
        ),
        (pk.BatchScatter(name="b"), [(4, 5), (3, 1), (2, 5)], "ids has shape"),
        (pk.ScatterNd(name="s"), [(4,), (3, 2), (3,)], "tuples of 2"),
        (pk.ScatterNd(name="s"), [(4,), (3, 1), (4,)], "values has shape"),
        (pk.GatherNd(name="g"), [(4,), (3, 2)], "tuples of 2"),
        (pk.SegmentReduce(2, name="r"), [(4, 5), (3,)], "ids has shape"),
        (pk.ConditionalUpdate(name="c"), [(4,), (3,)], "input 1 has shape"),
    ],
)
def test_shapes_are_checked_when_a_layer_is_built(layer, shapes, words):
    inputs = [
        keras.Input(s, dtype="int32" if i == 1 else None) for i, s in enumerate(shapes)
    ]
    with pytest.raises(ValueError, match=words):
        layer(inputs)


def test_bad_arguments():
    with pytest.raises(ValueError, match="SparseDense 'p': x has shape"):
        pk.SparseDense(A, name="p")(keras.Input((5,)))
    with pytest.raises(TypeError, match="expected a sparse one"):
        pk.SparseDense(np.eye(2))
    with pytest.raises(ValueError, match="op='xor' is unknown"):
        pk.BatchScatter("xor")
    with pytest.raises(ValueError, match="mode='?"):
        pk.SegmentReduce(2, mode="wrap")
    with pytest.raises(ValueError, match="no value to write"):
        pk.ConditionalUpdate()(numbers(2, 3))
    named = pk.BatchScatter(name="n")
    with pytest.raises(TypeError, match="'n': ids has dtype float32"):
        named([keras.Input((4, 2)), keras.Input((3,)), keras.Input((3, 2))])
    with pytest.raises(TypeError, match="'g': indices has dtype float32"):
        pk.GatherNd(name="g")([keras.Input((4, 2)), keras.Input((3, 1))])
    with pytest.raises(TypeError, match="ids has dtype float32"):
        pk.BatchScatter()([numbers(2, 4), numbers(2, 3), numbers(2, 3)])
