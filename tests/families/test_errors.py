"""Calls that must fail: which exception, saying what, leaving the target as it was.

The library and its slow twin are asked the same, so that neither accepts what the other
refuses. Malformed input of a more hostile kind has a corpus of its own.
"""

import re

import numpy as np
import pytest

import pyscatter as ps
from tests import reference
from tests.cases import FORMS, assert_same, drawer, rng_for

LIBRARIES = [pytest.param(ps, id="pyscatter"), pytest.param(reference, id="reference")]


def target():
    """Return a target on which every failing call below is tried."""
    return np.arange(5.0)


SCATTER_ERRORS = {
    "index too large": (
        IndexError,
        "index 5 is out of bounds for axis 0 with size 5 (position 1 of 3 in 'index')",
        lambda lib, a: lib.scatter(a, [0, 5, 9], 1.0, out=a),
    ),
    "index too negative": (
        IndexError,
        "index -6 is out of bounds for axis 0 with size 5",
        lambda lib, a: lib.scatter(a, [0, -6], 1.0, out=a),
    ),
    "uint64 above 2**63": (
        IndexError,
        "index 18446744073709551615 is out of bounds",
        lambda lib, a: lib.scatter(a, np.array([2**64 - 1], np.uint64), 1.0, out=a),
    ),
    "int64 extreme": (
        IndexError,
        "index -9223372036854775808 is out of bounds",
        lambda lib, a: lib.scatter(a, np.array([-(2**63)]), 1.0, out=a),
    ),
    "tuple out of bounds names its axis": (
        IndexError,
        "index 3 is out of bounds for axis 1 with size 3 (position 1 of 2 in",
        lambda lib, a: lib.scatter_nd(np.zeros((4, 3)), [[3, 2], [3, 3]], 1.0),
    ),
    "along, out of bounds": (
        IndexError,
        "is out of bounds for axis 0 with size 5",
        lambda lib, a: lib.scatter_along_axis(a, [0, 5], 1.0, out=a),
    ),
    "expression out of bounds": (
        IndexError,
        "index 5 is out of bounds for axis 0 with size 5",
        lambda lib, a: lib.scatter_at(a, ([0, 5],), 1.0, out=a),
    ),
    "an empty axis with an index": (
        IndexError,
        "out of bounds",
        lambda lib, a: lib.scatter(np.zeros(0), [0], 1.0),
    ),
    "an empty axis, wrap": (
        IndexError,
        "",
        lambda lib, a: lib.scatter(np.zeros(0), [0], 1.0, mode="wrap"),
    ),
    "an empty axis, clip": (
        IndexError,
        "",
        lambda lib, a: lib.scatter(np.zeros(0), [0], 1.0, mode="clip"),
    ),
    "float index": (
        TypeError,
        "float64",
        lambda lib, a: lib.scatter(a, [0.0, 1.0], 1.0, out=a),
    ),
    "float tuples": (
        TypeError,
        "float64",
        lambda lib, a: lib.scatter_nd(a, [[0.0]], 1.0, out=a),
    ),
    "float index in an expression": (
        IndexError,
        "",
        lambda lib, a: lib.scatter_at(a, np.array([0.0]), 1.0, out=a),
    ),
    "bool index of an axis": (
        TypeError,
        "bool",
        lambda lib, a: lib.scatter(a, np.ones(5, bool), 1.0, out=a),
    ),
    "mask of another length": (
        IndexError,
        "",
        lambda lib, a: lib.scatter_at(a, np.ones(4, bool), 1.0, out=a),
    ),
    "too many indices": (
        IndexError,
        "too many indices",
        lambda lib, a: lib.scatter_at(a, (0, 0), 1.0, out=a),
    ),
    "index arrays that do not broadcast": (
        IndexError,
        "",
        lambda lib, a: lib.scatter_at(np.zeros((3, 3)), ([0, 1], [0, 1, 2]), 1.0),
    ),
    "tuples that are too deep": (
        ValueError,
        "did you mean indices[..., None]?",
        lambda lib, a: lib.scatter_nd(a, [0, 1, 2], 1.0, out=a),
    ),
    "no such axis": (
        np.exceptions.AxisError,
        "",
        lambda lib, a: lib.scatter(a, [0], 1.0, axis=1, out=a),
    ),
    "no such axis, along": (
        np.exceptions.AxisError,
        "",
        lambda lib, a: lib.scatter_along_axis(a, [0], 1.0, axis=-2, out=a),
    ),
    "axis among the batch axes": (
        ValueError,
        "",
        lambda lib, a: lib.scatter(
            np.zeros((3, 4)), np.zeros((3, 1), int), 1.0, axis=0, batch_dims=1
        ),
    ),
    "axis=None with batches": (
        ValueError,
        "",
        lambda lib, a: lib.scatter(
            np.zeros((3, 4)), np.zeros((3, 1), int), 1.0, axis=None, batch_dims=1
        ),
    ),
    "unequal batch axes": (
        ValueError,
        "",
        lambda lib, a: lib.scatter(
            np.zeros((3, 4)), np.zeros((1, 2), int), 1.0, batch_dims=1
        ),
    ),
    "negative batch_dims": (
        ValueError,
        "",
        lambda lib, a: lib.scatter(a, [0], 1.0, batch_dims=-1, out=a),
    ),
    "along with another number of axes": (
        ValueError,
        "",
        lambda lib, a: lib.scatter_along_axis(a, [[0]], 1.0, out=a),
    ),
    "values that do not broadcast": (
        ValueError,
        "(3,)",
        lambda lib, a: lib.scatter(a, [0, 1], [1.0, 2.0, 3.0], out=a),
    ),
    "where that does not broadcast": (
        ValueError,
        "",
        lambda lib, a: lib.scatter(a, [0, 1], 1.0, where=[True] * 3, out=a),
    ),
    "unknown op": (
        ValueError,
        "floor_div",
        lambda lib, a: lib.scatter(a, [0], 1.0, op="median", out=a),
    ),
    "unknown mode": (
        ValueError,
        "clip",
        lambda lib, a: lib.scatter(a, [0], 1.0, mode="bounce", out=a),
    ),
    "fill is for gathers": (
        ValueError,
        "",
        lambda lib, a: lib.scatter(a, [0], 1.0, mode="fill", out=a),
    ),
    "unknown casting": (
        ValueError,
        "",
        lambda lib, a: lib.scatter(a, [0], 1.0, casting="loose", out=a),
    ),
    "ufunc without an op": (
        TypeError,
        "",
        lambda lib, a: lib.scatter(a, [0], 1.0, op=np.power, out=a),
    ),
    "compensated product": (
        ValueError,
        "compensated",
        lambda lib, a: lib.scatter(a, [0], 1.0, op="mul", compensated=True, out=a),
    ),
    "bits of floats": (
        TypeError,
        "",
        lambda lib, a: lib.scatter(a, [0], 1.0, op="xor", out=a),
    ),
    "true division of integers": (
        TypeError,
        "floor_div",
        lambda lib, a: lib.scatter(np.ones(3, int), [0], 2, op="div", casting="unsafe"),
    ),
    "order of complex": (
        TypeError,
        "",
        lambda lib, a: lib.scatter(np.ones(3, complex), [0], 2, op="min"),
    ),
    "complex into float": (
        TypeError,
        "",
        lambda lib, a: lib.scatter(a, [0], np.array([1j]), op="add", out=a),
    ),
    "int that does not fit": (
        OverflowError,
        "",
        lambda lib, a: lib.scatter(np.zeros(3, np.int8), [0], 128),
    ),
    "int beyond float64": (
        OverflowError,
        "",
        lambda lib, a: lib.scatter(a, [0], 10**400, out=a),
    ),
    "int into bool": (
        TypeError,
        "",
        lambda lib, a: lib.scatter(np.zeros(3, bool), [0], 1),
    ),
    "integer mean into integers": (
        TypeError,
        "",
        lambda lib, a: lib.scatter(a, [0], 1, op="mean", out=np.zeros(5, int)),
    ),
    "masked target": (
        TypeError,
        "",
        lambda lib, a: lib.scatter(np.ma.masked_array(a, a > 2), [0], 1.0),
    ),
    "masked values": (
        TypeError,
        "",
        lambda lib, a: lib.scatter(a, [0, 1], np.ma.ones(2), out=a),
    ),
    "masked index": (
        TypeError,
        "",
        lambda lib, a: lib.scatter(a, np.ma.zeros(2, int), 1.0, out=a),
    ),
    "variable-width strings": (
        TypeError,
        "",
        lambda lib, a: lib.scatter(np.array(["a"], np.dtypes.StringDType()), [0], "b"),
    ),
    "sum of objects": (
        TypeError,
        "",
        lambda lib, a: lib.scatter(np.array([1, 2], object), [0], 1, op="add"),
    ),
    "sum of dates": (
        TypeError,
        "",
        lambda lib, a: lib.scatter(
            np.zeros(2, "M8[s]"), [0], np.ones(1, "m8[s]"), op="add"
        ),
    ),
    "out of another shape": (
        ValueError,
        "",
        lambda lib, a: lib.scatter(np.zeros(4), [0], 1.0, out=a),
    ),
    "out that is a list": (
        TypeError,
        "",
        lambda lib, a: lib.scatter(a, [0], 1.0, out=[0.0] * 5),
    ),
    "drop-in on a list": (TypeError, "", lambda lib, a: lib.add_at([0.0], [0], 1.0)),
    "drop-in, true division of integers": (
        TypeError,
        "",
        lambda lib, a: lib.divide_at(np.ones(2, int), [0], 2),
    ),
    "drop-in, difference of bools": (
        TypeError,
        "",
        lambda lib, a: lib.subtract_at(np.ones(2, bool), [0], True),
    ),
}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", SCATTER_ERRORS)
def test_scatter_error(name, library):
    error, fragment, call = SCATTER_ERRORS[name]
    a = target()
    with pytest.raises(error) as raised:
        call(library, a)
    assert type(raised.value) is error
    if library is ps or error is IndexError:
        assert fragment in str(raised.value)
    assert_same(a, target(), "the target of a failed call")


GATHER_ERRORS = {
    "index too large": (
        IndexError,
        "index 5 is out of bounds for axis 0 with size 5 (position 1 of 2 in 'index')",
        lambda lib, out: lib.gather(np.arange(5.0), [0, 5], out=out),
    ),
    "tuple out of bounds": (
        IndexError,
        "index 2 is out of bounds for axis 1 with size 2",
        lambda lib, out: lib.gather_nd(np.ones((2, 2)), [[0, 0], [1, 2]], out=out),
    ),
    "float index": (
        TypeError,
        "float64",
        lambda lib, out: lib.gather(np.arange(5.0), [0.0, 1.0], out=out),
    ),
    "bool index": (
        TypeError,
        "bool",
        lambda lib, out: lib.gather(np.arange(2.0), [True, False], out=out),
    ),
    "float in an expression": (
        IndexError,
        "",
        lambda lib, out: lib.gather_at(np.arange(5.0), np.array([0.5, 1]), out=out),
    ),
    "out of another shape": (
        ValueError,
        "",
        lambda lib, out: lib.gather(np.arange(5.0), [0, 1, 2], out=out),
    ),
    "out of a narrower kind": (
        TypeError,
        "",
        lambda lib, out: lib.gather(np.array([1j, 2]), [0, 1], out=out),
    ),
    "unknown mode": (
        ValueError,
        "fill",
        lambda lib, out: lib.gather(np.arange(5.0), [0, 1], mode="zero", out=out),
    ),
    "fill value of another kind": (
        TypeError,
        "",
        lambda lib, out: lib.gather(
            np.arange(5.0), [0, 9], mode="fill", fill_value=1j, out=out
        ),
    ),
    "fill value that does not fit": (
        OverflowError,
        "",
        lambda lib, out: lib.gather(
            np.arange(5, dtype=np.int8), [0, 9], mode="fill", fill_value=300
        ),
    ),
    "an empty axis with an index": (
        IndexError,
        "",
        lambda lib, out: lib.gather(np.zeros(0), [0, 0], out=out),
    ),
    "an empty axis, wrap": (
        IndexError,
        "",
        lambda lib, out: lib.gather(np.zeros(0), [0, 0], mode="wrap", out=out),
    ),
    "masked": (
        TypeError,
        "",
        lambda lib, out: lib.gather(np.ma.ones(3), [0, 1], out=out),
    ),
    "no such axis": (
        np.exceptions.AxisError,
        "",
        lambda lib, out: lib.gather(np.ones(3), [0, 1], axis=2, out=out),
    ),
}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", GATHER_ERRORS)
def test_gather_error(name, library):
    error, fragment, call = GATHER_ERRORS[name]
    out = np.array([7.0, 8.0])
    with pytest.raises(error) as raised:
        call(library, out)
    assert type(raised.value) is error
    if library is ps or error is IndexError:
        assert fragment in str(raised.value)
    assert out.tolist() == [7, 8]


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", FORMS)
def test_where_never_enlarges(name, library):
    form = FORMS[name]
    index = form.index(drawer(rng_for("where", name)))
    a, out = np.zeros(form.shape), np.zeros(form.values)
    scatter, gather = (
        getattr(library, kind + form.stem) for kind in ("scatter", "gather")
    )
    larger = [(2, *form.entries), (1, *form.entries)]
    if len(form.values) == len(form.entries) and form.values != form.entries:
        larger.append(form.values)
    says = re.escape(str(form.entries)) if library is ps else None
    for shape in larger:
        options = {**form.options, "where": np.ones(shape, bool)}
        with pytest.raises(ValueError, match=says):
            scatter(a, index, 1.0, out=a, **options)
        with pytest.raises(ValueError, match=says):
            gather(a + 1, index, out=out, **options)
    assert not a.any() and not out.any()


# In place, with few entries of which the last one is out of bounds, between rows that
# lie apart in memory, so that a thread may be given some of them.
LAST_IS_BAD = {
    "batches": lambda a, index, **options: ps.scatter(
        a, index, 1, batch_dims=1, op="add", out=a, **options
    ),
    "batches of tuples": lambda a, index, **options: ps.scatter_nd(
        a, index[..., None], 1, batch_dims=1, op="add", out=a, **options
    ),
    "outer rows": lambda a, index, **options: ps.scatter(
        a, index[-1], 1, axis=1, op="add", out=a, **options
    ),
    "moves": lambda a, index, **options: ps.scatter(
        a, index, 1, batch_dims=1, out=a, **options
    ),
    "packed values": lambda a, index, **options: ps.scatter(
        a, index[-1], np.ones(a[:, :1].shape, "i4"), axis=1, op="max", out=a, **options
    ),
    "a drop-in": lambda a, index, **options: ps.add_at(
        a, index[-1], 1, axis=1, **options
    ),
}


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("width", [1, 100, 300])
@pytest.mark.parametrize("name", LAST_IS_BAD)
def test_nothing_is_written_before_all_is_checked(name, width, threads):
    for step in (1, 2):
        a = np.zeros((6, 10, width * step), np.int8)[:, :, ::step]
        index = np.zeros((6, 340), np.int32)
        index[-1, -1] = 77
        with ps.num_threads(threads):
            with pytest.raises(IndexError, match="index 77 .* axis 1 with size 10"):
                LAST_IS_BAD[name](a, index)
            assert not a.any()
            index[-1, -1] = 9
            LAST_IS_BAD[name](a, index)
            assert a[-1, -1].all() and a[-1, 0].all() and not a[-1, 1].any()
