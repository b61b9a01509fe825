"""Few elements of plain arrays, which go straight to the kernels, against the twin.

Whatever is not plain takes the long way, with its casts, warnings and words; so does a
call whose index is bad, which leaves its target as it was.
"""

import warnings

import numpy as np
import pytest

import pyscatter as ps
from tests import reference
from tests.cases import assert_same, random_values, rng_for, snapshot

OPS = ("set", "add", "sub", "mul", "div", "floor_div", "min", "max", "fmin", "fmax")
DTYPES = ("?", "i1", "u4", "i8", "f2", "f4", "f8", "c8", "g", ">f8", "m8[s]")
COUNTS = (0, 1, 7, 8, 9, 56, 57, 1024, 1025)
SIZE = 40


def outcome(function, target, *args, **options):
    """What becomes of a copy of the target, and what the call says."""
    target = target.copy()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            function(target, *args, **options)
            said = ""
        except (TypeError, ValueError, IndexError, OverflowError) as error:
            said = type(error).__name__
    return target, said, [str(warning.message) for warning in caught]


def in_place(library, name, op):
    """A call of the library that updates its first argument."""

    def call(target, index, values):
        getattr(library, name)(target, index, values, op=op, out=target)

    return call


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_and_op(dtype, op):
    rng = rng_for("short", dtype, op)
    for n in COUNTS:
        index = rng.integers(-SIZE, SIZE, n)
        a, values = (random_values(rng, np.dtype(dtype), k) for k in (SIZE, n))
        expected = outcome(in_place(reference, "scatter", op), a, index, values)
        for kind in (np.int64, np.int32, np.int16):
            own = index.astype(kind)
            for name in ("scatter", "scatter_at"):
                got = outcome(in_place(ps, name, op), a, own, values)
                assert_same(got[0], expected[0], f"{name} {n} {kind}")
                assert got[1:] == expected[1:]
        pairs = np.stack([index // 8 % 5 - 5, index % 8], axis=-1)
        table = a.reshape(5, 8)
        expected = outcome(in_place(reference, "scatter_nd", op), table, pairs, values)
        for kind in (np.int64, np.int32, np.uint8):
            if kind is np.uint8:
                pairs[:, 0] += 5
            got = outcome(
                in_place(ps, "scatter_nd", op), table, pairs.astype(kind), values
            )
            assert_same(got[0], expected[0], f"pairs {n} {kind}")
            assert got[1:] == expected[1:]


@pytest.mark.parametrize("library", [ps, reference], ids=["pyscatter", "reference"])
def test_bad_indices_leave_the_target(library):
    for n in (1, 10, 60, 1000):
        for bad in (SIZE, -SIZE - 1, 2**62):
            index = np.arange(n) % SIZE
            index[n // 2] = bad
            a = np.arange(float(SIZE))
            before = snapshot(a)
            with pytest.raises(IndexError, match=str(bad)):
                library.scatter(a, index, np.ones(n), op="add", out=a)
            with pytest.raises(IndexError, match=str(bad)):
                library.scatter_nd(a, index[:, None], np.ones(n), op="add", out=a)
            assert snapshot(a) == before


def test_values_of_other_kinds():
    index = np.array([1, 1, 3])
    for values in (2.5, 2, True, np.float32(3), [1, 2, 3], np.ones(1), np.ones((1, 3))):
        for dtype in ("f8", "f4", "i8", "?"):
            for op in ("set", "add", "max"):
                a = np.zeros(5, dtype)
                expected = outcome(in_place(reference, "scatter", op), a, index, values)
                got = outcome(in_place(ps, "scatter", op), a, index, values)
                assert_same(got[0], expected[0], f"{values} {dtype} {op}")
                assert got[1] == expected[1]


NUMBERS = (0, -1, 127, 200, 2**31, 2**53 + 1, 2**63, -(2**63) - 1, 10**400, 0.1, -0.0)
NUMBERS += (70000.0, 1e39, 1e300, float("inf"), float("nan"), True, False, 1j)


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i8", "u8", "f2", "f4", "f8", "c8"])
def test_python_numbers_of_every_size(dtype):
    index = np.array([1, 1, 3])
    mask = np.array([True, False, True, True, False])
    a = np.arange(5).astype(dtype)
    for value in NUMBERS:
        for op in ("set", "add", "floor_div"):
            for name, place in (("scatter", index), ("scatter_where", mask)):
                expected = outcome(in_place(reference, name, op), a, place, value)
                got = outcome(in_place(ps, name, op), a, place, value)
                assert_same(got[0], expected[0], f"{name} {value} {op}")
                assert got[1:] == expected[1:], (name, value, op)


def test_a_half_is_rounded_once():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    rng = rng_for("short halves")
    for dtype in (np.float16, ml_dtypes.bfloat16):
        for n in (1, 2, 10, 56, 57):
            for size in (1, 3, 40, 4000):
                index = rng.integers(-size, size, n)
                a, v = (rng.standard_normal(k).astype(dtype) for k in (size, n))
                for op in OPS[1:]:
                    expected = outcome(in_place(reference, "scatter", op), a, index, v)
                    got = outcome(in_place(ps, "scatter", op), a, index, v)
                    assert_same(got[0], expected[0], f"{dtype} {n} {size} {op}")
        for n, size in ((300, 7), (300, 90_000), (1024, 1000), (1025, 1000)):
            index = rng.integers(-size, size, n)
            a, v = (rng.standard_normal(k).astype(dtype) for k in (size, n))
            for op in OPS[1:]:
                for given in (v, 1.5):
                    expected = ps.scatter(a, index, given, op=op, axis=0)
                    got = outcome(in_place(ps, "scatter", op), a, index, given)
                    assert_same(got[0], expected, f"{dtype} {n} {size} {op}")
            index[n // 2] = size
            got = outcome(in_place(ps, "scatter", "add"), a, index, v)
            assert got[1] == "IndexError"
            assert_same(got[0], a)
        ones = np.ones(50, dtype)
        a = np.full(2, 2048 if dtype is np.float16 else 256, dtype)
        ps.add_at(a, np.zeros(50, np.int32), ones)
        assert a.astype(float).tolist() == (
            [2098, 2048] if dtype is np.float16 else [306, 256]
        )
        with pytest.raises(IndexError, match="index 2 is out of bounds"):
            ps.add_at(a, np.array([0, 2, 1]), ones[:3])


def test_bytes_that_are_neither_zero_nor_one():
    odd = np.arange(0, 250, 25, dtype=np.uint8).view(bool)
    index, mask = np.arange(10)[::-1].copy(), np.arange(10) % 3 != 0
    whole = odd != 0
    for given in (
        ps.scatter(np.zeros(10, bool), index, odd, out=None)[::-1],
        ps.scatter(whole.copy(), index, odd, out=(a := np.zeros(10, bool)))[::-1],
        ps.gather(odd, index)[::-1],
        ps.gather(odd, index, out=np.empty(10, bool))[::-1],
        ps.where(mask, odd, odd),
        ps.where(~mask, odd, odd),
    ):
        assert given.view(np.uint8).tolist() == [0] + [1] * 9
    a = np.zeros(10, bool)
    assert ps.scatter(a, index, odd, out=a) is a
    assert a[::-1].view(np.uint8).tolist() == [0] + [1] * 9
    b = np.zeros((2, 5), bool)
    places = np.stack(np.divmod(index, 5), axis=1)
    ps.scatter_nd(b, places, odd, out=b)
    assert b.ravel()[::-1].view(np.uint8).tolist() == [0] + [1] * 9
    c = np.zeros(10, bool)
    ps.scatter_where(c, mask, odd, out=c)
    assert c.view(np.uint8).tolist() == (mask & whole).tolist()
    assert ps.gather_where(odd, mask).view(np.uint8).tolist() == [1] * 6


def test_arguments_by_name():
    a, index, mask = np.arange(4.0), np.array([0, 2, 2]), np.array([1, 0, 0, 1], bool)
    v = np.array([1.0, 2.0, 4.0])
    assert ps.scatter(a, values=v, index=index, op="add", out=a) is a
    assert a.tolist() == [1, 1, 8, 3]
    assert ps.scatter_at(a=a, indices=index, values=v, out=a) is a
    assert a.tolist() == [1, 1, 4, 3]
    assert ps.scatter_nd(a, index[:, None], values=v, op="max", out=a) is a
    assert a.tolist() == [1, 1, 4, 3]
    assert ps.scatter_where(a, mask=mask, values=7.0, op="sub", out=a) is a
    assert a.tolist() == [-6, 1, 4, -4]
    assert ps.scatter(a, index=index, values=v, where=v > 3, out=a).tolist() == [
        -6,
        1,
        4,
        -4,
    ]
    assert ps.scatter(a, index=index, values=v, op="add", axis=0, out=a).sum() == 2
    assert ps.scatter_where(a, values=np.ones(2), mask=mask, packed=True, out=a) is a
    assert a.tolist() == [1, 1, 10, 1]
    other = np.empty(4)
    assert ps.scatter(a, index=index, values=v, out=other) is other
    assert a.tolist() == [1, 1, 10, 1]
    with pytest.raises(IndexError, match="index 4 is out of bounds"):
        ps.scatter(a, values=v, index=index + 2, out=a)
    with pytest.raises(TypeError):
        ps.scatter(a, index=index, out=a)
    assert a.tolist() == [1, 1, 10, 1]


def test_memory_that_is_shared():
    for shift in (0, 1, 3):
        memory = np.arange(24.0)
        target, values = memory[3:13], memory[3 + shift : 13 + shift]
        expected = target.copy()
        np.add.at(expected, np.arange(10)[::-1], values.copy())
        ps.add_at(target, np.arange(10)[::-1], values)
        assert_same(target.copy(), expected)
    own = np.array([3, 2, 1, 0])
    assert ps.scatter(own, own, np.array([9, 8, 7, 6]), out=own).tolist() == [
        6,
        7,
        8,
        9,
    ]
    own = np.array([0, 1, 1, 0])
    ps.add_at(own, own, own)
    assert own.tolist() == [0, 3, 1, 0]
    table = np.array([[1, 0], [0, 1]])
    ps.scatter_nd(table, table, np.array([5, 6]), out=table)
    assert table.tolist() == [[1, 6], [5, 1]]


def test_targets_that_take_the_long_way():
    index, values = np.array([0, 2, 2]), np.ones(3)
    locked = np.zeros(3)
    locked.flags.writeable = False
    for call in (
        lambda: ps.add_at(locked, index, values),
        lambda: ps.scatter(locked, index, values, out=locked),
        lambda: ps.scatter_nd(locked, index[:, None], values, out=locked),
    ):
        with pytest.raises(ValueError, match="read-only"):
            call()
    wide = np.zeros((3, 2))
    ps.add_at(wide[:, 1], index, values)
    ps.scatter_nd(wide.T, np.array([[0, 1], [0, 1]]), np.ones(2), op="add", out=wide.T)
    assert wide.tolist() == [[0, 1], [2, 0], [0, 2]]
    other = np.zeros(3)
    a = np.zeros(3)
    assert ps.scatter(a, index, values, out=other) is other
    assert not a.any()
    assert other.tolist() == [1, 0, 1]
    for op in (np.add, "sum"):
        assert ps.scatter(a.copy(), index, values, op=op, out=None).tolist() == [
            1,
            0,
            2,
        ]
    with pytest.raises(ValueError, match="unknown op"):
        ps.scatter(a, index, values, op="nothing", out=a)
    with pytest.raises(TypeError):
        ps.scatter(a, index, values, op="add", out=a, other=1)
    with pytest.raises(TypeError, match="expected integers"):
        ps.scatter_nd(a, np.array([[True], [False]]), np.ones(2), out=a)


def test_integer_division_by_zero():
    for op in ("div", "floor_div"):
        expected = outcome(
            in_place(reference, "scatter", op),
            np.arange(4),
            np.arange(3),
            np.zeros(3, int),
        )
        got = outcome(
            in_place(ps, "scatter", op), np.arange(4), np.arange(3), np.zeros(3, int)
        )
        assert_same(got[0], expected[0])
        assert got[1:] == expected[1:]


@pytest.mark.parametrize("op", [*OPS, "mean"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_masks(dtype, op):
    rng = rng_for("short masks", dtype, op)

    def call(library):
        def update(target, mask, values):
            library.scatter_where(target, mask, values, op=op, out=target)

        return update

    for n in (0, 1, 10, 63, 64, 65, 1024, 1025):
        a, values = (random_values(rng, np.dtype(dtype), n) for _ in range(2))
        mask = rng.random(n) < 0.5
        # The twin is slow: what is one number by its form is tried on few elements,
        # and longer masks repeat words of 64.
        for own in (mask, np.ones(n, bool))[: 2 if n <= 65 else 1]:
            for given in (values, 1.5, values[:1], 3)[: 4 if n <= 10 else 2]:
                expected = outcome(call(reference), a, own, given)
                got = outcome(call(ps), a, own, given)
                assert_same(got[0], expected[0], f"{n} {given}")
                assert got[1:] == expected[1:]
        if op == "set" and n > 0:
            numbers = outcome(call(ps), a, mask.view(np.uint8), values)
            longer = outcome(call(ps), a, np.append(mask, True), values)
            assert (numbers[1], longer[1]) == ("TypeError", "ValueError")
            assert_same(numbers[0], a)
            assert_same(longer[0], a)
    flags = np.array([True, False, True])
    ps.scatter_where(flags, flags, np.zeros(3, bool), out=flags)
    assert flags.tolist() == [False] * 3


def laid_out(array):
    """The same elements in every layout that few of them may have."""
    apart = np.zeros((*array.shape, 3), array.dtype)
    apart[..., 1] = array
    yield array.copy()
    yield np.asfortranarray(array)
    yield array[::-1].copy()[::-1]
    yield apart[..., 1]
    yield np.repeat(array, 2, axis=-1)[..., ::2]
    yield np.moveaxis(np.moveaxis(array, 0, -1).copy(), -1, 0)


@pytest.mark.parametrize(
    "dtype", ["?", "i1", "u4", "f2", "f4", "f8", "c16", "g", ">f8"]
)
def test_masks_and_targets_of_every_layout(dtype):
    """A few elements and more than the stack holds; NumPy answers for what is taken."""
    rng = rng_for("short layouts", dtype)
    for shape in ((1,), (10,), (4, 5), (3, 1, 6), (16, 16), (257,), (40, 30), (0, 3)):
        a = rng.integers(0, 9, shape).astype(dtype)
        v = rng.integers(1, 9, shape).astype(dtype)
        mask = rng.random(shape) < 0.5
        for op in ("set", "add", "floor_div", "max"):
            expected = outcome(in_place(ps, "scatter_where", op), a, mask, v)
            number = outcome(in_place(ps, "scatter_where", op), a, mask, 3)
            for target, own, given in zip(
                laid_out(a), [*laid_out(mask)][::-1], laid_out(v), strict=True
            ):
                for what, known in ((given, expected), (3, number)):
                    before, said = target.copy(), ""
                    try:
                        with np.errstate(all="ignore"):
                            ps.scatter_where(target, own, what, op=op, out=target)
                    except TypeError as error:
                        said = type(error).__name__
                    assert said == known[1]
                    assert_same(target.copy(order="C"), known[0])
                    target[...] = before
        for given, own in zip(laid_out(a), [*laid_out(mask)][::-1], strict=True):
            taken = ps.gather_where(given, own)
            assert_same(taken, a[mask].astype(a.dtype.newbyteorder("=")))
            assert_same(ps.gather_where(given, mask=own, axis=None), taken)


def test_layouts_that_take_the_long_way():
    a, mask = np.arange(6.0), np.array([True, False, True])
    two = np.lib.stride_tricks.as_strided(a, (3,), (0,))
    with pytest.raises(ValueError):
        ps.scatter_where(two, mask, np.ones(3), out=two)
    row = np.broadcast_to(np.ones(1), (3,))
    ps.scatter_where(a[::2], mask, row, op="add", out=a[::2])
    assert a.tolist() == [1, 1, 2, 3, 5, 5]
    ps.scatter_where(a[::2], np.broadcast_to(True, (3,)), 1.0, op="add", out=a[::2])
    assert a.tolist() == [2, 1, 3, 3, 6, 5]
    ps.scatter_where(a[::2], mask, a[1::2], out=a[::2])
    assert a.tolist() == [1, 1, 3, 3, 5, 5]
    ps.scatter_where(a[::-1][:3], mask, a[:3], op="add", out=a[::-1][:3])
    assert a.tolist() == [1, 1, 3, 6, 5, 6]
    assert ps.gather_where(row, mask).tolist() == [1, 1]
    flags = np.array([1, 0, 1, 1], bool)[::2]
    ps.scatter_where(flags, flags, np.zeros(2, bool), out=flags)
    assert flags.tolist() == [False, False]
    locked = np.arange(6.0)[::2]
    locked.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        ps.scatter_where(locked, mask, 1.0, out=locked)
