"""Layouts of what where is given and of its out=, shared memory, and refused targets.

Warnings of casts are those of chosen values alone, before anything is written.
"""

import tracemalloc
import warnings

import numpy as np
import pytest

import pyscatter as ps
from tests import reference
from tests.cases import (
    DTYPES,
    LAYOUTS,
    MOVED_DTYPES,
    WRITABLE_LAYOUTS,
    assert_fresh,
    assert_same,
    random_values,
    rng_for,
    snapshot,
)

ALL_DTYPES = {**DTYPES, **MOVED_DTYPES}
LIBRARIES = [pytest.param(ps, id="pyscatter"), pytest.param(reference, id="reference")]
SHAPES = (((70,),) * 3, ((4, 5),) * 3, ((3, 4), (4,), (3, 1)))


def drawn(rng, dtype, shapes):
    """Return a condition, x and y of these shapes."""
    condition = np.asarray(rng.random(shapes[0]) < 0.5)
    return condition, *(random_values(rng, dtype, shape) for shape in shapes[1:])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["f32", "i16", "b1", "f16", "c128", "u8", "packed"])
def test_every_layout(dtype, layout):
    rng, lay = rng_for("layout", dtype, layout), LAYOUTS[layout]
    for shapes in SHAPES:
        plain = drawn(rng, ALL_DTYPES[dtype], shapes)
        expected = reference.where(*plain)
        for which in range(8):
            args = [
                lay(array) if which >> k & 1 else array for k, array in enumerate(plain)
            ]
            kept = [snapshot(array) for array in args]
            result = ps.where(*args)
            assert_same(result, expected, f"{which} of {shapes}")
            assert_fresh(result, *args)
            assert kept == [snapshot(array) for array in args]


@pytest.mark.parametrize("layout", WRITABLE_LAYOUTS)
@pytest.mark.parametrize("dtype", ["f32", "i16", "b1", "f16", "c128", "f80", "str"])
def test_an_out_of_every_layout(dtype, layout):
    rng = rng_for("out", dtype, layout)
    for shapes in SHAPES:
        condition, x, y = drawn(rng, ALL_DTYPES[dtype], shapes)
        expected = reference.where(condition, x, y)
        out = LAYOUTS[layout](np.ones(expected.shape, ALL_DTYPES[dtype]))
        assert ps.where(condition, x, y, out=out) is out
        assert_same(np.array(out, ALL_DTYPES[dtype], subok=False), expected)
        assert_same(np.array(ps.where(~condition, y, x)), expected)


@pytest.mark.parametrize("layout", WRITABLE_LAYOUTS)
@pytest.mark.parametrize("dtype", ["f32", "i8", "b1", "f16", "c128", "packed"])
def test_an_out_that_is_x_or_y(dtype, layout):
    rng = rng_for("in place", dtype, layout)
    for shape in ((70,), (4, 5), (2, 3, 4)):
        condition, x, y = drawn(rng, ALL_DTYPES[dtype], (shape,) * 3)
        expected = reference.where(condition, x, y)
        out = LAYOUTS[layout](x)
        assert ps.where(condition, out, y, out=out) is out
        assert_same(np.array(out, x.dtype, subok=False), expected)
        out = LAYOUTS[layout](y)
        ps.where(condition, x, out, out=out)
        assert_same(np.array(out, x.dtype, subok=False), expected)
        ps.where(condition, out, out, out=out)
        assert_same(np.array(out, x.dtype, subok=False), expected)


@pytest.mark.parametrize("shift", range(-9, 10))
def test_an_out_that_overlaps_the_inputs(shift):
    condition = np.arange(64) % 3 == 0
    for unit in (1, 8):
        raw = np.arange(1024, dtype=np.uint16).view(np.uint8).copy()
        start = 800 + shift * unit
        x = raw[800 : 800 + 512].view(np.int64)
        out = raw[start : start + 512].view(np.int64)
        y = np.arange(64)
        for args in ((x.copy(), y), (y, x.copy())):
            expected = reference.where(condition, *args)
            memory = raw.copy()
            given = [x if arg is not y else y for arg in args]
            ps.where(condition, *given, out=out)
            assert_same(out.copy(), expected, f"{shift} {unit}")
            raw[:] = memory


def test_an_out_that_is_the_condition():
    for library in (ps, reference):
        condition = np.array([True, False, True, False])
        out = condition
        library.where(condition, [False, True, True, True], [True] * 4, out=out)
        assert out.tolist() == [False, True, True, True]
    numbers = np.arange(200, dtype=np.uint8) % 3
    expected = np.where(numbers, numbers[::-1], np.uint8(7))
    ps.where(numbers.copy(), numbers[::-1], np.uint8(7), out=numbers)
    assert_same(numbers, expected)
    octets = np.tile(np.array([0, 1], np.uint8), 60)
    expected = np.where(octets != 0, 5, octets[::-1]).astype(np.uint8)
    ps.where(octets.view(bool), np.uint8(5), octets[::-1], out=octets)
    assert_same(octets, expected)


def test_a_refused_out_stays():
    x = np.arange(4.0)
    locked = np.zeros(4)
    locked.flags.writeable = False
    wide = np.lib.stride_tricks.as_strided(np.zeros(1), (4,), (0,))
    halves = np.lib.stride_tricks.as_strided(np.zeros(8), (4,), (4,))
    for library in (ps, reference):
        for out, error in [
            (locked, ValueError),
            (wide, ValueError),
            (halves, ValueError),
            (np.zeros(3), ValueError),
            (np.zeros((1, 4)), ValueError),
            (np.zeros(()), ValueError),
            (np.zeros(4, int), TypeError),
            ([0.0] * 4, TypeError),
            (np.ma.zeros(4), TypeError),
        ]:
            with pytest.raises(error):
                library.where(x > 1, x, 9.0, out=out)
            assert not np.asarray(out).any()


def test_no_temporary_of_the_full_shape():
    rows, columns = np.arange(1000) % 2 == 0, np.arange(1500.0)
    out = np.empty((1000, 1500), np.float32)
    calls = {
        "broadcast": lambda: ps.where(rows[:, None], columns, -1.0),
        "cast": lambda: ps.where(rows[:, None], columns.astype("f4"), columns),
        "swapped": lambda: ps.where(rows[:, None], columns.astype(">f8"), 0.0),
        "into": lambda: ps.where(rows[:, None], columns, 1.0, out=out),
        "condition": lambda: ps.where(columns, 1, rows[:, None]),
    }
    for name, call in calls.items():
        tracemalloc.start()
        result = call()
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        allowed = 0 if result is out else result.nbytes
        assert peak < allowed + 200_000, f"{name}: {peak} bytes for {allowed}"


# --- what is not chosen ---------------------------------------------------------------


@pytest.mark.parametrize("library", LIBRARIES)
def test_warnings_of_casts_are_those_of_chosen_values(library):
    bad = np.array([np.nan, 1.5, 1e300])
    unsafe = {"dtype": np.int32, "casting": "unsafe"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        good = library.where([False, True, False], bad, [7, 8, 9], **unsafe)
        assert good.tolist() == [7, 1, 9]
        narrow = library.where([False, True, False], bad, 2.0, dtype=np.float32)
        assert narrow.tolist() == [2, 1.5, 2]
        out = np.zeros(3, np.int32)
        for condition in ([True, False, False], [False, False, True]):
            with pytest.raises(RuntimeWarning):
                library.where(condition, bad, 0, out=out, casting="unsafe")
        with pytest.raises(RuntimeWarning):
            library.where([False, False, True], bad, 2.0, dtype=np.float32)
    assert out.tolist() == [0, 0, 0]


def test_a_warning_far_behind_leaves_the_target():
    bad = np.zeros(20_000)
    bad[-1] = np.nan
    condition = np.ones(20_000, bool)
    out = np.full(20_000, 5, np.int64)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning):
            ps.where(condition, bad, 1, out=out, casting="unsafe")
        assert (out == 5).all()
        condition[-1] = False
        ps.where(condition, bad, 1, out=out, casting="unsafe")
    assert out[0] == 0 and out[-1] == 1
