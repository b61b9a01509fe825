"""where and apply_where against their slow twins: dtypes, shapes, layouts, targets.

First the twin itself is compared with NumPy, which means the same but for Python
numbers that do not fit. Masked updates have a file of their own, test_masked.py.
"""

from itertools import product

import numpy as np
import pytest

import pyscatter as ps
from tests import reference
from tests.cases import (
    DTYPES,
    INTEGERS,
    LAYOUTS,
    MASK_SIZES,
    MASKS,
    MOVED_DTYPES,
    REAL,
    assert_fresh,
    assert_same,
    compare,
    outcome,
    random_mask,
    random_values,
    rng_for,
)
from tests.reference.nonzero import truth

CORE = ps._core
ALL_DTYPES = {**DTYPES, **MOVED_DTYPES}
LIBRARIES = [pytest.param(ps, id="pyscatter"), pytest.param(reference, id="reference")]
# Shapes of condition, x and y.
SHAPES = [
    ((9,), (9,), (9,)),
    ((), (), ()),
    ((), (4,), (4,)),
    ((4,), (), ()),
    ((3, 4), (4,), (3, 1)),
    ((3, 1), (1, 4), ()),
    ((1, 4), (3, 1), (3, 4)),
    ((2, 3, 4), (3, 4), (2, 1, 1)),
    ((1, 1), (1,), (5,)),
    ((70, 3), (3,), (70, 1)),
    ((2, 70), (2, 1), (70,)),
    ((4, 1, 3), (1, 5, 1), (4, 5, 3)),
    ((0,), (1,), (0,)),
    ((3, 0), (1, 1), (3, 1)),
    ((2, 1, 2, 1, 2), (2, 2, 1), (1, 3, 1, 1, 1)),
]


def drawn(rng, dtype, shapes):
    """Return a condition, x and y of these shapes."""
    condition = np.asarray(rng.random(shapes[0]) < 0.5)
    return condition, *(random_values(rng, dtype, shape) for shape in shapes[1:])


# --- the twin itself, examples --------------------------------------------------------


@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_the_twin_agrees_with_numpy(dtype):
    for shapes in SHAPES:
        condition, x, y = drawn(rng_for("twin", dtype), ALL_DTYPES[dtype], shapes)
        expected = np.array(np.where(condition, x, y), order="C")
        assert_same(reference.where(condition, x, y), expected, f"{shapes}")


@pytest.mark.parametrize("library", LIBRARIES)
def test_worked_examples(library):
    x = np.array([1.0, 5.0, 2.0, 8.0])
    assert library.where(x < 3.0, 0.0, x).tolist() == [0, 5, 0, 8]
    assert library.where([True, False], [1, 2], [3, 4]).tolist() == [1, 4]
    table = library.where(np.eye(2, dtype=bool), x[:2], [[7.0], [9.0]])
    assert table.tolist() == [[1, 7], [9, 5]]
    assert library.where([2, 0, -1], 1, 0).tolist() == [1, 0, 1]
    assert library.where(x > 3, x, out=x, y=0.0) is x
    assert x.tolist() == [0, 5, 0, 8]
    assert library.where(True, 1, 2).shape == ()
    halves = library.where([True, False], 1.5, 2, dtype=np.float32)
    assert halves.dtype == np.float32 and halves.tolist() == [1.5, 2]


@pytest.mark.parametrize("shapes", SHAPES)
def test_three_way_broadcasting(shapes):
    rng = rng_for("shapes", shapes)
    for dtype in ("f64", "f32", "i16", "b1", "c128", "str", "packed", "object", "f80"):
        condition, x, y = drawn(rng, ALL_DTYPES[dtype], shapes)
        assert_fresh(compare("where", condition, x, y), condition, x, y)
        if dtype != "packed":
            compare("where", condition, y, x.astype(ALL_DTYPES[dtype]))


def test_shapes_that_do_not_broadcast():
    three, four = np.zeros(3), np.zeros(4)
    for args in ((three, four, 0.0), (three, 0.0, four), (0.0, three, four)):
        for library in (ps, reference):
            with pytest.raises(ValueError):
                library.where(*args)


def test_many_axes():
    shape = (1,) * 30 + (3,) + (1,) * 31 + (4,)
    x = np.arange(12.0).reshape(shape)
    compare("where", x > 5, x, 0.0)
    compare("where", [True, False, True, False], x, -x)
    many = np.arange(64).reshape((2,) * 6)
    compare("where", many % 3 == 0, many.T, many.transpose(3, 1, 4, 0, 5, 2))


# --- dtypes ---------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_every_condition(dtype):
    rng = rng_for("condition", dtype)
    for shape in ((9,), (4, 5), (), (3, 40), (0,)):
        values = random_values(rng, ALL_DTYPES[dtype], shape)
        zeros = np.zeros(shape, values.dtype)
        condition = np.where(rng.random(shape) < 0.5, values, zeros)
        if values.dtype.kind == "V" and values.dtype.names:
            continue  # NumPy has no truth of records here
        x, y = rng.random(shape), rng.random(shape)
        expected = np.where(np.reshape(truth(np.asarray(condition)), shape), x, y)
        for layout in LAYOUTS.values():
            actual = ps.where(layout(np.asarray(condition)), x, y)
            assert_same(actual, np.asarray(expected), dtype)


def test_every_byte_of_a_condition():
    octets = np.arange(256).astype(np.uint8)
    right = np.where(octets != 0, 1, 2)
    assert_same(ps.where(octets.view(bool), 1, 2), right)
    assert_same(ps.where(octets.view(bool)[::-1], 1, 2), right[::-1].copy())
    assert_same(ps.where(octets, 1, 2), right)


@pytest.mark.parametrize("first", ALL_DTYPES)
def test_every_pair_of_dtypes(first):
    rng = rng_for("pairs", first)
    condition = np.array([True, False, True, True, False, False])
    for second in ALL_DTYPES:
        x = random_values(rng, ALL_DTYPES[first], 6, special=False)
        y = random_values(rng, ALL_DTYPES[second], 6, special=False)
        expected = outcome(reference.where, condition, x, y)
        actual = outcome(ps.where, condition, x, y)
        if isinstance(expected, type):
            assert isinstance(actual, type), f"{first} {second}: {actual!r}"
            assert issubclass(actual, TypeError), f"{first} {second}"
        else:
            assert_same(actual, expected, f"{first} {second}")


@pytest.mark.parametrize("target", DTYPES)
def test_every_target_dtype(target):
    rng = rng_for("target", target)
    condition = np.array([True, False, True, True, False, False])
    for source in DTYPES:
        x = random_values(rng, DTYPES[source], 6, special=False)
        y = random_values(rng, DTYPES[source], 6, special=False)
        for casting in ("same_kind", "safe", "no", "equiv"):
            options = {"dtype": DTYPES[target], "casting": casting}
            compare("where", condition, x, y, **options)
            outs = np.zeros((2, 6), DTYPES[target])
            options = {"casting": casting}
            expected = outcome(reference.where, condition, x, y, out=outs[0], **options)
            actual = outcome(ps.where, condition, x, y, out=outs[1], **options)
            failed = isinstance(expected, type)
            assert (actual is expected) if failed else (actual is not None)
            assert_same(outs[1], outs[0], f"{source} to {target} {casting}")


WEAK = [0, 1, -1, 255, 256, 2**31, 2**63, 2**64, 10**400, True, False]
WEAK += [1.5, -0.0, 1e300, 3.5e38, 7e4, float("nan"), float("inf"), 1j]


@pytest.mark.parametrize("dtype", [*INTEGERS, *REAL, "b1", "c64", "c128"])
def test_python_numbers_are_weak(dtype):
    x = random_values(rng_for("weak", dtype), DTYPES[dtype], 4)
    condition = [True, False, False, True]
    for number in WEAK:
        for args in ((x, number), (number, x)):
            compare("where", condition, *args)
            compare("where", condition, *args, dtype=DTYPES[dtype])
            if x.dtype.kind != "c":  # refused in two ways, of which either is right
                compare("where", condition, *args, dtype=np.float64)
            compare("where", condition, *args, out=np.zeros(4, DTYPES[dtype]))


def test_two_python_numbers():
    for x, y in product([True, 2, 2.5, 2j, -1], repeat=2):
        expected = np.where([True, False], x, y)
        assert_same(ps.where([True, False], x, y), expected)
        compare("where", [True, False], x, y, dtype=np.float32)


def test_lists_and_numpy_scalars_are_arrays():
    x = np.array([1, 2], np.uint8)
    condition = [True, False]
    for other in ([300, 300], (1.5, 2.5), np.int64(3), np.array(2.5), [True, False]):
        result = compare("where", condition, x, other)
        assert result.dtype == np.result_type(x, np.asarray(other))


def test_moves_keep_every_bit():
    octets = np.random.default_rng(3).integers(0, 256, (2, 160), np.uint8)
    condition = np.arange(160) % 3 == 0
    for dtype in ("f2", "f4", "f8", "c8", "c16", "M8[s]", ">f4", "V3", "V5", "V24"):
        x, y = (
            row[: 160 // np.dtype(dtype).itemsize * np.dtype(dtype).itemsize].view(
                dtype
            )
            for row in octets
        )
        chosen = condition[: len(x)]
        result = ps.where(chosen, x, y)
        native = x.dtype.newbyteorder("=")
        for i, is_true in enumerate(chosen):
            right = (x if is_true else y)[i : i + 1]
            right = right.byteswap().view(native) if not x.dtype.isnative else right
            assert result[i : i + 1].tobytes() == right.tobytes()


def test_strings_records_and_objects():
    condition = np.array([True, False, True])
    short, long = np.array(["a", "b", "c"]), np.array(["dd", "ee", "ff"])
    assert_same(ps.where(condition, short, long), np.where(condition, short, long))
    swapped = short.astype(">U1")
    assert_same(ps.where(condition, swapped, long), np.where(condition, short, long))
    octets = np.array([b"x", b"yz", b""])
    assert_same(ps.where(condition, octets, short), np.where(condition, octets, short))
    things = np.array([None, "x", 3], object)
    assert ps.where(condition, things, 0).tolist() == [None, 0, 3]
    out = np.array([1, 2, 3], object)
    assert ps.where(condition, things, out, out=out) is out
    assert out.tolist() == [None, 2, 3]
    records = np.array([(1, 2.0), (3, 4.0), (5, 6.0)], MOVED_DTYPES["record"])
    expected = np.where(condition, records, records[::-1])
    assert_same(ps.where(condition, records, records[::-1]), expected)


# --- sizes, levels, threads -----------------------------------------------------------

WIDTHS = ("u1", "u2", "f4", "f8", "c16", "V3", "V24", "longdouble")


@pytest.mark.parametrize("isa", CORE.levels())
@pytest.mark.parametrize("kind", MASKS)
def test_block_edges(kind, isa):
    CORE.force_level(isa)
    rng = rng_for("edges", kind)
    for n in MASK_SIZES:
        condition = random_mask(rng, kind, (n,))
        for dtype in WIDTHS if n < 2000 or n % 3 == 0 else WIDTHS[2:4]:
            x, y = (random_values(rng, np.dtype(dtype), n) for _ in "xy")
            expected = np.where(condition, x, y)
            assert_same(ps.where(condition, x, y), expected, f"{n} {dtype}")
            if n:
                expected = np.where(condition, x[0], y)
                assert_same(ps.where(condition, x[:1], y), expected, f"{n} {dtype}")
                expected = np.where(condition, x, y[0])
                assert_same(ps.where(condition, x, y[0]), expected, f"{n} {dtype}")
                expected = np.where(condition, x[0], y[0])
                assert_same(ps.where(condition, x[0], y[0]), expected, f"{n} {dtype}")


@pytest.mark.parametrize("isa", CORE.levels())
@pytest.mark.parametrize("dtype", DTYPES)
def test_casts_in_blocks(dtype, isa):
    CORE.force_level(isa)
    rng = rng_for("casts", dtype)
    n = 9001
    condition = random_mask(rng, "runs", (n,))
    x = random_values(rng, DTYPES[dtype], n, special=False)
    for target in ("f32", "f64", "i64", "c128", "f16"):
        if not np.can_cast(x.dtype, DTYPES[target], "same_kind"):
            continue
        y = random_values(rng, DTYPES[target], n, special=False)
        with np.errstate(all="ignore"):
            expected = np.where(condition, x.astype(y.dtype), y)
            swapped = y.astype(y.dtype.newbyteorder("S"))
            assert_same(ps.where(condition, x, swapped, dtype=y.dtype), expected)
            spread = np.where(condition, x[:1].astype(y.dtype), y)
            assert_same(ps.where(condition, x[:1], y, dtype=y.dtype), spread)


@pytest.mark.parametrize("kind", MASKS)
def test_the_same_on_every_level_and_number_of_threads(kind):
    rng = rng_for("ways", kind)
    for shape in ((600_000,), (700, 900), (300, 40, 50)):
        condition = random_mask(rng, kind, shape)
        x = rng.standard_normal(shape).astype(np.float32)
        row, column = x[..., :1], x[:1]
        calls = [
            (condition, x, -x),
            (condition, x, 0.0),
            (condition, row, x.astype(np.float64)),
            (condition[..., ::-1], x.T.copy().T, column),
            (condition[:1], row, column),
            (x, 1.5, column),
        ]
        for args in calls:
            weak = [np.float32(v) if isinstance(v, float) else v for v in args]
            expected = np.array(np.where(*weak), order="C")
            for isa in CORE.levels():
                CORE.force_level(isa)
                for threads in (1, 2, 3, 7) if isa == CORE.levels()[-1] else (2,):
                    with ps.num_threads(threads):
                        assert_same(ps.where(*args), expected, f"{isa} {threads}")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["half", "runs", "sparse"])
@pytest.mark.parametrize("dtype", ["f4", "f8", "u1", "c16"])
def test_arrays_beyond_the_caches(dtype, kind):
    rng = rng_for("large", dtype, kind)
    n = 18_000_000 // np.dtype(dtype).itemsize  # results from 16 MiB on are streamed
    condition = random_mask(rng, kind, (n,))
    x = (np.arange(n) % 251).astype(dtype)
    y = x[::-1].copy()
    expected = np.where(condition, x, y)
    memory = np.zeros(expected.nbytes + 128, np.uint8)
    for shift, threads in ((0, 1), (0, 2), (8, 2), (20, 1), (3, 2)):
        out = memory[shift : shift + expected.nbytes].view(dtype)
        memory[:] = 77
        with ps.num_threads(threads):
            ps.where(condition, x, y, out=out)
        assert np.array_equal(out, expected)
        assert (memory[:shift] == 77).all()
        assert (memory[shift + expected.nbytes :] == 77).all()
