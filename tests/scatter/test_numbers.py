"""Python numbers, which take the dtype of what they meet, and what means are summed in.

A number warns where NumPy's cast of it would: where it overflows the target's type, if
it takes part, before anything is written, whatever the sum is kept in.
"""

import functools
import warnings

import numpy as np
import pytest

import pyscatter as ps
from tests.cases import (
    DTYPES,
    GATHERS,
    SCATTERS,
    TWO_OF_THREE,
    assert_same,
    snapshot,
)

NARROW = {"f16": 65504.0, "bf16": 3.38e38, "f32": 3.4e38, "c64": 3.4e38}
NARROW = {name: limit for name, limit in NARROW.items() if name in DTYPES}
OVERFLOW = "overflow encountered in cast"


# --- Python numbers -------------------------------------------------------------------


# One entry for each way into the library that takes a number.
def made_of(number, dtype):
    """Return {name: call} that put a Python number into arrays of a narrow dtype."""
    ones = np.ones(3, dtype)
    condition = np.array([True, False, True])

    def in_place(call):
        target = ones.copy()
        call(target)
        return target

    calls = {
        f"scatter {name}": lambda form=form: form(ones, [number, 1])
        for name, form in SCATTERS.items()
    }
    calls |= {
        f"gather {name}": lambda form=form, name=name: form(
            ones, fill_value=number, **({} if name == "plan" else {"mode": "fill"})
        )
        for name, form in GATHERS.items()
    }
    return calls | {
        "scalar": lambda: ps.scatter(ones, [0, 1], number),
        "mask and scalar": lambda: ps.scatter_where(ones, condition, number),
        "wide sums": lambda: ps.scatter(
            ones, [0, 1], number, op="add", dtype=np.result_type(dtype, float)
        ),
        "mean": lambda: ps.scatter(ones, [0, 1], number, op="mean"),
        "drop-in": lambda: in_place(lambda a: ps.add_at(a, [0, 1], number)),
        "drop-in with axis": lambda: in_place(
            lambda a: (
                ps.maximum_at(a, [0, 1], number, axis=0)
                if dtype.kind != "c"
                else ps.add_at(a, [0, 1], number, axis=0)
            )
        ),
        "x": lambda: ps.where(condition, number, ones),
        "y": lambda: ps.where(condition, ones, number),
        "y with out": lambda: ps.where(condition, ones, number, out=ones.copy()),
        "both": lambda: ps.where(condition, number, number, dtype=dtype),
        "apply_where": lambda: ps.apply_where(
            condition, ones, lambda x: x, fill_value=number
        ),
    }


@pytest.mark.parametrize("name", NARROW)
def test_a_python_number_that_overflows_warns(name):
    numbers = [1e150, -1e150, 10**100]
    numbers += [1e150j, complex(1, -1e150)] if DTYPES[name].kind == "c" else []
    for number in numbers:
        for case, call in made_of(number, DTYPES[name]).items():
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                result = call()
            words = {str(warning.message) for warning in caught}
            assert words == {OVERFLOW}, (case, number, words)
            assert np.isinf(result).any() or "drop-in" in case, (case, number)
            with np.errstate(over="raise"), pytest.raises(FloatingPointError):
                call()
            with np.errstate(over="ignore"), warnings.catch_warnings():
                warnings.simplefilter("error")
                call()


@pytest.mark.parametrize("name", NARROW)
def test_python_numbers_that_fit_do_not_warn(name):
    limit = NARROW[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for number in (np.inf, -np.inf, np.nan, 1e-300, limit, -limit):
            for call in made_of(float(number), DTYPES[name]).values():
                call()


@pytest.mark.parametrize("name", NARROW)
def test_numbers_beside_the_limit_warn_as_numpy_does(name):
    dtype = DTYPES[name]
    step = {"f16": 2.0**5, "bf16": 2.0**120}.get(name, 2.0**104)
    edge = 2.0**16 if name == "f16" else 2.0**128
    for number in (edge - step * k / 4 for k in range(1, 7)):
        found = []
        ones, true = np.ones(2, dtype), np.array([True, True])
        for call, *args in (
            (np.array([number]).astype, dtype),
            (ps.scatter, ones, [0], number),
            (ps.scatter, ones, [0, 1], [number, 1.0]),
            (ps.where, true, number, ones),
        ):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                call(*args)
            found.append([str(warning.message) for warning in caught])
        assert found == found[:1] * 4, number


def test_numbers_that_take_no_part_do_not_warn():
    a, none = np.ones(3, np.float32), np.zeros(3, bool)
    numbers = [1e150, 2.0, 1e150]
    middle = np.array([False, True, False])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for values in (1e150, [1e150] * 3):
            ps.scatter_where(a, none, values)
            ps.scatter(a, [0, 1, 2], values, where=none)
            ps.scatter_at(a, none, values if values == 1e150 else [])
            ps.scatter(a, [7, 8, 9], values, mode="drop")
        ps.where(none, 1e150, a)
        ps.where(~none, a, 1e150)
        ps.where(~none, a, np.float64(1e150), dtype=a.dtype)
        ps.where(none, np.array([1e150]), a, dtype=a.dtype)
        assert ps.scatter_where(a, middle, numbers).tolist() == [1, 2, 1]
        assert ps.scatter(a, [0, 1, 2], numbers, where=middle).tolist() == [1, 2, 1]
    rows = np.ones((3, 2), np.float32)
    with pytest.warns(RuntimeWarning, match=OVERFLOW):
        ps.scatter(rows, [0, 2], [[1.0, 2.0], [1.0, 1e150]])


def test_a_warning_comes_before_the_first_write():
    for name, call in {
        "axis": lambda a: ps.scatter(a, [0, 1], [1.0, 1e150], out=a),
        "add_at": lambda a: ps.add_at(a, [0, 1], 1e150),
        "mask": lambda a: ps.scatter_where(a, TWO_OF_THREE, 1e150, out=a),
        "where": lambda a: ps.where(TWO_OF_THREE, 1e150, 1.0, out=a),
        "strided": lambda a: ps.scatter(a[::2], [0, 1], 1e150, axis=None, out=a[::2]),
    }.items():
        target = np.arange(3, dtype=np.float32)
        before = snapshot(target)
        with np.errstate(over="raise"), pytest.raises(FloatingPointError):
            call(target)
        assert snapshot(target) == before, name


def test_the_sum_of_a_number_that_overflows_stays_wide():
    half = np.array([1.0, -1e4], np.float16)
    with pytest.warns(RuntimeWarning, match=OVERFLOW):
        result = ps.scatter(half, [0, 1, 1], [7e4, 7e4, -5e4], op="add")
    assert result.tolist() == [np.inf, 1e4]
    with pytest.warns(RuntimeWarning, match=OVERFLOW):
        assert ps.scatter(half, [0, 1], 7e4, op="min").tolist() == [1.0, -1e4]


def copied(number, dtype, casting):
    """Return what np.copyto makes of a Python number, or the exception's class."""
    target = np.zeros(1, dtype)
    try:
        np.copyto(target, number, casting=casting)
    except (TypeError, OverflowError) as error:
        return type(error)
    return target


def has_the_rules_of_copyto():
    """Whether this NumPy has them: 2.0 wraps large numbers, 2.5 casts to times anew."""
    return (2, 3) <= tuple(map(int, np.__version__.split(".")[:2])) < (2, 5)


@pytest.mark.skipif(not has_the_rules_of_copyto(), reason="NumPy's rules differ")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("casting", ["no", "equiv", "safe", "same_kind", "unsafe"])
def test_casting_of_python_numbers_is_that_of_copyto(casting):
    for name, dtype in DTYPES.items():
        for number in (True, 3, 300, 2.5, 2 + 0j):
            if name == "bf16" and type(number) is complex and casting == "same_kind":
                continue  # np.copyto drops the imaginary part
            expected = copied(number, dtype, casting)
            a, found = np.zeros(1, dtype), []
            for call, *args in (
                (ps.scatter, a, [0], number),
                (ps.scatter, a, [0], [number]),
                (ps.scatter_where, a, [True], number),
                (functools.partial(ps.where, dtype=dtype), [True], number, a),
            ):
                try:
                    found.append(call(*args, casting=casting))
                except (TypeError, OverflowError) as error:
                    found.append(type(error))
            for result in found:
                context = (name, number, result, expected)
                if isinstance(expected, type) or isinstance(result, type):
                    assert result is expected, context
                else:
                    assert result.tolist() == expected.tolist(), context


# --- means ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", NARROW)
def test_means_are_summed_wide(name):
    dtype, n = DTYPES[name], 20_000
    number = np.array(1e4, dtype)
    index = np.zeros(n, int)
    for include_self in (True, False):
        for compensated in (True, False):
            options = {"include_self": include_self, "compensated": compensated}
            a = np.full(2, number)
            assert_same(ps.scatter(a, index, number, op="mean", **options), a)
            ps.scatter(a, index, number, op="mean", out=a, **options)
            assert_same(a, np.full(2, number))
    huge = np.full(2, NARROW[name]).astype(dtype)
    assert_same(ps.scatter(huge, [0, 0, 1], huge[0], op="mean"), huge)
    assert_same(ps.scatter_where(huge, [True, False], huge, op="mean"), huge)


def test_dtype_says_in_what_means_are_summed():
    a, index = np.full(1, 1e4, np.float32), np.zeros(200_000, int)
    wide = ps.scatter(a, index, a[0], op="mean")
    narrow = ps.scatter(a, index, a[0], op="mean", dtype=np.float32)
    assert wide[0] == 1e4 != narrow[0]
    assert_same(ps.scatter(a, index, a[0], op="mean", dtype=np.float64), wide)
    half = ps.scatter(a, index, a[0], op="mean", dtype=np.float16)
    assert_same(half, narrow)  # halves are summed in float32


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("op", ["add", "mean"])
def test_compensated_sums_of_minus_zeros_keep_the_sign(op, dtype):
    """In every layout, among few elements and many."""
    for a in (
        np.full(4, -0.0, dtype),
        np.full(4, -0.0, dtype)[::-1],
        np.full(8, -0.0, dtype)[::2],
        np.full(4000, -0.0, dtype),
    ):
        for include_self in (True, False):
            given = {"compensated": True, "include_self": include_self}
            ps.scatter(a, [1, 1], np.full(2, -0.0, dtype), op=op, out=a, **given)
            assert a[1] == 0 and np.signbit(a).all()
