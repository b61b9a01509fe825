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

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = (".ci", "benchmarks", "csrc", "docs", "examples", "pyscatter", "tests")
SUFFIXES = {".c", ".h", ".py", ".pyi", ".md", ".toml", ".in", ".yml", ".yaml", ".supp"}
NAMES = {"Makefile", "run", ".clang-format", ".gitignore"}
ROOMS = ("base", "kernels", "ops", "python")
FAMILIES = {"scatter", "gather"}
COLUMN = (
    "csrc/kernels/{}.tmpl.h csrc/ops/{}.c csrc/python/py_{}.c pyscatter/{}.py "
    "tests/reference/{}.py tests/test_{}.py benchmarks/bench_{}.py docs/design/{}.md"
).split()
STATEFUL = {"csrc/base/pool.c", "csrc/base/scratch.c", "csrc/kernels/select.c"}


# ---------------------------------------------------------------- scanning C


COMMENT = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""",
    re.DOTALL,
)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)


def _spaces(text):
    return re.sub(r"[^\n]", " ", text)


def without_comments(text):
    return COMMENT.sub(lambda m: _spaces(m[0]) if m["comment"] else m[0], text)


def bare_code(text):
    """Return text with comments, strings and directives blanked, lines kept."""
    text = COMMENT.sub(lambda m: _spaces(m[0]), text)
    return DIRECTIVE.sub(lambda m: _spaces(m[0]), text)


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def comment_lines(text):
    lines = set()
    for match in COMMENT.finditer(text):
        if match["comment"]:
            first = line_of(text, match.start())
            lines.update(range(first, first + match[0].count("\n") + 1))
    return lines


def opening_bracket(code, position):
    """Return where the bracket that closes at `position` was opened."""
    depth = 0
    for i in range(position, -1, -1):
        depth += (code[i] in ")}") - (code[i] in "({")
        if depth == 0:
            return i
    return 0


def closing_brace(code, position):
    depth = 0
    for match in re.compile(r"[{}]").finditer(code, position):
        depth += 1 if match[0] == "{" else -1
        if depth == 0:
            return match.start()
    return len(code) - 1


class Function(NamedTuple):
    """One C function: its name, lines, parameters and depth of blocks."""

    name: str
    line: int
    end: int
    first: int
    brace: int
    params: int
    nesting: int
    body: str

    @property
    def length(self):
        return self.end - self.line + 1


def top_level(code):
    """Yield (head, where the head starts, body or None) of the parts of a C file.

    A part ends at a semicolon, or after a body; other braces (of structs, enums,
    initialisers) are dropped from the head.
    """
    start = at = 0
    head = ""
    stops = re.compile(r"[;{]")
    while match := stops.search(code, at):
        head += code[at : match.start()]
        at = match.end()
        if match[0] == ";":
            yield head, start, None
        else:
            end = closing_brace(code, match.start())
            at = end + 1
            if not head.rstrip().endswith(")") or "=" in head.rpartition(")")[2]:
                head += "{}"
                continue
            yield head, start, code[match.start() : at]
        head, start = "", at


def count_params(text):
    inner = re.sub(r"\([^()]*\)", "", text).strip()
    return 0 if inner in ("", "void") else inner.count(",") + 1


def opens_block(code, position):
    """Say whether the brace there opens a block, not an initialiser."""
    before = code[:position].rstrip()
    if before.endswith(")"):
        opened = opening_bracket(before, len(before) - 1)
        return re.search(r"(\w*)\s*$", before[:opened])[1] not in ("", "return")
    return bool(re.search(r"([;{}:]|\belse|\bdo)$", before))


def depth_of(body):
    """Return the deepest nesting of blocks in a function's body."""
    deepest = 0
    stack = []
    for match in re.finditer(r"[{}]", body[1:-1]):
        if match[0] == "{":
            stack.append(opens_block(body[1:], match.start()))
            deepest = max(deepest, sum(stack))
        elif stack:
            stack.pop()
    return deepest


@functools.cache
def functions(text):
    """Return the functions that a C file defines."""
    code = bare_code(text)
    lines = code.split("\n")
    found = []
    for head, start, body in top_level(code):
        if body is None:
            continue
        close = len(head.rstrip()) - 1
        opened = opening_bracket(head, close)
        name = re.search(r"\w+(\s*\([^()]*\))?\s*$", head[:opened])
        line = line_of(code, start + name.start()) if name else line_of(code, start)
        first = line
        while first > 1 and re.search(r"[^\s;})]\s*$", lines[first - 2]):
            first -= 1
        brace = line_of(code, code.index("{", start + close))
        end = brace + body.count("\n")
        params = count_params(head[opened + 1 : close])
        title = name[0].strip() if name else "?"
        depth = depth_of(body)
        found.append(Function(title, line, end, first, brace, params, depth, body))
    return found


# ---------------------------------------------------------------- scanning Python


class PythonFunction(NamedTuple):
    """One Python function: its length does not count the docstring."""

    name: str
    line: int
    first: int
    length: int


@functools.cache
def python_functions(text):
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            length = node.end_lineno - node.lineno + 1
            if ast.get_docstring(node, clean=False) is not None:
                doc = node.body[0]
                length -= doc.end_lineno - doc.lineno + 1
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            found.append(PythonFunction(node.name, node.lineno, first, length))
    return found


def opening(text, path):
    """Return the comment or docstring that a file starts with, or ''."""
    text = re.sub(r"\A#![^\n]*\n", "", text)
    if path.endswith((".c", ".h")):
        match = re.match(r"/\*.*?\*/|(//[^\n]*\n)+", text, re.DOTALL)
    elif path.endswith((".py", ".pyi")):
        match = re.match(r'"""\S.*?"""|(#[^\n]*\n)+', text, re.DOTALL)
    elif path.endswith(".md"):
        match = re.match(r"(# |<!--)[^\n]*", text)
    else:
        match = re.match(r"(#[^\n]*\n)+", text)
    return match[0] if match else ""


# ---------------------------------------------------------------- checks


CHECKS = {}


def check(function):
    CHECKS[function.__name__] = function
    return function


def is_c(path):
    return path.startswith("csrc/") and path.endswith((".c", ".h"))


def room(path):
    return path.split("/")[1]


def c_files(tree, *rooms):
    return {p: t for p, t in tree.items() if is_c(p) and room(p) in (rooms or ROOMS)}


def python_files(tree):
    return {p: t for p, t in tree.items() if p.endswith((".py", ".pyi"))}


def hits(path, text, pattern, message):
    for match in re.finditer(pattern, text, re.MULTILINE):
        found = re.sub(r"\s+", " ", match[0]).strip(" (")
        yield f"{path}:{line_of(text, match.start())} {message.format(found)}"


@check
def python_stays_in_its_room(tree):
    pattern = r"^[ \t]*#\s*include\s*[<\"](?:Python\.h|numpy/)|\b_?Py[A-Z_]\w*"
    for path, text in c_files(tree, "base", "kernels", "ops").items():
        code = without_comments(text)
        yield from hits(path, code, pattern, "'{}' belongs to csrc/python alone")


@check
def kernels_only_compute(tree):
    calls = (
        r"\b(?:malloc|calloc|realloc|free|aligned_alloc|posix_memalign|alloca|mmap"
        r"|pthread_\w+|\w*printf|f?puts|\w*getenv|ps_scratch_\w+|ps_parallel_for)\s*\("
    )
    headers = r"(?:stdlib|stdio|pthread|threads|unistd|base/pool|base/scratch)\.h"
    pattern = rf"{calls}|^[ \t]*#\s*include\s*[<\"]{headers}"
    message = "'{}': kernels neither allocate, lock, print nor read the environment"
    for path, text in c_files(tree, "kernels").items():
        yield from hits(path, without_comments(text), pattern, message)


@check
def only_ops_start_threads(tree):
    for path, text in c_files(tree).items():
        if room(path) != "ops" and path not in ("csrc/base/pool.c", "csrc/base/pool.h"):
            call = hits(path, without_comments(text), r"\bps_parallel_for\s*\(", "'{}'")
            yield from (f"{place} is called outside csrc/ops" for place in call)


def included(path, name, tree):
    """Return the path that an #include "name" in `path` means, or None."""
    beside = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
    return next((p for p in (beside, "csrc/" + name) if p in tree), None)


@check
def arrows_point_left(tree):
    for path, text in c_files(tree).items():
        code = without_comments(text)
        for match in re.finditer(r'^[ \t]*#\s*include\s*"([^"]+)"', code, re.MULTILINE):
            where = f"{path}:{line_of(code, match.start())} includes {match[1]}"
            target = included(path, match[1], tree)
            if target is None:
                yield f"{where}, which is not in csrc"
            elif ROOMS.index(room(target)) > ROOMS.index(room(path)):
                yield f"{where}, but {room(target)} comes after {room(path)}"
            elif room(target) == "kernels" != room(path):
                if target != "csrc/kernels/kernels.h":
                    yield f"{where}: the only door to kernels is kernels/kernels.h"


def is_mutable(declaration):
    declared = declaration.partition("=")[0]
    to_function = re.match(r"[\w\s*]*\(\s*\*([^()]*)\)", declared)
    own = to_function[1] if to_function else declared.rpartition("*")[2]
    return not re.search(r"\bconst\b", own)


def file_variables(code):
    """Yield (declaration, position) of what a C file defines beside functions."""
    for head, start, body in top_level(code):
        text = " ".join(head.split())
        if body is not None or not text:
            continue
        if re.match(r"typedef\b|extern\b|_Static_assert\b", text):
            continue
        if re.fullmatch(r"(const )?(struct|union|enum)( \w+)?( ?{})?", text):
            continue
        is_pointer = re.match(r"[\w\s*]*\(\s*\*", text)
        if "=" not in text and re.search(r"\w\s*\(", text) and not is_pointer:
            continue
        yield text, start + len(head) - len(head.lstrip())


def local_statics(text):
    for function in functions(text):
        for match in re.finditer(r"\bstatic\b", function.body):
            declaration, *_ = next(top_level(function.body[match.start() :]))
            above = function.body.count("\n", 0, match.start())
            yield " ".join(declaration.split()), function.brace + above


@check
def state_is_in_three_files(tree):
    tables = r"\bPy(MethodDef|ModuleDef|ModuleDef_Slot|Type_Slot|Type_Spec|GetSetDef"
    tables += r"|MemberDef|StructSequence_Field|StructSequence_Desc)\b"
    for path, text in c_files(tree).items():
        if path in STATEFUL:
            continue
        code = bare_code(text)
        found = [(d, line_of(code, at)) for d, at in file_variables(code)]
        for declaration, line in found + list(local_statics(text)):
            is_table = room(path) == "python" and re.search(tables, declaration)
            if is_mutable(declaration) and not is_table:
                short = declaration.partition("=")[0].strip()
                yield f"{path}:{line} mutable state '{short}' (const, or module state)"


def gil_releases(path, text):
    """Yield (place, whether the function had taken the GIL back before)."""
    pattern = r"\b(Py_BEGIN_ALLOW_THREADS|PyEval_SaveThread|PyEval_RestoreThread)\b"
    for function in functions(text):
        taken_back = False
        for match in re.finditer(pattern, function.body):
            if match[1] == "PyEval_RestoreThread":
                taken_back = True
                continue
            above = function.body.count("\n", 0, match.start())
            yield f"{path}:{function.brace + above}", taken_back


@check
def gil_is_released_once(tree):
    files = c_files(tree, "python").items()
    found = [release for file in files for release in gil_releases(*file)]
    places = [place for place, taken_back in found if not taken_back]
    if files and len(places) != 1:
        yield f"the GIL is released in {len(places)} places, not 1: {', '.join(places)}"
    for place, taken_back in found:
        if taken_back and place.partition(":")[0] not in "".join(places):
            yield f"{place} releases the GIL again, outside the helper's file"


@check
def arithmetic_is_exact(tree):
    loose = "fast|unsafe-math|associative-math|reciprocal-math|finite-math"
    pattern = rf"-(?:O|f)(?:{loose})[\w-]*|GCC\s+optimize|FP_CONTRACT\s+ON"
    for path, text in tree.items():
        if not path.startswith(("docs/", "tests/")) and not path.endswith(".md"):
            yield from hits(path, text, pattern, "'{}' changes bits")
    if '"-ffp-contract=off"' not in tree.get("setup.py", ""):
        yield "setup.py does not pass -ffp-contract=off"


@check
def columns_are_complete(tree):
    stems = {re.fullmatch(r"csrc/python/py_(\w+)\.c", path) for path in tree}
    for family in sorted(FAMILIES | {m[1] for m in stems if m}):
        for path in (pattern.format(family) for pattern in COLUMN):
            if path not in tree:
                yield f"{path} is missing from the column '{family}'"


@check
def machinery_is_listed(tree):
    readme = tree.get("csrc/README.md", "")
    blocks = re.split(r"\n\s*\n", readme)
    listed = " ".join(b for b in blocks if re.search(r"\bmachinery\b", b, re.I))
    for path in tree:
        stem = re.fullmatch(r"csrc/(?:kernels/(\w+)\.tmpl\.h|ops/(\w+)\.c)", path)
        name = stem and (stem[1] or stem[2])
        if name and f"csrc/python/py_{name}.c" not in tree:
            if not re.search(rf"\b{name}\b", listed):
                yield f"{path} has no column; csrc/README.md must call it machinery"


def files_named(readme):
    """Return the C files that a list in Markdown names; x.[ch] means two."""
    names = set(
        re.findall(r"(?<![\w/.])(?:\w+/)?[\w.]+\.(?:[ch]|\[ch\])(?!\w)", readme)
    )
    both = {n for n in names if n.endswith("]")}
    return names - both | {n[:-4] + end for n in both for end in "ch"}


@check
def readme_lists_every_file(tree):
    named = files_named(tree.get("csrc/README.md", ""))
    paths = {path.removeprefix("csrc/") for path in c_files(tree)}
    for path in sorted(paths):
        if not {path, posixpath.basename(path)} & named:
            yield f"csrc/{path} has no line in csrc/README.md"
    for name in sorted(named - paths):
        if name.partition("/")[0] in ROOMS:
            yield f"csrc/README.md names csrc/{name}, which is not there"


@check
def files_say_what_they_are(tree):
    for path, text in tree.items():
        if len(opening(text, path)) < 8:
            yield f"{path}:1 does not start with a comment that says what it is"


@check
def nothing_is_left_to_do(tree):
    pattern = r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X)\b"
    for path, text in tree.items():
        yield from hits(path, text, pattern, "'{}': finish it")


TABLE = re.compile(r"/\* clang-format off\b.*?clang-format on \*/", re.DOTALL)


def no_text(match):
    return "\n" * match[0].count("\n")


@check
def lines_fit(tree):
    for path, text in tree.items():
        if not path.endswith((".c", ".h", ".py", ".pyi")):
            continue
        for number, line in enumerate(TABLE.sub(no_text, text).split("\n"), 1):
            if len(line) > 88:
                yield f"{path}:{number} has {len(line)} columns; refuse over 88"


def over(where, value, what, explain, refuse, explained):
    """Yield the offence of one measure that has two limits."""
    if value > refuse:
        yield f"{where} has {value} {what}; refuse over {refuse}"
    elif value > explain and not explained:
        yield f"{where} has {value} {what}; over {explain} a comment must say why"


@check
def c_functions_are_short(tree):
    for path, text in c_files(tree).items():
        comments = comment_lines(text)
        for f in functions(text):
            where = f"{path}:{f.line} function {f.name}"
            above = f.first - 1 in comments
            yield from over(where, f.length, "lines", 60, 100, above)
            yield from over(where, f.params, "parameters", 8, 10, above)
            yield from over(where, f.nesting, "nested blocks", 3, 5, above)


@check
def files_are_short(tree):
    for path, text in [*c_files(tree).items(), *python_files(tree).items()]:
        is_template = path.endswith(".tmpl.h")
        lines = text.count("\n")
        explain, refuse = (300, 500) if is_template else (600, 1000)
        explained = re.search(r"\blong\b", opening(text, path))
        yield from over(path, lines, "lines", explain, refuse, explained)


@check
def python_functions_are_short(tree):
    for path, text in python_files(tree).items():
        lines = text.split("\n")
        for f in python_functions(text):
            where = f"{path}:{f.line} function {f.name}"
            above = lines[f.first - 2].lstrip().startswith("#") and f.first > 1
            yield from over(where, f.length, "lines", 30, 60, above)


def comment_share(text):
    """Return the percentage of comment lines; directives, being lists, do not count."""
    code = len([line for line in bare_code(text).split("\n") if line.strip()])
    comments = len(comment_lines(text))
    return 100 * comments / max(code + comments, 1)


@check
def kernels_and_ops_are_explained(tree):
    for path, text in c_files(tree, "kernels", "ops").items():
        share = comment_share(text)
        if share < 8:
            yield f"{path} has {share:.1f} % comment lines; refuse under 8"
        elif share < 15 and "comments" not in opening(text, path):
            yield f"{path} has {share:.1f} % comment lines; under 15 say why at the top"


def backslash_share(tree):
    stamps = re.compile(r"/(tables|stamps|instances\w*)\.h$")
    lines = [
        line.rstrip()
        for path, text in c_files(tree).items()
        if not stamps.search(path)
        for line in text.split("\n")
    ]
    return 100 * sum(line.endswith("\\") for line in lines) / max(len(lines), 1)


@check
def macros_are_short(tree):
    share = backslash_share(tree)
    if share > 5:
        yield f"{share:.1f} % of the lines in csrc end in a backslash; refuse over 5"
    elif share > 2 and "backslash" not in tree.get("csrc/README.md", ""):
        yield f"{share:.1f} % of the lines in csrc end in a backslash; over 2 say why"


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
