"""SciPy's own tests of sparse arrays, whose kernels pyscatter answers.

They run once, from the installed package, in a child process, through
tests/peers/sparse_adapter.py. Every test that really reached pyscatter counts; those
that must differ on purpose are listed below with the reason, and are checked to differ
still.
"""

import pytest

pytest.importorskip("scipy", reason="SciPy is not installed (make test-peers)")
pytest.importorskip("scipy.sparse.tests", reason="it came without its tests")

from tests.peers import sparse_adapter, suites

# Tests that must reach pyscatter, and calls by name: a little below what SciPy has.
MIN_TESTS = 9000
MIN_CALLS = {
    "csr_matvec": 3500,
    "csc_matvec": 10_000,
    "coo_matvec": 9500,
    "csr_matvecs": 330,
    "csc_matvecs": 300,
    "coo_matmat_dense": 330,
    "csr_matmat": 11_000,
    "csr_matmat_maxnnz": 19_000,
    "coo_tocsr": 120_000,
    "csr_tocsc": 42_000,
    "csr_todense": 220_000,
    "coo_todense": 140_000,
    "csr_sum_duplicates": 5000,
    "csr_sort_indices": 21_000,
    "expandptr": 75_000,
}

# Test (a regular expression) and why pyscatter answers otherwise.
DEVIATIONS = {
    "test_sparsetools::test_upcast": (
        "a pair of dtypes without a product is a TypeError, not a ValueError"
    ),
}

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    place = tmp_path_factory.mktemp("peer")
    return suites.run("sparse_adapter", sparse_adapter.FILES, place)


def test_enough_tests_reach_pyscatter(report):
    suites.assert_enough(report, MIN_TESTS, MIN_CALLS)


def test_the_others_pass(report):
    suites.assert_others_pass(report, DEVIATIONS)


@pytest.mark.parametrize("pattern", DEVIATIONS)
def test_deviation_is_one(report, pattern):
    suites.assert_differs(report, pattern)
