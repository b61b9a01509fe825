"""Pullbacks in one call: the bits of plain Python, on any number of threads."""

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pyscatter as ps
from tests.cases import rng_for
from tests.reference import pullback as reference

pull_back = ps._core.pull_back
# An op and what ties do, by the ways in which values meet.
WAYS = [
    ("set", "even"),
    ("first", "even"),
    ("mean", "even"),
    ("mul", "even"),
    ("max", "even"),
    ("fmin", "first"),
]
FEW = [0.0, -0.0, 1.0, 1.0, -2.0, 0.5, 3.0, np.nan, np.inf, 1e-30]


def same_bits(got, expected):
    if expected is None:
        return got is None
    return got.dtype == expected.dtype and np.array_equal(got, expected, equal_nan=True)


def compare(way, old, index, values, out, g):
    op, ties = way
    with np.errstate(all="ignore"):
        how = WAYS.index(way)
        expected = reference.pull_back(how, old, index, values, out, g)
    got = pull_back(op, old, index, values, out, g, ties)
    assert all(map(same_bits, got, expected))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("how", WAYS)
@settings(max_examples=25, deadline=None)
@given(
    n=st.integers(0, 9),
    rows=st.integers(1, 4),
    width=st.sampled_from([(), (1,), (3,), (0,), (2, 2)]),
    wide=st.booleans(),
    seed=st.integers(0, 99),
)
def test_pullbacks(how, dtype, n, rows, width, wide, seed):
    rng = np.random.default_rng(seed)
    index = rng.integers(-rows, rows, n).astype(np.int64 if wide else np.int32)
    values, out, old, g = (
        rng.choice(FEW, (size, *width)).astype(dtype) for size in (n, rows, rows, rows)
    )
    compare(how, old, index, values, out, g)
    compare(how, None, index, values, out, g)


def test_an_index_of_two_axes():
    rng = rng_for("two axes")
    index = rng.integers(0, 4, (3, 2))
    values, out, g = rng.random((3, 2, 5)), rng.random((4, 5)), rng.random((4, 5))
    for how in WAYS:
        compare(how, out, index, values, out, g)


def test_what_is_not_plain_is_left_to_the_rule():
    a, index, v, g = np.ones((3, 2)), np.array([0, 2]), np.ones((2, 2)), np.ones((3, 2))
    assert pull_back("update", a, index, v, a, g, "even") is not None
    for op in ("add", "div", "var", 0):
        assert pull_back(op, a, index, v, a, g, "even") is None
    for args in (
        (a, index, v, a.astype("f2"), g),
        (a, index, v.astype("f4"), a, g),
        (a, index, v[0], a, g),
        (a, index, v, a, g[::-1]),
        (a.T.copy().T, index, v, a, g),
        (a, index.astype("i2"), v, a, g),
        (a, index.astype("f8"), v, a, g),
        (a, [0, 2], v, a, g),
        (a, index + 1, v, a, g),
        (a, index - 4, v, a, g),
        (a.tolist(), index, v, a, g),
        (a, index, np.asarray(v, ">f8"), a, g),
        (a, index, v, np.float64(1), g),
        (a, index[:, None], v, a, g),
    ):
        assert pull_back("set", *args, "even") is None
    with pytest.raises(TypeError):
        pull_back("set", a, index, v, a, g)
    with pytest.raises(TypeError):
        pull_back("set", a, index, v, a, g, 0)


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("width", [(), (17,)])
def test_the_same_bits_on_any_number_of_threads(how, width):
    rng, (op, ties) = rng_for("threads"), how
    n, rows = 60_000 if not width else 9_000, 500
    index = rng.integers(0, rows, n)
    values, out, g = (
        np.round(rng.standard_normal((size, *width)), 1) for size in (n, rows, rows)
    )
    made = []
    for threads in (1, 4):
        with ps.num_threads(threads):
            made.append(pull_back(op, out, index, values, out, g, ties))
    assert all(map(same_bits, *made))


def test_an_index_that_another_thread_rewrites():
    index, done = np.zeros(200_000, np.int64), threading.Event()
    values, out = np.ones(index.size), np.ones(4)

    def rewrite():
        while not done.is_set():
            index[::7] = 10**9
            index[::7] = 1

    thread = threading.Thread(target=rewrite)
    thread.start()
    try:
        for _ in range(20):
            made = pull_back("max", out, index, values, out, out, "even")
            assert made is None or made[1].shape == values.shape
    finally:
        done.set()
        thread.join()


def test_gradients_of_matrices_share_their_structure():
    A = ps.CSR((np.ones(2), [0, 1], [0, 1, 2]), (2, 2))
    B = A._with_data(np.arange(2.0))
    assert type(B) is ps.CSR and B.indices.base is A.indices.base
    assert A._with_data(None).data is None and not B.data.flags.writeable
    with pytest.raises(ValueError, match="'data' has 3 elements, but there are 2"):
        A._with_data(np.ones(3))
    for data, error in (
        (np.ones((2, 1)), ValueError),
        (np.array(["a", "b"]), TypeError),
    ):
        with pytest.raises(error):
            A._with_data(data)


def test_totals_and_conditions():
    total, covers, factors = (
        getattr(ps._core, name) for name in ("total_chosen", "covers", "are_factors")
    )
    g, mask = np.arange(6.0).reshape(2, 3), np.arange(6).reshape(2, 3) % 2 == 0
    assert total(g, mask, True) == 6 and total(g, mask, False) == 9
    assert total(g[:0], mask[:0], True).shape == ()
    for args in ((g.T, mask.T, True), (g, mask[0], True), (g, g, True), (g, mask)):
        assert total(*args) is None
    assert total(g.astype("f2"), mask, True) is None and total([1.0], [True], 1) is None
    assert covers(mask, g) and not covers(mask[0], g) and not covers(g, g)
    assert not covers(mask) and not covers([True], g)
    A = ps.CSR((np.ones(2), [0, 1], [0, 1, 2]), (2, 2))
    X = np.ones((2, 2))
    assert factors(A, X, X) and not factors(A.to_coo(), X) and not factors(X, X)
    for other in (X[0], X.astype("f4"), X.tolist()):
        assert not factors(A, X, other)
    assert not factors() and not factors(A._with_data(None), X)


@pytest.mark.parametrize("op", "set first mean mul min max fmin fmax".split())
@pytest.mark.parametrize("ties", ["even", "first"])
def test_rules_ask_it(op, ties):
    """Pullbacks of plain calls are this call, and have the numbers of general rules."""
    rng = rng_for("rules ask")
    a, values = np.round(rng.random((4, 3)), 1), np.round(rng.random((9, 3)), 1)
    index, g = rng.integers(0, 4, 9), rng.random((4, 3))
    calls = [(ps.scatter, (a, index, values)), (ps.segment_reduce, (values, index, 4))]
    for function, arguments in calls:
        if function is ps.segment_reduce and op == "set":
            continue
        _, pullback = ps.vjp(function, *arguments, op=op, ties=ties)
        got = pullback(g)
        pullback.recipe = None
        for mine, expected in zip(got, pullback(g), strict=True):
            assert (mine is None) == (expected is None)
            if mine is not None:
                assert np.allclose(mine, expected, rtol=1e-13, atol=0)
