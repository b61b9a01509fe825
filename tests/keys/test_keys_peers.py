"""NumPy's own tests of unique and pandas' of factorize, answered by pyscatter.

They run from the installed packages, in a child process, through
tests/peers/keys_adapter.py. Tests that fail on purpose are listed below with the
reason, and are checked to fail still.
"""

import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

import pyscatter

ROOT = pathlib.Path(__file__).resolve().parents[2]


def room(package, *parts):
    """Return a file of an installed package."""
    return pathlib.Path(importlib.util.find_spec(package).origin).parent.joinpath(
        *parts
    )


# Package: the file, what to choose from it, tests and calls at least.
PEERS = {
    "numpy": (("lib", "tests", "test_arraysetops.py"), "TestUnique or unique", 30, 500),
    "pandas": (("tests", "test_algos.py"), "TestFactorize", 40, 100),
}
NONE = "None and NaN objects are two missing keys, None last"
DEVIATIONS = {
    "numpy": {
        "test_unique_1d": (
            "of complex numbers with a NaN the first that arrived is kept, not the "
            "first by its other part"
        ),
        "test_unique_axis_errors": "records that hold objects are keys as all others",
    },
    "pandas": {
        "test_mixed": "sort=True needs keys that < compares: there is no order by type",
        "test_complex_sorting": "the TypeError says what to do",
        r"test_(object|int)_factorize_use_na_sentinel_false\[data0": NONE,
    },
}


@pytest.fixture(scope="module", params=PEERS)
def report(request, tmp_path_factory):
    """Run the child and return what its plugin wrote."""
    package = request.param
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    parts, chosen, *least = PEERS[package]
    file = room(package, *parts)
    if not file.exists():
        pytest.skip(f"{package} came without its tests")
    place = tmp_path_factory.mktemp("peer")
    (place / "pytest.ini").write_text(
        "[pytest]\nmarkers =\n    slow: slow\n    thread_unsafe: one thread\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-c", "pytest.ini"]
    command += ["-p", "no:cacheprovider", "-p", "tests.peers.keys_adapter"]
    command += ["--peer-report=report.json", "-k", chosen, str(file)]
    path = [str(pathlib.Path(pyscatter.__file__).resolve().parent.parent), str(ROOT)]
    done = subprocess.run(
        command,
        cwd=place,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
        capture_output=True,
    )
    assert done.returncode in (0, 1), done.stdout.decode()[-4000:]
    return package, json.loads((place / "report.json").read_text()), least


def test_enough_of_them_reach_pyscatter(report):
    _, found, (tests, calls) = report
    assert len(found["tests"]) >= tests
    assert sum(found["calls"].values()) >= calls


def test_they_pass_but_for_what_is_listed(report):
    package, found, _ = report
    failed = {
        name: why for name, (how, why) in found["tests"].items() if how == "failed"
    }
    listed = DEVIATIONS[package]
    surprises = {
        name: why
        for name, why in failed.items()
        if not any(re.search(pattern, name) for pattern in listed)
    }
    assert not surprises, json.dumps(surprises, indent=1)
    for pattern in listed:
        assert any(re.search(pattern, name) for name in failed), f"{pattern} passes"
