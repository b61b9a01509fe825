"""Random problems, searched and shrunk by hypothesis, answered by the slow twin.

Shapes, axes, batches, strides, byte orders, alignments, dtypes, duplicates, modes,
masks, casting and shared memory are drawn together, so that combinations that nobody
thought of are met. PYSCATTER_TESTS=quick, full or nightly says for how long.
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
    outcome,
    random_values,
    rng_for,
    snapshot,
)

OPS = "set add sub mul div floor_div min max fmin fmax mean and or xor first".split()
MODES = ("raise", "drop", "clip", "wrap")
INDEX_DTYPES = [np.dtype(code) for code in "bBhHiIqQ"]
SIZES = st.integers(0, 4)
SHAPES = st.lists(SIZES, max_size=3).map(tuple)
SOME_SHAPES = st.lists(SIZES, min_size=1, max_size=3).map(tuple)
AWKWARD = [0.0, -0.0, 1.0, -1.0, 0.1, 3.0, 1e30, -1e-30, np.inf, -np.inf, np.nan]


def pool(dtype):
    """Return a few awkward values of a dtype; few, so that they meet each other."""
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return np.array([0, 1, 2, 3, info.max // 2, info.min, info.max], dtype)
    if dtype.kind in "mM":
        return np.array([0, 5, -7, np.iinfo(np.int64).min]).astype(dtype)
    if dtype.kind in "fc" or dtype.name == "bfloat16":
        with np.errstate(all="ignore"):
            reals = np.array(AWKWARD, np.float64).astype(dtype)
            return reals * dtype.type(1j) + reals[::-1] if dtype.kind == "c" else reals
    return random_values(rng_for(dtype.str), dtype, 5)


POOLS = {dtype: pool(dtype) for dtype in (*DTYPES.values(), *MOVED_DTYPES.values())}


def draw_values(draw, dtype, shape):
    """Draw an array of awkward values."""
    n = int(np.prod(shape))
    picks = st.integers(0, len(POOLS[dtype]) - 1)
    picked = draw(st.lists(picks, min_size=n, max_size=n))
    return POOLS[dtype][np.array(picked, int)].reshape(shape)


def draw_layout(draw, array, layouts=tuple(LAYOUTS)):
    """Draw a view with these contents in some layout."""
    return LAYOUTS[draw(st.sampled_from(layouts))](np.asarray(array))


def draw_index(draw, shape, size, mode):
    """Draw positions on an axis of `size`; now and then one is out of bounds."""
    dtype = draw(st.sampled_from(INDEX_DTYPES))
    info = np.iinfo(dtype)
    inside = (-size, size - 1) if mode == "raise" and draw(st.booleans()) else (-9, 9)
    low, high = max(info.min, inside[0]), max(inside[1], max(info.min, inside[0]))
    n = int(np.prod(shape))
    numbers = draw(st.lists(st.integers(low, high), min_size=n, max_size=n))
    return draw_layout(draw, np.array(numbers, dtype).reshape(shape))


@st.composite
def axis_problems(draw, mode):
    """Draw (stem, shape of a, index, options, shape of the values, of the entries)."""
    shape = draw(SOME_SHAPES)
    batch = draw(st.integers(0, len(shape) - 1))
    axis = draw(st.integers(batch, len(shape) - 1))
    index_shape = shape[:batch] + draw(st.lists(SIZES, max_size=2).map(tuple))
    index = draw_index(draw, index_shape, shape[axis], mode)
    values = shape[:axis] + index_shape[batch:] + shape[axis + 1 :]
    options = {"axis": axis - draw(st.sampled_from([0, len(shape)]))}
    options["batch_dims"] = batch
    if batch == 0 and draw(st.booleans()):
        index = draw_index(draw, index_shape, int(np.prod(shape)), mode)
        options, values = {"axis": None}, index_shape
    return "", shape, index, options, values, index_shape


@st.composite
def along_problems(draw, mode):
    """The same for the element-by-element form; axes of length 1 broadcast."""
    shape = draw(SOME_SHAPES)
    axis = draw(st.integers(0, len(shape) - 1))
    index_shape = [draw(st.sampled_from([size, 1])) for size in shape]
    index_shape[axis] = draw(SIZES)
    index = draw_index(draw, tuple(index_shape), shape[axis], mode)
    values = shape[:axis] + (index_shape[axis],) + shape[axis + 1 :]
    return "_along_axis", shape, index, {"axis": axis}, values, tuple(index_shape)


@st.composite
def nd_problems(draw, mode):
    """The same for tuples."""
    shape = draw(SHAPES)
    batch = draw(st.integers(0, len(shape)))
    depth = draw(st.integers(0, len(shape) - batch))
    entries = shape[:batch] + draw(st.lists(SIZES, max_size=2).map(tuple))
    size = min(shape[batch : batch + depth], default=1)
    index = draw_index(draw, (*entries, depth), size, mode)
    values = entries + shape[batch + depth :]
    return "_nd", shape, index, {"batch_dims": batch}, values, entries


@st.composite
def at_problems(draw, mode):
    """The same for index expressions."""
    shape = draw(SHAPES)
    items, arrays = [], []
    for size in shape:
        kind = draw(
            st.sampled_from(["slice", "array", "array", "mask", "number", "new"])
        )
        if kind == "array":
            arrays.append(
                draw_index(draw, draw(st.sampled_from([(), (1,), (3,)])), size, mode)
            )
            items.append(arrays[-1])
        elif kind == "number" and size:
            items.append(draw(st.integers(-size, size - 1)))
        elif kind == "mask" and not arrays and size:
            arrays.append(np.arange(size) == draw(st.integers(0, size - 1)))
            items.append(draw_layout(draw, arrays[-1]))
        else:
            ends = st.none() | st.integers(-5, 5)
            step = draw(st.sampled_from([None, 1, 2, -1, -2]))
            items.append(slice(draw(ends), draw(ends), step))
            items += [None] if kind == "new" else []
    if draw(st.booleans()):
        items.insert(draw(st.integers(0, len(items))), ...)
    expression = tuple(items)
    probe = outcome(reference.gather_at, np.zeros(shape, bool), expression, mode="wrap")
    values = () if isinstance(probe, type) else probe.shape
    return "_at", shape, expression, {}, values, ()


@st.composite
def problems(draw, modes):
    """Draw a problem of any form, with its mode and perhaps a mask."""
    mode = draw(st.sampled_from(modes))
    forms = [axis_problems, along_problems, nd_problems, at_problems]
    stem, shape, index, options, values, entries = draw(
        draw(st.sampled_from(forms))(mode)
    )
    options["mode"] = mode
    if draw(st.booleans()):
        n = int(np.prod(entries))
        mask = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)), bool)
        options["where"] = draw_layout(draw, mask.reshape(entries))
    return stem, shape, index, options, values


def assert_agreement(actual, expected, nothing):
    """Fail unless both calls failed, or both gave the same bits.

    A problem may be wrong in two ways, of which either may be reported. Where nothing
    is to be moved, a bad index may go unseen by one of the two, as it does in NumPy.
    """
    both = (actual, expected)
    if any(isinstance(one, type) for one in both):
        unseen = nothing and any(one is IndexError for one in both)
        assert unseen or all(isinstance(one, type) for one in both), both
    else:
        assert_same(actual, expected)


def call_both(family, stem, args, options, nothing):
    """Call a function and its slow twin, which must agree."""
    expected = outcome(getattr(reference, family + stem), *args, **options)
    actual = outcome(getattr(ps, family + stem), *args, **options)
    assert_agreement(actual, expected, nothing)


@given(st.data())
def test_scatter(data):
    stem, shape, index, options, values_shape = data.draw(problems(MODES))
    dtype = data.draw(st.sampled_from(list(DTYPES.values())))
    a = draw_layout(data.draw, draw_values(data.draw, dtype, shape))
    values_dtype = data.draw(
        st.sampled_from([dtype, dtype, np.dtype("f4"), np.dtype("i2")])
    )
    values = draw_layout(data.draw, draw_values(data.draw, values_dtype, values_shape))
    options["op"] = data.draw(st.sampled_from(OPS))
    options["include_self"] = data.draw(st.booleans())
    options["compensated"] = data.draw(st.sampled_from([False, False, True]))
    before = [snapshot(array) for array in (a, values)]
    nothing = 0 in (*shape, *values_shape)
    call_both("scatter", stem, (a, index, values), options, nothing)
    assert before == [snapshot(array) for array in (a, values)]


@given(st.data())
def test_gather(data):
    stem, shape, index, options, values_shape = data.draw(problems((*MODES, "fill")))
    every = [*DTYPES.values(), *MOVED_DTYPES.values()]
    dtype = data.draw(st.sampled_from(every))
    a = draw_layout(data.draw, draw_values(data.draw, dtype, shape))
    if data.draw(st.booleans()):
        options["fill_value"] = draw_values(data.draw, dtype, ())[()]
    call_both("gather", stem, (a, index), options, 0 in (*shape, *values_shape))


@given(st.data())
def test_in_place(data):
    stem, shape, index, options, values_shape = data.draw(problems(MODES))
    dtype = data.draw(st.sampled_from([*DTYPES.values(), *MOVED_DTYPES.values()]))
    contents = draw_values(data.draw, dtype, shape)
    a = draw_layout(data.draw, contents, tuple(WRITABLE_LAYOUTS))
    values = draw_layout(data.draw, draw_values(data.draw, dtype, values_shape))
    options["op"] = data.draw(st.sampled_from(OPS))
    twin = contents.copy()
    expected = outcome(
        getattr(reference, "scatter" + stem), twin, index, values, out=twin, **options
    )
    actual = outcome(getattr(ps, "scatter" + stem), a, index, values, out=a, **options)
    assert isinstance(actual, type) or actual is a
    result = actual if isinstance(actual, type) else np.array(a, dtype, subok=False)
    assert_agreement(result, expected, 0 in (*shape, *values_shape))
    if isinstance(expected, type):
        assert_same(np.array(a, dtype, subok=False), contents, "after a failed call")


@st.composite
def windows(draw, memory, n):
    """Draw a view of n elements of one piece of memory, at any step."""
    step = draw(st.sampled_from([1, 2, 3, -1, -2]))
    reach = (n - 1) * abs(step) + 1
    start = draw(st.integers(0, len(memory) - reach))
    view = memory[start : start + reach : abs(step)]
    return view if step > 0 else view[::-1]


@given(st.data())
def test_shared_memory(data):
    memory = np.arange(24) % 5
    n = data.draw(st.integers(1, 6))
    a = data.draw(windows(memory, 5))
    index = data.draw(windows(memory, n))
    values = data.draw(windows(memory, n))
    op = data.draw(st.sampled_from(["set", "add", "first", "max", "xor", "sub"]))
    expected = reference.scatter(a.copy(), index.copy(), values.copy(), op=op)
    taken = a.copy()[index.copy()]
    out = data.draw(windows(memory, n))
    before = memory.copy()
    ps.gather(a, index, out=out)
    assert_same(out.copy(), taken, "gather")
    memory[:] = before
    ps.scatter(a, index, values, op=op, out=a)
    assert_same(a.copy(), expected, f"scatter {op}")


@given(st.data())
def test_whether_a_target_overlaps_itself(data):
    shape = data.draw(SOME_SHAPES | st.lists(SIZES, min_size=4, max_size=5).map(tuple))
    steps = st.lists(st.integers(-24, 24), min_size=len(shape), max_size=len(shape))
    strides = tuple(data.draw(steps))
    dtype = data.draw(st.sampled_from([np.uint8, np.int16, np.float32, np.float64]))
    memory = np.zeros(1024, np.uint8)
    a = np.lib.stride_tricks.as_strided(memory[512:].view(dtype), shape, strides)
    expected = outcome(reference.scatter_at, a, ..., a.dtype.type(1), op="add", out=a)
    memory[:] = 0
    actual = outcome(ps.scatter_at, a, ..., a.dtype.type(1), op="add", out=a)
    assert (actual is ValueError) == (expected is ValueError)
    if actual is ValueError or 0 in shape:
        return
    assert (a == 1).all()
    index = np.array(data.draw(st.lists(st.integers(0, shape[0] - 1), max_size=9)), int)
    numbers = np.arange(len(index)).reshape(-1, *(1,) * (len(shape) - 1))
    expected = reference.scatter(a, index, numbers.astype(dtype), op="add")
    ps.scatter(a, index, numbers.astype(dtype), op="add", out=a)
    assert_same(a.copy(), expected)


@given(st.data())
def test_sums_do_not_depend_on_how_a_call_is_split(data):
    n = data.draw(st.integers(2, 12))
    numbers = draw_values(data.draw, np.dtype(np.float32), (n,))
    index = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    cut = data.draw(st.integers(1, n - 1))
    whole = ps.scatter(np.zeros(4, np.float32), index, numbers, op="add")
    parts = ps.scatter(np.zeros(4, np.float32), index[:cut], numbers[:cut], op="add")
    ps.add_at(parts, index[cut:], numbers[cut:])
    assert_same(parts, whole)


@given(st.data())
def test_what_was_set_is_what_is_gathered(data):
    stem, shape, index, options, values_shape = data.draw(problems(("raise",)))
    a = np.zeros(shape)
    numbers = np.arange(1.0, 1 + np.prod(values_shape, dtype=int)).reshape(values_shape)
    result = outcome(getattr(ps, "scatter" + stem), a, index, numbers, **options)
    if isinstance(result, type) or 0 in (*shape, *values_shape):
        return
    back = getattr(ps, "gather" + stem)(result, index, **options)
    won = back[back == numbers]
    assert set(won.tolist()) == set(result[result != 0].tolist())
