"""What users of other libraries ran into with masks and conditions, answered rightly.

The name of a test starts with the report's number in the collection that they were
taken from: B is where, masks and conditional updates, others are named beside them.
Reports on speed are the benchmarks' business, those on derivatives the derivatives'.
"""

import multiprocessing
import threading

import numpy as np
import pytest

import pyscatter as ps
from tests.cases import DTYPES, assert_same, rng_for


def test_b1_a_number_that_does_not_fit_is_an_error():
    octet = np.array([1], np.uint8)
    for condition in ([False], [True]):
        with pytest.raises(OverflowError, match="1000.* out of bounds for uint8"):
            ps.where(condition, octet, 1000)
        with pytest.raises(OverflowError, match="-1.* out of bounds for uint16"):
            ps.where(condition, np.array([1], np.uint16), -1)
        with pytest.raises(OverflowError):
            ps.scatter_where(octet, condition, 1000)
    result = ps.where([False], np.array([1], np.int32), 3.5)
    assert result.dtype == np.float64 and result.tolist() == [3.5]
    with np.errstate(all="ignore"):
        result = ps.where([False], np.array([1], np.float32), 1e300)
    assert result.dtype == np.float32 and result.tolist() == [np.inf]


def test_b6_no_values_for_a_mask():
    x = np.arange(5)
    with pytest.raises(ValueError, match="3"):
        ps.scatter_where(x, x > 1, [], packed=True, out=x)
    with pytest.raises(ValueError):
        ps.scatter_where(x, x > 1, [], out=x)
    assert x.tolist() == [0, 1, 2, 3, 4]
    assert ps.scatter_where(x, x > 9, [], packed=True, out=x) is x
    assert x.tolist() == [0, 1, 2, 3, 4]


def test_b7_short_values_are_not_recycled():
    x = np.arange(5)
    for packed in (False, True):
        with pytest.raises(ValueError, match="2"):
            ps.scatter_where(x, x > 1, [-33, -44], packed=packed)
    four, three = np.array([True, True, False, True, True]), [7, 8, 9]
    with pytest.raises(ValueError) as raised:
        ps.scatter_where(x, four, three, packed=True)
    assert "3" in str(raised.value) and "4" in str(raised.value)
    for values in (7, [7]):
        assert ps.scatter_where(x, four, values).tolist() == [7, 7, 2, 7, 7]
    assert ps.scatter_where(x, four, 7, packed=True).tolist() == [7, 7, 2, 7, 7]
    full = [9, 8, 7, 6, 5]
    assert ps.scatter_where(x, four, full).tolist() == [9, 8, 2, 6, 5]
    packed = ps.scatter_where(x, four, [9, 8, 7, 6], packed=True)
    assert packed.tolist() == [9, 8, 2, 7, 6]


def test_b8_the_error_says_who_is_wrong():
    a = np.zeros(100)
    mask = np.arange(100) < 79
    with pytest.raises(ValueError) as raised:
        ps.scatter_where(a, mask, np.ones(80), packed=True, out=a)
    assert "79" in str(raised.value) and "80" in str(raised.value)
    with pytest.raises(ValueError) as raised:
        ps.scatter_where(a, mask, np.ones(80), out=a)
    assert "(80,)" in str(raised.value) and "(100,)" in str(raised.value)
    assert not a.any()
    ps.scatter_where(a, mask, np.arange(1.0, 101), out=a)
    assert a.sum() == 79 * 80 / 2


def test_b11_masks_of_masked_arrays_are_not_lost_in_silence():
    masked = np.ma.masked_array([1, 2], [True, False])
    for args in (([True, False], masked, 0), ([True, False], 0, masked)):
        with pytest.raises(TypeError, match="filled"):
            ps.where(*args)
    with pytest.raises(TypeError, match="filled"):
        ps.where(np.ma.masked_array([True, False]), 1, 0)
    with pytest.raises(TypeError, match="filled"):
        ps.scatter_where(np.zeros(2), [True, False], masked)
    with pytest.raises(TypeError, match="filled"):
        ps.gather_where(masked, [True, False])
    with pytest.raises(TypeError, match="filled"):
        ps.nonzero(masked)


def test_b12_nothing_is_left_uninitialised():
    x = np.linspace(-1, 1, 10)
    for _ in range(20):
        np.full(10, 12345.0)  # freed memory that a result might get
        root = ps.apply_where(x > 0, x, np.sqrt, fill_value=0.0)
        assert_same(root, np.sqrt(np.maximum(x, 0)))
        halved = ps.scatter_where(x, x > 0, 2.0, op="div")
        assert_same(halved, np.where(x > 0, x / 2, x))


@pytest.mark.parametrize("density", [0.5, 0.01])
def test_b15_positions_in_any_number_of_axes(density):
    for shape in ((10**6,), (1000, 1000), (100, 100, 100)):
        mask = rng_for("b15", shape).random(shape) < density
        found = ps.argwhere(mask)
        assert found.dtype == np.int64
        assert_same(found, np.ascontiguousarray(np.argwhere(mask)))
        for mine, right in zip(ps.nonzero(mask), np.nonzero(mask), strict=True):
            assert_same(mine.copy(), right.copy())


def test_b17_positions_of_an_array_that_changes_lie_within_it():
    mask = np.zeros(40_000, bool)
    stop = threading.Event()

    def flip():
        while not stop.is_set():
            np.logical_not(mask, out=mask)

    thread = threading.Thread(target=flip)
    thread.start()
    try:
        for _ in range(300):
            try:
                found = ps.flatnonzero(mask)
            except RuntimeError:
                continue
            assert found.size == 0 or (found.min() >= 0 and found.max() < mask.size)
    finally:
        stop.set()
        thread.join()


def all_within(seed):
    """Say whether nonzero of a random table names places inside it."""
    table = np.random.default_rng(seed).random((12_000, 40)) < 0.3
    for _ in range(5):
        rows, columns = ps.nonzero(table)
        if not table[rows, columns].all() or len(rows) != table.sum():
            return False
    return True


def test_b18_positions_after_a_fork():
    assert all_within(0)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert all(pool.map_async(all_within, range(8)).get(timeout=60))


def test_b20_b21_what_is_not_selected_is_not_evaluated():
    x = np.array([0.0, -1.0, 1.0, 2.0])

    def log(packed):
        assert (packed > 0).all()
        return np.log(packed)

    with np.errstate(all="raise"):
        result = ps.apply_where(x > 0, x, log, lambda rest: rest * 0)
    assert result.tolist() == [0, 0, 0, np.log(2.0)]
    poisoned = np.array([np.nan, np.inf, 3.0])
    assert ps.where([False, False, True], poisoned, 0.0).tolist() == [0, 0, 3]
    chosen = ps.scatter_where(np.ones(3), [False, False, True], poisoned, op="mul")
    assert chosen.tolist() == [1, 1, 3]


def test_j6_bools_of_other_bytes():
    odd = np.array([0, 1, 2, 255, 3, 0], np.uint8).view(bool)
    assert ps.where(odd, 1, 0).tolist() == [0, 1, 1, 1, 1, 0]
    assert ps.flatnonzero(odd).tolist() == [1, 2, 3, 4]
    assert ps.count_nonzero(odd) == 4
    assert ps.gather_where(np.arange(6), odd).tolist() == [1, 2, 3, 4]
    assert ps.scatter_where(np.arange(6), odd, 9).tolist() == [0, 9, 9, 9, 9, 5]
    chosen = ps.where(np.ones(6, bool), odd, False)
    assert chosen.view(np.uint8).tolist() == [0, 1, 1, 1, 1, 0]


@pytest.mark.parametrize("dtype", [">f8", ">i4", ">f4", ">c16", ">f2", ">M8[s]"])
def test_j10_big_endian_data_in_every_position(dtype):
    numbers = np.arange(-3, 6)
    a = numbers.astype(dtype)
    native = a.astype(a.dtype.newbyteorder("="))
    mask = numbers % 2 == 0
    assert_same(ps.where(mask, a, a[::-1]), np.where(mask, native, native[::-1]))
    assert_same(ps.where(a, numbers, 0), np.where(native, numbers, 0))
    assert_same(ps.gather_where(a, mask), native[mask])
    assert_same(ps.flatnonzero(a), np.flatnonzero(native))
    target = a.copy()
    ps.scatter_where(target, mask, a[::-1], out=target)
    assert_same(target.astype(native.dtype), np.where(mask, native[::-1], native))


def test_j11_negative_strides_in_every_position():
    for base in (np.arange(200.0).reshape(10, 20), np.zeros((1, 10, 20))):
        flipped = base[::-1, ..., ::-1]
        mask = (np.arange(base.size) % 3 == 0).reshape(base.shape)[..., ::-1]
        assert_same(
            ps.where(mask, flipped, 1.0), np.array(np.where(mask, flipped, 1.0))
        )
        assert_same(ps.gather_where(flipped, mask), flipped[mask])
        assert_same(ps.argwhere(mask), np.ascontiguousarray(np.argwhere(mask)))
        again = np.ascontiguousarray(flipped)
        ps.scatter_where(flipped, mask, 5.0, op="add", out=flipped)
        assert_same(flipped.copy(), np.where(mask, again + 5, again))


@pytest.mark.parametrize("dtype", ["f16", "f32", "f64", "c64", "i8", "u64"])
def test_g10_one_call_for_each_conditional_update(dtype):
    x = np.arange(24).reshape(2, 12).astype(DTYPES[dtype])
    mask = x.real > 5
    assert_same(ps.scatter_where(x, mask, 0), np.where(mask, DTYPES[dtype].type(0), x))
    doubled = ps.scatter_where(x, mask, 2, op="mul")
    assert_same(doubled, np.where(mask, x * 2, x).astype(x.dtype))
    assert_same(ps.where(mask, 1, x), np.where(mask, DTYPES[dtype].type(1), x))
