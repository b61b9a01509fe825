"""One call of each kind, with its arguments, for tests that repeat or disturb it.

`successes` and `failures` yield Operations. Sizes are chosen by the caller: work memory
comes from the stack, the heap or a mapping, depending on them.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

import pyscatter as ps
from pyscatter import _core
from tests.isolated.forms import DROP_IN_FORMS, OPS

SEGMENT_OPS = (
    "add mul min max fmin fmax mean var std count first last any all argmin argmax "
    "logsumexp median quantile"
).split()


@dataclass
class Operation:
    """A call that can be repeated; `target` is the array that it writes, if any."""

    name: str
    function: Callable
    args: tuple
    kwargs: dict = field(default_factory=dict)
    target: np.ndarray | None = None

    def call(self):
        return self.function(*self.args, **self.kwargs)


def operation(name, function, *args, target=None, **kwargs):
    return Operation(name, function, args, kwargs, target)


def in_place(name, function, a, *args, **kwargs):
    """An operation on its own first argument."""
    return Operation(name, function, (a, *args), {**kwargs, "out": a}, a)


def mixed_index(count, size, dtype="i8"):
    """Positions in no order, with repeats, some of them negative."""
    index = np.arange(count) * 7919 % size
    index[::5] -= size
    return index.astype(dtype)


def numbers(*shape, dtype="f8"):
    """Small whole numbers, none of them zero."""
    return (np.arange(np.prod(shape)) % 5 + 1).astype(dtype).reshape(shape)


def reductions(count):
    """Each op, on a line and on rows."""
    index = mixed_index(count, 90)
    for op in OPS:
        call = (f"scatter {op}", ps.scatter, numbers(90), index, numbers(count))
        yield in_place(*call, op=op)
        a, values = numbers(90, 3, dtype="f4"), numbers(count, 3, dtype="f4")
        yield in_place(f"rows {op}", ps.scatter, a, index, values, op=op)
    for form in DROP_IN_FORMS:
        a = numbers(90, dtype=form.dtype)
        values = numbers(count, dtype=form.dtype)
        yield operation(form.name, form.call, a, index, values, target=a)


def options(count):
    """What needs an accumulator, a mask, another mode or a conversion."""
    index, values = mixed_index(count, 90), numbers(count)
    for name, chosen in {
        "compensated": {"op": "add", "compensated": True},
        "fresh start": {"op": "max", "include_self": False},
        "mean of arrivals": {"op": "mean", "include_self": False},
        "wide": {"op": "add", "dtype": "f8"},
        "masked": {"op": "add", "where": np.arange(count) % 3 > 0},
        "drop": {"op": "add", "mode": "drop"},
        "clip": {"op": "add", "mode": "clip"},
        "wrap": {"op": "add", "mode": "wrap"},
        "ufunc": {"op": np.maximum},
        "unsafe": {"op": "add", "casting": "unsafe"},
    }.items():
        a = numbers(90, dtype="f4")
        yield in_place(name, ps.scatter, a, index, values, **chosen)
    half = numbers(90, dtype="f2")
    yield in_place("half", ps.scatter, half, index, values, op="add")
    swapped = numbers(90, dtype=">f8")
    yield in_place("swapped", ps.scatter, swapped, index, values, op="add")
    strided = numbers(270)[::-3]
    yield in_place("strided", ps.scatter, strided, index, values[::-1], op="add")
    ints = numbers(90, dtype="i4")
    divisors = numbers(count, dtype="i2")
    yield in_place("divide", ps.scatter, ints, index, divisors, op="floor_div")
    yield in_place("overlap", ps.scatter, values, values[:90].astype(int), values[-90:])


def addressings(count):
    """The other ways to say where, and new results."""
    index, values = mixed_index(count, 90), numbers(count)
    for dtype in ("i2", "u4", ">i4"):
        narrow = abs(index).astype(dtype) % 90
        yield in_place(f"index {dtype}", ps.scatter, numbers(90), narrow, 1.0, op="add")
    a = numbers(90)
    yield operation("new", ps.scatter, a, index, values, op="add")
    yield operation("new from a list", ps.scatter, [1.0, 2.0], [0, 1, 1], [3, 4, 5.0])
    yield operation("flat", ps.scatter, numbers(9, 10), index, values, axis=None)
    batch = np.stack([index, index])
    a = numbers(2, 90)
    yield in_place("batch", ps.scatter, a, batch, 1.0, batch_dims=1, op="add")
    yield in_place("along", ps.scatter_along_axis, a, batch, 1.0, op="add")
    yield in_place("nd", ps.scatter_nd, numbers(90), index[:, None], values, op="add")
    pairs = np.stack([index % 9, index % 10], axis=-1)
    yield in_place("pairs", ps.scatter_nd, numbers(9, 10), pairs, values, op="mul")
    yield in_place("at", ps.scatter_at, numbers(90), index, values, op="add")
    yield in_place("at slice", ps.scatter_at, numbers(90, 3), (index, slice(1, 3)), 2.0)
    mask = np.arange(90) % 2 == 0
    yield in_place("at mask", ps.scatter_at, numbers(90), mask, 2.0, op="add")
    other = numbers(90)
    call = (ps.scatter, numbers(90), index, values)
    yield operation("other out", *call, out=other, target=other)


def gathers(count):
    """Every gather, with and without out."""
    index, a = mixed_index(count, 90), numbers(90)
    yield operation("gather", ps.gather, a, index)
    for dtype in ("i1", "f4", "c16", ">f8", "S7"):
        out = np.zeros((count, 3), dtype)
        rows = numbers(90, 3).astype(dtype)
        call = (f"gather {dtype}", ps.gather, rows, index)
        yield operation(*call, out=out, target=out)
    yield operation("gather axis", ps.gather, numbers(3, 90), index, axis=1)
    yield operation("gather masked", ps.gather, a, index, where=index > 0)
    yield operation("fill", ps.gather, a, index, mode="fill", fill_value=9.0)
    batch = np.stack([index, index])
    yield operation("gather batch", ps.gather, numbers(2, 90), batch, batch_dims=1)
    yield operation("gather along", ps.gather_along_axis, numbers(2, 90), batch)
    yield operation("gather nd", ps.gather_nd, a, index[:, None])
    yield operation("gather at", ps.gather_at, a, index)
    yield operation("gather at slice", ps.gather_at, numbers(90, 3), (index, slice(2)))
    yield operation("gather list", ps.gather, [1.0, 2.0, 3.0], [2, 0])


def planned(index, size, **options):
    """The rows of a new plan."""
    return _core.plan_index(ps.Plan(index, size, **options))


def reloaded(*state):
    """The rows of a plan from its state."""
    return _core.plan_index(_core.load_plan(*state))


def plans(count):
    """Plans made, used and pickled: sorted, in no order, compact, with holes."""
    index = mixed_index(count, 90)
    for name, chosen, size, options in (
        ("mixed", index, 90, {}),
        ("sorted", np.sort(index % 90), 90, {}),
        ("compact", index, 10**7, {}),
        ("drop", index, 90, {"mode": "drop"}),
        ("swapped", index.astype(">i2"), 90, {"mode": "wrap"}),
    ):
        yield operation(f"plan {name}", planned, chosen, size, **options)
        plan = ps.Plan(chosen, size, **options)
        yield operation(f"plan load {name}", reloaded, *plan.__reduce__()[1])
        if size > 90:
            continue
        for values in (numbers(count, 40, dtype="f4"), 2.0):
            a = numbers(90, 40, dtype="f4")
            yield in_place(f"plan add {name}", ps.scatter, a, plan, values, op="add")
            yield operation(f"plan new {name}", ps.scatter, a, plan, values, op="mean")
        yield operation(f"plan gather {name}", ps.gather, numbers(90), plan)


def masks(count):
    """Choices, masked updates and gathers, each with what it needs memory for."""
    mask, values, a = np.arange(count) % 3 > 0, numbers(count), numbers(count)
    for op in OPS:
        yield in_place(f"mask {op}", ps.scatter_where, a.copy(), mask, values, op=op)
        rows = numbers(count, 3, dtype="f4")
        yield in_place(f"mask rows {op}", ps.scatter_where, rows, mask, 2.0, op=op)
    half, swapped = numbers(count, dtype="f2"), numbers(count, dtype=">f8")
    yield in_place("mask half", ps.scatter_where, half, mask, half[::-1], op="add")
    yield in_place("mask swapped", ps.scatter_where, swapped, mask, values, op="add")
    packed = numbers(int(mask.sum()))
    call = (ps.scatter_where, a.copy(), mask, packed)
    yield in_place("mask packed", *call, packed=True)
    yield in_place("mask packed add", *call, packed=True, op="add")
    call = (ps.scatter_where, swapped.copy(), mask, packed.astype("f4"))
    yield in_place("mask packed swapped", *call, packed=True)
    yield operation("mask new", ps.scatter_where, a, mask, 7.0)
    yield operation("mask new mean", ps.scatter_where, a, mask, values, op="mean")
    call = (ps.scatter_where, a, mask[::-1], values[::-1])
    yield in_place("mask strided", *call, op="add")
    shifted = (ps.scatter_where, a[:-1], mask[1:], a[1:])
    yield operation("mask overlap", *shifted, out=a[:-1], target=a)
    for dtype in ("i1", "f4", "c16", ">f8", "S7"):
        source = numbers(count, 3).astype(dtype)
        yield operation(f"mask gather {dtype}", ps.gather_where, source, mask)
        yield operation(f"mask gather one {dtype}", ps.gather_where, source[:, 0], mask)
    yield operation("mask gather axis", ps.gather_where, numbers(3, count), mask, 1)
    for dtype in ("f8", "f4", ">f8"):
        out = np.zeros(int(mask.sum()), dtype)
        call = (ps.gather_where, numbers(count), mask)
        yield operation(f"mask gather out {dtype}", *call, out=out, target=out)


def choices(count):
    """where in each of its ways, and apply_where."""
    mask, x, y = np.arange(count) % 3 > 0, numbers(count), numbers(count, dtype="f4")
    yield operation("where", ps.where, mask, x, x[::-1])
    yield operation("where one", ps.where, mask, x, 0.0)
    yield operation("where cast", ps.where, x, y, x)
    yield operation("where outer", ps.where, mask[:9, None], x, y)
    yield operation("where list", ps.where, [True, False], [1, 2], [3.0, 4.0])
    yield operation("where words", ps.where, mask, x.astype("S7"), x[::-1].astype("S7"))
    yield operation("where records", ps.where, mask, x.view("V8"), x.view("V8"))
    for name, out in {
        "": x.copy(),
        "half": y.astype("f2"),
        "swapped": x.astype(">f8"),
    }.items():
        call = (ps.where, mask, x, y)
        yield operation(f"where out {name}", *call, out=out, target=out)
    out = numbers(count)
    yield operation("where in place", ps.where, mask, out, 3.0, out=out, target=out)
    moved = numbers(count + 1)
    call = (ps.where, mask, moved[1:], 3.0)
    yield operation("where overlap", *call, out=moved[:-1], target=moved)
    yield operation("apply", ps.apply_where, mask, (x, y), np.add, fill_value=0.0)
    yield operation("apply both", ps.apply_where, mask, x, np.log, np.exp)


def positions(count):
    """Where arrays of each kind are true, and how often."""
    mask, x = np.arange(count) % 3 > 0, numbers(count)
    for name, array in {
        "bool": mask,
        "float": x,
        "swapped": x.astype(">f4"),
        "table": numbers(3, count) % 2,
        "strided": mask[::-2],
        "objects": mask.astype(object),
    }.items():
        for function in (ps.nonzero, ps.flatnonzero, ps.argwhere, ps.count_nonzero):
            yield operation(f"{function.__name__} {name}", function, array)
        yield operation(f"count along {name}", ps.count_nonzero, array, -1)
        yield operation(f"sized {name}", ps.flatnonzero, array, size=9, fill_value=-1)


def objects(count):
    """Moves of what the interpreter owns."""
    index = mixed_index(count, 90)
    a = np.array([[k] for k in range(90)] + [None], object)[:90]
    yield in_place("objects", ps.scatter, a, index, a[index])
    yield operation("gather objects", ps.gather, a, index)
    words = np.array(["some", "words"] * 45)
    yield in_place("words", ps.scatter, words, index, words[index])
    mask = np.arange(90) % 3 > 0
    yield in_place("objects mask", ps.scatter_where, a, mask, a[::-1].copy())
    yield operation("objects where", ps.where, mask, a, None)
    yield operation("objects packed", ps.gather_where, a, mask)
    for call in (
        (ps.gather_where, numbers(90), mask),
        (ps.gather, numbers(90), index[:9]),
    ):
        out = np.zeros(len(call[0](*call[1:])), object)
        yield operation(f"objects out {call[0].__name__}", *call, out=out, target=out)


def segments(count):
    """Segments by ids and by ranges: each op, and the functions beside them."""
    ids, values = abs(mixed_index(count, 90)) % 9, numbers(count)
    edges = np.array([0, count // 3, count // 3, count])
    rows = numbers(count, 3, dtype="f4")
    for op in SEGMENT_OPS:
        q = {"q": 0.5} if op == "quantile" else {}
        yield operation(f"segment {op}", ps.segment_reduce, values, ids, op=op, **q)
        call = (ps.segment_reduce, rows)
        yield operation(f"segment rows {op}", *call, offsets=edges, op=op, **q)
    for function in (ps.segment_scan, ps.segment_softmax, ps.segment_log_softmax):
        yield operation(function.__name__, function, values, ids)
        yield operation(f"{function.__name__} rows", function, rows, offsets=edges)
    yield operation("segment expand", ps.segment_expand, rows[:9], ids)
    yield operation("bincount", ps.bincount, ids)
    yield operation("bincount weights", ps.bincount, ids, rows)
    yield from segment_options(values, ids, edges)


def segment_options(values, ids, edges):
    """What goes with a reduction: masks, weights, several ops, targets."""
    count = len(values)
    call = (ps.segment_reduce, values, ids)
    for name, chosen in {
        "several": {"op": ("add", "mean", "max")},
        "arg": {"op": "max", "return_arg": True, "return_counts": True},
        "where": {"where": values > 2},
        "skipna": {"skipna": True, "op": "mean"},
        "weights": {"weights": values},
        "compensated": {"compensated": True},
        "drop": {"mode": "drop", "num_segments": 5},
        "quantiles": {"op": "quantile", "q": [0.1, 0.9]},
        "narrow": {"dtype": "f2"},
    }.items():
        yield operation(f"segment {name}", *call, **chosen)
    out = numbers(9, dtype="f4")
    yield operation("segment out", *call, out=out, target=out)
    picked = mixed_index(count, count)
    call = (ps.segment_reduce, values[::-1])
    yield operation("segment gather", *call, gather=picked, lengths=[9, count - 9])
    yield operation("segment ranges", *call, starts=edges[:-1], stops=edges[1:])


def index_successes(count):
    """All operations by an index that return."""
    for group in (reductions, options, addressings, gathers, plans, objects):
        yield from group(count)


def mask_successes(count):
    """All operations on masks and conditions that return."""
    for group in (masks, choices, positions):
        yield from group(count)


def successes(count):
    """All operations that return."""
    yield from index_successes(count)
    yield from mask_successes(count)
    yield from segments(count)


def index_failures():
    """An index that is out of range, late or at once, or no index."""
    a, index = numbers(90), np.array([3, 90])
    for form in DROP_IN_FORMS:
        b = numbers(90, dtype=form.dtype)
        yield operation(f"{form.name} index", form.call, b, index, 1)
        yield operation(f"{form.name} values", form.call, b, index[:1], "x")
    yield operation("nd deep", ps.scatter_nd, a, np.zeros((3, 2), int), 1.0)
    yield operation("nd index", ps.gather_nd, a, index[:, None])
    yield operation("late index", ps.scatter, a, np.r_[np.zeros(9000, int), 99], 1.0)


def argument_failures():
    """What every addressing refuses."""
    a, one, locked = numbers(90), np.array([3]), numbers(90)
    locked.flags.writeable = False
    for name, function, extra in (
        ("scatter", ps.scatter, (1.0,)),
        ("along", ps.scatter_along_axis, (1.0,)),
        ("at", ps.scatter_at, (1.0,)),
        ("gather", ps.gather, ()),
        ("gather along", ps.gather_along_axis, ()),
        ("gather at", ps.gather_at, ()),
    ):
        yield operation(f"{name} index", function, a, [3, 90], *extra)
        yield operation(f"{name} float", function, a, [0.5], *extra)
        yield operation(f"{name} masked", function, np.ma.zeros(3), one, *extra)
        yield operation(f"{name} out", function, a, one, *extra, out=locked)
        yield operation(f"{name} out kind", function, a, one, *extra, out=[1])
        yield operation(f"{name} mode", function, a, one, *extra, mode="never")
        yield operation(f"{name} where", function, a, one, *extra, where=[1])
        yield operation(f"{name} keyword", function, a, one, *extra, colour=1)
        yield operation(f"{name} few", function, a)


def option_failures():
    """Values and options that scatter refuses."""
    a, one = numbers(90), np.array([3])
    for name, values in {
        "shape": np.ones(7),
        "cast": np.array([1j]),
        "object": object(),
        "large": 10**400,
    }.items():
        yield operation(f"values {name}", ps.scatter, a, one, values, out=a)
    yield operation("weak", ps.scatter, np.zeros(3, "u1"), one, [1, 256])
    yield operation("op", ps.scatter, a, one, 1.0, op="none")
    yield operation("op type", ps.scatter, a, one, 1.0, op=np.sin)
    yield operation("dtype", ps.scatter, a, one, 1.0, dtype="nonsense")
    yield operation("axis", ps.scatter, a, one, 1.0, axis=7)
    yield operation("batch_dims", ps.gather, a, one, batch_dims=-1)
    yield operation("threads", ps.set_num_threads, 0)


def plan_failures():
    """Plans that are refused when they are made, used or loaded."""
    a, plan = numbers(90), ps.Plan([3, 5], 80)
    for name, args in {
        "index": ([3, 90], 90),
        "late": (np.r_[np.zeros(9000, int), 99], 90),
        "float": ([0.5], 90),
        "size": ([3], -1),
        "size kind": ([3], 1.5),
    }.items():
        yield operation(f"plan {name}", ps.Plan, *args)
    yield operation("plan axis", ps.scatter, a, plan, 1.0)
    yield operation("plan mode", ps.gather, a[:80], plan, mode="clip")
    yield operation("plan nd", ps.gather_nd, a, plan)
    yield operation("plan at", ps.add_at, a, plan, 1.0)
    for name, state in {
        "rows": (np.array([90]), 90, "raise", False),
        "kind": ([3], 90, "raise", False),
        "mode": (np.array([3]), 90, "fill", False),
        "few": (np.array([3]), 90),
    }.items():
        yield operation(f"plan state {name}", _core.load_plan, *state)


def mask_failures():
    """What the functions of masks and conditions refuse."""
    a, mask, locked = numbers(90), np.arange(90) % 3 > 0, numbers(90)
    locked.flags.writeable = False
    call = (ps.scatter_where, a)
    for name, wrong in {
        "length": mask[:9],
        "ints": [1, 0],
        "floats": a,
        "masked": np.ma.masked_array(mask),
        "ragged": [[True], [True, False]],
    }.items():
        yield operation(f"mask {name}", *call, wrong, 1.0, out=a)
        yield operation(f"mask gather {name}", ps.gather_where, a, wrong)
    call = (ps.scatter_where, a, mask)
    yield operation("mask packed count", *call, numbers(9), packed=True, out=a)
    yield operation("mask values", *call, numbers(9), out=a)
    yield operation("mask cast", *call, np.array([1j]), out=a)
    yield operation("mask op", *call, 1.0, op="none")
    yield operation("mask out", *call, 1.0, out=locked)
    yield operation("mask axis", ps.gather_where, a, mask, 3)
    ints = numbers(90, dtype="i8")
    yield operation("mask weak", ps.scatter_where, ints, mask, 2**70, out=ints)
    yield operation("apply", ps.apply_where, mask, a, np.log)


def where_failures():
    """What where and the nonzero family refuse."""
    a, mask, locked = numbers(90), np.arange(90) % 3 > 0, numbers(90)
    locked.flags.writeable = False
    octets = numbers(90, dtype="u1")
    for name, args, chosen in (
        ("shapes", (mask, a, a[:7]), {}),
        ("out", (mask, a, a), {"out": locked}),
        ("out shape", (mask, a, a), {"out": numbers(7)}),
        ("out kind", (mask, a, a), {"out": [1]}),
        ("dtype", (mask, a, a), {"dtype": "i4"}),
        ("weak", (mask, octets, 256), {}),
        ("casting", (mask, a, a), {"casting": "none"}),
        ("masked", (mask, np.ma.zeros(90), 0.0), {}),
        ("promotion", (mask, a, numbers(90).astype("M8[s]")), {}),
    ):
        yield operation(f"where {name}", ps.where, *args, **chosen)
    yield operation("where keyword", ps.where, mask, a, a, colour=1)
    for function in (ps.nonzero, ps.flatnonzero, ps.argwhere):
        name = function.__name__
        yield operation(f"{name} masked", function, np.ma.zeros(3))
        yield operation(f"{name} size", function, a, size=-1)
        yield operation(f"{name} size kind", function, a, size=1.5)
        yield operation(f"{name} fill", function, a, size=99, fill_value="x")
    yield operation("nonzero axes", ps.nonzero, 3)
    yield operation("count axis", ps.count_nonzero, a, 5)
    yield operation("count axes", ps.count_nonzero, a, (0, 0))


def segment_failures():
    """What the functions of segments refuse."""
    values, ids, locked = numbers(90), np.arange(90) % 9, numbers(9)
    locked.flags.writeable = False
    late = np.where(np.arange(90) == 88, -1, ids)
    for name, args, chosen in (
        ("late id", (values, late), {}),
        ("far id", (values, late % 2**62), {}),
        ("size", (values, ids, 3), {}),
        ("length", (values, ids[:7]), {}),
        ("float", (values, values), {}),
        ("offsets", (values,), {"offsets": [0, 7, 3, 90]}),
        ("lengths", (values,), {"lengths": [7, 9]}),
        ("stops", (values,), {"starts": [0], "stops": [91]}),
        ("gather", (values,), {"lengths": [2], "gather": [0, 90]}),
        ("op", (values, ids), {"op": "none"}),
        ("weights", (values, ids), {"weights": values, "op": "max"}),
        ("where", (values, ids), {"where": ids}),
        ("out", (values, ids), {"out": locked}),
        ("out kind", (values, ids), {"out": numbers(9, dtype="i8")}),
        ("order", (values, ids), {"op": ("add", "none")}),
    ):
        yield operation(f"segment {name}", ps.segment_reduce, *args, **chosen)
    yield operation("scan", ps.segment_scan, values, late)
    yield operation("softmax", ps.segment_softmax, values, lengths=[3])
    yield operation("expand", ps.segment_expand, values, [90])
    yield operation("bincount", ps.bincount, late)
    yield operation("bincount out", ps.bincount, ids, out=locked[:3])


def failures():
    """All operations that raise."""
    for group in (
        *(index_failures, argument_failures, option_failures, plan_failures),
        *(mask_failures, where_failures, segment_failures),
    ):
        yield from group()
