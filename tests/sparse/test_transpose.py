"""What products of a container keep: its entries by rows, for later products."""

import gc
import threading

import numpy as np
import pytest

import pyscatter as ps
from tests.cases import DTYPES, random_values, rng_for
from tests.matrices import random_matrix
from tests.spmm_bits import assert_same

SHAPE, NNZ, WIDTH = (300, 200), 5000, 70


def container(rng, dtype="f64", index=np.int32, shape=SHAPE):
    """Return a CSC that owns its structure, so that a test may write to it."""
    A = random_matrix(rng, "csc", shape, NNZ, dtype and DTYPES[dtype], index=index)
    return ps.CSC((A.data, A.indices, A.indptr), shape), A


def kept(matrix):
    return ps._core.kept_bytes(matrix)


def warm(matrix, X, **options):
    """Make what is kept, by the two products that this takes."""
    results = [ps.spmm(matrix, X, **options) for _ in range(2)]
    assert kept(matrix) > 0
    return results[0]


def test_the_second_product_makes_it():
    A, _ = container(rng_for("second"))
    X = np.ones((SHAPE[1], WIDTH))
    ps.spmm(A, X)
    assert kept(A) == 0
    ps.spmm(A, X)
    assert kept(A) == 4 * (SHAPE[1] + 1 + NNZ + SHAPE[0] + 1 + 2 * NNZ)


def test_transposes_share_it():
    A, _ = container(rng_for("shared"))
    X, G = np.ones((SHAPE[1], WIDTH)), np.ones((WIDTH, SHAPE[1]))
    ps.spmm(A.T, X, transpose=True)
    ps.spmm(G, A.T)
    assert kept(A) == kept(A.T) > 0
    plain = ps.spmm(A.to_csr(), X)
    for result in (A @ X, ps.spmm(A.T.T, X), ps.spmm(G, A.T).T):
        assert_same(result, plain)
    other = ps.CSC((A.data, A.indices, A.indptr), SHAPE)
    assert kept(other) == 0


@pytest.mark.parametrize("form", [ps.CSR, ps.COO])
def test_what_goes_by_rows_keeps_nothing(form):
    A = {ps.CSR: ps.CSC.to_csr, ps.COO: ps.CSC.to_coo}[form](
        container(rng_for("rows"))[0]
    )
    for _ in range(3):
        ps.spmm(A, np.ones((SHAPE[1], WIDTH)))
    assert kept(A) == 0


def test_narrow_and_small_products_keep_nothing():
    A, _ = container(rng_for("narrow"))
    small = ps.CSC.from_dense(np.eye(9))
    for _ in range(3):
        ps.spmm(A, np.ones(SHAPE[1]))
        ps.spmm(A, np.ones((SHAPE[1], 0)))
        ps.spmm(small, np.ones((9, 400)))
    assert kept(A) == kept(small) == 0


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("name", ["f32", "f64", "c128", "i16", "b1", "f16", None])
def test_the_bits_are_those_of_other_ways(name, index):
    rng = rng_for("bits", name)
    A, plain = container(rng, name, index)
    dtype = DTYPES[name or "f32"]
    X = random_values(rng, dtype, (2, SHAPE[1], 160))
    old = random_values(rng, dtype, (2, SHAPE[0], 160))
    calls = [{}] if name == "b1" else [{}, {"alpha": 2, "beta": 3}]
    calls += [] if name == "c128" else [{"op": "max"}, {"semiring": "min_plus"}]
    with np.errstate(all="ignore"):
        warm(A, X)
        for options in calls:
            scaled = "beta" in options
            out = [{"out": old.copy()} if scaled else {} for _ in range(2)]
            assert_same(
                ps.spmm(A, X, **options, **out[0]),
                ps.spmm(plain, X, **options, **out[1]),
                str(options),
            )
    assert kept(A) > 0


def test_threads_and_levels_give_the_same_bits():
    rng = rng_for("threads")
    X = random_values(rng, np.float32, (SHAPE[1], WIDTH))
    A, plain = container(rng, "f32")
    with np.errstate(all="ignore"):
        expected = ps.spmm(plain, X)
        for level in ps._core.levels():
            ps._core.force_level(level)
            for threads in (1, 2, 3, 7):
                ps.set_num_threads(threads)
                fresh = ps.CSC((A.data, A.indices, A.indptr), SHAPE)
                for _ in range(3):
                    assert_same(ps.spmm(fresh, X), expected)
                assert kept(fresh) > 0


def test_means_and_empty_rows():
    A, plain = container(rng_for("means"), shape=(20_000, 200))
    X = np.ones((200, WIDTH))
    for options in ({"op": "mean"}, {"op": "mean", "fill_value": 5}):
        expected = ps.spmm(plain, X, **options)
        assert_same(warm(A, X, **options), expected)
        assert_same(ps.spmm(A, X, **options), expected)


def test_new_values_are_seen():
    A, plain = container(rng_for("values"))
    X = np.ones((SHAPE[1], WIDTH))
    warm(A, X)
    plain.data[:] = np.arange(NNZ)
    assert_same(ps.spmm(A, X), ps.spmm(plain, X))
    assert kept(A) > 0


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", ["indices", "indptr"])
def test_new_structure_is_seen(name, threads):
    A, plain = container(rng_for("structure"))
    X = np.ones((SHAPE[1], WIDTH))
    ps.set_num_threads(threads)
    before = warm(A, X)
    if name == "indices":
        plain.indices[-1] = (plain.indices[-1] + 1) % SHAPE[0]
    else:
        middle = plain.indptr[100:]
        middle[:-1] = np.maximum(middle[:-1] - 1, plain.indptr[99])
    X = random_values(rng_for("x"), np.float64, X.shape)
    assert_same(ps.spmm(A, X), ps.spmm(plain, X))
    assert kept(A) == 0
    X = np.ones_like(X)
    assert name == "indptr" or (ps.spmm(A, X) != before).any()
    warm(A, X)
    assert_same(ps.spmm(A, X), ps.spmm(plain, X))


@pytest.mark.parametrize("products", [0, 1, 2, 3])
def test_a_malformed_structure_is_told(products):
    A, plain = container(rng_for("malformed"))
    X, out = np.ones((SHAPE[1], WIDTH)), np.full((SHAPE[0], WIDTH), 7.0)
    for _ in range(products):
        ps.spmm(A, X)
    plain.indices[4000] = SHAPE[0]
    for options in ({}, {"out": out}, {"out": out, "beta": 2}):
        with pytest.raises(ValueError, match=r"indices\[4000\] is 300, out of bounds"):
            ps.spmm(A, X, **options)
    assert (out == 7).all()
    plain.indices[4000] = 0
    plain.indptr[3] = NNZ + 1
    with pytest.raises(ValueError, match=r"indptr\[[34]\]"):
        ps.spmm(A, X)


def test_out_may_share_memory_with_it():
    A, plain = container(rng_for("overlap"), shape=(WIDTH, WIDTH))
    X = random_values(rng_for("x"), np.float64, (WIDTH, WIDTH))
    expected = warm(A, X)
    assert_same(ps.spmm(A, X, out=X), expected)
    place = plain.data[: WIDTH * WIDTH].reshape(WIDTH, WIDTH)
    Y = np.ones((WIDTH, WIDTH))
    expected = ps.spmm(A, Y)
    assert_same(ps.spmm(A, Y, out=place), expected)


def test_it_goes_with_the_last_container():
    A, _ = container(rng_for("gone"))
    turned, X = A.T, np.ones((SHAPE[1], WIDTH))
    warm(A, X)
    del A
    gc.collect()
    assert kept(turned) > 0
    assert_same(ps.spmm(turned, X, transpose=True), ps.spmm(turned.T.to_csr(), X))


@pytest.mark.alone
def test_another_thread_rewrites_the_structure():
    A, plain = container(rng_for("race"), index=np.int64)
    good, X = plain.indices.copy(), np.ones((SHAPE[1], WIDTH))
    stop = threading.Event()

    def rewrite():
        while not stop.is_set():
            plain.indices[::3] = np.iinfo(np.int64).max
            plain.indices[:] = good
            plain.indices[::5] = 0
            plain.indices[:] = good

    thread = threading.Thread(target=rewrite)
    thread.start()
    try:
        for trial in range(150):
            ps.set_num_threads(1 + trial % 3)
            try:
                ps.spmm(A, X)
                ps.spmm(A.T, X, transpose=True, out=np.ones((SHAPE[0], WIDTH)))
            except (ValueError, RuntimeError):
                pass
    finally:
        stop.set()
        thread.join()


@pytest.mark.alone
def test_several_threads_multiply_by_one_container():
    A, plain = container(rng_for("several"))
    X = random_values(rng_for("x"), np.float64, (SHAPE[1], WIDTH))
    expected, wrong = ps.spmm(plain, X), []

    def multiply():
        for _ in range(40):
            if ps.spmm(A, X).tobytes() != expected.tobytes():
                wrong.append(1)

    threads = [threading.Thread(target=multiply) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_kept_bytes_wants_a_container():
    with pytest.raises(TypeError, match="expected a container"):
        ps._core.kept_bytes(np.ones(3))
