"""The twelve drop-ins for ufunc.at: NumPy's meaning, and where they differ on purpose.

A program that replaces np.add.at(a, i, b) by add_at(a, i, b) gets the same bits on
every dtype of which NumPy sums in its own precision. What differs is written down as a
test of its own: no write into read-only or self-overlapping memory, no silent
truncation, halves summed in float32, zeros ordered by sign.
"""

import numpy as np
import pytest

import pyscatter as ps
from tests import reference
from tests.cases import (
    DTYPES,
    FORMS,
    INTEGERS,
    LAYOUTS,
    WRITABLE_LAYOUTS,
    assert_same,
    drawer,
    outcome,
    random_index,
    random_values,
    rng_for,
)

DROP_INS = {
    "add_at": np.add,
    "subtract_at": np.subtract,
    "multiply_at": np.multiply,
    "divide_at": np.divide,
    "floor_divide_at": np.floor_divide,
    "minimum_at": np.minimum,
    "maximum_at": np.maximum,
    "fmin_at": np.fmin,
    "fmax_at": np.fmax,
    "bitwise_and_at": np.bitwise_and,
    "bitwise_or_at": np.bitwise_or,
    "bitwise_xor_at": np.bitwise_xor,
}
BITS = [name for name in DROP_INS if name.startswith("bitwise")]
ORDER = ["minimum_at", "maximum_at", "fmin_at", "fmax_at"]
AT_FORMS = [name for name in FORMS if name.startswith("at_")]


def is_numpys(name, dtype):
    """Is the drop-in NumPy's ufunc.at bit for bit on this dtype?"""
    kind = DTYPES[dtype].kind
    if dtype in ("f16", "bf16"):
        return False
    if kind in "iu":
        return name != "divide_at"
    if kind == "b":
        return name not in ("subtract_at", "divide_at", "floor_divide_at")
    if name in BITS:
        return False
    if kind in "cm":
        return name in ("add_at", "subtract_at", *ORDER)
    return name in ORDER or dtype in ("f32", "f64")


def numbers(rng, dtype, shape):
    """Return random values without negative zeros, whose order NumPy leaves open."""
    values = random_values(rng, DTYPES[dtype], shape, special=True)
    return values if values.dtype.kind in "bmM" else values + values.dtype.type(0)


def do(library, name, a, index, b, **options):
    """Apply a drop-in to a copy; return the copy, or the class of the error."""
    a = a.copy()
    result = outcome(getattr(library, name), a, index, b, **options)
    assert result is None or isinstance(result, type)
    return a if result is None else result


# --- NumPy's meaning ------------------------------------------------------------------


@pytest.mark.parametrize("form", AT_FORMS)
@pytest.mark.parametrize("name", DROP_INS)
def test_the_bits_are_those_of_ufunc_at(name, form):
    form = FORMS[form]
    for dtype in (dtype for dtype in DTYPES if is_numpys(name, dtype)):
        rng = rng_for(name, form.shape, dtype)
        a, b = numbers(rng, dtype, form.shape), numbers(rng, dtype, form.values)
        index = form.index(drawer(rng))
        actual = do(ps, name, a, index, b)
        with np.errstate(all="ignore"):
            DROP_INS[name].at(a, index, b)
        assert_same(actual, a, f"{name} {dtype}")


@pytest.mark.parametrize("n", [1, 100, 8191, 8192, 8193, 50_000])
@pytest.mark.parametrize("name", DROP_INS)
def test_long_lines_are_those_of_ufunc_at(name, n):
    rng = rng_for(name, n)
    for dtype in ("i16", "i64", "f32", "f64"):
        if not is_numpys(name, dtype):
            continue
        a, b = numbers(rng, dtype, 1000), numbers(rng, dtype, n)
        for index_dtype in (np.int32, np.int64):
            index = random_index(rng, "negative", n, 1000, index_dtype)
            actual, expected = do(ps, name, a, index, b), a.copy()
            with np.errstate(all="ignore"):
                DROP_INS[name].at(expected, index, b)
            assert_same(actual, expected, f"{name} {dtype}")


@pytest.mark.parametrize("name", DROP_INS)
def test_every_dtype_as_the_twin(name):
    rng = rng_for(name)
    for dtype in DTYPES:
        a = random_values(rng, DTYPES[dtype], (6, 3))
        b = random_values(rng, DTYPES[dtype], (20, 3))
        index = random_index(rng, "negative", 20, 6)
        for options in ({}, {"axis": 0}, {"axis": 0, "mode": "drop"}):
            actual = do(ps, name, a, index, b, **options)
            expected = do(reference, name, a, index, b, **options)
            if isinstance(expected, type):
                assert actual is expected, f"{name} {dtype}"
            else:
                assert_same(actual, expected, f"{name} {dtype} {options}")


@pytest.mark.parametrize("layout", WRITABLE_LAYOUTS)
@pytest.mark.parametrize("name", ["add_at", "minimum_at", "multiply_at"])
def test_targets_of_every_layout(name, layout):
    rng = rng_for(name, layout)
    for shape, tail in [((7,), ()), ((7, 4), (4,)), ((7, 2, 3), (2, 3))]:
        start, b = rng.random(shape), rng.random((30, *tail))
        index = LAYOUTS[layout](random_index(rng, "negative", 30, 7))
        a = LAYOUTS[layout](start)
        expected = do(reference, name, start, index, b)
        getattr(ps, name)(a, index, LAYOUTS[layout](b))
        assert_same(np.array(a, np.float64), expected, layout)


def test_they_return_none():
    for name in DROP_INS:
        a = np.ones(3, np.float64 if name in ("divide_at", *ORDER) else np.int64)
        assert getattr(ps, name)(a, [0], a[1]) is None


def test_the_worked_examples():
    a = np.zeros(3)
    ps.add_at(a, [0, 0, 2], 1.0)
    assert a.tolist() == [2, 0, 1]
    ps.add_at(a, np.array([True, False, True]), [10.0, 20.0])
    assert a.tolist() == [12, 0, 21]
    ps.maximum_at(a, [1, 1, -2], [3.0, 5.0, 4.0])
    assert a.tolist() == [12, 5, 21]
    grid = np.zeros((2, 3), int)
    ps.add_at(grid, (slice(None), [0, 0, 2]), [1, 2, 4])
    assert grid.tolist() == [[3, 0, 4], [3, 0, 4]]
    ps.bitwise_or_at(grid, (0, [0, 0]), [4, 8])
    assert grid.tolist() == [[15, 0, 4], [3, 0, 4]]


def test_axis_takes_the_index_form():
    grid = np.zeros((2, 3))
    ps.add_at(grid, [2, 2, 0], [1.0, 2.0, 4.0], axis=1)
    assert grid.tolist() == [[4, 0, 3], [4, 0, 3]]
    ps.add_at(grid, [-1, 1], 1.0, axis=0, mode="drop")
    assert grid.tolist() == [[4, 0, 3], [5, 1, 4]]
    ps.subtract_at(grid, [9, 0], 4.0, axis=0, where=[False, True])
    assert grid.tolist() == [[0, -4, -1], [5, 1, 4]]


def test_modes_and_where_in_an_expression():
    a = np.zeros(4)
    ps.add_at(a, [-1, 0, 4], 1.0, mode="drop")
    assert a.tolist() == [1, 0, 0, 0]
    ps.add_at(a, [-1, 0, 4], 1.0, mode="clip")
    assert a.tolist() == [3, 0, 0, 1]
    ps.add_at(a, [-1, 0, 5], 1.0, mode="wrap")
    assert a.tolist() == [4, 1, 0, 2]
    ps.add_at(a, ([[0], [9]],), 1.0, where=[[True], [False]])
    assert a.tolist() == [5, 1, 0, 2]


# --- where they differ on purpose -----------------------------------------------------


def test_halves_are_summed_in_float32():
    a = np.zeros(1, np.float16)
    ps.add_at(a, np.zeros(10_000, int), np.float16(1))
    assert a[0] == 10_000


def test_zeros_are_ordered_by_sign():
    for first, second in [(0.0, -0.0), (-0.0, 0.0)]:
        a = np.array([first, first])
        ps.minimum_at(a, [0], second)
        ps.fmax_at(a, [1], second)
        assert np.signbit(a).tolist() == [True, False]


@pytest.mark.parametrize("name", DROP_INS)
def test_readonly_memory_is_not_written(name):
    bits = np.int64 if name in BITS else np.float64
    frozen = np.frombuffer(bytes(24), bits)
    stretched = np.broadcast_to(np.zeros(1, bits), (3,))
    for a in (frozen, stretched):
        with pytest.raises(ValueError):
            getattr(ps, name)(a, [0, 1], a.dtype.type(1))
        assert not a.any()


def test_nothing_is_truncated_or_dropped():
    for a, b in [
        (np.zeros(2, int), np.array([1.9])),
        (np.zeros(2), np.array([1j])),
        (np.zeros(2, np.uint8), np.array([-1])),
        (np.zeros(2, bool), np.array([2])),
    ]:
        with pytest.raises(TypeError):
            ps.add_at(a, [0], b)
        assert not a.any()
    for dtype in INTEGERS:
        a = np.zeros(2, DTYPES[dtype])
        with pytest.raises(OverflowError):
            ps.add_at(a, [0], 2**64)
        assert not a.any()


def test_true_division_of_integers_names_the_other():
    with pytest.raises(TypeError, match="floor_div"):
        ps.divide_at(np.ones(2, int), [0], 2)


def test_one_warning_for_all_zero_divisors():
    a = np.array([7, 8, 9], np.uint8)
    with pytest.warns(RuntimeWarning) as caught:
        ps.floor_divide_at(a, [0, 1, 1], [0, 3, 0])
    assert len(caught) == 1 and a.tolist() == [0, 0, 9]


def test_complex_numbers_have_numpys_order():
    rng = rng_for("complex order")
    for name in ORDER:
        for dtype in ("c64", "c128"):
            a, b = numbers(rng, dtype, 5), numbers(rng, dtype, 60)
            index = random_index(rng, "uniform", 60, 5)
            expected = a.copy()
            DROP_INS[name].at(expected, index, b)
            assert_same(do(ps, name, a, index, b), expected, name)


# --- errors ---------------------------------------------------------------------------


@pytest.mark.parametrize("library", [ps, reference])
@pytest.mark.parametrize("name", DROP_INS)
def test_errors_are_numpys_and_leave_the_target(name, library):
    one = np.int64(1) if name in BITS else 1.0
    a = np.full(3, 6, np.int64 if name in BITS else np.float64)
    call = getattr(library, name)
    for index in ([0, 3], [-4], np.array([0.0]), [True, False], (0, 0), ("x",)):
        with pytest.raises(IndexError):
            DROP_INS[name].at(a.copy(), index, one)
        with pytest.raises(IndexError):
            call(a, index, one)
    with pytest.raises(TypeError):
        call(a, [0.0], one, axis=0)
    with pytest.raises(TypeError):
        call(a, [True], one, axis=0)
    with pytest.raises(ValueError):
        call(a, [0, 1], np.stack([one] * 3))
    with pytest.raises(ValueError):
        call(a, [0], one, mode="fill")
    with pytest.raises(np.exceptions.AxisError):
        call(a, [0], one, axis=1)
    with pytest.raises(TypeError):
        call(a.tolist(), [0], one)
    assert (a == 6).all()


def test_they_take_three_arguments_and_three_keywords():
    a = np.zeros(2)
    ps.add_at(a, indices=[0], b=1.0)
    assert a.tolist() == [1, 0]
    for wrong in (
        lambda: ps.add_at(a),
        lambda: ps.add_at(a, [0]),
        lambda: ps.add_at(a, [0], 1.0, 0),
        lambda: ps.add_at(a, [0], 1.0, out=a),
        lambda: ps.add_at(a, [0], 1.0, b=1.0),
    ):
        with pytest.raises(TypeError):
            wrong()
    assert a.tolist() == [1, 0]


@pytest.mark.parametrize("name", DROP_INS)
def test_an_empty_index_changes_nothing(name):
    a = np.ones(3, np.int64 if name in BITS else np.float64)
    for index in ([], np.zeros(0, int), np.zeros(3, bool), np.zeros((0, 2), int)):
        getattr(ps, name)(a, index, a.dtype.type(5))
    assert a.tolist() == [1, 1, 1]
