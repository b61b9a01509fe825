"""Importing a peer for comparison: skipped without it, its own warnings left to it."""

import os
import warnings

import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


def peer(name):
    """Return a package, or skip the test that asked for it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(name, reason=f"{name} is not installed")
