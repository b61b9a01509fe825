"""A suite written by others: its run through an adapter, and what its report must say.

A test module names the adapter and the files, asks for the report once, and says with
the three functions below that enough of the suite reached pyscatter, that it passed but
for the deviations that the module lists with their reasons, and that each of those is
one still.
"""

import json
import os
import pathlib
import re
import subprocess
import sys

import pyscatter

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(adapter, files, place, *options):
    """Run test files through tests/peers/<adapter>.py in a child, return its report."""
    (place / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-c", "pytest.ini"]
    command += ["-p", "no:cacheprovider", "-p", f"tests.peers.{adapter}"]
    command += ["--peer-report=report.json", *options, *map(str, files)]
    package = pathlib.Path(pyscatter.__file__).resolve().parents[1]
    path = [str(package), str(ROOT), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
    # Options of the run that asks are about this tree's tests.
    environment.pop("PYTEST_ADDOPTS", None)
    done = subprocess.run(command, cwd=place, env=environment, capture_output=True)
    assert done.returncode in (0, 1), (
        done.stdout.decode()[-4000:] + done.stderr.decode()
    )
    return json.loads((place / "report.json").read_text())


def failed(report):
    """Return the tests that failed, with the reason that they gave."""
    tests = report["tests"].items()
    return {name: t["why"] for name, t in tests if t["outcome"] == "failed"}


def assert_enough(report, min_tests, min_calls):
    """So many tests at least reached pyscatter, and so many calls by name."""
    assert len(report["tests"]) >= min_tests
    calls = {name: report["calls"].get(name, 0) for name in min_calls}
    assert {n: c for n, c in calls.items() if c < min_calls[n]} == {}


def assert_others_pass(report, deviations):
    """No test failed whose name no regular expression of `deviations` matches."""
    listed = [re.compile(pattern) for pattern in deviations]
    unexpected = [
        f"{name}: {why}"
        for name, why in failed(report).items()
        if not any(pattern.fullmatch(name) for pattern in listed)
    ]
    assert not unexpected, "\n" + "\n".join(unexpected)


def assert_differs(report, pattern):
    """There are tests of this name, and all of them failed."""
    meant = [name for name in report["tests"] if re.fullmatch(pattern, name)]
    assert meant, "no such test"
    assert [name for name in meant if name not in failed(report)] == []
