"""Segments whose arguments run code that changes the arrays of the same call.

An `__index__`, a subclass or a warning gives ids, offsets, lists of rows or values
another dtype, shape or memory after they have been looked at once. Nothing is read by
the axes of one moment with the dtype of another.
"""

import warnings

import numpy as np

import pyscatter as ps
from tests.isolated.corpus_hooks import ANY, Number
from tests.isolated.harness import case

LOOSE = {"strict": False}
WAYS = {
    "sum": {},
    "argmin": {"op": "argmin"},
    "count": {"op": "count"},
    "first": {"op": "first"},
    "std": {"op": "std"},
    "counts": {"return_counts": True},
    "several": {"op": ("add", "max")},
    "compensated": {"compensated": True},
    "sorted": {"assume_sorted": True},
}


def give(name, value):
    """What sets an attribute of an array, of which newer NumPys warn."""

    def act(array):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            setattr(array, name, value)

    return act


CHANGES = {
    "dtype": give("dtype", "f8"),
    "no axes": give("shape", ()),
    "two axes": give("shape", (2, -1)),
    "memory": lambda array: array.resize(1, refcheck=False),
}


def say(which, n):
    """Arguments that say segments of n entries, and the array that is changed."""
    if which == "ids":
        ids = np.arange(n) % 5
        return {"ids": ids}, ids
    if which == "offsets":
        offsets = np.array([0, n // 3, n // 2, n])
        return {"offsets": offsets}, offsets
    if which == "lengths":
        lengths = np.array([n // 2, n - n // 2])
        return {"lengths": lengths}, lengths
    if which == "starts":
        starts = np.array([0, n // 2])
        return {"starts": starts, "stops": np.array([n // 2, n])}, starts
    rows = np.arange(n) % 7
    return {"offsets": np.array([0, n // 2, n]), "gather": rows}, rows


def changed(which, n, change, **options):
    """A call whose axis= changes an array when it is asked for its number."""
    words, array = say(which, n)
    axis = Number(0, lambda: change(array))
    return ps.segment_reduce(np.arange(float(n)), axis=axis, **words, **options)


def changes():
    """Every way to say segments, every op with a way of its own, every change."""
    for which in ("ids", "offsets", "lengths", "starts", "gather"):
        for way, options in WAYS.items():
            for name, change in CHANGES.items():
                for n in (12, 4000):
                    call = changed, which, n, change
                    label = f"{which} {way} {name} {n}"
                    yield case(
                        label, f"{ANY}|AttributeError", *call, **LOOSE, **options
                    )


def counted(name, change):
    """The same of bincount, by its minlength."""
    x = np.arange(1000) % 5
    return ps.bincount(x, None, Number(3, lambda: change(x)))


class Liar(np.ndarray):
    """A subclass whose ufuncs return what they like."""

    answer = 3.5

    def __array_ufunc__(self, *ignored, **options):
        return self.answer


class Crowd(Liar):
    """The same with a mask of too few elements."""

    answer = np.zeros((1, 500, 1), bool)


def subclasses():
    """skipna= asks values and masks what is missing."""
    where = np.ones(6, bool).view(Liar)
    call = ps.segment_reduce, np.arange(6.0)
    yield case("mask", ANY, *call, offsets=[0, 2, 6], skipna=True, where=where)
    values = np.ones((200, 500, 2)).view(Crowd)
    call = ps.segment_reduce, values
    yield case("values", ANY, *call, offsets=[0, 500], axis=1, skipna=True)


def weighted():
    """Weights that overflow in a cast say nothing, so nothing hears of it."""
    ids, values = np.zeros(3, int), np.ones(3, np.float32)

    def enlarge(*ignored, **options):
        ids.resize(10_000, refcheck=False)
        values.resize(10_000, refcheck=False)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = enlarge
        weights = np.array([1e300, 1, 1])
        return ps.segment_sum(values, ids, 1, weights=weights, dtype=np.float32)


def others():
    """Calls that no list above makes."""
    for name, change in CHANGES.items():
        wrong = f"{ANY}|AttributeError"
        yield case(f"bincount {name}", wrong, counted, name, change, **LOOSE)
    yield from subclasses()
    yield case("weights", "ok", weighted, **LOOSE)


GROUPS = {"segments changed by hooks": changes, "segments and subclasses": others}
