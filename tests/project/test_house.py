"""The house rules of tests/house_rules.py, run on the repository and on samples.

A check without its samples could rot unseen: each has a bad one, and what looks like an
offence and is none.
"""

import functools
import importlib.util
import json
import pathlib
import shutil
import statistics
import subprocess
import sys

import pytest

from tests.house import functions, python_lengths
from tests.house_rules import (
    CHECKS,
    COLUMN,
    FAMILIES,
    backslash_share,
    c_files,
    comment_share,
    python_files,
)

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = (".ci", "benchmarks", "csrc", "docs", "examples", "pyscatter", "tests")
SUFFIXES = {".c", ".h", ".py", ".pyi", ".md", ".toml", ".in", ".yml", ".yaml", ".supp"}
NAMES = {"Makefile", "run", ".clang-format", ".gitignore"}

# ---------------------------------------------------------------- the tree as it is


@functools.cache
def house():
    """Read the text files of the repository."""
    paths = [p for p in ROOT.iterdir() if p.is_file()]
    for folder in FOLDERS:
        paths += [p for p in (ROOT / folder).rglob("*") if p.is_file()]
    return {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(paths)
        if (path.suffix in SUFFIXES or path.name in NAMES)
        and not {"__pycache__", "build"} & set(path.relative_to(ROOT).parts)
    }


@pytest.mark.parametrize("name", CHECKS)
def test_house(name):
    offences = list(CHECKS[name](house()))
    assert not offences, "\n" + "\n".join(offences)


def figures(tree):
    """Return (measure, value, aim) of what has an aim and no single offender."""
    c = [f for text in c_files(tree).values() for f in functions(text)] or [None]
    py = [n for text in python_files(tree).values() for n in python_lengths(text)]
    work = "\n".join(c_files(tree, "kernels", "ops").values())
    lengths = [f.length for f in c if f] or [0]
    size = {p: t.count("\n") for p, t in c_files(tree).items()}
    kernels = [n for p, n in size.items() if p.endswith(".tmpl.h")]
    return [
        ("C functions, median lines", statistics.median(lengths), "<= 16"),
        ("C functions over 40 lines", sum(n > 40 for n in lengths), "few"),
        ("functions of over 5 parameters", sum(f.params > 5 for f in c if f), "few"),
        ("C files over 350 lines", sum(n > 350 for n in size.values()), "0"),
        ("templates over 200 lines", sum(n > 200 for n in kernels), "0"),
        ("nesting over 3", sum(f.nesting > 3 for f in c if f), "0"),
        (
            "Python, median lines",
            statistics.median(py or [0]),
            "<= 8",
        ),
        (
            "Python modules over 400 lines",
            sum(t.count("\n") > 400 for t in python_files(tree).values()),
            "0",
        ),
        ("comments in kernels and ops, %", round(comment_share(work)), "20-35"),
        ("lines ending in a backslash, %", round(backslash_share(tree), 1), "< 1"),
    ]


def test_figures(capsys):
    rows = figures(house())
    with capsys.disabled():
        print("\nhouse figures (aim):")
        for measure, value, aim in rows:
            print(f"  {measure:34} {value:>6} ({aim})")
    assert dict((r[0], r[1]) for r in rows)["Python, median lines"] > 0


# ---------------------------------------------------------------- the built package


def child(code):
    """Run Python code in a fresh process that sees this package; return its JSON."""
    place = pathlib.Path(importlib.util.find_spec("pyscatter").origin).parent.parent
    code = f"import json, sys; sys.path.insert(0, {str(place)!r})\n{code}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def foreign_modules(before, after):
    """Return what an import brought in that is neither ours, NumPy's nor Python's."""
    known = {"numpy", "pyscatter", *sys.stdlib_module_names}
    new = set(after) - set(before)
    return sorted(
        m
        for m in new
        if m.split(".")[0] not in known or m.startswith("pyscatter.adapt")
    )


def test_import_brings_numpy_alone():
    before, after = child(
        "import numpy; before = list(sys.modules)\n"
        "import pyscatter; print(json.dumps([before, list(sys.modules)]))"
    )
    assert "pyscatter._core" in after
    assert foreign_modules(before, after) == []


def test_denormals_survive_import():
    kept = child(
        "import numpy, pyscatter\n"
        "tiny = numpy.array([1e-310]) * 1.0, numpy.array([1e-40], 'f4') * 1\n"
        "print(json.dumps([1e-310 * 1.0 != 0, *(bool(t[0] != 0) for t in tiny)]))"
    )
    assert kept == [True, True, True]


def foreign_symbols(listing):
    """Return what `nm -D --defined-only` shows beside the module's entry point."""
    names = [line.split()[-1] for line in listing.splitlines() if line.strip()]
    tools = ("__asan", "__odr_asan", "__ubsan", "__tsan", "__gcov", "__llvm", "_fini")
    linker = {"PyInit__core", "_init", "__bss_start", "_edata", "_end"}
    return [n for n in names if n not in linker and not n.startswith(tools)]


@pytest.mark.skipif(not shutil.which("nm"), reason="nm (binutils) is not installed")
def test_only_the_entry_point_is_exported():
    binary = importlib.util.find_spec("pyscatter._core").origin
    listing = subprocess.run(
        ["nm", "-D", "--defined-only", binary],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "PyInit__core" in listing
    assert foreign_symbols(listing) == []


# ---------------------------------------------------------------- the checks, checked


HEAD = "/* What it is. */\n"
RELEASE = "void\nf(void)\n{\n    Py_BEGIN_ALLOW_THREADS;\n}\n"
AGAIN = "void\ng(int t)\n{\n    PyEval_RestoreThread(t); PyEval_SaveThread();\n}\n"


def good_tree():
    """A small house without offence."""
    paths = [p.format(f) for p in COLUMN for f in sorted(FAMILIES)]
    c_names = [p.removeprefix("csrc/") for p in paths if p.startswith("csrc/")]
    tree = {p: HEAD for p in paths}
    tree |= {p: '"""What it is."""\n' for p in paths if p.endswith(".py")}
    tree |= {p: "# What it is\n" for p in paths if p.endswith(".md")}
    tree["setup.py"] = '"""The build."""\nFLAGS = ["-ffp-contract=off"]\n'
    tree["csrc/README.md"] = "# The rooms\n\n" + "".join(
        f"- `{n}`: it\n" for n in c_names
    )
    tree["csrc/python/py_scatter.c"] += RELEASE
    return tree


def body(lines, inside="    x();\n"):
    return "static int\nfoo(int a)\n{\n" + inside * (lines - 3) + "}\n"


def nested(depth):
    opening = "".join("    if (a) {\n" for _ in range(depth))
    return f"int\nfoo(int a)\n{{\n{opening}{'}' * depth}\n}}\n"


def params(count):
    listed = ", ".join(f"int a{i}" for i in range(count))
    return f"void\nfoo({listed})\n{{\n}}\n"


def function(lines):
    return "def foo():\n" + "    x()\n" * (lines - 1)


OPS = "csrc/ops/scatter.c"
KERNEL = "csrc/kernels/scatter.tmpl.h"
BINDING = "csrc/python/py_scatter.c"
MODULE = "pyscatter/scatter.py"
LOCAL = "int\nf(void)\n{\n    static int n = 0;\n    return n;\n}\n"

# Check: (file, text put behind what the good tree has there, words of the message).
BAD = {
    "python_stays_in_its_room": [
        (OPS, "#include <Python.h>\n", "belongs to csrc/python"),
        (KERNEL, '#include "numpy/x.h"\n', "belongs to csrc/python"),
        (OPS, "PyErr_NoMemory();\n", "scatter.c:2 'PyErr_NoMemory'"),
    ],
    "kernels_only_compute": [
        (KERNEL, "#include <stdlib.h>\n", "neither allocate"),
        (KERNEL, "char *p = malloc (3);\n", "'malloc'"),
        (KERNEL, "pthread_mutex_lock(&m);\n", "'pthread_mutex_lock'"),
        (KERNEL, 'printf("x");\n', "'printf'"),
        (KERNEL, 'getenv("x");\n', "'getenv'"),
    ],
    "only_ops_start_threads": [
        (BINDING, "ps_parallel_for(1, f, 0);\n", "called outside csrc/ops"),
    ],
    "arrows_point_left": [
        (KERNEL, '#include "ops/scatter.c"\n', "ops comes after kernels"),
        (OPS, '#include "../kernels/scatter.tmpl.h"\n', "only door"),
        (OPS, '#include "gone.h"\n', "not in csrc"),
    ],
    "state_is_in_three_files": [
        (OPS, "static int count;\n", "scatter.c:2 mutable state 'static int count'"),
        (OPS, "int count = 3;\n", "'int count'"),
        (OPS, "static const char *names[2];\n", "names"),
        (OPS, "static int (*hook)(void);\n", "hook"),
        (OPS, "struct pair {\n    int x;\n} both;\n", "both"),
        (OPS, LOCAL, "scatter.c:5 mutable state 'static int n'"),
        (BINDING, "static PyObject *cached;\n", "cached"),
    ],
    "gil_is_released_once": [
        (BINDING, RELEASE, "released in 2 places, not 1"),
        ("csrc/python/py_gather.c", AGAIN, "py_gather.c:5 releases the GIL again"),
    ],
    "arithmetic_is_exact": [
        ("setup.py", "F = '-ffast-math'\n", "setup.py:3 '-ffast-math' changes"),
        ("Makefile", "# The build.\nCFLAGS=-Ofast\n", "changes bits"),
        (OPS, '#pragma GCC optimize("x")\n', "changes bits"),
    ],
    "columns_are_complete": [
        ("csrc/python/py_where.c", HEAD, "pyscatter/where.py is missing"),
    ],
    "machinery_is_listed": [("csrc/ops/pack.c", HEAD, "pack.c has no column")],
    "readme_lists_every_file": [
        ("csrc/base/cpu.h", HEAD, "csrc/base/cpu.h has no line"),
        ("csrc/README.md", "- `ops/old.c`\n", "ops/old.c, which is not there"),
    ],
    "files_say_what_they_are": [
        ("csrc/base/cpu.h", "int x;\n", "cpu.h:1 does not start"),
        ("pyscatter/new.py", "import os\n", "new.py:1 does not start"),
        ("Makefile", "all:\n", "Makefile:1 does not start"),
    ],
    "nothing_is_left_to_do": [(MODULE, "# TO{}: all\n".format("DO"), "finish it")],
    "lines_fit": [(OPS, "x = " + "y" * 90 + ";\n", "refuse over 88")],
    "c_functions_are_short": [
        (OPS, HEAD + body(101), "function foo has 101 lines; refuse over 100"),
        (OPS, "\n" + body(61), "61 lines; over 60 a comment"),
        (OPS, HEAD + params(11), "11 parameters; refuse over 10"),
        (OPS, "\n" + params(9), "9 parameters; over 8 a comment"),
        (OPS, HEAD + nested(6), "6 nested blocks; refuse over 5"),
        (OPS, "\n" + nested(4), "4 nested blocks; over 3 a comment"),
    ],
    "files_are_short": [
        (OPS, "long\n" * 600, "601 lines; refuse over 600"),
        (KERNEL, "\n" * 300, "301 lines; refuse over 300"),
        (MODULE, "\n" * 600, "601 lines; refuse over 600"),
    ],
    "kernels_and_ops_are_explained": [
        (OPS, "x();\n" * 8, "11.1 % comment lines; refuse under 15"),
    ],
    "macros_are_short": [(OPS, "#define X \\\n    y\n", "lines in csrc end in")],
}
BAD_ROWS = [(name, *row) for name, rows in BAD.items() for row in rows]

# What looks like an offence and is none.
FINE = {
    "python_stays_in_its_room": [(OPS, "/* PyErr is not for us */\n")],
    "kernels_only_compute": [(KERNEL, "// malloc(3) happens in ops\n")],
    "state_is_in_three_files": [
        (OPS, "static const int sizes[] = {1, 2};\n"),
        (OPS, "static const char *const names[] = {NULL};\n"),
        (OPS, "typedef struct {\n    int x;\n} pair;\nenum { A = 1, B };\n"),
        (OPS, "int\nfoo(int (*f)(int));\nextern int bar;\n"),
        (OPS, "static inline int\nf(void)\n{\n    int n = 0;\n}\n"),
        (OPS, "static int (*const table[])(char *, int) = {f};\n"),
        (OPS, "void\nf(void)\n{\n    static const struct {int *x;} y[] = {0};\n}\n"),
        (BINDING, "static PyMethodDef methods[] = {{0}};\n"),
    ],
    "gil_is_released_once": [(BINDING, AGAIN)],
    "c_functions_are_short": [
        (OPS, "/* Why so long. */\n" + body(61)),
        (OPS, HEAD + nested(4)),
        (OPS, "int x[] = {{{{{{1}}}}}};\n"),
    ],
    "lines_fit": [
        (OPS, "/* clang-format off */\n" + "x" * 99 + "\n/* clang-format on */\n"),
    ],
}
FINE_ROWS = [(name, *row) for name, rows in FINE.items() for row in rows]


@pytest.mark.parametrize("name", CHECKS)
def test_good_sample_passes(name):
    assert list(CHECKS[name](good_tree())) == []


@pytest.mark.parametrize(("name", "path", "text", "words"), BAD_ROWS)
def test_bad_sample_is_refused(name, path, text, words):
    tree = good_tree()
    tree[path] = tree.get(path, "") + text
    offences = list(CHECKS[name](tree))
    assert len(offences) >= 1
    assert words in "\n".join(offences)


def test_every_check_has_a_bad_sample():
    assert set(BAD) == set(CHECKS)


@pytest.mark.parametrize(("name", "path", "text"), FINE_ROWS)
def test_fine_sample_passes(name, path, text):
    tree = good_tree()
    tree[path] += text
    assert list(CHECKS[name](tree)) == []


def test_functions_are_measured():
    text = (
        "/* File. */\n#define BODY {{{\nSTAMP(x, y)\n\n/* Why. */\nstatic inline void\n"
        "OF_TYPE(move)(T *a, int (*f)(int, int), const pair p[2])\n{\n"
        "    pair q = {{1}, 2};\n    q = (pair){3};\n    for (;;) {\n        if (a) {\n"
        "            return (pair){4};\n        }\n        else {\n            do {\n"
        "            } while (0);\n        }\n    }\n}\n"
    )
    (found,) = functions(text)
    assert found.name == "OF_TYPE(move)"
    assert (found.line, found.first, found.end) == (7, 6, 20)
    assert (found.length, found.params, found.nesting) == (14, 3, 3)


def test_figures_are_measured():
    tree = {OPS: HEAD + body(10), MODULE: '"""It."""\n' + function(7)}
    values = [value for _, value, _ in figures(tree)]
    assert values == [10, 0, 0, 0, 0, 0, 7, 0, 8, 0.0]


def test_foreign_modules_are_found():
    after = ["os", "numpy.ma", "pyscatter", "pyscatter.adapters.torch", "scipy.sparse"]
    assert foreign_modules(["os"], after) == after[3:]


def test_foreign_symbols_are_found():
    listing = "0000 T PyInit__core\n0010 T ps_scatter\n0020 V __odr_asan.x\n"
    assert foreign_symbols(listing) == ["ps_scatter"]
