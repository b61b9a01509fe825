"""Calls on segments that must fail: which exception, what it says, and nothing written.

Hostile versions of these calls, which may not crash either, are in tests/isolated.
"""

import numpy as np
import pytest

import pyscatter as ps
from tests.cases import assert_same

VALUES = np.arange(6.0)
IDS = np.array([0, 0, 1, 1, 3, 3])
ROWS = np.ones((6, 2))
FAR = np.array([0, 1, 2**62])
LOCKED = np.zeros(4)
LOCKED.flags.writeable = False
SHARED = np.lib.stride_tricks.as_strided(np.zeros(1), (4,), (0,))


def reduce(*args, **options):
    """Return a call of segment_reduce that has not been made yet."""
    return lambda: ps.segment_reduce(*args, **options)


# By name: the exception, what the message says, and the call.
IDS_ERRORS = {
    "a negative id": (
        IndexError,
        ("-1", "position 2"),
        reduce(VALUES, [0, 0, -1, 1, 3, 3]),
    ),
    "a negative id with num_segments": (
        IndexError,
        ("-1", "4", "position 1"),
        reduce(VALUES, [0, -1, 0, 1, 3, 3], 4),
    ),
    "an id beyond the last segment": (
        IndexError,
        ("3", "position 4"),
        reduce(VALUES, IDS, 3),
    ),
    "the first of several": (
        IndexError,
        ("9", "position 1 "),
        reduce(VALUES, [0, 9, 0, 8, -1, 7], 4),
    ),
    "uint64 above 2**63": (
        IndexError,
        (str(2**63 + 1),),
        reduce(VALUES[:1], np.array([2**63 + 1], np.uint64), 4),
    ),
    "no segments": (IndexError, ("0",), reduce(VALUES, IDS, 0)),
    "a huge id": (
        ValueError,
        ("pass num_segments", str(2**62)),
        reduce([1, 2, 3], FAR),
    ),
    "the largest id": (
        ValueError,
        ("pass num_segments",),
        reduce([1.0], np.array([2**63 - 1])),
    ),
    "the largest unsigned id": (
        ValueError,
        ("pass num_segments",),
        reduce([1.0], np.array([2**64 - 1], np.uint64)),
    ),
    "unsorted where sorted was promised": (
        ValueError,
        ("assume_sorted", "position 3"),
        reduce(VALUES, [0, 1, 2, 1, 2, 3], assume_sorted=True),
    ),
    "unsorted with num_segments": (
        ValueError,
        ("assume_sorted",),
        reduce(VALUES, [3, 3, 3, 3, 3, 0], 4, assume_sorted=True),
    ),
    "ids longer than values": (ValueError, ("(7,)", "(6,"), reduce(VALUES, [0] * 7)),
    "ids shorter than values": (ValueError, ("(5,)", "(6,"), reduce(VALUES, [0] * 5)),
    "ids of another prefix": (
        ValueError,
        ("(2, 6)", "(6, 2)"),
        reduce(ROWS, np.zeros((2, 6), int)),
    ),
    "ids of more axes": (
        ValueError,
        ("(6, 1)", "(6,)"),
        reduce(VALUES, np.zeros((6, 1), int)),
    ),
    "no values for ids": (ValueError, ("(0,", "(6,)"), reduce(np.zeros(0), IDS)),
    "no ids for values": (ValueError, ("(0,)", "(6,"), reduce(VALUES, [])),
    "float ids": (TypeError, ("float64", "astype"), reduce(VALUES, VALUES)),
    "bool ids": (TypeError, ("bool",), reduce(VALUES, IDS > 0)),
    "text ids": (TypeError, ("ids",), reduce(VALUES, ["a"] * 6)),
    "masked ids": (TypeError, ("filled",), reduce(VALUES, np.ma.masked_array(IDS))),
    "batches that differ": (
        ValueError,
        ("(2, 3)", "(3,)"),
        reduce(np.ones((3, 2)), np.zeros((2, 3), int), batch_dims=1),
    ),
}
RANGE_ERRORS = {
    "empty offsets": (ValueError, ("offsets",), reduce(VALUES, offsets=[])),
    "one offset": (ValueError, ("6",), reduce(VALUES, offsets=[0])),
    "first offset": (
        ValueError,
        ("0", "starts"),
        reduce(VALUES, offsets=[1, 6]),
    ),
    "negative first offset": (ValueError, ("-1",), reduce(VALUES, offsets=[-1, 6])),
    "last offset too small": (
        ValueError,
        ("5", "6", "starts"),
        reduce(VALUES, offsets=[0, 5]),
    ),
    "last offset too large": (ValueError, ("7", "6"), reduce(VALUES, offsets=[0, 7])),
    "decreasing offsets": (
        ValueError,
        ("offsets[2]", "3", "4", "starts"),
        reduce(VALUES, offsets=[0, 4, 3, 6]),
    ),
    "offsets above all": (
        ValueError,
        ("offsets",),
        reduce(VALUES, offsets=[0, 2**62, 6]),
    ),
    "two axes of offsets": (
        ValueError,
        ("(2, 2)",),
        reduce(VALUES, offsets=IDS[:4].reshape(2, 2)),
    ),
    "offsets without axes": (ValueError, ("offsets",), reduce(VALUES, offsets=6)),
    "float offsets": (TypeError, ("float64",), reduce(VALUES, offsets=[0.0, 6.0])),
    "lengths below n": (ValueError, ("5", "6"), reduce(VALUES, lengths=[2, 3])),
    "lengths above n": (ValueError, ("7", "6"), reduce(VALUES, lengths=[4, 3])),
    "a negative length": (
        ValueError,
        ("lengths[1]", "-1"),
        reduce(VALUES, lengths=[4, -1, 3]),
    ),
    "lengths that wrap to n": (
        ValueError,
        ("lengths",),
        reduce(VALUES, lengths=np.array([2**63 - 1, 2**63 - 1, 8])),
    ),
    "the smallest length": (
        ValueError,
        ("lengths",),
        reduce(VALUES, lengths=np.array([-(2**63), 6])),
    ),
    "no lengths": (ValueError, ("6",), reduce(VALUES, lengths=[])),
    "starts alone": (TypeError, ("stops",), reduce(VALUES, starts=[0])),
    "stops alone": (TypeError, ("starts",), reduce(VALUES, stops=[6])),
    "a stop below its start": (
        ValueError,
        ("stops[1]", "3", "4"),
        reduce(VALUES, starts=[0, 4], stops=[6, 3]),
    ),
    "a stop beyond the end": (
        ValueError,
        ("stops[0]", "7", "6"),
        reduce(VALUES, starts=[0], stops=[7]),
    ),
    "a negative start": (
        ValueError,
        ("starts[0]", "-1"),
        reduce(VALUES, starts=[-1], stops=[3]),
    ),
    "starts and stops of other lengths": (
        ValueError,
        ("(2,)", "(1,)"),
        reduce(VALUES, starts=[0, 1], stops=[3]),
    ),
    "ids and offsets": (
        TypeError,
        ("ids", "offsets"),
        reduce(VALUES, IDS, offsets=[0, 6]),
    ),
    "nothing": (TypeError, ("ids",), reduce(VALUES)),
    "gather out of bounds": (
        IndexError,
        ("6", "position 1"),
        reduce(VALUES, lengths=[2], gather=[0, 6]),
    ),
    "offsets beyond gather": (
        ValueError,
        ("2", "3"),
        reduce(VALUES, offsets=[0, 3], gather=[0, 1]),
    ),
    "gather and ids of other lengths": (
        ValueError,
        ("(6,)", "(2,)"),
        reduce(VALUES, IDS, gather=[0, 1]),
    ),
}
OPTION_ERRORS = {
    "negative num_segments": (ValueError, ("-1",), reduce(VALUES, IDS, -1)),
    "huge num_segments": (
        (MemoryError, ValueError),
        (),
        reduce(VALUES, IDS, 2**62),
    ),
    "num_segments beyond int64": (
        (OverflowError, ValueError),
        (),
        reduce(VALUES, IDS, 2**64),
    ),
    "num_segments as array": (
        TypeError,
        ("num_segments",),
        reduce(VALUES, IDS, np.array([4, 4])),
    ),
    "num_segments as list": (TypeError, ("num_segments",), reduce(VALUES, IDS, [4])),
    "num_segments as float": (TypeError, ("num_segments",), reduce(VALUES, IDS, 4.0)),
    "num_segments as bool": (TypeError, ("num_segments",), reduce(VALUES, IDS, True)),
    "num_segments as text": (TypeError, ("num_segments",), reduce(VALUES, IDS, "4")),
    "unknown op": (ValueError, ("median",), reduce(VALUES, IDS, op="mode")),
    "a ufunc that is no op": (TypeError, ("sin",), reduce(VALUES, IDS, op=np.sin)),
    "unknown mode": (ValueError, ("drop",), reduce(VALUES, IDS, mode="ignore")),
    "no such axis": (np.exceptions.AxisError, ("2",), reduce(ROWS, IDS, axis=2)),
    "axis before batches": (
        ValueError,
        ("batch",),
        reduce(np.ones((2, 3)), np.zeros((2, 3), int), axis=0, batch_dims=1),
    ),
    "negative batch_dims": (
        ValueError,
        ("batch_dims",),
        reduce(VALUES, IDS, batch_dims=-1),
    ),
    "values without axes": (
        (ValueError, np.exceptions.AxisError),
        (),
        reduce(3.0, [0]),
    ),
    "masked values": (TypeError, ("filled",), reduce(np.ma.ones(6), IDS)),
    "text values": (TypeError, ("add",), reduce(np.array(["a"] * 6), IDS)),
    "objects": (TypeError, ("object",), reduce(np.ones(6, object), IDS)),
    "min of complex": (TypeError, ("complex128",), reduce(VALUES * 1j, IDS, op="min")),
    "argmax of complex": (
        TypeError,
        ("complex128",),
        reduce(VALUES * 1j, IDS, op="argmax"),
    ),
    "bits of floats": (TypeError, ("float64",), reduce(VALUES, IDS, op="xor")),
    "sum of dates": (
        TypeError,
        ("datetime64",),
        reduce(np.zeros(6, "M8[s]"), IDS),
    ),
    "weights for max": (
        TypeError,
        ("weights",),
        reduce(VALUES, IDS, op="max", weights=VALUES),
    ),
    "weights that do not broadcast": (
        ValueError,
        ("(5,)",),
        reduce(VALUES, IDS, weights=VALUES[:5]),
    ),
    "where of another shape": (
        ValueError,
        ("where", "(5,)", "(6,"),
        reduce(VALUES, IDS, where=IDS[:5] > 0),
    ),
    "where of ints": (TypeError, ("bool",), reduce(VALUES, IDS, where=IDS)),
    "initial with mean": (
        TypeError,
        ("initial",),
        reduce(VALUES, IDS, op="mean", initial=0),
    ),
    "initial with median": (
        TypeError,
        ("initial",),
        reduce(VALUES, IDS, op="median", initial=0),
    ),
    "initial and fill_value": (
        TypeError,
        ("initial", "fill_value"),
        reduce(VALUES, IDS, initial=0, fill_value=1),
    ),
    "arg of a sum": (
        (TypeError, ValueError),
        ("return_arg",),
        reduce(VALUES, IDS, return_arg=True),
    ),
    "compensated max": (
        ValueError,
        ("compensated",),
        reduce(VALUES, IDS, op="max", compensated=True),
    ),
    "quantile without q": (
        (TypeError, ValueError),
        ("q",),
        reduce(VALUES, IDS, op="quantile"),
    ),
    "q above one": (ValueError, ("q",), reduce(VALUES, IDS, op="quantile", q=1.5)),
    "q that is no number": (
        ValueError,
        ("q",),
        reduce(VALUES, IDS, op="quantile", q=np.nan),
    ),
    "out of another shape": (
        ValueError,
        ("(3,)", "(4,)"),
        reduce(VALUES, IDS, out=np.zeros(3)),
    ),
    "out that is read-only": (
        ValueError,
        ("output array is read-only",),
        reduce(VALUES, IDS, out=LOCKED),
    ),
    "out that shares memory": (ValueError, (), reduce(VALUES, IDS, out=SHARED)),
    "out of ints": (TypeError, ("int64",), reduce(VALUES, IDS, out=np.zeros(4, int))),
    "out that is a list": (TypeError, ("out",), reduce(VALUES, IDS, out=[0.0] * 4)),
    "outs for one op": (
        (TypeError, ValueError),
        (),
        reduce(VALUES, IDS, out=(np.zeros(4),) * 2),
    ),
    "one out for two ops": (
        (TypeError, ValueError),
        (),
        reduce(VALUES, IDS, op=("add", "max"), out=np.zeros(4)),
    ),
    "no values": (TypeError, ("values",), reduce(None, IDS)),
    "an accumulator that cannot hold the values": (
        TypeError,
        (),
        reduce(VALUES * 1j, IDS, dtype=np.float64),
    ),
}
KIN_ERRORS = {
    "scan: negative id": (
        IndexError,
        ("-1",),
        lambda: ps.segment_scan([1, 2], [0, -1]),
    ),
    "scan: offsets": (
        ValueError,
        ("starts", "5", "6"),
        lambda: ps.segment_scan(VALUES, offsets=[0, 5]),
    ),
    "scan: op": (ValueError, ("add",), lambda: ps.segment_scan(VALUES, IDS, op="mode")),
    "scan: both": (
        TypeError,
        ("ids",),
        lambda: ps.segment_scan(VALUES, IDS, lengths=[6]),
    ),
    "scan: ids too long": (
        ValueError,
        ("(6,",),
        lambda: ps.segment_scan(VALUES, [0] * 7),
    ),
    "expand: id": (IndexError, ("4",), lambda: ps.segment_expand(VALUES[:4], [4])),
    "expand: negative id": (
        IndexError,
        ("-1",),
        lambda: ps.segment_expand(VALUES, [0, -1]),
    ),
    "expand: lengths": (
        ValueError,
        ("2", "6"),
        lambda: ps.segment_expand(VALUES, lengths=[1, 2]),
    ),
    "expand: negative length": (
        ValueError,
        ("-1",),
        lambda: ps.segment_expand(VALUES[:2], lengths=[3, -1]),
    ),
    "expand: offsets": (
        ValueError,
        ("offsets[2]", "2", "3"),
        lambda: ps.segment_expand(VALUES[:2], offsets=[0, 3, 2]),
    ),
    "softmax: length": (
        ValueError,
        ("6",),
        lambda: ps.segment_softmax(VALUES, lengths=[5]),
    ),
    "softmax: negative id": (
        IndexError,
        ("-2",),
        lambda: ps.segment_softmax(VALUES, -IDS - 2),
    ),
    "bincount: negative": (ValueError, ("-1",), lambda: ps.bincount([0, -1])),
    "bincount: floats": (TypeError, ("float64",), lambda: ps.bincount([1.5, 2.0])),
    "bincount: minlength": (
        ValueError,
        ("-1",),
        lambda: ps.bincount([0], minlength=-1),
    ),
    "bincount: weights": (
        ValueError,
        ("(3,)", "(2,)"),
        lambda: ps.bincount([0, 1, 2], [1.0, 2.0]),
    ),
    "bincount: huge": (
        (ValueError, MemoryError),
        (),
        lambda: ps.bincount(np.array([2**63 - 1])),
    ),
    "bincount: short out": (
        IndexError,
        ("5", "4"),
        lambda: ps.bincount([5], out=np.zeros(4, int)),
    ),
    "bincount: no axis": (
        np.exceptions.AxisError,
        ("1",),
        lambda: ps.bincount([0], axis=1),
    ),
    "bincount: two axes": (ValueError, ("axis",), lambda: ps.bincount([[0, 1]])),
}
ERRORS = {**IDS_ERRORS, **RANGE_ERRORS, **OPTION_ERRORS, **KIN_ERRORS}


@pytest.mark.parametrize("name", ERRORS)
def test_error(name):
    error, parts, call = ERRORS[name]
    with pytest.raises(error) as raised:
        call()
    for part in parts:
        assert part in str(raised.value)
    assert_same(VALUES, np.arange(6.0))
    assert not LOCKED.any() and not SHARED.any()


def with_out(call):
    """Return the call's arguments with an out= of the right shape and no meaning."""
    args, options = (cell.cell_contents for cell in call.__closure__)
    return args, dict(options)


@pytest.mark.parametrize("name", [*IDS_ERRORS, *RANGE_ERRORS])
def test_out_stays_untouched(name):
    error, _, call = ERRORS[name]
    args, options = with_out(call)
    for size in (1, 3, 4):
        rest = args[0].shape[1:] if isinstance(args[0], np.ndarray) else ()
        out = np.full((size, *rest), 7.25)
        for op in ("add", "max", "mean", "median"):
            with pytest.raises((error, ValueError)):
                ps.segment_reduce(*args, **options, op=op, out=out)
        assert (out == 7.25).all()
        outs = out.copy(), out.copy()
        with pytest.raises((error, ValueError)):
            ps.segment_reduce(*args, **options, op=("add", "min"), out=outs)
        assert (outs[0] == 7.25).all() and (outs[1] == 7.25).all()


def test_a_late_error_leaves_the_first_out_untouched():
    outs = np.full(4, 7.0), np.full(4, 7, int)
    with pytest.raises(TypeError):
        ps.segment_reduce(VALUES, IDS, op=("add", "mean"), out=outs)
    assert (outs[0] == 7).all() and (outs[1] == 7).all()
    counts = np.array([1, 2, 3])
    with pytest.raises((IndexError, ValueError)):
        ps.bincount([0, 1, 5], out=counts)
    with pytest.raises(ValueError):
        ps.bincount([0, 1, -1], out=counts)
    assert counts.tolist() == [1, 2, 3]


def test_no_allocation_is_sized_by_one_bad_id():
    few = np.zeros(3)
    for large in (2**27 + 1, 2**31, 2**40, 2**62):
        with pytest.raises(ValueError, match="pass num_segments"):
            ps.segment_reduce(few, [0, 1, large])
        with pytest.raises(ValueError, match="pass num_segments"):
            ps.segment_softmax(few, [0, 1, large])
    assert ps.segment_reduce(few, [0, 1, 2**20]).shape == (2**20 + 1,)


def test_what_where_excludes_is_not_validated():
    ids = np.array([0, -9, 2**62, 1])
    mask = np.array([True, False, False, True])
    for size in (2, None):
        result = ps.segment_reduce(np.ones(4), ids, size, where=mask)
        assert result.tolist() == [1, 1]
