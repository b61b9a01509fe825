"""Arrays that end, or begin, at the border of forbidden pages: page_cases GROUP FIRST.

A kernel that loads or stores whole registers beyond the last element dies here. Where a
mask leaves elements out, these lie on forbidden pages themselves: what is not selected
is neither read nor written.
"""

import ctypes
import mmap
from functools import partial
from itertools import product

import numpy as np

import pyscatter as ps
from pyscatter import _core
from tests.isolated.harness import case, run_group

PAGE = mmap.PAGESIZE
PROT_NONE = 0  # which Python does not name
LIBRARY = ctypes.CDLL(None, use_errno=True)
LENGTHS = (1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 100, 127, 129, 511, 515)
DTYPES = ("i1", "u2", "f4", "f8", "c16", "V3", "V24", "?", "f2")
OPS = ("set", "add", "mul", "first", "mean")
KINDS = ("none", "first", "last", "half", "all")


def forbid(memory, start, nbytes):
    """Make pages of a mapping unreadable for good."""
    address = np.frombuffer(memory, np.uint8).ctypes.data + start
    done = LIBRARY.mprotect(
        ctypes.c_void_p(address), ctypes.c_size_t(nbytes), PROT_NONE
    )
    assert done == 0, ctypes.get_errno()


def bordered(array, *, at_end=True):
    """Return a copy of a line whose last or first byte touches a forbidden page."""
    room = -(-array.nbytes // PAGE) * PAGE
    memory = mmap.mmap(-1, room + 2 * PAGE)
    octets = np.frombuffer(memory, np.uint8)
    start = PAGE + room - array.nbytes if at_end else PAGE
    copy = octets[start : start + array.nbytes].view(array.dtype)
    copy[:] = array
    forbid(memory, 0, PAGE)
    forbid(memory, PAGE + room, PAGE)
    return copy


def numbers(count, dtype):
    """A line of things that differ."""
    octets = np.arange(count * np.dtype(dtype).itemsize, dtype=np.uint32) % 251 % 2
    return octets.astype(np.uint8).view(dtype)


def chosen(kind, count):
    """A mask; `last` and `first` select the element at the border alone."""
    mask = np.zeros(count, bool)
    if kind in ("first", "last"):
        mask[0 if kind == "first" else -1] = True
    elif kind == "half":
        mask[::2] = True
    else:
        mask[:] = kind == "all"
    return mask


def equal(left, right):
    """Are these the same bytes?"""
    return np.ascontiguousarray(left).tobytes() == np.ascontiguousarray(right).tobytes()


def everything(dtype, kind, count, at_end):
    """Every function of masks on lines beside forbidden pages."""
    border = partial(bordered, at_end=at_end)
    plain, mask = numbers(count, dtype), chosen(kind, count)
    x, y = border(plain), border(plain[::-1].copy())
    own, out = border(mask), border(plain)
    right = np.where(mask, plain, plain[::-1])
    assert equal(ps.where(own, x, y), right)
    assert ps.where(own, x, y, out=out) is out and equal(out, right)
    assert equal(ps.where(own, x, y[:1]), np.where(mask, plain, plain[-1:]))
    out[:] = plain
    ps.scatter_where(out, own, y, out=out)
    assert equal(out, np.where(mask, plain[::-1], plain))
    assert equal(ps.gather_where(x, own), plain[mask])
    packed = border(plain[mask]) if mask.any() else plain[:0]
    ps.scatter_where(out, own, packed, packed=True, out=out)
    assert equal(out, plain)
    positions = np.flatnonzero(mask)
    assert equal(ps.flatnonzero(own), positions)
    assert equal(ps.argwhere(own)[:, 0], positions)
    assert ps.count_nonzero(own) == positions.size
    if np.dtype(dtype).kind != "V":
        assert equal(ps.flatnonzero(x), np.flatnonzero(plain))
        assert equal(ps.where(x, 1, 2), np.where(plain, 1, 2))
    if np.dtype(dtype).kind in "iufc":
        for op in ("add", "mul", "sub"):
            target = border(plain)
            ps.scatter_where(target, own, y, op=op, out=target)
            expected = plain.copy()
            ps.scatter_where(expected, mask, plain[::-1].copy(), op=op, out=expected)
            assert equal(target, expected), op


def borders():
    """Each dtype, mask and length, at both borders, on every CPU level."""
    for isa, dtype, kind in product(_core.levels(), DTYPES, KINDS):
        yield case(f"{isa} {dtype} {kind}", "ok", all_lengths, isa, dtype, kind)


def all_lengths(isa, dtype, kind):
    _core.force_level(isa)
    for count, at_end in product(LENGTHS, (True, False)):
        everything(dtype, kind, count, at_end)


def with_holes(dtype, lead):
    """A line over pages of which every second one is forbidden, and its mask.

    The line starts `lead` elements before a border, so that borders lie inside blocks.
    """
    memory = mmap.mmap(-1, 6 * PAGE)
    octets = np.frombuffer(memory, np.uint8)
    itemsize = np.dtype(dtype).itemsize
    line = octets[PAGE - lead * itemsize :].view(dtype)
    line[:] = 1
    mask = np.ones(line.size, bool)
    per_page = PAGE // itemsize
    for page in range(1, 6, 2):
        start = lead + (page - 1) * per_page
        mask[start : start + per_page] = False
        forbid(memory, page * PAGE, PAGE)
    return line, mask


def holes(isa, dtype):
    """What is not selected is forbidden: in target, values and source."""
    _core.force_level(isa)
    for lead in (64, 1, 37):
        source, mask = with_holes(dtype, lead)
        ones = np.ones(int(mask.sum()), dtype)
        assert equal(ps.gather_where(source, mask), ones)
        assert equal(ps.gather_where(source, mask, 0), ones)
        for op in OPS:
            target, _ = with_holes(dtype, lead)
            options = {"op": op, "casting": "unsafe"}  # which means of integers need
            update = partial(ps.scatter_where, target, mask, out=target, **options)
            update(source[:1].copy())
            update(source)
            update(ones, packed=True)
            update(np.broadcast_to(source[:1], source.shape))
            target = np.ones(mask.size, dtype)
            ps.scatter_where(target, mask, source, out=target, **options)


def forbidden():
    """Each dtype on every CPU level."""
    for isa, dtype in product(_core.levels(), ("i1", "u2", "i4", "f4", "f8", "c8")):
        yield case(f"{isa} {dtype}", "ok", holes, isa, dtype)


GROUPS = {"borders": borders, "forbidden": forbidden}

if __name__ == "__main__":
    run_group(GROUPS)
