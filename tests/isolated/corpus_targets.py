"""Arrays that must not be written: read-only ones, and ones that overlap themselves.

Also arrays that overlap the call's inputs, which is allowed: the result is as if every
input had been copied first.
"""

import mmap
import tempfile
from functools import partial

import numpy as np
from numpy.lib.stride_tricks import as_strided, sliding_window_view

import pyscatter as ps
from tests.isolated.forms import DROP_IN_FORMS, GATHERS, SCATTERS
from tests.isolated.harness import case

WRITERS = SCATTERS[1:] + DROP_IN_FORMS


def flagged(a):
    a = a.copy()
    a.flags.writeable = False
    return a


def from_bytes(a):
    return np.frombuffer(a.tobytes(), a.dtype).reshape(a.shape)


def read_only_view(a):
    view = a.copy()[...]
    view.flags.writeable = False
    return view


def view_of_read_only(a):
    return flagged(np.concatenate([a, a], axis=-1))[..., : a.shape[-1]]


def memory_map(a):
    with tempfile.NamedTemporaryFile() as file:
        file.write(a.tobytes())
        file.flush()
        return np.memmap(file.name, a.dtype, "r", shape=a.shape)


def mapped_pages(a):
    """Pages that the hardware protects: a write is a segmentation fault."""
    with tempfile.TemporaryFile() as file:
        file.write(a.tobytes())
        file.flush()
        pages = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return np.frombuffer(pages, a.dtype).reshape(a.shape)


def broadcast(a):
    return np.broadcast_to(a.copy(), a.shape)


READ_ONLY = (
    flagged,
    from_bytes,
    read_only_view,
    view_of_read_only,
    memory_map,
    mapped_pages,
    broadcast,
)


def read_only():
    """ValueError, and not one byte changes, whatever the index selects."""
    for make in READ_ONLY:
        for form in WRITERS:
            for index in ([0, 4, 4], [], np.arange(5).repeat(2000)):
                index = np.array(index, np.intp)
                target = make(form.array(5))
                name = f"{form.name} {make.__name__} {index.size}"
                call = (form.call, target, index, form.operand(target, index.size))
                yield case(name, "ValueError", *call, says=("read-only",))
        yield from read_only_outs(make)


def read_only_outs(make):
    """The same for a gather's out."""
    for form in GATHERS:
        a = form.array(5)
        out = make(form.operand(a, 3))
        name = f"{form.name} out {make.__name__}"
        yield case(name, "ValueError", form.call, a, np.arange(3), out)


def read_only_sources():
    """Where nothing is written in place, read-only inputs are welcome."""
    for make in READ_ONLY:
        a = make(np.arange(5.0))
        index, values = make(np.array([4, 0])), make(np.array([7.0, 9.0]))
        name = make.__name__
        done = [9.0, 1, 2, 3, 7]
        yield case(f"scatter {name}", "ok", ps.scatter, a, index, values, result=done)
        yield case(f"gather {name}", "ok", ps.gather, a, index, result=[4.0, 0])
        b = np.arange(5.0)
        moved = [9.0, 1, 2, 3, 11]
        yield case(f"add_at {name}", "ok", ps.add_at, b, index, values, result=moved)


def zero_stride(a):
    return as_strided(a[:1].copy(), a.shape, (0, *a.strides[1:]))


def zero_stride_last(a):
    wide = np.zeros((*a.shape, 1), a.dtype)
    return as_strided(wide, a.shape, (*wide.strides[: a.ndim - 1], 0))


def window(a):
    """Rows that share all but one element with their neighbours."""
    flat = np.zeros(a.size, a.dtype)
    if a.ndim == 1:
        return as_strided(flat, a.shape, (a.itemsize // 2,))
    return sliding_window_view(flat, a.shape[-1], writeable=True)[: a.shape[0]]


def one_byte_apart(a):
    memory = np.zeros(a.size * a.itemsize, np.uint8)
    return as_strided(memory.view(a.dtype), a.shape, (1,) * a.ndim)


def crossing(a):
    """Strides that meet in a few places only: element (0, 3) is element (1, 0)."""
    if a.ndim == 1:
        return zero_stride(a)
    flat = np.zeros(a.size * 4, a.dtype)
    return as_strided(flat, a.shape, (3 * a.itemsize, a.itemsize))


OVERLAPPING = (zero_stride, zero_stride_last, window, one_byte_apart, crossing)


def overlapping():
    """ValueError even where the index selects nothing or one element."""
    for make in OVERLAPPING:
        for form in (form for form in WRITERS if "batch" not in form.name):
            for index in ([0, 4, 4], [2], []):
                index = np.array(index, np.intp)
                target = make(form.array(5))
                name = f"{form.name} {make.__name__} {index.size}"
                call = (form.call, target, index, form.operand(target, index.size))
                yield case(name, "ValueError", *call)
        for form in (form for form in GATHERS if "batch" not in form.name):
            a = form.array(5)
            out = make(form.operand(a, 5))
            name = f"{form.name} out {make.__name__}"
            yield case(name, "ValueError", form.call, a, np.arange(5), out)


def interleaved():
    """Strides that look suspicious and share no byte are legal."""
    memory = np.zeros(60)
    views = {
        "transposed": memory[:12].reshape(3, 4).T,
        "backwards": memory[11::-1].reshape(4, 3),
        "every other": memory.reshape(10, 6)[::2, ::2][:4],
        "woven": as_strided(memory, (4, 3), (3 * 8, 12 * 8)),
        "coprime": as_strided(memory, (4, 2), (2 * 8, 3 * 8)),
        "length 1 with stride 0": as_strided(memory, (4, 1, 3), (24, 0, 8)),
        "empty with stride 0": as_strided(memory, (4, 0, 3), (0, 0, 0)),
    }
    index, one = np.array([1, 3, 3]), np.array(1.0)
    for name, view in views.items():
        yield replayed(name, partial(in_place, ps.scatter), view, index, one, op="add")
        yield replayed(f"add_at {name}", ps.add_at, view, index, one)


def writable_maps():
    """Subclasses that are plain memory are updated in place."""
    with tempfile.TemporaryDirectory() as folder:
        for mode in ("w+", "r+", "c"):
            a = np.memmap(f"{folder}/map", "f8", mode, shape=3)
            a[:] = 0
            done = [0.0, 2, 0]
            yield case(mode, "ok", ps.add_at, a, [1, 1], 1.0, result=done)


def shifted_views(dtype, count):
    """Windows of one buffer, shifted by elements and by single bytes."""
    itemsize = np.dtype(dtype).itemsize
    for shift in (0, 1, itemsize - 1, itemsize, itemsize + 1, 3 * itemsize):
        memory = np.zeros(8 * (count + 8), np.uint8)
        first = memory[: count * itemsize].view(dtype)
        second = memory[shift : shift + count * itemsize].view(dtype)
        first[:] = np.arange(count) % 3
        second[:] = np.arange(count)[::-1] % 3
        for step in (1, -1):
            yield f"{shift} {step}", first, second[::step]


def agree(call, a, *inputs, **options):
    """Make a call, and the same one on copies of everything: the targets must agree."""
    apart = a.copy()
    call(apart, *(x.copy() for x in inputs), **options)
    call(a, *inputs, **options)
    if not np.array_equal(a, apart, equal_nan=True):
        raise AssertionError(f"{a} is not {apart}, the result on copies")


def replayed(name, call, a, *inputs, **options):
    """A case whose right answer is that of the same call on copies."""
    return case(name, "ok", agree, call, a, *inputs, **options)


def in_place(function, a, *inputs, **options):
    return function(a, *inputs, out=a, **options)


def aliased_values():
    """Values that are views of the target's memory."""
    index = np.array([3, 0, 0, 5, 7, 3, 1, 2])
    for op in ("set", "add", "max", "first", "mean"):
        call = partial(in_place, ps.scatter)
        for name, a, values in shifted_views("f8", 8):
            yield replayed(f"scatter {op} {name}", call, a, index, values, op=op)
    for name, a, values in shifted_views("f4", 8):
        yield replayed(f"add_at {name}", ps.add_at, a, index, values)
        nd = partial(in_place, ps.scatter_nd)
        yield replayed(f"scatter_nd {name}", nd, a, index[:, None], values, op="add")


def usable(index):
    """Whether shifted bytes still read as indices of eight places."""
    return bool(np.all(index < 8)) and bool(np.all(index >= 0))


def aliased_indices():
    """An index that is a view of the target's memory."""
    for dtype in ("i8", "i4", "i2", "u1"):
        for name, a, index in shifted_views(dtype, 8):
            if usable(index) and usable(a):
                label = f"{dtype} {name}"
                yield replayed(f"add_at {label}", ps.add_at, a, index, index)
                along = partial(in_place, ps.scatter_along_axis)
                yield replayed(f"along {label}", along, a, index, index, op="add")
    a = np.arange(9)[::-1].copy()
    yield replayed("target, index and values", ps.add_at, a, a[::-1], a)


def gathered_onto(call, out, a, index):
    """A gather with its out first, as `replayed` wants the array that changes."""
    call(a, index, out=out)


def aliased_gathers():
    """A gather whose out overlaps its source or its index."""
    for call in (ps.gather, ps.gather_along_axis, ps.gather_at):
        for name, out, a in shifted_views("f8", 8):
            index = np.array([7, 6, 5, 4, 3, 2, 1, 0])
            label = f"{call.__name__} {name}"
            onto = partial(gathered_onto, call)
            yield replayed(f"{label} source", onto, out, a, index)
        for name, out, index in shifted_views("i8", 8):
            if usable(index):
                a = np.arange(10, 18)
                label = f"{call.__name__} {name}"
                yield replayed(f"{label} index", onto, out, a, index)


def outs():
    """An out of the wrong shape, dtype or kind; out is a for scatters, or its twin."""
    a, i = np.zeros((3, 4)), [0, 2]
    for shape in ((3,), (4, 3), (3, 4, 1), (1, 3, 4), (3, 5), (0, 4), ()):
        out = np.ones(shape)
        yield case(f"scatter out {shape}", "ValueError", ps.scatter, a, i, 1.0, out=out)
        yield case(f"gather out {shape}", "ValueError", ps.gather, a, i, out=out)
    for dtype in ("i8", "?", "u1", "M8[s]"):
        out = np.zeros((3, 4), dtype)
        yield case(f"scatter out {dtype}", "TypeError", ps.scatter, a, i, 1.0, out=out)
        out = np.zeros((2, 4), dtype)
        yield case(f"gather out {dtype}", "TypeError", ps.gather, a, i, out=out)
    for out in ((a,), [a], 5, "x", np.float64(1)):
        name = f"out {type(out).__name__}"
        yield case(f"scatter {name}", "TypeError", ps.scatter, a, i, 1.0, out=out)
        yield case(f"gather {name}", "TypeError", ps.gather, a, i, out=out)


def spoiled_outs():
    """An error that the index causes leaves a separate out alone, too."""
    a, out, index = np.zeros(5), np.ones(5), np.array([0, 5])
    for call in (ps.scatter, ps.scatter_along_axis, ps.scatter_at):
        yield case(call.__name__, "IndexError", call, a, index, 1.0, out=out)
    yield case("nd", "IndexError", ps.scatter_nd, a, index[:, None], 1.0, out=out)


GROUPS = {
    "target read-only": read_only,
    "inputs read-only": read_only_sources,
    "target overlaps itself": overlapping,
    "target interleaved": interleaved,
    "target memmap": writable_maps,
    "aliased values": aliased_values,
    "aliased indices": aliased_indices,
    "aliased gathers": aliased_gathers,
    "out": outs,
    "out untouched": spoiled_outs,
}
