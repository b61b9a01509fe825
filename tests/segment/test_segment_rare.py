"""Rare calls on segments, each compared with simpler ones that say the same."""

import warnings

import numpy as np
import pytest

import pyscatter as ps
from tests.cases import assert_same, rng_for

RNG_SHAPE = (7, 3)
STARTS, STOPS = np.array([0, 2, 5, 1]), np.array([4, 2, 7, 6])


def rows():
    values = rng_for("rare").standard_normal(RNG_SHAPE)
    values[2, 1] = values[5, 0] = np.nan
    return values


def each_run(values, mask, pick):
    """What `pick` makes of the entries of each run, or None where there is none."""
    for start, stop in zip(STARTS, STOPS, strict=True):
        taken = [e for e in range(start, stop) if mask[e]]
        yield pick(taken) if taken else None


@pytest.mark.parametrize("op", ["first", "last"])
@pytest.mark.parametrize("listed", [False, True])
def test_ends_of_runs_under_a_mask(op, listed):
    values, gather = rows(), np.array([6, 0, -1, 3, 3, 2, 1])
    mask = np.array([False, True, True, False, True, False, True])
    entries = values[gather] if listed else values
    options = {"gather": gather} if listed else {}
    result, places = ps.segment_reduce(
        *(values,),
        **options,
        **{"starts": STARTS, "stops": STOPS, "where": mask, "return_arg": True},
        op=op,
    )
    ends = list(each_run(values, mask, min if op == "first" else max))
    for s, end in enumerate(ends):
        expected = np.full(3, np.nan) if end is None else entries[end]
        assert_same(result[s], expected)
        assert (places[s] == (-1 if end is None else end)).all()
    fine = np.repeat(mask[:, None], 3, 1)
    fine[:, 1] = True
    again, counts = ps.segment_reduce(
        *(values,),
        **options,
        **{"starts": STARTS, "stops": STOPS, "where": fine, "return_counts": True},
        op=op,
    )
    assert_same(again[:, [0, 2]], result[:, [0, 2]])
    assert counts[:, 1].tolist() == (STOPS - STARTS).tolist()


@pytest.mark.parametrize("op", ["add", "mean", "max", "var", "median", "logsumexp"])
def test_rows_that_are_listed_and_missing(op):
    values = rows()
    gather, ids = (
        np.array([[0, 5], [2, 2], [-1, 5]]),
        np.array([[0, 1], [1, 0], [2, 2]]),
    )
    flat = ps.segment_reduce(values[gather.ravel()], ids.ravel(), op=op, skipna=True)
    assert_same(ps.segment_reduce(values, ids, gather=gather, op=op, skipna=True), flat)
    where = rng_for("listed").random((3, 2, 3)) < 0.6
    chosen = ps.segment_reduce(values, ids, 3, gather=gather, op=op, where=where)
    expected = ps.segment_reduce(
        values[gather.ravel()], ids.ravel(), 3, op=op, where=where.reshape(6, 3)
    )
    assert_same(chosen, expected)
    numbers = np.nan_to_num(values)
    result = ps.segment_reduce(numbers, ids, gather=gather, axis=None, op=op)
    assert_same(
        result, ps.segment_reduce(numbers.ravel()[gather], ids, axis=None, op=op)
    )


def test_weights_that_are_python_numbers():
    for dtype in (np.float32, np.float64, np.complex64):
        result = ps.segment_sum(np.ones(3, dtype), [0, 0, 1], weights=0.5)
        assert_same(result, np.array([1, 0.5], dtype))
    assert_same(ps.segment_sum([1, 2], [0, 0], weights=0.5), np.array([1.5]))
    assert_same(ps.segment_sum([1, 2], [0, 0], weights=2), np.array([6]))
    result = ps.segment_sum(np.ones(2, np.float32), [0, 0], weights=1j)
    assert_same(result, np.array([2j], np.complex64))


def test_weighted_means_of_complex_numbers_and_of_chosen_elements():
    values, ids = rows()[:, 0] * (1 + 2j), np.array([0, 1, 0, 0, 1, 1, 0])
    values[5] = 0.5
    weights = np.arange(1, 8) * (2 - 1j)
    for place in ({"ids": ids}, {"offsets": [0, 3, 7]}):
        result = ps.segment_mean(values, weights=weights, **place)
        groups = [ids == 0, ids == 1] if "ids" in place else [slice(3), slice(3, 7)]
        for s, group in enumerate(groups):
            exact = (values[group] * weights[group]).sum() / weights[group].sum()
            np.testing.assert_allclose(result[s], exact, rtol=1e-14)
    reals, mask = np.nan_to_num(rows()), rng_for("chosen").random((7, 3)) < 0.5
    for op in ("add", "mean"):
        for place in ({"ids": ids, "num_segments": 2}, {"lengths": [3, 4]}):
            options = {"op": op, "weights": np.arange(7.0), **place}
            whole = ps.segment_reduce(reals, where=mask, **options)
            for j in range(3):
                column = ps.segment_reduce(reals[:, j], where=mask[:, j], **options)
                np.testing.assert_allclose(whole[:, j], column, rtol=1e-14)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int16, "m8[s]", bool])
def test_places_where_the_initial_element_wins(dtype):
    values = np.array([1, 0, 1, 1]).astype(dtype)
    ids, one = np.array([0, 0, 1, 3]), values[:1]
    best, place = ps.segment_reduce(
        values, ids, op="min", initial=one[0], return_arg=True
    )
    assert_same(best, np.array([0, 1, 1, 1]).astype(dtype))
    assert place.tolist() == [1, -1, -1, -1]
    found = ps.segment_reduce(values, ids, op="argmin", initial=one[0])
    assert found.tolist() == [1, -1, -1, -1]


def test_an_initial_element_of_half_types_is_rounded():
    values = np.array([0.1], np.float16)
    _, place = ps.segment_reduce(values, [0], op="max", initial=0.1, return_arg=True)
    assert place.tolist() == [-1]
    zeros = np.array([0.0, -0.0])
    _, place = ps.segment_reduce(zeros, [0, 1], op="max", initial=0.0, return_arg=True)
    assert place.tolist() == [-1, -1]
    _, place = ps.segment_reduce(zeros, [0, 1], op="min", initial=0.0, return_arg=True)
    assert place.tolist() == [-1, 1]


def test_counts_of_runs_need_no_values():
    far = 2**62
    assert ps.segment_reduce(
        None, starts=[0, 5], stops=[far, 5], op="count"
    ).tolist() == [
        far,
        0,
    ]
    assert ps.segment_reduce(None, lengths=[2, 0, 3], op="count").tolist() == [2, 0, 3]
    mask = np.array([True, False, True])
    counts = ps.segment_reduce(None, offsets=[0, 2, 3], op="count", where=mask)
    assert counts.tolist() == [1, 1]
    for wrong in ([0, 3, 2], [], [1, 2]):
        with pytest.raises(ValueError, match="offsets"):
            ps.segment_reduce(None, offsets=wrong, op="count")
    with pytest.raises(TypeError, match="gather= needs values"):
        ps.segment_reduce(None, lengths=[1], gather=[0], op="count")


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.uint16])
def test_means_of_small_integers_round_down(dtype):
    values = np.array([1, 2, 7, 4], dtype)
    result = ps.segment_mean(values, [0, 0, 2, 2], dtype=dtype)
    assert_same(result, np.array([1, 0, 5], dtype))
    if np.dtype(dtype).kind == "i":
        result = ps.segment_mean(-values, [0, 0, 2, 2], dtype=dtype)
        assert_same(result, np.array([-2, 0, -6], dtype))


@pytest.mark.parametrize("place", ["ids", "offsets", "starts", "batches"])
def test_deviations_of_complex_numbers_are_those_of_their_parts(place):
    rng = rng_for("parts")
    values = rng.standard_normal((2, 6)) + 1j * rng.standard_normal((2, 6))
    said = {
        "ids": {"ids": [0, 1, 0, 5, 1, 0], "mode": "clip", "num_segments": 3},
        "offsets": {"offsets": [0, 4, 4, 6]},
        "starts": {"starts": [0, 1, 6], "stops": [4, 6, 6]},
        "batches": {"ids": rng.integers(0, 3, (2, 6)), "batch_dims": 1},
    }[place] | {"axis": 1}
    for options in ({}, {"ddof": 1}, {"where": rng.random((2, 6)) < 0.7}):
        if "batch_dims" not in said and "where" in options:
            options = {"where": options["where"][0]}
        parts = [
            ps.segment_reduce(part, op="var", **said, **options)
            for part in (values.real, values.imag)
        ]
        result = ps.segment_reduce(values, op="var", **said, **options)
        assert result.dtype == float
        np.testing.assert_allclose(result, sum(parts), rtol=1e-13)
        root = ps.segment_reduce(values, op="std", **said, **options)
        assert_same(root, np.sqrt(result))


def test_ends_of_what_only_numpy_moves():
    texts = np.array(["a", "b", "c", "d"])
    ids, mask = np.array([0, 2, 0, 2]), np.array([True, True, True, False])
    options = {"op": "last", "where": mask}
    result, places, counts = ps.segment_reduce(
        texts, ids, fill_value="?", return_arg=True, return_counts=True, **options
    )
    assert result.tolist() == ["c", "?", "b"]
    assert (places.tolist(), counts.tolist()) == ([2, -1, 1], [2, 0, 1])
    things = np.array([None, {}, (1,), 2], object)
    first, last = ps.segment_reduce(things, lengths=[2, 2], op=("first", "last"))
    assert first.tolist() == [None, (1,)] and last.tolist() == [{}, 2]
    records = np.array([(1, 2.0), (3, 4.0)], "i4,f8")
    out = np.zeros(1, records.dtype)
    assert ps.segment_reduce(records, [0, 0], op="last", gather=[1, 0], out=out) is out
    assert out.tolist() == [(1, 2.0)]
    numbers = ps.segment_reduce(np.arange(3), [0, 0, 1], op="last", dtype=object)
    assert numbers.dtype == object and numbers.tolist() == [1, 2]


@pytest.mark.parametrize("name", ["initial", "fill_value"])
def test_scalars_that_do_not_fit_are_called_by_their_names(name):
    values, ids = np.array([1, 2], np.int8), [0, 1]
    for error, value in (
        (TypeError, "x"),
        (TypeError, 1.5),
        (TypeError, 1j),
        (OverflowError, 10**30),
        (ValueError, [1]),
        (ValueError, np.zeros(2, int)),
    ):
        with pytest.raises(error, match=name) as raised:
            ps.segment_reduce(values, ids, op="max", **{name: value})
        assert "casting" not in str(raised.value)


@pytest.mark.parametrize("name", ["skipna", "return_counts", "compensated"])
def test_flags_are_true_or_false(name):
    for op in ("add", "median", "logsumexp"):
        with pytest.raises(TypeError, match=name):
            ps.segment_reduce(np.ones(2), [0, 0], op=op, **{name: 1})


def test_results_are_cast_into_out_without_a_warning():
    large = np.array([1e300, 1.0])
    out = np.zeros(2, np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ps.segment_sum(large, [0, 1], out=out)
    assert out.tolist() == [np.inf, 1]
    columns = np.zeros((2, 2))
    outs = columns[:, 0], columns[:, 1]
    ps.segment_reduce(large, [0, 1], op=("min", "max"), out=outs)
    assert_same(columns, np.stack([large, large], 1))


def test_a_promise_about_ids_that_are_dropped():
    values = np.arange(4.0)
    options = {"mode": "drop", "assume_sorted": True}
    low = np.array([-(2**63), -1, 0, 0])
    assert ps.segment_sum(values, low, **options).tolist() == [5]
    high = np.array([0, 1, 2**63, 2**64 - 1], np.uint64)
    assert ps.segment_sum(values, high, 2, **options).tolist() == [0, 1]
    with pytest.raises(ValueError, match=f"from {2**64 - 1} to 0 at position 2"):
        ps.segment_sum(values, high[[0, 3, 0, 1]], 2, **options)


@pytest.mark.parametrize("n", [11, 5000])
@pytest.mark.parametrize("dtype", ["F", "D"])
@pytest.mark.parametrize("mode", ["raise", "drop", "clip", "wrap"])
@pytest.mark.parametrize("op", ["var", "std"])
def test_modes_mean_nothing_to_spreads_of_complex_runs(op, mode, dtype, n):
    values = (np.arange(n) % 7 + 1j * (np.arange(n) % 3)).astype(dtype)
    ways = [
        {"offsets": [0, n - 2, n]},
        {"lengths": [n - 2, 2]},
        {"starts": [0, n - 2], "stops": [n - 2, n]},
    ]
    for way in ways:
        result = ps.segment_reduce(values, op=op, mode=mode, **way)
        whole = getattr(np, op)
        expected = [whole(values[: n - 2]), whole(values[n - 2 :])]
        np.testing.assert_allclose(result, expected, rtol=1e-5)
