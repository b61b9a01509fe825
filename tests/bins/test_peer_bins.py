"""NumPy's own tests of histogram and digitize, SciPy's of binned statistics.

They run once, from the installed packages, in a child process, through
tests/peers/bins_adapter.py. Every test that reached pyscatter counts; those that differ
on purpose are listed with the reason, and are checked to differ still.
"""

import json
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

import pyscatter
from tests.peers import bins_adapter

ROOT = pathlib.Path(__file__).resolve().parents[2]
HAS_SCIPY = len(bins_adapter.FILES) > 2
# What must reach pyscatter: a little below what the packages have.
MIN_TESTS = 80 if HAS_SCIPY else 30
MIN_CALLS = {"histogram": 100, "digitize": 5}
if HAS_SCIPY:
    MIN_CALLS["binned_statistic"] = 60
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
    """Run the child and return what its plugin wrote."""
    place = tmp_path_factory.mktemp("peer")
    (place / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-c", "pytest.ini"]
    command += ["-p", "no:cacheprovider", "-p", "tests.peers.bins_adapter"]
    command += ["-k", "TestHistogram or TestDigitize or TestBinnedStatistic"]
    command += ["--peer-report=report.json", *map(str, bins_adapter.FILES)]
    package = pathlib.Path(pyscatter.__file__).resolve().parent.parent
    path = os.pathsep.join([str(package), str(ROOT), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        command,
        cwd=place,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
    )
    assert done.returncode in (0, 1), (
        done.stdout.decode()[-4000:] + done.stderr.decode()
    )
    return json.loads((place / "report.json").read_text())


def others(report):
    """Return the tests that did not pass, with the reason that they gave."""
    tests = report["tests"].items()
    return {name: why for name, (outcome, why) in tests if outcome != "passed"}


def test_enough_tests_reach_pyscatter(report):
    assert len(report["tests"]) >= MIN_TESTS
    few = {n: report["calls"].get(n) for n in MIN_CALLS}
    assert all(few[n] and few[n] >= least for n, least in MIN_CALLS.items()), few


def test_the_others_pass(report):
    listed = re.compile("|".join(DEVIATIONS))
    failed = others(report).items()
    unexpected = [f"{n}: {why}" for n, why in failed if not listed.fullmatch(n)]
    assert not unexpected, "\n" + "\n".join(unexpected)


@pytest.mark.parametrize("pattern", DEVIATIONS)
def test_deviation_is_one(report, pattern):
    meant = [name for name in report["tests"] if re.fullmatch(pattern, name)]
    if not meant and np.lib.NumpyVersion(np.__version__) < "2.4.0":
        pytest.skip("this NumPy has no such test yet")
    assert meant, "no such test"
    assert [name for name in meant if name not in others(report)] == []
