"""Docstrings: every public function has all sections, and every example runs."""

import doctest
import inspect

import pytest

import pyscatter as ps

FUNCTIONS = sorted(set(ps.__all__))
SECTIONS = ("Parameters", "Returns", "Raises", "See Also", "Examples")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_examples_run(name):
    function = getattr(ps, name)
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(verbose=False)
    test = parser.get_doctest(inspect.getdoc(function), {}, name, None, 0)
    assert test.examples, f"{name} has no example"
    runner.run(test)
    assert runner.failures == 0


@pytest.mark.parametrize("name", [n for n in FUNCTIONS if "thread" not in n])
def test_sections_are_complete(name):
    function = getattr(ps, name)
    text = inspect.getdoc(function)
    wanted = SECTIONS if "config" in name else (*SECTIONS, "Notes")
    missing = [s for s in wanted if f"\n{s}\n{'-' * len(s)}\n" not in text]
    assert not missing, f"{name} lacks {missing}"
    assert "<<" not in text and "{" not in text.replace('{"', "")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_signatures_name_every_parameter(name):
    function = getattr(ps, name)
    text = inspect.getdoc(function)
    for parameter in inspect.signature(function).parameters:
        assert f"\n{parameter} : " in text, f"{name} does not document {parameter}"
