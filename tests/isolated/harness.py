"""One hostile call, the exceptions it may raise, and what it must not touch.

A Case holds a call that has not been made yet. `judge` makes it: the exception's class
must be a documented one, and the memory behind every array argument, target included,
must hold the same bytes as before, in the array and in whatever it is a view of.
"""

import gc
import json
import resource
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from tests.isolated.children import sanitized

LIMIT = 8 << 30
SAMPLE = 1 << 24  # larger memory is compared at its ends and at a few places between


@dataclass
class Case:
    """A call and its documented outcomes; `case` makes one."""

    name: str
    expect: list[str]  # names of exception classes, and "ok" where success is right
    call: Callable
    args: tuple
    kwargs: dict
    says: tuple[str, ...]  # parts of the message
    result: object  # what a successful call returns, or leaves in its first argument
    strict: bool  # False where a hook writes into the arguments on purpose


def case(name, expect, call, *args, says=(), result=None, strict=True, **kwargs):
    """A Case; `expect` joins the allowed outcomes by a bar."""
    return Case(
        name, expect.split("|"), call, args, kwargs, tuple(says), result, strict
    )


def owner(held):
    """The object at the end of a chain of views."""
    while True:
        further = getattr(held, "base", None)
        if further is None and isinstance(held, memoryview):
            further = held.obj
        if further is None:
            return held
        held = further


def content(held):
    """A copy of the memory of an owner; identities for objects; None if unknown."""
    if isinstance(held, np.ndarray):
        plain = held.view(np.ndarray)
        if plain.dtype.kind == "T":
            return plain.tolist()
        if plain.dtype.hasobject:
            return [id(item) for item in plain.ravel().tolist()]
        if plain.nbytes > SAMPLE:
            flat = plain.reshape(-1)
            return [flat[:4096].tobytes(), flat[-4096:].tobytes()] + [
                flat[k].tobytes() for k in range(0, flat.size, flat.size // 997)
            ]
        return plain.reshape(-1).tobytes()  # tobytes of NumPy 2.0 takes 32 axes
    try:
        return bytes(held)
    except TypeError:
        return None


def layout(array):
    """What describes an array, besides its bytes."""
    return array.shape, array.strides, array.dtype, array.flags.writeable


def arrays_of(call, args, kwargs):
    """Every array among the arguments, also inside tuples and of bound calls."""
    found = []
    for item in [call, *args, *kwargs.values()]:
        if isinstance(item, partial):
            found += arrays_of(item.func, item.args, item.keywords)
        parts = item if isinstance(item, tuple) else (item,)
        found += [part for part in parts if isinstance(part, np.ndarray)]
    return found


def snapshot(case):
    """Bytes and layouts of all arguments."""
    arrays = arrays_of(case.call, case.args, case.kwargs)
    return [layout(x) for x in arrays], [content(owner(x)) for x in arrays]


def complaint_about_error(case, error, before):
    """What is wrong with an exception, or None."""
    names = [kind.__name__ for kind in type(error).__mro__]
    text = f"{type(error).__name__}: {error}"
    if not set(names) & set(case.expect):
        return f"raised {text}; expected {' or '.join(case.expect)}"
    missing = [part for part in case.says if part not in str(error)]
    if missing:
        return f"{text!r} does not say {missing}"
    if case.strict and snapshot(case) != before:
        return f"an argument was changed by a call that raised {text}"
    return None


def complaint_about_result(case, got):
    """What is wrong with a returned value, or None."""
    if "ok" not in case.expect:
        return f"no exception; expected {' or '.join(case.expect)}"
    if case.result is None:
        return None
    got = case.args[0] if got is None else got
    expected = np.asarray(case.result)
    got = np.asarray(got)
    if got.shape != expected.shape:
        return f"returned shape {got.shape}, expected {expected.shape}"
    same = got == expected
    if expected.dtype.kind in "fc":
        same |= np.isnan(got) & np.isnan(expected)
    return None if np.all(same) else f"returned {got}, expected {expected}"


def judge(case):
    """Make the call; what is wrong with its outcome, or None."""
    before = snapshot(case)
    try:
        got = case.call(*case.args, **case.kwargs)
    except BaseException as error:
        return complaint_about_error(case, error, before)
    return complaint_about_result(case, got)


def report(**line):
    """One line for the parent, written at once: the next step may be the last."""
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def limit_memory():
    """Refuse sizes that would drive the whole machine out of memory."""
    if not sanitized():  # whose shadow memory alone is larger than any limit
        resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))


def run_group(groups, judge_case=judge):
    """The body of a script: run the group named on the command line."""
    group, first = sys.argv[1], int(sys.argv[2])
    limit_memory()
    gc.freeze()  # collections look at what is new: a tenth of their time
    for number, item in enumerate(groups[group]()):
        if number < first:
            continue
        report(begin=number, case=item.name)
        with warnings.catch_warnings():
            report(end=number, case=item.name, problem=judge_case(item))
