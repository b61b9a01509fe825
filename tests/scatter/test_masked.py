"""scatter_where and gather_where against their slow twins: ops, masks, layouts, sizes.

First the twins themselves are compared with NumPy's a[mask]. What the mask leaves out
keeps its bytes, whatever they are.
"""

import tracemalloc
import warnings
from itertools import product

import numpy as np
import pytest

import pyscatter as ps
from tests import reference
from tests.cases import (
    DTYPES,
    LAYOUTS,
    MASK_FORMS,
    MASKS,
    MOVED_DTYPES,
    WRITABLE_LAYOUTS,
    assert_fresh,
    assert_same,
    assert_same_outcome,
    compare,
    compare_in_place,
    outcome,
    random_mask,
    random_values,
    rng_for,
    snapshot,
    thinned,
)

ALL_DTYPES = {**DTYPES, **MOVED_DTYPES}
LIBRARIES = [pytest.param(ps, id="pyscatter"), pytest.param(reference, id="reference")]
OPS = "set add sub mul div floor_div min max fmin fmax mean and or xor first".split()
QUICK_DTYPES = ("f32", "i16", "b1", "c128", "f16", "packed")


def marked(names, quick):
    """Return names as parameters, those marked that are not in `quick`."""
    return [
        pytest.param(name, marks=[] if name in quick else pytest.mark.slow)
        for name in names
    ]


def rest_of(form):
    """Return the axes of an array of a form that lie behind those of its mask."""
    shape, mask = MASK_FORMS[form]
    return shape[len(mask) :]


def count_of(form, mask):
    """Return how many entries a mask of a form selects, once it is spread."""
    shape, own = MASK_FORMS[form]
    return int(np.broadcast_to(mask, shape[: len(own)]).sum())


# --- the twins themselves, examples ---------------------------------------------------


@pytest.mark.parametrize("form", MASK_FORMS)
def test_the_twins_agree_with_numpy(form):
    rng = rng_for("twin", form)
    shape, own = MASK_FORMS[form]
    for kind in MASKS:
        mask, a = random_mask(rng, kind, own), rng.random(shape)
        full = np.broadcast_to(mask, shape[: len(own)])
        assert_same(reference.gather_where(a, mask), a[full], kind)
        values = rng.random((count_of(form, mask), *rest_of(form)))
        b = a.copy()
        b[full] = values
        assert_same(reference.scatter_where(a, mask, values, packed=True), b)
        values = rng.random(shape)
        expected = np.where(
            full.reshape(full.shape + (1,) * len(rest_of(form))), a + values, a
        )
        actual = reference.scatter_where(a, mask, values, op="add")
        assert_same(actual, np.asarray(expected))


def test_the_twin_agrees_with_compress():
    a = rng_for("compress").random((3, 4, 5))
    for axis in (0, 1, -1):
        mask = np.arange(a.shape[axis]) % 3 != 1
        expected = np.compress(mask, a, axis)
        assert_same(reference.gather_where(a, mask, axis), np.array(expected))
        assert_same(ps.gather_where(a, mask, axis), np.array(expected))


@pytest.mark.parametrize("library", LIBRARIES)
def test_worked_examples(library):
    x, y = np.array([1.0, 2, 3, 4]), np.array([0.5, 2, 0, 3])
    assert library.scatter_where(x, y > 1, y, op="mul").tolist() == [1, 4, 3, 12]
    assert library.scatter_where(x, x < 3, 0.0).tolist() == [0, 0, 3, 4]
    assert library.scatter_where(x, y > 1, [7, 8], packed=True).tolist() == [1, 7, 3, 8]
    assert library.scatter_where(x, x > 2, y, op="mean").tolist() == [1, 2, 1.5, 3.5]
    assert library.gather_where(x, y > 1).tolist() == [2, 4]
    table = np.arange(6).reshape(3, 2)
    assert library.gather_where(table, [True, False, True]).tolist() == [[0, 1], [4, 5]]
    assert library.gather_where(table, [[True, False]]).tolist() == [0, 2, 4]
    assert library.gather_where(table, [False, True], axis=1).tolist() == [
        [1],
        [3],
        [5],
    ]
    rows = library.scatter_where(table, [True, False, True], [9, 8])
    assert rows.tolist() == [[9, 8], [2, 3], [9, 8]]
    assert library.scatter_where(x, x > 2, 5.0, out=x) is x
    assert x.tolist() == [1, 2, 5, 5]


# --- every op, dtype and form ---------------------------------------------------------


@pytest.mark.parametrize("dtype", marked(ALL_DTYPES, QUICK_DTYPES))
def test_every_op_and_form(dtype):
    rng = rng_for("ops", dtype)
    for form, op in thinned(product(MASK_FORMS, OPS)):
        shape, own = MASK_FORMS[form]
        a = random_values(rng, ALL_DTYPES[dtype], shape)
        values = random_values(rng, ALL_DTYPES[dtype], shape)
        mask = np.asarray(rng.random(own) < 0.5)
        compare("scatter_where", a, mask, values, op=op)
        compare_in_place("scatter_where", a.copy(), mask, values, op=op)
        count = count_of(form, mask)
        values = random_values(rng, ALL_DTYPES[dtype], (count, *rest_of(form)))
        compare("scatter_where", a, mask, values, op=op, packed=True)
        compare_in_place("scatter_where", a.copy(), mask, values, op=op, packed=True)


@pytest.mark.parametrize("form", MASK_FORMS)
def test_every_op_and_mask(form):
    shape, own = MASK_FORMS[form]
    for kind, op in thinned(product(MASKS, OPS)):
        rng = rng_for(form, kind, op)
        mask = random_mask(rng, kind, own)
        for dtype in ("f64", "i32", "b1"):
            a = random_values(rng, DTYPES[dtype], shape)
            values = random_values(rng, DTYPES[dtype], shape)
            compare("scatter_where", a, mask, values, op=op)
            one = random_values(rng, DTYPES[dtype], ())[()]
            compare_in_place("scatter_where", a.copy(), mask, one, op=op)


@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_every_gather(dtype):
    rng = rng_for("gather", dtype)
    for form, kind in thinned(product(MASK_FORMS, MASKS)):
        shape, own = MASK_FORMS[form]
        a = random_values(rng, ALL_DTYPES[dtype], shape)
        mask = random_mask(rng, kind, own)
        assert_fresh(compare("gather_where", a, mask), a)
        for axis in range(-len(shape), len(shape)):
            mask = random_mask(rng, kind, (shape[axis],))
            assert_fresh(compare("gather_where", a, mask, axis), a)


def test_shapes_of_values():
    a = np.arange(12.0).reshape(3, 4)
    whole, rows = a % 2 == 0, np.array([True, False, True])
    shapes = [(), (1,), (4,), (3, 1), (1, 4), (3, 4), (1, 1, 4), (1, 3, 4)]
    shapes += [(3,), (2,), (6,), (2, 4), (6, 1), (0,), (2, 3, 4), (4, 3)]
    for mask, shape in product((whole, rows, rows[:, None]), shapes):
        values = 1 + np.arange(np.prod(shape, dtype=int)).reshape(shape)
        for options in ({}, {"op": "add"}, {"packed": True}):
            kept = a.copy()
            compare("scatter_where", a, mask, values, **options)
            compare_in_place("scatter_where", a.copy(), mask, values, **options)
            assert_same(a, kept)


def test_shapes_of_masks():
    for shape in [(3, 4), (3, 3), (4,), (2, 3, 4)]:
        a = np.arange(np.prod(shape)).reshape(shape)
        for own in [(), (1,), (2,), (3,), (4,), (3, 1), (1, 4), (3, 4), (4, 3), (1, 1)]:
            compare("scatter_where", a, np.ones(own, bool), 7)
            compare("gather_where", a, np.ones(own, bool))
            compare("gather_where", a, np.ones(own, bool), 0)
        compare("gather_where", a, np.ones((1,) * 5, bool))


MASKS_OF_OTHER_KINDS = [
    *([True, False, True], (True, True, False), True, [np.True_, False, np.False_]),
    *([1, 0, 1], [1.0, 0.0, 1.0], np.ones(3, np.uint8), "abc", None, 1, [None] * 3),
    *(np.ones(3), np.zeros(3, "m8[s]"), np.ones(3, object), [[True], [False, True]]),
]


@pytest.mark.parametrize("mask", MASKS_OF_OTHER_KINDS, ids=repr)
def test_masks_are_bools(mask):
    a = np.arange(3.0)
    compare("scatter_where", a, mask, 7.0)
    compare("gather_where", a, mask)
    compare("gather_where", a, mask, 0)


@pytest.mark.parametrize(
    "mask", [[], (), [[]], np.zeros(0), np.zeros(0, bool)], ids=repr
)
def test_empty_masks(mask):
    for shape in ((0,), (3,), (0, 2), (1, 0)):
        a = np.ones(shape)
        compare("scatter_where", a, mask, 7.0)
        compare("gather_where", a, mask)
        compare("gather_where", a, mask, 0)
        compare("gather", a, [], where=mask)
        compare("scatter_along_axis", a, np.zeros(shape, int), 1.0, where=mask)


def test_weak_and_cast_values():
    mask = np.array([True, False, True])
    for dtype in DTYPES.values():
        a = random_values(rng_for("weak", dtype.str), dtype, 3)
        for values in (0, -1, 300, 2**70, 1.5, 1e300, True, 1j, [1, 2, 3], [0.5] * 3):
            for op in ("set", "add", "max"):
                compare("scatter_where", a, mask, values, op=op)
            two = values[:2] if isinstance(values, list) else values
            compare("scatter_where", a, mask, two, packed=True)
        for source in DTYPES.values():
            values = random_values(rng_for(source.str), source, 3, special=False)
            for casting in ("same_kind", "safe", "equiv"):
                options = {"casting": casting, "op": "set"}
                compare("scatter_where", a, mask, values, **options)
                compare("scatter_where", a, mask, values[:2], packed=True, **options)


# --- layouts and targets --------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("form", MASK_FORMS)
def test_every_layout(form, layout):
    rng, lay = rng_for("layout", form, layout), LAYOUTS[layout]
    shape, own = MASK_FORMS[form]
    for dtype in ("f32", "i16", "b1", "f16", "c128", "str", "packed"):
        a = lay(random_values(rng, ALL_DTYPES[dtype], shape))
        values = lay(random_values(rng, ALL_DTYPES[dtype], shape))
        mask = lay(np.asarray(rng.random(own) < 0.6))
        packed = (count_of(form, mask), *rest_of(form))
        packed = lay(random_values(rng, ALL_DTYPES[dtype], packed))
        kept = [snapshot(array) for array in (a, values, mask, packed)]
        for op in ("set", "add", "mean", "first"):
            result = compare("scatter_where", a, mask, values, op=op)
            if not isinstance(result, type):
                assert_fresh(result, a, values, mask)
            compare("scatter_where", a, mask, packed, op=op, packed=True)
        assert_fresh(compare("gather_where", a, mask), a, mask)
        for axis in range(len(shape)):
            line = lay(np.asarray(rng.random(shape[axis]) < 0.6))
            compare("gather_where", a, line, axis)
        assert kept == [snapshot(array) for array in (a, values, mask, packed)]


@pytest.mark.parametrize("layout", WRITABLE_LAYOUTS)
@pytest.mark.parametrize("form", MASK_FORMS)
def test_targets_of_every_layout(form, layout):
    rng, lay = rng_for("target", form, layout), LAYOUTS[layout]
    shape, own = MASK_FORMS[form]
    for dtype in ("f32", "u8", "f64", "c128", "f16", "b1", "packed"):
        a = random_values(rng, ALL_DTYPES[dtype], shape)
        values = random_values(rng, ALL_DTYPES[dtype], shape)
        mask = np.asarray(rng.random(own) < 0.6)
        packed = (count_of(form, mask), *rest_of(form))
        packed = random_values(rng, ALL_DTYPES[dtype], packed)
        for op in ("set", "add", "first", "mul", "mean"):
            compare_in_place("scatter_where", lay(a), mask, values, op=op)
            compare_in_place("scatter_where", lay(a), mask, packed, op=op, packed=True)
            other = lay(np.zeros(shape, ALL_DTYPES[dtype]))
            expected = outcome(reference.scatter_where, a, mask, values, op=op)
            actual = outcome(ps.scatter_where, a, mask, values, op=op, out=other)
            if not isinstance(expected, type) and op != "mean":
                assert actual is other
                assert_same(np.array(other, a.dtype, subok=False), expected)


# Calls of gather_where by each way through the library: kernels, rows that are items,
# places of trues, one axis, a mask without axes.
GATHERS = {
    "elements": ((6,), [True, False, True, True, False, True], None),
    "spread": ((3, 4), [[True, False, False, True]], None),
    "rows": ((5, 3), [True, False, True, False, True], None),
    "short rows": ((4, 2), [False, True, True, False], None),
    "axis": ((3, 4), [True, True, False, True], 1),
    "all or nothing": ((2, 3), True, None),
}


def gather_problem(name, dtype):
    """Return (a, mask, axis, what is selected) of a call by name."""
    shape, mask, axis = GATHERS[name]
    a = random_values(rng_for(name, dtype), ALL_DTYPES[dtype], shape, special=False)
    mask = np.array(mask)
    return a, mask, axis, reference.gather_where(a, mask, axis)


@pytest.mark.parametrize("layout", WRITABLE_LAYOUTS)
@pytest.mark.parametrize("name", GATHERS)
def test_an_out_of_every_layout(name, layout):
    lay = LAYOUTS[layout]
    for dtype in ("f32", "i16", "b1", "f16", "c128", "timedelta", "bytes", "packed"):
        a, mask, axis, expected = gather_problem(name, dtype)
        out = lay(np.zeros(expected.shape, ALL_DTYPES[dtype]))
        for source in (a, lay(a)):
            out[...] = np.zeros((), out.dtype)
            assert ps.gather_where(source, mask, axis, out=out) is out
            assert_same(np.array(out, a.dtype, subok=False), expected)


@pytest.mark.parametrize("dtype", ALL_DTYPES)
@pytest.mark.parametrize("name", GATHERS)
def test_an_out_of_another_dtype(name, dtype):
    a, mask, axis, expected = gather_problem(name, dtype)
    for other in ALL_DTYPES.values():
        outs = [np.zeros(expected.shape, other) for _ in "ab"]
        calls = [library.gather_where for library in (reference, ps)]
        wanted, found = (
            outcome(call, a, mask, axis, out=out)
            for call, out in zip(calls, outs, strict=True)
        )
        assert_same_outcome(found, wanted, f"{dtype} to {other}")
        assert_same(outs[1], outs[0], f"{dtype} to {other}")


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("dtype", ["f32", "f64", "object"])
@pytest.mark.parametrize("name", GATHERS)
def test_a_refused_out_of_a_gather_stays(name, dtype, library):
    a, mask, axis, expected = gather_problem(name, dtype)
    locked = np.zeros_like(expected)
    locked.flags.writeable = False
    strides = (0,) * expected.ndim
    shared = np.lib.stride_tricks.as_strided(expected.copy(), expected.shape, strides)
    shapes = [(*expected.shape, 1), (1, *expected.shape), expected.shape[1:]]
    shapes.append((expected.shape[0] + 1, *expected.shape[1:]))
    wrong = [locked, *(np.zeros(shape, a.dtype) for shape in shapes)]
    wrong += [shared] * (dtype != "object")
    for out in wrong:
        before = out.tobytes()
        with pytest.raises(ValueError):
            library.gather_where(a, mask, axis, out=out)
        assert out.tobytes() == before
    outs = expected.tolist(), np.ma.zeros(expected.shape), np.zeros(expected.shape, "?")
    for out in outs:
        with pytest.raises(TypeError):
            library.gather_where(a, mask, axis, out=out)


@pytest.mark.parametrize("state", ["raise", "warn"])
@pytest.mark.parametrize("name", GATHERS)
def test_a_cast_into_out_that_raises_leaves_it(name, state):
    a, mask, axis, expected = gather_problem(name, "f64")
    a[...], out = 1e300, np.full(expected.shape, 5, np.float32)
    with np.errstate(all=state), warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises((FloatingPointError, RuntimeWarning)):
            ps.gather_where(a, mask, axis, out=out)
    assert (out == 5).all()


def test_an_out_that_overlaps_the_inputs():
    for shift, step, dtype in product(range(-7, 8), (1, -1, 2), (np.int64, "S4", "?")):
        base = (np.arange(60) * 7 % 11 % 3).astype(dtype)
        a, out = base[20:32], base[20 + shift :][: 8 * abs(step)][::step]
        mask = np.arange(12) % 3 != 1
        expected = a[mask]
        ps.gather_where(a, mask, out=out)
        assert_same(np.array(out), expected, f"{shift} {step} {dtype}")
    flags = np.arange(40) % 3 != 1
    for start in range(4, 16):
        line, out = flags.copy(), flags.copy()
        expected = np.array(line[8:20][line[8:20]])
        out = line[start:][: len(expected)]
        ps.gather_where(line[8:20], line[8:20], out=out)
        assert_same(np.array(out), expected, f"mask {start}")


def test_broadcast_views():
    row, mask = np.arange(12.0), np.arange(24).reshape(2, 12) % 3 != 0
    for a in (
        np.broadcast_to(row, (2, 12)),
        np.broadcast_to(row[:2, None], (2, 12)),
        np.broadcast_to(np.float32(3), (2, 12)),
        np.lib.stride_tricks.sliding_window_view(np.arange(13), 12),
    ):
        for own in (mask, mask[:, 0], np.broadcast_to(mask[0], (2, 12)), mask[1:]):
            compare("gather_where", a, own)
            compare("scatter_where", a, own, a[::-1], op="add")
            compare("scatter_where", np.ones((2, 12)), own, a)
        compare("gather_where", a[0], mask[0])
        compare("gather_where", a, mask[0], 1)
        compare("gather_where", a[:, 0], mask[:, 1])
        packed = np.broadcast_to(a.ravel()[1], np.count_nonzero(mask))
        compare("scatter_where", np.ones((2, 12)), mask, packed, packed=True)


def test_the_dtype_of_out_counts():
    a, mask = np.array([1, 2, 3], np.int16), [True, False, True]
    out = np.zeros(3, np.float32)
    ps.scatter_where(a, mask, 0.25, op="add", out=out)
    assert out.tolist() == [1.25, 2, 3.25]
    means = ps.scatter_where(a, mask, 2, op="mean")
    assert means.dtype == np.float64 and means.tolist() == [1.5, 2, 2.5]
    ps.scatter_where(a, mask, 2, op="mean", casting="unsafe", out=a)
    assert a.tolist() == [1, 2, 2]


@pytest.mark.parametrize("op", ["set", "add", "max", "first", "mean"])
@pytest.mark.parametrize("step", [1, -1, 2, -2])
def test_values_and_masks_that_share_memory_with_the_target(op, step):
    for shift in range(-3, 4):
        base = np.arange(80, dtype=np.float32) % 7
        a = base[30:40]
        start = 30 + shift + (9 * -step if step < 0 else 0)
        values = base[start : start + 10 * step : step]
        mask = np.arange(10) % 3 != 1
        expected = reference.scatter_where(a, mask, values.copy(), op=op)
        ps.scatter_where(a, mask, values, op=op, out=a)
        assert_same(a.copy(), expected, f"{op} {step} {shift}")
    flags = np.arange(60) % 4 == 0
    expected = reference.scatter_where(flags[20:40], flags[22:42].copy(), True)
    ps.scatter_where(flags[20:40], flags[22:42], True, out=flags[20:40])
    assert_same(flags[20:40].copy(), expected)
    flags = np.array([True, False, True])
    ps.scatter_where(flags, flags, [False, True, False], out=flags)
    assert flags.tolist() == [False, False, False]


def test_refused_targets_stay():
    a, mask = np.zeros(4), np.array([True, False, True, False])
    locked = a.copy()
    locked.flags.writeable = False
    wide = np.lib.stride_tricks.as_strided(a.copy(), (4,), (0,))
    for library, selection in product((ps, reference), (mask, ~mask, mask & ~mask)):
        for out in (locked, wide, np.zeros(3), np.zeros((1, 4))):
            with pytest.raises(ValueError):
                library.scatter_where(a, selection, 1.0, out=out)
            assert not out.any()
        with pytest.raises(ValueError):
            library.scatter_where(wide, selection, 1.0, op="add", out=wide)
        for out in ([0.0] * 4, np.ma.zeros(4), np.zeros(4, int)):
            with pytest.raises(TypeError):
                library.scatter_where(a, selection, 1.5, out=out)


def test_no_temporary_of_the_full_shape():
    a = np.zeros((1000, 1500), np.float32)
    rows, columns, turned = np.arange(1000) % 2 == 0, np.arange(1500.0), a.T
    whole, packed = np.ones(a.shape, bool), np.empty(a.size, a.dtype)
    calls = {
        "prefix": lambda: ps.scatter_where(a, rows, columns, out=a),
        "spread": lambda: ps.scatter_where(a, rows[:, None], 2.0, op="mul", out=a),
        "cast": lambda: ps.scatter_where(a, rows, columns.astype(">f8"), out=a),
        "mean": lambda: ps.scatter_where(a, rows, columns, op="mean", out=a),
        "columns": lambda: ps.scatter_where(turned, rows[None], 1.0, out=turned),
        "gather": lambda: ps.gather_where(a, whole, out=packed),
    }
    for name, call in calls.items():
        tracemalloc.start()
        call()
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 200_000, f"{name}: {peak} bytes"


# --- what the mask leaves out ---------------------------------------------------------


@pytest.mark.parametrize("shape", [(9,), (130,), (9, 3), (3000,)])
def test_bytes_of_unselected_elements_stay(shape):
    rng = rng_for("bytes", shape)
    octets = rng.choice(np.array([0, 0, 1, 2, 254, 255], np.uint8), (2, *shape))
    mask = np.asarray(rng.random(shape) < 0.5)
    for op in ("set", "first", "add", "mul", "min", "fmax", "and", "or", "xor"):
        for values in (octets[1].view(bool), False, True):
            a = octets[0].copy()
            compare_in_place("scatter_where", a.view(bool), mask, values, op=op)
            assert (a[mask] <= 1).all()
            assert a[~mask].tobytes() == octets[0][~mask].tobytes()
    for dtype, op in product(("f2", "f4", "f8", "c8", "c16"), ("set", "add", "min")):
        raw = rng.integers(0, 256, (*shape, np.dtype(dtype).itemsize), np.uint8)
        a = raw.view(dtype)[..., 0]  # every NaN there is
        before = raw.copy()
        if op != "min" or dtype[0] == "f":
            ps.scatter_where(a, mask, np.ones(shape, dtype), op=op, out=a)
        assert raw[~mask].tobytes() == before[~mask].tobytes()


@pytest.mark.parametrize("library", LIBRARIES)
def test_only_selected_divisors_are_looked_at(library):
    a, mask = np.array([7, 8, 9]), np.array([True, False, True])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        library.scatter_where(a, mask, [2, 0, 3], op="floor_div", out=a)
        assert a.tolist() == [3, 8, 3]
        library.scatter_where(a, mask, [1, 2], op="floor_div", packed=True, out=a)
        library.scatter_where(a, mask & False, 0, op="floor_div", out=a)
        for values in ([0, 1, 1], [1, 1, 0], 0):
            with pytest.raises(RuntimeWarning):
                library.scatter_where(a, mask, values, op="floor_div", out=a)
        with pytest.raises(RuntimeWarning):
            library.scatter_where(a, mask, [1, 0], op="floor_div", packed=True, out=a)
    assert a.tolist() == [3, 8, 1]
    with pytest.warns(RuntimeWarning) as caught:
        library.scatter_where(a, mask, 0, op="floor_div", out=a)
    assert len(caught) == 1 and a.tolist() == [0, 8, 0]


def test_zero_divisors_far_behind():
    n = 30_000
    mask = np.arange(n) % 2 == 0
    for position in (0, 62, 4096, n - 2):
        a, divisors = np.full(n, 9, np.int32), np.ones(n, np.int32)
        divisors[position] = 0
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(RuntimeWarning):
                ps.scatter_where(a, mask, divisors, op="floor_div", out=a)
            assert (a == 9).all()
            ps.scatter_where(a, ~mask, divisors, op="floor_div", out=a)
            assert (a == 9).all()


def test_float_arithmetic_warns_of_nothing():
    a = np.array([1, -1, 0, 3e38] * 40, np.float32)
    mask = np.arange(160) % 3 > 0
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        for op in ("div", "mul", "add", "sub", "floor_div", "min"):
            for value in (0.0, np.float32(3e38), np.float32(np.nan)):
                ps.scatter_where(a, mask, np.float32(value), op=op)
                ps.scatter_where(a, mask, np.full(160, value, np.float32), op=op)
        assert np.array([2.0]).sum() == 2  # no flag is left for the next call


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_count_that_differs_names_both_numbers(library):
    a = np.arange(6.0)
    for values in (np.zeros(2), np.zeros(4), np.zeros(6), np.zeros((1, 3)), [1.0, 2.0]):
        with pytest.raises(ValueError) as raised:
            library.scatter_where(a, a > 2, values, packed=True, out=a)
        assert "3" in str(raised.value)
        assert str(np.shape(values)[0]) in str(raised.value)
    assert a.tolist() == [0, 1, 2, 3, 4, 5]
