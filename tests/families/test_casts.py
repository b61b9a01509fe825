"""What is cast to what: every combination of dtypes, and objects.

A table of casts or of kernels may be empty where NumPy has a way, so each combination
of the dtypes of an array, its values, an accumulator and a result is called once, on
zeros and ones, and must give NumPy's answer or a TypeError.
"""

import sys
import warnings
from itertools import cycle, product

import numpy as np
import pytest

import pyscatter as ps
from tests import reference
from tests.cases import (
    DTYPES,
    GATHERS,
    MOVED_DTYPES,
    SCATTERS,
    TWO_OF_THREE,
    assert_same,
    thinned,
)
from tests.reference.values import can_cast

TYPES = {**DTYPES, "milliseconds": np.dtype("m8[ms]")}
CASTINGS = ["same_kind", "unsafe"]


# --- every combination ----------------------------------------------------------------


def zeros_and_one(name):
    """Return a target whose last element no call names."""
    return np.array([0, 0, 1]).astype(TYPES[name])


TARGETS = {name: zeros_and_one(name) for name in TYPES}
CALLED = np.array([0, 1])


def combining_op(*names):
    """Return an op that these dtypes have, as far as there is one."""
    return "add" if any(TYPES[name].kind == "c" for name in names) else "max"


def tried(call, *args, **options):
    """Return the result of a call, or TypeError; warnings are the caller's."""
    try:
        return call(*args, **options)
    except TypeError:
        return TypeError


def same(actual, expected):
    """Are both TypeError, or arrays of the same elements?"""
    if actual is TypeError or expected is TypeError:
        return actual is expected
    return actual.dtype == expected.dtype and actual.tolist() == expected.tolist()


def check_outs(of, via, to, expected, options):
    """Call scatter on a target of each dtype, with the result in an array of `to`."""
    rule = options["casting"]
    for name, a in TARGETS.items():
        out = np.zeros(3, TYPES[to])
        found = tried(ps.scatter, a, CALLED, TARGETS[of][1:], out=out, **options)
        wanted = expected if can_cast(TYPES[name], TYPES[to], rule) else TypeError
        if wanted is not TypeError:
            wanted[2:] = a[2:].astype(out.dtype)
        assert same(found, wanted), (name, of, via, to)
        assert found is out or found is TypeError and not out.astype(bool).any()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("casting", CASTINGS)
def test_scatter_of_every_combination_of_dtypes(casting):
    forms = cycle([ps.scatter, ps.scatter_along_axis, ps.scatter_at])
    for to, of, via in thinned(product(TYPES, TYPES, [None, *TYPES])):
        options = {"op": combining_op(to, via or to), "casting": casting}
        options["dtype"] = via and TYPES[via]
        call = (TARGETS[to], CALLED, TARGETS[of][1:])
        expected = tried(reference.scatter, *call, **options)
        assert same(tried(next(forms), *call, **options), expected), (to, of, via)
        if casting == "unsafe" or expected is not TypeError:
            check_outs(of, via, to, expected, options)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("casting", CASTINGS)
def test_scatter_where_of_every_combination_of_dtypes(casting):
    mask = np.array([True, True, False])
    for a, of, to in thinned(product(TYPES, TYPES, [None, *TYPES])):
        call = (TARGETS[a], mask, TARGETS[of][::-1])
        options = {"op": combining_op(to or a), "casting": casting}
        outs = [np.zeros(3, TYPES[to]) if to else None for _ in range(2)]
        expected = tried(reference.scatter_where, *call, out=outs[0], **options)
        found = tried(ps.scatter_where, *call, out=outs[1], **options)
        assert same(found, expected), (a, of, to)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("op", ["set", "mean", "floor_div"])
def test_other_ops_of_every_combination_of_dtypes(op):
    for to, of, via in thinned(product(TYPES, TYPES, [None, *TYPES])):
        call = (TARGETS[to], CALLED, TARGETS[of][[2, 2]])
        options = {"op": op, "casting": "unsafe", "dtype": via and TYPES[via]}
        expected = tried(reference.scatter, *call, **options)
        assert same(tried(ps.scatter, *call, **options), expected), (to, of, via)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("casting", CASTINGS)
def test_where_of_every_combination_of_dtypes(casting):
    for x, y, via in thinned(product(TYPES, TYPES, TYPES)):
        call = (CALLED, TARGETS[x][1:], TARGETS[y][1:])
        options = {"dtype": TYPES[via], "casting": casting}
        expected = tried(reference.where, *call, **options)
        assert same(tried(ps.where, *call, **options), expected), (x, y, via)
    for x, via, to in thinned(product(TYPES, TYPES, TYPES)):
        call = (CALLED, TARGETS[x][1:], TARGETS[x][:2])
        options = {"dtype": TYPES[via], "casting": casting}
        outs = [np.zeros(2, TYPES[to]) for _ in range(2)]
        expected = tried(reference.where, *call, out=outs[0], **options)
        assert same(tried(ps.where, *call, out=outs[1], **options), expected), (x, to)


@pytest.mark.filterwarnings("ignore")
def test_gather_of_every_combination_of_dtypes():
    forms = cycle(["gather", "gather_along_axis", "gather_at"])
    for a, to in product(TYPES, TYPES):
        for name in ("gather", "gather_along_axis", "gather_at"):
            outs = [np.zeros(2, TYPES[to]) for _ in range(2)]
            call = (TARGETS[a], CALLED + 1)
            expected = tried(getattr(reference, name), *call, out=outs[0])
            found = tried(getattr(ps, name), *call, out=outs[1])
            assert same(found, expected), (a, to, name)
        name = next(forms)
        for fill in (None, TARGETS[to][2] if TYPES[to].kind in "mM" else 1):
            outs = [np.zeros(2, TYPES[to]) for _ in range(2)]
            call, options = (
                (TARGETS[a], CALLED + 2),
                {"mode": "fill", "fill_value": fill},
            )
            expected = tried(getattr(reference, name), *call, out=outs[0], **options)
            found = tried(getattr(ps, name), *call, out=outs[1], **options)
            assert same(found, expected), (a, to, name, fill)
        call, options["fill_value"] = (TARGETS[a], CALLED + 2), TARGETS[to][2]
        if TYPES[a].kind not in "mM":  # NumPy's assignment, more lenient, fills these
            expected = tried(getattr(reference, name), *call, **options)
            found = tried(getattr(ps, name), *call, **options)
            assert same(found, expected), (a, to, name)


# --- objects --------------------------------------------------------------------------

HOLDERS = {
    "object": np.dtype(object),
    "record with objects": np.dtype([("n", "i4"), ("o", object)]),
    "record": MOVED_DTYPES["record"],
    "text": np.dtype("U4"),
    "int": np.dtype(int),
    "float": np.dtype(float),
}


def held(name, first):
    """Return three elements: numbers that Python makes anew, in arrays of a dtype."""
    numbers = np.array([first, first + 1, first + 2], object)
    array = np.zeros(3, HOLDERS[name])
    if name.startswith("record"):
        array["n"], array[array.dtype.names[1]] = numbers, numbers
    else:
        array[:] = numbers
    return array


def set_by_numpy(a, values, out, casting):
    """Return what setting two elements gives, or a class of exceptions."""
    dtype = a.dtype if out is None else out.dtype
    if not (
        can_cast(a.dtype, dtype, casting) and can_cast(values.dtype, dtype, casting)
    ):
        return TypeError
    try:
        result = a.astype(dtype)
        result[:2] = values.astype(dtype)[:2]
    except (TypeError, ValueError) as error:
        return type(error)
    return result


@pytest.mark.parametrize("casting", CASTINGS)
@pytest.mark.parametrize("form", SCATTERS)
def test_objects_among_target_values_and_result(form, casting):
    for x, y, z in product(HOLDERS, HOLDERS, [None, *HOLDERS]):
        a, values = held(x, 4000), held(y, 5000)
        out = None if z is None else held(z, 6000)
        before = None if z is None else out.tolist()
        expected = set_by_numpy(a, values, out, casting)
        try:
            result = SCATTERS[form](a, values[:2], casting=casting, out=out)
        except (TypeError, ValueError) as error:
            assert isinstance(expected, type), (x, y, z, error)
            assert out is None or out.tolist() == before
        else:
            assert not isinstance(expected, type), (x, y, z)
            assert result is out or out is None
            assert result.dtype == expected.dtype
            assert result.tolist() == expected.tolist(), (x, y, z)


class Thing:
    """An object that nothing else refers to."""


def look_at_result(call, *args, **options):
    """Call, and read every object of the result, if there is one."""
    repr(tried(call, *args, **options))


@pytest.mark.parametrize("form", SCATTERS)
def test_references_are_kept_by_scatters(form):
    thing = Thing()
    objects, numbers = np.full(3, thing), np.arange(4000, 4003)
    before = sys.getrefcount(thing)
    for _ in range(3):
        for a, values in product([objects, numbers], [objects, numbers]):
            for out in (None, np.full(3, thing), np.zeros(3), np.full(3, None)):
                for op in ("set", "first", "add"):
                    look_at_result(SCATTERS[form], a, values[:2], op=op, out=out)
                if out is not None:
                    repr(out)
                    out[...] = 0
    del out
    assert sys.getrefcount(thing) == before
    assert all(element is thing for element in objects)


@pytest.mark.parametrize("form", GATHERS)
def test_references_are_kept_by_gathers(form):
    thing = Thing()
    objects, numbers = np.full(3, thing), np.arange(4000, 4003)
    before = sys.getrefcount(thing)
    options = {} if form == "plan" else {"mode": "fill"}
    for _ in range(3):
        for a, fill in product([objects, numbers], [None, thing, 7000]):
            for out in (None, np.full(2, thing), np.zeros(2, int)):
                given = {"fill_value": fill, "out": out, **options}
                look_at_result(GATHERS[form], a, **given)
                if out is not None:
                    repr(out)
                    out[...] = 0
    del out, given, fill
    assert sys.getrefcount(thing) == before


def test_references_are_kept_by_conditions():
    thing = Thing()
    objects, numbers = np.full(3, thing), np.arange(4000, 4003)
    before = sys.getrefcount(thing)
    for _ in range(3):
        for x, y in product([objects, numbers], [objects, numbers, 7.5]):
            for dtype in (None, object, float):
                out = np.full(3, thing)
                options = {"dtype": dtype, "casting": "unsafe"}
                look_at_result(ps.where, TWO_OF_THREE, x, y, **options)
                look_at_result(ps.where, TWO_OF_THREE, x, y, out=out, **options)
                repr(out)
        for mask in (TWO_OF_THREE, TWO_OF_THREE[:1], np.True_):
            look_at_result(ps.gather_where, objects, mask)
        look_at_result(ps.gather_where, objects, TWO_OF_THREE, axis=0)
        assert ps.nonzero(objects)[0].tolist() == [0, 1, 2]
        assert ps.count_nonzero(objects) == 3
    del out
    assert sys.getrefcount(thing) == before


def test_objects_gathered_into_other_arrays():
    objects = np.array([[1], "two", 3], object)
    for out in (np.full(2, None), np.full(4, None)[::2]):
        assert ps.gather(objects, [1, 0], out=out) is out
        assert out.tolist() == ["two", [1]]
    out = np.full(2, None)
    assert ps.gather(np.arange(3), [1, 2], out=out).tolist() == [1, 2]
    shared = np.broadcast_to(np.full(1, None), 2)
    writeable = np.lib.stride_tricks.as_strided(out, (2,), (0,))
    masked = np.ma.array([1, 2], dtype=object)
    for bad, error in [
        (np.zeros(2), TypeError),
        (shared, ValueError),
        (writeable, ValueError),
        (masked, TypeError),
        (np.full(3, None), ValueError),
    ]:
        with pytest.raises(error):
            ps.gather(objects, [1, 0], out=bad)
    filled = ps.gather(objects, [0, 9], mode="fill", fill_value=[7, 8])
    assert filled.tolist() == [[1], [7, 8]]


@pytest.mark.parametrize("form", SCATTERS)
def test_masked_values_and_results_of_objects_are_refused(form):
    objects = np.full(3, None)
    if form != "where":
        with pytest.raises(TypeError, match="masked array"):
            SCATTERS[form](objects, np.ma.array([1, 2], mask=[0, 1]))
    with pytest.raises(TypeError, match="masked array"):
        SCATTERS[form](objects, [1, 2], out=np.ma.array([1, 2, 3], dtype=object))
    shared = np.lib.stride_tricks.as_strided(np.full(1, None), (3,), (0,))
    with pytest.raises(ValueError, match="share memory"):
        SCATTERS[form](objects, [1, 2], out=shared)


# --- whose dtype counts ---------------------------------------------------------------


@pytest.mark.parametrize("form", SCATTERS)
def test_the_result_says_which_ops_there_are(form):
    a, out = np.array([6, 8, 10]), np.zeros(3)
    assert SCATTERS[form](a, [4, 4], op="div", out=out) is out
    assert out.tolist() == [1.5, 2, 10]
    with pytest.raises(TypeError, match="floor_div"):
        SCATTERS[form](out, [4, 4], op="div", casting="unsafe", out=a)
    times = np.zeros(3, "m8[s]")
    assert SCATTERS[form](a, [4, 4], op="sub", out=times).astype(int).tolist() == [
        2,
        4,
        10,
    ]
    with pytest.raises(TypeError, match="int64"):
        SCATTERS[form](times, [4, 4], op="div", out=a, casting="unsafe")


@pytest.mark.parametrize("form", SCATTERS)
def test_means_of_whole_numbers_take_fractions(form):
    a = np.array([10, 20, 30], np.uint8)
    for casting in CASTINGS:
        for values in ([-5.0, 0.5], np.array([-5.0, 0.5])):
            means = SCATTERS[form](a, values, op="mean", casting=casting)
            assert_same(means, np.array([2.5, 10.25, 30.0]))
    small = np.array([100, 20, 30], np.int8)
    SCATTERS[form](
        small, np.array([-300.0, 2.0]), op="mean", casting="unsafe", out=small
    )
    assert small.tolist() == [-100, 11, 30]


def test_means_do_not_ask_what_a_mask_leaves_out():
    a, mask = np.array([10, 20], np.uint8), np.array([True, False])
    for other in (1.0, 0.5, np.nan, -1.0, 1e300):
        means = ps.scatter_where(a, mask, np.array([5.0, other]), op="mean")
        assert_same(means, np.array([7.5, 20.0]))


@pytest.mark.parametrize(
    "values", [[np.nan, 3.0], (1e300, 3.0), np.array([np.nan, 3.0])]
)
def test_python_numbers_that_a_mask_leaves_out_are_not_cast(values):
    mask = np.array([False, True])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = ps.scatter_where(np.zeros(2, int), mask, values, casting="unsafe")
        assert result.tolist() == [0, 3]
        ps.scatter_where(np.zeros(2, int), ~mask & mask, np.nan, casting="unsafe")


def test_divisors_are_zero_in_the_accumulator():
    a = np.array([7, 8, 9])
    options = {"op": "floor_div", "casting": "unsafe"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = ps.scatter(a, [0, 1], np.array([0.5, 2.0]), dtype=float, **options)
    assert result.tolist() == [14, 4, 9]
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        result = ps.scatter(a * 1.0, [0, 1], np.array([0.5, 2.0]), dtype=int, **options)
    assert result.tolist() == [0, 4, 9]


def test_the_fill_value_is_of_the_dtype_of_the_result():
    numbers, out = np.arange(5, 8), np.zeros(2)
    for form in ("axis", "along", "nd", "at", "plan"):
        options = {} if form == "plan" else {"mode": "fill"}
        GATHERS[form](numbers, fill_value=np.nan, out=out, **options)
        assert_same(out, np.array([6, np.nan]))
        text, objects = np.zeros(2, "U3"), np.full(2, None)
        assert GATHERS[form](numbers, out=text, **options).tolist() == ["6", ""]
        GATHERS[form](numbers, fill_value="none", out=objects, **options)
        assert objects.tolist() == [6, "none"]
        with pytest.raises(TypeError):
            GATHERS[form](out, fill_value=1, out=np.zeros(2, int), **options)
    where = np.array([True, False])
    found = ps.gather(numbers, [2, 0], where=where, fill_value=-0.5, out=out)
    assert found is out and out.tolist() == [7, -0.5]


def test_complex_numbers_do_not_go_into_bfloat16():
    half = pytest.importorskip("ml_dtypes").bfloat16
    z, out = np.array([1 + 2j, 3, 4]), np.zeros(3, half)
    for call in (
        lambda: ps.scatter(z, [0, 1], 1.0, out=out),
        lambda: ps.scatter(out, [0, 1], z[:2]),
        lambda: ps.gather(z, [0, 1, 2], out=out),
        lambda: ps.where(TWO_OF_THREE, z, z, dtype=half),
        lambda: ps.where(TWO_OF_THREE, z, z, out=out),
    ):
        with pytest.raises(TypeError):
            call()
