"""Pytest plugin: numpy-groupies' own tests, with pyscatter as the implementation.

That suite takes each implementation from a list in its helpers; the list is given one
module, whose `aggregate` is that of pyscatter.compat.numpy_groupies. Tests that do not
ask for an implementation are about numpy-groupies' insides and are left out.

Use: pytest -p tests.peers.groupies_adapter --peer-report=FILE FILE ...
"""

import pathlib
import types
from collections import Counter

import numpy_groupies.tests
from numpy_groupies.tests import helpers

from pyscatter.compat import numpy_groupies as compat
from tests.peers.reports import Report, register

pytest_plugins = ["tests.peers.reports"]

ROOM = pathlib.Path(numpy_groupies.tests.__file__).resolve().parent
FILES = sorted(path for path in ROOM.glob("test_*.py") if "(impl" in path.read_text())
calls = Counter()


def aggregate(*args, **kwargs):
    """Count the call and make it."""
    calls["aggregate"] += 1
    return compat.aggregate(*args, **kwargs)


IMPLEMENTATION = types.ModuleType("pyscatter_aggregate")
IMPLEMENTATION.aggregate = aggregate
helpers._backend_names.clear()
helpers._backend_names[IMPLEMENTATION] = "pyscatter"
helpers._implementations[:] = [IMPLEMENTATION]


class AskingReport(Report):
    """That of the tests that ask for an implementation."""

    def pytest_collection_modifyitems(self, config, items):
        chosen = [item for item in items if "impl" in item.fixturenames]
        left_out = [item for item in items if item not in chosen]
        config.hook.pytest_deselected(items=left_out)
        items[:] = chosen


def pytest_addoption(parser):
    parser.addoption("--seed", type=int, default=100, help="of the suite's numbers")


def pytest_configure(config):
    config.addinivalue_line("markers", "xdist_group: the suite's own")
    register(config, calls, AskingReport)
