"""Documents: their Python runs, their links lead somewhere, their how-tos work.

The blocks of a document run in order in one namespace, as a reader would type them.
The how-tos are applied to a copy of the sources, which is built and asked for what was
added: a page about the code that is not executed rots with the next change.
"""

import doctest
import importlib.util
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig

import numpy as np
import pytest

import pyscatter as ps
from tests.cases import assert_same

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    ROOT / "csrc" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
HOWTOS = sorted((ROOT / "docs").glob("howto-*.md"))
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def name_of(path):
    return path.relative_to(ROOT).as_posix()


def blocks(page, language):
    """Yield (number of the line before the code, code) of a page's blocks."""
    text = page.read_text(encoding="utf-8")
    for match in FENCE.finditer(text):
        if match[1] == language:
            yield text.count("\n", 0, match.start(2)), match[2]


def prose(page):
    """Return a page without its blocks."""
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def run_session(code, names, page, line):
    """Run a block of prompts and answers; fail with doctest's report."""
    test = doctest.DocTestParser().get_doctest(code, names, page, page, line)
    report = []
    runner = doctest.DocTestRunner(verbose=False)
    runner.run(test, out=report.append, clear_globs=False)
    names.update(test.globs)
    assert not runner.failures, "".join(report)


def run_page(page):
    """Run the Python blocks of a page in order; return the names they leave."""
    names = {"__name__": "__page__"}
    for line, code in blocks(page, "python"):
        if code.startswith(">>>"):
            run_session(code, names, name_of(page), line)
        else:
            exec(compile("\n" * line + code, str(page), "exec"), names)
    return names


# --- pages ----------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_python_runs(page):
    run_page(page)


def test_there_is_python_to_run():
    counts = {name_of(page): len(list(blocks(page, "python"))) for page in PAGES}
    assert counts["README.md"] >= 2
    assert counts["docs/errors-and-promises.md"] >= 12


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        path, _, anchor = target.partition("#")
        if "://" in target:
            continue
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists(), f"{name_of(page)} links to {target}"
        if anchor:
            assert anchor in anchors(linked), f"{name_of(page)} links to {target}"


def anchors(page):
    """Return the anchors that a page's headings get."""
    headings = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_names_and_commands_exist(page):
    text = page.read_text(encoding="utf-8")
    for name in set(re.findall(r"\bps\.([a-z]\w*)", text)):
        is_added = page in HOWTOS  # these make names of their own
        assert is_added or hasattr(ps, name), f"{name_of(page)} names ps.{name}"
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([\w-]+):", makefile, re.MULTILINE))
    for name in set(re.findall(r"(?:`|^)make ([\w-]+)", text, re.MULTILINE)):
        assert name in targets, f"{name_of(page)} names make {name}"
    for module in set(re.findall(r"python -m ([\w.]*\w)", text)):
        is_added = page in HOWTOS
        assert is_added or importlib.util.find_spec(module), f"names {module}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_files_named_in_prose_exist(page):
    folders = "csrc|base|kernels|ops|python|pyscatter|tests|benchmarks|docs|examples"
    pattern = rf"`((?:{folders})/[\w./-]+\.(?:tmpl\.h|c|h|py|md))`"
    made = set(re.findall(r"^`([\w./-]+)` \(new\):$", prose(page), re.MULTILINE))
    named = {name for name in re.findall(pattern, prose(page)) if "STEM" not in name}
    for name in named - made:
        assert (ROOT / name).exists() or (ROOT / "csrc" / name).exists(), name


def test_readme_is_short_and_has_room_for_the_table():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    begin = "<!-- benchmark table: begin (written by benchmarks/report.py) -->"
    before, found, rest = text.partition(begin)
    _, end, after = rest.partition("<!-- benchmark table: end -->")
    assert found and end and begin not in after
    assert (before + after).count("\n") < 200
    assert text.index("make demo") < text.index("pip install") < text.index("```python")


# --- names of other libraries ---------------------------------------------------------


COMING_FROM = ROOT / "docs" / "coming-from.md"


def rows_of_tables(page):
    """Yield the cells of every row of a page's tables."""
    for line in prose(page).splitlines():
        if line.startswith("| ") and not line.startswith("| ---"):
            yield [cell.strip() for cell in line.strip("|").split(" | ")]


def calls(cell, prefix):
    """Return the calls that a cell shows as code."""
    return re.findall(rf"`({prefix}\.[^`]*\))`", cell)


def evaluate(call, names):
    """Return what a call gives, or what it leaves in `a`, on arrays of its own."""
    names = {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in names.items()}
    result = eval(call, names)
    return names["a"] if result is None else result


def test_calls_of_the_tables_run():
    names = run_page(COMING_FROM)
    seen = [call for row in rows_of_tables(COMING_FROM) for call in calls(row[1], "ps")]
    assert len(seen) > 60
    for call in seen:
        assert isinstance(evaluate(call, names), np.ndarray | tuple), call


def test_numpys_calls_give_the_same():
    names = run_page(COMING_FROM)
    compared = 0
    for theirs, ours, *_ in rows_of_tables(COMING_FROM):
        for call, twin in zip(calls(theirs, "np"), calls(ours, "ps"), strict=False):
            expected, given = evaluate(call, names), evaluate(twin, names)
            assert_same(np.asarray(given), np.asarray(expected), twin)
            compared += 1
    assert compared >= 9


# --- examples -------------------------------------------------------------------------


def child_environment():
    """The environment of a child process that sees the same pyscatter."""
    package = pathlib.Path(ps.__file__).resolve().parent.parent
    return {**os.environ, "PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1"}


def test_there_are_examples():
    assert len(EXAMPLES) >= 3


@pytest.mark.parametrize("path", EXAMPLES, ids=name_of)
def test_example_runs(path, tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "error", path],
        env=child_environment(),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) >= 3
    assert not list(tmp_path.iterdir()), "an example leaves files behind"


# --- how-tos --------------------------------------------------------------------------


STEP = re.compile(
    r"^`([\w./-]+)`( \(new\))?:\n\n```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
SOURCES = (
    *("setup.py", "pyproject.toml", "LICENSE", "README.md", "Makefile"),
    *("csrc", "pyscatter", "tests", "benchmarks", "docs", "examples"),
)


def steps(page):
    """Yield (path, is it a new file, text) of the steps that a how-to shows."""
    for path, new, _, text in STEP.findall(page.read_text(encoding="utf-8")):
        yield path, bool(new), text


def hunks(text):
    """Yield (old lines, new lines) of a diff; a line of dots separates its hunks."""
    for hunk in re.split(r"^ *\.\.\.\n", text, flags=re.MULTILINE):
        lines = hunk.splitlines(keepends=True)
        old = "".join(line[1:] or "\n" for line in lines if line[0] in " -\n")
        new = "".join(line[1:] or "\n" for line in lines if line[0] in " +\n")
        yield old, new


def apply_steps(page, tree):
    """Do what a how-to says in the tree."""
    for path, new, text in steps(page):
        file = tree / path
        if new:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
            continue
        content = file.read_text(encoding="utf-8")
        for old, replacement in hunks(text):
            assert content.count(old) == 1, f"{path} does not have once:\n{old}"
            content = content.replace(old, replacement)
        file.write_text(content, encoding="utf-8")


def copy_sources(tree):
    ignored = shutil.ignore_patterns("*.so", "__pycache__", "build")
    for name in SOURCES:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, tree / name, ignore=ignored)
        else:
            shutil.copy(source, tree / name)


def run_in(tree, *command):
    """Run a command in the tree, without sanitizers; return its output."""
    plain = {k: v for k, v in os.environ.items() if not k.startswith("PYSCATTER_")}
    for name in ("LD_PRELOAD", "PYTHONPATH", "PYTHONMALLOC"):
        plain.pop(name, None)
    # Built to be called, not to be fast, nor at more than one level.
    plain["PYSCATTER_CFLAGS"] = "-O0 -g0 -DPS_BASELINE_ONLY"
    plain["PYTHONDONTWRITEBYTECODE"] = "1"
    done = subprocess.run(
        [sys.executable, *command], cwd=tree, env=plain, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-6000:]
    return done.stdout


def can_build():
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    return importlib.util.find_spec("setuptools") and shutil.which(compiler)


@pytest.mark.parametrize("page", HOWTOS, ids=name_of)
def test_howto_fits_the_sources(page, tmp_path):
    copy_sources(tmp_path)
    apply_steps(page, tmp_path)
    assert len(list(steps(page))) >= 4


@pytest.fixture(scope="module")
def grown(tmp_path_factory):
    """A copy of the sources to which all how-tos have been applied, built."""
    if not can_build():
        pytest.skip("building needs a C compiler and setuptools")
    tree = tmp_path_factory.mktemp("grown")
    copy_sources(tree)
    for page in HOWTOS:
        apply_steps(page, tree)
    run_in(tree, "setup.py", "-q", "build_ext", "--inplace")
    return tree


@pytest.mark.slow
@pytest.mark.parametrize("page", HOWTOS, ids=name_of)
def test_howto_works(page, grown):
    for _, code in blocks(page, "pycon"):
        checks = "import doctest, sys; failures, n = doctest.testfile('page.txt', "
        checks += "module_relative=False); sys.exit(failures or not n)"
        (grown / "page.txt").write_text(code, encoding="utf-8")
        run_in(grown, "-c", checks)
    for _, code in blocks(page, "sh"):
        for line in code.splitlines():
            run_in(grown, *shlex.split(line)[1:], "-q", "-p", "no:cacheprovider")
