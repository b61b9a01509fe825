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
WAYS = range(6)
FEW = [0.0, -0.0, 1.0, 1.0, -2.0, 0.5, 3.0, np.nan, np.inf, 1e-30]


def same_bits(got, expected):
    if expected is None:
        return got is None
    return got.dtype == expected.dtype and np.array_equal(got, expected, equal_nan=True)


def compare(how, old, index, values, out, g):
    with np.errstate(all="ignore"):
        expected = reference.pull_back(how, old, index, values, out, g)
    got = pull_back(how, old, index, values, out, g)
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
    assert pull_back(0, a, index, v, a, g) is not None
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
        assert pull_back(0, *args) is None
    with pytest.raises(ValueError, match="no such way"):
        pull_back(6, a, index, v, a, g)
    with pytest.raises(TypeError):
        pull_back("set", a, index, v, a, g)
    with pytest.raises(TypeError):
        pull_back(0, a, index, v, a)


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("width", [(), (17,)])
def test_the_same_bits_on_any_number_of_threads(how, width):
    rng = rng_for("threads")
    n, rows = 60_000 if not width else 9_000, 500
    index = rng.integers(0, rows, n)
    values, out, g = (
        np.round(rng.standard_normal((size, *width)), 1) for size in (n, rows, rows)
    )
    made = []
    for threads in (1, 4):
        with ps.num_threads(threads):
            made.append(pull_back(how, out, index, values, out, g))
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
            made = pull_back(4, out, index, values, out, out)
            assert made is None or made[1].shape == values.shape
    finally:
        done.set()
        thread.join()


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
        pullback.rule = pullback.rule._replace(plain=None)
        for mine, expected in zip(got, pullback(g), strict=True):
            assert (mine is None) == (expected is None)
            if mine is not None:
                assert np.allclose(mine, expected, rtol=1e-13, atol=0)
