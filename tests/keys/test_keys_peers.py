"""NumPy's own tests of unique and pandas' of factorize, answered by pyscatter.

They run from the installed packages, in a child process, through
tests/peers/keys_adapter.py. Tests that fail on purpose are listed below with the
reason, and are checked to fail still.
"""

import importlib.util
import pathlib

import pytest

from tests.peers import suites


def room(package, *parts):
    """Return a file of an installed package."""
    return pathlib.Path(importlib.util.find_spec(package).origin).parent.joinpath(
        *parts
    )


# Package: the file, what to choose from it, tests and calls at least.
PEERS = {
    "numpy": (
        ("lib", "tests", "test_arraysetops.py"),
        "TestUnique or unique",
        30,
        {"unique": 500},
    ),
    "pandas": (("tests", "test_algos.py"), "TestFactorize", 40, {"factorize": 100}),
}
UNIQUE, FACTORIZE = "test_arraysetops::TestUnique::", "test_algos::TestFactorize::"
DEVIATIONS = {
    "numpy": {
        UNIQUE + "test_unique_1d": (
            "of complex numbers with a NaN the first that arrived is kept, not the "
            "first by its other part"
        ),
        UNIQUE + "test_unique_axis_errors": (
            "records that hold objects are keys as all others"
        ),
    },
    "pandas": {
        FACTORIZE + "test_mixed": (
            "sort=True needs keys that < compares: there is no order by type"
        ),
        FACTORIZE + "test_complex_sorting": "the TypeError says what to do",
        FACTORIZE + r"test_(object|int)_factorize_use_na_sentinel_false\[data0.*": (
            "None and NaN objects are two missing keys, None last"
        ),
    },
}


@pytest.fixture(scope="module", params=PEERS)
def peer(request, tmp_path_factory):
    """Return the package, what must reach pyscatter at least, and the report."""
    package = request.param
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    parts, chosen, *least = PEERS[package]
    file = room(package, *parts)
    if not file.exists():
        pytest.skip(f"{package} came without its tests")
    place = tmp_path_factory.mktemp("peer")
    return package, least, suites.run("keys_adapter", [file], place, "-k", chosen)


def test_enough_tests_reach_pyscatter(peer):
    _, least, report = peer
    suites.assert_enough(report, *least)


def test_the_others_pass(peer):
    package, _, report = peer
    suites.assert_others_pass(report, DEVIATIONS[package])


def test_each_deviation_is_one(peer):
    package, _, report = peer
    for pattern in DEVIATIONS[package]:
        suites.assert_differs(report, pattern)
