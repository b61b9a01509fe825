"""Reading C and Python by their text, for the house rules.

No compiler is needed: C is read by regular expressions, with comments, strings and
directives blanked out, which suffices for code in one style.
"""

import ast
import functools
import re
from typing import NamedTuple

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


@functools.cache
def python_lengths(text):
    """Return the lengths of the functions of a module, docstrings not counted."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            length = node.end_lineno - node.lineno + 1
            if ast.get_docstring(node, clean=False) is not None:
                doc = node.body[0]
                length -= doc.end_lineno - doc.lineno + 1
            found.append(length)
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
