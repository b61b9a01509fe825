"""Arguments that run Python code while they are converted.

The code raises, resizes or rewrites the other arguments, locks them, or never returns
an array. Pointers must be taken after the last hook has run, and checks made then.
"""

from functools import partial

import numpy as np

import pyscatter as ps
from tests.isolated.forms import DROP_IN_FORMS, FORMS, GATHERS, SCATTERS
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
    "hook overwritten": overwritten_target,
    "hook subclasses": subclasses,
    "hook odd objects": odd_objects,
    "hook dying objects": dying_objects,
}
