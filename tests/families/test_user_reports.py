"""What users of other libraries ran into, each report with its right answer.

The name of a test starts with the report's number in the collection that they were
taken from: A is indexing in NumPy, E the torch-like libraries, I ONNX and its runtimes,
J byte order, threads and the rest. Reports on derivatives, masks and segments belong to
families that are tested elsewhere.
"""

import os
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import pyscatter as ps
from tests.cases import DTYPES, INTEGERS, assert_same, rng_for

# --- A: ufunc.at, fancy indexing, take and put ----------------------------------------


def loop_sums(a, index, values):
    """Return the sums of a plain loop over Python floats."""
    sums = a.tolist()
    for i, value in zip(index.tolist(), values.tolist(), strict=True):
        sums[i] += value
    return np.array(sums)


def test_a1_sums_are_those_of_a_python_loop():
    rng = rng_for("a1")
    a, index, values = (
        np.zeros(1000),
        rng.integers(0, 1000, 100_000),
        rng.random(100_000),
    )
    expected = loop_sums(a, index, values)
    ps.add_at(a, index, values)
    assert_same(a, expected)
    assert_same(a, np.bincount(index, values, 1000))


@pytest.mark.parametrize("n", [1000, 10_000])
def test_a2_one_call_for_each_of_the_four_operations(n):
    rng = rng_for("a2", n)
    index, values = rng.integers(0, 50, n), rng.random(n) + 0.5
    for name in ("add", "subtract", "multiply", "divide"):
        a, expected = np.ones(50), [1.0] * 50
        getattr(ps, f"{name}_at")(a, index, values)
        for i, value in zip(index.tolist(), values.tolist(), strict=True):
            if name in ("add", "subtract"):
                expected[i] += value if name == "add" else -value
            else:
                expected[i] = (
                    expected[i] * value if name == "multiply" else expected[i] / value
                )
        assert_same(a, np.array(expected))


def test_a3_rows_strides_and_other_dtypes_are_first_class():
    rng = rng_for("a3")
    values = rng.integers(-9, 9, (2000, 64))
    for dtype in (np.float32, np.int32, np.int64):
        for index_dtype in (np.int64, np.int32, np.uint16):
            index = rng.integers(0, 100, 2000).astype(index_dtype)
            expected = np.zeros((100, 64), dtype)
            np.add.at(expected, index, values.astype(dtype))
            plain = np.zeros((100, 64), dtype)
            ps.add_at(plain, index, values.astype(dtype))
            assert_same(plain, expected)
            strided = np.zeros((64, 200), dtype)[:, ::2]
            ps.add_at(strided, index, values.T.astype(dtype), axis=1)
            assert_same(np.array(strided.T, order="C"), expected)


def test_a4_scalars_and_arrays_of_one_element_are_read_for_every_index():
    index = rng_for("a4").integers(0, 1000, 99_800)
    expected = np.bincount(index, minlength=1000).astype(float)
    for one in (1.0, 1, np.ones(1), np.ones(()), np.ones(99_800, np.int8)):
        a = np.zeros(1000)
        ps.add_at(a, index, one)
        assert_same(a, expected)


def test_a6_repeated_positions_all_count():
    a = np.zeros(3)
    ps.add_at(a, [0, 0, 1, 1, 2], 1)
    assert a.tolist() == [2, 2, 1]
    letters = np.array([1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6])
    pairs = np.zeros((26, 26), int)
    ps.add_at(pairs, (letters[:-1], letters[1:]), 1)
    assert pairs.sum() == 11 and pairs[1, 2] == 2 and pairs[6, 1] == 1


def test_a9_the_callers_index_is_not_rewritten():
    values = np.array([1.0, 2, 3, 4])
    for index in (np.array([-1, 1, -1, 2]), np.array([-1, 9, 1, 9, -1, 9, 2, 9])[::2]):
        index.flags.writeable = False
        for op in ("set", "add", "mean", "first"):
            ps.scatter(np.zeros(3), index, values, op=op)
        ps.scatter_nd(np.zeros((3, 1)), index[:, None], 1.0)
        ps.scatter_at(np.zeros(3), index, values)
        ps.gather(np.zeros(3), index)
        assert index.tolist() == [-1, 1, -1, 2]


def test_a10_packed_records_are_read_and_written():
    packed = np.dtype([("a", "i4"), ("b", "i4"), ("c", "i1")])
    assert packed.itemsize == 9
    values = np.zeros(10, packed)
    values["b"] = np.arange(10) * 3
    a = np.zeros(10, np.int64)
    ps.scatter(a, np.arange(10), values["b"], out=a)
    assert a.tolist() == values["b"].tolist()
    index = np.zeros(10, packed)
    index["b"] = np.arange(10)[::-1]
    target = np.zeros(10, packed)
    ps.scatter(target["b"], index["b"], values["b"], op="add", out=target["b"])
    assert target["b"].tolist() == values["b"].tolist()[::-1]
    assert not target["a"].any() and not target["c"].any()


def test_a11_other_ufuncs_are_refused_by_name():
    for ufunc in (np.modf, np.matmul, np.power, np.divmod, np.sin):
        with pytest.raises(TypeError):
            ps.scatter(np.ones(3), [0], 1.0, op=ufunc)
    with pytest.raises(ValueError, match="add"):
        ps.scatter(np.ones(3), [0], 1.0, op="modf")


def test_a12_a_permutation_of_itself_reads_the_old_values():
    for view in (lambda a: a, lambda a: a[::1]):
        a = np.array([0, 1, 2])
        ps.scatter(a, [2, 1, 0], view(a), out=a)
        assert a.tolist() == [2, 1, 0]


def test_a14_the_strides_of_an_index_are_respected():
    index = np.arange(6).reshape(2, 1, 3)[:, :, 0]
    assert ps.scatter(np.arange(6), index, -1).tolist() == [-1, 1, 2, -1, 4, 5]
    assert ps.scatter_at(np.arange(6), index, -1).tolist() == [-1, 1, 2, -1, 4, 5]


def test_a15_readonly_memory_stays():
    frozen = np.zeros(3)
    frozen.flags.writeable = False
    octets = bytes(24)
    for a in (frozen, np.broadcast_to(np.zeros(1), (3,)), np.frombuffer(octets)):
        with pytest.raises(ValueError, match="read-only"):
            ps.add_at(a, [0], 1.0)
        with pytest.raises(ValueError, match="read-only"):
            ps.scatter(a, [0], 1.0, out=a)
        with pytest.raises(ValueError, match="read-only"):
            ps.gather(np.ones(3), [0, 1, 2], out=a)
        assert not a.any()
    assert octets == bytes(24)


def test_a16_values_are_not_truncated_by_default():
    with pytest.raises(TypeError):
        ps.scatter(np.zeros(2, int), [0, 1], [1.9, 2.9], op="add")
    with pytest.raises(TypeError):
        ps.scatter(np.zeros(2, int), [0, 1], np.array([1.9, 2.9]), op="add")
    with pytest.raises(TypeError):
        ps.scatter(np.zeros(2), [0], 1j, op="add")
    with pytest.raises(OverflowError):
        ps.scatter(np.zeros(2, np.int8), [0], 1000, op="add")
    with pytest.raises(OverflowError):
        ps.scatter(np.zeros(2, np.uint8), [0], -1, op="add")
    with pytest.warns(RuntimeWarning, match="overflow"):
        assert ps.scatter(np.zeros(1, np.float32), [0], 1e300, op="add")[0] == np.inf
    values = np.array([1.9, 2.9])
    loose = ps.scatter(np.zeros(2, int), [0, 1], values, op="add", casting="unsafe")
    assert loose.tolist() == [1, 2]


def test_a17_the_error_state_is_neither_consulted_nor_left_changed():
    with np.errstate(all="raise"):
        a = ps.scatter(np.ones(3), [0, 1], 0.0, op="div")
        assert a.tolist() == [np.inf, np.inf, 1]
        assert np.float64(3) * 2 == 6


def test_a18_one_bad_index_among_many_is_found_and_named():
    a = np.arange(5)
    for bad in (-6, 5):
        index = np.array([0, -5, 4, bad, 1])
        message = (
            rf"index {bad} is out of bounds for axis 0 with size 5 \(position 3 of 5"
        )
        with pytest.raises(IndexError, match=message):
            ps.scatter(a, index, 9, out=a)
        with pytest.raises(IndexError, match=message):
            ps.gather(a, index)
    assert a.tolist() == [0, 1, 2, 3, 4]


def test_a22_objects_are_moved_and_never_reduced():
    a = np.empty(4, object)
    a[:] = [[0], [1], [2], [3]]
    with pytest.raises(TypeError):
        ps.scatter(a, [0, 1], a[2:], op="add", out=a)
    ps.scatter(a, [3, 2, 1, 0], a, out=a)
    assert a.tolist() == [[3], [2], [1], [0]]
    assert ps.gather(a, [0, 0, -1]).tolist() == [[3], [3], [0]]


# --- E: scatter, gather and index operations as in torch ------------------------------


def test_e1_values_of_another_dtype_are_cast_not_reinterpreted():
    index, values = [[1, 0], [0, 0]], np.array([[1, 2], [3, 4]])
    a = np.zeros((2, 2), np.float32)
    result = ps.scatter_along_axis(a, index, values, 0)
    assert result.tolist() == [[3, 4], [1, 0]]
    for target in DTYPES.values():
        for source in DTYPES.values():
            if source.kind not in "cmM" and np.can_cast(source, target, "same_kind"):
                two = np.array([2, 1]).astype(source)
                expected = np.zeros(3).astype(target)
                expected[[2, 0]] = two.astype(target)
                zeros = np.zeros(3).astype(target)
                assert_same(ps.scatter(zeros, [2, 0], two), expected)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_e3_every_integer_dtype_is_an_index(dtype):
    index = np.array([[0], [1]], DTYPES[dtype])
    grid = np.array([[1, 2], [3, 4]])
    assert ps.gather_along_axis(grid, index, 1).tolist() == [[1], [4]]
    labels = index.ravel()
    assert ps.scatter(np.zeros(2), labels, [5.0, 6.0], op="add").tolist() == [5, 6]


def test_e4_expanded_targets_are_refused():
    row = np.zeros((1, 8))
    a = np.lib.stride_tricks.as_strided(row, (4, 8), (0, 8))
    with pytest.raises(ValueError):
        ps.scatter(a, [0, 1, 0], np.ones((3, 8)), op="add", out=a)
    assert not row.any()


def test_e11_a_start_from_nothing_keeps_negative_maxima():
    values, groups = np.array([-0.1, -0.2, -0.3]), [0, 1, 0]
    alone = ps.scatter(np.zeros(3), groups, values, op="max", include_self=False)
    assert alone.tolist() == [-0.1, -0.2, 0]
    unset = np.full(3, np.nan)
    assert ps.scatter(unset, groups, values, op="fmax")[:2].tolist() == [-0.1, -0.2]
    assert ps.scatter(np.zeros(3), groups, values, op="max").tolist() == [0, 0, 0]


def test_e17_half_sums_are_rounded_once():
    ones = np.ones(10_000, np.float16)
    total = ps.scatter(np.zeros(1, np.float16), np.zeros(10_000, int), ones, op="add")
    assert total.tolist() == [10_000]
    small = [2.0**-11] * 7
    for order in ([1.0, *small], [*small, 1.0]):
        values = np.array(order, np.float16)
        total = ps.scatter(np.zeros(1, np.float16), [0] * 8, values, op="add")
        assert total.tolist() == [1.00390625]
    many = np.ones(2**24 + 8, np.float32)
    index = np.zeros(len(many), np.int8)
    wide = ps.scatter(np.zeros(1, np.float32), index, many, op="add", dtype=float)
    assert wide.tolist() == [2**24 + 8]


def test_e18_an_id_beyond_the_size_is_named():
    ids = np.arange(562)
    with pytest.raises(
        IndexError, match="index 561 is out of bounds .* size 561 .*561 of"
    ):
        ps.scatter(np.zeros((561, 4)), ids, np.ones((562, 4)), op="max")
    with pytest.raises(IndexError, match="index 8369 is out of bounds .* size 12"):
        ps.scatter(np.zeros(12), [1, 7, 8369], 1.0, op="add")


def test_e19_the_same_bits_on_every_run_and_thread_count():
    rng = rng_for("e19")
    values = rng.standard_normal(1_000_000).astype(np.float32)
    index = rng.integers(0, 10, 1_000_000)
    seen = set()
    for threads in (1, 2, 4, 8) * 5:
        with ps.num_threads(threads):
            result = ps.scatter(np.zeros(10, np.float32), index, values, op="add")
        seen.add(result.tobytes())
    assert len(seen) == 1


def test_e20_the_last_of_repeated_positions_wins():
    index, values = [0, 1, 1, 1, 2], [11, 12, 13, 14, 15]
    assert ps.scatter(np.zeros(4, int), index, values).tolist() == [11, 14, 15, 0]
    many = np.arange(200_000)
    for threads in (1, 2, 8):
        with ps.num_threads(threads):
            last = ps.scatter(np.zeros(7, int), many % 7, many)
        assert last.tolist() == [max(range(k, 200_000, 7)) for k in range(7)]


@pytest.mark.slow
def test_e22_the_published_shapes_give_the_sums_and_rows_of_numpy():
    rng = rng_for("e22")
    for n, rows in [(100_000, 100), (10_000, 1000)]:
        values = rng.standard_normal((n, 64)).astype(np.float32)
        index = rng.integers(0, rows, n)
        for op, ufunc in [("add", np.add), ("max", np.maximum)]:
            expected = np.zeros((rows, 64), np.float32)
            ufunc.at(expected, index, values)
            zeros = np.zeros((rows, 64), np.float32)
            assert_same(ps.scatter(zeros, index, values, op=op), expected)
        assert_same(ps.gather(expected, index), expected[index])


def test_e27_a_nan_does_not_stop_the_updates():
    values = np.tile(np.array([np.nan, 1.0], np.float32), 50_000)
    index = np.zeros(100_000, int)
    for threads in (1, 2):
        with ps.num_threads(threads):
            for op in ("add", "mul", "min", "max"):
                one = np.ones(1, np.float32)
                assert np.isnan(ps.scatter(one, index, values, op=op)[0])
            assert ps.scatter(one, index, values, op="fmax").tolist() == [1]


def test_e28_a_scalar_serves_several_positions():
    for one in (1.0, np.float64(1), np.array(1.0), np.array([1.0])):
        assert ps.scatter(np.zeros(3), [0, 0], one, op="add").tolist() == [2, 0, 0]


@pytest.mark.slow
def test_e29_offsets_are_64_bits_wide():
    a = np.zeros((46342, 46341), np.uint8)  # 2.1 GB of which few pages are touched
    tail = a.reshape(-1)[2_147_488_200:]
    ps.scatter_nd(a, np.array([[46341, 0]], np.int32), 42, out=a)
    assert np.flatnonzero(tail).tolist() == [81] and tail[81] == 42
    assert ps.gather_nd(a, np.array([[46341, 0]], np.int32)).tolist() == [42]
    ps.scatter_at(a, (np.array([46341], np.int32), 1), 43, out=a)
    ps.scatter(a, np.array([2_147_488_283]), 44, axis=None, out=a)
    assert tail[80:85].tolist() == [0, 42, 43, 44, 0]
    assert ps.gather(a, np.array([46341], np.uint16))[0, 1] == 43
    assert not a[0].any()


# --- I: ONNX and its runtimes ---------------------------------------------------------


def test_i3_one_tuple_may_stand_alone():
    assert ps.scatter_nd(np.array([1, 2, 3]), [1], [5][0]).tolist() == [1, 5, 3]
    assert ps.scatter_nd(np.array([1, 2, 3]), np.array([1]), 5).tolist() == [1, 5, 3]
    assert ps.scatter_nd(np.array([1, 2, 3]), [[1]], [5]).tolist() == [1, 5, 3]
    with pytest.raises(ValueError):
        ps.scatter_nd(np.array([1, 2, 3]), [1], [5, 6])


def test_i5_a_negative_entry_counts_on_its_own_axis():
    a = np.zeros((3, 7), int)
    for result in (
        ps.scatter_nd(a, [-1, -2], 1),
        ps.scatter_nd(a, [[-1, -2]], [1]),
        ps.scatter_at(a, (-1, -2), 1),
    ):
        assert np.argwhere(result).tolist() == [[2, 5]]


# --- J: byte order, strides, threads, bool bytes --------------------------------------


def test_j2_out_of_range_is_an_error_and_the_index_stays():
    index = np.array([10, 0, 0])
    with pytest.raises(IndexError):
        ps.scatter(np.arange(5), index, np.arange(3), op="add")
    with pytest.raises(IndexError):
        ps.gather(np.arange(5), index)
    assert index.tolist() == [10, 0, 0]


def test_j3_windows_sparse_deltas_and_transposed_updates():
    a = ps.scatter_at(np.zeros((3, 4)), np.s_[1:, 2:], np.ones((2, 2)))
    assert np.argwhere(a).tolist() == [[1, 2], [1, 3], [2, 2], [2, 3]]
    delta = np.zeros((16, 16))
    delta[8, 8] = -0.212
    added = ps.scatter_at(np.ones((32, 32)), np.s_[:16, :16], delta, op="add")
    assert added[8, 8] == 0.788 and added.sum() == pytest.approx(32 * 32 - 0.212)
    turned = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    assert ps.scatter(np.zeros((3, 3)), [2, 0], turned).tolist() == [
        [3, 4, 5],
        [0, 0, 0],
        [0, 1, 2],
    ]


def test_j4_python_threads_with_targets_of_their_own_are_exact():
    index = np.arange(200_000) % 4

    def count(_):
        a = np.zeros(4, np.int64)
        for _ in range(5):
            ps.add_at(a, index, 1)
        return a.tolist()

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(count, range(8))) == [[250_000] * 4] * 8


def test_j4_a_shared_target_is_the_callers_duty_but_stays_sound():
    index, a = np.arange(100_000) % 4, np.zeros(6, np.int64)
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda _: ps.add_at(a[1:5], index, 1), range(8)))
    assert a[0] == a[5] == 0
    assert all(25_000 <= slot <= 200_000 for slot in a[1:5].tolist())


def test_j6_every_non_zero_byte_is_true():
    octets = np.array([0, 1, 2, 255, 3, 0], np.uint8)
    flags = octets.view(bool)
    truth = [False, True, True, True, True, False]
    assert ps.gather(flags, np.arange(6)).view(np.uint8).tolist() == [0, 1, 1, 1, 1, 0]
    moved = ps.scatter(np.zeros(6, bool), np.arange(6), flags)
    assert moved.view(np.uint8).tolist() == [0, 1, 1, 1, 1, 0]
    assert ps.scatter(np.zeros(6, int), np.arange(6), flags, op="add").tolist() == truth
    chosen = ps.scatter(np.zeros(6, int), np.arange(6), 1, where=flags)
    assert chosen.tolist() == truth
    assert ps.scatter_at(np.zeros(6, int), flags, 1).tolist() == truth
    for op, other, expected in [
        ("and", True, truth),
        ("xor", True, [not flag for flag in truth]),
        ("add", False, truth),
        ("min", True, truth),
    ]:
        result = ps.scatter(flags, np.arange(6), other, op=op)
        assert result.view(np.uint8).tolist() == expected


def in_child(work):
    """Run `work` in a forked child; fail unless it ends well within 20 seconds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # fork beside threads
        child = os.fork()
    if child == 0:
        os._exit(0 if work() else 1)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            assert status == 0
            return
        time.sleep(0.005)
    os.kill(child, 9)
    os.waitpid(child, 0)
    pytest.fail("the forked child hangs")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_j8_a_forked_child_can_use_threads_after_its_parent():
    rng = rng_for("j8")
    index, values = rng.integers(0, 999, 300_000), rng.random(300_000)
    ps.set_num_threads(2)
    expected = ps.scatter(np.zeros(999), index, values, op="add")

    def work():
        result = ps.scatter(np.zeros(999), index, values, op="add")
        return result.tobytes() == expected.tobytes()

    in_child(work)
    stop = threading.Event()

    def busy():
        while not stop.is_set():
            ps.scatter(np.zeros(999), index, values, op="add")

    beside = threading.Thread(target=busy)
    beside.start()
    try:
        for _ in range(3):
            in_child(work)
    finally:
        stop.set()
        beside.join()
    with ThreadPoolExecutor(2) as threads:
        assert all(threads.map(lambda _: work(), range(6)))


def test_j10_big_endian_data_are_read_as_numbers():
    index = np.array([2, 0, 2], ">i4")
    for code in (">f8", ">f4", ">i2", ">u8", ">c16", ">f2"):
        a = np.array([1, 2, 3], code)
        values = np.array([10, 20, 30], code)
        result = ps.scatter(a, index, values, op="add")
        assert result.dtype == a.dtype.newbyteorder("=")
        assert result.tolist() == [21, 2, 43]
        ps.add_at(a, index, values)
        assert a.tolist() == [21, 2, 43]
        assert ps.gather(a, index).tolist() == [43, 21, 43]


def test_j11_flipped_arrays_and_odd_strides_of_length_one():
    a, index, values = np.arange(4.0), np.array([3, 0, 3]), np.array([1.0, 2, 4])
    expected = ps.scatter(
        a[::-1].copy(), index[::-1].copy(), values[::-1].copy(), op="add"
    )
    assert_same(ps.scatter(a[::-1], index[::-1], values[::-1], op="add"), expected)
    odd = np.ascontiguousarray(np.zeros((1, 10, 20))[::-1])
    assert odd.strides[0] < 0
    expected = np.zeros((1, 10, 20))
    expected[:, 3] = 7
    assert_same(ps.scatter(odd, [3, 3], 7.0, axis=1), expected)
    ps.scatter(odd, [3, 3], 7.0, axis=1, out=odd)
    assert odd.tolist() == expected.tolist()
    assert_same(ps.gather(odd, [0], axis=0), expected)
    flipped = np.arange(12.0).reshape(3, 4)[:, ::-1]
    ps.add_at(flipped, [0, 0], flipped[2])
    assert flipped[0].tolist() == [3 + 22, 2 + 20, 1 + 18, 0 + 16]
