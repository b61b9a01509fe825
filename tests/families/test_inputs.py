"""What a call takes: layouts of every argument, index dtypes, extremes, masks, axes.

Whatever the memory of an argument looks like, the result is that of a plain copy, and
what the call must not write keeps its bytes.
"""

from itertools import product

import numpy as np
import pytest

import pyscatter as ps
from tests.cases import (
    DTYPES,
    FORMS,
    INTEGERS,
    LAYOUTS,
    MOVED_DTYPES,
    WRITABLE_LAYOUTS,
    assert_fresh,
    compare,
    compare_in_place,
    drawer,
    outcome,
    random_values,
    rng_for,
    snapshot,
)

# --- layouts of targets and values ----------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("form", FORMS)
def test_every_layout(form, layout):
    rng = rng_for("layout", form, layout)
    form, lay = FORMS[form], LAYOUTS[layout]
    for dtype in ("f32", "i16", "c64", "f16"):
        a = lay(random_values(rng, DTYPES[dtype], form.shape))
        values = lay(random_values(rng, DTYPES[dtype], form.values))
        index = form.index(drawer(rng, layout=layout))
        where = lay(np.asarray(rng.random(form.entries) < 0.8))
        kept = [snapshot(array) for array in (a, values, where)]
        for op in ("set", "add", "mean", "first"):
            options = dict(form.options, op=op, where=where)
            result = compare("scatter" + form.stem, a, index, values, **options)
            assert_fresh(result, a, values)
        assert kept == [snapshot(array) for array in (a, values, where)]


@pytest.mark.parametrize("layout", WRITABLE_LAYOUTS)
@pytest.mark.parametrize("form", FORMS)
def test_targets_of_every_layout(form, layout):
    rng = rng_for("target", form, layout)
    form, lay = FORMS[form], LAYOUTS[layout]
    for dtype in ("f32", "u8", "f64", "c128", "f16", "packed"):
        dtype = {**DTYPES, **MOVED_DTYPES}[dtype]
        a = lay(random_values(rng, dtype, form.shape))
        values = random_values(rng, dtype, form.values)
        index = form.index(drawer(rng))
        for op in ("set", "add", "first", "mul"):
            compare_in_place(
                "scatter" + form.stem, a, index, values, op=op, **form.options
            )


@pytest.mark.parametrize("dtype", ["f16", "f32", "c64", "i64", "timedelta"])
def test_few_updates_of_a_large_target(dtype):
    rng = rng_for("few", dtype)
    for shape, tail in [((2000,), ()), ((900, 3), (3,))]:
        a = random_values(rng, DTYPES[dtype], shape)
        values = random_values(rng, DTYPES[dtype], (20, *tail))
        index = rng.integers(-30, 30, 20) * (shape[0] // 25)
        where = rng.random(20) < 0.7
        for op, layout in product(
            ("add", "mean", "set", "first"), ("c", "byteswapped")
        ):
            for mode in ("drop", "clip"):
                target = LAYOUTS[layout](a)
                options = {"op": op, "mode": mode, "where": where}
                compare_in_place("scatter", target, index, values, **options)
                options["include_self"] = False
                compare("scatter", target, index, values, **options)
        if dtype not in ("timedelta", "i64"):
            options.update(op="add", compensated=True)
            compare("scatter", a, index, values, **options)


@pytest.mark.parametrize("shape", [(9,), (9, 2), (9, 40), (3000,)])
def test_bools_of_any_byte_are_read_as_true_and_written_as_one(shape):
    rng = rng_for("bool", shape)
    octets = rng.choice(np.array([0, 0, 1, 2, 254, 255], np.uint8), (3, *shape))
    index = rng.integers(0, shape[0], shape[0]) // 2  # some places stay untouched
    touched = np.isin(np.arange(shape[0]), index)
    for op in ("set", "first", "add", "mul", "min", "fmax", "and", "or", "xor"):
        for values in (octets[1].view(bool), False, True):
            for include_self in (True, False):
                a = octets[0].copy()
                options = {"op": op, "include_self": include_self}
                compare_in_place("scatter", a.view(bool), index, values, **options)
                assert (a[touched] <= 1).all()
                assert a[~touched].tobytes() == octets[0][~touched].tobytes()


def test_bytes_between_the_elements_stay():
    record = np.dtype([("left", "u1"), ("x", "f4"), ("right", "u1")])
    a = np.array([(11, 1.0, 22)] * 6, record)
    ps.scatter(a["x"], [0, 0, 5], 2.0, op="add", out=a["x"])
    assert a["x"].tolist() == [5, 1, 1, 1, 1, 3]
    assert set(a["left"].tolist()) == {11} and set(a["right"].tolist()) == {22}


# --- indices, masks, shapes -----------------------------------------------------------


@pytest.mark.parametrize("index_dtype", INTEGERS)
@pytest.mark.parametrize("form", FORMS)
def test_every_index_dtype(form, index_dtype):
    rng = rng_for("index", form, index_dtype)
    form, dtype = FORMS[form], DTYPES[index_dtype]
    a, values = rng.random(form.shape), rng.random(form.values)
    for layout in ("c", "byteswapped", "sliced"):
        index = form.index(drawer(rng, dtype=dtype, layout=layout))
        compare("scatter" + form.stem, a, index, values, op="add", **form.options)
        compare("gather" + form.stem, a, index, **form.options)


EXTREMES = [-(2**63), -(2**31), -129, -1, 0, 6, 7, 255, 2**31, 2**63 - 1, 2**64 - 1]


@pytest.mark.parametrize("index_dtype", INTEGERS)
def test_extreme_indices_in_every_mode(index_dtype):
    info = np.iinfo(DTYPES[index_dtype])
    fitting = [i for i in EXTREMES if info.min <= i <= info.max]
    index = np.array(fitting, DTYPES[index_dtype])
    a, values = np.zeros(7), np.arange(1.0, 1 + len(index))
    for mode in ("drop", "clip", "wrap", "raise"):
        compare("scatter", a, index, values, op="add", mode=mode)
        compare("scatter_nd", a, index[:, None], values, op="add", mode=mode)
        compare("scatter_at", a, index, values, op="add", mode=mode)
        compare("scatter_along_axis", a, index, values, op="add", mode=mode)
        compare("gather", a + 5, index, mode=mode)
        for one in index:
            compare("scatter", a, [one], 1.0, mode=mode)


def test_anything_that_is_integers_is_an_index():
    a = np.arange(5.0)
    for index in (
        *(3, np.int8(3), [3], (3, 1), [[0, 1], [2, 2]], range(3), np.array(2), True),
        *([], (), [[], []], np.zeros(0, int), np.zeros(0), np.zeros((0, 3), np.uint8)),
        *([1.0], ["1"], [None], None, "1", np.array([1], object), {1: 2}, 1.0, b"1"),
        *(np.zeros(3, bool), np.array([1], "m8[s]"), np.zeros(1, complex)),
    ):
        for name in ("scatter", "scatter_along_axis", "scatter_nd"):
            compare(name, a, index, 9.0)
        compare("gather", a, index)


def test_the_target_may_be_anything_that_is_an_array():
    for a in ([1, 2, 3], (1.5, 2.5), [[True, False]], range(4), 5, np.float32(2)):
        for options in ({}, {"axis": None}, {"axis": None, "op": "add"}):
            if np.ndim(a) or options:
                compare("scatter", a, [0, 0], np.asarray(a).dtype.type(1), **options)


@pytest.mark.parametrize("form", FORMS)
def test_where_broadcasts_to_the_entries(form):
    rng = rng_for("where", form)
    form = FORMS[form]
    a, values = rng.random(form.shape), rng.random(form.values)
    shapes = [(), (1,), form.entries[1:], (1, *form.entries[1:]), (2, *form.entries)]
    for shape in [*shapes, form.entries[:-1] + (1,)]:
        where = rng.random(shape) < 0.5
        for mode in ("raise", "drop"):
            index = form.index(drawer(rng, mode))
            options = dict(form.options, where=where, mode=mode)
            compare("scatter" + form.stem, a, index, values, op="add", **options)
            compare("gather" + form.stem, a, index, **options)
    for wrong in (1, [1, 0], np.ones(form.entries), "True"):
        options = dict(form.options, where=wrong)
        compare("scatter" + form.stem, a, index, values, **options)


def test_many_axes():
    a = np.arange(12.0).reshape((1,) * 30 + (3,) + (1,) * 31 + (4,))
    for axis in (30, 62, -1, 0):
        index = np.zeros(2, int)
        compare("scatter", a, index, 1.0, axis, op="add")
        compare("gather", a, index, axis)
    index = np.zeros((1,) * 62 + (2,), int)
    compare("scatter_along_axis", a, index, 1.0, op="add")
    compare("gather", a, np.zeros((1, 2), int), 30)
    assert outcome(ps.gather, a, np.zeros((1, 1, 2), int), 30) is ValueError
    assert outcome(ps.scatter, a, np.zeros((1, 1, 2), int), 1.0, 30) is ValueError
