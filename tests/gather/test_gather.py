"""The gather family against its slow twin: every dtype, option, layout and edge.

First the twin itself is compared with NumPy, which means the same nearly everywhere.
"""

import numpy as np
import pytest

import pyscatter as ps
from tests import reference
from tests.cases import (
    DTYPES,
    FORMS,
    LAYOUTS,
    MOVED_DTYPES,
    PATTERNS,
    WRITABLE_LAYOUTS,
    assert_fresh,
    assert_same,
    assert_same_outcome,
    compare,
    drawer,
    outcome,
    random_index,
    random_values,
    rng_for,
    snapshot,
)

ALL_DTYPES = {**DTYPES, **MOVED_DTYPES}

# --- the twin itself ------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["raise", "clip", "wrap"])
def test_the_twin_agrees_with_take(mode):
    rng = rng_for("take", mode)
    a = rng.random((3, 4, 5))
    for axis in (0, 1, -1, None):
        for shape in ((), (7,), (2, 3), (0, 2)):
            index = drawer(rng, mode)(shape, a.size if axis is None else a.shape[axis])
            expected = np.take(a, index, axis=axis, mode=mode)
            assert_same(reference.gather(a, index, axis, mode=mode), expected)


@pytest.mark.parametrize("axis", [0, 1, -1, None])
def test_the_twin_agrees_with_take_along_axis(axis):
    rng = rng_for("take_along_axis", axis)
    for shape, index_shape in [((3, 4), (3, 4)), ((3, 4), (1, 4)), ((1, 4), (1, 1))]:
        a = rng.random(shape)
        index = drawer(rng)(index_shape, a.size if axis is None else a.shape[axis])
        index = index.ravel() if axis is None else index
        expected = np.take_along_axis(a, index, axis)
        assert_same(reference.gather_along_axis(a, index, axis), expected)


PAIR = np.array([1, -1])
EXPRESSIONS = [
    0,
    (0,),
    ...,
    (...,),
    (slice(None),),
    (slice(None, None, -1), slice(3, 0, -2)),
    (slice(0, 0), PAIR),
    PAIR,
    (PAIR, PAIR),
    (PAIR, ..., PAIR),
    (..., PAIR),
    (..., 0),
    (PAIR, None, PAIR),
    (None, PAIR, None, PAIR),
    (slice(1), PAIR, PAIR),
    (0, slice(None), PAIR),
    (PAIR, slice(None), 0),
    (PAIR[:, None], slice(None), PAIR),
    (PAIR[:, None], PAIR, 0),
    (np.array([True, False, True]), 0, PAIR),
    (np.arange(12).reshape(3, 4) % 2 == 0,),
    (slice(None), np.arange(20).reshape(4, 5) % 3 == 0),
    (np.arange(60).reshape(3, 4, 5) > 30,),
    (True,),
    (False,),
    (True, slice(None), PAIR),
    ([],),
    ([], []),
    [0, 1],
    ([0, 1], [1, 2], [3, 4]),
    [True, False, True],
    np.array([[0, 1], [1, 2]]),
    (np.int8(2), np.uint8(1)),
    (None, None),
]


@pytest.mark.parametrize("number", range(len(EXPRESSIONS)))
def test_index_expressions_are_numpys(number):
    expression = EXPRESSIONS[number]
    a = np.arange(60.0).reshape(3, 4, 5)
    expected = np.array(a[expression], order="C")
    assert_same(reference.gather_at(a, expression), expected, repr(expression))
    assert_same(ps.gather_at(a, expression), expected, repr(expression))
    b = a.copy()
    b[expression] = 7
    assert_same(ps.scatter_at(a, expression, 7.0), b, repr(expression))


@pytest.mark.parametrize("shape", [(), (3,), (1, 4), (2, 3, 4), (2, 0, 3)])
def test_random_expressions_are_numpys(shape):
    rng = rng_for("expressions", shape)
    a = rng.random(shape)
    for _ in range(300):
        expression = random_expression(rng, shape)
        try:
            expected = np.array(a[expression], order="C")
        except IndexError:
            expected = IndexError
        actual = outcome(ps.gather_at, a, expression)
        assert_same_outcome(actual, expected, repr(expression))


def random_expression(rng, shape):
    """Return an index expression; now and then one that does not broadcast."""
    items = []
    for size in shape[: rng.integers(0, len(shape) + 1)]:
        kind = rng.integers(0, 5) if size else 0
        if kind == 0:
            low, high = rng.integers(-size - 1, size + 2, 2).tolist()
            items.append(slice(low, high, int(rng.choice([-2, -1, 1, 2]))))
        elif kind == 1:
            items.append(np.arange(size) % 2 == rng.integers(0, 2))
        elif kind == 2:
            items.append(int(rng.integers(-size, size)))
        else:
            shapes = [(), (1,), (2,), (2, 1)]
            items.append(rng.integers(-size, size, shapes[rng.integers(0, 4)]))
        if rng.random() < 0.3:
            items.append([None, ...][rng.integers(0, 2)])
    return tuple(items)


# --- every dtype and option on every form ---------------------------------------------


@pytest.mark.parametrize("dtype", ALL_DTYPES)
@pytest.mark.parametrize("form", FORMS)
def test_every_dtype_and_option(form, dtype):
    rng = rng_for(form, dtype)
    form, dtype = FORMS[form], ALL_DTYPES[dtype]
    a = random_values(rng, dtype, form.shape)
    name = "gather" + form.stem
    fill = random_values(rng, dtype, (1,))[0]
    for mode in ("raise", "drop", "clip", "wrap", "fill"):
        index = form.index(drawer(rng, mode))
        compare(name, a, index, mode=mode, **form.options)
        options = dict(form.options, where=rng.random(form.entries) < 0.7)
        compare(name, a, index, mode=mode, **options)
        compare(name, a, index, mode=mode, fill_value=fill, **options)


WEAK_FILLS = [0, 1, -1, 300, 2**70, 10**400, True, 1.5, 1e300, np.nan, 1j]


@pytest.mark.parametrize("dtype", DTYPES)
def test_weak_fill_values(dtype):
    a = random_values(rng_for(dtype), DTYPES[dtype], 3)
    if a.dtype.kind in "mM":
        fills = [np.array(5, a.dtype)[()], np.array("NaT", a.dtype)[()]]
    else:
        fills = [*WEAK_FILLS, np.float32(2.5), np.int64(3)]
    for fill in fills:
        compare("gather", a, [0, 5, -1], mode="fill", fill_value=fill)


@pytest.mark.parametrize("source", DTYPES)
def test_an_out_of_another_dtype(source):
    a = random_values(rng_for("out", source), DTYPES[source], 6, special=False)
    for dtype in DTYPES.values():
        outs = np.zeros((2, 3), dtype)
        expected = outcome(reference.gather, a, [5, 0, 5], out=outs[0])
        actual = outcome(ps.gather, a, [5, 0, 5], out=outs[1])
        assert_same_outcome(actual, expected, f"{source} to {dtype}")
        assert_same(outs[1], outs[0], f"{source} to {dtype}")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("form", FORMS)
def test_every_layout(form, layout):
    rng = rng_for("layout", form, layout)
    form, lay = FORMS[form], LAYOUTS[layout]
    for dtype in ("f32", "i16", "b1", "f16", "c128", "str", "packed", "object"):
        a = lay(random_values(rng, ALL_DTYPES[dtype], form.shape))
        index = form.index(drawer(rng, layout=layout))
        fill = random_values(rng, ALL_DTYPES[dtype], ())[()]
        before = snapshot(a)
        for options in ({}, {"mode": "fill"}, {"mode": "drop", "fill_value": fill}):
            options.update(form.options)
            result = compare("gather" + form.stem, a, index, **options)
            assert_fresh(result, a)
        assert snapshot(a) == before


@pytest.mark.parametrize("layout", WRITABLE_LAYOUTS)
@pytest.mark.parametrize("form", FORMS)
def test_an_out_of_every_layout(form, layout):
    rng = rng_for("out", form, layout)
    form, lay = FORMS[form], LAYOUTS[layout]
    for dtype in ("f32", "i16", "b1", "f16", "c128", "timedelta"):
        a = random_values(rng, DTYPES[dtype], form.shape)
        index = form.index(drawer(rng, "fill"))
        fill = random_values(rng, DTYPES[dtype], ())[()]
        for options in ({"mode": "wrap"}, {"mode": "fill", "fill_value": fill}):
            options.update(form.options)
            expected = getattr(reference, "gather" + form.stem)(a, index, **options)
            out = lay(np.ones(form.values, DTYPES[dtype]))
            assert (
                getattr(ps, "gather" + form.stem)(a, index, out=out, **options) is out
            )
            assert_same(np.array(out, DTYPES[dtype], subok=False), expected)


# --- sizes and kernels ----------------------------------------------------------------

EDGES = [n + d for n in (2048, 4096, 8192) for d in (-1, 0, 1)]


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("n", EDGES)
def test_block_edges(n, pattern):
    rng = rng_for(n, pattern)
    index = random_index(rng, pattern, n, 300, np.int32)
    a = rng.random((300, 3)).astype(np.float32)
    assert_same(ps.gather(a, index), a[index])
    assert_same(ps.gather(a[:, 0], index.reshape(1, -1)), a[index, 0][None])
    assert_same(ps.gather(a.T, index, axis=1), np.array(a.T[:, index], order="C"))
    pairs = np.stack([index, rng.integers(-3, 3, n)], axis=-1)
    assert_same(ps.gather_nd(a, pairs), a[pairs[:, 0], pairs[:, 1]])
    along = ps.gather_along_axis(a, index[:, None], 0)
    assert_same(along, np.take_along_axis(a, index[:, None].astype(int), 0))
    padded = np.where(rng.random(n) < 0.1, -1, index % 300)
    expected = np.where((padded < 0)[:, None], np.float32(9), a[padded])
    assert_same(ps.gather(a, padded, mode="fill", fill_value=9.0), expected)


@pytest.mark.parametrize("position", [0, 2047, 2048, 4095, 4096, 8192, 8999])
def test_a_bad_index_anywhere_stops_the_call(position):
    a, index = np.arange(5.0), np.arange(9000) % 5
    index[position] = -6
    out = np.full(9000, 3.0)
    place = rf"\(position {position} of 9000 in"
    with pytest.raises(IndexError, match=f"index -6 is out of .* size 5 {place}"):
        ps.gather(a, index, out=out)
    with pytest.raises(IndexError, match=f"index -6 is out of .* size 5 {place}"):
        ps.gather_nd(a, index[:, None], out=out)
    assert (out == 3).all()


@pytest.mark.parametrize("isa", ps._core.levels())
def test_every_item_size_on_every_level(isa):
    ps._core.force_level(isa)
    rng = rng_for("sizes")
    for nbytes in (1, 2, 3, 4, 5, 8, 12, 16, 17, 24, 32, 64, 100):
        for width in (1, 2, 3, 7, 16, 40):
            octets = rng.integers(0, 256, (31, width * nbytes), dtype=np.uint8)
            a = octets.view(f"V{nbytes}")
            index = random_index(rng, "uniform", 257, 31)
            for algorithm in (None, *ps._core.algorithms()):
                ps._core.force_algorithm(algorithm)
                assert ps.gather(a, index).tobytes() == octets[index].tobytes()
                twice = ps.scatter(a, index[:40], a[index[217:]]).tobytes()
                assert twice == moved(octets, index[:40], octets[index[217:]])


def moved(octets, index, rows):
    """Return the bytes after rows were set one after the other."""
    octets = octets.copy()
    for i, row in zip(index, rows, strict=True):
        octets[i] = row
    return octets.tobytes()


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("dtype", ["?", "i1", ">i4", "f8", "c16", "S3"])
def test_rows_wider_than_a_chunk(dtype, threads):
    width = 3 * (4 << 20) // (2 * np.dtype(dtype).itemsize) + 7
    few = np.arange(101) % 2 if dtype == "?" else np.arange(101)
    a = np.resize(few.astype(dtype), (3, width))
    a[1] = a[1, ::-1]
    ps.set_num_threads(threads)
    assert_same(ps.gather(a, [1, 0, 1]), a.astype(a.dtype.newbyteorder("="))[[1, 0, 1]])
    filled = ps.gather(a, [2, 5], mode="fill")
    assert_same(filled, np.stack([a[2], np.zeros(width, a.dtype)]).astype(filled.dtype))
