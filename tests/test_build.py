"""The build compiles what has changed, and nothing else; seen on a tiny tree."""

import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
TREE = {
    "csrc/base/number.h": "enum { NUMBER = 1 };\n",
    "csrc/base/reader.c": """#include "base/number.h"
#ifndef MORE
#define MORE 0
#endif
int ps_a(void) { return NUMBER + MORE; }
""",
    "csrc/base/loner.c": "int ps_b(void) { return 2; }\n",
    "csrc/python/module.c": """#include <Python.h>
extern int ps_a(void);
static PyObject *get(PyObject *m, PyObject *u) { return PyLong_FromLong(ps_a()); }
static PyMethodDef methods[] = {{"get", get, METH_NOARGS, NULL}, {NULL}};
static struct PyModuleDef def = {PyModuleDef_HEAD_INIT, "_core", NULL, 0, methods};
PyMODINIT_FUNC PyInit__core(void) { return PyModule_Create(&def); }
""",
    "pyscatter/__init__.py": "",
}


def run(tree, *arguments, **variables):
    """Run Python in the tree, without sanitizers and flags of our own build."""
    ours = ("PYSCATTER_", "LD_PRELOAD", "PYTHONPATH", "PYTHONMALLOC")
    plain = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
    return subprocess.check_output(
        [sys.executable, *arguments], cwd=tree, env=plain | variables, text=True
    )


def build(tree, **variables):
    """Build; return when each object was made."""
    run(tree, "setup.py", "-q", "build_ext", "--inplace", **variables)
    return {path: path.stat().st_mtime_ns for path in tree.glob("build/temp.*/**/*.o")}


def made_anew(before, after):
    """Return the stems of the objects that a build made."""
    return sorted(p.stem for p, time in after.items() if before.get(p) != time)


@pytest.fixture
def tree(tmp_path):
    """A project with our setup.py and three small sources."""
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    if not importlib.util.find_spec("setuptools") or not shutil.which(compiler):
        pytest.skip("building needs a C compiler and setuptools")
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    for name, text in TREE.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (tmp_path / "pyscatter" / "compat").mkdir()
    return tmp_path


@pytest.mark.slow
def test_only_what_changed_is_compiled(tree):
    show = ("-c", "import pyscatter._core as core; print(core.get())")
    first = build(tree)
    assert made_anew({}, first) == ["loner", "module", "reader"]
    assert build(tree) == first
    (tree / "csrc/base/number.h").write_text("enum { NUMBER = 3 };\n")
    second = build(tree)
    assert made_anew(first, second) == ["reader"]
    assert run(tree, *show) == "3\n"
    # Other flags have objects of their own, and the extension is linked from them.
    other = build(tree, PYSCATTER_CFLAGS="-DMORE=2")
    assert made_anew(second, other) == ["loner", "module", "reader"]
    assert run(tree, *show) == "5\n"
    assert build(tree) == other
    assert run(tree, *show) == "3\n"


@pytest.mark.slow
def test_symbols_are_for_developers(tree):
    for options, expected in (
        (["--inplace"], True),
        (["--build-lib", "with"], False),
        (["--debug", "--build-lib", "with"], True),
    ):
        run(tree, "setup.py", "-q", "build_ext", *options)
        [extension] = tree.glob(
            "pyscatter/*.so" if len(options) == 1 else "with/*/*.so"
        )
        names = (b".symtab", b".debug_line")
        assert [name in extension.read_bytes() for name in names] == [expected] * 2
