"""Segment reductions: small examples with their right values, each for both libraries.

Every op on every addressing, empty segments, ties, NaN, NaT and signed zeros, dtypes,
targets, several ops in one call, and the functions that go with them.
"""

import numpy as np
import pytest

import pyscatter as ps
from tests import reference
from tests.cases import DTYPES, assert_fresh, assert_same

NAN, INF = np.nan, np.inf
LIBRARIES = [pytest.param(ps, id="pyscatter"), pytest.param(reference, id="reference")]
FOUR = [3.0, 1.0, 2.0, 4.0, 1.0, 7.0]  # segment 0: 3 2 1, 1: 1 4, 2: none, 3: 7
IDS = [0, 1, 0, 1, 0, 3]
BY_RANGE = [3.0, 2.0, 1.0, 1.0, 4.0, 7.0]
WAYS = {
    "ids": (FOUR, {"ids": IDS}),
    "sorted": (BY_RANGE, {"ids": [0, 0, 0, 1, 1, 3], "assume_sorted": True}),
    "offsets": (BY_RANGE, {"offsets": [0, 3, 5, 5, 6]}),
    "starts": (BY_RANGE, {"starts": [0, 3, 4, 5], "stops": [3, 5, 4, 6]}),
    "lengths": (BY_RANGE, {"lengths": [3, 2, 0, 1]}),
}
OPS = {
    "add": [6, 5, 0, 7],
    "mul": [6, 4, 1, 7],
    "min": [1, 1, INF, 7],
    "max": [3, 4, -INF, 7],
    "fmin": [1, 1, INF, 7],
    "fmax": [3, 4, -INF, 7],
    "mean": [2, 2.5, NAN, 7],
    "var": [2 / 3, 2.25, NAN, 0],
    "std": [np.sqrt(2 / 3), 1.5, NAN, 0],
    "median": [2, 2.5, NAN, 7],
    "first": [3, 1, NAN, 7],
    "last": [1, 4, NAN, 7],
    "logsumexp": [
        np.log(np.exp([3.0, 2, 1]).sum()),
        np.log(np.exp([1.0, 4]).sum()),
        -INF,
        7,
    ],
}
OTHER = {
    "count": [3, 2, 0, 1],
    "any": [True, True, False, True],
    "all": [True, True, True, True],
}


@pytest.fixture(params=LIBRARIES)
def lib(request):
    """The library, and its slow twin."""
    return request.param


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("op", [*OPS, *OTHER])
def test_ops(lib, op, way):
    values, options = WAYS[way]
    result = lib.segment_reduce(np.array(values), op=op, **options)
    expected = np.array({**OPS, **OTHER}[op])
    if op in OTHER:
        assert_same(result, expected)
    else:
        np.testing.assert_allclose(result, expected * 1.0, rtol=1e-15, strict=True)
    assert_fresh(result)


@pytest.mark.parametrize("way", WAYS)
def test_rows_and_columns(lib, way):
    values, options = WAYS[way]
    rows = np.outer(values, [1.0, -1.0])
    for op in ("add", "mean", "max", "median", "var", "first"):
        with np.errstate(all="ignore"):
            line = lib.segment_reduce(np.array(values), op=op, **options)
            turned = lib.segment_reduce(-np.array(values), op=op, **options)
        expected = np.stack([line, turned], axis=1)
        assert_same(lib.segment_reduce(rows, op=op, **options), expected, op)
        across = lib.segment_reduce(rows.T, op=op, axis=1, **options)
        assert_same(across, np.ascontiguousarray(expected.T), op)
        assert_same(lib.segment_reduce(rows.T, op=op, axis=-1, **options), across, op)


@pytest.mark.parametrize(
    ("alias", "op"),
    [("sum", "add"), ("prod", "mul"), ("amin", "min"), ("maximum", "max")]
    + [(np.add, "add"), (np.multiply, "mul"), (np.fmax, "fmax"), (np.minimum, "min")],
)
def test_aliases(lib, alias, op):
    result = lib.segment_reduce(np.array(FOUR), IDS, op=alias)
    assert_same(result, np.array(OPS[op], float))


def test_bits(lib):
    values = np.array([6, 3, 5, 12, 4], np.uint8)
    for op, expected in (("and", [4, 0, 255]), ("or", [7, 15, 0]), ("xor", [7, 15, 0])):
        result = lib.segment_reduce(values, [0, 1, 0, 1, 0], 3, op=op)
        assert_same(result, np.array(expected, np.uint8), op)
    flags = np.array([True, True, False])
    for op, expected in (
        ("and", [1, 0, 1]),
        ("or", [1, 1, 0]),
        ("xor", [1, 1, 0]),
        ("min", [1, 0, 1]),
        ("max", [1, 1, 0]),
    ):
        result = lib.segment_reduce(flags, [0, 1, 1], 3, op=op)
        assert_same(result, np.array(expected, bool), op)


@pytest.mark.parametrize(
    ("op", "kind", "expected"),
    [
        ("add", "i1", np.int64(0)),
        ("add", "u4", np.uint64(0)),
        ("add", "?", np.int64(0)),
        ("mul", "i2", np.int64(1)),
        ("min", "i1", np.int8(127)),
        ("max", "i1", np.int8(-128)),
        ("max", "u1", np.uint8(0)),
        ("min", "?", np.bool_(True)),
        ("and", "i4", np.int32(-1)),
        ("first", "i4", np.int32(0)),
        ("last", "u2", np.uint16(0)),
        ("first", "c8", np.complex64(complex(NAN, 0))),
        ("min", "f4", np.float32(INF)),
        ("mean", "i4", np.float64(NAN)),
        ("mean", "f4", np.float32(NAN)),
        ("var", "c8", np.float32(NAN)),
        ("median", "f4", np.float32(NAN)),
        ("logsumexp", "f4", np.float32(-INF)),
        ("argmin", "f4", np.int64(-1)),
        ("argmax", "?", np.int64(-1)),
        ("count", "f4", np.int64(0)),
        ("any", "f4", np.bool_(False)),
        ("all", "f4", np.bool_(True)),
        ("add", "m8[s]", np.timedelta64(0, "s")),
        ("mean", "m8[s]", np.timedelta64("NaT", "s")),
        ("min", "M8[s]", np.datetime64("NaT", "s")),
        ("fmax", "m8[s]", np.timedelta64("NaT", "s")),
        ("first", "M8[s]", np.datetime64("NaT", "s")),
    ],
)
@pytest.mark.parametrize("way", ["ids", "offsets", "filtered"])
def test_empty_segments(lib, way, op, kind, expected):
    values = np.zeros(2, kind)
    if way == "ids":
        result = lib.segment_reduce(values, [0, 0], 3, op=op)[2]
    elif way == "offsets":
        result = lib.segment_reduce(values, offsets=[0, 0, 2], op=op)[0]
    else:
        mask = [True, False]
        result = lib.segment_reduce(values, [0, 1], 2, where=np.array(mask), op=op)[1]
    assert result.dtype == expected.dtype
    if kind == "c8" and op == "first":
        assert np.isnan(result)
    else:
        assert_same(np.array(result), np.array(expected))


@pytest.mark.parametrize(
    "op", ["add", "mul", "mean", "min", "first", "median", "count"]
)
def test_no_entries_and_no_segments(lib, op):
    for shape in ((0,), (0, 3)):
        values = np.zeros(shape)
        options = {"op": op}
        assert lib.segment_reduce(values, [], **options).shape == (0, *shape[1:])
        assert lib.segment_reduce(values, [], 2, **options).shape == (2, *shape[1:])
        assert lib.segment_reduce(values, offsets=[0], **options).shape[0] == 0
        assert lib.segment_reduce(values, offsets=[0, 0], **options).shape[0] == 1
        assert lib.segment_reduce(values, lengths=[], **options).shape[0] == 0
        empty = lib.segment_reduce(values, starts=[], stops=[], **options)
        assert empty.shape == (0, *shape[1:])
    nothing = lib.segment_reduce(np.zeros((2, 0)), [1, 1], op=op)
    assert nothing.shape == (2, 0)


def test_a_true_extreme_is_not_taken_for_an_empty_segment(lib):
    values = np.array([INF, 1, INF])
    out, counts = lib.segment_reduce(
        values, [0, 1, 0], 3, op="min", fill_value=-5, return_counts=True
    )
    assert out.tolist() == [INF, 1, -5] and counts.tolist() == [2, 1, 0]
    top = np.array([-128, -128], np.int8)
    filled = lib.segment_reduce(top, [0, 0], 2, op="max", fill_value=7)
    assert_same(filled, np.array([-128, 7], np.int8))
    zeros = lib.segment_reduce(np.zeros(2), [1, 1], op="add", fill_value=NAN)
    assert_same(zeros, np.array([NAN, 0]))


@pytest.mark.parametrize("way", WAYS)
def test_initial(lib, way):
    values, options = WAYS[way]
    for op, initial, expected in (
        ("add", 10, [16, 15, 10, 17]),
        ("mul", 2, [12, 8, 2, 14]),
        ("min", 2, [1, 1, 2, 2]),
        ("max", 3, [3, 4, 3, 7]),
        ("fmax", NAN, [3, 4, NAN, 7]),
    ):
        result = lib.segment_reduce(np.array(values), op=op, initial=initial, **options)
        assert_same(result, np.array(expected, float), op)
    out, arg = lib.segment_reduce(
        np.array(values), op="max", initial=3, return_arg=True, **options
    )
    wanted = {"ids": [-1, 3, -1, 5]}.get(way, [-1, 4, -1, 5])
    assert arg.tolist() == wanted and out.tolist() == [3, 4, 3, 7]


def test_arg(lib):
    values = np.array([2.0, 1, 1, NAN, 5, NAN, -0.0, 0.0, 0.0, -0.0])
    ids = [0, 0, 0, 1, 1, 1, 2, 2, 3, 3]
    for op, out, arg in (
        ("min", [1, NAN, -0.0, -0.0], [1, 3, 6, 9]),
        ("max", [2, NAN, 0.0, 0.0], [0, 3, 7, 8]),
        ("fmin", [1, 5, -0.0, -0.0], [1, 4, 6, 9]),
        ("fmax", [2, 5, 0.0, 0.0], [0, 4, 7, 8]),
        ("first", [2, NAN, -0.0, 0.0], [0, 3, 6, 8]),
        ("last", [1, NAN, 0.0, -0.0], [2, 5, 7, 9]),
    ):
        for where in ({"ids": ids}, {"lengths": [3, 3, 2, 2]}):
            result = lib.segment_reduce(values, op=op, return_arg=True, **where)
            assert_same(result[0], np.array(out), op)
            assert_same(result[1], np.array(arg), op)
            if op in ("min", "max"):
                found = lib.segment_reduce(values, op="arg" + op, **where)
                assert_same(found, np.array(arg), op)
    allnan = lib.segment_reduce(np.full(3, NAN), [1, 1, 1], op="fmin", return_arg=True)
    assert_same(allnan[0], np.array([INF, NAN]))
    assert allnan[1].tolist() == [-1, 0]


def test_arg_along_an_axis(lib):
    values = np.array([[1, 9, 3], [4, 5, 9]])
    out, arg = lib.segment_reduce(values, [1, 0, 1], axis=1, op="max", return_arg=True)
    assert out.tolist() == [[9, 3], [5, 9]] and arg.tolist() == [[1, 2], [1, 2]]
    grid = np.array([[0, 1], [1, 0]])
    out, arg = lib.segment_reduce(
        np.array([[1, 8], [2, 7]]), grid, op="max", return_arg=True
    )
    assert out.tolist() == [7, 8] and arg.tolist() == [3, 1]


def test_ids_of_several_axes_and_batches(lib):
    values = np.arange(12.0).reshape(2, 3, 2)
    ids = np.array([[0, 2, 0], [2, 2, 1]])
    whole = lib.segment_reduce(values, ids)
    assert whole.tolist() == [[4, 6], [10, 11], [16, 19]]
    batch = lib.segment_reduce(values, ids, batch_dims=1)
    assert batch.tolist() == [
        [[4, 6], [0, 0], [2, 3]],
        [[0, 0], [10, 11], [14, 16]],
    ]
    turned = values.swapaxes(1, 2)
    last = lib.segment_reduce(turned, ids, 3, batch_dims=1, axis=2, op="max")
    assert last.tolist() == [
        [[4, -INF, 2], [5, -INF, 3]],
        [[-INF, 10, 8], [-INF, 11, 9]],
    ]
    _, counts = lib.segment_reduce(values, ids, batch_dims=1, return_counts=True)
    assert counts.tolist() == [[2, 0, 1], [0, 1, 2]]


def test_gather(lib):
    table = np.array([[1.0, 2], [10, 20], [100, 200]])
    bag = lib.segment_reduce(table, gather=[2, 0, -1, 1], offsets=[0, 3, 3, 4])
    assert bag.tolist() == [[201, 402], [0, 0], [10, 20]]
    by_ids = lib.segment_reduce(table, [1, 1, 0, 1], gather=[2, 0, -1, 1], op="max")
    assert by_ids.tolist() == [[100, 200], [100, 200]]
    weighted = lib.segment_reduce(
        table, gather=[0, 1, 2], lengths=[2, 1], weights=np.array([0.5, 2.0, 3.0])
    )
    assert weighted.tolist() == [[20.5, 41], [300, 600]]
    _, arg = lib.segment_reduce(
        table[:, 0], gather=[0, 2, 1], lengths=[3], op="max", return_arg=True
    )
    assert arg.tolist() == [1]


def test_weights(lib):
    values, weights = np.array([1.0, 2, 3, 4]), np.array([1.0, 3, 0, 2])
    for where in ({"ids": [0, 0, 2, 2]}, {"offsets": [0, 2, 2, 4]}):
        added = lib.segment_reduce(values, weights=weights, **where)
        assert_same(added, np.array([7.0, 0, 8]))
        mean = lib.segment_reduce(values, weights=weights, op="mean", **where)
        assert_same(mean, np.array([1.75, NAN, 4]))
        rows = np.stack([values, values * 2], axis=1)
        mean = lib.segment_reduce(rows, weights=weights, op="mean", **where)
        assert_same(mean, np.array([[1.75, 3.5], [NAN, NAN], [4, 8]]))


def test_where_and_skipna(lib):
    values = np.array([1.0, NAN, 3, 4, NAN])
    ids = np.array([0, 0, 0, 1, 2])
    keep = np.array([True, True, True, False, True])
    for where in ({"ids": ids, "num_segments": 3}, {"lengths": [3, 1, 1]}):
        out, counts = lib.segment_reduce(
            values, skipna=True, return_counts=True, **where
        )
        assert out.tolist() == [4, 4, 0] and counts.tolist() == [2, 1, 0]
        mean = lib.segment_reduce(values, skipna=True, op="mean", **where)
        assert_same(mean, np.array([2.0, 4, NAN]))
        out, counts = lib.segment_reduce(
            values, where=keep, op="max", skipna=True, return_counts=True, **where
        )
        assert_same(out, np.array([3, -INF, -INF]))
        assert counts.tolist() == [2, 0, 0]
        out, arg = lib.segment_reduce(
            values, op="last", where=~keep, return_arg=True, **where
        )
        assert_same(out, np.array([NAN, 4, NAN]))
        assert arg.tolist() == [-1, 3, -1]
    far = np.array([0, -1, 2**62, 1])
    out = lib.segment_reduce(values[:4], far, where=np.array([1, 0, 0, 1], bool))
    assert out.tolist() == [1, 4]


def test_where_element_by_element(lib):
    values = np.arange(8.0).reshape(4, 2)
    chosen = np.array([[1, 0], [1, 1], [0, 0], [0, 1]], bool)
    for where in ({"ids": [0, 0, 1, 1]}, {"offsets": [0, 2, 4]}):
        out, counts = lib.segment_reduce(
            values, where=chosen, return_counts=True, **where
        )
        assert out.tolist() == [[2, 3], [0, 7]]
        assert counts.tolist() == [[2, 1], [0, 1]]
        mean = lib.segment_reduce(values, where=chosen, op="mean", **where)
        assert_same(mean, np.array([[1.0, 3], [NAN, 7]]))
        out, arg = lib.segment_reduce(
            values, where=chosen, op="min", return_arg=True, **where
        )
        assert_same(out, np.array([[0, 3], [INF, 7]]))
        assert arg.tolist() == [[0, 1], [-1, 3]]


def test_modes(lib):
    values, ids = np.array([1, 2, 4, 8, 16]), [0, -1, 3, 1, 5]
    for mode, expected in (
        ("drop", [1, 8, 0]),
        ("clip", [3, 8, 20]),
        ("wrap", [5, 8, 18]),
    ):
        result = lib.segment_reduce(values, ids, 3, mode=mode)
        assert_same(result, np.array(expected), mode)
    dropped = lib.segment_reduce(values, [-(2**63), 1, 0, 1, -1], mode="drop")
    assert dropped.tolist() == [4, 10]


@pytest.mark.parametrize("code", ["b", "B", "h", "H", "i", "I", "q", "Q", ">i4", ">u2"])
def test_id_dtypes(lib, code):
    ids, values = np.array([2, 0, 2, 1]).astype(code), np.array([1, 2, 4, 8])
    assert lib.segment_reduce(values, ids).tolist() == [2, 8, 5]
    offsets = np.array([0, 1, 1, 4]).astype(code)
    assert lib.segment_reduce(values, offsets=offsets).tolist() == [1, 0, 14]
    lengths, starts = np.diff(offsets).astype(code), offsets[:-1]
    assert lib.segment_reduce(values, lengths=lengths).tolist() == [1, 0, 14]
    stops = offsets[1:]
    ranges = lib.segment_reduce(values, starts=starts, stops=stops)
    assert ranges.tolist() == [1, 0, 14]


def test_ranges_that_overlap_leave_out_and_come_in_any_order(lib):
    values = np.arange(1, 9)
    out = lib.segment_reduce(values, starts=[6, 0, 2, 3], stops=[8, 4, 5, 3])
    assert out.tolist() == [15, 10, 12, 0]


def test_sums_widen(lib):
    for code, wide in (("i1", "i8"), ("u1", "u8"), ("?", "i8"), ("i8", "i8")):
        values = np.full(200, 1, code)
        for where in ({"ids": np.zeros(200, int)}, {"lengths": [200]}):
            result = lib.segment_reduce(values, **where)
            assert_same(result, np.array([200], wide))
    narrow = lib.segment_reduce(np.full(3, 100, np.int8), lengths=[3], dtype=np.int8)
    assert_same(narrow, np.array([44], np.int8))
    as_float = lib.segment_reduce(np.arange(4), lengths=[4], dtype=np.float32)
    assert_same(as_float, np.array([6], np.float32))


@pytest.mark.parametrize("name", [n for n in ("f16", "bf16") if n in DTYPES])
def test_half_types_are_rounded_once(lib, name):
    dtype = DTYPES[name]
    ones = np.ones(3000, dtype)
    for where in ({"ids": np.zeros(3000, int)}, {"offsets": [0, 3000]}):
        total = lib.segment_reduce(ones, **where)
        assert_same(total, np.array([3000]).astype(dtype))
        mean = lib.segment_reduce(ones, op="mean", **where)
        assert_same(mean, np.array([1]).astype(dtype))
    rounded = lib.segment_reduce(np.full(2, 0.1), lengths=[2], dtype=dtype)
    assert_same(rounded, np.array([0.2]).astype(np.float32).astype(dtype))


def test_order_of_sums(lib):
    terms = np.array([2.0**53, 1, 1, 1, 1, 1, 1, 1] + [1.0] * 9)
    by_ids = lib.segment_reduce(terms, np.zeros(17, int))
    assert by_ids[0] == 2.0**53  # each 1 is lost when it is added alone
    by_range = lib.segment_reduce(terms, lengths=[17])
    # Lane 0 loses its second term; 15 lanes of 1 meet it in sums of 1, 2, 4 and 8.
    assert by_range[0] == 2.0**53 + 14
    rows = np.stack([terms, terms], axis=1)
    assert lib.segment_reduce(rows, lengths=[17])[0].tolist() == [2.0**53] * 2
    blocks = np.ones(4096 * 2)
    blocks[0] = 2.0**54
    assert lib.segment_reduce(blocks, lengths=[8192])[0] == 2.0**54 + 3840 + 4096


def test_signed_zeros_of_sums(lib):
    zeros = np.array([-0.0, -0.0])
    assert_same(lib.segment_reduce(zeros, lengths=[2]), np.array([-0.0]))
    assert_same(lib.segment_reduce(zeros, [0, 0]), np.array([0.0]))
    left_out = lib.segment_reduce(zeros, lengths=[2], where=np.array([True, False]))
    assert_same(left_out, np.array([-0.0]))
    assert_same(lib.segment_reduce(zeros, lengths=[0, 2]), np.array([0.0, -0.0]))


def test_compensated(lib):
    terms = np.array([1e16, 1.0, -1e16, 1.0])
    for where in ({"ids": [0] * 4}, {"lengths": [4]}):
        assert lib.segment_reduce(terms, compensated=True, **where).tolist() == [2.0]
        mean = lib.segment_reduce(terms, op="mean", compensated=True, **where)
        assert mean.tolist() == [0.5]


def test_variance(lib):
    values = np.array([1e9 + 1, 1e9 + 2, 1e9 + 3, 5.0])
    for where in ({"ids": [0, 0, 0, 1]}, {"lengths": [3, 1]}):
        for ddof, expected in ((0, [2 / 3, 0]), (1, [1, NAN]), (3, [NAN, NAN])):
            result = lib.segment_reduce(values, op="var", ddof=ddof, **where)
            np.testing.assert_allclose(result, expected, rtol=1e-14)
    turning = np.array([1, 1j, -1, -1j], np.complex64)
    result = lib.segment_reduce(turning, [0] * 4, op="std")
    assert_same(result, np.array([1], np.float32))
    whole = lib.segment_reduce(np.array([1, 3], np.int8), [0, 0], op="var")
    assert_same(whole, np.array([1.0]))


def test_logsumexp_of_extremes(lib):
    values = np.array([1000.0, 1000, -INF, -INF, INF, 1, NAN, -1000])
    for where in ({"ids": [0, 0, 1, 1, 2, 2, 3, 4]}, {"lengths": [2, 2, 2, 1, 1]}):
        result = lib.segment_reduce(values, op="logsumexp", **where)
        expected = [1000 + np.log(2), -INF, INF, NAN, -1000]
        np.testing.assert_allclose(result, expected, rtol=1e-15)


def test_median_and_quantile(lib):
    values = np.array([5, 1, 4, 2, 9, 3])
    ids = [0, 0, 0, 0, 1, 3]
    median = lib.segment_reduce(values, ids, op="median")
    assert_same(median, np.array([3, 9, NAN, 3]))
    result = lib.segment_reduce(values, ids, op="quantile", q=[0, 0.25, 1])
    expected = [[1, 9, NAN, 3], [1.75, 9, NAN, 3], [5, 9, NAN, 3]]
    assert_same(result, np.array(expected))
    one = lib.segment_reduce(values, ids, op="quantile", q=0.25)
    assert_same(one, np.array(expected[1]))
    poisoned = lib.segment_reduce(np.array([1.0, NAN, 3]), [0, 0, 1], op="median")
    assert_same(poisoned, np.array([NAN, 3]))
    rows = np.array([[1.0, 8], [3, 2], [2, 4]])
    assert lib.segment_reduce(rows, [0, 0, 0], op="median").tolist() == [[2, 4]]


def test_truth(lib):
    values = np.array([0.0, NAN, 0, 0, -0.0, 2])
    ids = [0, 0, 1, 1, 3, 3]
    assert_same(
        lib.segment_reduce(values, ids, op="any"), np.array([True, False, False, True])
    )
    assert_same(
        lib.segment_reduce(values, ids, op="all"), np.array([False, False, True, False])
    )


def test_times(lib):
    days = np.array(["2020-01-03", "NaT", "2020-01-01", "2019-01-01"], "M8[D]")
    nat = np.datetime64("NaT", "D")
    for where in ({"ids": [0, 1, 0, 1]},):
        smallest = lib.segment_reduce(days, op="min", **where)
        assert_same(smallest, np.array([days[2], nat]))
        largest = lib.segment_reduce(days, op="fmax", **where)
        assert_same(largest, np.array([days[0], days[3]]))
        assert lib.segment_reduce(days, op="argmax", **where).tolist() == [0, 1]
        skipped = lib.segment_reduce(days, op="min", skipna=True, **where)
        assert_same(skipped, np.array([days[2], days[3]]))
    spans = np.array([3, 4, "NaT", 5], "m8[s]")
    total = lib.segment_reduce(spans, [0, 0, 1, 1])
    assert_same(total, np.array([7, "NaT"], "m8[s]"))
    mean = lib.segment_reduce(spans, [0, 0, 1, 2], op="mean")
    assert_same(mean, np.array([3, "NaT", 5], "m8[s]"))


def test_several_ops_in_one_call(lib):
    values, ids = np.array(FOUR, np.float32), np.array(IDS)
    ops = ("add", "mean", "max", "count", "argmin")
    together = lib.segment_reduce(values, ids, op=ops)
    assert type(together) is tuple and len(together) == len(ops)
    for op, result in zip(ops, together, strict=True):
        assert_same(result, lib.segment_reduce(values, ids, op=op), op)
    outs = np.zeros(4, np.float32), np.zeros(4, np.float32)
    returned = lib.segment_reduce(values, ids, op=("min", "add"), out=outs)
    assert returned[0] is outs[0] and returned[1] is outs[1]
    assert_same(outs[1], np.array(OPS["add"], np.float32))
    (low, high), (at_low, at_high), counts = lib.segment_reduce(
        values, ids, op=("min", "max"), return_arg=True, return_counts=True
    )
    assert at_low.tolist() == [4, 1, -1, 5] and at_high.tolist() == [0, 3, -1, 5]
    assert counts.tolist() == OTHER["count"] and high[0] == 3 and low[0] == 1


def test_out(lib):
    values, ids = np.array(FOUR), np.array(IDS)
    for out in (
        np.full(4, 9.0),
        np.full(4, 9, np.float32),
        np.full((4, 2), 9.0)[:, 1],
        np.full(4, 9, ">f8"),
        np.full(5, 9.0)[::-1][:4],
    ):
        assert lib.segment_reduce(values, ids, out=out) is out
        assert out.tolist() == OPS["add"]
    counted = np.zeros(4, np.int64)
    out, counts = lib.segment_reduce(np.arange(6), ids, out=counted, return_counts=True)
    assert out is counted and counts.tolist() == OTHER["count"]
    shared = np.arange(8.0)
    total = lib.segment_reduce(shared[:4], [3, 2, 1, 0], out=shared[2:6])
    assert total.tolist() == [3, 2, 1, 0]
    assert shared.tolist() == [0, 1, 3, 2, 1, 0, 6, 7]


def test_count_needs_no_values(lib):
    assert lib.segment_reduce(None, IDS, op="count").tolist() == OTHER["count"]
    ranges = lib.segment_reduce(None, lengths=[3, 2, 0, 1], op="count")
    assert_same(ranges, np.array(OTHER["count"]))
    ranges = lib.segment_reduce(None, offsets=[0, 3, 5, 5, 6], op="count")
    assert_same(ranges, np.array(OTHER["count"]))


def test_short_names():
    values, ids = np.array(FOUR), np.array(IDS)
    for name, op in {
        "sum": "add",
        "mean": "mean",
        "min": "min",
        "max": "max",
        "prod": "mul",
    }.items():
        function = getattr(ps, f"segment_{name}")
        assert_same(function(values, ids), ps.segment_reduce(values, ids, op=op))
        ranges = function(np.array(BY_RANGE), offsets=[0, 3, 5, 5, 6])
        assert_same(ranges, np.array(OPS[op], float))
    running = ps.segment_cumsum(values, ids)
    assert_same(running, ps.segment_scan(values, ids, op="add"))
