"""Run out of memory while the extension is loaded: preloaded with malloc_shim.c.

Each attempt is made in a fork of this process, which has NumPy and nothing of
pyscatter. It ends in a loaded module, MemoryError or ImportError, and a second attempt
with memory succeeds. Prints one JSON line with the number of requests that were refused
and what went wrong.
"""

import importlib.util
import json
import sys
from functools import partial
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader
from itertools import count
from pathlib import Path

import numpy  # noqa: F401  (loaded before the forks: it is not under test)

from tests.isolated.shim import MANY, Shim, attempt, in_child

SERENE, REFUSED, WRONG, FOR_GOOD = range(4)


def find_extension():
    """The file of pyscatter._core, found without importing anything of it."""
    package = importlib.util.find_spec("pyscatter")
    folder = Path(package.submodule_search_locations[0])
    names = [folder / f"_core{suffix}" for suffix in EXTENSION_SUFFIXES]
    return next(name for name in names if name.exists())


def load(path):
    """Create and run the module, as the import system does."""
    name = "pyscatter._core"
    loader = ExtensionFileLoader(name, str(path))
    spec = importlib.util.spec_from_file_location(name, str(path), loader=loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def try_load(shim, path, granted):
    """In a fresh child: one load with a refusal, one without."""
    already = shim.refused.value
    error = attempt(shim, lambda: load(path), granted, [None])
    if shim.refused.value == already:
        return SERENE
    if error is not None and not isinstance(error, MemoryError | ImportError):
        print(repr(error), file=sys.stderr)
        return WRONG
    try:
        load(path)
    except Exception as problem:
        print(repr(problem), file=sys.stderr)
        return FOR_GOOD
    return REFUSED


def attempts(path, span):
    """Refuse the first requests one by one, later ones in growing steps."""
    shim = Shim(span)
    for number in count():
        granted = number + max(0, number - 200) ** 2 // 20
        status = in_child(partial(try_load, shim, path, granted))
        if status == SERENE:
            return
        yield "" if status == REFUSED else f"{granted} granted: status {status}"


def main():
    """Report on refusals one at a time and many in a row."""
    path = find_extension()
    ends = [end for span in (1, MANY) for end in attempts(path, span)]
    complaints = [end for end in ends if end]
    print(json.dumps({"tried": len(ends), "complaints": complaints}))


if __name__ == "__main__":
    main()
