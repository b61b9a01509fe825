"""No input from Python ends in anything but a documented exception.

Hostile calls run in child processes, so that a crash is a failed test with the name of
the case and not the end of the test run. What each case is allowed to raise is written
beside it in tests/isolated/corpus_*.py; that the target and every other argument keep
their bytes is checked for all of them by tests/isolated/harness.py.
"""

import pytest

from tests.isolated.bad_input_cases import GROUPS
from tests.isolated.children import listing, run_cases, run_forked
from tests.isolated.forms import FORMS

# Thousands of cases each; the quick run sweeps one form of each code path.
SWEEPS = {f"index {name}" for name in FORMS}
SWEPT = ("scatter", "add_at", "gather", "scatter_nd-pairs")
SLOW = SWEEPS - {f"index {name}" for name in SWEPT} | {"size many updates"}


def marked(groups):
    """Groups as parameters, the long ones marked."""
    return [
        pytest.param(name, marks=pytest.mark.slow if name in SLOW else [])
        for name in groups
    ]


@pytest.mark.parametrize("group", marked(GROUPS))
def test_group(group):
    ended, complaints = run_cases("bad_input_cases", group, run=run_forked, seconds=100)
    assert not complaints, listing(complaints)
    assert ended > 0
