"""Bytes of a delta that somebody else has written: ValueError, and never a write.

Good bytes are cut, lengthened, and changed in single bits and whole fields; with a
checksum of their own, too, so that what lies behind it is reached. What is accepted in
the end has to be a delta like any other: it is applied to an array between guards.
"""

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pyscatter as ps
from tests.cases import DTYPES, rng_for
from tests.reference import delta as slow

HEADER = 72
GUARD = 64
SMALL, LARGE = 3000, 100_000
FIELDS = {  # offset and format
    "format": (8, "H"),
    "kind": (10, "B"),
    "itemsize": (11, "B"),
    "op": (12, "B"),
    "encoding": (13, "B"),
    "granularity": (14, "B"),
    "axes": (15, "B"),
    "flags": (16, "B"),
    "unit": (17, "B"),
    "zero": (18, "H"),
    "multiple": (20, "i"),
    "count": (24, "q"),
    "items": (32, "q"),
    "first axis": (72, "q"),
    "second axis": (80, "q"),
}
EXTREMES = (0, 1, 2, 63, 255, 2**15, 2**31 - 1, 2**32, 2**61, 2**62, 2**63 - 1, -1)


def sealed(data):
    """Return bytes that end in the checksum of what they are."""
    return data[:-8] + struct.pack("<Q", slow.xxh64(data[:-8]))


def samples():
    """Return good bytes of all encodings, some dtypes, ops and granularities."""
    rng = rng_for("samples")
    found = []
    for name in ("u1", "f4", "c16", "M8[s]", "f2", "?"):
        dtype = np.dtype(name)
        old = rng.integers(0, 256, 60 * dtype.itemsize, np.uint8).view(dtype)
        new = old.copy()
        new[[3, 4, 5, 40]] = old[[0, 1, 2, 7]]
        old, new = old.reshape(20, 3), new.reshape(20, 3)
        for encoding in slow.ENCODINGS:
            for granularity in slow.GRANULARITIES:
                op = ("overwrite", "xor")[len(found) % 2]
                made = ps.delta(
                    old, new, encoding=encoding, op=op, granularity=granularity
                )
                found.append(made.to_bytes())
    empty = np.zeros((0, 3))
    found.append(ps.delta(empty, empty).to_bytes())
    return found


SAMPLES = samples()


def spoil(rng, data):
    """Return bytes with something wrong, or not."""
    data = bytearray(data)
    how = rng.integers(0, 6)
    if how == 0:
        return bytes(data[: rng.integers(0, len(data))])
    if how == 1:
        return bytes(data) + rng.bytes(int(rng.integers(1, 40)))
    if how == 2:
        for at in rng.integers(0, len(data), rng.integers(1, 4)):
            data[at] ^= 1 << int(rng.integers(0, 8))
    elif how == 3:
        offset, form = FIELDS[list(FIELDS)[rng.integers(0, len(FIELDS))]]
        size = struct.calcsize("<" + form)
        value = int(rng.choice(np.array(EXTREMES, object))) % 256**size
        if offset + size <= len(data):
            data[offset : offset + size] = value.to_bytes(size, "little")
    elif how == 4:
        at = int(rng.integers(0, len(data)))
        part = rng.bytes(int(rng.integers(1, 9)))
        data[at : at + len(part)] = part
    else:
        at = int(rng.integers(min(HEADER, len(data)), len(data) + 1))
        data[at:at] = rng.bytes(8 * int(rng.integers(1, 3)))
    return bytes(data)


def apply_between_guards(made):
    """Apply what was accepted: no byte beside the array changes."""
    nbytes = int(np.prod(made.shape, dtype=object)) * made.dtype.itemsize
    assert len(made) == len(made.positions)
    if nbytes > 1 << 20:
        return
    memory = np.full(nbytes + 2 * GUARD, 0x5A, np.uint8)
    target = memory[GUARD : GUARD + nbytes].view(made.dtype).reshape(made.shape)
    before = target.copy()
    made.apply(target, out=target)
    assert (memory[:GUARD] == 0x5A).all() and (memory[GUARD + nbytes :] == 0x5A).all()
    back = made.invert(before)
    back.apply(target, out=target)
    assert target.tobytes() == before.tobytes()
    made.compose(back)


def try_bytes(data):
    """Read bytes; ValueError is all that may happen. Whether they were accepted."""
    try:
        made = ps.Delta.from_bytes(data)
    except ValueError:
        return False
    assert made.to_bytes() == data
    apply_between_guards(made)
    return True


def fuzz(n, name):
    """Read n spoilt buffers; return how many were accepted."""
    rng = rng_for("fuzz", name)
    accepted = 0
    for i in range(n):
        data = SAMPLES[i % len(SAMPLES)]
        data = spoil(rng, data)
        if i % 4 and len(data) >= 8:
            data = sealed(data)
        accepted += try_bytes(data)
    return accepted


def test_good_bytes_are_accepted():
    for data in SAMPLES:
        assert try_bytes(data)
        assert sealed(data) == data


def test_a_few_spoilt_bytes():
    assert 0 < fuzz(SMALL, "few") < SMALL


@pytest.mark.slow
def test_many_spoilt_bytes():
    assert 0 < fuzz(LARGE, "many") < LARGE


def test_every_shorter_buffer_is_refused():
    for data in SAMPLES[::7]:
        for n in range(len(data)):
            for wrong in (data[:n], sealed(data[:n]) if n >= 8 else b""):
                with pytest.raises(ValueError, match="not the bytes of a Delta"):
                    ps.Delta.from_bytes(wrong)


def test_every_bit_counts():
    data = SAMPLES[4]
    for at in range(8 * len(data)):
        wrong = bytearray(data)
        wrong[at // 8] ^= 1 << at % 8
        with pytest.raises(ValueError, match="not the bytes of a Delta"):
            ps.Delta.from_bytes(bytes(wrong))


@given(st.binary(max_size=400))
def test_any_bytes(data):
    assert not try_bytes(data)
    assert not try_bytes(b"\x89PSDELTA" + data)
    if len(data) >= 8:
        try_bytes(sealed(b"\x89PSDELTA\x01\x00" + data))


def header(**fields):
    """Return the bytes of a delta of int64 (2, 3) with other fields; and its body."""
    old, new = np.zeros((2, 3), np.int64), np.zeros((2, 3), np.int64)
    new[1, 1] = 7
    body = fields.pop("body", None)
    data = bytearray(ps.delta(old, new, encoding="index32").to_bytes())
    for name, value in fields.items():
        offset, form = FIELDS[name.replace("_", " ")]
        struct.pack_into("<" + form, data, offset, value)
    if body is not None:
        data[88:-8] = body
    return sealed(bytes(data))


HUGE = 2**62
BAD = {
    "sizes that multiply beyond 2**63": header(first_axis=HUGE, second_axis=4),
    "bytes beyond 2**63": header(first_axis=2**60, second_axis=1),
    "no elements, and axes beyond 2**63": header(first_axis=0, second_axis=HUGE),
    "a negative axis": header(first_axis=-1),
    "more values than there are": header(count=2),
    "a count beyond all": header(count=2**63 - 1),
    "a negative count": header(count=-1),
    "more positions than there are": header(items=1000),
    "positions beyond 2**63": header(items=HUGE),
    "negative positions": header(items=-1),
    "too many axes": header(axes=255),
    "an axis more": header(axes=3),
    "no dtype": header(kind=ord("q")),
    "a dtype of another size": header(itemsize=4),
    "no op": header(op=3),
    "no encoding": header(encoding=6),
    "no granularity": header(granularity=3),
    "unknown flags": header(flags=16),
    "another format": header(format=2),
    "what must be zero": header(zero=1),
    "a unit without a time": header(unit=4),
    "out of range": header(body=struct.pack("<IIq", 6, 0, 7)),
    "far out of range": header(body=struct.pack("<IIq", 2**32 - 1, 0, 7)),
    "padding": header(body=struct.pack("<IIq", 4, 1, 7)),
    "unsorted": header(count=2, items=2, body=struct.pack("<IIqq", 4, 3, 7, 7)),
    "repeated": header(count=2, items=2, body=struct.pack("<IIqq", 4, 4, 7, 7)),
    "an empty run": header(
        encoding=3, items=1, body=struct.pack("<IIq", 4, 4, 7), count=0
    ),
    "runs that touch": header(
        encoding=3, items=2, body=struct.pack("<IIIIqq", 1, 2, 2, 3, 7, 7), count=2
    ),
    "a run beyond the end": header(
        encoding=3, items=1, body=struct.pack("<IIqq", 5, 7, 7, 7), count=2
    ),
    "an escape at the end": header(
        encoding=2, items=2, body=struct.pack("<HHHHq", 4, 65535, 0, 0, 7)
    ),
    "bits beyond the end": header(
        encoding=4, items=1, body=struct.pack("<Qq", 1 << 6, 7)
    ),
    "a bitmap of two words": header(
        encoding=4, items=2, body=struct.pack("<QQq", 1, 0, 7)
    ),
    "dense with positions": header(encoding=5, items=1, count=6),
    "dense with too few": header(encoding=5, items=0, body=bytes(8 * 5), count=6),
    "negative index64": header(encoding=1, items=1, body=struct.pack("<qq", -1, 7)),
}


@pytest.mark.parametrize("what", BAD)
def test_what_is_wrong(what):
    with pytest.raises(ValueError, match="not the bytes of a Delta"):
        ps.Delta.from_bytes(BAD[what])


def test_the_header_of_these_is_good():
    assert try_bytes(header())
    assert try_bytes(header(body=struct.pack("<IIq", 5, 0, 7)))


def test_buffers_of_all_kinds():
    data = SAMPLES[0]
    made = ps.Delta.from_bytes(data)
    array = np.frombuffer(data, np.uint8)
    for buffer in (bytearray(data), memoryview(data), array):
        assert ps.Delta.from_bytes(buffer) == made
    changed = bytearray(data)
    held = ps.Delta.from_bytes(changed)
    changed[:] = bytes(len(changed))
    assert held == made and held.to_bytes() == data
    for wrong in (3, "text", None):
        with pytest.raises(TypeError):
            ps.Delta.from_bytes(wrong)


@pytest.mark.filterwarnings("ignore:The 'generic' unit:DeprecationWarning")
@pytest.mark.parametrize("name", [n for n in DTYPES if DTYPES[n].kind in "mM"])
def test_units_of_time(name):
    kind = DTYPES[name].kind
    for unit in (
        "Y",
        "M",
        "W",
        "D",
        "h",
        "m",
        "25s",
        "ms",
        "us",
        "ns",
        "ps",
        "fs",
        "as",
    ):
        old = np.arange(5).astype(f"{kind}8[{unit}]")
        made = ps.delta(old, old[::-1])
        assert ps.Delta.from_bytes(made.to_bytes()).dtype == old.dtype
        assert made.to_bytes() == slow.wire(old, old[::-1])
    generic = np.array(["NaT"] * 3, f"{kind}8")
    assert (
        ps.Delta.from_bytes(ps.delta(generic, generic).to_bytes()).dtype == f"{kind}8"
    )


@pytest.mark.parametrize("level", ps._core.levels())
def test_escapes_stand_among_gaps(level):
    """Gaps are read eight at a time; an escape may be any of the eight."""
    ps._core.force_level(level)
    rng = rng_for("escapes")
    for place in range(9):
        gaps = rng.integers(0, 9, 21)
        gaps[place :: max(place, 3)] = rng.integers(65_533, 65_538)
        at = np.cumsum(gaps + 1) - 1
        old = np.zeros(at[-1] + 9, np.uint8)
        new = old.copy()
        new[at] = 1 + np.arange(21)
        wire = ps.delta(old, new, encoding="gap16").to_bytes()
        made = ps.Delta.from_bytes(wire)
        np.testing.assert_array_equal(made.positions, at)
        assert made.apply(old, verify="new").tobytes() == new.tobytes()
