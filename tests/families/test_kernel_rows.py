"""Families whose kernels serve dtypes alone: every row of kernels() in a small call."""

import numpy as np
import pytest

import pyscatter as ps
from tests import reference
from tests.cases import DTYPES, random_values, rng_for

CORE = ps._core
FAMILIES = {
    ("change", "measure"): "b1 i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64 c64 c128",
    ("keys", "number"): "b1 i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64 f80 c64 "
    "c128 t64",
    ("bins", "find"): "b1 i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64",
    ("histogram", "measure"): "b1 i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64",
    ("accumulate", "add"): "f16 bf16 f32 f64 c64 c128",
}
ROWS = sorted({row[:4] for row in CORE.kernels() if row[:2] in FAMILIES})


def of_change(old, new):
    mine, twin = ps.change_stats(old, new), reference.change_stats(old, new)
    assert mine.n_changed == twin.n_changed
    assert mine.max_abs == pytest.approx(twin.max_abs)


def of_keys(old, new):
    codes, keys = ps.factorize(new)[:2]
    assert (keys[codes] == new).all()


def of_bins(old, new):
    edges = np.array([0.0, 1.0, 2.0, 5.0])
    bins, _ = ps.bin_index(new, edges, outside="clip")
    wide = new.astype(np.float64)
    wanted = np.clip(np.searchsorted(edges, wide, side="right") - 1, 0, 2)
    assert bins.tolist() == wanted.tolist()


def of_histogram(old, new):
    h = ps.histogram(new, 5)
    counts, edges = np.histogram(new.astype(np.float64), 5)
    assert h.counts.tolist() == counts.tolist()
    assert h.edges.tolist() == edges.tolist()


def of_accumulate(old, new):
    wide = (
        np.result_type(new.dtype, np.float64) if new.dtype.kind in "fc" else np.float64
    )
    sums = ps.GradientAccumulator(new.shape, dtype=wide)
    for g in (old, new):
        sums.add(g)
    assert (sums.value() == old.astype(wide) + new.astype(wide)).all()


CALLS = {
    "change": of_change,
    "keys": of_keys,
    "bins": of_bins,
    "histogram": of_histogram,
    "accumulate": of_accumulate,
}


@pytest.mark.parametrize(("family", "op"), FAMILIES)
def test_dtypes_that_are_listed(family, op):
    listed = {dtype for f, o, dtype, _ in ROWS if (f, o) == (family, op)}
    assert listed == set(FAMILIES[family, op].split())


@pytest.mark.parametrize(("family", "op", "dtype", "level"), ROWS)
def test_every_row(family, op, dtype, level):
    names = {"t64": ["datetime", "timedelta"]}.get(dtype, [dtype])
    if not set(names) <= set(DTYPES):
        pytest.skip("ml_dtypes is not installed")
    CORE.force_level(level)
    for name in names:
        rng = rng_for(family, op, name)
        old, new = (
            random_values(rng, DTYPES[name], (70,), special=False) for _ in "ab"
        )
        CALLS[family](old, new)
