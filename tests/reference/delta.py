"""The slow twin of the delta family: units are compared one by one, as bytes.

It makes the same bytes as pyscatter's deltas, by the published description of XXH64 and
the tables of docs/design/delta.md, so a delta is right when its bytes are.
"""

import functools
import struct

import numpy as np

ENCODINGS = ("index32", "index64", "gap16", "runs", "bitmap", "dense")
OPS = ("overwrite", "xor", "add")
GRANULARITIES = ("element", "row", "block")
BLOCK_BYTES = 4096
MASK = 2**64 - 1
PRIMES = (
    0x9E3779B185EBCA87,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
)
# Of the square roots of the first eight primes the first 64 bits behind the point.
KEYS = (
    0x6A09E667F3BCC908,
    0xBB67AE8584CAA73B,
    0x3C6EF372FE94F82B,
    0xA54FF53A5F1D36F1,
    0x510E527FADE682D1,
    0x9B05688C2B3E6C1F,
    0x1F83D9ABFB41BD6B,
    0x5BE0CD19137E2179,
)
STEP = 0x9E3779B97F4A7C15
UNITS_OF_TIME = {
    unit: number
    for number, unit in enumerate("Y M W - D h m s ms us ns ps fs as generic".split())
}


# --- checksums ------------------------------------------------------------------------


def turned(x, bits):
    """Return 64 bits turned to the left."""
    return (x << bits | x >> (64 - bits)) & MASK


def xxh64(data, seed=0):
    """Return the XXH64 of bytes."""
    p1, p2, p3, p4, p5 = PRIMES

    def mixed(total, x):
        return turned((total + x * p2) & MASK, 31) * p1 & MASK

    at = 0
    if len(data) >= 32:
        sums = [seed + p1 + p2, seed + p2, seed, seed - p1]
        for at in range(0, len(data) - 31, 32):
            stripe = struct.unpack_from("<4Q", data, at)
            sums = [mixed(s, x) for s, x in zip(sums, stripe, strict=True)]
        at += 32
        result = sum(turned(s, n) for s, n in zip(sums, (1, 7, 12, 18), strict=True))
        for s in sums:
            result = ((result ^ mixed(0, s)) * p1 + p4) & MASK
    else:
        result = seed + p5
    result = (result + len(data)) & MASK
    while at + 8 <= len(data):
        result ^= mixed(0, int.from_bytes(data[at : at + 8], "little"))
        result = (turned(result, 27) * p1 + p4) & MASK
        at += 8
    if at + 4 <= len(data):
        result ^= int.from_bytes(data[at : at + 4], "little") * p1 & MASK
        result = (turned(result, 23) * p2 + p3) & MASK
        at += 4
    for byte in data[at:]:
        result = turned(result ^ (byte * p5 & MASK), 11) * p1 & MASK
    result = (result ^ result >> 33) * p2 & MASK
    result = (result ^ result >> 29) * p3 & MASK
    return result ^ result >> 32


def checksum(array):
    """Return the checksum of an array: XXH64 of sums of its blocks."""
    return checksum_of_bytes(native(array).tobytes())


@functools.lru_cache(maxsize=64)
def checksum_of_bytes(data):
    """Return that of an array's bytes."""
    sums = b""
    for first in range(0, len(data), 8192):
        block = data[first : first + 8192]
        block += bytes(-len(block) % 64)
        total = [0] * 8
        for t in range(len(block) // 64):
            lanes = struct.unpack_from("<8Q", block, 64 * t)
            for lane, x in enumerate(lanes):
                mixed = x ^ (KEYS[lane] + t * STEP & MASK)
                total[lane] += (mixed & 0xFFFFFFFF) * (mixed >> 32)
                total[lane ^ 1] += x
        sums += struct.pack("<8Q", *(x & MASK for x in total))
    return xxh64(sums, len(data))


# --- units ----------------------------------------------------------------------------


def native(array):
    """Return the array C-contiguous and native."""
    array = np.asarray(array)
    return np.ascontiguousarray(array, array.dtype.newbyteorder("=")).reshape(
        array.shape
    )


def units_of(array, granularity):
    """Return the bytes of each element, row or block, in C order."""
    array = native(array)
    data, size = array.tobytes(), array.itemsize
    width = {"element": 1, "block": BLOCK_BYTES // size}.get(granularity)
    if width is None:
        width = max(int(np.prod(array.shape[1:], dtype=int)), 1)
    step = width * size
    return [data[at : at + step] for at in range(0, len(data), step)]


def stored(old, new, op, size):
    """Return what a delta stores of a unit."""
    if op == "overwrite":
        return new
    result = b""
    for at in range(0, len(old), size):
        a, b = (int.from_bytes(x[at : at + size], "little") for x in (old, new))
        value = a ^ b if op == "xor" else (b - a) % 256**size
        result += value.to_bytes(size, "little")
    return result


def met(old, value, op, size):
    """Return what becomes of a unit that meets what is stored of it."""
    if op == "overwrite":
        return value
    result = b""
    for at in range(0, len(old), size):
        a, b = (int.from_bytes(x[at : at + size], "little") for x in (old, value))
        changed = a ^ b if op == "xor" else (a + b) % 256**size
        result += changed.to_bytes(size, "little")
    return result


def changes(old, new, granularity="element"):
    """Return the numbers of the units that differ in any bit."""
    pairs = zip(units_of(old, granularity), units_of(new, granularity), strict=True)
    return [i for i, (a, b) in enumerate(pairs) if a != b]


def difference(old, new):
    """Return how far two elements are apart; infinity where that is no number."""
    if old.dtype.kind in "mM":
        if np.isnat(old) or np.isnat(new):
            return np.inf
        return abs(int(new.view("i8")) - int(old.view("i8")))
    if old.dtype.kind in "iub":
        return abs(int(new) - int(old))
    with np.errstate(all="ignore"):
        if old.dtype.kind == "c":
            apart = np.hypot(
                float(new.real) - float(old.real), float(new.imag) - float(old.imag)
            )
        elif old.dtype == np.longdouble:
            apart = float(abs(new - old))
        else:
            apart = abs(float(new) - float(old))
    return float(apart) if np.isfinite(apart) else np.inf


def selected(old, new, at, granularity, top_k=None, threshold=None):
    """Return the numbers of the units of the largest differences, ascending."""
    before, after = native(old).ravel(), native(new).ravel()
    n_units = max(len(units_of(old, granularity)), 1)
    width = {"element": 1, "block": BLOCK_BYTES // before.itemsize}.get(
        granularity, before.size // n_units
    )

    def size(unit):
        inside = range(unit * width, min((unit + 1) * width, before.size))
        return max(
            difference(before[i], after[i])
            for i in inside
            if before[i : i + 1].tobytes() != after[i : i + 1].tobytes()
        )

    sizes = {unit: size(unit) for unit in at}
    if threshold is not None:
        at = [unit for unit in at if sizes[unit] > threshold or sizes[unit] == np.inf]
    if top_k is not None:
        at = sorted(at, key=lambda unit: (-sizes[unit], unit))[:top_k]
    return sorted(at)


def applied(array, at, values, op, granularity):
    """Return a copy of the array, with values at some of its units."""
    array = native(array)
    units = units_of(array, granularity)
    for unit, value in zip(at, values, strict=True):
        units[unit] = met(units[unit], value, op, array.itemsize)
    return np.frombuffer(b"".join(units), array.dtype).reshape(array.shape)


# --- bytes ----------------------------------------------------------------------------


def head_of(encoding, at, n_units):
    """Return the numbers of units as an encoding has them, and how many items."""
    if encoding in ("index32", "index64"):
        form = "I" if encoding == "index32" else "Q"
        return struct.pack(f"<{len(at)}{form}", *at), len(at)
    if encoding == "gap16":
        items, last = [], -1
        for number in at:
            far, gap = divmod(number - last - 1, 65535)
            items += [65535] * far + [gap]
            last = number
        return struct.pack(f"<{len(items)}H", *items), len(items)
    if encoding == "runs":
        firsts = [n for i, n in enumerate(at) if i == 0 or at[i - 1] != n - 1]
        lasts = [n for i, n in enumerate(at) if i + 1 == len(at) or at[i + 1] != n + 1]
        limits = [x for a, b in zip(firsts, lasts, strict=True) for x in (a, b + 1)]
        form = "I" if n_units < 2**32 else "Q"
        return struct.pack(f"<{len(limits)}{form}", *limits), len(firsts)
    if encoding == "bitmap":
        n_words = -(-n_units // 64)
        return sum(1 << n for n in at).to_bytes(8 * n_words, "little"), n_words
    return b"", 0


def dtype_fields(dtype):
    """Return letter, size, unit and multiple of a dtype."""
    if dtype.kind in "mM":
        unit, number = np.datetime_data(dtype)
        return dtype.kind.encode(), 8, UNITS_OF_TIME[unit], number
    if dtype.name == "bfloat16":
        return b"E", 2, 0, 0
    if dtype == np.longdouble and dtype.itemsize > 8:
        return b"g", dtype.itemsize, np.finfo(dtype).nmant + 1, 0
    return dtype.kind.encode(), dtype.itemsize, 0, 0


def candidates(old, new, at, op, granularity):
    """Return (encoding, head, items, numbers, values) of each encoding that can be."""
    before, after = units_of(old, granularity), units_of(new, granularity)
    size = np.asarray(old).itemsize
    for encoding in ENCODINGS:
        numbers = list(range(len(before))) if encoding == "dense" else at
        head, items = head_of(encoding, numbers, len(before))
        values = [stored(before[i], after[i], op, size) for i in numbers]
        yield encoding, head, items, numbers, values


def wire(old, new, *, op="overwrite", granularity="element", encoding="auto", at=None):
    """Return the bytes of the delta from old to new, without versions."""
    old, new = native(old), native(new)
    at = changes(old, new, granularity) if at is None else at
    found = list(candidates(old, new, at, op, granularity))
    if encoding == "auto":
        chosen = min(found, key=lambda c: len(c[1]) + sum(map(len, c[4])))
    else:
        [chosen] = [c for c in found if c[0] == encoding]
    encoding, head, items, numbers, values = chosen
    letter, size, unit, multiple = dtype_fields(old.dtype)
    data = struct.pack(
        "<8sHcBBBBBBBHiQQqqQQ",
        b"\x89PSDELTA",
        1,
        letter,
        size,
        OPS.index(op),
        ENCODINGS.index(encoding),
        GRANULARITIES.index(granularity),
        old.ndim,
        3,
        unit,
        0,
        multiple,
        len(numbers),
        items,
        0,
        0,
        checksum(new),
        checksum(old),
    )
    data += struct.pack(f"<{old.ndim}q", *old.shape)
    data += head + bytes(-len(head) % 8) + b"".join(values)
    return data + struct.pack("<Q", xxh64(data))
