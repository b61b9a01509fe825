"""Calls on masks and conditions that must fail: which exception, and what it says.

The library and its slow twin are asked the same, and the target stays as it was.
"""

import numpy as np
import pytest

import pyscatter as ps
from tests import reference
from tests.cases import assert_same

LIBRARIES = [pytest.param(ps, id="pyscatter"), pytest.param(reference, id="reference")]
HALF = np.array([True, False, True, False, True])
LOCKED = np.zeros(5)
LOCKED.flags.writeable = False

# By name: the exception, parts of the message that both give, parts that only the
# library gives, and the call on a target of five numbers.
ERRORS = {
    "mask of another length": (
        ValueError,
        ("(4,)", "(5,)"),
        (),
        lambda lib, a: lib.scatter_where(a, HALF[:4], 1.0, out=a),
    ),
    "mask of more axes": (
        ValueError,
        ("(1, 5)", "(5,)"),
        (),
        lambda lib, a: lib.scatter_where(a, HALF[None], 1.0, out=a),
    ),
    "prefix that would have to be spread": (
        ValueError,
        ("(1,)", "(3, 4)"),
        (),
        lambda lib, a: lib.gather_where(np.zeros((3, 4)), [True]),
    ),
    "mask of an axis": (
        ValueError,
        ("(3,)",),
        (),
        lambda lib, a: lib.gather_where(np.zeros((3, 4)), [True] * 3, axis=1),
    ),
    "mask of ints": (
        TypeError,
        ("int64",),
        ("mask",),
        lambda lib, a: lib.scatter_where(a, [1, 0, 1, 0, 1], 1.0, out=a),
    ),
    "mask of floats": (
        TypeError,
        ("float64",),
        ("mask",),
        lambda lib, a: lib.gather_where(a, a),
    ),
    "no such axis": (
        np.exceptions.AxisError,
        (),
        ("axis 1",),
        lambda lib, a: lib.gather_where(a, HALF, axis=1),
    ),
    "too few packed values": (
        ValueError,
        ("3", "2"),
        ("values",),
        lambda lib, a: lib.scatter_where(a, HALF, [1.0, 2.0], packed=True, out=a),
    ),
    "too many packed values": (
        ValueError,
        ("3", "4"),
        ("values",),
        lambda lib, a: lib.scatter_where(a, HALF, np.ones(4), packed=True, out=a),
    ),
    "values that do not broadcast": (
        ValueError,
        ("(3,)", "(5,)"),
        ("values",),
        lambda lib, a: lib.scatter_where(a, HALF, [1.0, 2.0, 3.0], out=a),
    ),
    "values of another kind": (
        TypeError,
        (),
        ("complex128", "float64"),
        lambda lib, a: lib.scatter_where(a, HALF, np.ones(5, complex), out=a),
    ),
    "weak number out of range": (
        OverflowError,
        ("300", "uint8"),
        (),
        lambda lib, a: lib.scatter_where(a.astype(np.uint8), HALF, 300),
    ),
    "unknown op": (
        ValueError,
        ("floor_div",),
        ("choose",),
        lambda lib, a: lib.scatter_where(a, HALF, 1.0, op="median", out=a),
    ),
    "division of ints": (
        TypeError,
        ("floor_div",),
        (),
        lambda lib, a: lib.scatter_where(a.astype(int), HALF, 1, op="div"),
    ),
    "read-only target": (
        ValueError,
        ("output array is read-only",),
        (),
        lambda lib, a: lib.scatter_where(a, HALF, 1.0, out=LOCKED),
    ),
    "target of another shape": (
        ValueError,
        ("(4,)", "(5,)"),
        ("out",),
        lambda lib, a: lib.scatter_where(a, HALF, 1.0, out=np.zeros(4)),
    ),
    "target that is no array": (
        TypeError,
        ("out",),
        (),
        lambda lib, a: lib.scatter_where(a, HALF, 1.0, out=[0.0] * 5),
    ),
    "masked mask": (
        TypeError,
        (".filled()",),
        (),
        lambda lib, a: lib.scatter_where(a, np.ma.masked_array(HALF), 1.0),
    ),
    "where: shapes": (
        ValueError,
        ("(5,)", "(4,)"),
        (),
        lambda lib, a: lib.where(HALF, a, np.zeros(4)),
    ),
    "where: shape of out": (
        ValueError,
        ("(1, 5)", "(5,)"),
        ("out",),
        lambda lib, a: lib.where(HALF, a, 0.0, out=np.zeros((1, 5))),
    ),
    "where: read-only": (
        ValueError,
        ("output array is read-only",),
        (),
        lambda lib, a: lib.where(HALF, a, 0.0, out=LOCKED),
    ),
    "where: shared bytes": (
        ValueError,
        ("share memory",),
        (),
        lambda lib, a: lib.where(
            HALF, a, 0.0, out=np.lib.stride_tricks.as_strided(np.zeros(1), (5,), (0,))
        ),
    ),
    "where: cast": (
        TypeError,
        ("float64", "int32"),
        (),
        lambda lib, a: lib.where(HALF, a, a, dtype=np.int32),
    ),
    "where: cast into out": (
        TypeError,
        ("float64", "int16"),
        (),
        lambda lib, a: lib.where(HALF, a, a, out=np.zeros(5, np.int16)),
    ),
    "where: weak number out of range": (
        OverflowError,
        ("1000", "uint8"),
        (),
        lambda lib, a: lib.where(HALF, np.zeros(5, np.uint8), 1000),
    ),
    "where: unknown casting": (
        ValueError,
        (),
        (),
        lambda lib, a: lib.where(HALF, a, a, casting="loose"),
    ),
    "where: no common dtype": (
        TypeError,
        (),
        (),
        lambda lib, a: lib.where(HALF, a, np.zeros(5, "M8[s]")),
    ),
    "where: masked": (
        TypeError,
        (".filled()",),
        (),
        lambda lib, a: lib.where(HALF, np.ma.zeros(5), a),
    ),
    "nonzero without axes": (
        ValueError,
        ("Calling nonzero on 0d arrays is not allowed",),
        (),
        lambda lib, a: lib.nonzero(3),
    ),
    "negative size": (
        ValueError,
        ("size", "-1"),
        (),
        lambda lib, a: lib.flatnonzero(a, size=-1),
    ),
    "count along no axis": (
        np.exceptions.AxisError,
        (),
        ("axis 1",),
        lambda lib, a: lib.count_nonzero(a, axis=1),
    ),
    "count along an axis twice": (
        ValueError,
        (),
        ("axis",),
        lambda lib, a: lib.count_nonzero(a, axis=(0, -1)),
    ),
}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", ERRORS)
def test_error(name, library):
    error, both, ours, call = ERRORS[name]
    a = np.arange(5.0)
    with pytest.raises(error) as raised:
        call(library, a)
    for part in both + ours if library is ps else both:
        assert part in str(raised.value)
    assert_same(a, np.arange(5.0))
    assert not LOCKED.any()
