"""TensorFlow's names on NumPy arrays: what is documented, and TensorFlow itself."""

import numpy as np
import pytest

import pyscatter.compat.tensorflow as ct
from tests.compat.peers import peer

RNG = np.random.default_rng(7)
KINDS = ("f4", "f8", "i4", "i8")


def numbers(shape, kind="f8"):
    """Return whole numbers: sums of them are exact in any order."""
    return RNG.integers(-9, 10, shape).astype(kind)


def same(ours, theirs):
    theirs = np.asarray(theirs)
    assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
    np.testing.assert_array_equal(ours, theirs)


# --- against the package --------------------------------------------------------------


def nd_calls():
    for kind in KINDS:
        indices = RNG.integers(0, 3, (5, 2))
        yield (numbers((3, 3, 4), kind), indices, numbers((5, 4), kind))
        yield (numbers((3, 3), kind), indices.astype("i4"), numbers(5, kind))
    yield numbers((3, 2)), np.zeros((0, 1), int), np.zeros((0, 2))


@pytest.mark.parametrize("op", ["update", "add", "sub", "min", "max"])
def test_tensor_scatter_nd_is_theirs(op):
    tf = peer("tensorflow")
    name = f"tensor_scatter_nd_{op}"
    for tensor, indices, updates in nd_calls():
        theirs = getattr(tf, name)(tensor, indices, updates)
        same(getattr(ct, name)(tensor, indices, updates), theirs)


def test_scatter_nd_and_gather_nd_are_theirs():
    tf = peer("tensorflow")
    for tensor, indices, updates in nd_calls():
        same(
            ct.scatter_nd(indices, updates, tensor.shape),
            tf.scatter_nd(indices, updates, tensor.shape),
        )
        same(ct.gather_nd(tensor, indices), tf.gather_nd(tensor, indices))
    bad = np.array([[0], [-1], [9]])
    updates = numbers(3)
    policy = {"bad_indices_policy": "IGNORE"}
    same(
        ct.scatter_nd(bad, updates, [4], **policy),
        tf.scatter_nd(bad, updates, [4], **policy),
    )
    same(ct.gather_nd(updates, bad, **policy), tf.gather_nd(updates, bad, **policy))
    batched = RNG.integers(0, 3, (2, 5, 1))
    tensor = numbers((2, 3, 4))
    same(
        ct.gather_nd(tensor, batched, batch_dims=1),
        tf.gather_nd(tensor, batched, batch_dims=1),
    )


@pytest.mark.parametrize(
    "shape, index_shape, options",
    [
        ((4, 3), (2, 2), {}),
        ((4, 3), (2,), {"axis": 1}),
        ((2, 3, 4), (2, 5), {"batch_dims": 1}),
        ((2, 3, 4), (2, 5), {"axis": 2, "batch_dims": 1}),
        ((2, 3, 4), (2, 5), {"axis": -1, "batch_dims": -1}),
        ((2, 3, 4), (0,), {}),
    ],
)
def test_gather_is_theirs(shape, index_shape, options):
    tf = peer("tensorflow")
    params, indices = numbers(shape), RNG.integers(0, 3, index_shape)
    same(ct.gather(params, indices, **options), tf.gather(params, indices, **options))


def test_masks_are_theirs():
    tf = peer("tensorflow")
    tensor = numbers((3, 4, 2))
    for axis, shape in ((0, (3,)), (0, (3, 4)), (1, (4,)), (1, (4, 2)), (None, (3,))):
        mask = RNG.random(shape) < 0.5
        same(
            ct.boolean_mask(tensor, mask, axis=axis),
            tf.boolean_mask(tensor, mask, axis=axis),
        )
    same(ct.where(tensor), tf.where(tensor))
    same(ct.where(tensor > 0, tensor, 0.0), tf.where(tensor > 0, tensor, 0.0))


@pytest.mark.parametrize("op", ["sum", "mean", "min", "max", "prod"])
@pytest.mark.parametrize("kind", KINDS)
def test_segments_are_theirs(op, kind):
    tf = peer("tensorflow")
    data = numbers((6, 2), kind)
    rising = np.array([0, 0, 1, 4, 4, 4], "i4")
    name = f"segment_{op}"
    same(getattr(ct, name)(data, rising), getattr(tf.math, name)(data, rising))
    for ids in (np.array([3, 0, -1, 0, 1, 3]), np.array([[0, 2]] * 5 + [[-1, 1]])):
        name = f"unsorted_segment_{op}"
        theirs = getattr(tf.math, name)(data, ids, 5)
        same(getattr(ct, name)(data, ids, 5), theirs)


@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_roots_are_theirs_to_rounding(kind):
    tf = peer("tensorflow")
    data, ids = numbers((6, 2), kind), np.array([3, 0, -1, 0, 0, 3])
    ours = ct.unsorted_segment_sqrt_n(data, ids, 5)
    theirs = tf.math.unsorted_segment_sqrt_n(data, ids, 5).numpy()
    assert ours.dtype == theirs.dtype
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)


@pytest.mark.parametrize("op", ["sum", "min", "max", "mean"])
def test_halves_are_theirs(op):
    tf = peer("tensorflow")
    import ml_dtypes

    for kind in (np.float16, ml_dtypes.bfloat16):
        data, ids = numbers(6).astype(kind), np.array([0, 2, 2, -1, 0, 2])
        name = f"unsorted_segment_{op}"
        theirs = getattr(tf.math, name)(data, ids, 4).numpy()
        ours = getattr(ct, name)(data, ids, 4)
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours.astype("f8"), theirs.astype("f8"), rtol=0.01)


def test_batch_update_is_theirs():
    tf = peer("tensorflow")
    ref, indices, rows = numbers((2, 4, 3)), [[0, 3], [2, 1]], numbers((2, 2, 3))
    variable = tf.Variable(ref)
    theirs = tf.compat.v1.batch_scatter_update(variable, indices, rows)
    same(ct.batch_scatter_update(ref, indices, rows), theirs)


@pytest.mark.parametrize("op", ["add", "sub", "mul", "div", "min", "max"])
@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_updated_as_theirs(op, kind):
    tf = peer("tensorflow")
    ref, rows = numbers((4, 3), kind), 2 ** RNG.integers(0, 3, (3, 3)).astype(kind)
    rows[0] *= -1
    indices = [0, 3, 0]
    variable = tf.Variable(ref)
    theirs = getattr(tf.compat.v1, f"scatter_{op}")(variable, indices, rows)
    same(getattr(ct, f"batch_scatter_{op}")(ref, indices, rows), theirs)


def test_products_are_theirs():
    tf = peer("tensorflow")
    indices, shape = np.array([[0, 1], [2, 0], [2, 3]]), (3, 4)
    values, b = numbers(3), numbers((4, 2))
    sparse = tf.sparse.SparseTensor(indices, values, shape)
    product, ours = tf.sparse.sparse_dense_matmul, ct.sparse_dense_matmul
    same(ours(sparse, b), product(sparse, b))
    b2, b4 = numbers((2, 3)), numbers((5, 4))
    both = {"adjoint_a": True, "adjoint_b": True}
    same(ours(sparse, b2, **both), product(sparse, b2, **both))
    same(ours(b2, sparse), product(b2, sparse))
    same(ours(b4, sparse, adjoint_b=True), product(b4, sparse, adjoint_b=True))


# --- without it -----------------------------------------------------------------------


def test_whole_numbers_are_divided_towards_zero():
    ref = np.array([7, -7, np.iinfo(np.int64).min, 5])
    given = ct.batch_scatter_div(ref, [0, 1, 2, 0], [2, 2, -1, -2])
    assert given is ref
    assert ref.tolist() == [-1, -3, np.iinfo(np.int64).min, 5]
    small = np.array([200, 7], np.uint8)
    assert ct.batch_scatter_div(small, [0], np.array([3], "u1")).tolist() == [66, 7]


def test_means_of_whole_numbers():
    assert ct.segment_mean([-1, -2, 3], [0, 0, 2]).tolist() == [-1, 0, 3]
    assert ct.unsorted_segment_mean([-1, -2], [0, 0], 1).tolist() == [-1.5]


@pytest.mark.parametrize("kind", ["i1", "i4", ">i8"])
def test_negative_indices_are_refused_by_their_own_name(kind):
    a, index = np.zeros((2, 3)), np.array([[0, 1], [1, -1]], kind)
    before = a.copy()
    with pytest.raises(IndexError, match="index -1 is out of bounds"):
        ct.batch_scatter_add(a, index, np.ones((2, 2)))
    with pytest.raises(IndexError, match="index -1 is out of bounds"):
        ct.gather(a, index)
    with pytest.raises(IndexError, match="index -1 is out of bounds"):
        ct.tensor_scatter_nd_add(a, index, np.ones(2))
    with pytest.raises(IndexError, match="index 3 is out of bounds"):
        ct.batch_scatter_add(a, np.array([[0, 3], [0, 0]]), np.ones((2, 2)))
    np.testing.assert_array_equal(a, before)


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda a: ct.scatter_nd([0], [1.0], [3]), ValueError, "updates has shape"),
        (lambda a: ct.scatter_nd(0, 1.0, [3]), ValueError, r"indices has shape \(\)"),
        (
            lambda a: ct.tensor_scatter_nd_add(a, np.zeros((4, 1, 1), int), np.ones(4)),
            ValueError,
            "updates has shape",
        ),
        (lambda a: ct.scatter_nd([[0]], [1.0], [3], "?"), ValueError, "policy"),
        (lambda a: ct.gather_nd(a, [[0]], 0, "?"), ValueError, "policy"),
        (lambda a: ct.batch_scatter_add(a, [[0], [1]], [1.0]), ValueError, "updates"),
        (lambda a: ct.batch_scatter_add(a, 0, 1.0), ValueError, "indices has shape"),
        (lambda a: ct.batch_scatter_add([1.0], [0], [1.0]), TypeError, "ndarray"),
        (lambda a: ct.where(a, x=1.0), ValueError, "both"),
        (lambda a: ct.boolean_mask(a, True), ValueError, "one axis at least"),
        (lambda a: ct.boolean_mask(a, [True]), ValueError, "mask has shape"),
        (lambda a: ct.segment_sum([1.0, 2.0], [1, 0]), ValueError, "ids fall"),
        (lambda a: ct.segment_sum([1.0, 2.0], [-1, 0]), IndexError, "negative"),
        (lambda a: ct.segment_sum([1.0, 2.0], [0]), ValueError, "segment_ids"),
        (lambda a: ct.segment_sum([True], [0]), TypeError, "bool"),
        (lambda a: ct.unsorted_segment_sum([1.0], [2], 2), IndexError, "index 2"),
        (lambda a: ct.sparse_dense_matmul(a, a), TypeError, "sparse"),
        (lambda a: ct.gather(a, [0.5]), TypeError, "float"),
    ],
)
def test_bad_calls_are_refused(call, error, words):
    a = np.zeros((2, 3))
    with pytest.raises(error, match=words):
        call(a)
    assert not a.any()


def test_empty_calls():
    assert ct.segment_sum(np.ones((0, 2)), []).shape == (0, 2)
    assert ct.unsorted_segment_sum(np.ones((0, 2)), [], 3).tolist() == [[0, 0]] * 3
    assert ct.scatter_nd(np.zeros((0, 1), int), [], [2]).tolist() == [0, 0]
    assert ct.gather([1.0], []).shape == (0,)
    ref = np.ones((2, 0))
    assert ct.batch_scatter_add(ref, np.zeros((2, 0), int), np.ones((2, 0))) is ref


def test_a_read_only_target_stays():
    ref = np.zeros((1, 2), int)
    ref.flags.writeable = False
    for op in ("div", "add"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(ct, f"batch_scatter_{op}")(ref, [[0]], [[1]])
