"""numpy-groupies' own test-suite, answered by pyscatter.compat.numpy_groupies.

It runs once, from the installed package, in a child process, through
tests/peers/groupies_adapter.py. Its tests of step_count and step_indices do not call
aggregate, which is all that is offered, and do not count.
"""

import pytest

pytest.importorskip("numpy_groupies", reason="numpy-groupies is not installed")
pytest.importorskip("numpy_groupies.tests", reason="it came without its tests")

from tests.peers import groupies_adapter, suites

MIN_TESTS, MIN_CALLS = 800, {"aggregate": 1500}


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    place = tmp_path_factory.mktemp("peer")
    return suites.run("groupies_adapter", groupies_adapter.FILES, place)


def test_enough_tests_reach_pyscatter(report):
    suites.assert_enough(report, MIN_TESTS, MIN_CALLS)


def test_they_pass(report):
    suites.assert_others_pass(report, ())
