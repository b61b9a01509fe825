"""NumPy's own tests of histogram and digitize, SciPy's of binned statistics.

They run once, from the installed packages, in a child process, through
tests/peers/bins_adapter.py. Every test that reached pyscatter counts; those that differ
on purpose are listed with the reason, and are checked to differ still.
"""

import re

import numpy as np
import pytest

from tests.peers import bins_adapter, suites

HAS_SCIPY = len(bins_adapter.FILES) > 2
# What must reach pyscatter: a little below what the packages have.
MIN_TESTS = 80 if HAS_SCIPY else 30
MIN_CALLS = {"histogram": 100, "digitize": 5}
if HAS_SCIPY:
    MIN_CALLS["binned_statistic"] = 60
CHOSEN = "TestHistogram or TestDigitize or TestBinnedStatistic"
HISTOGRAM, BINNED = (
    "test_histograms::TestHistogram::",
    "test_binned_statistic::Test.*::",
)
DEVIATIONS = {
    HISTOGRAM + "test_bool_conversion": "bools are counted without a warning",
    HISTOGRAM + "test_object_array_of_0d": (
        "what is not finite is counted apart, where NumPy raises"
    ),
    HISTOGRAM + "test_precision": "edges are float64, whatever the elements are",
    HISTOGRAM + "test_small_value_range": (
        "a range with too few floats widens, where NumPy raises"
    ),
}
if HAS_SCIPY:
    DEVIATIONS |= {
        BINNED + "test_dd_zero_dedges": "repeated edges make empty bins, as in NumPy",
        BINNED + "test_dd_range_errors": "the message is that of numpy.histogram",
    }


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    place = tmp_path_factory.mktemp("peer")
    return suites.run("bins_adapter", bins_adapter.FILES, place, "-k", CHOSEN)


def test_enough_tests_reach_pyscatter(report):
    suites.assert_enough(report, MIN_TESTS, MIN_CALLS)


def test_the_others_pass(report):
    suites.assert_others_pass(report, DEVIATIONS)


@pytest.mark.parametrize("pattern", DEVIATIONS)
def test_deviation_is_one(report, pattern):
    known = any(re.fullmatch(pattern, name) for name in report["tests"])
    if not known and np.lib.NumpyVersion(np.__version__) < "2.4.0":
        pytest.skip("this NumPy has no such test yet")
    suites.assert_differs(report, pattern)
