"""What users of other libraries ran into with segments and counts, answered rightly.

The name of a test starts with the report's number in the collection that they were
taken from: C is counts and group reductions, E torch-like segments. The last ones are
inputs of published security reports, by their number there.
"""

import numpy as np
import pytest

import pyscatter as ps
from tests.cases import DTYPES, assert_same, rng_for

NAN, INF = np.nan, np.inf
MIN64 = -(2**63)


def test_c1_the_largest_number_is_counted_nowhere():
    top = np.array([2**63 - 1])
    for options in ({}, {"minlength": 5}, {"weights": [1.0]}):
        with pytest.raises((ValueError, MemoryError)):
            ps.bincount(top, **options)
    assert ps.bincount([1, 1]).tolist() == [0, 2]


def test_c2_more_entries_than_32_bits_count():
    many = np.broadcast_to(np.uint8(1), (2**24 + 1,))
    assert ps.bincount(many).tolist() == [0, 2**24 + 1]


def test_c4_every_integer_dtype():
    for code in "bBhHiIqQ":
        assert ps.bincount(np.arange(64).astype(code)).tolist() == [1] * 64
    with pytest.raises((ValueError, MemoryError)):
        ps.bincount(np.array([2**63 + 5], np.uint64))


def test_c6_floats_are_not_truncated():
    for x in ([1.4, 1.5, 3.9], np.array([1.4, 1.5])):
        with pytest.raises(TypeError):
            ps.bincount(x)


def test_c7_nothing_to_count():
    for x in ([], np.array([], int), np.zeros(0, np.uint8)):
        assert_same(ps.bincount(x), np.zeros(0, np.int64))
        assert_same(ps.bincount(x, minlength=4), np.zeros(4, np.int64))
    with pytest.raises(ValueError):
        ps.bincount([], minlength=-1)
    with pytest.raises(TypeError):
        ps.bincount([], minlength="x")


def test_c8_complex_weights():
    assert_same(ps.bincount([0, 1, 1], [1j, 2j, 3j]), np.array([1j, 5j]))
    weights = np.array([1j, 2j, 3j], np.complex64)
    narrow = ps.bincount([0, 1, 1], weights, dtype=np.complex64)
    assert_same(narrow, np.array([1j, 5j], np.complex64))


def test_c10_counts_along_an_axis_vector_weights_and_out():
    rng = rng_for("c10")
    x, weights = rng.integers(0, 7, 100), rng.standard_normal((100, 3))
    columns = [np.bincount(x, w, 7) for w in weights.T]
    assert_same(ps.bincount(x, weights, 7), np.stack(columns, axis=1))
    table = rng.integers(0, 7, (4, 50))
    rows = [np.bincount(row, minlength=7) for row in table]
    assert_same(ps.bincount(table, minlength=7, axis=1), np.array(rows))
    out = np.zeros(7, np.int64)
    for _ in range(2):
        assert ps.bincount(x, out=out) is out
    assert_same(out, 2 * np.bincount(x, minlength=7))


def test_c18_empty_segments_and_offsets_at_the_end():
    data = np.arange(1, 9)
    assert ps.segment_reduce(data, offsets=[0, 3, 3, 6, 8]).tolist() == [6, 0, 15, 15]
    assert ps.segment_reduce(data, offsets=[0, 8, 8]).tolist() == [36, 0]
    split = ps.segment_reduce(data, starts=[0, 3, 3, 6], stops=[3, 3, 6, 8])
    assert split.tolist() == [6, 0, 15, 15]


def test_c19_the_fill_is_no_start_value():
    filled = ps.segment_reduce(np.array([1.0]), [1], op="mean", fill_value=NAN)
    assert_same(filled, np.array([NAN, 1]))
    for op, fill in (("add", 9.0), ("mul", 0.0), ("min", -9.0), ("max", 9.0)):
        result = ps.segment_reduce(np.array([1.0]), [1], op=op, fill_value=fill)
        assert_same(result, np.array([fill, 1]))


def test_c24_sums_of_narrow_ints_are_wide():
    pair = np.array([100, 100], np.int8)
    assert_same(ps.segment_reduce(pair, [0, 0]), np.array([200]))
    assert_same(ps.segment_reduce(pair, offsets=[0, 2]), np.array([200]))
    wide = np.full(300, 255, np.uint8)
    assert_same(ps.segment_sum(wide, lengths=[300]), np.array([76500], np.uint64))


@pytest.mark.parametrize("repeat", [1, 8, 100])
def test_c25_bools_of_other_bytes_count_once(repeat):
    odd = np.tile(np.array([0, 1, 2, 254, 255], np.uint8), repeat).view(bool)
    n = len(odd)
    for where in ({"ids": np.zeros(n, int)}, {"offsets": [0, n]}):
        assert ps.segment_reduce(odd, **where).tolist() == [4 * repeat]
        assert ps.segment_reduce(odd, op="mean", **where).tolist() == [0.8]
        high = ps.segment_reduce(odd, op="max", **where)
        assert high.view(np.uint8).tolist() == [1]
        some = ps.segment_reduce(odd, op="or", **where)
        assert some.view(np.uint8).tolist() == [1]


def test_c26_the_start_value_never_leaks():
    values, ids = np.array([1.0, 2, NAN, NAN]), [0, 0, 1, 1]
    assert_same(ps.segment_reduce(values, ids, op="fmin"), np.array([1, NAN]))
    assert_same(ps.segment_reduce(values, ids, op="fmax"), np.array([2, NAN]))
    skipped = ps.segment_reduce(values, ids, op="min", skipna=True, fill_value=NAN)
    assert_same(skipped, np.array([1, NAN]))
    lowest = np.finfo(float).min
    result = ps.segment_reduce(np.full(3, lowest), [0, 0, 0], 2, op="max", fill_value=0)
    assert_same(result, np.array([lowest, 0]))


def test_c28_first_and_last_of_many_groups():
    rng = rng_for("c28")
    n, groups = 100_000, 15_000
    values, ids = rng.standard_normal(n), rng.integers(0, groups, n)
    first, arg = ps.segment_reduce(values, ids, groups, op="first", return_arg=True)
    expected = np.full(groups, NAN)
    expected[ids[::-1]] = values[::-1]
    assert_same(first, expected)
    hit = arg >= 0
    assert_same(values[arg[hit]], expected[hit])
    last = ps.segment_reduce(values, ids, groups, op="last")
    expected[ids] = values
    assert_same(last, expected)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_c29_c30_any_axis_without_flat_keys(axis):
    rng = rng_for("c29", axis)
    values = rng.integers(-9, 9, (10, 11, 365))
    ids = rng.integers(0, 12, values.shape[axis])
    result = ps.segment_reduce(values, ids, 12, axis=axis)
    moved = np.moveaxis(values, axis, 0)
    expected = np.zeros((12, *moved.shape[1:]), int)
    np.add.at(expected, ids, moved)
    assert_same(result, np.ascontiguousarray(np.moveaxis(expected, 0, axis)))


@pytest.mark.parametrize("kind", ["M8[ns]", "m8[ns]", "M8[D]"])
def test_c31_not_a_time_follows_the_rule_of_nan(kind):
    values = np.array([50, 0, 40]).astype(kind)
    values[1] = "NaT"
    nat, ids = values[1], [0, 0, 1]
    for op in ("min", "max"):
        result = ps.segment_reduce(values, ids, op=op)
        assert_same(result, np.array([nat, values[2]]))
        assert ps.segment_reduce(values, ids, op="arg" + op).tolist() == [1, 2]
        turned = ps.segment_reduce(values[::-1], [1, 0, 0], op=op)
        assert_same(turned, result)
    smallest = ps.segment_reduce(values, ids, op="fmin")
    assert_same(smallest, values[[0, 2]])
    if kind[0] == "m":
        total = ps.segment_reduce(values, ids)
        assert_same(total, np.array([nat, values[2]]))
        assert_same(ps.segment_reduce(values, ids, op="mean"), total)
    else:
        for op in ("add", "mean"):
            with pytest.raises(TypeError, match="datetime64"):
                ps.segment_reduce(values, ids, op=op)


@pytest.mark.parametrize("code", ["b", "B", "h", "H", "i", "I", "q", "Q"])
def test_e3_labels_of_any_width(code):
    labels = np.array([1, 0, 1, 2]).astype(code)
    rows = np.arange(8.0).reshape(4, 2)
    assert ps.segment_reduce(rows, labels).tolist() == [[2, 3], [4, 6], [6, 7]]


def test_e11_negative_maxima_and_the_four_meanings_of_empty():
    values, ids = np.array([-0.1, -0.2, -0.3]), [0, 1, 0]
    assert_same(ps.segment_max(values, ids, 3), np.array([-0.1, -0.2, -INF]))
    filled = ps.segment_max(values, ids, 3, fill_value=0)
    assert_same(filled, np.array([-0.1, -0.2, 0]))
    started = ps.segment_max(values, ids, 3, initial=0)
    assert_same(started, np.zeros(3))
    out = np.zeros(3)
    assert_same(ps.segment_max(values, ids, 3, out=out), np.array([-0.1, -0.2, -INF]))


def test_e12_arg_of_an_empty_group_is_minus_one():
    values, ids = np.array([1.0, 1, 2, 3]), [0, 0, 2, 2]
    assert ps.segment_reduce(values, ids, op="argmax").tolist() == [0, -1, 3]
    out, arg, counts = ps.segment_reduce(
        values, ids, 4, op="max", return_arg=True, return_counts=True
    )
    assert arg.tolist() == [0, -1, 3, -1] and counts.tolist() == [2, 0, 2, 0]
    assert_same(out, np.array([1, -INF, 3, -INF]))


def test_e16_ranges_that_leave_rows_out_are_said_so():
    src = np.ones((8, 11))
    for offsets in ([0, 3, 7], [1, 8]):
        with pytest.raises(ValueError, match="starts"):
            ps.segment_mean(src, offsets=offsets)
    mean = ps.segment_mean(src, starts=[0, 3], stops=[3, 7])
    assert_same(mean, np.ones((2, 11)))
    trailing = ps.segment_mean(src, offsets=[0, 8, 8, 8])
    assert_same(trailing, np.where([[True], [False], [False]], np.ones(11), NAN))


@pytest.mark.parametrize("name", [n for n in ("f16", "bf16") if n in DTYPES])
def test_e17_half_precision_is_summed_wide(name):
    dtype = DTYPES[name]
    ones = np.ones(10_000, dtype)
    for where in ({"ids": np.zeros(10_000, int)}, {"lengths": [10_000]}):
        total = ps.segment_sum(ones, **where)
        assert_same(total, np.array([10_000]).astype(dtype))
        assert_same(ps.segment_mean(ones, **where), np.ones(1, dtype))
    if name == "f16":
        small = np.array([1] + [2.0**-11] * 7, np.float16)
        for values in (small, small[::-1]):
            assert ps.segment_sum(values, [0] * 8).tolist() == [1.00390625]


def test_e18_ids_beyond_the_end_name_themselves():
    src = np.ones((1266, 4), np.float32)
    ids = np.zeros(1266, int)
    ids[17] = 561
    for call in (ps.segment_max, ps.segment_sum, ps.segment_mean):
        with pytest.raises(IndexError, match=r"561.*(position|17)"):
            call(src, ids, 561)
    with pytest.raises(IndexError, match="8369"):
        ps.segment_sum(np.ones(3), [1, 7, 8369], 12)


def test_e19_twenty_runs_one_answer():
    rng = rng_for("e19")
    values = rng.standard_normal(200_000).astype(np.float32)
    ids = rng.integers(0, 10, len(values))
    expected = np.zeros(10, np.float32)
    np.add.at(expected, ids, values)
    for repeat in range(20):
        with ps.num_threads(1 + repeat % 4):
            assert_same(ps.segment_sum(values, ids), expected)


def test_e24_offsets_and_lengths_are_not_trusted():
    values = np.ones(5)
    deep = np.zeros((1, 1, 1, 1, 6), int)
    for options in (
        {"offsets": deep},
        {"lengths": deep},
        {"offsets": np.zeros((0, 3, 0, 2, 1), int)},
        {"lengths": np.array([MIN64, 5])},
        {"lengths": np.array([MIN64, MIN64, 5])},
        {"offsets": [0, 4, 2, 5]},
        {"offsets": [0, MIN64, 5]},
        {"starts": [MIN64], "stops": [5]},
        {"starts": [0], "stops": [2**63 - 1]},
    ):
        for op in ("add", "max", "median", "first"):
            with pytest.raises(ValueError):
                ps.segment_reduce(values, op=op, **options)


def test_e27_nan_never_hangs():
    values = np.full(50_000, NAN)
    values[1::2] = 1
    for op in ("add", "max", "min", "mul"):
        result = ps.segment_reduce(values, np.zeros(len(values), int), op=op)
        assert np.isnan(result).all()


def test_e30_counts_of_more_entries_than_a_float_holds():
    many = np.broadcast_to(np.float32(1), (2**24 + 2,))
    total = ps.segment_reduce(many, offsets=[0, 2**24 + 2], dtype=np.float64)
    assert total.tolist() == [2**24 + 2]
    count = ps.segment_reduce(None, offsets=[0, 2**40], op="count")
    assert count.tolist() == [2**40]


def test_cve_2019_16778_sizes_are_64_bit():
    ids = np.array([0, 1], np.int32)
    for size in (2**62, 2**63 - 1):
        with pytest.raises((MemoryError, ValueError)):
            ps.segment_reduce(np.ones(2), ids, size)


def test_cve_2020_15212_to_15214_ids_and_the_size_of_the_result():
    values = np.ones(3)
    with pytest.raises(IndexError):
        ps.segment_reduce(values, [0, -1, 1])
    with pytest.raises(ValueError, match="pass num_segments"):
        ps.segment_reduce(values, [0, 1, 2**40])
    with pytest.raises(ValueError):
        ps.segment_reduce(values, [5, 9, 1], assume_sorted=True)
    assert ps.segment_reduce(values, [5, 9, 1]).shape == (10,)


def test_cve_2021_41195_products_that_overflow():
    wide = np.broadcast_to(np.float32(1), (1, 2**40))
    with pytest.raises((MemoryError, ValueError)):
        ps.segment_reduce(wide, [0], 2**30)


@pytest.mark.parametrize(
    "size", [np.array([]), np.array([3, 4]), np.zeros((0, 2), int), "3", 3.0, [3]]
)
def test_cve_2021_29552_a_size_that_is_no_number(size):
    with pytest.raises(TypeError):
        ps.segment_reduce(np.ones(2), [0, 1], size)


def test_cve_2022_29204_a_negative_size():
    for size in (-1, MIN64):
        with pytest.raises(ValueError, match=str(size)):
            ps.segment_reduce(np.ones(2), [0, 1], size)


@pytest.mark.parametrize("splits", [[], [0], [7], [1, 5], [0, 3], [0, 9], [0, 4, 2, 5]])
def test_cve_2020_15199_to_15201_and_2021_29512_29514_splits(splits):
    values = np.arange(5)
    with pytest.raises(ValueError):
        ps.segment_reduce(values, offsets=splits)
    with pytest.raises(ValueError):
        ps.segment_scan(values, offsets=splits)
    with pytest.raises(ValueError):
        ps.segment_softmax(values * 1.0, offsets=splits)


def test_cve_2020_15196_and_2023_25659_parts_of_other_lengths():
    for x, weights in (([0, 1, 2], [1.0, 2.0]), ([], [1.0]), ([0], [])):
        with pytest.raises(ValueError):
            ps.bincount(x, weights)
    for values, ids in ((np.ones(3), []), (np.ones(0), [0]), (np.ones(3), [0, 0])):
        with pytest.raises(ValueError):
            ps.segment_reduce(values, ids)


def test_cve_2022_41884_shapes_with_a_zero_and_a_huge_axis():
    hollow = np.zeros((0, 2**31, 2**31), np.int8)
    with pytest.raises((MemoryError, ValueError)):
        ps.segment_reduce(hollow, [], 4, op="max")
    none = ps.segment_reduce(hollow, [], op="max")
    assert none.shape == (0, 2**31, 2**31)
