"""Hostile calls of the segment family and of bincount.

Ids and row pointers of every wrong kind, length and value, at the edges of the blocks
that are worked at once; sizes that no machine has; targets that must not be written;
hooks that resize or rewrite what is being converted.
"""

from itertools import product

import numpy as np

import pyscatter as ps
from tests.isolated.corpus_hooks import (
    ANY,
    RAISERS,
    Endless,
    Hook,
    Interface,
    Loud,
    NoArray,
    Number,
    meddlers,
)
from tests.isolated.harness import case

STRING = np.dtypes.StringDType()
WRONG = "TypeError|ValueError|OverflowError|IndexError"
HUGE = (2**31, 2**32 + 1, 2**40, 2**62, 2**63 - 1)
LOW = (-1, -(2**31), -(2**32) + 1, -(2**63))
OPS = ("add", "max", "mean", "first", "argmin", "var", "median", "count")


def line():
    return np.arange(1.0, 6.0)


def id_calls(values):
    """Each function that takes ids, by name."""
    calls = {op: lambda ids, op=op: ps.segment_reduce(values, ids, op=op) for op in OPS}
    out = np.full(4, 7.0)
    calls["sized"] = lambda ids: ps.segment_reduce(values, ids, 4, out=out)
    calls["several"] = lambda ids: ps.segment_reduce(values, ids, 4, op=("add", "min"))
    calls["scan"] = lambda ids: ps.segment_scan(values, ids)
    calls["softmax"] = lambda ids: ps.segment_softmax(values, ids)
    calls["expand"] = lambda ids: ps.segment_expand(values[:4], ids)
    calls["bincount"] = lambda ids: ps.bincount(ids)
    return calls


def no_integers():
    """Things that are no integer arrays, by name."""
    return {
        "float": np.ones(5),
        "nan": np.full(5, np.nan),
        "inf": np.full(5, np.inf),
        "bool": np.ones(5, bool),
        "complex": np.ones(5, complex),
        "object": np.ones(5, object),
        "strings": np.array(["1"] * 5),
        "StringDType": np.array(["1"] * 5, STRING),
        "times": np.ones(5, "m8[s]"),
        "records": np.ones(5, [("i", "i4")]),
        "void": np.ones(5, "V8"),
        "text": "ids",
        "dict": {0: 1},
        "function": len,
        "masked array": np.ma.masked_array([1] * 5),
        "slice": slice(None),
        "Ellipsis": ...,
        "list of floats": [0.0] * 5,
    }


def id_kinds():
    """Nothing but integers is an id, an offset, a length, a start."""
    for label, ids in no_integers().items():
        values = line()
        for name, call in id_calls(values).items():
            yield case(f"{name} {label}", "TypeError", call, ids)
        for key in ("offsets", "lengths"):
            chosen = {key: ids}
            yield case(
                f"{key} {label}", "TypeError", ps.segment_reduce, values, **chosen
            )
            yield case(
                f"scan {key} {label}", "TypeError", ps.segment_scan, values, **chosen
            )
        chosen = {"starts": ids, "stops": [5] * 5}
        yield case(f"starts {label}", "TypeError", ps.segment_reduce, values, **chosen)
    for label, ids in {
        "ragged": [[0], [0, 1]],
        "no array": NoArray(),
        "endless": Endless(),
        "negative shape": Interface(shape=(-1,)),
        "overflowing shape": Interface(shape=(2**62, 4)),
    }.items():
        wrong = f"{WRONG}|RecursionError"
        for name, call in id_calls(line()).items():
            yield case(f"{name} {label}", wrong, call, ids)


def id_values():
    """Ids below 0 and far above, at every edge of a block, in every width."""
    for value in (*LOW, *HUGE):
        for name, call in id_calls(line()).items():
            if name == "bincount" and value > 0:
                continue
            ids = np.array([0, 1, value, 1, 0])
            wrong = "ValueError|IndexError|MemoryError"
            if name == "scan" and value > 0:
                wrong = "ok"  # nothing that it makes grows with the ids
            yield case(f"{name} {value}", wrong, call, ids)
    for position, value in product((0, 2047, 2048, 4095, 4096, 8192, 9999), (-1, 50)):
        ids = np.arange(10_000) % 50
        ids[position] = value
        for op, width in product(("add", "max", "first"), ((), (3,))):
            values = np.ones((10_000, *width))
            out = np.full((50, *width), 7.0)
            call = (ps.segment_reduce, values, ids, 50)
            says = (str(value), str(position))
            name = f"{op} {width} {value} at {position}"
            yield case(name, "IndexError", *call, op=op, out=out, says=says)
    for code in "bhiq":
        ids = np.array([0, -1], code)
        yield case(f"-1 as {code}", "IndexError", ps.segment_reduce, [1, 2], ids, 4)
    top = np.array([2**64 - 1, 2**63], np.uint64)
    yield case("uint64", "IndexError", ps.segment_reduce, [1, 2], top, 4)
    yield case("uint64 count", "ValueError|MemoryError", ps.bincount, top)
    for value in HUGE:
        call = (ps.bincount, np.array([value]))
        yield case(f"bincount {value}", "ValueError|MemoryError|ok", *call)


# A list of cases, one after the other.
def sizes():
    """Numbers of segments that are none, or too many."""
    values, ids = line(), np.array([0, 1, 1, 2, 3])
    out = np.full(4, 7.0)
    for op in ("add", "max", "median", "first"):
        call = (ps.segment_reduce, values, ids)
        for size in (*LOW, -(2**70)):
            wrong = "ValueError|OverflowError"
            yield case(f"{op} {size}", wrong, *call, size, op=op, out=out)
        for size in (2**40, 2**60, 2**62, 2**63 - 1, 2**63, 2**70):
            wrong = "ValueError|OverflowError|MemoryError"
            yield case(f"{op} {size}", wrong, *call, size, op=op)
        for size in (
            4.0,
            "4",
            [4],
            (4,),
            {},
            np.array([4]),
            np.zeros(0, int),
            1j,
            True,
        ):
            yield case(f"{op} {size!r}", "TypeError", *call, size, op=op)
        for size in (0, 1, 3):
            yield case(f"{op} {size}", "IndexError", *call, size, op=op, out=out[:size])
    for outcome, act in RAISERS.items():
        number = Number(4, act)
        yield case(f"size {outcome}", outcome, ps.segment_reduce, values, ids, number)
        call = (ps.bincount, ids)
        yield case(f"minlength {outcome}", outcome, *call, minlength=number)
    for length in (-1, -(2**63), -(2**70)):
        wrong = "ValueError|OverflowError"
        yield case(f"minlength {length}", wrong, ps.bincount, ids, minlength=length)
    for length in (2**40, 2**62, 2**63 - 1, 2**63, 2**70):
        wrong = "ValueError|OverflowError|MemoryError"
        yield case(f"minlength {length}", wrong, ps.bincount, ids, minlength=length)


# A list of cases, one after the other.
def range_values():
    """Row pointers that do not start, end or go up as they must."""
    pointers = [[], [0], [5], [1, 5], [-1, 5], [0, 4], [0, 6], [0, 3, 2, 5], [5, 0]]
    pointers += [[0, 9, 5], [0, -3, 5], [0, 2**62, 5], [0, 2**63 - 1], [-(2**63), 5]]
    pointers += [[0, 2**32 + 5], [2**32, 2**32 + 5]]
    for offsets in pointers:
        for op in OPS:
            out = np.full(max(len(offsets) - 1, 0), 7.0)
            call = (ps.segment_reduce, line())
            chosen = {"offsets": np.array(offsets, int), "op": op}
            yield case(f"{op} {offsets}", "ValueError", *call, **chosen)
            if op in ("add", "max"):
                yield case(f"out {offsets}", "ValueError", *call, **chosen, out=out)
        for function in (ps.segment_scan, ps.segment_softmax):
            call = (function, line())
            name = f"{function.__name__} {offsets}"
            yield case(name, "ValueError", *call, offsets=np.array(offsets, int))
    for lengths in (
        *([], [4], [6], [6, -1], [-1, 6], [2**63 - 1, 2**63 - 1, 7], [-(2**63), 5]),
        *([2**62, 2**62, 2**62, 2**62, 5], [2**32 + 5]),
    ):
        for op in OPS:
            call = (ps.segment_reduce, line())
            chosen = {"lengths": np.array(lengths, int), "op": op}
            yield case(f"{op} lengths {lengths}", "ValueError", *call, **chosen)
        call = (ps.segment_expand, np.ones(len(lengths)))
        if min(lengths, default=0) < 0:
            chosen = {"lengths": np.array(lengths, int)}
            yield case(f"expand {lengths}", "ValueError", *call, **chosen)
    huge = np.array([2**62, 2**62, 2**62])
    wrong = "ValueError|MemoryError|OverflowError"
    yield case("expand huge", wrong, ps.segment_expand, np.ones(3), lengths=huge)
    for starts, stops in (
        *(([0], [6]), ([-1], [3]), ([3], [2]), ([0, 1], [5])),
        *(([6], [6]), ([-(2**63)], [2**63 - 1]), ([0], [2**63 - 1]), ([2**32], [5])),
    ):
        for op in OPS:
            call = (ps.segment_reduce, line())
            chosen = {"starts": np.array(starts), "stops": np.array(stops), "op": op}
            yield case(f"{op} {starts} {stops}", "ValueError", *call, **chosen)


# A list of cases, one after the other.
def range_shapes():
    """Row pointers of other axes, and two ways to address at once."""
    deep = np.zeros((1, 1, 1, 1, 6), int)
    hollow = np.zeros((0, 2, 0, 3), int)
    for label, array in {
        "deep": deep,
        "hollow": hollow,
        "no axes": np.array(5),
    }.items():
        for key in ("offsets", "lengths"):
            call = (ps.segment_reduce, line())
            yield case(f"{key} {label}", "ValueError", *call, **{key: array})
            yield case(
                f"scan {key} {label}",
                "ValueError",
                ps.segment_scan,
                line(),
                **{key: array},
            )
        call = (ps.segment_reduce, line())
        chosen = {"starts": array, "stops": array}
        if label != "no axes":
            yield case(f"starts {label}", "ValueError", *call, **chosen)
    given = {"ids": [0] * 5, "offsets": [0, 5], "lengths": [5], "starts": [0]}
    for one, two in product(given, given):
        if one < two:
            call = (ps.segment_reduce, line())
            pair = {one: given[one], two: given[two]}
            yield case(f"{one} and {two}", "TypeError", *call, **pair)
    yield case("nothing", "TypeError", ps.segment_reduce, line())
    for function in (ps.segment_scan, ps.segment_softmax, ps.segment_expand):
        yield case(f"{function.__name__} alone", "TypeError", function, line())


# A list of cases, one after the other.
def id_shapes():
    """Ids longer and shorter than the values, or of other axes; empty on one side."""
    shapes = [(0,), (4,), (6,), (5, 1), (1, 5), (5, 2), (2, 5), (1,) * 64]
    for shape, op in product(shapes, OPS):
        ids = np.zeros(shape, int)
        call = (ps.segment_reduce, line(), ids)
        wrong = "ValueError|AxisError"
        yield case(f"{op} {str(shape)[:20]}", wrong, *call, op=op)
        if shape != (5, 1):
            rows = np.ones((5, 3))
            yield case(
                f"{op} rows {str(shape)[:20]}", wrong, ps.segment_reduce, rows, ids
            )
    for shape in ((0,), (0, 5), (5, 0)):
        yield case(
            f"empty {shape}",
            "ok|ValueError",
            ps.segment_reduce,
            np.ones(shape),
            [0] * 5,
        )
    for axis in (1, -2, 2**31, -(2**63), 2**70):
        wrong = "AxisError|OverflowError|IndexError"
        call = (ps.segment_reduce, line(), [0] * 5)
        yield case(f"axis {axis}", wrong, *call, axis=axis)
    for batch in (-1, 2, 2**31, 2**63):
        wrong = "ValueError|OverflowError|AxisError"
        call = (ps.segment_reduce, line(), [0] * 5)
        yield case(f"batch_dims {batch}", wrong, *call, batch_dims=batch)
    for shape, ids in (((3, 2), (2, 3)), ((2, 3), (2, 4)), ((2,), (2, 1))):
        call = (ps.segment_reduce, np.ones(shape), np.zeros(ids, int))
        yield case(f"batch {shape} {ids}", "ValueError|AxisError", *call, batch_dims=1)


def companions():
    """Weights, masks, gathers and quantiles that do not fit."""
    ids = np.array([0, 1, 1, 2, 3])
    call = (ps.segment_reduce, line(), ids)
    for shape in ((0,), (4,), (6,), (2, 5), (5, 5)):
        yield case(f"weights {shape}", "ValueError", *call, weights=np.ones(shape))
        yield case(f"where {shape}", "ValueError", *call, where=np.ones(shape, bool))
        if shape != (0,):
            x = np.zeros(5, int)
            wrong = "ok" if shape == (5, 5) else "ValueError"
            yield case(f"bincount {shape}", wrong, ps.bincount, x, np.ones(shape))
    for label, thing in {"text": "x", "object": object(), "None": [None] * 5}.items():
        yield case(f"weights {label}", WRONG, *call, weights=thing)
        yield case(f"where {label}", WRONG, *call, where=thing)
        yield case(f"initial {label}", WRONG, *call, initial=thing)
        yield case(f"fill {label}", WRONG, *call, fill_value=thing)
    yield case("masked weights", "TypeError", *call, weights=np.ma.ones(5))
    yield case("masked where", "TypeError", *call, where=np.ma.ones(5, bool))
    for index in ([5], [-6], [2**62], [-(2**63)], [0, 99]):
        chosen = {"gather": index, "lengths": [len(index)]}
        for op in OPS:
            name = f"gather {index} {op}"
            yield case(name, "IndexError", ps.segment_reduce, line(), **chosen, op=op)
    for q in (-0.1, 1.1, np.nan, np.inf, "x", [0.5, 2], [[0.5]] * 2, None, 1j):
        wrong = f"{WRONG}|ok" if q == [[0.5]] * 2 else WRONG
        yield case(f"q {q}", wrong, *call, op="quantile", q=q)
    for ddof in ("x", None, [1], 1j):
        yield case(f"ddof {ddof}", WRONG, *call, op="var", ddof=ddof)


# A list of cases, one after the other.
def targets():
    """Read-only memory, elements that share bytes, things that are no array."""
    base = np.arange(40.0)
    view = np.lib.stride_tricks.as_strided
    ids = np.array([0, 1, 1, 2, 3])
    for label, out in {
        "read-only": np.frombuffer(bytes(32)),
        "stride 0": view(base, (4,), (0,)),
        "halves": view(base, (4,), (4,)),
        "longer": np.zeros(5),
        "shorter": np.zeros(3),
        "more axes": np.zeros((4, 1)),
        "no axes": np.zeros(()),
    }.items():
        for op in ("add", "max", "median", "first"):
            call = (ps.segment_reduce, line(), ids)
            yield case(f"{op} {label}", "ValueError", *call, op=op, out=out)
    for label, out in {
        "list": [0.0] * 4,
        "number": 1.0,
        "bytes": bytes(32),
        "memoryview": memoryview(bytearray(32)),
        "masked": np.ma.zeros(4),
        "StringDType": np.zeros(4, STRING),
        "int": np.zeros(4, int),
    }.items():
        call = (ps.segment_reduce, line(), ids)
        yield case(label, "TypeError", *call, out=out)
        both = (np.zeros(4), out)
        yield case(f"second {label}", "TypeError", *call, op=("add", "max"), out=both)
    for out in (np.zeros(2, int), np.zeros((4, 1), int)):
        wrong = "IndexError|ValueError"
        yield case(f"bincount {out.shape}", wrong, ps.bincount, ids, out=out)


def options():
    """Options that do not exist or do not go together, values without arithmetic."""
    ids = np.array([0, 1, 1, 2, 3])
    call = (ps.segment_reduce, line(), ids)
    for op in ("plus", "", "\ud800", "add\0", "x" * 100_000, ("add", "plus"), "set"):
        yield case(f"op {str(op)[:9]!a}", "ValueError", *call, op=op)
    for op in (np.sin, np.logaddexp, None, 3, (), ("add", 3)):
        yield case(f"op {op}", "TypeError|ValueError", *call, op=op)
    for mode in ("fill", "", "raise\0", None):
        yield case(f"mode {mode!a}", "TypeError|ValueError", *call, mode=mode)
    for name in ("casting", "include_self", "colour"):
        yield case(f"no {name}", "TypeError", *call, **{name: None})
    for dtype in ("nonsense", 1.5, STRING, "O", "S3"):
        yield case(f"dtype {dtype}", "TypeError|ValueError", *call, dtype=dtype)
    for label, values in {
        "text": np.array(["a"] * 5),
        "objects": np.ones(5, object),
        "StringDType": np.array(["1"] * 5, STRING),
        "records": np.ones(5, "f8,f8"),
        "masked": np.ma.ones(5),
        "None": None,
    }.items():
        for op in ("add", "mean", "max", "median", "var", "logsumexp"):
            name = f"{op} {label}"
            yield case(name, "TypeError", ps.segment_reduce, values, ids, op=op)
    for function in (ps.segment_reduce, ps.segment_scan, ps.bincount):
        yield case(f"{function.__name__} of none", "TypeError", function)
        yield case(f"{function.__name__} of 9", "TypeError", function, *[ids] * 9)


def huge():
    """Broadcast views whose results no machine can hold."""
    wide = np.broadcast_to(np.float32(1), (3, 2**40))
    for op in ("add", "max", "mean", "first", "median"):
        call = (ps.segment_reduce, wide)
        yield case(
            f"ids {op}", "MemoryError|ValueError", *call, [0, 0, 1], 2**30, op=op
        )
        yield case(
            f"offsets {op}", "MemoryError|ValueError", *call, offsets=[0, 3], op=op
        )
    yield case("scan", "MemoryError|ValueError", ps.segment_scan, wide, [0, 0, 1])
    yield case("softmax", "MemoryError|ValueError", ps.segment_softmax, wide, [0, 0, 1])
    hollow = np.zeros((0, 2**31, 2**31), np.int8)
    yield case("hollow", "MemoryError|ValueError", ps.segment_reduce, hollow, [], 4)
    pairs = np.zeros((2, 0))
    wrong = "ok|MemoryError|ValueError"
    yield case("no width", wrong, ps.segment_reduce, pairs, [0, 1], 2**40)


def hooks():
    """Conversions that raise come out as they are."""
    ids = np.array([0, 1, 1, 2, 3])
    for outcome, act in RAISERS.items():
        hooked = Hook(ids, act)
        for name, call in id_calls(line()).items():
            yield case(f"{name} {outcome}", outcome, call, hooked)
        for key in ("offsets", "lengths", "gather", "weights", "where"):
            chosen = {key: Hook(ids, act)}
            if key in ("gather", "weights", "where"):
                chosen["ids"] = ids
            name = f"{key} {outcome}"
            yield case(name, outcome, ps.segment_reduce, line(), **chosen)
        values = Hook(line(), act)
        yield case(f"values {outcome}", outcome, ps.segment_reduce, values, ids)
        number = Number(0, act)
        call = (ps.segment_reduce, line(), ids)
        yield case(f"axis {outcome}", outcome, *call, axis=number)
        yield case(f"batch_dims {outcome}", outcome, *call, batch_dims=number)
        yield case(f"loud {outcome}", outcome, ps.bincount, ids, values)
    for place in range(2):
        args = [line(), ids]
        args[place] = args[place].view(Loud)
        outcome = f"{ANY}|BoomError"
        yield case(
            f"overrides {place}", outcome, ps.segment_reduce, *args, strict=False
        )


# A list of cases, one after the other.
def meddling():
    """While one argument is converted, another one is resized or refilled."""
    labels = ("shrinks", "grows", "reshapes", "refills")
    for label, hooked, disturbed in product(
        labels, ("ids", "where"), ("values", "ids")
    ):
        if hooked == disturbed:
            continue
        for op in ("add", "max", "first", "median"):
            arrays = {
                "values": np.arange(1.0, 41.0),
                "ids": np.arange(40) % 4,
                "where": np.ones(40, bool),
            }
            act = meddlers(arrays[disturbed])[label]
            given = {**arrays, hooked: Hook(arrays[hooked], act)}
            call = (ps.segment_reduce, given["values"], given["ids"], 5)
            name = f"{hooked} {label} {disturbed} {op}"
            chosen = {"op": op, "where": given["where"], "strict": False}
            yield case(name, ANY, *call, **chosen)
    for label in labels:
        values, offsets = np.arange(40.0), np.array([0, 3, 9, 40])
        hooked = Hook(offsets, meddlers(values)[label])
        call = (ps.segment_reduce, values)
        yield case(f"offsets {label}", ANY, *call, offsets=hooked, strict=False)
        out = np.zeros(3)
        hooked = Hook(offsets, meddlers(out)[label])
        chosen = {"offsets": hooked, "out": out, "strict": False}
        yield case(f"out {label}", ANY, *call, **chosen)
        starts, stops = np.array([0, 3]), np.array([3, 40])
        hooked = Hook(stops, meddlers(starts)[label])
        chosen = {"starts": starts, "stops": hooked, "strict": False}
        yield case(f"starts {label}", ANY, *call, **chosen)


GROUPS = {
    "segment id kinds": id_kinds,
    "segment id values": id_values,
    "segment sizes": sizes,
    "segment range values": range_values,
    "segment range shapes": range_shapes,
    "segment id shapes": id_shapes,
    "segment companions": companions,
    "segment targets": targets,
    "segment options": options,
    "segment huge": huge,
    "segment hooks": hooks,
    "segment meddling": meddling,
}
