"""Arguments that run Python code while they are converted.

The code raises, resizes or rewrites the other arguments, locks them, or never returns
an array. Pointers must be taken after the last hook has run, and checks made then.
"""

import warnings
from functools import partial

import numpy as np

import pyscatter as ps
from tests.isolated.forms import (
    DROP_IN_FORMS,
    FORMS,
    GATHERS,
    SCATTERS,
    columns,
    writes,
)
from tests.isolated.harness import case

ANY = "ok|ValueError|IndexError|TypeError|RuntimeError|MemoryError"


class BoomError(Exception):
    """What no library raises by itself."""


class Hook:
    """Something that numpy.asarray converts by running `act` first."""

    def __init__(self, array, act):
        self.array, self.act = array, act

    def __array__(self, dtype=None, copy=None):
        self.act()
        return self.array if dtype is None else self.array.astype(dtype)


class Number:
    """An integer by way of `act`."""

    def __init__(self, number, act):
        self.number, self.act = number, act

    def __index__(self):
        self.act()
        return self.number


def boom():
    raise BoomError("from the hook")


def interrupt():
    raise KeyboardInterrupt


def leave():
    raise SystemExit(3)


def forever():
    forever()


RAISERS = {
    "BoomError": boom,
    "KeyboardInterrupt": interrupt,
    "SystemExit": leave,
    "RecursionError": forever,
}


def hookable(form):
    """Whether the form hands the index on untouched."""
    return not any(word in form.name for word in ("_nd", "batch", "slice"))


def raising_arguments():
    """An exception from an array's hook comes out as it is."""
    for form in filter(hookable, FORMS.values()):
        for outcome, act in RAISERS.items():
            a, index = form.array(5), np.array([0, 1])
            x = form.operand(a, 2)
            name = f"{form.name} {outcome}"
            hooked = Hook(index, act)
            yield case(f"{name} index", outcome, form.call, a, hooked, x)
            hooked = Hook(np.ones(2, bool), act)
            yield case(f"{name} where", outcome, form.call, a, index, x, where=hooked)
            if not form.reads:
                hooked = Hook(x, act)
                yield case(f"{name} values", outcome, form.call, a, index, hooked)


def raising_numbers():
    """So does one from a number's, and from whatever else is converted."""
    for outcome, act in RAISERS.items():
        a = np.zeros(3)
        tuples, array = Hook(np.array([[0], [1]]), act), Hook(a, act)
        yield case(f"nd {outcome}", outcome, ps.scatter_nd, a, tuples, 1.0, out=a)
        yield case(f"gather_nd {outcome}", outcome, ps.gather_nd, a, tuples)
        yield case(f"target {outcome}", outcome, ps.scatter, array, [0], 1.0)
        yield case(f"source {outcome}", outcome, ps.gather, array, [0])
        number = Number(0, act)
        call = (ps.gather, a, [0])
        yield case(f"axis {outcome}", outcome, *call, axis=number)
        yield case(f"batch_dims {outcome}", outcome, *call, batch_dims=number)
        call = (ps.add_at, a, [0], 1.0)
        yield case(f"add_at axis {outcome}", outcome, *call, axis=number)
        yield case(f"expression {outcome}", outcome, ps.gather_at, a, number)
        pair = (number, slice(None))
        yield case(f"slice {outcome}", outcome, ps.add_at, a[None].copy(), pair, 1.0)


class NoArray:
    """Whose hook returns a list."""

    def __array__(self, dtype=None, copy=None):
        return [0, 1]


class Endless:
    """Whose hook asks itself."""

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self)


class Floats:
    """Whose hook returns numbers that are no index."""

    def __array__(self, dtype=None, copy=None):
        return np.zeros(2)


class Interface:
    """What describes its memory by a dictionary."""

    def __init__(self, **described):
        whole = {"version": 3, "typestr": "<i8", "data": b"\0" * 16, **described}
        self.__array_interface__ = whole


def wrong_returns():
    """A hook that returns something else than promised."""
    things = {
        "no array": NoArray(),
        "endless": Endless(),
        "floats": Floats(),
        "negative shape": Interface(shape=(-1,)),
        "overflowing shape": Interface(shape=(2**62, 4)),
        "no shape": Interface(),
        "unknown type": Interface(shape=(2,), typestr="?x9"),
        "no version": Interface(shape=(2,), version=None, data=None),
    }
    wrong = "TypeError|ValueError|IndexError|RecursionError|AttributeError"
    for form in filter(hookable, FORMS.values()):
        for name, thing in things.items():
            a = form.array(5)
            call = (form.call, a, thing, form.operand(a, 2))
            yield case(f"{form.name} {name}", wrong, *call)
    a, good = np.array([5, 6]), Interface(shape=(2,))
    yield case("good interface", "ok", ps.gather, a, good, result=[5, 5])


def meddlers(a):
    """Ways to disturb an array during a conversion."""
    return {
        "shrinks": partial(a.resize, 0, refcheck=False),
        "grows": partial(a.resize, 100_000, refcheck=False),
        "reshapes": partial(a.resize, (a.size, 1), refcheck=False),
        "refills": partial(a.fill, 3),
    }


def meddling():
    """The other arguments are resized, reshaped or refilled: no foreign memory."""
    for form in filter(hookable, SCATTERS + DROP_IN_FORMS + GATHERS):
        for disturbed in ("target", "index"):
            for hooked in ("index", "values", "where"):
                if hooked != disturbed:
                    yield from meddled(form, disturbed, hooked)


def meddled(form, disturbed, hooked):
    """One argument's hook disturbs another, in each way."""
    for label in ("shrinks", "grows", "reshapes", "refills"):
        arrays = {
            "target": form.array(40),
            "index": np.arange(20),
            "values": np.ones(form.operand(form.array(40), 20).shape, form.dtype),
            "where": np.ones(20, bool),
        }
        act = meddlers(arrays[disturbed])[label]
        arguments = dict(arrays)
        if form.reads and hooked == "values":
            continue
        arguments[hooked] = Hook(arrays[hooked], act)
        call = (form.call, arguments["target"], arguments["index"], arguments["values"])
        where = {"where": arguments["where"]} if hooked == "where" else {}
        name = f"{form.name} {hooked} {label} {disturbed}"
        yield case(name, ANY, *call, strict=False, **where)


def late_changes():
    """What a late hook did to an earlier argument is seen by the checks."""
    for form in filter(hookable, SCATTERS[1:] + DROP_IN_FORMS):
        a, index = form.array(40), np.arange(20)
        spoil = partial(index.fill, 10**9)
        hooked = Hook(form.operand(a, 20), spoil)
        changed = {"strict": False}
        call = (form.call, a, index, hooked)
        yield case(f"{form.name} index spoiled", "IndexError", *call, **changed)
        a = form.array(40)
        lock = partial(a.setflags, write=False)
        hooked = Hook(form.operand(a, 20), lock)
        call = (kept_while_locked, form, a, np.arange(20), hooked)
        yield case(f"{form.name} target locked", "ValueError", *call, **changed)


def kept_while_locked(form, a, index, values):
    """Make a call that must not write into an array that a hook has locked."""
    before = a.copy()
    try:
        form.call(a, index, values)
    finally:
        if not np.array_equal(a, before):
            raise AssertionError("a locked array was written")


FLAT = writes("scatter-flat", columns, 1, partial(ps.scatter, axis=None))
MARK = 99


def replaced(array, others):
    """Release an array's memory; another array has it then."""
    size, dtype = array.size, array.dtype
    array.__setstate__((1, (0,), dtype, False, b""))
    others.append(np.full(size, MARK, dtype))


def is_marked(array):
    return np.all(array == np.array(MARK, array.dtype))


def apart(others, call, *args, **options):
    """Make a call that replaces an array: the other array neither changes nor shows."""
    try:
        result = call(*args, **options)
    except Exception as error:
        assert f"index {MARK} " not in str(error), "foreign memory was read"
        raise
    finally:
        assert others, "the hook did not run"
        assert all(map(is_marked, others)), "foreign memory changed"
    assert result is None or not np.any(np.asarray(result) == MARK)


def last_arguments():
    """What is converted last releases what was examined before it."""
    for form in SCATTERS + DROP_IN_FORMS + GATHERS + (FLAT,):
        for label in ("target", "index", "where"):
            if label == "index" and not hookable(form):
                continue  # which hands on a view of it, whose memory is not its own
            a, index, mask = form.array(40), np.arange(20), np.ones(20, bool)
            mask = mask[None].copy() if "batch" in form.name else mask
            array, others = {"target": a, "index": index, "where": mask}[label], []
            hooked = Hook(np.ones((), form.dtype), partial(replaced, array, others))
            call = [apart, others, form.call, a, index]
            options = {"where": mask, "strict": False}
            if form.reads:
                call.append(form.operand(a, 20))
                options["fill_value"] = hooked
            else:
                call.append(hooked)
            yield case(f"{form.name} releases {label}", ANY, *call, **options)


def retype(a, kind):
    """Give an array another dtype in place, which NumPy 2.5 warns of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        a.dtype = np.dtype(kind)


def other_axes():
    """Arrays that have other axes, or another dtype, by the time they are used."""
    changed, wrong = {"strict": False}, "RuntimeError|TypeError"
    for form in SCATTERS[1:] + DROP_IN_FORMS:
        a = form.array(40)
        if a.ndim == 2 and "slice" not in form.name:
            fewer = partial(a.resize, a.size, refcheck=False)
            hooked = Hook(np.ones((), form.dtype), fewer)
            call = (form.call, a, np.arange(20), hooked)
            yield case(f"{form.name} flattened", "RuntimeError", *call, **changed)
        if "slice" not in form.name:
            a = form.array(40)
            kind = "i8" if a.dtype.kind == "f" else "f8"
            retyped = partial(retype, a, kind)
            hooked = Hook(np.ones((), form.dtype), retyped)
            call = (form.call, a, np.arange(20), hooked)
            yield case(f"{form.name} retyped", wrong, *call, **changed)


def other_indices():
    """Indices, masks and planned axes of another shape by the time they are used."""
    changed = {"strict": False}
    for label, array in (
        ("tuples", np.zeros((2, 2), int)),
        ("index", np.zeros(4, int)),
    ):
        a, axes = np.zeros((5, 5)), (4, 1) if label == "tuples" else ()
        function = ps.scatter_nd if label == "tuples" else partial(ps.scatter, axis=0)
        act = partial(array.resize, axes, refcheck=False)
        call = (function, a, array, Hook(np.ones(()), act))
        yield case(f"{label} resized", "RuntimeError|ok", *call, **changed)
    a, index = np.zeros((2, 5)), np.zeros((2, 3), int)
    hooked = Hook(np.ones(()), partial(index.resize, (), refcheck=False))
    call = (ps.scatter, a, index, hooked)
    yield case("no batches", "ValueError", *call, batch_dims=1, **changed)
    a, plan = np.zeros(40), ps.Plan(np.arange(40), 40)
    hooked = Hook(np.ones(40), partial(a.resize, 10, refcheck=False))
    call = (ps.scatter, a, plan, hooked)
    yield case("planned axis", "RuntimeError", *call, op="add", out=a, **changed)
    a, mask = np.zeros((4, 5)), np.ones((4, 5), bool)
    hooked = Hook(np.ones(()), partial(mask.resize, (2, 2), refcheck=False))
    call = (ps.scatter_where, a, mask, hooked)
    yield case("mask", "ValueError", *call, out=a, **changed)


class Typed:
    """What numpy.dtype takes for float64, by way of `act`."""

    def __init__(self, act):
        self.act = act

    @property
    def dtype(self):
        self.act()
        return np.dtype("f8")


def dtypes():
    """A dtype that is asked for late."""
    for which in range(3):
        arrays = [np.arange(40) % 2 == 0, np.ones(40), np.zeros(40)]
        others = []
        dtype = Typed(partial(replaced, arrays[which], others))
        call = (apart, others, ps.where, *arrays)
        yield case(f"where {which}", "ValueError", *call, dtype=dtype, strict=False)
    for which in range(2):
        arrays, others = [np.ones(40), np.arange(20)], []
        dtype = Typed(partial(replaced, arrays[which], others))
        call = (apart, others, ps.scatter, *arrays, 1.0)
        yield case(f"scatter {which}", ANY, *call, op="add", dtype=dtype, strict=False)


def warned(act, call, *args, **options):
    """Make a call whose warnings are shown by `act`."""

    def show(*ignored, **also_ignored):
        act()

    warnings.simplefilter("always")
    warnings.showwarning = show
    return call(*args, **options)


def shown_warnings():
    """A warning of a zero divisor is shown by code that releases the arguments."""
    forms = {
        "at": ps.floor_divide_at,
        "axis": partial(ps.floor_divide_at, axis=0),
        "slice": lambda a, index, b: ps.floor_divide_at(a, (..., index), b),
        "flat": lambda a, i, b: ps.scatter(a, i, b, None, op="floor_div", out=a),
        "along": lambda a, i, b: ps.scatter_along_axis(a, i, b, op="floor_div", out=a),
        "new": partial(ps.scatter, op="floor_div"),
    }
    for name, function in forms.items():
        for which in range(3):
            arrays = [np.arange(1, 41), np.arange(20), np.zeros(20, int)]
            others = []
            act = partial(replaced, arrays[which], others)
            call = (apart, others, warned, act, function, *arrays)
            yield case(f"{name} releases {which}", ANY, *call, strict=False)
    a = np.zeros((2, 3), np.int64)
    act = partial(a.resize, 6, refcheck=False)
    call = (warned, act, partial(ps.floor_divide_at, axis=1), a, [0], np.zeros(1, int))
    yield case("flattened", "RuntimeError", *call, strict=False)


def overwritten_target():
    """A hook that rewrites the target comes first; the update follows."""
    for name in ("add_at", "add_at-axis", "scatter", "scatter_along", "scatter_at"):
        form = FORMS[name]
        a = form.array(5)
        hooked = Hook(np.array([0, 0]), partial(a.fill, 10))
        options = {"op": "add"} if form.ops else {}
        done = np.full(a.shape, 10.0)
        done[0] = 12
        call = (form.call, a, hooked, np.ones(()))
        yield case(name, "ok", *call, result=done, strict=False, **options)


class Noisy(np.ndarray):
    """A subclass that acts whenever a view of it is made."""

    act = staticmethod(lambda: None)

    def __array_finalize__(self, source):
        type(self).act()


class Loud(np.ndarray):
    """A subclass that answers for every NumPy function."""

    def __array_function__(self, *args, **kwargs):
        boom()

    def __array_ufunc__(self, *args, **kwargs):
        boom()


def subclass_call(act, form, a, index, x, which):
    """Make a call with one argument of a noisy class; silence comes back after it."""
    arguments = [a, index, x]
    arguments[which] = arguments[which].view(Noisy)
    Noisy.act = staticmethod(act)
    try:
        form.call(*arguments)
    finally:
        Noisy.act = staticmethod(lambda: None)


def subclasses():
    """Side effects of __array_finalize__ and overrides of NumPy functions."""
    for form in filter(hookable, FORMS.values()):
        for which in range(3):
            a, index = form.array(5), np.array([0, 1])
            x = np.ones(form.operand(a, 2).shape, form.dtype)
            outcome = f"{ANY}|BoomError"
            name = f"{form.name} {which}"
            args = (form, a, index, x, which)
            call = (subclass_call, boom, *args)
            yield case(f"{name} raises", outcome, *call, strict=False)
            if which:  # a target that is a view would lose its memory to anyone
                shrink = partial(a.resize, 0, refcheck=False)
                call = (subclass_call, shrink, *args)
                yield case(f"{name} shrinks", outcome, *call, strict=False)
            arguments = [form.array(5), index, x]
            arguments[which] = arguments[which].view(Loud)
            call = (form.call, *arguments)
            yield case(f"{name} overrides", outcome, *call, strict=False)


class Untrue(str):
    """A string that cannot be compared or hashed."""

    def __eq__(self, other):
        boom()

    def __hash__(self):
        boom()


class Liar:
    """A sequence whose length and items disagree."""

    def __init__(self, length, items):
        self.length, self.items = length, items

    def __len__(self):
        return self.length

    def __getitem__(self, place):
        return self.items[place]


class Float:
    """A number that raises when it is asked for its value."""

    def __float__(self):
        boom()

    def __array__(self, dtype=None, copy=None):
        boom()


class Parting:
    """An object that writes into an array when it goes away."""

    def __init__(self, array):
        self.array = array

    def __del__(self):
        self.array[...] = 0


def odd_objects():
    """Strings, sequences and numbers that misbehave, and objects that die loudly."""
    a = np.zeros(3)
    wrong = "ValueError|TypeError|BoomError"
    for option in ("op", "mode", "casting"):
        call = (ps.scatter, a, [0], 1.0)
        odd = {option: Untrue("set")}
        yield case(f"untrue {option}", f"{wrong}|ok", *call, out=a, **odd)
    for length, items in (
        (2**40, [0]),
        (3, [0]),
        (1, [0, 1, 2]),
        (0, [0]),
        (2, [0, "x"]),
    ):
        name = f"list of {length} with {len(items)}"
        liar = Liar(length, items)
        yield case(name, ANY, ps.gather, a, liar)
        yield case(f"{name} values", ANY, ps.scatter, a, [0], liar)
        yield case(f"{name} at", ANY, ps.add_at, a.copy(), liar, 1.0, strict=False)
    fill = {"mode": "fill", "fill_value": Float()}
    yield case("fill_value", wrong, ps.gather, a, [9], **fill)
    yield case("value", wrong, ps.scatter, a, [0], Float(), out=a)
    loop = []
    loop.append(loop)
    outcome = "ValueError|TypeError|IndexError|RecursionError"
    yield case("list of itself", outcome, ps.gather, a, loop)
    yield case("list of itself as values", outcome, ps.scatter, a, [0], loop, out=a)
    yield case("list of itself at", outcome, ps.add_at, a, loop, 1.0)


def dying_objects():
    """Replaced objects that write when they go, into the target as well."""
    nothing = np.array([None])
    loose = {"strict": False}
    for kin in (False, True):
        objects = np.empty(5, object)
        objects[:] = [Parting(objects if kin else np.zeros(3)) for _ in objects]
        call = (ps.scatter, objects, [0, 1, 1, 4], nothing)
        yield case(f"in place {kin}", ANY, *call, out=objects, **loose)
        call = (ps.gather, objects, [0, 0, 4])
        yield case(f"over old out {kin}", ANY, *call, out=objects[:3], **loose)


GROUPS = {
    "hook raising arguments": raising_arguments,
    "hook raising numbers": raising_numbers,
    "hook wrong returns": wrong_returns,
    "hook meddling": meddling,
    "hook late changes": late_changes,
    "hook last arguments": last_arguments,
    "hook other axes": other_axes,
    "hook other indices": other_indices,
    "hook dtypes": dtypes,
    "hook shown warnings": shown_warnings,
    "hook overwritten": overwritten_target,
    "hook subclasses": subclasses,
    "hook odd objects": odd_objects,
    "hook dying objects": dying_objects,
}
