"""Deltas of several chunks: where places and values of one wait, and where two meet."""

import numpy as np
import pytest

import pyscatter as ps
from tests.cases import rng_for
from tests.reference import delta as slow

CORE = ps._core
LEVELS = CORE.levels()
OPS = ("overwrite", "xor")


def test_chunks_meet():
    """Changes on both sides of the ends of chunks, gaps longer than 16 bits."""
    old = np.zeros(200_000, np.uint16)
    for at in (
        [32767, 32768],
        [0, 65534, 65535],
        [65534],
        [65535],
        [65536, 131_072],
        [131_070, 199_999],
        range(32_000, 34_000),
        range(100, 199_000),
    ):
        new = old.copy()
        new[list(at)] = 7
        for encoding in slow.ENCODINGS:
            made = ps.delta(old, new, encoding=encoding)
            numbers = made.positions
            if encoding != "dense":
                np.testing.assert_array_equal(numbers, list(at))
                head, _ = slow.head_of(encoding, list(at), old.size)
                assert head in made.to_bytes()
            assert made.apply(old).tobytes() == new.tobytes()
            assert ps.Delta.from_bytes(made.to_bytes()) == made


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("size", [1, 2, 4, 8, 16])
def test_chunks_in_which_little_or_much_differs(level, size):
    """Some with places that wait for the second pass, some without, some equal."""
    CORE.force_level(level)
    dtype = np.dtype({16: "c16"}.get(size, f"u{size}"))
    rng = rng_for("chunks", size)
    chunk, n = 32_768, 5 * 32_768 + 77
    few = chunk // 16
    many = [[few, few + 1, 0, 3, few - 1, 77], [2 * few, few, 5000, few, 1, 2]]
    for op, counts in zip(OPS, many, strict=True):
        at = [
            chunk * i + rng.choice(min(chunk, n - chunk * i), k, replace=False)
            for i, k in enumerate(counts)
        ]
        at = np.sort(np.concatenate([*at, np.arange(3 * chunk, 3 * chunk + few - 9)]))
        at = np.unique(at)
        old = rng.integers(0, 256, n * size, np.uint8).view(dtype)
        new = old.copy()
        new.view(np.uint8).reshape(n, -1)[at, -1] ^= 64
        for encoding in slow.ENCODINGS[:-1]:
            made = ps.delta(old, new, op=op, encoding=encoding)
            np.testing.assert_array_equal(made.positions, at)
            head, _ = slow.head_of(encoding, at.tolist(), n)
            assert head in made.to_bytes()
            assert made.apply(old).tobytes() == new.tobytes()


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("granularity", slow.GRANULARITIES)
def test_checksums_of_what_would_become(granularity, threads):
    """Units over the ends of blocks and of chunks, and long stretches without any."""
    ps.set_num_threads(threads)
    rng = rng_for("become", granularity)
    shape = (220, 3001)
    for dtype, density in (("u2", 0.01), ("f4", 1e-5), ("c16", 0.0003), ("u1", 0.5)):
        old = rng.integers(0, 9, shape).astype(dtype)
        new = old.copy()
        places = rng.random(shape) < density
        places[50:100] = False
        places.flat[[0, -1, 262_143, 262_144]] = True
        new[places] += 1
        for encoding in ("index32", "gap16", "runs", "bitmap"):
            made = ps.delta(old, new, granularity=granularity, encoding=encoding)
            target = old.copy()
            made.apply(target, out=target, verify="both")
            assert target.tobytes() == new.tobytes()
            if encoding == "gap16":
                check_refusals(made, old, new)


def check_refusals(made, old, new):
    """Targets that are not the base: what is overwritten counts for it alone."""
    for at, verify in ((3001 * 70, "new"), (0, "base"), (3001 * 70, "both")):
        target = old.copy()
        target.flat[at] += 3
        kept = target.copy()
        with pytest.raises(ValueError, match="checksum"):
            made.apply(target, out=target, verify=verify)
        assert target.tobytes() == kept.tobytes()
    target = old.copy()
    target.flat[0] += 3
    assert made.apply(target, verify="new").tobytes() == new.tobytes()
