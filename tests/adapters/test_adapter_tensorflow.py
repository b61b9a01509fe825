"""The TensorFlow adapter: eager and graph, gradients, variables, bad input."""

import numpy as np
import pytest

import pyscatter as ps
from tests.compat.peers import peer

tf = peer("tensorflow")

import pyscatter.adapters.tensorflow as pt  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
RNG = np.random.default_rng(5)
INDEX = np.array([0, 2, 2, 1, 0])
SECOND = ("set", "add", "sub", "mean", "min", "max")
A = ps.CSR.from_dense([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]])


def numbers(*shape):
    return RNG.normal(2, 1, shape)


ALONG, TUPLES = np.array([[0, 2, 2]]), np.array([[0, 1], [3, 2], [0, 1]])
MASK = np.array([True, False, True, False])
CALLS = {
    "gather": ("gather", lambda a: (a, INDEX), (numbers(4, 3),), {}),
    "column": ("gather", lambda a: (a, INDEX, 1), (numbers(4, 3),), {}),
    "along": ("gather_along_axis", lambda a: (a, ALONG, 0), (numbers(4, 3),), {}),
    "nd": ("gather_nd", lambda a: (a, TUPLES), (numbers(4, 3),), {}),
    "put": (
        "scatter_nd",
        lambda a, v: (a, TUPLES, v),
        (numbers(4, 3), numbers(3)),
        {"op": "mul"},
    ),
    "where": (
        "where",
        lambda x, y: (MASK, x, y),
        (numbers(4), numbers(4)),
        {},
    ),
    "mask": (
        "scatter_where",
        lambda a, v: (a, MASK, v),
        (numbers(4, 2), numbers(4, 2)),
        {"op": "add"},
    ),
    "segments": (
        "segment_reduce",
        lambda v: (v, INDEX, 4),
        (numbers(5, 2),),
        {"op": "max", "fill_value": 0.0},
    ),
    "spmm": ("spmm", lambda x: (A, x), (numbers(3, 2),), {}),
    "right": ("spmm", lambda x: (x, A), (numbers(2, 2),), {}),
    "sddmm": ("sddmm", lambda x, y: (A, x, y), (numbers(2, 2), numbers(3, 2)), {}),
}
for _op in (*SECOND, "mul", "div"):
    CALLS[_op] = (
        "scatter",
        lambda a, v: (a, INDEX, v),
        (numbers(4, 3), numbers(5, 3)),
        {"op": _op},
    )


def gradients(function, arrays):
    tensors = [tf.constant(x) for x in arrays]
    with tf.GradientTape() as tape:
        tape.watch(tensors)
        out = function(*tensors)
    g = tf.ones_like(out)
    grads = tape.gradient(out, tensors, output_gradients=g)
    return out, [tf.convert_to_tensor(x).numpy() for x in grads]


@pytest.mark.parametrize("case", CALLS)
def test_eager_and_graph_are_pyscatter(case):
    name, args, arrays, options = CALLS[case]
    op = getattr(ps, name)
    expected, pullback = ps.vjp(op, *args(*arrays), **options)
    wanted = [x for x in pullback(np.ones_like(expected)) if isinstance(x, np.ndarray)]

    def function(*tensors):
        return getattr(pt, name)(*args(*tensors), **options)

    for form in (function, tf.function(function, autograph=False)):
        out, grads = gradients(form, arrays)
        np.testing.assert_array_equal(out, expected)
        for x, y in zip(grads, wanted, strict=True):
            np.testing.assert_array_equal(x, y)


def test_static_shapes_are_known_in_a_graph():
    spec = tf.TensorSpec((None, 4, 3), tf.float32)
    ids = tf.TensorSpec((None, 2), tf.int32)

    @tf.function(input_signature=[spec, ids], autograph=False)
    def graph(a, ids):
        rows = pt.gather(a, ids, batch_dims=1)
        out = pt.scatter(a, ids, rows, batch_dims=1, op="add")
        sums = pt.segment_reduce(rows, ids, 4, batch_dims=1)
        shapes = [x.shape.as_list() for x in (rows, out, sums)]
        assert shapes == [[None, 2, 3], [None, 4, 3], [None, 4, 3]]
        return out

    a = np.ones((2, 4, 3), "f4")
    assert graph(a, np.array([[0, 1], [2, 2]], "i4")).numpy()[1, 2, 0] == 3


@pytest.mark.parametrize("op", [*SECOND, "mul"])
def test_second_derivatives(op):
    a, values = tf.constant(numbers(4, 3)), tf.constant(numbers(5, 3))

    def ours(a, values):
        return pt.scatter(a, INDEX, values, op=op)

    def second(function):
        with tf.GradientTape() as outer:
            outer.watch(values)
            with tf.GradientTape() as inner:
                inner.watch(values)
                out = tf.reduce_sum(function(a, values) ** 3)
            grad = inner.gradient(out, values)
        return outer.gradient(grad, values)

    if op not in SECOND:
        with pytest.raises(RuntimeError, match="has no second derivative"):
            second(ours)
        return
    step = 1e-5

    def first(values):
        with tf.GradientTape() as tape:
            tape.watch(values)
            out = tf.reduce_sum(ours(a, values) ** 3)
        return tape.gradient(out, values)

    ahead, behind = first(values + step), first(values - step)
    numeric = (ahead - behind) / (2 * step)
    np.testing.assert_allclose(second(ours), numeric, rtol=1e-5, atol=1e-6)


def test_products_have_second_derivatives():
    data, X = tf.constant(np.array(A.data)), tf.constant(numbers(3, 2))
    with tf.GradientTape() as outer:
        outer.watch(X)
        with tf.GradientTape() as inner:
            inner.watch([data, X])
            out = tf.reduce_sum(pt.spmm(A, X, data=data))
        grad = inner.gradient(out, data)
    assert outer.gradient(grad, X).numpy()[:, 0].tolist() == [1, 1, 1]


def test_rows_have_indexed_slices():
    table = tf.Variable(numbers(6, 2))
    with tf.GradientTape() as tape:
        out = pt.gather(table, [[0, -1], [0, 3]])
    grad = tape.gradient(out, table)
    assert isinstance(grad, tf.IndexedSlices)
    assert grad.indices.numpy().tolist() == [0, 5, 0, 3]
    assert tuple(grad.values.shape) == (4, 2)


def test_variables_are_updated_in_part():
    var = tf.Variable([1.0, 2.0, 3.0])
    assert pt.update_variable(var, [[0], [0]], [5.0, 6.0], op="add") is var
    assert var.numpy().tolist() == [12, 2, 3]

    @tf.function(autograph=False)
    def step(indices):
        pt.update_variable(var, indices, 9.0)

    step(tf.constant([[1]]))
    assert var.numpy().tolist() == [12, 9, 3]
    with pytest.raises(tf.errors.OpError, match="index 7 is out of bounds for axis 0"):
        step(tf.constant([[7]]))
    with pytest.raises(IndexError, match="index 7 is out of bounds for axis 0"):
        pt.update_variable(var, [[7]], 1.0)
    with pytest.raises(TypeError, match=r"expected a tf\.Variable"):
        pt.update_variable(np.zeros(3), [[1]], 1.0)
    assert var.numpy().tolist() == [12, 9, 3]


def test_a_graph_says_when_it_is_saved_that_it_calls_python(tmp_path):
    module = tf.Module()
    module.run = tf.function(
        lambda a: pt.gather(a, INDEX),
        input_signature=[tf.TensorSpec((4,), tf.float32)],
        autograph=False,
    )
    module.run.get_concrete_function()
    with pytest.raises(Exception, match="pyscatter_calls_python_and_cannot_be_saved"):
        tf.saved_model.save(module, str(tmp_path))


def test_dtypes():
    for dtype in (tf.bfloat16, tf.float16, tf.complex64, tf.int32):
        a, v = tf.zeros(4, dtype), tf.ones(300, dtype)
        out = pt.scatter(a, np.zeros(300, "u1"), v, op="add")
        assert out.dtype == dtype and out.numpy()[0] == 300


def test_bad_calls_are_refused():
    a = tf.zeros((4, 3))
    with pytest.raises(TypeError, match="num_segments is needed"):
        tf.function(lambda v: pt.segment_reduce(v, INDEX[:4]), autograph=False)(a)
    with pytest.raises(ValueError, match="expected to broadcast"):
        pt.scatter(a, INDEX, tf.ones(2))
