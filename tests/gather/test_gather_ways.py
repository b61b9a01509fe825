"""The ways of a gather: items and rows straight from the index, columns, strided rows,
flat positions in any layout. All give what NumPy gives, and an error leaves out= alone.
"""

from itertools import product

import numpy as np
import pytest

import pyscatter as ps
from tests.cases import LAYOUTS, assert_same, compare, random_values, rng_for, snapshot

NEAR, FAR = 1000, 600_000  # items on both sides of 512 KB, from one byte on
LENGTHS = (1, 7, 8, 9, 31, 32, 33, 40, 41, 56, 57, 255, 1024, 1025, 5000)
SIZED = ("?", "i1", "i2", "f4", "f8", "c16", "f2", "m8[s]")


def out_like(a, n):
    """An array that is seen, and a copy of its bytes."""
    out = random_values(rng_for("out", n), a.dtype, (n, *a.shape[1:]))
    return out, snapshot(out)


@pytest.mark.parametrize("isa", ps._core.levels())
@pytest.mark.parametrize("index_dtype", [np.int32, np.int64])
@pytest.mark.parametrize("size", [NEAR, FAR])
def test_items_straight_from_the_index(size, index_dtype, isa):
    ps._core.force_level(isa)
    rng = rng_for("items", size)
    for dtype in ("i1", "i2", "f4", "f8", "c16", "?", ">f8"):
        a = rng.integers(0, 100, size).astype(dtype)
        for n in LENGTHS:
            index = rng.integers(0, size, n).astype(index_dtype)
            for low in (n, n // 2):  # negatives from here on
                index[low:] -= size
                out, _ = out_like(a.astype(a.dtype.newbyteorder("=")), n)
                expected = a[index].astype(out.dtype)
                assert_same(ps.gather(a, index), expected)
                assert_same(ps.gather(a, index, out=out), expected)


@pytest.mark.parametrize("isa", ps._core.levels())
@pytest.mark.parametrize("size", [NEAR, FAR])
def test_the_first_bad_index_is_named(size, isa):
    ps._core.force_level(isa)
    for n in LENGTHS:
        for position in {0, n // 2, n - 1}:
            for bad in (size, -size - 1, 2**62):
                index = np.arange(n) % 5
                index[position:] = bad
                place = rf"index {bad} .* \(position {position} of {n} in 'index'\)"
                for shape in ((size,), (size, 5)):
                    a = np.ones(shape, np.int8)
                    out, before = out_like(a, n)
                    with pytest.raises(IndexError, match=place):
                        ps.gather(a, index)
                    with pytest.raises(IndexError, match=place):
                        ps.gather(a, index, out=out)
                    assert snapshot(out) == before


@pytest.mark.parametrize("isa", ps._core.levels())
@pytest.mark.parametrize("mode", ["clip", "wrap", "drop", "fill"])
@pytest.mark.parametrize("index_dtype", [np.int32, np.int64])
def test_modes_straight_from_the_index(index_dtype, mode, isa):
    ps._core.force_level(isa)
    rng = rng_for("modes", mode)
    info = np.iinfo(index_dtype)
    for dtype in SIZED:
        for size, n in ((1, 4), (5, 15), (5, 17), (1000, 60), (1000, 700)):
            a = random_values(rng, dtype, size)
            index = rng.integers(-3 * size, 3 * size + 1, n).astype(index_dtype)
            index[:4] = [info.min, info.max, -1, size]
            options = {}
            if mode == "clip":
                expected = a[np.clip(index, 0, size - 1)]
            elif mode == "wrap":  # np.take would subtract the size until it fits
                expected = a[index % size]
            else:  # in these, negatives are out of bounds
                inside = (index >= 0) & (index < size)
                expected = np.where(inside, a[np.where(inside, index, 0)], a[0])
                options = {"fill_value": a[0]}
            out, _ = out_like(a, n)
            assert_same(ps.gather(a, index, mode=mode, **options), expected)
            assert_same(ps.gather(a, index, mode=mode, out=out, **options), expected)


@pytest.mark.parametrize("isa", ps._core.levels())
@pytest.mark.parametrize("width", [2, 3, 4, 16, 17, 64])
def test_rows_straight_from_the_index(width, isa):
    ps._core.force_level(isa)
    rng = rng_for("rows", width)
    for dtype in ("u1", "f4", "f8", ">i4"):
        for rows in (40, 40_000):
            a = rng.integers(0, 100, (rows, width)).astype(dtype)
            for n in (1, 9, 300, 4100):
                for index_dtype in (np.int32, np.int64):
                    index = rng.integers(-rows, rows, n).astype(index_dtype)
                    expected = a[index].astype(a.dtype.newbyteorder("="))
                    assert_same(ps.gather(a, index), expected)
                    reverse = a[::-1][index].astype(expected.dtype)
                    assert_same(ps.gather(a[::-1], index), reverse)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("axis", [0, 1])
def test_rows_and_columns_of_every_layout(layout, axis):
    rng = rng_for("layouts", layout, axis)
    for dtype in ("?", "i2", "f8", "c16", ">f4", "S3"):
        for shape in ((60, 8), (40, 70)):
            octets = rng.integers(0, 100, shape)
            a = LAYOUTS[layout](octets.astype(dtype))
            for n in (1, 3, 33):
                index = rng.integers(-shape[axis], shape[axis], n)
                native = a.dtype.newbyteorder("=")
                expected = np.array(np.take(a, index, axis), native, order="C")
                assert_same(ps.gather(a, index, axis=axis), expected)
            loose = np.append(index, [shape[axis], -shape[axis] - 1])
            compare("gather", a, loose[-5:], axis, mode="fill")


# --- flat positions -------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", [(), (7,), (4, 5), (3, 1, 4), (2, 3, 2, 2), (0, 3)])
def test_flat_positions_of_every_layout(shape, layout):
    rng = rng_for("flat", shape, layout)
    for dtype in ("f8", "?", "S3", "object"):
        a = LAYOUTS[layout](random_values(rng, np.dtype(dtype), shape))
        size = max(1, a.size)
        for mode in ("raise", "clip", "wrap", "drop", "fill"):
            for count in (0, 2, size + 1):
                index = rng.integers(-size, size, count)
                index += (rng.random(count) < 0.2) * (size if mode != "raise" else 0)
                where = rng.random(count) < 0.7
                compare("gather", a, index, None, mode=mode)
                compare("gather", a, index[None], None, mode=mode, where=where)
                compare("gather_along_axis", a, index, None, mode=mode, where=where)


def test_flat_positions_need_no_copy_of_the_array(tmp_path):
    a = np.zeros((3, 5), order="F")
    with pytest.raises(IndexError, match=r"index 15 .* size 15 \(position 1 of 2"):
        ps.gather(a, [0, 15], axis=None)
    plan = ps.Plan([0, 14], 15)
    assert_same(
        ps.gather(np.arange(15.0).reshape(3, 5).T, plan, axis=None),
        np.array([0.0, 14.0]),
    )
    with open(tmp_path / "holes", "wb") as file:
        file.truncate(1 << 36)  # more than the memory that there is
    shape = (1 << 18, 1 << 18)
    holes = np.memmap(tmp_path / "holes", np.uint8, "r", shape=shape, order="F")
    assert_same(ps.gather(holes, [5, -1], axis=None), np.zeros(2, np.uint8))


@pytest.mark.parametrize("dtype", ["f8", ">f8", "c16"])
def test_all_rows_of_a_large_array_in_fortran_order(dtype):
    rng = rng_for("far rows", dtype)
    a = np.asfortranarray(rng.integers(0, 100, (60_000, 5)).astype(dtype))
    index = rng.integers(-60_000, 60_000, 60_000)
    for few in (index, index[:100]):
        expected = np.array(a[few], a.dtype.newbyteorder("="), order="C")
        assert_same(ps.gather(a, few), expected)
        assert_same(ps.gather(a, few, out=np.empty_like(expected)), expected)
    index[-1] = 60_000
    with pytest.raises(IndexError, match=r"index 60000 .* \(position 59999 of"):
        ps.gather(a, index)
    assert not ps.gather(a, index, mode="fill")[-1].any()


def test_a_short_out_that_overlaps_or_is_locked():
    a = np.arange(10.0)
    index = np.arange(10)[::-1].copy()
    assert_same(ps.gather(a, index, out=a), np.arange(10.0)[::-1].copy())
    bits = np.arange(10)[::-1].copy()
    numbers = np.arange(100, 110)
    assert_same(ps.gather(numbers, bits, out=bits), np.arange(109, 99, -1))
    locked = np.zeros(10)
    locked.flags.writeable = False
    with pytest.raises(ValueError, match="out"):
        ps.gather(a, index, out=locked)
    for out in (np.zeros(9), np.zeros((1, 10)), np.zeros(10, np.int8)):
        with pytest.raises((TypeError, ValueError)):
            ps.gather(a, index, out=out)


@pytest.mark.parametrize("shape", [(), (1,), (0,), (2, 1)])
def test_one_entry_of_far_columns(shape):
    a = np.arange(4 * 5 * 60.0).reshape(4, 5, 60)[:, :, ::20]
    index = np.full(shape, 2)
    for axis in (0, 1, 2):
        expected = np.take(a, index, axis)
        assert_same(ps.gather(a, index, axis=axis), expected)
        out = np.ones_like(expected, order="C")
        assert_same(ps.gather(a, index, axis=axis, out=out), expected)


@pytest.mark.parametrize("isa", ps._core.levels())
@pytest.mark.parametrize("dtype", ["?", "i1", ">i2", "f4", ">f8", "c16", "S3"])
def test_columns_side_by_side(dtype, isa):
    ps._core.force_level(isa)
    rng = rng_for("turned", dtype)
    for rows, columns, n in (
        (1, 5, 3),
        (6, 3, 9),
        (70, 9, 4),
        (700, 6, 5),
        (33, 300, 290),
    ):
        a = np.asfortranarray(rng.integers(0, 2, (rows, columns)).astype(dtype))
        index = rng.integers(-columns, columns, n)
        expected = np.take(a, index, axis=1).astype(a.dtype.newbyteorder("="))
        assert_same(ps.gather(a, index, axis=1), expected)
        assert_same(
            ps.gather(a[::-1, ::-1], index, axis=1), expected_reversed(a, index)
        )
        out = np.zeros_like(expected)
        ps.gather(a, index.astype(np.int32), axis=1, out=out)
        assert_same(out, expected)
        mask = rng.random(columns) < 0.5
        selected = np.compress(mask, a, axis=1).astype(expected.dtype)
        assert_same(ps.gather_where(a, mask, axis=1), selected)
        where = rng.random(n) < 0.5
        filled = np.where(where, expected, np.zeros((), expected.dtype))
        assert_same(ps.gather(a, index, axis=1, where=where), filled)


def expected_reversed(a, index):
    """The columns of an array that is reversed along both axes."""
    reversed_a = np.ascontiguousarray(a[::-1, ::-1])
    return np.take(reversed_a, index, axis=1).astype(a.dtype.newbyteorder("="))


@pytest.mark.parametrize("isa", ps._core.levels())
@pytest.mark.parametrize("width", [*range(1, 21), 31, 32, 33, 47, 48, 49, 63, 64, 65])
def test_rows_of_every_short_width(width, isa):
    """Few rows go straight to the kernel; bytes beside them stay."""
    ps._core.force_level(isa)
    rng = rng_for("short rows", width)
    a = rng.integers(0, 256, (9, width), np.uint8)
    for n, kind in product((0, 1, 10, 60, 1000), (np.int64, np.int32, np.uint8)):
        index = rng.integers(-9 if kind is not np.uint8 else 0, 9, n).astype(kind)
        memory = np.full((n + 2, width), 77, np.uint8)
        out = memory[1:-1]
        assert ps.gather(a, index, out=out) is out
        assert_same(ps.gather(a, index), a[index])
        assert_same(out.copy(), a[index])
        assert (memory[[0, -1]] == 77).all()
        b, spare = np.zeros_like(a), rng.integers(0, 256, (n, width), np.uint8)
        expected = b.copy()
        for i, row in zip(index.tolist(), spare, strict=True):
            expected[i] = row
        assert_same(ps.scatter(b, index, spare), expected)


def test_few_rows_of_any_shape_and_kind():
    rng = rng_for("few rows")
    index = np.array([2, -1, 0, 2])
    for dtype in ("f8", "?", "c16", "i2", ">f4", "m8[s]", "S3", "O"):
        for shape in ((3,), (3, 2), (3, 2, 5), (3, 0), (0, 2), (3, 1, 1)):
            a = rng.integers(0, 2, shape).astype(dtype)
            if not shape[0]:
                with pytest.raises(IndexError):
                    ps.gather(a, index)
                continue
            expected = a[index].astype(a.dtype.newbyteorder("="))
            assert_same(ps.gather(a, index), expected)
            assert_same(ps.gather(np.asfortranarray(a), index), expected)
            assert_same(ps.gather(a, index, out=np.empty_like(expected)), expected)
    odd = np.arange(6, dtype=np.uint8).reshape(3, 2).view(bool)
    assert ps.gather(odd, index).view(np.uint8).max() == 1
    a, out = np.arange(6.0).reshape(3, 2), np.zeros((3, 2))
    with pytest.raises(IndexError, match="index 3 is out of bounds"):
        ps.gather(a, np.array([0, 3, 1]), out=out)
    assert not out.any()
    for wrong in (np.zeros((3, 3)), np.zeros((2, 2)), np.zeros(3), np.zeros((3, 2, 1))):
        with pytest.raises(ValueError, match="shape"):
            ps.gather(a, np.array([0, 1, 1]), out=wrong)
    assert ps.gather(a, np.array([1, 0, 2]), out=a).tolist() == [[2, 3], [0, 1], [4, 5]]


SHAPES = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 96, 97, 127)
SHAPES += (128, 160, 161, 192, 193, 224, 225, 255, 256, 257, 300)


@pytest.mark.parametrize("isa", ps._core.levels())
@pytest.mark.parametrize("nbytes", SHAPES)
def test_rows_of_every_shape_are_moved_whole(nbytes, isa):
    ps._core.force_level(isa)
    rng = rng_for("shapes", nbytes)
    for rows in (40, 300_000 // nbytes):  # near, and asked for ahead
        a = rng.integers(0, 256, (rows, nbytes)).astype(np.uint8)
        for n in (1, 15, 16, 17, 50):
            index = rng.permutation(rows)[:n] - rng.integers(0, 2, min(n, rows)) * rows
            values = rng.integers(0, 256, (len(index), nbytes)).astype(np.uint8)
            room = np.full((len(index) + 2, nbytes), 77, np.uint8)
            for given in (index, index.astype(np.int32)):
                assert_same(ps.gather(a, given), a[index])
                ps.gather(a, given, out=room[1:-1])
                assert_same(room[1:-1], a[index])
                assert (room[[0, -1]] == 77).all()
                expected = a.copy()
                expected[index] = values
                assert_same(ps.scatter(a, given, values, op="set"), expected)


@pytest.mark.parametrize("isa", ps._core.levels())
@pytest.mark.parametrize("nbytes", [16, 32, 48, 256, 272, 40])
def test_rows_written_past_the_caches(nbytes, isa):
    ps._core.force_level(isa)
    n = (16 << 20) // nbytes + 5
    a = rng_for("streams", nbytes).integers(0, 256, (999, nbytes)).astype(np.uint8)
    index = np.arange(n) * 7 % 999
    expected = np.resize(a[np.arange(999) * 7 % 999], (n, nbytes))
    for start in (0, 16, 3):  # aligned to lines, to vectors, to nothing
        memory = np.empty(n * nbytes + 128, np.uint8)
        start += -memory.ctypes.data % 64
        out = memory[start : start + n * nbytes].reshape(n, nbytes)
        assert np.array_equal(ps.gather(a, index, out=out), expected)
