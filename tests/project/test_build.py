"""The build: it compiles what has changed, and what it makes stays within its budget.

The first is seen on a tiny tree, the second on the extension that is tested: how many
kernels a level has, how large a wheel's extension is, and which share each family has,
which its design note names.
"""

import collections
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig

import pytest

import pyscatter as ps

ROOT = pathlib.Path(__file__).resolve().parents[2]
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
    for package in ("adapters", "autodiff", "compat"):
        (tmp_path / "pyscatter" / package).mkdir()
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


# --- the budget -----------------------------------------------------------------------


LEVELS = ("baseline", "avx2", "avx512")
MOST_KERNELS = 1200
MOST_BYTES = 7_000_000
ELEMENTS = "scatter scatter_runs scatter_checked scatter_runs_checked"
RUNNING = "scan_checked scan_runs"
PRODUCTS = "spgemm_add spgemm_take spgemm_few spgemm_list"
FAMILIES = {
    "scatter": f"{ELEMENTS} scatter_rows set set_checked",
    "gather": "gather gather_checked",
    "segment": (
        "segment segment_rows scale find_checked deviate_checked exp log meet "
        + RUNNING
    ),
    "plan": "plan_rows",
    "where": "where where_set compress masked",
    "keys": (
        "keys_canon keys_pack keys_range keys_digits keys_words keys_items keys_near "
        "keys_refill keys_radix keys_insert keys_merge keys_runs"
    ),
    "nonzero": "truth truth_words positions split",
    "spmm": "spmm_rows spmm_slices spmm_list spmm_finish sddmm",
    "spgemm": PRODUCTS,
    "delta": (
        "delta_words delta_take delta_put delta_meet delta_store delta_hash delta_gaps "
        "delta_ungap delta_tally delta_pick delta_spread"
    ),
    "machinery": "cast copy swap turn",
    "change": "change",
    "bins": "bins_find bins_fit bins_index bins_join bins_number bins_count bins_weigh",
    "histogram": "histogram_measure",
    "accumulate": "accumulate",
    "pullback": "pull",
}
OF_STEM = {stem: name for name, stems in FAMILIES.items() for stem in stems.split()}


@pytest.fixture(scope="module")
def kernels():
    """Bytes of text by (stem, level, name of the kernel), from the symbols."""
    if not (shutil.which("nm") and shutil.which("strip")):
        pytest.skip("needs nm and strip")
    stems = "|".join(sorted(OF_STEM, key=len, reverse=True))
    instance = re.compile(rf"({stems})_\w+_({'|'.join(LEVELS)})")
    sizes = collections.Counter()
    command = ["nm", "-S", "--defined-only", ps._core.__file__]
    for line in subprocess.check_output(command, text=True).splitlines():
        *_, size, kind, name = line.split()
        whole = name.partition(".")[0]  # parts of a function have a suffix
        if kind in "tT" and whole.endswith(tuple(f"_{level}" for level in LEVELS)):
            match = instance.fullmatch(whole)
            assert match, f"{name} belongs to no family in FAMILIES"
            sizes[match[1], match[2], whole] += int(size, 16)
    if {level for _, level, _ in sizes} != set(LEVELS):
        pytest.skip("needs symbols and kernels of all levels")
    if "PYSCATTER_SANITIZER" in os.environ:
        pytest.skip("instrumented code is larger")
    return sizes


def names_at(kernels, level, stems):
    """Kernels of some stems that serve a level; AVX-512 has some of AVX2's."""
    lent = f"{ELEMENTS} {RUNNING} {PRODUCTS}".split()
    shared = lent if level == "avx512" else []
    at = {stem: "avx2" if stem in shared else level for stem in stems}
    return [name for stem, own, name in kernels if at.get(stem) == own]


@pytest.mark.parametrize("level", LEVELS)
def test_kernels_of_a_level(kernels, level):
    assert len(names_at(kernels, level, OF_STEM)) <= MOST_KERNELS


def test_bytes_of_a_wheel(kernels, tmp_path):
    stripped = tmp_path / "stripped.so"
    subprocess.check_call(["strip", "-o", stripped, ps._core.__file__])
    assert stripped.stat().st_size <= MOST_BYTES


@pytest.mark.parametrize("family", [f for f in FAMILIES if f != "machinery"])
def test_share_of_a_family(kernels, family):
    """The note says how many at most; bytes are of gcc 12, give or take a quarter."""
    note = (ROOT / "docs" / "design" / f"{family}.md").read_text(encoding="utf-8")
    [(count, kilobytes)] = re.findall(
        r"(\d+) kernels? a level and (\d+) KB in all", note
    )
    own = [size for (stem, *_), size in kernels.items() if OF_STEM[stem] == family]
    stems = FAMILIES[family].split()
    assert len(names_at(kernels, "avx2", stems)) <= int(count)
    assert sum(own) / 1000 == pytest.approx(int(kilobytes), rel=0.25)


@pytest.mark.parametrize(
    ("family", "stem"),
    [("scatter", "scatter"), ("plan", "plan_rows"), ("segment", "segment")],
)
def test_kernels_say_what_they_share(kernels, family, stem):
    """Rows that name another's kernel have none of their own."""
    rows = [row for row in ps._core.kernels() if row[0] == family and row[1] != "set"]
    for level in {row[3] for row in rows} & set(LEVELS):
        served = {row[4] for row in rows if row[3] == level}
        assert len(served) == len(names_at(kernels, level, [stem]))
    own = {" ".join(row[1:4]) for row in rows}
    assert {row[4] for row in rows} < own
