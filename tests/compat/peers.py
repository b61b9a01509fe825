"""Importing a peer for comparison: skipped without it, its own warnings left to it."""

import os
import pathlib
import sys
import warnings

import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


def peer(name):
    """Return a package, or skip the test that asked for it."""
    path = sys.path[:]
    # pytest puts the folder of tests there; `sparse` is a package that dask looks for.
    sys.path[:] = [p for p in path if pathlib.Path(p).name != "tests"]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return pytest.importorskip(name, reason=f"{name} is not installed")
    finally:
        sys.path[:] = path
