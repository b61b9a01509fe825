"""Sizes: axes of length zero, products that do not fit in 64 bits, too many axes.

Arrays with huge shapes cost nothing here: they have strides of zero, or an axis of
length zero, or pages that nobody touches. MemoryError is right wherever a result is
larger than any machine; 2**48 elements are, whatever the system promises to give.
"""

from functools import partial

import numpy as np

import pyscatter as ps
from tests.isolated.forms import FORMS
from tests.isolated.harness import case

BIG = 2**31
NO_ROOM = "MemoryError|ValueError"


def stretched(shape, dtype="i1"):
    """An array of any shape on one element."""
    return np.broadcast_to(np.zeros((), dtype), shape)


def empty_axes():
    """Nothing to index: no entries are fine, any entry is out of range."""
    for form in FORMS.values():
        a = form.array(0)
        for count in (0, 1, 2):
            index = np.zeros(count, np.intp)
            outcome = "IndexError" if count else "ok"
            call = (form.call, a, index, form.operand(a, count))
            yield case(f"{form.name} {count} in an empty axis", outcome, *call)
        for mode in ("clip", "wrap"):
            index = np.zeros(3, np.intp)
            call = (form.call, a, index, form.operand(a, 3))
            yield case(f"{form.name} {mode}", "IndexError", *call, mode=mode)
        index = np.array([-1, 0, 7])
        call = (form.call, a, index, form.operand(a, 3))
        yield case(f"{form.name} drop", "ok", *call, mode="drop")


def empty_elsewhere():
    """Another axis is empty: nothing moves, and every index is still checked."""
    a = np.zeros((0, 5))
    for number, outcome in (
        (4, "ok"),
        (-5, "ok"),
        (5, "IndexError"),
        (-6, "IndexError"),
    ):
        index = np.array([0, number])
        name = f"{number} beside an empty axis"
        yield case(f"scatter {name}", outcome, ps.scatter, a, index, 1.0, axis=1, out=a)
        yield case(f"gather {name}", outcome, ps.gather, a, index, axis=1)
        expression = (slice(None), index)
        yield case(f"add_at {name}", outcome, ps.add_at, a, expression, 1.0)
        yield case(f"gather_at {name}", outcome, ps.gather_at, a, expression)
    for shape in ((0,), (0, 3), (3, 0), (0, 0)):
        a, index = np.ones((2, 3)), np.zeros(shape, np.intp)
        done = np.zeros((*shape, 3))
        yield case(f"gather by {shape}", "ok", ps.gather, a, index, result=done)
        yield case(f"scatter by {shape}", "ok", ps.scatter, a, index, 9.0, result=a)
        yield case(f"add_at by {shape}", "ok", ps.add_at, a, index, 9.0, result=a)
    yield case("gather by []", "ok", ps.gather, a, [], result=np.zeros((0, 3)))
    yield case("add_at by []", "ok", ps.add_at, a, [], 1.0, result=np.ones((2, 3)))


def empty_batches():
    """Batches of size zero, and batches of empty rows."""
    for shape in ((0, 3), (3, 0), (0, 0)):
        a, index = np.zeros(shape), np.zeros((shape[0], 0), np.intp)
        done = np.zeros((shape[0], 0))
        batched = {"batch_dims": 1}
        yield case(f"gather {shape}", "ok", ps.gather, a, index, result=done, **batched)
        yield case(f"scatter {shape}", "ok", ps.scatter, a, index, 1.0, **batched)
        tuples = index[..., None]
        call = (ps.gather_nd, a, tuples)
        yield case(f"gather_nd {shape}", "ok", *call, result=done, **batched)
    a, index = np.zeros((3, 0)), np.zeros((3, 2), np.intp)
    yield case("rows without places", "IndexError", ps.gather, a, index, batch_dims=1)


def huge_beside_zero():
    """A zero beside axes whose product overflows."""
    for shape in ((0, BIG), (0, BIG, BIG), (BIG, 0, BIG), (BIG, BIG, 0)):
        a = np.zeros(shape, "i1")
        for axis in range(len(shape)):
            index = np.zeros(0, np.intp)
            name = f"{shape} axis {axis}"
            yield case(f"gather {name}", "ok", ps.gather, a, index, axis=axis)
            call = (ps.scatter, a, index, np.int8(1))
            yield case(f"scatter {name}", "ok", *call, axis=axis, out=a)
        zero = shape.index(0)
        call = (ps.gather, a, [0])
        yield case(f"gather [0] {shape}", f"IndexError|{NO_ROOM}", *call, axis=zero)
        call = (ps.gather_nd, a, np.zeros((BIG, 0, 3), np.intp))
        yield case(f"gather_nd {shape}", "ok|ValueError|IndexError", *call)


def products():
    """Results that no machine holds, with products that wrap to small numbers."""
    row = np.zeros(1, "i1")
    for count in (2**48, 2**62, 2**63 - 1):
        index = stretched((count,))
        yield case(f"gather of {count}", NO_ROOM, ps.gather, row, index)
        yield case(f"gather_at of {count}", NO_ROOM, ps.gather_at, row, index)
        yield case(f"along of {count}", NO_ROOM, ps.gather_along_axis, row, index)
    for rows, width in ((2**32, 2**32), (2**33, 2**31), (2**62, 2), (2**31, 2**33)):
        a, index = stretched((1, width)), stretched((rows,))
        yield case(f"gather {rows} of {width}", NO_ROOM, ps.gather, a, index)
        tuples = stretched((rows, 1))
        yield case(f"gather_nd {rows} of {width}", NO_ROOM, ps.gather_nd, a, tuples)
        pair = (index[:, None], stretched((width,)))
        yield case(f"gather_at {rows} of {width}", NO_ROOM, ps.gather_at, a, pair)
    for shape in ((2**48,), (2**31, 2**31), (2**62, 1)):
        a, none = stretched(shape), np.zeros(0, np.intp)
        yield case(f"copy of {shape}", NO_ROOM, ps.scatter, a, none, np.int8(1))


def huge_operands():
    """Values and masks of huge shapes that do not fit."""
    a, index = np.zeros(5), np.zeros(3, np.intp)
    for shape in ((2**32 + 3,), (2**62,), (2**32, 3), (3, 2**32), (2**31, 2**31)):
        values, mask = stretched(shape), stretched(shape, "?")
        name = f"{shape}"
        yield case(f"scatter {name}", "ValueError", ps.scatter, a, index, values, out=a)
        yield case(f"add_at {name}", "ValueError", ps.add_at, a, index, values)
        call = (ps.scatter, a, index, 1.0)
        yield case(f"where {name}", "ValueError", *call, where=mask, out=a)
        call = (ps.gather, a, index)
        yield case(f"gather where {name}", "ValueError", *call, where=mask)


def lazy(shape, dtype="u1"):
    """Zeros whose pages exist once they are touched."""
    return np.zeros(shape, dtype)


def written(call, a, place, *args, **options):
    """Make a call and read one flat place of the target."""
    call(a, *args, **options)
    return a.reshape(-1)[place]


def beyond_32_bits():
    """Offsets above 2**31, from int32 indices; a single element is touched."""
    shape, place = (46342, 46341), 46341 * 46341
    for dtype in ("i4", "i8", "u4"):
        pair = np.array([[46341, 0]], dtype)
        for name, call in (
            ("scatter_nd", lambda a, *x: ps.scatter_nd(a, *x, out=a)),
            ("add_at", lambda a, i, v: ps.add_at(a, (i[:, 0], i[:, 1]), v)),
        ):
            args = (written, call, lazy(shape), place, pair, np.uint8(42))
            yield case(f"{name} {dtype}", "ok", *args, result=42)
        a = lazy(shape)
        a[46341] = 7
        row = np.full((1, 46341), 7)
        call = (ps.gather, a, pair[:, 0])
        yield case(f"gather {dtype}", "ok", *call, result=row)
    a = lazy((3, 2**29), "i1")
    for number in (3, -4, 2**29, 2**31 - 1):
        index = np.array([[number]], "i4")
        call = (ps.scatter_nd, a, index, np.int8(1))
        yield case(f"slice {number} of 3", "IndexError", *call, out=a)
        yield case(f"row {number} of 3", "IndexError", ps.gather, a, index[0])


def many_updates():
    """More updates than 32 bits count, from an index of one element."""
    index = stretched((2**31 + 1,))
    done = [2**31 + 1, 0]
    yield case("add_at", "ok", ps.add_at, np.zeros(2, int), index, 1, result=done)
    a = np.zeros(2, "f4")
    maximum = (ps.scatter, a, index, np.float32(3))
    yield case("scatter", "ok", *maximum, op="max", out=a, result=[3, 0])
    said = (f"position 0 of {2**31 + 1}",)
    call = (ps.add_at, np.zeros(0), index, 1.0)
    yield case("out of range", "IndexError", *call, says=said)


def many_axes():
    """NumPy's 64 axes, and results that would have more."""
    a = np.ones((1,) * 64)
    deep = np.zeros((1,) * 64, np.intp)
    flat = np.ones(1)
    yield case("gather 64", "ok", ps.gather, a, [0], result=a)
    yield case("gather last of 64", "ok", ps.gather, a, [0], axis=63, result=a)
    yield case("gather to 63", "ok", ps.gather, a, 0, axis=-1, result=a[0])
    yield case("gather to 65", "ValueError", ps.gather, a, [[0]])
    yield case("gather by 64", "ok", ps.gather, flat, deep, result=a)
    yield case("gather 64 by 64", "ValueError", ps.gather, a, deep)
    yield case("scatter 64", "ok", ps.scatter, a, [0], 2.0, result=a + 1)
    yield case("scatter to 65", "ValueError", ps.scatter, a, [[0]], 2.0, out=a)
    yield case("scatter 64 by 64", "ValueError", ps.scatter, a, deep, 2.0, out=a)
    along = (ps.scatter_along_axis, a, deep)
    yield case("along 64", "ok", *along, 2.0, axis=40, result=a + 1)
    yield case("gather along 64", "ok", ps.gather_along_axis, a, deep, 63, result=a)
    yield case("gather_nd 64", "ok", ps.gather_nd, a, np.zeros(64, int), result=1.0)
    yield case("gather_nd 63", "ok", ps.gather_nd, a, np.zeros((1, 63), int))
    yield case("nd 65", "ValueError|IndexError", ps.gather_nd, a, np.zeros(65, int))
    yield case("at 64", "ok", ps.gather_at, a, (0,) * 64, result=1.0)
    yield case("at 65", "IndexError", ps.gather_at, a, (0,) * 65)
    yield case("at None 65", "IndexError|ValueError", ps.gather_at, a, (None, ...))
    yield case("add_at 64", "ok", ps.add_at, a.copy(), (0,) * 64, 1.0, result=a + 1)
    yield case("batch of 64", "ok", ps.gather, a, deep, batch_dims=63, result=a)
    yield case("flat 64", "ok", ps.gather, a, [0, 0], axis=None, result=[1.0, 1])


def parts():
    """Complex sums that are compensated take one axis more."""
    none, exact = np.zeros(0, int), {"op": "add", "compensated": True}
    for dtype in ("c8", "c16"):
        for shape in ((1,) * 64, (1,) * 60 + (2, 1, 3, 1), (2, 3) + (1,) * 62):
            a = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
            done, name = a * (2 + 1j), f"{dtype} {shape[:2]} {shape[-2:]}"
            for label, add in {
                "scatter_nd": partial(ps.scatter_nd, a, none, a * (1 + 1j)),
                "scatter_at": partial(ps.scatter_at, a, (), a * (1 + 1j)),
                "scatter": partial(ps.scatter, a, range(shape[0]), a * (1 + 1j)),
            }.items():
                yield case(f"{label} {name}", "ok", add, result=done, **exact)
                means = {**exact, "op": "mean", "include_self": False}
                yield case(f"{label} {name}", "ok", add, result=a * (1 + 1j), **means)
                turned = np.asfortranarray(a)
                call = (add.func, turned, *add.args[1:])
                yield case(name, "ok", *call, out=turned, result=done, **exact)


def axes():
    """Numbers that name no axis."""
    a = np.zeros((2, 3))
    calls = {
        "scatter": partial(ps.scatter, a, [0], 1.0, out=a),
        "gather": partial(ps.gather, a, [0]),
        "scatter_along": partial(ps.scatter_along_axis, a, [[0]], 1.0, out=a),
        "gather_along": partial(ps.gather_along_axis, a, [[0]]),
        "add_at": partial(ps.add_at, a, [0], 1.0),
    }
    wrong = "AxisError"
    for name, call in calls.items():
        for axis in (-3, 2, 64, -BIG):
            yield case(f"{name} axis {axis}", wrong, call, axis=axis)
        for axis in (BIG, 2**32, 2**63, 2**70, -(2**70)):
            yield case(f"{name} axis {axis}", f"{wrong}|OverflowError", call, axis=axis)
        for axis in (1.5, 1.0, True, "0", [0], (0, 1), np.zeros(2, int), 1j):
            yield case(f"{name} axis {axis!r}", "TypeError", call, axis=axis)
    flat = np.zeros(())
    yield case("gather 0-d", wrong, ps.gather, flat, [0])
    yield case("scatter 0-d", wrong, ps.scatter, flat, [0], 1.0, out=flat)
    yield case("gather 0-d flat", "ok", ps.gather, flat, [0], axis=None, result=[0.0])


def batch_dims():
    """Batch axes that are missing, unequal, negative, or no number."""
    a, index = np.zeros((2, 3, 4)), np.zeros((2, 3, 1), int)
    calls = {
        "gather": partial(ps.gather, a, index),
        "scatter": partial(ps.scatter, a, index, 1.0, out=a),
        "gather_nd": partial(ps.gather_nd, a, index),
        "scatter_nd": partial(ps.scatter_nd, a, index, 1.0, out=a),
    }
    for name, call in calls.items():
        for number in (-1, -3, 4, 64, -BIG):
            yield case(f"{name} {number}", "ValueError", call, batch_dims=number)
        for number in (BIG, 2**32, 2**63, 2**70):
            outcome = "ValueError|OverflowError"
            yield case(f"{name} {number}", outcome, call, batch_dims=number)
        for number in (None, 1.5, 1.0, True, "1", [1], 1j):
            yield case(f"{name} {number!r}", "TypeError", call, batch_dims=number)
    for shape in ((3, 3), (1, 3), (0, 3), (2,), (3,)):
        name = f"index {shape}"
        unequal = np.zeros(shape, int)
        dims = min(2, len(shape))
        call = (ps.gather, a, unequal)
        if shape[:dims] != a.shape[:dims]:
            yield case(name, "ValueError", *call, batch_dims=dims)
    few = {"batch_dims": 2}
    yield case("axis inside batch", "ValueError", calls["gather"], axis=1, **few)
    yield case("flat batch", "ValueError", calls["gather"], axis=None, **few)
    yield case("index too flat", "ValueError", ps.gather, a, [0, 0], **few)
    yield case(
        "nd no tuple", "ValueError", ps.gather_nd, a, np.zeros((2, 3), int), **few
    )


def depths():
    """Tuples of more numbers than the array has axes, of none, and no tuples."""
    a = np.zeros((2, 3))
    too_deep = "ValueError|IndexError"
    for depth in (3, 9, 64, 1000):
        indices = np.zeros((5, depth), int)
        call = (ps.scatter_nd, a, indices, 1.0)
        yield case(f"scatter_nd {depth}", too_deep, *call, out=a)
        yield case(f"gather_nd {depth}", too_deep, ps.gather_nd, a, indices)
    line = np.zeros(9)
    forgot = (ps.gather_nd, line, np.array([0, 1, 2]))
    said = {"says": ("indices[..., None]",)}
    yield case("gather_nd of a list", too_deep, *forgot, **said)
    call = (ps.scatter_nd, line, np.array([0, 1, 2]), 1.0)
    yield case("scatter_nd of a list", too_deep, *call, out=line, **said)
    for indices in (0, np.zeros((), int)):
        yield case("gather_nd of a number", too_deep, ps.gather_nd, a, indices)
    for shape in ((0,), (4, 0)):
        none = np.zeros(shape, int)
        done = np.zeros((*shape[:-1], 2, 3))
        call = (ps.gather_nd, a, none)
        yield case(f"gather_nd {shape}", f"ok|{too_deep}", *call, result=done)
    empty = np.zeros((0, 0, 0, 2), int)
    yield case("gather_nd of nothing", "ok", ps.gather_nd, a, empty)
    yield case(
        "gather_nd empty too deep", too_deep, ps.gather_nd, a, np.zeros((0, 7), int)
    )


GROUPS = {
    "size empty axes": empty_axes,
    "size empty elsewhere": empty_elsewhere,
    "size empty batches": empty_batches,
    "size huge beside zero": huge_beside_zero,
    "size products": products,
    "size huge operands": huge_operands,
    "size beyond 32 bits": beyond_32_bits,
    "size many updates": many_updates,
    "size many axes": many_axes,
    "size many axes of parts": parts,
    "size axes": axes,
    "size batch_dims": batch_dims,
    "size depths": depths,
}
