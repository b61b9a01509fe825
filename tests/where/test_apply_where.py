"""apply_where against its slow twin: who is called with what, and the dtypes of it."""

import warnings

import numpy as np
import pytest

import pyscatter as ps
from tests import reference
from tests.cases import (
    DTYPES,
    MASKS,
    assert_same,
    compare,
    outcome,
    random_mask,
    random_values,
    rng_for,
)

LIBRARIES = [pytest.param(ps, id="pyscatter"), pytest.param(reference, id="reference")]


@pytest.mark.parametrize("library", LIBRARIES)
def test_apply_where_examples(library):
    x = np.array([-1.0, 0.0, 1.0, np.e])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = library.apply_where(x > 0, x, np.log, fill_value=0.0)
        assert result.tolist() == [0, 0, 0, 1]
        both = library.apply_where(x > 0, (x, 2.0), np.divide, lambda a, b: a * b)
    assert both.tolist() == [-2, 0, 0.5, np.e / 2]
    pairs = library.apply_where(
        [[True], [False]], ([1.0, 2.0], [[3.0], [4.0]]), np.add, fill_value=-1
    )
    assert pairs.tolist() == [[4, 5], [-1, -1]]


@pytest.mark.parametrize("library", LIBRARIES)
def test_functions_see_their_own_elements_alone(library):
    seen = {}

    def record(name, result):
        def function(*args):
            seen[name] = [np.array(arg) for arg in args]
            assert all(arg.ndim == 1 for arg in args)
            return np.full(args[0].shape, result)

        return function

    x, y = np.arange(12).reshape(3, 4), np.array([10.0, 20.0, 30.0, 40.0])
    for kind in MASKS:
        condition = random_mask(rng_for("apply", kind), kind, (3, 4))
        result = library.apply_where(condition, (x, y), record(1, 5.0), record(2, 6.0))
        wide = np.broadcast_to(y, (3, 4))
        assert [arg.tolist() for arg in seen[1]] == [
            x[condition].tolist(),
            wide[condition].tolist(),
        ]
        assert [arg.tolist() for arg in seen[2]] == [
            x[~condition].tolist(),
            wide[~condition].tolist(),
        ]
        assert_same(result, np.where(condition, 5.0, 6.0))
        library.apply_where(condition, x, record(1, 5.0), fill_value=0.0)
        assert seen[1][0].tolist() == x[condition].tolist()


FILLS = [0, 1.5, True, 2j, -1, np.nan, np.float32(1), np.float64(2), np.int64(3)]
FILLS += [np.array(2.5), np.array([1, 2, 3]), np.array([1.0], np.float32)]


@pytest.mark.parametrize("dtype", ["f32", "f64", "i8", "u8", "i64", "b1", "c64", "f16"])
def test_the_dtype_of_results(dtype):
    x = random_values(rng_for("apply", dtype), DTYPES[dtype], 3, special=False)
    condition = [True, False, True]
    for fill in FILLS:
        expected = outcome(
            reference.apply_where, condition, x, lambda v: v, fill_value=fill
        )
        actual = outcome(ps.apply_where, condition, x, lambda v: v, fill_value=fill)
        if isinstance(expected, type):
            assert actual is expected
            continue
        assert_same(actual, expected, repr(fill))
        mine = np.result_type(
            x, fill if type(fill) in (int, float, bool, complex) else np.asarray(fill)
        )
        assert actual.dtype == mine
    for other in DTYPES:
        y = random_values(rng_for(other), DTYPES[other], 3, special=False)
        compare("apply_where", condition, (x, y), lambda v, w: v, lambda v, w: w)


@pytest.mark.parametrize("library", LIBRARIES)
def test_apply_where_refuses(library):
    x = np.arange(3.0)
    with pytest.raises(TypeError, match="fill_value"):
        library.apply_where(x > 0, x, np.log)
    with pytest.raises(TypeError, match="fill_value"):
        library.apply_where(x > 0, x, np.log, np.exp, fill_value=0.0)
    with pytest.raises(TypeError, match="derivative"):
        library.apply_where(x > 0, x, np.log, fill_value=0.0, derivative=3)
    library.apply_where(x > 0, x, np.log, fill_value=0.0, derivative=np.reciprocal)
    with pytest.raises(ValueError):
        library.apply_where([True] * 2, x, np.log, fill_value=0.0)
    with pytest.raises(ValueError):
        library.apply_where(x > 0, x, lambda v: np.zeros(7), fill_value=0.0)
    with pytest.raises(TypeError):
        library.apply_where(np.ma.masked_array(x > 0), x, np.log, fill_value=0.0)
    with pytest.raises(ZeroDivisionError):
        library.apply_where(x > 0, x, lambda v: 1 / 0, fill_value=0.0)
