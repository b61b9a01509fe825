"""Inputs that crashed, or silently misled, other libraries, as far as they have a
scatter or gather form. Each is named after the public report.
"""

from functools import partial

import numpy as np

import pyscatter as ps
from tests.isolated.harness import case

BIG = 2**31


def out_of_range():
    """Writes and reads outside the array, through wrapped or unchecked indices."""
    a = np.zeros(16)
    for name, index in {
        "CVE-2022-35939 past the end": [16],
        "CVE-2022-35939 before": [-17],
        "CVE-2020-15212 far before": [-(2**31)],
        "CVE-2021-37687 negative": [0, -17],
        "CVE-2022-35937 too large": [0, 1 << 40],
        "CVE-2022-41880 0x100000": [0x100000],
        "CVE-2020-15213 last one huge": [0, 1, 2**31 - 2],
        "CVE-2021-29514 seven in one": [7 * 16],
        "pydata/sparse#515 minus": [-(2**40)],
        "torch scatter_add_": [0, 1, 16],
        "torch#190045 address-like": [-4702111234474983746],
        "numpy#31777 one below": [0, 3, -17, 2],
    }.items():
        tuples = np.array(index)[:, None]
        yield case(f"{name} nd", "IndexError", ps.scatter_nd, a, tuples, 1.0, out=a)
        yield case(f"{name} gather_nd", "IndexError", ps.gather_nd, a, tuples)
        yield case(f"{name} scatter", "IndexError", ps.scatter, a, index, 1.0, out=a)
        yield case(f"{name} gather", "IndexError", ps.gather, a, index)
        yield case(f"{name} add_at", "IndexError", ps.add_at, a, index, 1.0)


def mismatched():
    """Index and values of shapes that only divide each other, or differ."""
    a = np.zeros((4, 3))
    for name, index, shape in (
        ("CVE-2021-37655 six for three", [0, 1, 2], (6, 3)),
        ("CVE-2021-37655 divides", [0, 1], (3, 2)),
        ("CVE-2023-25659 first axes differ", [0, 1, 2], (2, 3)),
        ("CVE-2020-15198 lengths differ", [0, 1], (3, 3)),
        ("CVE-2021-29607 no columns", [0, 1], (2, 0)),
        ("CVE-2021-41224 more values", [0], (2, 3)),
        ("torch#122117 rank 4", [0], (2, 1, 1, 3)),
        ("torch#114864 empty index", np.zeros(0, int), (2, 3)),
        ("torch#94667 empty values", [0, 1], (0, 3)),
    ):
        values = np.ones(shape)
        yield case(name, "ValueError", ps.scatter, a, index, values, out=a)
        yield case(f"{name} add_at", "ValueError", ps.add_at, a, index, values, axis=0)
    point = np.zeros(())
    call = (ps.scatter, point, [0], np.ones((1, 1, 1, 1)))
    yield case("torch#122117 0-d target", "ValueError|IndexError", *call, out=point)


def empties():
    """Divisions by a size of zero, and loops over nothing."""
    none = np.zeros((0, 3))
    tuples = np.zeros((2, 1), int)
    yield case("CVE-2021-29589", "IndexError", ps.gather_nd, none, tuples)
    call = (ps.gather, np.zeros((0, 4)), np.zeros((0, 2), int))
    done = np.zeros((0, 2))
    yield case("CVE-2021-37653", "ok", *call, batch_dims=1, result=done)
    call = (ps.gather, np.zeros((2, 2)), np.zeros((2, 2), int))
    yield case("CVE-2021-37654", "ValueError", *call, batch_dims=3)
    for mode in ("clip", "wrap"):
        call = (ps.gather, np.zeros(0), [3])
        yield case(f"CVE-2021-37668 {mode}", "IndexError", *call, mode=mode)
    yield case("CVE-2017-12852", "ok", ps.gather, np.zeros(3), [], result=np.zeros(0))
    call = (ps.gather, np.zeros((0, BIG, BIG), "i1"), np.zeros(0, int))
    yield case("CVE-2022-41884", "ok", *call)
    call = (ps.scatter_nd, none, np.zeros((1, 0), int), np.ones((1, 0, 3)))
    yield case("CVE-2023-25665", "ok|ValueError|IndexError", *call)


def overflows():
    """Products that wrapped in 32 or 64 bits."""
    one = np.zeros(1, "i1")
    wide = np.broadcast_to(one, (2**33,))
    index = np.broadcast_to(one, (2**31,))
    both = (index[:, None], wide)
    small = np.zeros((1, 1))
    big = "MemoryError|ValueError"
    yield case("CVE-2022-41890", big, ps.gather_at, small, both)
    yield case("CVE-2022-21729", big, ps.gather, wide[None], index)
    number = np.array([[2**61]])
    wrapping = np.zeros((4, 8))
    name = "CVE-2022-35939 index times width"
    call = (ps.scatter_nd, wrapping, number, 1.0)
    yield case(name, "IndexError", *call, out=wrapping)
    yield case("index times width, gathered", "IndexError", ps.gather, wrapping, number)
    yield case("torch#146793", "IndexError", ps.add_at, wrapping, 2**63 - 1, 1.0)


def restarted_buffers():
    """More updates than a conversion buffer holds (numpy#23457, #24147)."""
    for dtype in ("i1", "i2", "i4", "u2", ">i2"):
        for count in (8191, 8192, 8193, 20_000):
            index = (np.arange(count) % 100).astype(dtype)
            done = np.bincount(index, minlength=100)
            name = f"numpy#23457 {dtype} {count}"
            a = np.zeros(100)
            yield case(name, "ok", ps.add_at, a, index, 1, result=done)
            if np.dtype(dtype).kind == "i":
                a = np.zeros(100)
                name = f"numpy#24147 {dtype} {count}"
                call = (ps.add_at, a, (index - 100).astype(dtype), 1)
                yield case(name, "ok", *call, result=done)


def overlaps():
    """The same memory on both sides."""
    a = np.arange(6)
    done = a.copy()
    np.add.at(done, done[::-1].copy(), done.copy())
    yield case("CVE-2020-15210", "ok", ps.add_at, a, a[::-1], a, result=done)
    b = np.arange(4.0)
    call = partial(ps.gather, b, [3, 2, 1, 0], out=b)
    yield case("numpy#8043", "ok", call, result=[3.0, 2, 1, 0])
    objects = np.empty(4, object)
    objects[:] = [[1], [2], [3], [4]]
    done = objects[::-1].copy()
    call = (ps.scatter, objects, np.arange(4), objects[::-1])
    yield case("numpy#7465", "ok", *call, out=objects, result=done)


def divisors():
    """Integer division by zero, and more than 32 axes."""
    a = np.array([5, 6])
    call = (ps.scatter, a, [1], [0])
    yield case("CVE-2021-37642", "RuntimeWarning", *call, op="floor_div", out=a)
    deep = np.zeros((1,) * 40)
    yield case("CVE-2021-33430", "ok", ps.gather, deep, [0], result=deep)


GROUPS = {
    "history out of range": out_of_range,
    "history mismatched": mismatched,
    "history empties": empties,
    "history overflows": overflows,
    "history buffers": restarted_buffers,
    "history overlaps": overlaps,
    "history divisors": divisors,
}
