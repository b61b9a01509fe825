"""The house rules, as checks on the text of the repository.

csrc/README.md states the invariants and the limits. Each check is a function over a
tree (a dict from path to text) that yields one readable line per offence;
tests/project/test_house.py runs all of them, on the repository and on small bad
samples. What ruff knows (the length of Python's lines, the size of its functions) is
left to ruff.
"""

import posixpath
import re

from tests.house import (
    bare_code,
    comment_lines,
    functions,
    line_of,
    opening,
    top_level,
    without_comments,
)

ROOMS = ("base", "kernels", "ops", "python")
FAMILIES = {"scatter", "gather"}
COLUMN = (
    "csrc/kernels/{0}.tmpl.h csrc/ops/{0}.c csrc/python/py_{0}.c pyscatter/{0}.py "
    "tests/reference/{0}.py tests/{0}/test_{0}.py "
    "benchmarks/bench_{0}.py docs/design/{0}.md"
).split()
STATEFUL = {"csrc/base/pool.c", "csrc/base/scratch.c", "csrc/kernels/select.c"}
# Files that may be larger, and how large: every kind of element type side by side.
LARGER = {"csrc/kernels/combine.tmpl.h": 400, "pyscatter/_core.pyi": 800}
# Files that are about to be replaced.
UNEXPLAINED = {"csrc/ops/segment.c"}


# ---------------------------------------------------------------- checks


TABLE = re.compile(r"/\* clang-format off\b.*?clang-format on \*/", re.DOTALL)


def no_text(match):
    return "\n" * match[0].count("\n")


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


@check
def lines_fit(tree):
    for path, text in c_files(tree).items():
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
        lines = text.count("\n")
        limit = LARGER.get(path, 300 if path.endswith(".tmpl.h") else 600)
        if lines > limit:
            yield f"{path} has {lines} lines; refuse over {limit}"


def comment_share(text):
    """Return the percentage of comment lines; directives and tables do not count."""
    text = TABLE.sub(no_text, text)
    code = len([line for line in bare_code(text).split("\n") if line.strip()])
    comments = len(comment_lines(text))
    return 100 * comments / max(code + comments, 1)


@check
def kernels_and_ops_are_explained(tree):
    for path, text in c_files(tree, "kernels", "ops").items():
        share = comment_share(text)
        if share < 15 and path not in UNEXPLAINED:
            yield f"{path} has {share:.1f} % comment lines; refuse under 15"


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
