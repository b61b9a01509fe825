"""The Python side of malloc_shim.c: build it, arm it, and try things in a fork.

Imports nothing of pyscatter, so that loading the extension can itself be tried out.
"""

import ctypes
import gc
import os
import shutil
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType

NEVER = 2**62  # requests granted when nothing is to be refused
# Refusals in a row: more than a call meets while it backs out, but not without end:
# the interpreter gives up after 32, or tries for ever to push an exception handler.
MANY = 12
SPARE = 10_000  # more references than the refusals of one process use up
SOURCE = Path(__file__).with_name("malloc_shim.c")


def build(folder):
    """Compile the shim; the path of the library, or None where that cannot be done."""
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    library = Path(folder) / "malloc_shim.so"
    flags = ["-std=gnu11", "-O1", "-shared", "-fPIC", "-pthread"]
    command = [compiler, *flags, "-o", library, SOURCE, "-ldl"]
    built = subprocess.run(command, capture_output=True, check=False)
    return library if built.returncode == 0 else None


class Shim:
    """The numbers of malloc_shim.c, once it is preloaded."""

    def __init__(self, span=1):
        library = ctypes.CDLL(None)
        for name in ("left", "span", "refused", "inside", "live", "mapped"):
            setattr(self, name, ctypes.c_long.in_dll(library, f"shim_{name}"))
        self.span.value = span

    @staticmethod
    def look_at(file):
        """Tell apart refusals that a loaded library, or C code it called, received."""
        library = ctypes.CDLL(None)
        with open("/proc/self/maps") as maps:
            ranges = [line.split()[0] for line in maps if line.rstrip().endswith(file)]
        ends = [int(end, 16) for both in ranges for end in both.split("-")]
        ctypes.c_long.in_dll(library, "shim_low").value = min(ends, default=0)
        ctypes.c_long.in_dll(library, "shim_high").value = max(ends, default=0)


def settle():
    """Let the interpreter give up what it may still give up.

    The cache of types keeps names that were looked up. NumPy looks some up by strings
    that it makes anew, for `dtype.name` say: while addresses move, each may take a
    place of its own.
    """
    gc.collect()
    ctypes.pythonapi.PyType_ClearCache()


@cache
def spare_references(n_modules):
    """Give the code of inner functions references to spare, for good.

    Where the memory for a function is refused, CPython 3.12 and 3.13 drop a reference
    too many to its code (in ``def f(): return lambda: 0``, say): after a few refusals
    code that is still in use would be freed. Done once for each number of modules.
    """
    if sys.version_info < (3, 12):
        return
    gc.unfreeze()  # what is frozen is not listed
    outer = [f.__code__ for f in gc.get_objects() if isinstance(f, FunctionType)]
    gc.freeze()
    while outer:
        outer = [
            inner
            for code in outer
            for inner in code.co_consts
            if isinstance(inner, CodeType)
        ]
        for code in outer:
            # A tuple: the collector looks at each of them once, not at every pass.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object((code,) * SPARE))


def attempt(shim, call, granted, got):
    """Make a call with so many requests granted; its exception, or None."""
    shim.left.value = granted
    try:
        got[0] = call()
        return None
    except BaseException as error:
        return error
    finally:
        # Before anything else: the next line of Python may itself need memory.
        shim.left.value = NEVER


def in_child(body, seconds=20):
    """Exit status of a forked child that runs `body`, or minus the signal's number."""
    child = os.fork()
    if child == 0:
        status = 99
        try:
            signal.alarm(seconds)
            status = body()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
