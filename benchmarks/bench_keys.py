"""Keys against NumPy, pandas and polars: ``python -m benchmarks.bench_keys``.

Numbers, strings and pairs of them are numbered, and groups of values reduced, by few
and by many keys, evenly spread and by a power law. pandas and polars take part where
they are installed; polars has the threads of its own environment variable.
"""

import importlib.util
import sys
from functools import partial

import numpy as np

import pyscatter as ps
from benchmarks import harness
from pyscatter.bench import OURS, Problem, Way, Workload, rng

ENTRIES = 5_000_000  # of the cells; rows of the README's table have a million
MILLION = 1_000_000
GROUPS = (100, 100_000, 1_000_000)
SPREADS = ("uniform", "power law")


def installed(name):
    """Return a module, or None where it is not installed."""
    return importlib.import_module(name) if importlib.util.find_spec(name) else None


def numbers(n, groups, spread):
    """Numbers of groups, n of them."""
    if spread == "uniform":
        return rng().integers(0, groups, n)
    return np.minimum(rng().zipf(1.3, n) - 1, groups - 1)


def wide(ids, groups):
    """Integers all over their range."""
    return rng().integers(-(2**62), 2**62, groups)[ids]


KINDS = {
    "int64, close": lambda ids, groups: ids,
    "int64, wide": wide,
    "float64": lambda ids, groups: rng().standard_normal(groups)[ids],
    "S8": lambda ids, groups: np.arange(groups).astype("S8")[ids],
    "U8": lambda ids, groups: np.arange(groups).astype("U8")[ids],
    "U16": lambda ids, groups: np.arange(10**9, 10**9 + groups).astype("U16")[ids],
}


def unique_ids(keys, sort):
    """Ids by NumPy, in the order of keys or of appearance."""
    if sort:
        return np.unique(keys, return_inverse=True)[1]
    _, first, ids = np.unique(keys, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[ids]


def numbered(keys, sort):
    """Ids of keys."""
    pandas = installed("pandas")
    ways = {
        "np.unique": Way(partial(unique_ids, keys, sort)),
        OURS: Way(lambda: ps.factorize(keys, sort=sort)[0]),
    }
    if pandas is not None:
        ways["pandas.factorize"] = Way(lambda: pandas.factorize(keys, sort=sort)[0])
    return Problem("factorize", keys, keys, None, ways)


def pairs(n, groups, spread):
    """Ids of two keys."""
    side = max(2, int(groups**0.5))
    one, other = numbers(n, side, spread), numbers(n, side, "uniform")
    pandas = installed("pandas")
    ways = {
        "np.unique": Way(partial(unique_ids, one * side + other, True)),
        OURS: Way(lambda: ps.factorize(one, other)[0]),
    }
    if pandas is not None:
        frame = pandas.DataFrame({"one": one, "other": other})
        ways["pandas ngroup"] = Way(
            lambda: frame.groupby(["one", "other"], sort=True).ngroup().to_numpy()
        )
    return Problem("factorize", one, one, None, ways)


def by_numpy(keys, values, ops):
    """Results by np.unique and np.bincount."""
    ids = unique_ids(keys, True)
    count = np.bincount(ids)
    total = np.bincount(ids, values)
    mean = total / count

    def result(op):
        if op == "std":
            return np.sqrt(np.bincount(ids, (values - mean[ids]) ** 2) / count)
        if op == "max":
            most = np.full(len(count), -np.inf)
            np.maximum.at(most, ids, values)
            return most
        return total if op == "add" else mean

    return np.stack([result(op) for op in ops])


def by_polars(polars, table, ops):
    """Results by polars, sorted by key."""
    value = polars.col("v")
    made = {"add": value.sum(), "mean": value.mean(), "max": value.max()}
    made["std"] = value.std(ddof=0)
    grouped = table.group_by("k").agg([made[op].alias(op) for op in ops]).sort("k")
    return grouped.select(list(ops)).to_numpy().T


def reduced(keys, values, ops):
    """Rows of results for each op, in the order of keys."""
    pandas, polars = installed("pandas"), installed("polars")
    ways = {
        "np.unique, np.bincount": Way(partial(by_numpy, keys, values, ops)),
        OURS: Way(lambda: np.stack(ps.group_reduce(values, keys, op=ops)[1])),
    }
    if pandas is not None and "std" not in ops:  # its std has another ddof
        groups = pandas.DataFrame({"k": keys, "v": values}).groupby("k")["v"]
        listed = ["sum" if op == "add" else op for op in ops]
        ways["pandas"] = Way(lambda: groups.agg(listed).to_numpy().T)
    if polars is not None:
        table = polars.DataFrame({"k": keys, "v": values})
        ways["polars"] = Way(partial(by_polars, polars, table, ops))
    return Problem("group_reduce", values, keys, values, ways, same_order=False)


def kind_of(kind, groups, spread="uniform", sort=True, entries=ENTRIES):
    def build(scale):
        n = max(1, int(entries * scale))
        some = max(2, min(groups, n))
        return numbered(KINDS[kind](numbers(n, some, spread), some), sort)

    order = "" if sort else ", unsorted"
    size = f"{groups:,} keys in {entries:,}, {spread}{order}"
    return Workload(f"factorize, {kind}, {size}", build)


def pairs_of(groups, spread="uniform", entries=ENTRIES):
    def build(scale):
        n = max(1, int(entries * scale))
        return pairs(n, max(4, min(groups, n)), spread)

    return Workload(f"factorize, {groups:,} pairs in {entries:,}, {spread}", build)


def reduction_of(kind, groups, ops, entries=ENTRIES):
    def build(scale):
        n = max(1, int(entries * scale))
        some = max(2, min(groups, n))
        keys = KINDS[kind](numbers(n, some, "uniform"), some)
        return reduced(keys, rng().standard_normal(n), ops)

    name = f"group {' '.join(ops)}, {kind}, {groups:,} keys in {entries:,}"
    return Workload(name, build)


SPREAD = ("mean", "std", "max")
WORKLOADS = (
    kind_of("int64, close", 1000, entries=MILLION),
    kind_of("int64, wide", 100_000, entries=MILLION),
    kind_of("float64", 1000, entries=MILLION),
    kind_of("U8", 1000, entries=MILLION),
    pairs_of(10_000, entries=MILLION),
    reduction_of("int64, close", 1000, ("add",), MILLION),
    reduction_of("int64, wide", 1000, SPREAD, MILLION),
)
CELLS = (
    *(kind_of("int64, close", g, s) for g in GROUPS for s in SPREADS),
    kind_of("int64, close", 100_000, sort=False),
    *(kind_of("int64, wide", g) for g in GROUPS),
    kind_of("int64, wide", 100_000, sort=False),
    *(kind_of("int64, wide", MILLION, s, entries=2 * ENTRIES) for s in SPREADS),
    kind_of("int64, wide", MILLION, sort=False, entries=2 * ENTRIES),
    *(kind_of("float64", g) for g in GROUPS[:2]),
    *(kind_of(k, 100_000) for k in ("S8", "U8", "U16")),
    pairs_of(100_000),
    *(reduction_of("int64, close", g, ("add",)) for g in GROUPS[:2]),
    *(reduction_of("int64, close", g, SPREAD) for g in GROUPS[:2]),
)

DTYPES = ("b1", "i8", "i16", "i32", "i64", "u64", "f32", "f64")


def sweep_problem(op, dtype, n, width):
    """One dtype: n keys, of which many are equal."""
    keys = rng().integers(0, max(2, n // 4), n).astype(harness.numpy_dtype(dtype))
    return numbered(keys, True)


SUITE = harness.Suite(
    "bench_keys",
    (*WORKLOADS, *CELLS),
    lambda: [("number", dtype) for dtype in DTYPES],
    sweep_problem,
    ("number", "i64"),
)

if __name__ == "__main__":
    sys.exit(harness.main(SUITE))
