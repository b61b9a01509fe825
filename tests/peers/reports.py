"""What an adapter writes down of the suite that it runs, for tests/peers/suites.py.

An adapter is a plugin of pytest. It counts by name, in a Counter, what it sends to
pyscatter, and registers a `Report` of that count, or of a class of its own derived from
it: a test belongs to the report when the count rose between its set-up and its end.
"""

import json
import pathlib

import pytest


def pytest_addoption(parser):
    """Add the place of the report; an adapter takes this hook over by its name."""
    parser.addoption("--peer-report", required=True, help="where to write the results")


def register(config, calls, kind=None):
    """Let pytest call a report, of a kind of its own where the adapter has one."""
    path = pathlib.Path(config.getoption("peer_report"))
    config.pluginmanager.register((kind or Report)(path, calls))


class Report:
    """Write down which tests called pyscatter, how each went and why."""

    def __init__(self, path, calls):
        self.path, self.calls = path, calls
        self.tests = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        self.now = {"outcome": "passed", "why": ""}
        before = self.calls.total()
        result = yield
        if self.calls.total() > before:
            # The file's name, wherever it lies, the class, the function, the arguments.
            name = f"{item.path.stem}::{item.nodeid.partition('::')[2]}"
            self.tests[name] = self.now
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item, call):
        report = yield
        if report.outcome != "passed" and not hasattr(report, "wasxfail"):
            why = str(call.excinfo.value).strip().splitlines()[:3]
            self.now = {
                "outcome": report.outcome,
                "why": ": ".join([call.excinfo.typename, *why]),
            }
        return report

    def pytest_sessionfinish(self):
        self.path.write_text(json.dumps({"calls": self.calls, "tests": self.tests}))
