"""Elements named by long tuples of indices, which become one index for out=.

NumPy answers by the same tuples.
"""

import threading
from itertools import product

import numpy as np
import pytest

import pyscatter as ps
from tests.cases import DTYPES, assert_same, random_values, rng_for
from tests.scatter.test_joined import INDEX_TYPES, SHAPE, tuple_of

SIZES = (2049, 16384 + 5)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("dtype", ["f64", "f32", "i16", "u8", "b1", "c128", "f16"])
def test_every_size_of_items(dtype, n):
    rng = rng_for("gather joined", dtype, n)
    index = tuple_of(rng, SHAPE, n)
    a = random_values(rng, DTYPES[dtype], SHAPE)
    for threads in (1, 2):
        ps.set_num_threads(threads)
        for form in (index, np.stack(index, 1)):
            call = ps.gather_at if form is index else ps.gather_nd
            out = np.empty(n, a.dtype)
            assert call(a, form, out=out) is out
            assert_same(out, a[index])
            assert_same(call(a, form), a[index])


@pytest.mark.parametrize("index_dtype", INDEX_TYPES)
def test_index_types_and_layouts(index_dtype):
    n = SIZES[1]
    rng = rng_for("gather", index_dtype)
    index = tuple_of(rng, SHAPE, n, index_dtype)
    a = rng.standard_normal(SHAPE)
    apart = tuple(np.repeat(i, 3)[::3] for i in index)
    mixed = (index[0].astype("i8"), index[1], index[2][::-1].copy()[::-1])
    swapped = (index[0], index[1].astype(">i4"), index[2])
    odd = np.zeros(a.size + 1, "f8").view("u1")[3 : 3 + a.nbytes].view("f8")
    wide = np.zeros((*SHAPE[:2], 2 * SHAPE[2]))
    layouts = (a, np.asfortranarray(a), wide[..., ::2], a[:, ::-1], odd.reshape(SHAPE))
    for source, form in product(layouts, (index, apart, mixed, swapped)):
        source[:] = a
        out = np.empty(n)
        ps.gather_at(source, form, out=out)
        assert_same(out, source[index])


@pytest.mark.parametrize("bad", [7, -8, 2**40, -(2**63)])
@pytest.mark.parametrize("position", [0, 2048, SIZES[1] - 1])
def test_a_bad_index_leaves_out_alone(bad, position):
    n = SIZES[1]
    index = tuple_of(rng_for("gather", bad, position), SHAPE, n)
    index[0][position:] = bad
    out = np.full(n, 5.0)
    for threads, form in product((1, 2), (index, np.stack(index, 1))):
        ps.set_num_threads(threads)
        call = ps.gather_at if form is index else ps.gather_nd
        with pytest.raises(
            IndexError, match=f"index {bad} is out of bounds for axis 0"
        ):
            call(np.zeros(SHAPE), form, out=out)
        assert (out == 5).all()
    with pytest.raises(IndexError):
        ps.gather_at(np.zeros((0, 3)), (index[1] * 0, index[1] % 3), out=out)
    assert (out == 5).all()


def test_modes_and_masks_go_by_lists():
    n = SIZES[1]
    rng = rng_for("gather modes")
    a = rng.standard_normal(SHAPE)
    index = np.stack(tuple_of(rng, SHAPE, n), 1)
    high = index + 3
    out = np.empty(n)
    ps.gather_nd(a, high, mode="clip", out=out)
    assert_same(out, a[tuple(np.clip(high, 0, np.array(SHAPE) - 1).T)])
    where = rng.random(n) < 0.5
    ps.gather_nd(a, index, where=where, fill_value=3.0, out=out)
    assert_same(out, np.where(where, a[tuple(index.T)], 3.0))
    rows = np.empty((n, SHAPE[2]))
    ps.gather_nd(a, index[:, :2], out=rows)
    assert_same(rows, a[tuple(index[:, :2].T)])


def test_an_index_rewritten_meanwhile():
    """Numbers may be wrong, memory never."""
    n = 200_000
    index = np.zeros((n, 2), np.int64)
    out, done = np.empty(n), threading.Event()
    a = np.zeros((50, 50))

    def rewrite():
        while not done.is_set():
            index[::7] = 2**40
            index[::7] = 49

    thread = threading.Thread(target=rewrite)
    thread.start()
    try:
        for _ in range(20):
            try:
                ps.gather_nd(a, index, out=out)
            except (IndexError, RuntimeError):
                continue
            assert not out.any()
    finally:
        done.set()
        thread.join()
