"""The compatibility modules: each function has all sections, and its example runs."""

import doctest
import importlib
import inspect

import pytest

MODULES = ("tensorflow", "torch")
SECTIONS = ("Parameters", "Returns", "Raises", "Notes", "See Also", "Examples")
FUNCTIONS = [
    (name, member)
    for name in MODULES
    for member in importlib.import_module(f"pyscatter.compat.{name}").__all__
]


def function_of(name, member):
    return getattr(importlib.import_module(f"pyscatter.compat.{name}"), member)


@pytest.mark.parametrize("name, member", FUNCTIONS)
def test_docstrings_are_complete(name, member):
    function = function_of(name, member)
    text = inspect.getdoc(function)
    assert function.__name__ == member
    missing = [s for s in SECTIONS if f"\n{s}\n{'-' * len(s)}\n" not in text]
    assert not missing, f"{member} lacks {missing}"
    for parameter in inspect.signature(function).parameters:
        assert (
            f"\n{parameter} : " in text
            or f", {parameter} : " in text
            or (f"\n{parameter}, " in text)
        ), f"{member} does not document {parameter}"
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize("name, member", FUNCTIONS)
def test_examples_run(name, member):
    text = inspect.getdoc(function_of(name, member))
    test = doctest.DocTestParser().get_doctest(text, {}, member, None, 0)
    runner = doctest.DocTestRunner(verbose=False)
    runner.run(test)
    assert test.examples and not runner.failures
