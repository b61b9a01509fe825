"""Random segments, searched and shrunk by hypothesis, answered by the slow twin.

Addressings, axes, batches, layouts, dtypes, masks, weights, modes and awkward values
are drawn together. Sums are compared bit for bit, since their order is written down;
variances and other functions of many roundings to a few units in the last place.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pyscatter as ps
from tests import reference
from tests.cases import DTYPES, LAYOUTS, assert_same, outcome, rng_for, snapshot
from tests.families.test_properties import INDEX_DTYPES, draw_layout, draw_values

SIZES = st.integers(0, 4)
# The twin loops over elements: a quarter of the usual examples takes as long as others.
FEWER = settings(max_examples=max(settings.default.max_examples // 4, 10))
EXACT = ("add", "mul", "mean", "min", "max", "fmin", "fmax", "first", "last")
COUNTS = ("count", "any", "all", "argmin", "argmax")
ROUNDED = ("var", "std", "logsumexp", "median", "quantile")
BITS = ("and", "or", "xor")
OPS = (*EXACT, *COUNTS, *ROUNDED, *BITS)
WINNERS = ("min", "max", "fmin", "fmax", "first", "last")
QUANTILES = [0.5, 0, 1, 0.25, [0.1, 0.9], []]


def draw_ids(draw, shape, size):
    """Draw ids of any dtype and layout, now and then one beyond the last segment."""
    dtype = draw(st.sampled_from(INDEX_DTYPES))
    top = size - 1 + (draw(st.integers(0, 9)) == 0)
    n = int(np.prod(shape))
    numbers = draw(st.lists(st.integers(0, max(top, 0)), min_size=n, max_size=n))
    return draw_layout(draw, np.array(numbers, dtype).reshape(shape))


def draw_edges(draw, n):
    """Draw row pointers of n entries."""
    inner = sorted(draw(st.lists(st.integers(0, n), max_size=4)))
    return [0, *inner, n] if n or inner else [0] * draw(st.integers(1, 3))


def draw_ranges(draw, n):
    """Draw one of the three ways to say ranges of n entries."""
    kind = draw(st.sampled_from(["offsets", "lengths", "starts"]))
    dtype = draw(st.sampled_from(INDEX_DTYPES))
    if kind == "starts":
        pairs = draw(st.lists(st.tuples(st.integers(0, n), st.integers(0, n))))
        starts, stops = (np.array(c, dtype) for c in ends(pairs))
        return {"starts": draw_layout(draw, starts), "stops": stops}
    edges = np.array(draw_edges(draw, n), dtype)
    return {kind: draw_layout(draw, edges if kind == "offsets" else np.diff(edges))}


def ends(pairs):
    """Return the lower and the upper numbers of pairs."""
    return [min(p) for p in pairs], [max(p) for p in pairs]


@st.composite
def problems(draw):
    """Draw (shape of the values, options that address, the entries' shape)."""
    before = tuple(draw(st.lists(st.integers(1, 2), max_size=1)))
    rest = tuple(draw(st.lists(st.integers(1, 3), max_size=2)))
    if draw(st.booleans()):
        n = draw(st.integers(0, 20))
        where = {"axis": len(before), **draw_ranges(draw, n)}
        return (*before, n, *rest), where, (n,)
    batch = tuple(draw(st.lists(st.integers(1, 2), max_size=1)))
    entries = tuple(draw(st.lists(st.integers(0, 5), min_size=1, max_size=2)))
    size = draw(st.integers(1, 5))
    where = {
        "ids": draw_ids(draw, batch + entries, size),
        "num_segments": draw(st.sampled_from([size, size, None])),
        "axis": len(batch + before),
        "batch_dims": len(batch),
        "mode": draw(st.sampled_from(["raise", "raise", "drop", "clip", "wrap"])),
    }
    return (*batch, *before, *entries, *rest), where, batch + entries


def draw_mask(draw, shape):
    """Draw bools, most of them true."""
    n = int(np.prod(shape))
    drawn = draw(st.lists(st.sampled_from([1, 1, 0]), min_size=n, max_size=n))
    return draw_layout(draw, np.array(drawn, bool).reshape(shape))


def tame(values):
    """Return small numbers in place of values that overflow or are not finite."""
    if values.dtype.kind in "iu":
        return values % 7
    if values.dtype.kind in "fc" or values.dtype.name == "bfloat16":
        with np.errstate(all="ignore"):
            fine = np.isfinite(values) & (abs(values) < 1e3)
        return np.where(fine, values, values.dtype.type(2))
    return values


def draw_options(draw, shape, entries):
    """Draw an op and the options that go with it."""
    options = {"op": draw(st.sampled_from(OPS))}
    if draw(st.booleans()):
        options["where"] = draw_mask(draw, draw(st.sampled_from([shape, entries])))
    options["skipna"] = draw(st.sampled_from([False, False, True]))
    if options["op"] == "quantile":
        options["q"] = draw(st.sampled_from(QUANTILES))
    if options["op"] in ("var", "std"):
        options["ddof"] = draw(st.integers(0, 2))
    options["return_arg"] = options["op"] in WINNERS and draw(st.booleans())
    options["return_counts"] = draw(st.booleans())
    return options


NUMBERS = list(DTYPES.values())


@FEWER
@given(st.data(), problems())
def test_reduce(data, problem):
    draw = data.draw
    shape, where, entries = problem
    dtype = draw(st.sampled_from(NUMBERS))
    options = draw_options(draw, shape, entries)
    values = draw_values(draw, dtype, shape)
    if options["op"] in ROUNDED or (options["op"], dtype.kind) in RISKY:
        values = tame(values)
    values = draw_layout(draw, values)
    kept = [snapshot(np.asarray(a)) for a in (values, where.get("ids", 0))]
    expected = outcome(reference.segment_reduce, values, **where, **options)
    actual = outcome(ps.segment_reduce, values, **where, **options)
    assert_agreement(actual, expected, options["op"], f"{where} {options}")
    assert kept == [snapshot(np.asarray(a)) for a in (values, where.get("ids", 0))]


# Sums of whole numbers that do not fit are no matter for a mean, and products of
# complex infinities depend on what stands in empty lanes.
RISKY = {("mean", "i"), ("mean", "u"), ("mean", "c"), ("mul", "c")}


def assert_agreement(actual, expected, op, context):
    """Fail unless both raised, or all returned arrays agree."""
    if isinstance(expected, type) or isinstance(actual, type):
        # What is wrong twice has two right errors.
        both = isinstance(expected, type) and isinstance(actual, type)
        assert both, f"{actual!r} is not {expected!r}: {context}"
        return
    actual, expected = (x if isinstance(x, tuple) else (x,) for x in (actual, expected))
    for mine, right in zip(actual, expected, strict=True):
        if op in ROUNDED or (op == "mul" and right.dtype.kind == "c"):
            assert_close(mine, right, context)
        else:
            assert_same(mine, right, context)


def assert_close(actual, expected, context=""):
    """Fail unless both agree to a few units in the last place of the dtype."""
    assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape), context
    if expected.dtype.kind not in "fc" and expected.dtype.name != "bfloat16":
        assert_same(actual, expected, context)
        return
    half = {2: 0.02, 4: 1e-5, 8: 1e-5 if expected.dtype.kind == "c" else 1e-13}
    wide = complex if expected.dtype.kind == "c" else float
    np.testing.assert_allclose(
        actual.astype(wide),
        expected.astype(wide),
        rtol=half.get(expected.dtype.itemsize, 1e-13),
        atol=1e-5 if expected.dtype.itemsize < 8 else 1e-12,
        err_msg=context,
    )


@FEWER
@given(st.data(), problems())
def test_initial_weights_dtype_and_target(data, problem):
    draw = data.draw
    shape, where, entries = problem
    dtype = draw(st.sampled_from([DTYPES[n] for n in ("f16", "f32", "f64", "i16")]))
    values = draw_layout(draw, tame(draw_values(draw, dtype, shape)))
    op = draw(st.sampled_from(["add", "mean", "mul", "min", "fmax"]))
    options = {"op": op}
    choices = ["initial", "fill_value", "weights", "dtype", "compensated", "none"]
    kind = draw(st.sampled_from(choices))
    if kind == "initial" and op != "mean":
        options["initial"] = draw(st.sampled_from([0, 1, 3]))
    if kind == "fill_value":
        options["fill_value"] = draw(st.sampled_from([0, 9]))
    if kind == "weights" and op in ("add", "mean"):
        n = int(np.prod(entries))
        drawn = draw(st.lists(st.sampled_from([0, 1, 0.1, 2]), min_size=n, max_size=n))
        options["weights"] = np.array(drawn, float).reshape(entries)
    if kind == "dtype":
        options["dtype"] = draw(st.sampled_from(["f2", "f4", "f8"]))
    options["compensated"] = kind == "compensated" and op in ("add", "mean")
    expected = outcome(reference.segment_reduce, values, **where, **options)
    actual = outcome(ps.segment_reduce, values, **where, **options)
    compared = "var" if options["compensated"] else op
    assert_agreement(actual, expected, compared, f"{where} {options}")
    if isinstance(expected, np.ndarray):
        roomy = LAYOUTS[draw(st.sampled_from(["c", "sliced", "reversed", "unaligned"]))]
        out = roomy(np.zeros(expected.shape, expected.dtype))
        assert ps.segment_reduce(values, **where, **options, out=out) is out
        assert_same(np.array(out), actual)


@FEWER
@given(st.data(), problems())
def test_gather(data, problem):
    draw = data.draw
    shape, where, entries = problem
    if where.get("batch_dims") or len(entries) != 1:
        return
    axis, n = where["axis"], entries[0]
    size = draw(st.integers(1, 4))
    table_shape = (*shape[:axis], size, *shape[axis + 1 :])
    dtype = draw(st.sampled_from([DTYPES[n] for n in ("f32", "f64", "i8", "f16")]))
    table = draw_layout(draw, draw_values(draw, dtype, table_shape))
    numbers = draw(st.lists(st.integers(-size, size - 1), min_size=n, max_size=n))
    options = {"op": draw(st.sampled_from(["add", "max", "first", "count"]))}
    gather = np.array(numbers, np.int32)
    expected = outcome(
        reference.segment_reduce, table, gather=gather, **where, **options
    )
    actual = outcome(ps.segment_reduce, table, gather=gather, **where, **options)
    assert_agreement(actual, expected, options["op"], f"{where} {options}")


@FEWER
@given(st.data(), problems())
def test_running_forms_and_expansion(data, problem):
    draw = data.draw
    shape, where, _ = problem
    keys = ("ids", "offsets", "lengths")
    said = {key: where[key] for key in keys if key in where}
    if not said or where.get("batch_dims"):
        return
    said["axis"] = where["axis"]
    dtype = draw(st.sampled_from([DTYPES[n] for n in ("f32", "f64", "i8", "u16")]))
    values = draw_layout(draw, draw_values(draw, dtype, shape))
    options = {
        "op": draw(st.sampled_from(["add", "mul", "min", "max"])),
        "exclusive": draw(st.booleans()),
        "reverse": draw(st.booleans()),
    }
    expected = outcome(reference.segment_scan, values, **said, **options)
    actual = outcome(ps.segment_scan, values, **said, **options)
    assert_agreement(actual, expected, "add", f"{said} {options}")
    calm = tame(values)
    for name in ("segment_softmax", "segment_log_softmax"):
        expected = outcome(getattr(reference, name), calm, **said)
        actual = outcome(getattr(ps, name), calm, **said)
        assert_agreement(actual, expected, "var", f"{name} {said}")
    reduced = outcome(ps.segment_reduce, values, **said)
    if isinstance(reduced, np.ndarray):
        expected = reference.segment_expand(reduced, **said)
        assert_same(ps.segment_expand(reduced, **said), expected)


@FEWER
@given(st.data())
def test_bincount(data):
    draw = data.draw
    shape = tuple(draw(st.lists(st.integers(0, 6), min_size=1, max_size=2)))
    x = draw_ids(draw, shape, 6)
    options = {"minlength": draw(st.integers(0, 8))}
    if len(shape) == 2 or draw(st.booleans()):
        options["axis"] = draw(st.integers(0, len(shape) - 1))
    if draw(st.booleans()):
        rest = tuple(draw(st.lists(st.integers(1, 2), max_size=1)))
        kinds = [DTYPES[n] for n in ("f32", "f64", "i8", "c64")]
        values = draw_values(draw, draw(st.sampled_from(kinds)), shape + rest)
        options["weights"] = draw_layout(draw, values)
    if draw(st.booleans()):
        options["where"] = draw_mask(draw, shape)
    expected = outcome(reference.bincount, x, **options)
    assert_agreement(outcome(ps.bincount, x, **options), expected, "add", f"{options}")


@settings(max_examples=12)
@given(st.integers(0, 2**32), st.integers(1, 9000), st.integers(1, 2))
def test_long_sums(seed, n, width):
    rng = rng_for(seed)
    values = rng.standard_normal((n, width)) * 10.0 ** rng.integers(-8, 8, (n, 1))
    values = values.astype([np.float32, np.float64][seed % 2])
    lengths = np.diff([0, *np.sort(rng.integers(0, n, 2)), n])
    expected = reference.segment_reduce(values, lengths=lengths)
    assert_same(ps.segment_reduce(values, lengths=lengths), expected)
    ids = rng.integers(0, 3, n)
    expected = reference.segment_reduce(values, ids, 3)
    assert_same(ps.segment_reduce(values, ids, 3), expected)
    zeros = np.zeros((3, width), values.dtype)
    assert_same(ps.scatter(zeros, ids, values, op="add"), expected)


@pytest.mark.parametrize("op", EXACT)
def test_the_twin_agrees_with_numpy(op):
    rng = rng_for("twin", op)
    values = rng.integers(-9, 9, 40) / 4
    edges = [0, 7, 8, 30, 40]
    parts = [values[a:b] for a, b in zip(edges, edges[1:], strict=False)]
    function = {
        "add": np.sum,
        "mul": np.prod,
        "first": lambda x: x[0],
        "last": lambda x: x[-1],
        "fmin": np.nanmin,
        "fmax": np.nanmax,
    }.get(op, getattr(np, op, None))
    expected = [function(part) for part in parts]
    for where in ({"offsets": edges}, {"ids": np.repeat(range(4), np.diff(edges))}):
        result = reference.segment_reduce(values, op=op, **where)
        np.testing.assert_allclose(result, expected, rtol=1e-14)
