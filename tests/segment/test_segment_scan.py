"""Running forms: every kernel, every border, every way, against the slow twin.

Small problems are answered by the twin, which loops over elements; large ones by the
running forms that NumPy has of each segment alone, whose order is the same.
"""

from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pyscatter as ps
from tests import reference
from tests.cases import (
    DTYPES,
    LAYOUTS,
    assert_same,
    assert_same_outcome,
    outcome,
    random_values,
    rng_for,
)
from tests.families.test_properties import INDEX_DTYPES, draw_layout, draw_values
from tests.segment.test_segment_properties import FEWER

CORE = ps._core
OPS = ("add", "mul", "min", "max", "fmin", "fmax", "and", "or", "xor")
WAYS = [dict(exclusive=e, reverse=r) for e, r in product((False, True), repeat=2)]
JOINS = {"add": np.add, "mul": np.multiply, "min": np.minimum, "fmax": np.fmax}
# Blocks hold 2,048 entries, offsets are read 512 at a time.
BORDERS = (1, 2047, 2048, 2049, 4096, 4097, 6200)


def kernel_rows():
    """Return (op, dtype, isa) of the kernels of running forms."""
    return sorted({row[1:4] for row in CORE.kernels() if row[0] == "scan"})


def said_of(rng, n, groups):
    """Return the same segments said by ids, in and out of order, and by ranges."""
    ids = np.sort(rng.integers(0, groups, n))
    lengths = np.bincount(ids, minlength=groups)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    order = rng.permutation(n)
    sorted_ids = [{"ids": ids}, {"offsets": offsets}, {"lengths": lengths}]
    return sorted_ids, {"ids": ids[order].astype(np.int32)}, order


@cache
def kernel_cases(op, stored):
    """Values, options and what the twin makes of them: the same for every level."""
    rng = rng_for("scan", op, stored)
    cases = []
    for tail, way in product(((), (3,), (17,)), WAYS):
        values = random_values(rng, DTYPES[stored], (40, *tail))
        ordered, mixed, _ = said_of(rng, 40, 9)
        for said in (*ordered, mixed):
            options = {**said, **way, "op": op}
            expected = outcome(reference.segment_scan, values, **options)
            cases.append((values, options, expected))
    return cases


@pytest.mark.parametrize(("op", "dtype", "isa"), kernel_rows())
def test_every_kernel(op, dtype, isa):
    CORE.force_level(isa)
    times = ("timedelta",) if op == "add" else ("datetime", "timedelta")
    for stored in times if dtype == "t64" else (dtype,):
        for values, options, expected in kernel_cases(op, stored):
            result = outcome(ps.segment_scan, values, **options)
            assert_same_outcome(result, expected, f"{stored} {values.shape} {options}")


@FEWER
@given(st.data())
def test_all_options(data):
    draw = data.draw
    n, tail = draw(st.integers(0, 12)), draw(st.sampled_from([(), (1,), (2,)]))
    dtype = draw(st.sampled_from(list(DTYPES.values())))
    values = draw_layout(draw, draw_values(draw, dtype, (n, *tail)))
    numbers = st.lists(st.sampled_from([0, 0, 1, 2, 100]), min_size=n, max_size=n)
    index = np.array(draw(numbers), draw(st.sampled_from(INDEX_DTYPES)))
    said = {"ids": draw_layout(draw, index)}
    if draw(st.booleans()):
        cuts = sorted(draw(st.lists(st.integers(0, n), max_size=4)))
        said = {"offsets": draw_layout(draw, np.array([0, *cuts, n], index.dtype))}
    options = {
        "op": draw(st.sampled_from(OPS)),
        "exclusive": draw(st.booleans()),
        "reverse": draw(st.booleans()),
        "dtype": draw(st.sampled_from([None, None, "i2", "u4", "f2", "f4", "f8"])),
    }
    result = outcome(ps.segment_scan, values, **said, **options)
    if isinstance(result, type):  # what no type has, the twin need not know
        assert issubclass(result, TypeError), f"{said} {options}"
        return
    expected = outcome(reference.segment_scan, values, **said, **options)
    assert_same(result, expected, f"{values!r} {said} {options}")


def alone(values, ids, op, exclusive, reverse, start):
    """Join each segment alone, by NumPy."""
    result = np.empty_like(values)
    order = np.argsort(ids, kind="stable")
    borders = np.flatnonzero(np.diff(ids[order])) + 1
    for at in np.split(order, borders) if len(ids) else []:
        at = at[::-1] if reverse else at
        running = JOINS[op].accumulate(values[at], axis=0)
        if exclusive:
            running = np.concatenate([np.full_like(running[:1], start), running[:-1]])
        result[at] = running
    return result


@pytest.mark.parametrize("n", BORDERS)
def test_borders_of_blocks(n):
    rng = rng_for("borders", n)
    for name, tail, groups in product(("f32", "f64", "i64"), ((), (5,)), (1, 3, 600)):
        values = random_values(rng, DTYPES[name], (n, *tail), special=False)
        ordered, mixed, order = said_of(rng, n, groups)
        ids = ordered[0]["ids"]
        for way in WAYS:
            op = "add" if name != "i64" else "mul"
            start = 1 if op == "mul" else 0
            expected = alone(values, ids, op, **way, start=start)
            for said in ordered:
                result = ps.segment_scan(values, **said, **way, op=op)
                assert_same(result, expected, f"{name} {tail} {groups} {way}")
            expected = alone(values, mixed["ids"], op, **way, start=start)
            result = ps.segment_scan(values, **mixed, **way, op=op)
            assert_same(result, expected, f"{name} {tail} {groups} {way}")
        assert order.size == n


@pytest.mark.parametrize("name", ["i8", "u16", "i32", "b1", "f16"])
def test_blocks_that_are_packed(name):
    """Narrow types are widened on their way in and narrowed on their way out."""
    rng = rng_for("packed", name)
    values = random_values(rng, DTYPES[name], 10_000)
    ids = rng.integers(0, 50, len(values))
    for op, way in product(("min", "fmax"), WAYS):
        start = reference.segment_folds.identity(op, values.dtype)
        result = ps.segment_scan(values, ids, op=op, **way)
        expected = alone(values, ids, op, **way, start=start)
        some = expected != 0  # of equal zeros NumPy keeps either
        assert result.dtype == values.dtype
        assert_same(result[some], expected[some], f"{op} {way}")
        assert (result[~some] == 0).all()


def test_any_numbers_are_ids():
    rng = rng_for("any numbers")
    small = rng.integers(0, 4, 700)
    values = rng.standard_normal(700)
    expected = ps.segment_scan(values, small)
    for dtype in INDEX_DTYPES:
        assert_same(ps.segment_scan(values, small.astype(dtype)), expected)
    tops = {
        np.int32: [5, 2**31 - 1, 2**31 - 2, 0],
        np.int64: [2**63 - 1, 2**63 - 2, 0, 2**40],
        np.uint64: [2**64 - 1, 2**64 - 2, 2**63, 2**63 - 1],
    }
    for dtype, numbers in tops.items():
        for some in (1, 20, 700):
            ids = np.array(numbers, dtype)[small[:some]]
            result = ps.segment_scan(values[:some], ids)
            assert_same(result, expected[:some], f"{numbers} {some}")


def test_bits_of_every_level_and_number_of_threads():
    rng = rng_for("ways")
    problems = []
    for n, tail in ((60_000, ()), (5_000, (300,)), (30_000, (7,))):
        values = rng.standard_normal((n, *tail)).astype(np.float32)
        ordered, mixed, _ = said_of(rng, n, 900)
        problems += [(values, said) for said in (*ordered[:2], mixed)]
    for (values, said), way in product(problems, WAYS):
        results = []
        for level, threads in product(CORE.levels(), (1, 2, 7)):
            CORE.force_level(level)
            with ps.num_threads(threads):
                results.append(ps.segment_scan(values, **said, **way).tobytes())
        assert len(set(results)) == 1, f"{values.shape} {list(said)} {way}"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layout_never_changes_bits(layout):
    rng = rng_for("layout")
    values = rng.standard_normal((3000, 3)).astype(np.float32)
    for said in ({"ids": rng.integers(0, 40, 3000)}, {"offsets": [0, 5, 5, 3000]}):
        expected = ps.segment_scan(values, **said)
        laid = {key: LAYOUTS[layout](np.asarray(x)) for key, x in said.items()}
        assert_same(ps.segment_scan(LAYOUTS[layout](values), **laid), expected)


def test_a_segment_starts_from_its_first_entry():
    zeros = np.array([-0.0, -0.0, 0.0])
    for said in ({"ids": [4, 4, 4]}, {"lengths": [3]}):
        assert np.signbit(ps.segment_scan(zeros, **said)).tolist() == [1, 1, 0]
        before = ps.segment_scan(zeros, **said, exclusive=True)
        assert np.signbit(before).tolist() == [0, 1, 1]
        nothing = np.array([np.nan, np.nan])
        ids = {key: [4, 4] if key == "ids" else [2] for key in said}
        first = ps.segment_scan(nothing, **ids, op="fmin", exclusive=True)
        assert_same(first, np.array([np.inf, np.nan]))


def test_complex_products_are_those_of_a_loop():
    rng = rng_for("complex")
    values = (rng.standard_normal((2, 3000)) * 1.1).astype(np.float32)
    values = values[0] + 1j * values[1]
    running = ps.segment_scan(values, np.zeros(3000, int), op="mul")
    re, im = values[0].real, values[0].imag
    for z, result in zip(values[1:60], running[1:60], strict=True):
        re, im = re * z.real - im * z.imag, re * z.imag + im * z.real
        assert (re, im) == (result.real, result.imag)


def test_plans():
    ids = np.array([2, 0, 2, 1])
    values = np.arange(4.0)
    expected = ps.segment_scan(values, ids)
    assert_same(ps.segment_scan(values, ps.Plan(ids, 3)), expected)
    square = ps.Plan(ids.reshape(2, 2), 3)
    result = ps.segment_scan(values.reshape(2, 2), square)
    assert_same(result, expected.reshape(2, 2))
    with pytest.raises(ValueError, match="the plan drops entries"):
        ps.segment_scan(values, ps.Plan([0, 5, 1, 1], 3, mode="drop"))
    with pytest.raises(IndexError, match="negative"):
        ps.segment_scan(values, ps.Plan([0, -1, 1, 1], 3))


def test_what_is_no_call():
    values, ids = np.ones(3), np.array([0, 1, 0])
    for error, arguments in (
        (TypeError, {"ids": np.array([0.5, 1, 2])}),
        (ValueError, {"ids": np.zeros((3, 1), int)}),
        (ValueError, {"ids": ids[:2]}),
        (TypeError, {"ids": ids, "offsets": [0, 3]}),
        (TypeError, {}),
        (ValueError, {"ids": ids, "op": "mode"}),
        (ValueError, {"ids": ids, "op": "mean"}),
        (ValueError, {"ids": ids, "op": "first"}),
        (TypeError, {"ids": ids, "op": np.subtract}),
        (TypeError, {"ids": ids, "dtype": "S3"}),
        (TypeError, {"ids": ids, "dtype": object}),
        (TypeError, {"ids": ids, "op": "xor"}),
        (TypeError, {"ids": ids, "exclusive": 1}),
        (TypeError, {"ids": ids, "where": True}),
        (np.exceptions.AxisError, {"ids": ids, "axis": 1}),
        (IndexError, {"ids": np.array([0, -1, 0])}),
    ):
        with pytest.raises(error):
            ps.segment_scan(values, **arguments)
    for offsets in (
        [0, 2],
        [1, 3],
        [0, 4, 3],
        [0, 2, 1, 3],
        [0, -1, 3],
        [0, 2**60],
        [],
    ):
        with pytest.raises(ValueError, match="offsets"):
            ps.segment_scan(values, offsets=np.array(offsets, int))


@pytest.mark.parametrize("offset", [5, -3])
def test_a_lone_offset_is_nought(offset):
    with pytest.raises(ValueError, match="offsets"):
        ps.segment_scan(np.empty(0), offsets=np.array([offset]))
    assert ps.segment_scan(np.empty(0), offsets=[0]).shape == (0,)
