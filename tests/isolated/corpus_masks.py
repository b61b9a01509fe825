"""Hostile calls of where, scatter_where, gather_where and the nonzero family.

Masks that do not fit or are no masks, targets that must not be written, packed values
of the wrong number, sizes that no machine has, hooks that resize what is converted.
"""

from functools import partial
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
    Parting,
    boom,
    meddlers,
)
from tests.isolated.harness import case

STRING = np.dtypes.StringDType()
HALF = np.array([True, False, True, False, True])
POSITIONS = (ps.nonzero, ps.flatnonzero, ps.argwhere)
NAMES = {function: function.__name__ for function in (*POSITIONS, ps.count_nonzero)}


def target():
    return np.arange(5.0)


def masked_calls(a):
    """Each function that takes a mask, by name, bound to its other arguments."""
    return {
        "set": lambda mask: ps.scatter_where(a, mask, 1.0, out=a),
        "add": lambda mask: ps.scatter_where(a, mask, np.ones(5), op="add", out=a),
        "packed": lambda mask: ps.scatter_where(a, mask, [1.0], packed=True, out=a),
        "new": lambda mask: ps.scatter_where(a, mask, 1.0),
        "gather": lambda mask: ps.gather_where(a, mask),
        "axis": lambda mask: ps.gather_where(a, mask, 0),
    }


def kept(function, a, mask):
    """Make a call whose target is known to nobody else; it must stay as it was."""
    before = a.copy()
    try:
        function(mask)
    finally:
        if not np.array_equal(a, before):
            raise AssertionError("a refused call has written")


def no_masks():
    """Things that are no bools, by name."""
    return {
        "ints": [1, 0, 1, 0, 1],
        "uint8": np.ones(5, np.uint8),
        "float": np.ones(5),
        "nan": np.full(5, np.nan),
        "object": np.ones(5, object),
        "strings": np.array(["True"] * 5),
        "StringDType": np.array(["a"] * 5, STRING),
        "times": np.ones(5, "m8[s]"),
        "records": np.ones(5, [("b", "?")]),
        "void": np.ones(5, "V1"),
        "number": 1,
        "None": None,
        "text": "mask",
        "dict": {True: 1},
        "function": len,
        "masked array": np.ma.masked_array([True] * 5),
        "slice": slice(None),
        "Ellipsis": ...,
        "empty float": np.zeros(0),
    }


def mask_kinds():
    """Nothing but bools is a mask."""
    for label, mask in no_masks().items():
        a = target()
        for name, call in masked_calls(a).items():
            yield case(f"{name} {label}", "TypeError", kept, call, a, mask)
    for label, mask in {
        "ragged": [[True], [True, False]],
        "no array": NoArray(),
        "endless": Endless(),
        "negative": Interface(shape=(-1,), typestr="|b1"),
        "overflow": Interface(shape=(2**62, 4), typestr="|b1"),
    }.items():
        a = target()
        wrong = "TypeError|ValueError|RecursionError"
        for name, call in masked_calls(a).items():
            yield case(f"{name} {label}", wrong, kept, call, a, mask)


def mask_shapes():
    """Masks that fit neither as a whole, nor as a prefix, nor by broadcasting."""
    shapes = [(), (3,), (3, 4), (3, 3), (2, 3, 4), (1,) * 63 + (2,), (0, 3)]
    masks = [(2,), (4,), (6,), (10_000,), (3, 5), (4, 3), (2, 3), (2, 3, 4, 1), (0,)]
    masks += [(1, 1, 1, 1), (1,) * 64]
    for shape, own in product(shapes, masks):
        fits = len(own) == len(shape) and all(
            m in (1, n) for m, n in zip(own, shape, strict=True)
        )
        if fits or own == shape[: len(own)]:
            continue
        a, mask = np.ones(shape), np.ones(own, bool)
        name, says = f"{len(shape)} axes, mask {str(own)[:20]}", (str(own), str(shape))
        for value in (2.0, np.float32(2)):
            call = (ps.scatter_where, a, mask, value)
            yield case(f"{name} set", "ValueError", *call, out=a, says=says)
            yield case(f"{name} packed", "ValueError", *call, packed=True, out=a)
        yield case(f"{name} gather", "ValueError", ps.gather_where, a, mask, says=says)
    a = np.ones((3, 4))
    for axis, length in ((0, 4), (1, 3), (0, 2), (-1, 5), (0, 0)):
        call = (ps.gather_where, a, np.ones(length, bool), axis)
        yield case(f"axis {axis} of {length}", "ValueError", *call)
    for own in ((3, 4), (), (3, 1)):
        call = (ps.gather_where, a, np.ones(own, bool), 0)
        yield case(f"axis 0 with {own}", "ValueError", *call)
    for axis in (2, -3, 2**31, -(2**63), 2**70):
        call = (ps.gather_where, a, np.ones(3, bool), axis)
        yield case(f"no axis {axis}", "AxisError|OverflowError|IndexError", *call)
    for axis in (0.0, "0", [0], (0,), b"0"):
        call = (ps.gather_where, a, np.ones(3, bool), axis)
        yield case(f"axis {axis!r}", "TypeError", *call)


def targets():
    """Read-only memory, elements that share bytes, things that are no array."""
    base = np.arange(40.0)
    view = np.lib.stride_tricks.as_strided
    wrong = {
        "read-only": np.frombuffer(bytes(40)),
        "stride 0": view(base, (5,), (0,)),
        "halves": view(base, (5,), (4,)),
        "longer": np.zeros(6),
        "more axes": np.zeros((5, 1)),
        "no axes": np.zeros(()),
    }
    for label, out in wrong.items():
        for selected in (HALF, HALF & False):
            for value in (1.0, np.ones(5)):
                call = (ps.scatter_where, target(), selected, value)
                yield case(f"scatter {label}", "ValueError", *call, out=out)
                call = (ps.where, selected, value, 2.0)
                yield case(f"where {label}", "ValueError", *call, out=out)
            call = (ps.gather_where, target(), ~selected)
            yield case(f"gather {label}", "ValueError", *call, out=out)
            if label != "more axes":
                call = (ps.scatter_where, out, selected, 1.0)
                yield case(f"in place {label}", "ValueError", *call, out=out)


def no_arrays():
    """Targets that are no arrays, or cannot hold the numbers."""
    for label, out in {
        "list": [0.0] * 5,
        "number": 1.0,
        "bytes": bytes(40),
        "memoryview": memoryview(bytearray(40)),
        "masked": np.ma.zeros(5),
        "StringDType": np.zeros(5, STRING),
        "int": np.zeros(5, int),
    }.items():
        call = (ps.scatter_where, target(), HALF, 1.5)
        yield case(f"scatter {label}", "TypeError", *call, out=out)
        yield case(f"where {label}", "TypeError", ps.where, HALF, 1.5, 2.5, out=out)
        call = (ps.gather_where, target(), HALF | True)
        yield case(f"gather {label}", "TypeError", *call, out=out)


def windows_as_targets():
    """Windows that share their elements."""
    base = np.arange(40.0)
    windows = np.lib.stride_tricks.sliding_window_view(base, 3, writeable=True)
    whole, rows = np.ones(windows.shape, bool), np.ones(len(windows), bool)
    for selected in (whole, rows, whole & False, rows[:, None]):
        call = (ps.scatter_where, windows, selected, 1.0)
        yield case("windows", "ValueError", *call, op="add", out=windows)
        call = (ps.where, selected, 1.0, windows)
        if selected.ndim == 2:
            yield case("where windows", "ValueError", *call, out=windows)


def value_shapes():
    """Values of a wrong shape, packed values of a wrong number."""
    for shape in ((2,), (4,), (6,), (2, 5), (5, 1), (0,)):
        a = target()
        call = (ps.scatter_where, a, HALF, np.ones(shape))
        yield case(f"shape {shape}", "ValueError", *call, op="add", out=a)
    for shape in ((0,), (1,), (2,), (4,), (5,), (3, 1), (1, 3), (10_000,)):
        for op in ("set", "add", "mean", "first"):
            a = target()
            says = ("3", str(shape[0]))
            call = (ps.scatter_where, a, HALF, np.ones(shape))
            name = f"packed {shape} {op}"
            yield case(name, "ValueError", *call, op=op, packed=True, says=says, out=a)
    a = target()
    call = (ps.scatter_where, a, HALF & False, np.ones(1))
    yield case("packed for none", "ValueError", *call, packed=True, out=a)
    call = (ps.scatter_where, a, HALF & False, np.ones(0))
    yield case("nothing for none", "ok", *call, packed=True, out=a, result=target())


def values():
    """Values of another kind."""
    for label, value in {
        "complex": 1j,
        "complex array": np.ones(5, complex),
        "text": "x",
        "objects": np.ones(5, object),
        "masked": np.ma.ones(5),
        "StringDType": np.array(["1"] * 5, STRING),
        "records": np.ones(5, "f8,f8"),
        "None": None,
        "times": np.ones(5, "M8[s]"),
        "dict": {},
        "large": 10**400,
        "ragged": [1.0, [2.0]],
    }.items():
        for packed in (False, True):
            a = target()
            wrong = "TypeError|ValueError|OverflowError"
            chosen = {"packed": packed, "op": "add", "out": a}
            call = (ps.scatter_where, a, HALF, value)
            yield case(f"{label} {packed}", wrong, *call, **chosen)
    ints = np.arange(5)
    for value in (1.5, 2**63, np.ones(5), [1.5] * 5, np.float16(1)):
        call = (ps.scatter_where, ints, HALF, value)
        yield case(f"ints {value!r}", "TypeError|OverflowError", *call, out=ints)


def options():
    """Options that do not exist, or not here."""
    a, mask = target(), np.ones(5, bool)
    call = (ps.scatter_where, a, mask, 1.0)
    for op in ("plus", "", "\ud800", "add\0", "x" * 100_000):
        yield case(f"op {op[:9]!a}", "ValueError", *call, op=op, out=a)
    for op in (np.sin, np.logaddexp):
        yield case(f"op {op}", "TypeError", *call, op=op, out=a)
    for casting in ("kind", "", "same_kind\0"):
        yield case(f"casting {casting!a}", "ValueError", *call, casting=casting)
        wrong = (ps.where, mask, a, 1.0)
        yield case(f"where {casting!a}", "ValueError", *wrong, casting=casting)
    for name in ("mode", "where", "include_self", "axis", "dtype", "colour"):
        yield case(f"no {name}", "TypeError", *call, **{name: None})
    for dtype in ("nonsense", 1.5, STRING):
        wrong = (ps.where, mask, a, 1.0)
        yield case(f"dtype {dtype}", "TypeError|ValueError", *wrong, dtype=dtype)
    for op in ("and", "xor"):
        yield case(f"{op} of floats", "TypeError", *call, op=op, out=a)
    ints = np.arange(5)
    yield case("div of ints", "TypeError", ps.scatter_where, ints, mask, 1, op="div")


def counts_of_arguments():
    """More or fewer arguments than a function takes."""
    a, mask = target(), np.ones(5, bool)
    for function, most in ((ps.where, 3), (ps.scatter_where, 3), (ps.gather_where, 3)):
        for count in (0, 1, most + 1, 9):
            args = [mask] * count
            yield case(f"{function.__name__} of {count}", "TypeError", function, *args)
    for function in POSITIONS:
        for args in ((), (a, 1)):
            yield case(f"{NAMES[function]} {len(args)}", "TypeError", function, *args)
        yield case(f"{NAMES[function]} axis", "TypeError", function, a, axis=0)


def sizes():
    """Sizes of results, and axes to count along."""
    a = np.array([[True, False], [True, True]])
    for function in POSITIONS:
        name = NAMES[function]
        for size in (-1, -(2**63), -(2**70)):
            wrong = "ValueError|OverflowError"
            yield case(f"{name} {size}", wrong, function, a, size=size)
        for size in (2**40, 2**62, 2**63 - 1, 2**63, 2**70):
            wrong = "MemoryError|ValueError|OverflowError"
            yield case(f"{name} {size}", wrong, function, a, size=size)
        for size in (1.0, "1", [1], (1,), {}, np.zeros(2, int), 1j):
            yield case(f"{name} {size!r}", "TypeError", function, a, size=size)
        for fill in (1.5, "x", [0, 0, 0], {}, 1j, 2**63, -(2**70)):
            wrong = "TypeError|ValueError|OverflowError"
            call = (function, a)
            yield case(f"{name} fill {fill!r}", wrong, *call, size=9, fill_value=fill)
        for outcome, act in RAISERS.items():
            number = Number(3, act)
            yield case(f"{name} size {outcome}", outcome, function, a, size=number)
            chosen = {"size": 9, "fill_value": number}
            yield case(f"{name} fill {outcome}", outcome, function, a, **chosen)


def axes():
    """Axes that do not exist, or are named twice."""
    a = np.array([[True, False], [True, True]])
    for axis in (2, -3, 2**31, 2**63, (0, 5), (0, 0), (0, -2), (1, 1, 1)):
        wrong = "AxisError|ValueError|OverflowError"
        yield case(f"count axis {axis}", wrong, ps.count_nonzero, a, axis)
    for axis in (1.0, "0", {}, (0, 1.0), ((0,),)):
        yield case(f"count axis {axis!r}", "TypeError", ps.count_nonzero, a, axis)
    for outcome, act in RAISERS.items():
        call = (ps.count_nonzero, a)
        yield case(f"count {outcome}", outcome, *call, Number(0, act))
        yield case(f"counts {outcome}", outcome, *call, (Number(0, act),))
        yield case(f"axis {outcome}", outcome, ps.gather_where, a, a[0], Number(0, act))


def huge():
    """Broadcast views whose results or numbers of elements no machine can hold."""
    one = np.zeros(1, bool)
    for shape in ((2**46,), (2**30, 2**30), (2**40, 3)):
        wide = np.broadcast_to(np.int8(1), shape)
        yield case(
            f"where {shape}", "MemoryError|ValueError", ps.where, wide, 1.0, wide
        )
        call = (ps.where, one, 1.0, wide)
        yield case(f"branch {shape}", "MemoryError|ValueError", *call)
        call = (ps.scatter_where, wide, one.reshape((1,) * len(shape)), 2.0)
        yield case(f"scatter {shape}", "MemoryError|ValueError", *call)
        wide = np.broadcast_to(np.int8(1), (4, *shape))
        call = (ps.gather_where, wide, [True] * 4)
        yield case(f"gather {shape}", "MemoryError|ValueError", *call)
    rows = np.broadcast_to(np.int8(1), (2**31, 1))
    columns = np.broadcast_to(np.int8(1), (1, 2**31))
    call = (ps.where, rows, columns, np.int8(1))
    yield case("outer", "MemoryError|ValueError", *call)


def hooks():
    """Conversions that run code: it raises, resizes, or overwrites."""
    for outcome, act in RAISERS.items():
        a, mask = target(), np.ones(5, bool)
        hooked = Hook(mask, act)
        for name, call in masked_calls(a).items():
            yield case(f"{name} {outcome}", outcome, kept, call, a, hooked)
        hooked = Hook(a.copy(), act)
        call = (ps.scatter_where, a, mask)
        yield case(f"values {outcome}", outcome, *call, hooked, out=a)
        yield case(f"packed {outcome}", outcome, *call, hooked, packed=True, out=a)
        yield case(f"a {outcome}", outcome, ps.scatter_where, hooked, mask, 1.0)
        yield case(f"source {outcome}", outcome, ps.gather_where, hooked, mask)
        for place in range(3):
            args = [mask, a, a]
            args[place] = hooked
            yield case(f"where {place} {outcome}", outcome, ps.where, *args)
        for function, name in NAMES.items():
            yield case(f"{name} {outcome}", outcome, function, hooked)


def meddling():
    """While one argument is converted, another one is resized or refilled."""
    for label in ("shrinks", "grows", "reshapes", "refills"):
        for hooked, disturbed in product(("mask", "values"), ("a", "mask", "values")):
            if hooked == disturbed:
                continue
            for op, packed in product(("set", "add"), (False, True)):
                arrays = {
                    "a": np.arange(1.0, 41.0),
                    "mask": np.ones(40, bool),
                    "values": np.ones(40),
                }
                act = meddlers(arrays[disturbed])[label]
                given = {**arrays, hooked: Hook(arrays[hooked], act)}
                call = (ps.scatter_where, given["a"], given["mask"], given["values"])
                name = f"{hooked} {label} {disturbed} {op} {packed}"
                chosen = {"op": op, "packed": packed, "out": given["a"]}
                yield case(name, ANY, *call, strict=False, **chosen)
        source = np.arange(40.0)
        hooked = Hook(np.ones(40, bool), meddlers(source)[label])
        call = (ps.gather_where, source, hooked)
        yield case(f"gather {label}", ANY, *call, strict=False)


def meddled_choices():
    """The same for where, and for its out."""
    for label in ("shrinks", "grows", "reshapes", "refills"):
        for place, disturbed in product(range(3), range(3)):
            if place != disturbed:
                args = [np.ones(40), np.arange(40.0), np.arange(40.0)]
                act = meddlers(args[disturbed])[label]
                args[place] = Hook(args[place], act)
                name = f"where {place} {label} {disturbed}"
                yield case(name, ANY, ps.where, *args, strict=False)
                out = np.zeros(40)
                args = [np.ones(40), np.arange(40.0), np.arange(40.0)]
                args[place] = Hook(args[place], meddlers(out)[label])
                name = f"where {place} {label} out"
                yield case(name, ANY, ps.where, *args, out=out, strict=False)


class Untrue:
    """An object whose truth is an exception, or disturbs the array that it is in."""

    def __init__(self, act):
        self.act = act

    def __bool__(self):
        self.act()
        return True


def objects():
    """Objects without truth, that change the array they are in, or die loudly."""
    for outcome, act in RAISERS.items():
        things = np.array([Untrue(act)] * 3, object)
        for function, name in NAMES.items():
            yield case(f"{name} {outcome}", outcome, function, things)
        yield case(f"where {outcome}", outcome, ps.where, things, 1.0, 2.0)
        out = np.zeros(3)
        yield case(f"out {outcome}", outcome, ps.where, things, 1.0, 2.0, out=out)
    for name, size in (("shrinks", 0), ("grows", 50)):
        for function, label in NAMES.items():
            things = np.empty(9, object)
            act = partial(things.resize, size, refcheck=False)
            things[:] = [Untrue(act) for _ in things]
            yield case(f"{label} {name}", f"{ANY}", function, things, strict=False)
        things = np.empty(9, object)
        things[:] = [Untrue(partial(things.fill, None)) for _ in things]
        yield case(f"where {name}", ANY, ps.where, things, 1, 2, strict=False)
    a = np.empty(4, object)
    a[:] = [Parting(np.zeros(3)) for _ in a]
    mask = np.array([True, False, True, False])
    call = (ps.scatter_where, a, mask, None)
    yield case("dying", "ok|TypeError", *call, out=a, strict=False)
    a = np.array([None, 1, "x", []], object)
    for op in ("add", "min", "mean"):
        call = (ps.scatter_where, a, mask, a.copy())
        yield case(f"objects {op}", "TypeError", *call, op=op, out=a)


def applied():
    """apply_where: functions that raise, or return what does not fit."""
    x, mask = target(), np.array([True, False, True, False, True])
    for label, function in {
        "shape": lambda v: np.zeros(7),
        "more axes": lambda v: np.zeros((3, 2)),
        "nothing": lambda v: None,
        "objects": lambda v: object(),
        "ragged": lambda v: [[1], [1, 2]],
        "masked": np.ma.masked_array,
        "rows": lambda v: v[:, None],
    }.items():
        wrong = "ok|ValueError|TypeError"
        call = (ps.apply_where, mask, x, function)
        yield case(label, wrong, *call, fill_value=0.0)
        yield case(f"{label} twice", wrong, *call, function)
    call = (ps.apply_where, mask, x)
    yield case("raises", "BoomError", *call, lambda v: boom(), fill_value=0.0)
    yield case("no function", "TypeError", *call, 3, fill_value=0.0)
    yield case("neither", "TypeError", *call, np.log)
    yield case("both", "TypeError", *call, np.log, np.exp, fill_value=1.0)
    yield case("derivative", "TypeError", *call, np.log, np.exp, derivative=1)
    call = (ps.apply_where, mask, (x, np.ones(4)), np.add, np.subtract)
    yield case("arguments of other shapes", "ValueError", *call)
    yield case("no arguments", "ok|TypeError|ValueError", ps.apply_where, mask, (), len)
    masked = np.ma.masked_array(x)
    call = (ps.apply_where, mask, masked, np.log)
    yield case("masked argument", "TypeError", *call, fill_value=0.0)


def overrides():
    """Subclasses that answer for NumPy's functions."""
    x, mask = target(), HALF.copy()
    loud = x.view(Loud)
    outcome = f"{ANY}|BoomError"
    for place in range(3):
        args = [mask, x, x]
        args[place] = args[place].view(Loud)
        yield case(f"where overrides {place}", outcome, ps.where, *args, strict=False)
    for function, name in NAMES.items():
        yield case(f"{name} overrides", outcome, function, loud, strict=False)


GROUPS = {
    "mask kinds": mask_kinds,
    "mask shapes": mask_shapes,
    "mask targets": targets,
    "mask no arrays": no_arrays,
    "mask windows": windows_as_targets,
    "mask value shapes": value_shapes,
    "mask values": values,
    "mask options": options,
    "mask arguments": counts_of_arguments,
    "mask sizes": sizes,
    "mask axes": axes,
    "mask huge": huge,
    "mask hooks": hooks,
    "mask meddling": meddling,
    "mask meddling with choices": meddled_choices,
    "mask objects": objects,
    "mask functions": applied,
    "mask overrides": overrides,
}
