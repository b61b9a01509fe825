"""The nonzero family against its slow twin and NumPy: every dtype, layout and size.

First the twin itself is compared with NumPy, which means the same everywhere.
"""

import numpy as np
import pytest

import pyscatter as ps
from tests import reference
from tests.cases import (
    DTYPES,
    LAYOUTS,
    MASK_SIZES,
    MASKS,
    MOVED_DTYPES,
    assert_fresh,
    assert_same,
    outcome,
    random_mask,
    random_values,
    rng_for,
    snapshot,
)

CORE = ps._core
ALL_DTYPES = {**DTYPES, **MOVED_DTYPES}
NAMES = ("nonzero", "flatnonzero", "argwhere", "count_nonzero")
LIBRARIES = [pytest.param(ps, id="pyscatter"), pytest.param(reference, id="reference")]
SHAPES = [(9,), (0,), (1,), (4, 5), (2, 3, 4), (3, 0, 2), (1, 6, 1), (2, 1, 2, 3)]


def mixed_values(rng, dtype, shape):
    """Return random values of which about half are zero."""
    values = random_values(rng, dtype, shape)
    zeros = np.zeros(shape, dtype) if dtype.kind != "O" else np.full(shape, 0, object)
    return np.where(rng.random(shape) < 0.5, values, zeros).astype(dtype)


def as_arrays(result):
    """Return what a function of the family gives as a list of arrays."""
    if isinstance(result, tuple):
        return list(result)
    return [np.asarray(result)]


def assert_same_results(actual, expected, context):
    """Fail unless both are the same error, or tuples or arrays of the same bits."""
    if isinstance(expected, type) or isinstance(actual, type):
        assert actual is expected, f"{context}: {actual!r} is not {expected!r}"
        return
    assert isinstance(actual, tuple) == isinstance(expected, tuple), context
    actual, expected = as_arrays(actual), as_arrays(expected)
    assert len(actual) == len(expected), context
    for mine, right in zip(actual, expected, strict=True):
        assert_same(mine, right, context)


def compare(name, *args, **kwargs):
    """Call a function and its slow twin; fail unless the outcomes are the same."""
    expected = outcome(getattr(reference, name), *args, **kwargs)
    actual = outcome(getattr(ps, name), *args, **kwargs)
    assert_same_results(actual, expected, f"{name} {kwargs}")
    return actual


def every_call(ndim):
    """Yield (name, options) of all functions on an array with so many axes."""
    for name in NAMES[:3]:
        yield name, {}
        yield name, {"size": 3}
        yield name, {"size": 50, "fill_value": -7}
    yield "count_nonzero", {}
    yield "count_nonzero", {"keepdims": True}
    axes = [*range(-1, ndim), tuple(range(ndim)), tuple(range(1, ndim)), ()]
    for axis in axes:
        for keepdims in (False, True):
            yield "count_nonzero", {"axis": axis, "keepdims": keepdims}


# --- the twin itself ------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_the_twin_agrees_with_numpy(dtype):
    rng = rng_for("twin", dtype)
    for shape in SHAPES:
        a = mixed_values(rng, ALL_DTYPES[dtype], shape)
        for name in NAMES:
            expected, mine = getattr(np, name)(a), getattr(reference, name)(a)
            assert_same_results(mine, expected, f"{name} {shape}")
        if dtype in ("record", "packed"):
            continue  # NumPy counts these in all axes only
        for axis in (0, -1, tuple(range(len(shape)))):
            for keepdims in (False, True):
                expected = np.count_nonzero(a, axis, keepdims=keepdims)
                mine = reference.count_nonzero(a, axis, keepdims=keepdims)
                assert_same_results(mine, expected, f"{shape} {axis}")


# --- worked examples ------------------------------------------------------------------


@pytest.mark.parametrize("library", LIBRARIES)
def test_worked_examples(library):
    a = np.array([[3, 0, 0], [0, -1, 2]])
    rows, columns = library.nonzero(a)
    assert rows.tolist() == [0, 1, 1] and columns.tolist() == [0, 1, 2]
    assert library.flatnonzero(a).tolist() == [0, 4, 5]
    assert library.argwhere(a).tolist() == [[0, 0], [1, 1], [1, 2]]
    assert library.count_nonzero(a) == 3
    assert library.count_nonzero(a, axis=0).tolist() == [1, 1, 1]
    assert library.count_nonzero(a, 1, keepdims=True).tolist() == [[1], [2]]


@pytest.mark.parametrize("library", LIBRARIES)
def test_results_of_a_fixed_size(library):
    a = np.array([0, 5, 0, 6, 7])
    assert library.flatnonzero(a, size=2).tolist() == [1, 3]
    assert library.flatnonzero(a, size=5).tolist() == [1, 3, 4, 0, 0]
    assert library.flatnonzero(a, size=5, fill_value=-1).tolist() == [1, 3, 4, -1, -1]
    assert library.flatnonzero(a, size=0).shape == (0,)
    assert library.nonzero(a, size=4, fill_value=9)[0].tolist() == [1, 3, 4, 9]
    pairs = library.argwhere(a[None], size=4, fill_value=-1)
    assert pairs.tolist() == [[0, 1], [0, 3], [0, 4], [-1, -1]]
    assert library.argwhere(a[None], size=1).tolist() == [[0, 1]]


@pytest.mark.parametrize("library", LIBRARIES)
def test_what_is_true(library):
    reals = [0.0, -0.0, np.nan, -np.nan, np.inf, 5e-324, 1e-45]
    for dtype, trues in ((np.float64, [2, 3, 4, 5, 6]), (np.float32, [2, 3, 4, 6])):
        for order in "<>":
            a = np.array(reals, dtype).astype(np.dtype(dtype).newbyteorder(order))
            assert library.flatnonzero(a).tolist() == trues
    halves = np.array([0.0, -0.0, np.nan, 6e-8], np.float16)
    assert library.flatnonzero(halves).tolist() == [2, 3]
    numbers = np.array([0j, -0.0 - 0.0j, 1j, 1, complex(0, np.nan)])
    for dtype in ("<c8", ">c8", "<c16", ">c16"):
        assert library.flatnonzero(numbers.astype(dtype)).tolist() == [2, 3, 4]
    for dtype in ("M8[s]", "m8[D]", ">M8[s]"):
        times = np.array([0, 1, -1, np.iinfo(np.int64).min]).astype(dtype)
        assert library.flatnonzero(times).tolist() == [1, 2, 3]
    words = np.array(["", "a", " ", "0"])
    assert library.flatnonzero(words).tolist() == np.flatnonzero(words).tolist()
    things = np.array([None, 0, 1, "", "x", [], [0]], object)
    assert library.flatnonzero(things).tolist() == [2, 4, 6]


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_byte_but_zero_is_true(library):
    for octets in (np.arange(256), np.arange(256)[::-1], np.arange(256).repeat(3)):
        a = octets.astype(np.uint8)
        assert library.flatnonzero(a.view(bool)).tolist() == np.flatnonzero(a).tolist()
        assert library.count_nonzero(a.view(bool)) == np.count_nonzero(a)
        table = a.view(bool).reshape(-1, 16)
        assert_same(library.argwhere(table), np.argwhere(a.reshape(-1, 16)))
        counts = np.count_nonzero(a.reshape(-1, 16), axis=0)
        assert_same(library.count_nonzero(table, axis=0), counts)


@pytest.mark.parametrize("library", LIBRARIES)
def test_arrays_without_axes(library):
    for value, count in ((3, 1), (0, 0), (np.float32(2), 1), (True, 1)):
        with pytest.raises(ValueError):
            library.nonzero(value)
        assert library.flatnonzero(value).tolist() == [0] * count
        assert library.argwhere(value).shape == (count, 0)
        assert library.argwhere(value, size=4).shape == (4, 0)
        assert library.count_nonzero(value) == count
        assert library.count_nonzero(value, axis=()) == count


@pytest.mark.parametrize("library", LIBRARIES)
def test_anything_that_is_an_array(library):
    for a in ([0, 1], (0.0, 2.0), [[True, False]], range(3), [], [[], []], "ab", b"x"):
        if np.ndim(a):
            assert_same(library.argwhere(a), np.argwhere(a))
        assert_same(library.flatnonzero(a), np.flatnonzero(a))
        assert library.count_nonzero(a) == np.count_nonzero(a)


def test_results_are_arrays_of_their_own():
    a = np.array([[True, False], [True, True]])
    for result in (ps.flatnonzero(a), ps.argwhere(a), ps.count_nonzero(a, axis=0)):
        assert_fresh(result, a)
        assert result.dtype == np.intp
    columns = ps.nonzero(a)
    assert type(columns) is tuple
    for column in columns:
        assert type(column) is np.ndarray and column.dtype == np.intp
        assert column.flags.writeable
        column[:] = 0  # may share memory with its neighbours, but not its elements
    assert ps.argwhere(a.view(type("Sub", (np.ndarray,), {}))).__class__ is np.ndarray


# --- every dtype, layout and rank -----------------------------------------------------


@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_every_dtype(dtype):
    rng = rng_for("dtype", dtype)
    for shape in (*SHAPES, ()):
        a = mixed_values(rng, ALL_DTYPES[dtype], shape)
        for name, options in every_call(len(shape)):
            compare(name, a, **options)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_every_layout(dtype, layout):
    rng = rng_for("layout", dtype, layout)
    for shape in ((70,), (4, 5), (3, 1, 40), (2, 3, 4)):
        a = LAYOUTS[layout](mixed_values(rng, ALL_DTYPES[dtype], shape))
        before = snapshot(a)
        for name in NAMES:
            compare(name, a)
        for axis in range(len(shape)):
            compare("count_nonzero", a, axis=axis)
        assert snapshot(a) == before


def test_broadcast_views_and_many_axes():
    row = np.array([True, False, True])
    for a in (
        np.broadcast_to(row, (5, 3)),
        np.broadcast_to(row[:, None], (3, 70)),
        np.broadcast_to(np.float32(0), (4, 4)),
        np.broadcast_to(np.int8(1), (100,)),
        np.lib.stride_tricks.sliding_window_view(np.arange(9) % 4, 3),
        np.eye(2, dtype=bool).reshape((1,) * 30 + (2,) + (1,) * 31 + (2,)),
    ):
        for name in NAMES:
            compare(name, a)
        compare("count_nonzero", a, axis=-1)


@pytest.mark.parametrize("name", NAMES[:3])
def test_size_and_fill_value(name):
    a = mixed_values(rng_for(name), np.dtype(int), (6, 7))
    for size in (None, 0, 1, 5, 100, np.int8(3), np.array(2), True):
        for fill in (0, -1, np.int16(4), 2**62, -(2**63)):
            compare(name, a, size=size, fill_value=fill)
    for size in (-1, 1.0, "2", [3], np.array([1, 2]), 2**70, -(2**70)):
        assert outcome(getattr(ps, name), a, size=size) in (
            *(ValueError, TypeError, OverflowError),
        )
    for fill in (1.5, "x", [0], 2**63, 1j):
        kind = outcome(getattr(ps, name), a, size=99, fill_value=fill)
        assert kind in (ValueError, TypeError, OverflowError)


@pytest.mark.parametrize("shape", SHAPES)
def test_count_of_every_set_of_axes(shape):
    a = mixed_values(rng_for("axes", shape), np.dtype(np.float32), shape)
    ndim = len(shape)
    for bits in range(2**ndim):
        axes = tuple(k for k in range(ndim) if bits >> k & 1)
        for axis in (axes, axes[::-1], tuple(k - ndim for k in axes)):
            for keepdims in (False, True):
                compare("count_nonzero", a, axis=axis, keepdims=keepdims)
    for wrong in (ndim, -ndim - 1, (0, 0), (0, -ndim), (0, ndim), 1.5, "0"):
        expected = outcome(np.count_nonzero, a, axis=wrong)
        actual = outcome(ps.count_nonzero, a, axis=wrong)
        assert isinstance(actual, type) and issubclass(actual, expected), wrong


# --- sizes, densities, levels, threads ------------------------------------------------


@pytest.mark.parametrize("isa", CORE.levels())
@pytest.mark.parametrize("kind", MASKS)
def test_block_edges(kind, isa):
    CORE.force_level(isa)
    rng = rng_for("edges", kind)
    for n in MASK_SIZES:
        mask = random_mask(rng, kind, (n,))
        expected = np.flatnonzero(mask)
        assert_same(ps.flatnonzero(mask), expected, f"{n}")
        assert_same(ps.nonzero(mask)[0], expected, f"{n}")
        assert_same(ps.argwhere(mask)[:, 0].copy(), expected, f"{n}")
        assert ps.count_nonzero(mask) == len(expected)
        shifted = np.zeros(n + 1, bool)[1:]  # as no vector register likes it
        shifted[:] = mask
        assert_same(ps.flatnonzero(shifted), expected, f"{n} shifted")


@pytest.mark.parametrize("isa", CORE.levels())
@pytest.mark.parametrize("dtype", DTYPES)
def test_block_edges_of_every_dtype(dtype, isa):
    CORE.force_level(isa)
    rng = rng_for("numbers", dtype)
    one = np.ones(1, DTYPES[dtype])[0]
    for n in (1, 63, 64, 65, 127, 129, 4095, 4096, 4097, 9000):
        for kind in ("sparse", "half", "runs"):
            mask = random_mask(rng, kind, (n,))
            a = np.zeros(n, DTYPES[dtype])
            a[mask] = one
            assert_same(ps.flatnonzero(a), np.flatnonzero(mask), f"{n} {kind}")
            swapped = a if dtype == "bf16" else a.astype(a.dtype.newbyteorder("S"))
            assert_same(ps.flatnonzero(swapped), np.flatnonzero(mask), f"{n} swapped")
            assert ps.count_nonzero(a) == mask.sum()


@pytest.mark.parametrize("isa", CORE.levels())
@pytest.mark.parametrize("shape", [(1, 1), (3, 64), (64, 3), (65, 65), (700, 13)])
def test_tables(shape, isa):
    CORE.force_level(isa)
    rng = rng_for("tables", shape)
    for kind in MASKS:
        mask = random_mask(rng, kind, shape)
        for a in (mask, np.asfortranarray(mask), mask[::-1, ::-1], mask.astype(float)):
            for mine, right in zip(ps.nonzero(a), np.nonzero(a), strict=True):
                assert_same(np.array(mine), np.array(right), kind)
            assert_same(ps.argwhere(a), np.ascontiguousarray(np.argwhere(a)), kind)
            assert_same(ps.flatnonzero(a), np.flatnonzero(a), kind)
            for axis in (0, 1):
                counts = np.count_nonzero(a, axis=axis)
                assert_same(ps.count_nonzero(a, axis=axis), counts, kind)


def all_results(a):
    """Return the bytes of everything that the family says about an array."""
    parts = [*ps.nonzero(a), ps.flatnonzero(a), ps.argwhere(a)]
    parts += [np.asarray(ps.count_nonzero(a))]
    parts += [ps.count_nonzero(a, axis=axis) for axis in range(a.ndim)]
    return [np.ascontiguousarray(part).tobytes() for part in parts]


@pytest.mark.parametrize("kind", MASKS)
def test_the_same_on_every_level_and_number_of_threads(kind):
    rng = rng_for("ways", kind)
    for shape in ((500_000,), (700, 700), (90, 70, 80), (200_000, 3)):
        mask = random_mask(rng, kind, shape)
        a = mask if len(shape) % 2 else mask.astype(np.float32)
        expected = [*np.nonzero(mask), np.flatnonzero(mask), np.argwhere(mask)]
        expected += [np.asarray(np.count_nonzero(mask))]
        expected += [np.count_nonzero(mask, axis=k) for k in range(mask.ndim)]
        expected = [np.ascontiguousarray(part).tobytes() for part in expected]
        for isa in CORE.levels():
            CORE.force_level(isa)
            for threads in (1, 2, 3, 7) if isa == CORE.levels()[-1] else (2,):
                with ps.num_threads(threads):
                    assert all_results(a) == expected, f"{isa} {threads} {shape}"


@pytest.mark.slow
@pytest.mark.parametrize("kind", MASKS)
def test_arrays_beyond_the_caches(kind):
    # What is written far apart (FAR_ELEMENTS) is so for some densities.
    n = 18_000_000 if kind in ("sparse", "half", "runs") else 5_000_000
    mask = random_mask(rng_for("large", kind), kind, (n,))
    expected = np.flatnonzero(mask)
    for threads in (1, 2):
        with ps.num_threads(threads):
            assert_same(ps.flatnonzero(mask), expected)
            assert ps.count_nonzero(mask) == len(expected)
            cut = ps.flatnonzero(mask, size=1000, fill_value=-1)
    assert_same(cut, np.r_[expected, np.full(1000, -1)][:1000])


@pytest.mark.parametrize("isa", [CORE.levels()[0], CORE.levels()[-1]])
def test_rows_that_lie_across_the_lines_of_the_memory(isa):
    CORE.force_level(isa)
    rng = rng_for("across")
    for rows, columns, dtype in (
        (4096, 500, "?"),
        (1024, 512, "f4"),
        (2048, 3000, "?"),
    ):
        a = np.asfortranarray(rng.random((rows, columns)) < 0.2).astype(dtype)
        assert a.flags.f_contiguous
        for view in (a, a[::-1], a[:, ::-1], a[1:, 1:]):
            expected = np.flatnonzero(np.ascontiguousarray(view))
            for threads in (1, 2):
                with ps.num_threads(threads):
                    assert_same(ps.flatnonzero(view), expected)
            assert ps.count_nonzero(view) == len(expected)
            pairs = np.stack(np.divmod(expected, view.shape[1]), axis=1)
            assert_same(ps.argwhere(view), pairs)


# --- errors ---------------------------------------------------------------------------


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", NAMES)
def test_masked_arrays_are_refused(library, name):
    with pytest.raises(TypeError, match="masked array"):
        getattr(library, name)(np.ma.masked_array([1, 0], [1, 0]))
    with pytest.raises(TypeError):
        getattr(library, name)(np.array(["a", ""], np.dtypes.StringDType()))


@pytest.mark.parametrize("library", LIBRARIES)
def test_an_object_without_truth_says_so(library):
    things = np.empty(2, object)
    things[:] = [np.zeros(2), 1]
    for name in NAMES:
        with pytest.raises(ValueError, match="truth value"):
            getattr(library, name)(things)


@pytest.mark.parametrize("isa", ps._core.levels())
@pytest.mark.parametrize("n", [0, 1, 2, 10, 63, 64, 65, 640, 1023, 1024, 1025])
def test_few_booleans(n, isa):
    """They go straight to the kernels; any byte but 0 is true."""
    ps._core.force_level(isa)
    rng = rng_for("few booleans", n)
    for share in (0, 0.1, 0.5, 1):
        bytes_ = rng.integers(1, 256, n, np.uint8) * (rng.random(n) < share)
        a = bytes_.astype(np.uint8).view(bool)
        (expected,) = np.nonzero(a.view(np.uint8))
        for given in (ps.flatnonzero(a), *ps.nonzero(a), ps.flatnonzero(a[None])):
            assert given.dtype == np.intp
            assert given.tolist() == expected.tolist()
        assert isinstance(ps.nonzero(a), tuple)
        assert len(ps.nonzero(a[None])) == 2
        assert ps.flatnonzero(a[::-1]).tolist() == np.nonzero(a[::-1])[0].tolist()
    assert ps.flatnonzero(np.array(True)).tolist() == [0]
    assert ps.flatnonzero(np.array(False)).tolist() == []
