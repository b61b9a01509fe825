"""Softmax and its kin: exponentials against exact values, and sums in their order.

The exponential and the logarithm are compared with forty digits of Python's decimal
numbers; everything above them with a model in NumPy that takes these two as given, to
the last bit.
"""

import os
import subprocess
import sys
from decimal import Context, Decimal
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import pyscatter as ps
from tests.cases import DTYPES, LAYOUTS, assert_same, rng_for
from tests.segment.test_segment_determinism import check_all_ways, tree

CORE = ps._core
NAN, INF = np.nan, np.inf
TINY, LARGEST = 5e-324, np.finfo(float).max
EXACT = Context(prec=40, Emin=-999_999, Emax=999_999)
LOG2 = np.log(2)


def exp(values):
    """Return our e^x of float32 or float64."""
    return CORE.elementary("exp", values)


def log(values):
    """Return our logarithm."""
    return CORE.elementary("log", values)


# --- exponential and logarithm --------------------------------------------------------


def exponents(rng):
    """Yield arguments of the exponential: many, and hard ones."""
    yield rng.uniform(-1, 1, 3000)
    yield rng.uniform(-708, 709.7, 2000)
    yield rng.uniform(-745, -708, 2000)  # subnormal results
    halves = np.arange(-1070, 1020, 2) + 0.5  # where the rest is largest
    yield halves * LOG2 * (1 + rng.uniform(-1e-9, 1e-9, len(halves)))
    yield np.arange(-1070, 1020, 2) * LOG2  # where it is smallest
    yield rng.uniform(-1, 1, 2000) * 2.0 ** rng.integers(-1070, 0, 2000)


def positives(rng):
    """Yield arguments of the logarithm: many, and hard ones."""
    yield rng.uniform(0.5, 2, 2000)
    yield rng.uniform(1.25, 1.4143, 2000)  # where the bound is nearest
    yield np.exp(rng.uniform(-708, 709, 1000))
    yield 1 + rng.uniform(-1, 1, 1000) * 2.0 ** rng.integers(-52, -1, 1000)
    yield rng.integers(1, 2**52, 1000).view(np.float64)  # subnormal
    yield np.sqrt(0.5) * 2.0 ** np.arange(-1000, 1000, 3) * (1 + 2.0**-52)
    yield 2.0 ** np.arange(-1074, 1024, 3)


def units_off(results, exact):
    """Return how far results are from exact values, in units in the last place."""
    found = []
    for result, right in zip(results.tolist(), exact, strict=True):
        unit = Decimal(float(np.spacing(abs(float(right)))))
        found.append(float(abs(Decimal(result) - right) / unit))
    return np.array(found)


@pytest.mark.parametrize(
    ("function", "exactly", "arguments"),
    [
        pytest.param(exp, EXACT.exp, exponents, id="exp"),
        pytest.param(log, EXACT.ln, positives, id="log"),
    ],
)
def test_less_than_a_unit_off(function, exactly, arguments):
    for values in arguments(rng_for(function.__name__)):
        exact = [exactly(Decimal(value)) for value in values.tolist()]
        off = units_off(function(values), exact)
        assert off.max() < 0.9, (values[off.argmax()], off.max())


def test_special_values():
    grow = np.array([0.0, -0.0, INF, -INF, 710, 1e308, -746, -LARGEST, TINY, NAN])
    assert_same(exp(grow), np.array([1, 1, INF, 0, INF, INF, 0, 0, 1, NAN]))
    last, first = 709.782712893384, 709.7827128933841
    assert exp(np.array([last]))[0] < INF == exp(np.array([first]))[0]
    last, first = -745.1332191019411, -745.1332191019412
    assert exp(np.array([last, first])).tolist() == [TINY, 0]
    shrink = np.array([1, 0.0, -0.0, INF, -INF, -1, -TINY, NAN, -NAN])
    assert_same(log(shrink), np.array([0, -INF, -INF, INF, NAN, NAN, NAN, NAN, NAN]))
    assert np.signbit(log(np.array([1.0]))[0]) == 0
    stretch = np.zeros(200)
    stretch[70] = 1
    expected = np.full(200, -INF)
    expected[70] = 0
    assert_same(log(stretch), expected)


def test_no_step_goes_down():
    rng = rng_for("steps")
    for start in rng.uniform(-700, 700, 20):
        values = np.sort(start + rng.uniform(-1, 1, 3000))
        assert (np.diff(exp(values)) >= 0).all(), start
    for start in rng.uniform(-700, 700, 20):
        values = np.sort(np.exp(start) * rng.uniform(0.5, 2, 3000))
        assert (np.diff(log(values)) >= 0).all(), start


def test_float32_is_rounded_once():
    bits = rng_for("float32").integers(0, 2**32, 200_000, dtype=np.uint32)
    values = bits.view(np.float32)
    for function in (exp, log):
        with np.errstate(all="ignore"):
            expected = function(values.astype(float)).astype(np.float32)
        assert_same(function(values), expected)


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_every_level_has_the_same_bits(dtype):
    dtype, rng = DTYPES[dtype], rng_for("levels", dtype)
    bits = rng.integers(0, 256, 100_003 * dtype.itemsize, dtype=np.uint8)
    values = bits.view(dtype)
    values = np.concatenate((values, rng.uniform(-800, 800, 5001).astype(dtype)))
    for function in (exp, log):
        answers = set()
        for level in CORE.levels():
            CORE.force_level(level)
            result = function(values)
            answers.add(np.where(np.isnan(result), NAN, result).tobytes())
        assert len(answers) == 1, function.__name__


# --- softmax, log_softmax, logsumexp --------------------------------------------------


def chain(values):
    """Add from first to last."""
    return np.add.accumulate(values, axis=0)[-1]


def parts_of(where, n):
    """Return the entries of each segment."""
    if "ids" in where:
        ids = np.asarray(where["ids"])
        counts = np.bincount(ids)
        return np.split(np.argsort(ids, kind="stable"), np.cumsum(counts)[:-1])
    if "starts" in where:
        ends = zip(where["starts"], where["stops"], strict=True)
    else:
        edges = np.concatenate(([0], np.cumsum(where["lengths"])))
        ends = zip(edges[:-1], edges[1:], strict=True)
    rows = where.get("gather", np.arange(n))
    return [np.asarray(rows)[a:b] for a, b in ends]


def model(values, where, form):
    """Return what a form is, in float64, for entries along the first axis."""
    values = values.astype(float)
    parts = parts_of(where, len(values))
    is_laned = "ids" not in where and values[:1].size == 1
    add = (lambda x: tree(x.reshape(-1))) if is_laned else chain
    sums = np.full((len(parts), *values.shape[1:]), -INF)
    result = np.empty(values.shape)
    for s, part in enumerate(parts):
        if len(part) == 0:
            continue
        top = values[part].max(axis=0)
        shift = np.where(np.isfinite(top), top, 0) if form == "logsumexp" else top
        powers = exp(values[part] - shift)
        total = np.asarray(add(powers))
        if form == "softmax":
            result[part] = powers / total
        elif form == "log_softmax":
            result[part] = values[part] - shift - log(total)
        else:
            sums[s] = log(total) + shift
    return sums if form == "logsumexp" else result


def rounded(values, dtype):
    """Return float64 in another dtype, with one rounding.

    ml_dtypes rounds twice on the way to bfloat16, unless the first rounding is to odd.
    """
    if dtype.name != "bfloat16":
        return values.astype(dtype)
    near = values.astype(np.float32)
    near = np.where(abs(near) > abs(values), np.nextafter(near, np.float32(0)), near)
    bits = near.view(np.uint32) | (near != values)
    return np.where(np.isfinite(near), bits.view(np.float32), near).astype(dtype)


def call(form):
    """Return the function of a form."""
    if form == "logsumexp":
        return partial(ps.segment_reduce, op="logsumexp")
    return getattr(ps, f"segment_{form}")


FORMS = ("softmax", "log_softmax", "logsumexp")
LENGTHS = [3, 0, 1, 40, 16, 17, 0, 4096, 4097, 9000, 5, 5, 2]
N = sum(LENGTHS)


def places(rng):
    """Yield ways to say the segments of N entries."""
    yield {"ids": rng.integers(0, 50, N)}
    yield {"ids": np.sort(rng.integers(0, 400, N)).astype(np.int32)}
    yield {"lengths": LENGTHS}


@pytest.mark.parametrize("dtype", ["f64", "f32", "f16", "bf16", "i16", "b1"])
@pytest.mark.parametrize("form", FORMS)
@np.errstate(all="ignore")
def test_every_form_has_the_bits_of_the_model(form, dtype):
    rng, dtype = rng_for("model", form, dtype), DTYPES[dtype]
    for rest in ((), (1,), (2, 3)):
        values = (4 * rng.standard_normal((N, *rest))).astype(dtype)
        kept = np.dtype(float) if dtype.kind in "ib" else dtype
        for where in places(rng):
            expected = rounded(model(values, where, form), kept)
            assert_same(call(form)(values, **where), expected, f"{where} {rest}")


@np.errstate(all="ignore")
def test_infinities_and_nothing():
    values = np.array([1, INF, 2, -INF, -INF, NAN, 3, -INF, 4, INF, INF])
    ids = [0, 0, 1, 1, 2, 3, 3, 5, 5, 6, 6]
    for where in ({"ids": ids}, {"lengths": [2, 2, 1, 2, 0, 2, 2]}):
        for form in FORMS:
            for dtype in (float, np.float32):
                given = values.astype(dtype)
                expected = model(given, where, form).astype(dtype)
                assert_same(call(form)(given, **where), expected, f"{form} {where}")
    for form in FORMS:
        for where in (
            {"ids": np.zeros(0, int), "num_segments": 3},
            {"lengths": [0] * 3},
        ):
            result = call(form)(np.zeros((0, 2)), **where)
            shape = (3, 2) if form == "logsumexp" else (0, 2)
            assert_same(result, np.full(shape, -INF))


def test_long_segments_are_summed_in_float64():
    values = np.linspace(-1, 0, 1_000_001, dtype=np.float32)
    powers = np.exp(values.astype(float))
    for where in ({"ids": np.zeros(len(values), int)}, {"lengths": [len(values)]}):
        result = ps.segment_softmax(values, **where)
        np.testing.assert_allclose(result, powers / powers.sum(), rtol=1.2e-7)
        total = ps.segment_reduce(values, op="logsumexp", **where)
        np.testing.assert_allclose(total, np.log(powers.sum()), rtol=1.2e-7)


@pytest.mark.slow
def test_twenty_million_ones():
    ones = np.ones(20_000_000, np.float32)
    ids = np.zeros(len(ones), np.int8)
    assert (ps.segment_softmax(ones, ids) == np.float32(5e-8)).all()
    for where in ({"ids": ids}, {"lengths": [len(ones)]}):
        total = ps.segment_reduce(ones, op="logsumexp", **where)
        assert_same(total, np.array([1 + np.log(2e7)], np.float32))


def test_entries_along_any_axis():
    rng = rng_for("axes")
    values = rng.standard_normal((3, 40, 2))
    ids, lengths = rng.integers(0, 6, 40), [7, 0, 30, 3]
    for form in FORMS:
        for where in ({"ids": ids}, {"lengths": lengths}):
            by_rows = model(values.transpose(1, 0, 2), where, form).transpose(1, 0, 2)
            assert_same(call(form)(values, axis=1, **where), by_rows, f"{form} {where}")
            lines = [model(line, where, form) for line in values[:, :, 0]]
            result = call(form)(np.ascontiguousarray(values[:, :, 0]), axis=1, **where)
            assert_same(result, np.array(lines), f"{form} {where}")
        both = rng.integers(0, 6, (3, 40))
        rows = [model(v, {"ids": i}, form) for v, i in zip(values, both, strict=True)]
        result = call(form)(values, both, 6, batch_dims=1)
        if form != "logsumexp":
            assert_same(result, np.array(rows), form)
        flat = model(values.reshape(120, 2), {"ids": both.reshape(120)}, form)
        flat = flat if form == "logsumexp" else flat.reshape(values.shape)
        assert_same(call(form)(values, both), flat, form)


def test_layouts_and_plans():
    rng = rng_for("layouts")
    values, ids = (
        rng.standard_normal((300, 2)).astype(np.float32),
        rng.integers(0, 9, 300),
    )
    for form in FORMS:
        expected = call(form)(values, ids)
        assert_same(call(form)(values, ps.Plan(ids, 9)), expected)
        for name, laid in LAYOUTS.items():
            assert_same(call(form)(laid(values), laid(ids)), expected, name)
    short = ps.Plan(np.where(ids == 3, 99, ids), 9, mode="drop")
    with pytest.raises(ValueError, match="plan drops"):
        ps.segment_softmax(values, short)


def test_ranges_that_overlap_gather_or_leave_out():
    rng = rng_for("ranges")
    values, n = rng.standard_normal(9000), 9000
    starts, stops = rng.integers(0, n, (2, 60))
    starts, stops = np.minimum(starts, stops), np.maximum(starts, stops)
    where = {"starts": [*starts, 3, 3, 0], "stops": [*stops, 3, 4, n]}
    for given in (values, values.astype(np.float32), values[:, None] * [1.0, 2]):
        result = ps.segment_reduce(given, op="logsumexp", **where)
        expected = model(given, where, "logsumexp").astype(given.dtype)
        assert_same(result, expected)
        listed = {"gather": rng.integers(-50, 50, 5000), "lengths": [0, 4500, 30, 470]}
        picked = given[:50]
        result = ps.segment_reduce(picked, op="logsumexp", **listed)
        assert_same(
            result,
            ps.segment_reduce(
                picked[listed["gather"]], op="logsumexp", lengths=listed["lengths"]
            ),
        )
    mask = rng.random(n) < 0.6
    kept = np.where(mask, values, -INF)
    for place in ({"lengths": [0, 100, n - 100]}, {"ids": rng.integers(0, 30, n)}):
        result = ps.segment_reduce(values, op="logsumexp", where=mask, **place)
        assert_same(result, ps.segment_reduce(kept, op="logsumexp", **place))


def test_entries_of_many_stretches():
    rng = rng_for("stretches")
    values = rng.standard_normal(300_000).astype(np.float32)
    ids = rng.integers(0, 50, len(values))
    for form in FORMS:
        expected = model(values, {"ids": ids}, form).astype(np.float32)
        assert_same(call(form)(values, ids), expected, form)
        rows = rng.integers(-70, 70, len(values))
        if form == "logsumexp":
            options = {"op": form, "gather": rows}
            listed = ps.segment_reduce(values[:70], ids, 50, **options)
            assert_same(listed, call(form)(values[:70][rows], ids), form)


def test_far_more_segments_than_entries():
    rng, size = rng_for("few"), 100_000
    for n in (0, 1, 40, 2000):
        few = rng.integers(0, max(1, n // 2), n)
        ids = (few * 97).astype(np.uint32)
        for values in (rng.standard_normal((n, 3)), rng.standard_normal(n, np.float32)):
            for form in FORMS[:2]:
                expected = call(form)(values, few)
                assert_same(call(form)(values, ids, size), expected, f"{form} {n}")
            for initial in (None, 0.5):
                options = {"op": "logsumexp", "initial": initial}
                alone = ps.segment_reduce(values, few, **options)
                start = -INF if initial is None else initial
                expected = np.full((size, *values.shape[1:]), start, values.dtype)
                expected[np.arange(len(alone)) * 97] = alone
                result = ps.segment_reduce(values, ids, size, **options)
                assert_same(result, expected, f"{n} {initial}")
    with pytest.raises(IndexError, match="index 100000 .* .position 1 of 3 in 'ids'"):
        ps.segment_softmax(np.zeros(3), [0, size, 1], size)


def test_initial_is_a_first_entry():
    rng = rng_for("initial")
    values = rng.standard_normal((4200, 2))
    for given, initial in ((values, 0.5), (values, -INF), (values[:, 0], 9.0)):
        for lengths in ([4200], [3, 0, 4197], [4000, 100, 100]):
            ids = np.repeat(np.arange(len(lengths)), lengths)
            first = np.full((1, *given.shape[1:]), initial)
            parts = np.split(given, np.cumsum(lengths)[:-1])
            longer = np.concatenate([x for part in parts for x in (first, part)])
            expected = ps.segment_reduce(
                longer, lengths=np.add(lengths, 1), op="logsumexp"
            )
            for where in ({"ids": ids}, {"lengths": lengths}):
                result = ps.segment_reduce(
                    given, op="logsumexp", initial=initial, **where
                )
                np.testing.assert_allclose(result, expected, rtol=1e-14)
    empty = ps.segment_reduce(values[:0], [], 2, op="logsumexp", initial=3)
    assert_same(empty, np.full((2, 2), 3.0))


def test_a_named_dtype_is_summed_in():
    values = rng_for("dtype").standard_normal(3000)
    narrow = values.astype(np.float32)
    for where in ({"ids": np.zeros(3000, int)}, {"lengths": [3000]}):
        result = ps.segment_reduce(values, op="logsumexp", dtype=np.float32, **where)
        powers = exp(narrow - narrow.max())
        add = np.add.accumulate if "ids" in where else (lambda x: [tree(x)])
        expected = log(np.array([add(powers)[-1]])) + narrow.max()
        assert_same(result, expected)
    long, ids = values.astype("g"), np.zeros(3000, int)
    for form in FORMS:
        with pytest.raises(TypeError, match="not defined for dtype"):
            call(form)(long, ids)
    expected = ps.segment_reduce(values, ids, op="logsumexp")
    for dtype in (float, complex):
        result = ps.segment_reduce(long, ids, op="logsumexp", dtype=dtype)
        assert_same(result, expected.astype(dtype))


@pytest.mark.parametrize("form", FORMS)
def test_the_same_bits_in_every_way(form):
    rng = rng_for("ways", form)
    for values in (
        rng.standard_normal(60_000).astype(np.float32),
        rng.standard_normal((20_000, 3)),
    ):
        ids = rng.integers(0, 700, len(values))
        check_all_ways(partial(call(form), values, ids), form)
        edges = np.sort(rng.integers(0, len(values) // 2, 699))
        offsets = np.concatenate(([0], edges, [len(values)]))
        check_all_ways(partial(call(form), values, offsets=offsets), form)


# --- the CPU that NumPy sees ----------------------------------------------------------

DIGESTS = """
import hashlib, sys, numpy as np
sys.path.insert(0, {root!r})
import pyscatter as ps
rng = np.random.default_rng(5)
x, ids = rng.standard_normal((2000, 2)), rng.integers(0, 40, 2000)
turning, weights = x[:, 0] + 1j * x[:, 1], x[:, 1] - 1j * x[:, 0]
for values in (x, x.astype(np.float32), x.astype(np.float16)):
    for where in ({{"ids": ids}}, {{"lengths": [10, 500, 1490]}}):
        for result in (
            ps.segment_softmax(values, **where),
            ps.segment_log_softmax(values, **where),
            ps.segment_reduce(values, op="logsumexp", **where),
            ps.segment_reduce(turning, weights=weights, **where),
            ps.segment_reduce(turning, weights=weights, compensated=True, **where),
            ps.segment_reduce(turning, weights=weights, op="mean", **where),
        ):
            print(hashlib.sha256(result.tobytes()).hexdigest())
"""


def test_the_same_bits_whatever_numpy_makes_of_the_cpu():
    root = str(Path(ps.__file__).resolve().parent.parent)
    core = getattr(np, "_core", None) or np.core
    features = " ".join(core._multiarray_umath.__cpu_dispatch__)
    answers = set()
    for disabled in ("", features):
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", DIGESTS.format(root=root)],
            env={**os.environ, "NPY_DISABLE_CPU_FEATURES": disabled},
            capture_output=True,
            text=True,
            check=True,
        )
        answers.add(done.stdout)
    assert len(answers) == 1
    assert len(answers.pop().split()) == 36


# --- nothing is trusted ---------------------------------------------------------------


def test_every_number_of_an_index_is_checked():
    values = np.zeros(4)
    power = {"op": "logsumexp"}
    for place in (
        {"starts": [3], "stops": [2]},
        {"starts": [0, -1], "stops": [2, 4]},
        {"starts": [0, 2], "stops": [2, 5]},
        {"offsets": [0, 3, 2, 4]},
    ):
        with pytest.raises(ValueError, match=r"\[\d\] is .*position"):
            ps.segment_reduce(values, **power, **place)
    for offsets in ([0, 3], [1, 4], [0, 5], [0, 3, 1, 4], []):
        with pytest.raises(ValueError, match="offsets"):
            ps.segment_softmax(values, offsets=offsets)
    for ids, words in (([0, 2, 0, 0], "index 2 .* size 2 .position 1 of 4 in 'ids'"),):
        with pytest.raises(IndexError, match=words):
            ps.segment_softmax(values, ids, 2)
    for bad in (4, -5):
        rows = np.array([0, 1, 2, bad])
        for place in ({"ids": np.zeros(4, int)}, {"lengths": [4]}):
            with pytest.raises(IndexError, match=f"index {bad} .*'gather'"):
                ps.segment_reduce(values, gather=rows, **power, **place)


def test_arguments_that_do_not_go_together():
    ids = np.zeros(4, int)
    for error, values, options in (
        (TypeError, np.zeros(4), {"ids": ids, "offsets": [0, 4]}),
        (TypeError, np.zeros(4), {}),
        (np.exceptions.AxisError, np.zeros(4), {"ids": ids, "axis": 1}),
        (ValueError, np.zeros(4), {"ids": ids[:3]}),
        (ValueError, np.zeros(4), {"ids": ids, "num_segments": -1}),
        (TypeError, np.zeros(4), {"ids": ids * 1.0}),
        (ValueError, np.zeros(4), {"ids": ids[:, None]}),
        (TypeError, np.zeros(4, complex), {"ids": ids}),
        (TypeError, np.zeros(4, "M8[s]"), {"ids": ids}),
        (TypeError, np.zeros(4, "g"), {"ids": ids}),
        (TypeError, np.zeros(4, object), {"ids": ids}),
        (TypeError, np.zeros(4), {"ids": ids, "initial": 0.0}),
    ):
        for function in (ps.segment_softmax, ps.segment_log_softmax):
            with pytest.raises(error):
                function(values, **options)
    for name, values in (("tan", np.zeros(2)), ("exp", np.zeros(2, int))):
        with pytest.raises(TypeError):
            CORE.elementary(name, values)


@pytest.mark.parametrize("size", [3, 5000])
def test_an_initial_zero_has_one_sign(size):
    options = {"op": "logsumexp", "initial": -0.0}
    result = ps.segment_reduce(np.array([1.0]), np.array([1]), size, **options)
    assert not np.signbit(result).any()
