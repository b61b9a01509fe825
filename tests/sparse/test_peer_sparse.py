"""SciPy's own tests of sparse arrays, whose kernels pyscatter answers.

They run once, from the installed package, in a child process, through
tests/peers/sparse_adapter.py. Every test that really reached pyscatter counts; those
that must differ on purpose are listed below with the reason, and are checked to differ
still.
"""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

import pyscatter

pytest.importorskip("scipy", reason="SciPy is not installed (make test-peers)")
pytest.importorskip("scipy.sparse.tests", reason="it came without its tests")

from tests.peers import sparse_adapter

ROOT = pathlib.Path(__file__).resolve().parents[2]

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
    """Run the child and return what its plugin wrote."""
    place = tmp_path_factory.mktemp("peer")
    (place / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-c", "pytest.ini"]
    command += ["-p", "no:cacheprovider", "-p", "tests.peers.sparse_adapter"]
    command += ["--peer-report=report.json", *map(str, sparse_adapter.FILES)]
    package = pathlib.Path(pyscatter.__file__).resolve().parent.parent
    path = os.pathsep.join([str(package), str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(command, cwd=place, env=environment, capture_output=True)
    assert done.returncode in (0, 1), (
        done.stdout.decode()[-4000:] + done.stderr.decode()
    )
    return json.loads((place / "report.json").read_text())


def failed(report):
    """Return the tests that failed, with the reason that they gave."""
    tests = report["tests"].items()
    return {name: t["why"] for name, t in tests if t["outcome"] == "failed"}


def test_enough_tests_reach_pyscatter(report):
    assert len(report["tests"]) >= MIN_TESTS
    short = {n: report["calls"].get(n, 0) for n in MIN_CALLS}
    assert {n: c for n, c in short.items() if c < MIN_CALLS[n]} == {}


def test_the_others_pass(report):
    listed = re.compile("|".join(DEVIATIONS))
    unexpected = [
        f"{name}: {why}"
        for name, why in failed(report).items()
        if not listed.fullmatch(name)
    ]
    assert not unexpected, "\n" + "\n".join(unexpected)


@pytest.mark.parametrize("pattern", DEVIATIONS)
def test_deviation_is_one(report, pattern):
    meant = [name for name in report["tests"] if re.fullmatch(pattern, name)]
    assert meant, "no such test"
    assert [name for name in meant if name not in failed(report)] == []
