"""Nothing to move: axes of length 0, rows of no elements, items of no bytes.

Every family, by every algorithm and on several threads. What there is to name is still
checked, so an index out of bounds is an error where nothing would move.
"""

from functools import partial
from itertools import product

import numpy as np

import pyscatter as ps
from pyscatter import _core
from tests.isolated.harness import case

ITEMS = {
    "f8": np.dtype("f8"),
    "swapped": np.dtype(">f4"),
    "half": np.dtype("f2"),
    "complex": np.dtype("c16"),
    "bool": np.dtype("?"),
    "time": np.dtype("m8[s]"),
    "objects": np.dtype("O"),
    "void": np.dtype("V0"),
    "empty struct": np.dtype([]),
    "records": np.dtype([("field", "S0"), ("other", "V0")]),
    "bytes": np.dtype("S0"),
    "text": np.dtype("U0"),
}
MOVED = ("objects", "void", "empty struct", "records", "bytes", "text")
EMPTY = ((0,), (0, 3), (4, 0), (4, 0, 2), (4, 3, 0), (0, 0))
FULL = ((4,), (4, 3), (4, 3, 2))
# The last is enough for several threads and for a sample of the index.
COUNTS = (0, 3, 20_000)
WAYS = ((None, 1), *((algorithm, 3) for algorithm in (None, *_core.algorithms())))
FORCED = ("f8", "swapped", "void")  # a kind of item for each path
SEGMENT_OPS = (
    "add mul min fmax mean var std count first last any argmin logsumexp median".split()
)


def shape_by(algorithm, threads, call, *args, **options):
    """Make a call in one way and return the shape of its result."""
    before = _core.force_algorithm(algorithm)
    try:
        with ps.num_threads(threads):
            return np.shape(call(*args, **options))
    finally:
        _core.force_algorithm(before)


def shaped(name, shape, algorithm, threads, call, *args, **options):
    """A case that succeeds with a result of this shape."""
    made = partial(shape_by, algorithm, threads, call)
    return case(
        f"{name} {algorithm} {threads}", "ok", made, *args, result=shape, **options
    )


def blank(shape, dtype):
    """Zeros; strings of no bytes are the field of a record, since NumPy adds a byte."""
    if dtype.itemsize > 0:
        return np.zeros(shape, dtype)
    return np.zeros(shape, [("other", "i4"), ("field", dtype)])["field"]


def targets(label):
    """Arrays with nothing to move, and indices that fit their first axis."""
    dtype = ITEMS[label]
    for shape in EMPTY + FULL * (dtype.itemsize == 0):
        for count in COUNTS[: 2 if dtype.hasobject else 3] if shape[0] else (0,):
            index = np.arange(count) % max(shape[0], 1)
            yield shape, blank(shape, dtype), index


def scattered(label, algorithm, threads):
    """Every addressing of a scatter, new and in place; every op on numbers."""
    ops = ("set", "first") if label in MOVED else ("set", "add", "mean", "max", "first")
    for (shape, a, index), op in product(targets(label), ops):
        if op == "max" and a.dtype.kind == "c":
            continue
        values = blank((index.size, *shape[1:]), a.dtype)
        along = index.reshape(-1, *(1,) * (a.ndim - 1))
        made = partial(shaped, f"{label} {shape} {index.size} {op}", shape)
        way = (algorithm, threads)
        calls = {
            "axis": (partial(ps.scatter, a, index, values)),
            "nd": (partial(ps.scatter_nd, a, index[:, None], values)),
            "at": (partial(ps.scatter_at, a, index, values)),
            "along": (partial(ps.scatter_along_axis, a, along, values, 0)),
            "plan": (partial(ps.scatter, a, ps.Plan(index, shape[0]), values)),
        }
        for call in calls.values():
            yield made(*way, call, op=op)
            fresh = op != "mean" or a.dtype.kind in "fc"
            if fresh:
                yield made(*way, call, op=op, out=a)
        for options in ({"mode": "drop"}, {"include_self": False}):
            yield made(*way, calls["axis"], op=op, **options)


def gathered(label, algorithm, threads):
    """Every addressing of a gather, with an out and without."""
    for shape, a, index in targets(label):
        along = index.reshape(-1, *(1,) * (a.ndim - 1))
        result = (index.size, *shape[1:])
        made = partial(shaped, f"{label} {shape} {index.size}", result)
        for call in (
            partial(ps.gather, a, index),
            partial(ps.gather_nd, a, index[:, None]),
            partial(ps.gather_at, a, index),
            partial(ps.gather_along_axis, a, along, 0),
            partial(ps.gather, a, ps.Plan(index, shape[0])),
            partial(ps.gather, a, index, mode="fill"),
            partial(ps.gather, a, index, where=index == 0),
        ):
            yield made(algorithm, threads, call)
            if call.keywords == {}:
                out = blank(result, a.dtype)
                yield made(algorithm, threads, call, out=out)


def masked(label, algorithm, threads):
    """Masks of all axes, of the first one, and of none."""
    way = (algorithm, threads)
    for shape, a, index in targets(label):
        if index.size > COUNTS[0]:
            continue
        name = f"{label} {shape}"
        for mask in (np.ones(shape, bool), np.ones(shape[:1], bool), np.True_):
            rows = blank((mask.sum(), *shape[mask.ndim :]), a.dtype)
            call = partial(ps.scatter_where, a, mask)
            yield shaped(name, shape, *way, call, a)
            yield shaped(name, shape, *way, call, a, out=a)
            yield shaped(name, shape, *way, call, rows, packed=True)
            yield shaped(name, rows.shape, *way, ps.gather_where, a, mask)
        full = np.ones(shape, bool)
        yield shaped(name, shape, *way, ps.where, full, a, a)
        yield shaped(name, shape, *way, ps.where, full, a, a, out=a)
        for view in (a, a[::-1], a.T, a.T[..., 1:]):
            yield shaped(name, (view.ndim, 0), *way, ps.nonzero, view)
            yield shaped(name, (0,), *way, ps.flatnonzero, view)
            yield shaped(name, (0, view.ndim), *way, ps.argwhere, view)
            rest = view.shape[1:]
            yield shaped(name, rest, *way, ps.count_nonzero, view, axis=0)


def by_algorithm(family):
    """All kinds of items, some of them in every way."""
    for label, way in product(ITEMS, WAYS):
        if way[0] is None or label in FORCED:
            yield from family(label, *way)


def empty_items():
    """Results of items of no bytes are zero: NumPy gives strings a byte."""
    for dtype in ("S0", "U0"):
        a = blank((5000,), np.dtype(dtype))
        index, mask = np.arange(5000) - 1, np.ones(5000, bool)
        empty = np.full(5000, "", dtype[0])
        yield case(dtype, "ok", ps.gather, a, index, result=empty)
        call = (ps.gather, a, index)
        yield case(dtype, "ok", *call, mode="fill", fill_value="long", result=empty)
        yield case(dtype, "ok", ps.gather_where, a, mask, result=empty)
        yield case(dtype, "ok", ps.where, mask, a, a, result=empty)
        yield case(dtype, "ok", ps.scatter, a, index, a, result=empty)


def crossing():
    """Empty arrays whose inner axis takes the longer steps."""
    memory = np.ones((7, 5, 3))
    for view in (memory[..., 0].T[:, 7:], memory.T[0, :, 7:], memory.T[:, 5:]):
        places = np.zeros((view.ndim, 0), int)
        yield case(f"nonzero {view.strides}", "ok", ps.nonzero, view, result=places)
        yield case(f"count {view.strides}", "ok", ps.count_nonzero, view, result=0)
        call = (ps.flatnonzero, view != 0)
        yield case(f"flatnonzero {view.strides}", "ok", *call, result=[])
        call = (ps.gather_where, view, view.astype(bool, order="K"))
        yield case(f"gather_where {view.strides}", "ok", *call, result=[])


def segments():
    """Rows of no elements and segments that are none, by every addressing."""
    ranges = {
        "offsets": ({"offsets": [0, 4]}, 1),
        "more offsets": ({"offsets": [0, 0, 3, 4]}, 3),
        "no offsets": ({"offsets": [0], "gather": []}, 0),
        "ranges": ({"starts": [2, 0], "stops": [4, 0]}, 2),
        "lengths": ({"lengths": [1, 3]}, 2),
        "gather": ({"offsets": [0, 2, 3], "gather": [3, 0, 0]}, 2),
        "ids": ({"ids": [0, 2, 2, 0]}, 3),
        "plan": ({"ids": ps.Plan([0, 2, 2, 0], 5)}, 5),
    }
    for dtype, shape, op in product(("f8", "f4", "i2", "?"), EMPTY, SEGMENT_OPS):
        values = np.zeros(shape, dtype)
        call = partial(shaped, f"{dtype} {shape} {op}")
        for name, (options, count) in ranges.items() if shape[0] else ():
            result = (count, *shape[1:])
            way = (None, 1, ps.segment_reduce)
            yield shaped(
                f"{dtype} {shape} {op} {name}", result, *way, values, op=op, **options
            )
        for count in (0, 2):
            none, result = np.zeros(0, int), (count, *shape[1:])
            way = (None, 1, ps.segment_reduce, values[:0])
            yield call(result, *way, none, count, op=op)
            yield call(result, *way, offsets=np.zeros(count + 1, int), op=op)


def unchecked():
    """Limits and rows out of bounds are errors, also where rows have no elements."""
    refusals = {
        "offset above": ("ValueError|IndexError", {"offsets": [0, 9]}),
        "offsets that decrease": ("ValueError", {"offsets": [0, 3, 2, 4]}),
        "stop above": ("ValueError|IndexError", {"starts": [0], "stops": [9]}),
        "row above": ("IndexError", {"offsets": [0, 1], "gather": [99]}),
        "id above": ("IndexError", {"ids": [0, 1, 9, 0], "num_segments": 3}),
        "id below": ("IndexError", {"ids": [0, 1, -1, 0]}),
    }
    for width, op in product((0, 1), ("add", "mean", "min", "first", "median", "var")):
        for name, (error, options) in refusals.items():
            call = (ps.segment_reduce, np.ones((4, width)))
            yield case(f"{name} {width} {op}", error, *call, op=op, **options)
    for label, algorithm in product(ITEMS, (None, *_core.algorithms())):
        shape = (4, 3) if ITEMS[label].itemsize == 0 else (4, 0)
        a, values = blank(shape, ITEMS[label]), blank((), ITEMS[label])
        index = np.array([0, 1, 4])
        name = f"{label} {algorithm}"
        scatter = partial(shape_by, algorithm, 3, ps.scatter)
        gather = partial(shape_by, algorithm, 3, ps.gather)
        yield case(name, "IndexError", scatter, a, index, values, out=a)
        yield case(name, "IndexError", scatter, a, index, values)
        yield case(name, "IndexError", gather, a, index)


def plans():
    """Plans of axes and of indices without an element."""
    for size, mode in product((0, 3), ("raise", "drop", "clip", "wrap")):
        none = np.zeros(0, np.intp)
        plan = ps.Plan(none, size, mode=mode)
        yield case(
            f"gather {size} {mode}", "ok", ps.gather, np.ones(size), plan, result=[]
        )
        yield case(
            f"scatter {size} {mode}",
            "ok",
            ps.scatter,
            np.ones(size),
            plan,
            2.0,
            result=np.ones(size),
        )
        call = (ps.Plan, np.array([0, -1]), 0)
        yield case(
            f"nothing to name {mode}",
            "ok" if mode == "drop" else "IndexError",
            *call,
            mode=mode,
        )
    dropped = ps.Plan([5, -7, 9], 3, mode="drop")
    a = np.ones((3, 40))
    for algorithm, threads in WAYS:
        way = ("all dropped", a.shape, algorithm, threads, ps.scatter)
        yield shaped(*way, a, dropped, np.ones((3, 40)), op="add", out=a)
        yield shaped(*way, a, dropped, np.ones((3, 40)), op="mean")


GROUPS = {
    "zeros scattered": partial(by_algorithm, scattered),
    "zeros gathered": partial(by_algorithm, gathered),
    "zeros masked": partial(by_algorithm, masked),
    "zeros empty items": empty_items,
    "zeros crossing": crossing,
    "zeros segments": segments,
    "zeros unchecked": unchecked,
    "zeros plans": plans,
}
