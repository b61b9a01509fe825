"""Values that segment sums must have: wide accumulators, entries left out, rows listed.

The slow twin computes in the same dtypes, so these are compared with known numbers.
"""

import math
import pickle
import tracemalloc

import numpy as np
import pytest

import pyscatter as ps

N = 1_000_000
WAYS = {
    "ids": lambda n: {"ids": np.zeros(n, int), "num_segments": 1},
    "plan": lambda n: {"ids": ps.Plan(np.zeros(n, int), 1)},
    "offsets": lambda n: {"offsets": [0, n]},
    "starts": lambda n: {"starts": [0], "stops": [n]},
    "lengths": lambda n: {"lengths": [n]},
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("shape", [(N,), (N // 4, 4)])
def test_means_and_deviations_of_float32_are_those_of_float64(way, shape):
    values = np.random.default_rng(1).normal(1e4, 1, shape).astype(np.float32)
    exact = values.astype(float)
    said = WAYS[way](shape[0])
    for op in ("mean", "var", "std"):
        result = ps.segment_reduce(values, op=op, **said)
        assert result.dtype == np.float32
        np.testing.assert_allclose(result[0], getattr(exact, op)(axis=0), rtol=1e-6)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.complex64])
def test_constants_have_their_mean_and_no_deviation(way, dtype):
    values = np.full(N, 100, dtype)
    assert ps.segment_reduce(values, op="mean", **WAYS[way](N))[0] == 100
    assert ps.segment_reduce(values, op="std", **WAYS[way](N))[0] == 0


@pytest.mark.parametrize("way", WAYS)
def test_compensated_deviations(way):
    """A large value first, whose square the small ones do not change one by one."""
    values = np.ones(100_001)
    values[0] = 1e8
    values[1::2] = -1
    said = WAYS[way](len(values))
    exact = math.fsum((values - math.fsum(values) / len(values)) ** 2) / len(values)
    result = ps.segment_reduce(values, op="var", compensated=True, **said)
    assert result[0] == pytest.approx(exact, rel=1e-15)
    result = ps.segment_reduce(values, op="std", compensated=True, **said)
    assert result[0] == pytest.approx(math.sqrt(exact), rel=1e-15)


def test_a_named_dtype_is_what_means_are_summed_in():
    ones = np.ones(2**24 + 4, np.float32)
    ids = np.zeros(len(ones), np.int8)
    mean = ps.segment_reduce(ones, ids, 1, op="mean", dtype=np.float32)
    assert mean[0] == np.float32(2**24) / np.float32(len(ones))
    assert ps.segment_mean(ones, ids, 1)[0] == 1


@pytest.mark.parametrize("width", [None, 1, 3])
def test_products_of_complex_skip_what_is_left_out(width):
    tail = () if width is None else (width,)
    values = np.ones((20, *tail), complex)
    values[3] = np.inf + 1j
    values[7] = 2
    values[11] = 1j
    where = np.zeros(20, bool)
    where[[3, 7]] = True
    result = ps.segment_prod(values, offsets=[0, 5, 6, 20], where=where)
    assert (result[0] == values[3]).all()
    assert (result[1] == 1).all() and (result[2] == 2).all()
    values[4] = np.nan
    result = ps.segment_prod(values, starts=[3, 6], stops=[5, 8], skipna=True)
    assert (result[0] == values[3]).all() and (result[1] == 2).all()


def test_products_of_complex_in_several_blocks():
    values = np.exp(1j * np.arange(9000.0))
    where = np.arange(9000) % 3 > 0
    one = ps.segment_prod(values, offsets=[0, 9000], where=where)
    kept = ps.segment_prod(values[where], offsets=[0, 6000])
    np.testing.assert_allclose(one, kept)
    three = ps.segment_prod(values, offsets=[0, 9000], where=where, initial=2)
    np.testing.assert_allclose(three, 2 * kept)


def test_numbers_may_be_arrays_without_axes():
    values, ids = [1.0, 2.0, 4.0], [0, 1, 1]
    assert ps.segment_sum(values, ids, np.array(3)).tolist() == [1, 6, 0]
    assert ps.segment_sum(values, offsets=[0, 3], num_segments=np.array(1)) == 7
    assert ps.bincount(ids, minlength=np.array(3)).tolist() == [1, 2, 0]
    deviations = ps.segment_reduce(values, ids, op="var", ddof=np.array(1))
    assert np.isnan(deviations[0]) and deviations[1] == 2


def test_a_plan_that_dropped_entries_drops_them_as_ids():
    values = np.array([1.0, 2.0, 4.0])
    plan = ps.Plan([0, -1, 1], 2, mode="drop")
    assert ps.segment_sum(values, plan).tolist() == [1, 4]
    assert ps.segment_reduce(values, plan, op="max").tolist() == [1, 4]
    assert ps.segment_reduce(values, plan, op="median").tolist() == [1, 4]


@pytest.mark.parametrize("at", [0, 3, 2500])
@pytest.mark.parametrize("op", ["add", "argmax", "std", "count", "last"])
def test_a_plan_names_the_negative_that_is_no_id(op, at):
    index = np.zeros(3000, int)
    index[[at, -1]] = -2, -1
    says = rf"index -2 is out of bounds for axis 0 with size 4 \(position {at} of 3000"
    plan = ps.Plan(index, 4)
    with pytest.raises(IndexError, match=says):
        ps.segment_reduce(np.ones(3000), plan, op=op)
    with pytest.raises(IndexError, match="negative"):
        ps.segment_reduce(np.ones(3000), pickle.loads(pickle.dumps(plan)), op=op)


@pytest.mark.parametrize("op", ["add", "max", "mean", "count", "first", "median"])
def test_fill_values_and_masks_of_bools(op):
    values = np.array([True, False, True])
    result = ps.segment_reduce(values, [0, 0, 2], 4, op=op, fill_value=False)
    assert result[1] == 0 and result[3] == 0


OPS = ("add", "mul", "min", "max", "and", "mean", "count", "any")


@pytest.mark.parametrize("op", OPS)
def test_listed_rows_are_folded_where_they_lie(op):
    """A table of many columns; its rows repeated would be a hundred times as much."""
    table = np.ones((20, 10_000), np.int32)
    gather = np.arange(2_000) % 20
    ids = np.arange(2_000) // 1_000
    whole = table[:, 0][gather]
    said = {"ids": ids}, {"ids": ids, "where": ids == 1}, {"offsets": [0, 1000, 2000]}
    for one in (*said, {"starts": [0, 1000], "stops": [1000, 2000]}):
        tracemalloc.start()
        result = ps.segment_reduce(table, gather=gather, op=op, **one)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        expected = ps.segment_reduce(whole, op=op, **one)
        np.testing.assert_array_equal(result, expected[:, None] + 0 * table[:1])
        assert peak < 8 * result.nbytes + 200_000


@pytest.mark.parametrize("op", [*OPS, "first", "argmax", "median", "var", "logsumexp"])
def test_rows_outside_all_ranges_are_checked(op):
    with pytest.raises(IndexError, match=r"index 7 .* \(position 3 of 4 in 'gather'"):
        ps.segment_reduce([1, 2, 4], starts=[0], stops=[2], gather=[0, 1, 2, 7], op=op)
    result = ps.segment_reduce(
        [1, 2, 4],
        starts=[0],
        stops=[2],
        gather=[0, 1, 2, 7],
        where=[True, True, True, False],
        op=op,
    )
    assert result.shape == (1,)


def test_complex_weights_have_one_product_by_ids_and_by_offsets():
    rng = np.random.default_rng(3)
    values = rng.normal(size=500) + 1j * rng.normal(size=500)
    weights = rng.normal(size=500) + 1j * rng.normal(size=500)
    by_ids = ps.segment_sum(values, np.arange(500), weights=weights)
    by_offsets = ps.segment_sum(values, offsets=np.arange(501), weights=weights)
    real = values.real * weights.real - values.imag * weights.imag
    imaginary = values.real * weights.imag + values.imag * weights.real
    assert (by_ids == by_offsets).all()
    assert (by_ids.real == real).all() and (by_ids.imag == imaginary).all()


def spread(values, groups, size, ddof):
    """Return variances from exact means, group by group."""
    result = np.full((size, *values.shape[1:]), np.nan)
    for group in range(size):
        taking = values[groups == group]
        if len(taking) > ddof:
            result[group] = ((taking - taking.mean(axis=0)) ** 2).sum(axis=0)
            result[group] /= len(taking) - ddof
    return result


@pytest.mark.parametrize("ddof", [0, 1, np.float64(0.5), np.array(2)])
def test_variances_along_any_axis_of_listed_rows_under_masks(ddof):
    rng = np.random.default_rng(4)
    values = rng.normal(size=(30, 3))
    ids = np.sort(rng.integers(0, 5, 30))
    gather = rng.integers(-30, 30, 30)
    where = rng.random(30) < 0.7
    offsets = np.searchsorted(ids, np.arange(7))
    expected = spread(values, ids, 6, ddof)
    for said in ({"ids": ids, "num_segments": 6}, {"offsets": offsets}):
        options = {**said, "op": "var", "ddof": ddof}
        along = ps.segment_reduce(values.T, axis=1, **options)
        np.testing.assert_allclose(along, expected.T)
        listed = ps.segment_reduce(values, gather=gather, where=where, **options)
        some = spread(values[gather][where], ids[where], 6, ddof)
        np.testing.assert_allclose(listed, some)
        roots = ps.segment_reduce(values, gather=gather, **{**options, "op": "std"})
        whole = spread(values[gather], ids, 6, ddof)
        np.testing.assert_allclose(roots, np.sqrt(whole))


def test_several_ops_give_what_each_gives_alone():
    rng = np.random.default_rng(5)
    values = rng.normal(size=(40, 2))
    ids = rng.integers(0, 6, 40)
    ops = ("add", "mean", "std", "min", "count", "argmax")
    for options in ({}, {"where": ids > 2}, {"skipna": True}, {"fill_value": 3}):
        alone = [ps.segment_reduce(values, ids, 8, op=op, **options) for op in ops]
        whole = ps.segment_reduce(values, ids.tolist(), 8, op=ops, **options)
        assert type(whole) is tuple
        for one, other in zip(whole, alone, strict=True):
            np.testing.assert_array_equal(one, other)
    outs = tuple(np.zeros((8, 2)) for _ in ops)
    assert ps.segment_reduce(values, ids, 8, op=ops, out=outs)[2] is outs[2]
    both, places = ps.segment_reduce(
        values, ids, 8, op=("min", "fmax"), return_arg=True
    )
    assert len(both) == len(places) == 2
    with pytest.raises(ValueError, match="same memory twice"):
        ps.segment_reduce(values, ids, 8, op=("add", "max"), out=(outs[0], outs[0]))


@pytest.mark.parametrize("op", ["var", "std", "argmax", "add", "last"])
def test_listed_rows_of_any_layout(op):
    table = np.random.default_rng(6).normal(size=(9, 4)).astype(np.float32)
    gather = np.array([8, -1, 0, 3, 3, 2])
    for said in ({"ids": [0, 1, 0, 1, 1, 0]}, {"offsets": [0, 4, 6]}):
        expected = ps.segment_reduce(table[gather], op=op, **said)
        for layout in (np.asfortranarray(table), table[::-1].copy()[::-1]):
            result = ps.segment_reduce(layout, gather=gather, op=op, **said)
            np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("mode", ["raise", "clip", "wrap"])
@pytest.mark.parametrize("op", ["add", "argmax", "var", "first", "count"])
def test_ids_of_no_segments(op, mode):
    with pytest.raises(IndexError, match="size 0"):
        ps.segment_reduce([1.0, 2.0], [0, 0], 0, op=op, mode=mode)
    assert ps.segment_reduce([1.0], [0], 0, op=op, mode="drop").shape == (0,)


@pytest.mark.parametrize("unit", ["m8", "M8"])
@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("op", ["first", "last", "min", "max", "fmin", "fmax"])
def test_times_of_any_byte_order_and_unit(op, order, unit):
    """Rows that are listed are those of the array in which they are counted."""
    ticks = np.array([10, 13, 11, 19, 12, 18])
    values = ticks.view(f"{unit}[s]").astype(f"{order}{unit}[s]")
    picks = {"first": [10, 19], "last": [11, 18]}
    picks |= dict.fromkeys(("min", "fmin"), [10, 12])
    picks |= dict.fromkeys(("max", "fmax"), [13, 19])
    expected = np.array(picks[op]).view(f"{unit}[s]")
    ids, rows = np.array([0, 0, 0, 1, 1, 1]), np.arange(6)
    for dtype in (None, f"{unit}[ms]"):
        options = {"op": op, "dtype": dtype}
        results = [
            ps.segment_reduce(values, ids, 2, **options),
            ps.segment_reduce(values, ids, 2, gather=rows, **options),
            ps.segment_reduce(values, offsets=[0, 3, 6], **options),
            ps.segment_reduce(values, offsets=[0, 3, 6], gather=rows, **options),
            ps.segment_reduce(values, starts=[0, 3], stops=[3, 6], **options),
        ]
        for result in results:
            assert result.dtype == np.dtype(dtype or f"{unit}[s]")
            np.testing.assert_array_equal(result, expected)


def test_sums_of_times_in_another_unit():
    values = np.array([1, 2, 3, 4]).view("m8[s]")
    whole = np.array([4000, 6000]).view("m8[ms]")
    for rows in (None, [0, 1, 2, 3]):
        for say in ({"ids": [0, 1, 0, 1]}, {"lengths": [2, 2]}):
            shown = values if "ids" in say else values[[0, 2, 1, 3]]
            result = ps.segment_sum(shown, gather=rows, dtype="m8[ms]", **say)
            np.testing.assert_array_equal(result, whole)
            assert result.dtype == whole.dtype


def test_compensated_sums_of_listed_rows_under_a_mask_of_elements():
    values, rows = np.arange(6.0).reshape(3, 2), [2, 2, 0]
    where = np.array([[1, 0], [1, 1], [0, 1]], bool)
    options = {"gather": rows, "where": where, "compensated": True}
    result = ps.segment_sum(values, offsets=[0, 2, 3], **options)
    assert result.tolist() == [[8, 5], [0, 1]]


def test_weights_that_overflow_do_not_warn():
    values, weights = np.ones(3, np.float32), np.array([1e300, 1, 1])
    for say in ({"ids": [0, 0, 1]}, {"offsets": [0, 2, 3]}):
        result = ps.segment_sum(values, weights=weights, dtype=np.float32, **say)
        assert result.tolist() == [np.inf, 1]


@pytest.mark.parametrize("weights", [2.0, [2.0, 2.0]])
@pytest.mark.parametrize("op", ["add", "mean"])
def test_rows_outside_all_ranges_are_checked_beside_any_weights(op, weights):
    with pytest.raises(IndexError, match="index 5"):
        ps.segment_reduce(
            *(np.ones(2), None),
            starts=[0],
            stops=[1],
            gather=[0, 5],
            weights=weights,
            op=op,
        )


@pytest.mark.parametrize("kind", ["i8", "u8"])
def test_order_is_promised_of_ids_that_are_no_segments_too(kind):
    ids = np.array([-5, -7, 0]).astype(kind)
    with pytest.raises(ValueError, match="assume_sorted"):
        ps.segment_sum(np.ones(3), ids, 3, mode="wrap", assume_sorted=True)
