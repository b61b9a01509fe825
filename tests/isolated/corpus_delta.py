"""Deltas: bytes that nobody made, parts that do not fit, arrays that change meanwhile.

An `__array__` or an `__index__` gives an array of the same call, or what it is a view
of, another dtype, shape or memory, after the array has been looked at.
"""

import struct
import warnings

import numpy as np

import pyscatter as ps
from tests.isolated.corpus_hooks import ANY
from tests.isolated.harness import case
from tests.reference.delta import xxh64

LOOSE = {"strict": False}


class Hook:
    """What runs code when it is asked for its array or its number."""

    def __init__(self, act, value):
        self.act, self.value = act, value

    def run(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.act()
        return self.value

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.run())

    def __index__(self):
        return self.run()

    def __float__(self):
        return float(self.run())


CHANGES = {
    "memory": lambda array: array.resize(0, refcheck=False),
    "times": lambda array: setattr(array, "dtype", "m8[s]"),
    "bytes": lambda array: setattr(array, "dtype", f"V{array.itemsize}"),
    "no axes": lambda array: setattr(array, "shape", ()),
    "two axes": lambda array: setattr(array, "shape", (2, -1)),
    "locked": lambda array: setattr(array.flags, "writeable", False),
}


def disturbed(n, change, whose, work):
    """A call with a hook that changes an array, or what it is a view of."""
    base = np.arange(float(n))
    view = base.reshape(n)
    return work(view, lambda: change(base if whose == "base" else view), n)


def made(view, act, n):
    return ps.delta(view, Hook(act, np.ones(n)))


def counted(view, act, n):
    return ps.delta(view, np.ones(n), top_k=Hook(act, 3))


def limited(view, act, n):
    return ps.delta(view, np.ones(n), threshold=Hook(act, 3))


def applied(view, act, n):
    return ps.delta(np.zeros(n), np.ones(n)).apply(Hook(act, np.zeros(n)), out=view)


def versioned(view, act, n):
    change = ps.delta(np.zeros(n), np.ones(n)).with_versions(1, 2)
    return change.apply(view, out=view, base_version=Hook(act, 1))


def inverted(view, act, n):
    change = ps.delta(view, np.ones(n))
    Hook(act, None).run()
    return change.invert(view)


def built(view, act, n):
    at = np.arange(n)
    return ps.Delta((n,), "f8", None, Hook(act, 1), "auto", at, view)


def explained(view, act, n):
    return ps.explain_diff(view, Hook(act, np.ones(n)))


WORKS = (made, counted, limited, applied, versioned, inverted, built, explained)


def hooks():
    """Every call, every change, small and large."""
    for work in WORKS:
        for name, change in CHANGES.items():
            for whose in ("view", "base"):
                for n in (10, 3000):
                    yield case(
                        f"{work.__name__} {name} {whose} {n}",
                        f"{ANY}|AttributeError",
                        disturbed,
                        n,
                        change,
                        whose,
                        work,
                        **LOOSE,
                    )


def wire():
    """Bytes whose lengths lie; their own checksum is right where it can be."""
    good = ps.delta(np.zeros((20, 3)), np.ones((20, 3))).to_bytes()
    read = ps.Delta.from_bytes
    yield case("good", "ok", read, good)
    for n in (0, 7, 8, 79, 80, len(good) - 1):
        yield case(f"{n} bytes", "ValueError", read, good[:n])
    yield case("more", "ValueError", read, good + bytes(8))
    for offset in range(8, 88, 8):
        for value in (-1, 2**31, 2**61, 2**62, 2**63 - 1):
            changed = bytearray(good)
            struct.pack_into("<q", changed, offset, value)
            changed[-8:] = struct.pack("<Q", xxh64(bytes(changed[:-8])))
            expect = "ok" if 40 <= offset < 72 else "ValueError"
            yield case(f"{value} at {offset}", expect, read, bytes(changed))
    for wrong in (None, 3, "text", [1, 2], object()):
        yield case(f"of {type(wrong).__name__}", "TypeError|ValueError", read, wrong)
    yield case("strided", "ok", read, np.repeat(np.frombuffer(good, "u1"), 2)[::2])


def parts():
    """Deltas from parts that do not fit together."""
    at, values = np.array([1, 2]), np.ones(2)
    rest = ((9,), "f8", None, None, "auto")
    yield case("parts", "ok", ps.Delta, *rest, at, values)
    for wrong in ([2, 1], [1, 1], [-1, 0], [1, 9], [1, 2**62], [[1, 2]], [1.5, 2]):
        yield case(
            f"positions {wrong}",
            "ValueError|IndexError|TypeError",
            ps.Delta,
            *rest,
            np.array(wrong),
            values,
        )
    for shape in ((-1,), (2**62, 4), (2**40, 2**40), (1,) * 65, "no"):
        yield case(
            f"shape {str(shape)[:20]}",
            "ValueError|TypeError|MemoryError",
            ps.Delta,
            shape,
            *rest[1:],
            at,
            values,
        )
    yield case("all of much", "ValueError", ps.Delta, (2**50,), *rest[1:], None, values)


GROUPS = {"delta bytes": wire, "delta hooks": hooks, "delta parts": parts}
