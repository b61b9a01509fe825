"""Threads and configuration: how many threads calls may use, and what runs here."""

import platform
from contextlib import contextmanager
from operator import index as as_integer

import numpy as np

from pyscatter import _core

MAX_THREADS = 1024


def _checked(n):
    n = as_integer(n)
    if n < 1:
        raise ValueError(f"the number of threads must be at least 1, got {n}")
    return min(n, MAX_THREADS)


def get_num_threads():
    """
    Return the number of threads that a call made here and now may use.

    Returns
    -------
    int
        What `num_threads` set in the current context, else what `set_num_threads` set,
        else PYSCATTER_NUM_THREADS, else OMP_NUM_THREADS (first number of a comma list),
        else the processors that affinity and cgroup quota leave to this process.

    See Also
    --------
    set_num_threads, num_threads, torch.get_num_threads, numba.get_num_threads

    Examples
    --------
    >>> import pyscatter as ps
    >>> with ps.num_threads(1):
    ...     ps.get_num_threads()
    1
    """
    return _core.get_threads()


def set_num_threads(n):
    """
    Set the number of threads of all contexts that `num_threads` leaves alone.

    Parameters
    ----------
    n : int
        At least 1. The caller's own thread counts.

    Returns
    -------
    int
        The number that held before.

    Raises
    ------
    ValueError
        If `n` is less than 1.
    TypeError
        If `n` is not an integer.

    Notes
    -----
    *Determinism*: results have the same bits for every number of threads. Small calls
    stay on the caller's thread whatever is set here, and for a while all calls do where
    neighbours have kept the processors from several.

    See Also
    --------
    num_threads, torch.set_num_threads, numba.set_num_threads

    Examples
    --------
    >>> import pyscatter as ps
    >>> before = ps.set_num_threads(2)
    >>> ps.set_num_threads(before)
    2
    """
    return _core.set_threads(_checked(n))


@contextmanager
def num_threads(n):
    """
    Use `n` threads inside a ``with`` block, in this thread or task only.

    Parameters
    ----------
    n : int
        At least 1.

    Raises
    ------
    ValueError
        If `n` is less than 1.
    TypeError
        If `n` is not an integer.

    Notes
    -----
    The number is kept in a context variable, so other threads and other tasks of an
    event loop do not see it.

    See Also
    --------
    set_num_threads, threadpoolctl.threadpool_limits

    Examples
    --------
    >>> import pyscatter as ps
    >>> with ps.num_threads(3):
    ...     ps.get_num_threads()
    3
    """
    token = _core.threads_var.set(_checked(n))
    try:
        yield
    finally:
        _core.threads_var.reset(token)


def show_config(mode="stdout"):
    """
    Show versions, CPU level and threads.

    Parameters
    ----------
    mode : {"stdout", "dicts"}
        Print, or return a dictionary.

    Returns
    -------
    dict or None
        With ``mode="dicts"``: keys ``pyscatter``, ``numpy``, ``python`` (versions),
        ``cpu_level``, ``cpu_levels`` (those this machine has), ``threads``.

    Raises
    ------
    ValueError
        If `mode` is neither of the two.

    See Also
    --------
    numpy.show_config

    Examples
    --------
    >>> import pyscatter as ps
    >>> sorted(ps.show_config(mode="dicts"))
    ['cpu_level', 'cpu_levels', 'numpy', 'pyscatter', 'python', 'threads']
    """
    from pyscatter import __version__

    config = {
        "pyscatter": __version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "cpu_level": _core.level(),
        "cpu_levels": _core.levels(),
        "threads": get_num_threads(),
    }
    if mode == "dicts":
        return config
    if mode != "stdout":
        raise ValueError(f"unknown mode {mode!r}; choose from stdout, dicts")
    for name, value in config.items():
        print(f"{name:12s} {value}")
    return None
