"""Arguments of the wrong kind: indices that are no integers, arrays that are no arrays,
options that do not exist.
"""

import array
import datetime
from functools import partial

import numpy as np

import pyscatter as ps
from tests.isolated.forms import DROP_IN_FORMS, FORMS, GATHERS, SCATTERS
from tests.isolated.harness import case

STRING = np.dtypes.StringDType()


def wrong_indices():
    """Things that are no list of integers, by name."""
    return {
        "float64": np.array([0.0, 1.0]),
        "float16": np.array([0, 1], np.float16),
        "longdouble": np.array([0, 1], np.longdouble),
        "nan": np.array([np.nan]),
        "inf": np.array([np.inf]),
        "list of floats": [0.0, 1.0],
        "float": 1.0,
        "complex": np.array([0, 1], complex),
        "object": np.array([0, 1], object),
        "list beyond 64 bits": [2**70],
        "str": np.array(["0", "1"]),
        "bytes": np.array([b"0", b"1"]),
        "text": "01",
        "raw bytes": b"\0\1",
        "StringDType": np.array(["0", "1"], STRING),
        "datetime": np.array([0, 1], "M8[s]"),
        "timedelta": np.array([0, 1], "m8[s]"),
        "structured": np.array([(0,), (1,)], [("i", "i8")]),
        "void": np.zeros(2, "V8"),
        "dict": {0: 1},
        "set": {0, 1},
        "iterator": iter([0, 1]),
        "date": datetime.date(2000, 1, 1),
        "function": len,
    }


def index_kinds(form):
    """None of them is taken for an index."""
    for label, index in wrong_indices().items():
        a = form.array(5)
        call = (form.call, a, index, form.operand(a, 2))
        yield case(f"{form.name} {label}", "TypeError", *call)


def at_index_kinds(form):
    """Where NumPy's index expressions are spoken, the error is NumPy's IndexError."""
    for label, index in wrong_indices().items():
        a = form.array(5)
        call = (form.call, a, index, form.operand(a, 2))
        yield case(f"{form.name} {label}", "IndexError|TypeError", *call)
    for label in ("float64", "nan", "list of floats", "float"):
        a = form.array(5)
        call = (form.call, a, wrong_indices()[label], form.operand(a, 2))
        yield case(f"{form.name} {label}, NumPy's error", "IndexError", *call)


def speaks_numpy(form):
    """Whether the form takes any NumPy index expression."""
    return "_at" in form.name and not form.name.endswith("-axis")


def takes_anything(form):
    """Whether the form hands the index on as it was given."""
    name = form.name
    return not any(word in name for word in ("_nd", "batch", "slice"))


def kinds():
    """Index kinds for every form."""
    for form in FORMS.values():
        if takes_anything(form):
            yield from (at_index_kinds if speaks_numpy(form) else index_kinds)(form)
    for label, index in wrong_indices().items():
        a = np.zeros(5)
        # A void entry or an object array alone may also fail to be tuples at all.
        nd = "TypeError|ValueError"
        yield case(f"scatter_nd {label}", nd, ps.scatter_nd, a, index, 1.0, out=a)
        yield case(f"gather_nd {label}", nd, ps.gather_nd, a, index)


def ragged():
    """Lists that are no array."""
    for name, form in FORMS.items():
        if takes_anything(form):
            a = form.array(5)
            call = (form.call, a, [[0, 1], [2]], form.operand(a, 2))
            yield case(f"{name} ragged", "ValueError|TypeError|IndexError", *call)


def bools():
    """A mask is no axis index; inside index expressions it has to fit."""
    for form in FORMS.values():
        a = form.array(5)
        for mask in (np.ones(5, bool), np.zeros(5, bool), np.ones(4, bool)):
            call = (form.call, a, mask, form.operand(a, 5))
            if not speaks_numpy(form):
                yield case(f"{form.name} mask of {mask.size}", "TypeError", *call)
    for form in filter(speaks_numpy, FORMS.values()):
        for length in (1, 4, 6, 10_000):
            a = form.array(5)
            call = (form.call, a, np.ones(length, bool), form.operand(a, length))
            yield case(f"{form.name} mask of {length}", "IndexError", *call)
    a = np.zeros((3, 3))
    for shape in ((2, 3), (3, 2), (3, 3, 1), (9,), (4,)):
        mask = np.ones(shape, bool)
        yield case(f"add_at mask {shape}", "IndexError", ps.add_at, a, mask, 1.0)
        yield case(f"gather_at mask {shape}", "IndexError", ps.gather_at, a, mask)


def expressions():
    """Index expressions that NumPy refuses."""
    bad = {
        "two ellipses": (..., ...),
        "too many": (0, 0, 0),
        "arrays that do not broadcast": (np.zeros(2, int), np.zeros(3, int)),
        "a string": "a",
        "a field name": ["a", "b"],
        "an object": object(),
        "a float slice": slice(0.0, 2.0),
        "a zero step": slice(0, 2, 0),
        "out of range number": 5,
        "out of range pair": (0, -6),
        "far out of range": 2**70,
        "lists that do not broadcast": ((0, 1), (2, 3, 4)),
    }
    for label, index in bad.items():
        a = np.zeros((5, 5))
        outcome = "IndexError|TypeError|ValueError"
        yield case(f"add_at {label}", outcome, ps.add_at, a, index, 1.0)
        yield case(f"scatter_at {label}", outcome, ps.scatter_at, a, index, 1.0, out=a)
        yield case(f"gather_at {label}", outcome, ps.gather_at, a, index)


def targets():
    """What is no real array cannot be updated in place; masks would be lost."""
    things = {
        "list": [0.0, 1.0],
        "tuple": (0.0, 1.0),
        "number": 1.0,
        "NumPy scalar": np.float64(1),
        "None": None,
        "bytes": b"\0\1",
        "bytearray": bytearray(8),
        "memoryview": memoryview(bytearray(8)),
        "array.array": array.array("d", [0.0, 1.0]),
        "str": "abc",
        "masked": np.ma.zeros(1),
    }
    for label, a in things.items():
        for form in DROP_IN_FORMS:
            yield case(f"{form.name} {label}", "TypeError", form.call, a, [0], 1)
        if a is not None:
            b = np.zeros(1)
            yield case(f"out {label}", "TypeError", ps.scatter, b, [0], 1.0, out=a)
            yield case(f"gather out {label}", "TypeError", ps.gather, b, [0], out=a)


def masked():
    """Masked arrays are refused wherever an array goes in."""
    a, index, values = np.zeros(3), np.array([0, 1]), np.ones(2)
    forms = [ps.scatter, ps.scatter_along_axis, ps.scatter_at]
    for call in forms:
        for place in range(3):
            args = [a, index, values]
            args[place] = np.ma.masked_array(args[place], mask=False)
            yield case(f"{call.__name__} masked {place}", "TypeError", call, *args)
        mask = np.ma.masked_array([True, False])
        name = f"{call.__name__} masked where"
        yield case(name, "TypeError", call, a, index, values, where=mask)
    for call in (ps.gather, ps.gather_along_axis, ps.gather_at):
        name = call.__name__
        yield case(f"{name} masked", "TypeError", call, np.ma.zeros(3), index)
        wrapped = np.ma.masked_array(index)
        yield case(f"{name} masked index", "TypeError", call, a, wrapped)
        yield case(
            f"{name} masked out", "TypeError", call, a, index, out=np.ma.zeros(2)
        )


def strings():
    """StringDType arrays are refused; casts from and to them are NumPy's."""
    a = np.array(["a", "bc"], STRING)
    yield case("scatter", "TypeError", ps.scatter, a, [0], "x")
    yield case("scatter in place", "TypeError", ps.scatter, a, [0], a[1:], out=a)
    yield case("scatter_at", "TypeError", ps.scatter_at, a, [0], "x")
    cast = "ok|TypeError"
    yield case("values", cast, ps.scatter, np.array(["ab"]), [0], a[:1])
    yield case("values into objects", cast, ps.scatter, [None], [0], a[:1])
    for call in (ps.gather, ps.gather_along_axis, ps.gather_at):
        yield case(call.__name__, "TypeError", call, a, [0])
        out = np.empty(1, STRING)
        yield case(f"{call.__name__} out", cast, call, ["a"], [0], out=out)


# By option and by the exceptions that are right.
WRONG_OPTIONS = {
    "op": {
        "ValueError": ("plus", "", "ADD", "add\0", "\ud800", "a" * 100_000),
        "TypeError": (np.sin, np.logaddexp, np.modf),
        "ValueError|TypeError": (1, None, len, b"add", ["add"], np.zeros(2)),
    },
    "mode": {
        "ValueError": ("Raise", "", "ignore", "raise\0", "\ud800", "fill"),
        "ValueError|TypeError": (0, None, b"raise", ["raise"]),
    },
    "casting": {
        "ValueError": ("kind", "", "same_kind\0", "x" * 100_000),
        "ValueError|TypeError": (0, b"kind"),
    },
    "dtype": {"TypeError": ("nonsense", object, "S3", "V8", STRING, 1.5)},
    "where": {
        "TypeError": ([1], [0.5], ["x"], np.zeros(1, "M8[s]"), {}, "x"),
        "ValueError": ([True, False], np.ones((2, 2), bool), np.zeros(0, bool)),
    },
}


def options():
    """Names and types of options that do not exist."""
    a = np.zeros(3)
    for option, outcomes in WRONG_OPTIONS.items():
        for outcome, choices in outcomes.items():
            for choice in choices:
                name = f"scatter {option} {str(choice)[:20]!a}"
                chosen = {"op": "add", option: choice}
                yield case(name, outcome, ps.scatter, a, [0], 1.0, **chosen)
    call = ("ValueError", ps.scatter, a, [0], 1.0)
    choices = ("add", "floor_div")
    yield case("op names the choices", *call, op="plus", says=choices)
    choices = ("raise", "drop", "clip", "wrap")
    yield case("mode names the choices", *call, mode="no", says=choices)


def signatures():
    """Too few arguments, too many, unknown or repeated names."""
    a = np.zeros(3)
    for form in SCATTERS[:1] + GATHERS[:1]:
        function = ps.gather if form.reads else ps.scatter
        name = function.__name__
        for count in (0, 1, 7):
            yield case(f"{name} of {count}", "TypeError", function, *[a] * count)
        args = ([0],) if form.reads else ([0], 1.0)
        yield case(f"{name} unknown", "TypeError", function, a, *args, colour=1)
        yield case(f"{name} twice", "TypeError", partial(function, a, *args, a=a))
    for form in DROP_IN_FORMS[::2]:
        for count in (0, 1, 2, 4):
            args = [a.astype(form.dtype)] * count
            yield case(f"{form.name} of {count}", "TypeError", form.call, *args)
        call = (form.call, a.astype(form.dtype), [0], 1)
        yield case(f"{form.name} unknown", "TypeError", *call, out=a)
        yield case(f"{form.name} mode", "ValueError", *call, mode="fill")
    spelled = {"".join(["mo", "de"]): "drop"}
    yield case("names that are not interned", "ok", ps.add_at, a, [9], 1.0, **spelled)


GROUPS = {
    "index kinds": kinds,
    "index ragged": ragged,
    "index bool": bools,
    "index expressions": expressions,
    "target kinds": targets,
    "masked arrays": masked,
    "string arrays": strings,
    "options": options,
    "signatures": signatures,
}
