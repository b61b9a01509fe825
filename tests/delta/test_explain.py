"""explain_diff against numpy.testing and np.isclose."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pyscatter as ps
from tests.cases import DTYPES, LAYOUTS, random_values, rng_for

NUMBERS = [n for n in DTYPES if DTYPES[n].kind in "biufc" or n == "bf16"]


def numpy_report(actual, desired, **options):
    """Return the message of assert_allclose, from its second line on."""
    with pytest.raises(AssertionError) as caught:
        np.testing.assert_allclose(actual, desired, **options)
    return str(caught.value).strip()


SAME_WORDS = [
    ([1.0, 2.0, 3.0], [1.0, 2.5, 3.0], {}),
    ([1, 2], [1, 5], {}),
    (np.zeros((2, 3)), np.ones((2, 3)), {}),
    (np.arange(10), np.arange(10)[::-1], {"rtol": 0.1}),
    ([1, 2 + 1j], [1, 2.0], {}),
    ([True, False], [True, True], {}),
    (np.uint8([1, 200]), np.uint8([2, 100]), {}),
    (np.arange(2000.0), np.arange(2000.0) + (np.arange(2000) == 7), {"atol": 0.5}),
    (np.eye(40), np.eye(40) * 2, {"rtol": 1e-3, "atol": 1e-6}),
    (3.0, [3.0, 4.0], {}),
    ([3.0, 4.0], 3.0, {}),
    (1.0, 2.0, {}),
    (np.float64([1, 2, 4]), np.float64([0, 0, 4]), {}),
]


@pytest.mark.parametrize("case", range(len(SAME_WORDS)))
def test_the_words_are_those_of_numpy(case):
    actual, desired, options = SAME_WORDS[case]
    actual, desired = np.asarray(actual), np.asarray(desired)
    expected = numpy_report(actual, desired, **options)
    if "(ACTUAL), " not in expected or "violations" not in expected + "violations":
        pytest.skip("this NumPy shows no elements")
    assert str(ps.explain_diff(actual, desired, **options)) == expected


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_dtype_and_layout(name, layout):
    rng = rng_for("explain", name)
    desired = random_values(rng, DTYPES[name], (7, 9))
    actual = np.where(rng.random((7, 9)) < 0.3, desired[::-1], desired)
    actual = actual.astype(desired.dtype)
    found = ps.explain_diff(LAYOUTS[layout](actual), LAYOUTS[layout](desired))
    wide = complex if desired.dtype.kind == "c" else np.longdouble
    with np.errstate(all="ignore"):
        near = np.isclose(
            actual.astype(wide), desired.astype(wide), 1e-7, 0, equal_nan=True
        )
    assert found.n_mismatch == np.count_nonzero(~near)
    assert found.indices == [tuple(at) for at in np.argwhere(~near)[:5].tolist()]
    assert bool(found) == (not near.all())


@given(
    st.lists(st.tuples(st.floats(), st.floats()), max_size=30),
    st.sampled_from([0, 1e-7, 0.5]),
    st.sampled_from([0, 1e-9, 10.0]),
)
@settings(max_examples=60)
def test_floats(pairs, rtol, atol):
    actual = np.array([a for a, _ in pairs])
    desired = np.array([d for _, d in pairs])
    found = ps.explain_diff(actual, desired, rtol, atol)
    with np.errstate(all="ignore"):
        near = np.isclose(actual, desired, rtol, atol, equal_nan=True)
        apart = np.abs(actual - desired)[~near]
        relative = apart / np.abs(desired[~near])
    assert found.n_mismatch == (~near).sum() and found.n == len(pairs)
    apart, relative = apart[~np.isnan(apart)], relative[~np.isnan(relative)]
    if apart.size:
        assert found.max_abs == apart.max()
    elif found:
        assert np.isnan(found.max_abs)
    else:
        assert found.max_abs == found.max_rel == 0


def test_integers_are_exact():
    for actual, desired, apart in (
        (np.int64(2**62), np.int64(2**62 + 1), 1),
        (np.int64(-(2**63)), np.int64(2**63 - 1), 2**64),
        (np.uint64(2**64 - 1), np.int64(-1), 2**64),
        (np.uint8(0), np.uint8(255), 255),
    ):
        found = ps.explain_diff(actual, desired, rtol=0)
        assert found.n_mismatch == 1 and found.max_abs == apart
        assert found.indices == [()]


def test_one_large_array():
    desired = np.zeros(300_000, np.float32)
    actual = desired.copy()
    actual[[5, 299_999]] = 1, 2
    found = ps.explain_diff(actual, desired)
    assert (found.n_mismatch, found.max_abs, found.max_rel) == (2, 2.0, np.inf)
    assert found.indices == [(5,), (299_999,)]
    assert "300000" in repr(found) and "2 / 300000" in str(found)
    assert "All 300000" in str(ps.explain_diff(actual, actual))


def test_nothing_to_compare():
    found = ps.explain_diff(np.zeros((0, 3)), np.zeros((0, 3)))
    assert not found and found.n == 0 and found.max_abs == 0


@pytest.mark.parametrize(
    ("actual", "desired", "options", "error"),
    [
        ([1.0], [1.0, 2.0], {}, ValueError),
        ([[1.0]], [1.0], {}, ValueError),
        ([1.0], [1.0], {"rtol": -1}, ValueError),
        ([1.0], [1.0], {"atol": np.nan}, ValueError),
        (["a"], ["a"], {}, TypeError),
        ([None], [1.0], {}, TypeError),
        (np.zeros(2, "M8[s]"), np.zeros(2, "M8[s]"), {}, TypeError),
        (np.ma.zeros(2), np.zeros(2), {}, TypeError),
    ],
)
def test_what_is_refused(actual, desired, options, error):
    with pytest.raises(error):
        ps.explain_diff(actual, desired, **options)
