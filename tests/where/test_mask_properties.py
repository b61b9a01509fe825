"""Random conditions and masks, searched by hypothesis, answered by the twins.

Shapes that broadcast in three ways, layouts, dtypes, ops, packed values, targets and
shared memory are drawn together. PYSCATTER_TESTS=quick, full or nightly says for how
long.
"""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import pyscatter as ps
from tests import reference
from tests.cases import (
    DTYPES,
    LAYOUTS,
    MOVED_DTYPES,
    WRITABLE_LAYOUTS,
    assert_same,
    assert_same_outcome,
    outcome,
    snapshot,
)
from tests.families.test_properties import (
    OPS,
    POOLS,
    SHAPES,
    draw_layout,
    draw_values,
    windows,
)
from tests.nonzero.test_nonzero import assert_same_results

ALL_DTYPES = [*DTYPES.values(), *MOVED_DTYPES.values()]
NUMBERS = [DTYPES[name] for name in DTYPES if "time" not in name]
WEAK = [0, 1, -1, 3, 255, 256, 2**40, True, 1.5, float("nan"), 1e300, 1j]


def draw_mask(draw, shape):
    """Draw an array of bools of any layout, its bytes not only 0 and 1."""
    n = int(np.prod(shape))
    octets = st.sampled_from([0, 0, 1, 1, 2, 255])
    drawn = draw(st.lists(octets, min_size=n, max_size=n))
    mask = np.array(drawn, np.uint8).view(bool).reshape(shape)
    return draw_layout(draw, mask)


def draw_part(draw, shape):
    """Draw a shape that broadcasts to `shape`."""
    kept = shape[draw(st.integers(0, len(shape))) :]
    return tuple(draw(st.sampled_from([size, size, 1])) for size in kept)


def draw_branch(draw, shape, dtype):
    """Draw x or y: an array that broadcasts, or now and then a Python number."""
    if draw(st.integers(0, 4)) == 0:
        return draw(st.sampled_from(WEAK))
    values = draw_values(draw, dtype, draw_part(draw, shape))
    return draw_layout(draw, values)


@given(st.data())
def test_where(data):
    draw = data.draw
    shape = draw(SHAPES)
    dtype = draw(st.sampled_from(NUMBERS))
    other = draw(st.sampled_from([dtype, dtype, *NUMBERS]))
    if draw(st.booleans()):
        condition = draw_mask(draw, draw_part(draw, shape))
    else:
        kind = draw(st.sampled_from(NUMBERS))
        part = draw_part(draw, shape)
        condition = draw_layout(draw, draw_values(draw, kind, part))
    x, y = draw_branch(draw, shape, dtype), draw_branch(draw, shape, other)
    options = {}
    if draw(st.booleans()):
        options["dtype"] = draw(st.sampled_from(NUMBERS))
        options["casting"] = draw(st.sampled_from(["same_kind", "safe", "equiv"]))
    kept = [snapshot(np.asarray(array)) for array in (condition, x, y)]
    expected = outcome(reference.where, condition, x, y, **options)
    actual = outcome(ps.where, condition, x, y, **options)
    if isinstance(expected, type):
        assert isinstance(actual, type)  # what is wrong twice has two right errors
    else:
        assert_same_outcome(actual, expected)
    assert kept == [snapshot(np.asarray(array)) for array in (condition, x, y)]


@given(st.data())
def test_where_into_a_target(data):
    draw = data.draw
    shape = draw(SHAPES)
    dtype = draw(st.sampled_from(ALL_DTYPES))
    condition = draw_mask(draw, draw_part(draw, shape))
    layout = st.sampled_from(WRITABLE_LAYOUTS)
    out = LAYOUTS[draw(layout)](draw_values(draw, dtype, shape))
    x = draw_layout(draw, draw_values(draw, dtype, draw_part(draw, shape)))
    y = out if draw(st.booleans()) else draw_values(draw, dtype, shape)
    x, y = (x, y) if draw(st.booleans()) else (y, x)
    twin = np.array(out, dtype, subok=False)
    expected = outcome(
        reference.where,
        *(condition, *(twin.copy() if v is out else v for v in (x, y))),
        out=twin,
    )
    actual = outcome(ps.where, condition, x, y, out=out)
    assert isinstance(expected, type) or actual is out
    if isinstance(expected, type):
        assert actual is expected
    assert_same(np.array(out, dtype, subok=False), twin)


@st.composite
def masked_problems(draw):
    """Draw (shape of a, mask): whole, prefix, broadcast, or now and then wrong."""
    shape = draw(SHAPES)
    kind = draw(st.sampled_from(["whole", "prefix", "broadcast", "any"]))
    own = shape
    if kind == "prefix":
        own = shape[: draw(st.integers(0, len(shape)))]
    elif kind == "broadcast":
        own = tuple(draw(st.sampled_from([size, 1])) for size in shape)
    elif kind == "any":
        own = draw(SHAPES)
    return shape, draw_mask(draw, own)


@given(st.data(), masked_problems())
def test_scatter_where(data, problem):
    draw = data.draw
    shape, mask = problem
    dtype = draw(st.sampled_from(ALL_DTYPES))
    a = draw_layout(draw, draw_values(draw, dtype, shape), tuple(WRITABLE_LAYOUTS))
    options = {"op": draw(st.sampled_from(OPS)), "packed": draw(st.booleans())}
    values_shape = draw_part(draw, shape)
    if options["packed"]:
        found = outcome(reference.gather_where, np.zeros(shape), mask)
        values_shape = () if isinstance(found, type) else found.shape
        values_shape = draw(st.sampled_from([values_shape] * 3 + [(), (2,)]))
    other = draw(st.sampled_from([dtype, dtype, dtype, *NUMBERS]))
    values = draw_layout(draw, draw_values(draw, other, values_shape))
    if draw(st.integers(0, 5)) == 0:
        values = draw(st.sampled_from(WEAK))

    expected = outcome(reference.scatter_where, a, mask, values, **options)
    actual = outcome(ps.scatter_where, a, mask, values, **options)
    assert_agreement(actual, expected)
    twin = np.array(a, dtype, subok=False)
    expected = outcome(
        reference.scatter_where, twin.copy(), mask, values, out=twin, **options
    )
    actual = outcome(ps.scatter_where, a, mask, values, out=a, **options)
    assert isinstance(actual, type) or actual is a
    assert isinstance(actual, type) == isinstance(expected, type)
    assert_same(np.array(a, dtype, subok=False), twin)


def assert_agreement(actual, expected):
    """Fail unless both calls failed, for whatever reason, or gave the same bits."""
    if isinstance(actual, type) or isinstance(expected, type):
        failed = isinstance(actual, type) and isinstance(expected, type)
        assert failed, f"{actual!r} is not {expected!r}"
        return
    assert_same(actual, expected)


@given(st.data(), masked_problems())
def test_gather_where(data, problem):
    shape, mask = problem
    dtype = data.draw(st.sampled_from(ALL_DTYPES))
    a = draw_layout(data.draw, draw_values(data.draw, dtype, shape))
    axis = data.draw(st.sampled_from([None, None, 0, -1, 1]))
    if axis is not None and -len(shape) <= axis < len(shape):
        mask = draw_mask(data.draw, (shape[axis],))
    expected = outcome(reference.gather_where, a, mask, axis)
    assert_agreement(outcome(ps.gather_where, a, mask, axis), expected)


@given(st.data())
def test_shared_memory(data):
    draw = data.draw
    memory = np.arange(24) % 5
    n = draw(st.integers(1, 6))
    a, values, out = (draw(windows(memory, n)) for _ in range(3))
    mask = (np.arange(24) % 3 == 0)[draw(st.integers(0, 10)) :][:n]
    op = draw(st.sampled_from(["set", "add", "first", "max", "xor", "sub"]))
    condition = draw(windows(memory, n))
    before = memory.copy()
    updated = reference.scatter_where(a.copy(), mask, values.copy(), op=op)
    chosen = reference.where(condition.copy(), a.copy(), values.copy())
    ps.scatter_where(a, mask, values, op=op, out=out)
    assert_same(out.copy(), updated, f"scatter_where {op}")
    memory[:] = before
    ps.where(condition, a, values, out=out)
    assert_same(out.copy(), chosen, "where")
    memory[:] = before
    flags = memory.view(np.uint8)[::8].view(bool)[:n]
    updated = reference.scatter_where(a.copy(), flags.copy(), values.copy(), op=op)
    ps.scatter_where(a, flags, values, op=op, out=a)
    assert_same(a.copy(), updated, f"mask of the same memory {op}")


@given(st.data())
def test_positions(data):
    draw = data.draw
    shape = draw(st.lists(st.integers(0, 4), max_size=4).map(tuple))
    dtype = draw(st.sampled_from(list(POOLS)))
    a = draw_layout(draw, draw_values(draw, dtype, shape))
    options = {}
    if draw(st.booleans()):
        options["size"] = draw(st.integers(0, 40))
        options["fill_value"] = draw(st.integers(-3, 3))
    for name in ("nonzero", "flatnonzero", "argwhere"):
        expected = outcome(getattr(reference, name), a, **options)
        actual = outcome(getattr(ps, name), a, **options)
        assert_same_results(actual, expected, name)
    axes = st.integers(-len(shape), len(shape) - 1) if shape else st.none()
    axis = draw(st.none() | axes | st.lists(axes, max_size=3).map(tuple))
    if isinstance(axis, tuple) and None in axis:
        axis = ()
    options = {"axis": axis, "keepdims": draw(st.booleans())}
    expected = outcome(reference.count_nonzero, a, **options)
    actual = outcome(ps.count_nonzero, a, **options)
    assert_same_results(actual, expected, "count_nonzero")


@given(st.data(), masked_problems())
def test_what_was_packed_is_what_is_gathered(data, problem):
    shape, mask = problem
    a = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    taken = outcome(ps.gather_where, a, mask)
    if isinstance(taken, type):
        return
    assert_same(ps.scatter_where(a, mask, taken, packed=True), a)
    result = ps.scatter_where(a, mask, taken + 1, packed=True)
    assert_same(ps.gather_where(result, mask), taken + 1)
    assert_same(ps.scatter_where(result, mask, 1, op="sub"), a)
