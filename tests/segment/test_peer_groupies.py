"""numpy-groupies' own test-suite, answered by pyscatter.compat.numpy_groupies.

It runs once, from the installed package, in a child process, through
tests/peers/groupies_adapter.py. Tests that fail or are skipped on purpose are listed
below with the reason, and are checked to differ still.
"""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

import pyscatter

pytest.importorskip("numpy_groupies", reason="numpy-groupies is not installed")
pytest.importorskip("numpy_groupies.tests", reason="it came without its tests")

from tests.peers import groupies_adapter

ROOT = pathlib.Path(__file__).resolve().parents[2]
MIN_TESTS, MIN_CALLS = 800, 1500
DEVIATIONS = {
    r"test_steps::test_step_indices_(length|fields)\[pyscatter\]": (
        "aggregate is all that is offered, not step_count and step_indices"
    ),
}


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """Run the child and return what its plugin wrote."""
    place = tmp_path_factory.mktemp("peer")
    (place / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-c", "pytest.ini"]
    command += ["-p", "no:cacheprovider", "-p", "tests.peers.groupies_adapter"]
    command += ["--peer-report=report.json", *map(str, groupies_adapter.FILES)]
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
    assert report["calls"]["aggregate"] >= MIN_CALLS


def test_the_others_pass(report):
    listed = re.compile("|".join(DEVIATIONS) or "$")
    failed = others(report).items()
    unexpected = [f"{n}: {why}" for n, why in failed if not listed.fullmatch(n)]
    assert not unexpected, "\n" + "\n".join(unexpected)


@pytest.mark.parametrize("pattern", DEVIATIONS)
def test_deviation_is_one(report, pattern):
    meant = [name for name in report["tests"] if re.fullmatch(pattern, name)]
    assert meant, "no such test"
    assert [name for name in meant if name not in others(report)] == []
