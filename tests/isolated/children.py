"""Run a script of this folder in a child process and read its report line by line.

A script announces each case before it starts and again when it has ended, one JSON
object per line, so that a death (a signal, a sanitizer, a hang) can be laid at the
door of the case that was under way. The parent then goes on with the next case.
"""

import atexit
import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

# The package as the parent finds it, so that children test the same build; the tests.
ROOTS = [
    Path(find_spec("pyscatter").origin).resolve().parent.parent,
    Path(__file__).resolve().parent.parent.parent,
]
# A size that no machine has must be a MemoryError under a sanitizer as well, and a fork
# may start threads.
SANITIZER_OPTIONS = {
    "ASAN_OPTIONS": "allocator_may_return_null=1:max_allocation_size_mb=8192",
    "TSAN_OPTIONS": "allocator_may_return_null=1:die_after_fork=0",
}
# Errors, but for what newer Pythons say of every fork beside threads.
WARNINGS = "error,ignore:This process:DeprecationWarning"


@dataclass
class Finished:
    """What is left of a child: how it ended and what it said."""

    code: int | None  # None: stopped by us after the time limit
    out: str
    err: str

    @property
    def death(self):
        """How the child died, or an empty string for an orderly end."""
        if self.code == 0:
            return ""
        if self.code is None:
            return "hangs"
        how = f"exit status {self.code}"
        if self.code < 0:
            how = f"killed by {signal.Signals(-self.code).name}"
        return f"{how}: {self.err.strip()[-1500:]}"

    @property
    def reports(self):
        """The JSON lines of the child's output; a cut last line is left out."""
        lines = self.out[: self.out.rfind("\n") + 1].splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]


def sanitized(kind="san"):
    """Whether a sanitizer's runtime (or libasan, libtsan) is preloaded."""
    return kind in os.environ.get("LD_PRELOAD", "")


def environment(changes):
    """The variables of a child: ours, `changes` (None removes), and the paths."""
    variables = dict(os.environ, PYTHONFAULTHANDLER="1", PYTHONWARNINGS=WARNINGS)
    paths = [*map(str, ROOTS), os.environ.get("PYTHONPATH", "")]
    variables["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    for name, options in SANITIZER_OPTIONS.items():
        variables[name] = ":".join(filter(None, [variables.get(name), options]))
    variables.update(changes)
    return {name: text for name, text in variables.items() if text is not None}


def start(arguments, seconds, **changes):
    """Run the interpreter on `arguments` for at most `seconds`."""
    child = subprocess.Popen(
        [sys.executable, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(changes),
        text=True,
        start_new_session=True,
    )
    try:
        out, err = child.communicate(timeout=seconds)
        return Finished(child.returncode, out, err)
    except subprocess.TimeoutExpired:
        # The session is the child's own, so this reaches what it forked and no other.
        os.killpg(child.pid, signal.SIGKILL)
        out, err = child.communicate()
        return Finished(None, out, err)


def run_script(name, *arguments, seconds=60, **changes):
    """Run one script of this folder."""
    words = ["-m", f"tests.isolated.{name}", *map(str, arguments)]
    return start(words, seconds, **changes)


class Nursery:
    """A process of nursery.py, whose children need not load a script anew."""

    def __init__(self, name, changes):
        self.folder = tempfile.TemporaryDirectory()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.isolated.nursery", name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment(changes),
            text=True,
        )
        atexit.register(self.close)

    def close(self):
        """The end of its input is the end of the process."""
        self.process.communicate()
        self.folder.cleanup()

    def run(self, arguments, seconds):
        """Order a child and wait for its end."""
        out, err = (Path(self.folder.name, name) for name in ("out", "err"))
        order = {"out": str(out), "err": str(err), "seconds": seconds}
        order["arguments"] = list(map(str, arguments))
        print(json.dumps(order), file=self.process.stdin, flush=True)
        code = json.loads(self.process.stdout.readline())
        return Finished(code, out.read_text(), err.read_text())


@cache
def nursery(name, changes):
    """The one nursery of a script under some changes of the environment."""
    return Nursery(name, dict(changes))


def run_forked(name, *arguments, seconds=60, **changes):
    """The same as run_script, in a child of the script's nursery."""
    return nursery(name, tuple(sorted(changes.items()))).run(arguments, seconds)


def run_code(code, *, seconds=60, **changes):
    """Run a few lines of Python."""
    return start(["-c", code], seconds, **changes)


def unfinished(reports):
    """Number and name of the case that was announced and did not end, or None."""
    if not reports or "begin" not in reports[-1]:
        return None
    return reports[-1]["begin"], reports[-1]["case"]


def run_cases(name, group, *, run=run_script, seconds=60, deaths=4, **changes):
    """Run all cases of a group; the number that ended and the list of complaints.

    Goes on after the case in which a child died, up to `deaths` times.
    """
    ended, complaints, first = 0, [], 0
    for _ in range(deaths):
        child = run(name, group, first, seconds=seconds, **changes)
        done = [line for line in child.reports if "end" in line]
        ended += len(done)
        complaints += [f"{x['case']}: {x['problem']}" for x in done if x["problem"]]
        if not child.death:
            break
        last = unfinished(child.reports)
        complaints.append(f"{last[1] if last else group}: {child.death}")
        if last is None:
            break
        first = last[0] + 1
    return ended, complaints


def listing(complaints, most=20):
    """Complaints as the text of a failed assertion."""
    rest = len(complaints) - most
    tail = [f"... and {rest} more"] if rest > 0 else []
    return "\n".join(["", *complaints[:most], *tail])
