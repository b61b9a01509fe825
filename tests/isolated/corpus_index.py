"""Numbers that are no index: out of range, at every place, in every integer dtype.

The range is checked in blocks of a few thousand entries by vector code that differs by
dtype, byte order and alignment, and the checked copy is used: so each dtype and layout
meets each bad number at the ends, in the middle and on both sides of block edges.
"""

from functools import partial
from itertools import cycle

import numpy as np

import pyscatter as ps
from pyscatter import _core
from tests.isolated.forms import FORMS, GATHERS, SCATTERS, line
from tests.isolated.harness import case

SIZE = 100
COUNTS = (1, 3, 20_000)
EDGES = (2047, 2048, 2049, 4095, 4096, 4097, 8191, 8192, 8193)
DTYPES = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8")


def bad_numbers(size):
    """Numbers outside [-size, size), some of which look harmless in 32 or 64 bits."""
    near = [-size - 1, size, size + 1]
    far = [2**31, 2**32 + 1, 2**63 - 1, -(2**31), -(2**63)]
    unsigned = [2**63, 2**64 - size, 2**64 - 1]
    return near + far + unsigned


def fitting(numbers, dtype):
    """Those numbers that the dtype can hold."""
    limits = np.iinfo(dtype)
    return [n for n in numbers if limits.min <= n <= limits.max]


def plain(index):
    return index


def swapped(index):
    return index.astype(index.dtype.newbyteorder())


def unaligned(index):
    memory = np.empty(index.nbytes + 1, np.uint8)
    view = memory[1:].view(index.dtype)
    view[:] = index
    return view


def strided(index):
    memory = np.zeros(3 * index.size, index.dtype)
    memory[::3] = index
    return memory[::3]


def backwards(index):
    return index[::-1].copy()[::-1]


LAYOUTS = (plain, swapped, unaligned, strided, backwards)


def places(count):
    """Positions to spoil in an index of `count` entries."""
    ends = {0, count // 2, count - 1}
    return sorted(ends | {edge for edge in EDGES if edge < count})


def good_index(count, dtype):
    """Entries all in range, not sorted, with repeats."""
    return (np.arange(count) * 37 % SIZE).astype(dtype)


def options_of(form):
    """The options to take in turn: each op where the form has one."""
    return cycle([{"op": op} for op in form.ops] or [{}])


def sweep(form):
    """Each layout, dtype, bad number and place."""
    options = options_of(form)
    a = form.array(SIZE)
    for dtype in DTYPES:
        for write in LAYOUTS:
            for count in COUNTS:
                index = write(good_index(count, dtype))
                operand = form.operand(a, count)
                yield from spoiled(
                    form, a, index, operand, f"{write.__name__}-{dtype}", options
                )


def spoiled(form, a, index, operand, label, options):
    """The call with one entry replaced, for each number and place."""
    count = index.size
    for number in fitting(bad_numbers(SIZE), index.dtype):
        words = f"index {number} is out of bounds for axis {form.axis} with size {SIZE}"
        for place in places(count):
            kept = index[place]
            index[place] = number
            yield case(
                f"{form.name} {label} {number} at {place} of {count}",
                "IndexError",
                form.call,
                a,
                index,
                operand,
                says=(words, f"position {place} of {count}"),
                **next(options),
            )
            index[place] = kept


def first_of_several(form):
    """With several bad entries the message names the first."""
    a = form.array(SIZE)
    for places_ in ((0, 1), (5, 3000, 19_999), (2048, 2049), (8191, 8192)):
        index = good_index(20_000, "i8")
        index[list(places_)] = SIZE + np.arange(len(places_))
        says = (f"index {SIZE} is", f"position {places_[0]} of")
        name = f"{form.name} bad at {places_}"
        operand = form.operand(a, index.size)
        yield case(name, "IndexError", form.call, a, index, operand, says=says)


def excluded(form):
    """Entries that where= leaves out are not looked at; the others are."""
    a = form.array(SIZE)
    for dtype in DTYPES:
        index = good_index(5000, dtype)
        index[4100] = fitting(bad_numbers(SIZE), dtype)[-1]
        where = np.ones(5000, bool)
        where[4100] = False
        call = partial(form.call, a, index, form.operand(a, 5000))
        yield case(f"{form.name} {dtype} left out", "ok", call, where=where)
        call = (form.call, a, index, form.operand(a, 5000))
        yield case(f"{form.name} {dtype} alone", "IndexError", *call, where=~where)


def meant(number, size, mode):
    """The place that a mode makes of a number, or None for none."""
    if mode == "clip":
        return min(max(number, 0), size - 1)
    if mode == "wrap":
        return number % size
    return number if 0 <= number < size else None


def moded_scatter(form, mode, dtype):
    """Extremes are read as they are: the right places change and no others."""
    numbers = fitting([*bad_numbers(SIZE), -1, 0, SIZE - 1], dtype)
    hits = [meant(n, SIZE, mode) for n in numbers]
    expected = np.zeros(SIZE)
    for hit in hits:
        if hit is not None:
            expected[hit] += 1
    a = np.zeros(SIZE)
    index = np.array(numbers, dtype)
    name = f"{form.name} {mode} {dtype}"
    yield case(
        name, "ok", form.call, a, index, 1.0, mode=mode, op="add", result=expected
    )


def moded_gather(form, mode, dtype):
    """Extremes are read as they are, or filled."""
    numbers = fitting([*bad_numbers(SIZE), -1, 0, SIZE - 1], dtype)
    hits = [meant(n, SIZE, mode) for n in numbers]
    a = np.arange(1.0, SIZE + 1)
    expected = np.array([-7.0 if hit is None else a[hit] for hit in hits])
    index = np.array(numbers, dtype)
    fill = {"fill_value": -7.0} if mode in ("fill", "drop") else {}
    name = f"{form.name} {mode} {dtype}"
    yield case(
        name, "ok", form.call, a, index, None, mode=mode, result=expected, **fill
    )


def modes():
    """Every mode but raise, on the forms that work on a line."""
    for dtype in DTYPES:
        for form in (form for form in SCATTERS if form.shape is line):
            for mode in ("drop", "clip", "wrap"):
                yield from moded_scatter(form, mode, dtype)
        for form in (form for form in GATHERS if form.shape is line):
            for mode in ("fill", "drop", "clip", "wrap"):
                yield from moded_gather(form, mode, dtype)


def forced(call, algorithm, threads, *args, **options):
    """A call under one algorithm and number of threads."""
    before = _core.force_algorithm(algorithm)
    try:
        with ps.num_threads(threads):
            return call(*args, **options)
    finally:
        _core.force_algorithm(before)


def algorithms():
    """Each algorithm on one and several threads refuses before it writes."""
    for algorithm in (None, *_core.algorithms()):
        for threads in (1, 3):
            for name in ("scatter", "scatter-rows", "add_at", "gather", "gather-rows"):
                yield from forced_cases(FORMS[name], algorithm, threads)


def forced_cases(form, algorithm, threads):
    """Sorted, repeated and scattered indices, spoiled near the end."""
    count = 200_000
    shapes = {
        "sorted": np.arange(count) * SIZE // count,
        "constant": np.full(count, 7),
        "mixed": np.arange(count) * 37 % SIZE,
    }
    call = partial(forced, form.call, algorithm, threads)
    options = {"op": "add"} if form.ops else {}
    for label, good in shapes.items():
        for number, place in ((SIZE, count - 1), (-SIZE - 1, 150_000), (2**40, 0)):
            index = good.copy()
            index[place] = number
            a = form.array(SIZE)
            name = f"{form.name} {algorithm} {threads} {label} {number}"
            operand = form.operand(a, count)
            yield case(name, "IndexError", call, a, index, operand, **options)


def of_form(form):
    """All cases of one form."""
    yield from sweep(form)
    yield from first_of_several(form)
    yield from excluded(form)


GROUPS = {f"index {name}": partial(of_form, form) for name, form in FORMS.items()}
GROUPS["index modes"] = modes
GROUPS["index algorithms"] = algorithms
