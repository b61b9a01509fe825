"""Pytest plugin: NumPy's histograms and digitize, SciPy's binned statistics, tested.

The functions are replaced where those packages keep them, before their test files are
imported. What pyscatter does not offer (names of estimators, object arrays, decreasing
bins, statistics that are functions) stays theirs and is not counted.

Use: pytest -p tests.peers.bins_adapter --peer-report=FILE FILE ...
"""

import importlib.util
import pathlib
from collections import Counter

import numpy as np

import pyscatter as ps
from tests.peers.reports import register

pytest_plugins = ["tests.peers.reports"]

NUMPY = pathlib.Path(np.__file__).resolve().parent / "lib" / "tests"
FILES = [NUMPY / "test_histograms.py", NUMPY / "test_function_base.py"]
calls = Counter()
numpy_histogram, numpy_digitize = np.histogram, np.digitize

if importlib.util.find_spec("scipy"):
    from scipy import stats

    SCIPY = pathlib.Path(stats.__file__).resolve().parent / "tests"
    FILES.append(SCIPY / "test_binned_statistic.py")
    scipy_dd = stats.binned_statistic_dd


def is_offered(*arrays):
    """Say whether all arrays hold what kernels know."""
    return all(np.asarray(a).dtype.kind in "biuf" for a in arrays)


def histogram(a, bins=10, range=None, density=None, weights=None):  # noqa: A002
    """numpy.histogram, by pyscatter where it can be."""
    is_plain = not isinstance(bins, str) and is_offered(a, bins)
    if not is_plain or (weights is not None and np.asarray(weights).dtype == object):
        return numpy_histogram(a, bins, range, density, weights)
    calls["histogram"] += 1
    return tuple(ps.histogram(a, bins, range, bool(density), weights))


def digitize(x, bins, right=False):
    """numpy.digitize, for which the last edge begins a bin that never ends."""
    edges, values = np.asarray(bins), np.asarray(x)
    is_rising = edges.ndim == 1 and len(edges) > 1 and (edges[:-1] <= edges[1:]).all()
    if right or not is_rising or not is_offered(values, edges):
        return numpy_digitize(x, bins, right)
    calls["digitize"] += 1
    ids, _ = ps.bin_index(values, edges, outside="extend")
    return np.where(values == edges[-1], len(edges), np.minimum(ids, len(edges)))[()]


OPS = {"sum": "add", "count": "count", "mean": "mean", "std": "std"}
OPS |= {"median": "median", "min": "min", "max": "max"}


def binned_statistic_dd(
    sample,
    values,
    statistic="mean",
    bins=10,
    range=None,  # noqa: A002
    expand_binnumbers=False,
    binned_statistic_result=None,
):
    """scipy.stats.binned_statistic_dd: bins with one more at each end, cut off."""
    is_array = isinstance(sample, np.ndarray) and sample.ndim > 1
    columns = list(sample.T if is_array else np.atleast_2d(sample))
    is_known = isinstance(statistic, str) and statistic in OPS
    rest = (values, statistic, bins, range, expand_binnumbers, binned_statistic_result)
    is_known = is_known and is_offered(values, *columns)
    is_known = is_known and all(np.isfinite(a).all() for a in (values, *columns))
    if not is_known or binned_statistic_result is not None:
        return scipy_dd(sample, *rest)
    calls["binned_statistic"] += 1
    table = np.atleast_2d(np.asarray(values, float))
    fill = {} if statistic in ("count", "sum") else {"fill_value": np.nan}
    found = ps.binned_reduce(
        tuple(map(np.asarray, columns)),
        table.T,
        bins,
        range,
        op=OPS[statistic],
        outside="extend",
        **fill,
    )
    inner = (slice(1, -1),) * len(columns)
    result = found.result[inner].astype(float)
    result = np.moveaxis(result, -1, 0)
    edges = found.edges if isinstance(found.edges, list) else [found.edges]
    numbers = found.ids
    if expand_binnumbers and len(columns) > 1:
        numbers = np.array(np.unravel_index(numbers, [len(e) + 1 for e in edges]))
    if np.ndim(values) == 1:
        result = result[0]
    return stats._binned_statistic.BinnedStatisticddResult(result, edges, numbers)


def pytest_configure(config):
    np.histogram, np.digitize = histogram, digitize
    if importlib.util.find_spec("scipy"):
        stats.binned_statistic_dd = binned_statistic_dd
        stats._binned_statistic.binned_statistic_dd = binned_statistic_dd
    register(config, calls)
