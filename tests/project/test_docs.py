"""Docstrings: every public function has all sections, and every example runs. The stub
of the C module names what it has, with the parameters that it has."""

import ast
import doctest
import inspect
import pathlib

import pytest

import pyscatter as ps
from pyscatter import _core, _docs

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


def test_parts_follow_the_indentation():
    indented = (
        "\n    Do it.\n\n    <<softmax>>\n\n    See Also\n    --------\n    that\n"
    )
    stripped = inspect.cleandoc(indented)  # as Python 3.13 and later store docstrings
    assert _docs.filled(stripped) == inspect.cleandoc(_docs.filled(indented))
    assert "\nRaises\n------\nIndexError\n    An id is" in _docs.filled(stripped)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_signatures_name_every_parameter(name):
    function = getattr(ps, name)
    text = inspect.getdoc(function)
    for parameter in inspect.signature(function).parameters:
        assert f"\n{parameter} : " in text, f"{name} does not document {parameter}"


def stub_of_core():
    """Return the signature of each function of the stub, and its other names."""
    path = pathlib.Path(ps.__file__).with_name("_core.pyi")
    nodes = ast.parse(path.read_text(encoding="utf-8")).body
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef)]
    others = [n.target.id for n in nodes if isinstance(n, ast.AnnAssign)]
    others += [n.name for n in nodes if isinstance(n, ast.ClassDef)]
    return {node.name: node.args for node in functions}, set(others)


def test_stub_names_all_of_the_module():
    functions, others = stub_of_core()
    names = {name for name in dir(_core) if not name.startswith("__")}
    assert names - set(functions) <= others and set(functions) <= names


def default_of(parameter):
    return None if parameter.default is parameter.empty else repr(parameter.default)


@pytest.mark.parametrize("name", sorted(stub_of_core()[0]))
def test_stub_has_the_parameters_of_the_module(name):
    function = getattr(_core, name)
    args = stub_of_core()[0][name]
    if function.__text_signature__ is None or args.posonlyargs:
        return  # a hook, called by position; newer Pythons make up a name
    found = [(a.arg, "positional") for a in args.args]
    found += [(args.vararg.arg, "positional")] if args.vararg else []
    found += [(a.arg, "keyword") for a in args.kwonlyargs]
    found += [(args.kwarg.arg, "rest")] if args.kwarg else []
    given = [*args.defaults, *args.kw_defaults]
    defaults = [None if d is None else repr(ast.literal_eval(d)) for d in given]
    parameters = list(inspect.signature(function).parameters.values())
    kinds = {
        inspect.Parameter.KEYWORD_ONLY: "keyword",
        inspect.Parameter.VAR_KEYWORD: "rest",
    }
    assert found == [(p.name, kinds.get(p.kind, "positional")) for p in parameters]
    parameters = [p for p in parameters if p.kind is not p.VAR_KEYWORD]
    assert defaults == [default_of(p) for p in parameters][-len(given) :] or not given
