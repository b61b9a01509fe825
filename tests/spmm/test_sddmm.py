"""Inner products at the entries of a sparse matrix against their slow twin."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pyscatter as ps
from tests import reference
from tests.cases import DTYPES, as_byteswapped, as_odd_strides, random_values, rng_for
from tests.matrices import FORMATS, dense_of, matrix_of, random_matrix
from tests.reference.spmm import triples
from tests.spmm_bits import assert_same

NUMBERS = [name for name in DTYPES if name not in ("f80", "datetime", "timedelta")]
VALUES = ("pattern", "scale")


def check(A, X, Y, context="", **options):
    """Compare one call with the twin."""
    with np.errstate(all="ignore"):
        actual = ps.sddmm(A, X, Y, **options)
    assert_same(actual, reference.sddmm(A, X, Y, **options), context)


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("name", NUMBERS)
def test_each_dtype(name, values):
    rng = rng_for(name, values)
    for format in FORMATS:
        for width in (0, 1, 15, 16, 17, 40):
            A = random_matrix(rng, format, (6, 5), 13, DTYPES[name])
            X = random_values(rng, DTYPES[name], (6, width))
            Y = random_values(rng, DTYPES[name], (5, width))
            check(A, X, Y, f"{format} {width}", values=values)


@pytest.mark.parametrize("format", FORMATS)
def test_batches_and_layouts(format):
    rng = rng_for(format)
    A = random_matrix(rng, format, (6, 5), 13, np.float64)
    for lead in ((2,), (2, 3), (0,)):
        X = random_values(rng, np.float32, (*lead, 6, 4))
        Y = random_values(rng, np.float64, (*lead, 5, 4))
        check(A, X, Y, values="scale")
        check(A, X, Y, values="pattern")
    for layout in (as_byteswapped, as_odd_strides, np.asfortranarray):
        X, Y = rng.random((6, 4)), rng.random((5, 4))
        check(A, layout(X), layout(Y))
        check(A, layout(X)[:, ::-1], Y)
        out = layout(np.zeros((1, len(A.data))))[0]
        expected = reference.sddmm(A, X, Y)
        assert ps.sddmm(A, X, Y, out=out) is out
        assert_same(np.array(out, float), expected)


def test_values_of_another_dtype_join_promotion_only_where_they_scale():
    A = matrix_of("csr", [0], [0], np.array([2.0]), (1, 1))
    x = np.array([[3]], np.int8)
    assert ps.sddmm(A, x, x).dtype == np.int8
    assert ps.sddmm(A, x, x, values="scale").tolist() == [18.0]


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", NUMBERS)
def test_absent_data_scale_by_one(format, name):
    rng = rng_for("absent", format, name)
    A = random_matrix(rng, format, (6, 5), 13, None)
    X, Y = (random_values(rng, DTYPES[name], (n, 4)) for n in (6, 5))
    check(A, X, Y, values="scale")
    with np.errstate(all="ignore"):
        absent = ps.sddmm(A, X, Y, values="scale")
        A.data = np.ones(13, np.bool_)
        assert_same(ps.sddmm(A, X, Y, values="scale"), absent)


def test_out_is_cast_and_may_share_memory():
    rng = rng_for("out")
    A = random_matrix(rng, "csr", (4, 4), 12, np.float64)
    X = rng.random((4, 3))
    expected = reference.sddmm(A, X, X)
    out = np.zeros(12, np.float32)
    assert_same(ps.sddmm(A, X, X, out=out), expected.astype(np.float32))
    assert_same(ps.sddmm(A, X, X, out=X.reshape(-1)), expected)
    X = rng.random((4, 3))
    expected = reference.sddmm(A, X, X, values="scale")
    assert_same(ps.sddmm(A, X, X, values="scale", out=A.data), expected)


def test_what_is_refused():
    A = matrix_of("csr", [0, 1], [1, 0], np.ones(2), (3, 2))
    X, Y = np.ones((3, 4)), np.ones((2, 4))
    for x, y in ((X, Y[:, :3]), (X[0], Y), (X[None], Y), (X[None], np.ones((2, 2, 4)))):
        with pytest.raises(ValueError, match="must have at least 2 axes"):
            ps.sddmm(A, x, y)
    with pytest.raises(ValueError, match=r"A of shape \(3, 2\) needs as many rows"):
        ps.sddmm(A, Y, X)
    with pytest.raises(ValueError, match="unknown values 'all'"):
        ps.sddmm(A, X, Y, values="all")
    with pytest.raises(ValueError, match=r"out has shape \(3,\); expected \(2,\)"):
        ps.sddmm(A, X, Y, out=np.zeros(3))
    with pytest.raises(TypeError, match="to out's int64"):
        ps.sddmm(A, X, Y, out=np.zeros(2, int))
    with pytest.raises(TypeError, match="must be a sparse matrix"):
        ps.sddmm(X, X, Y)
    out = np.full(2, 7.0)
    A.indices[1] = 2
    with pytest.raises(
        ValueError, match=r"indices\[1\] is 2, out of bounds for a size"
    ):
        ps.sddmm(A, X, Y, out=out)
    assert out.tolist() == [7, 7]


@given(st.data())
def test_any_call(data):
    draw = data.draw
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    m, n = draw(st.integers(0, 9)), draw(st.integers(0, 9))
    index = draw(st.sampled_from((np.int32, np.int64, np.uint8)))
    A = random_matrix(
        rng, draw(st.sampled_from(FORMATS)), (m, n), 20, np.float32, index=index
    )
    width = draw(st.sampled_from((1, 3, 16, 33)))
    X = random_values(rng, np.float32, (m, width))
    Y = random_values(rng, np.float32, (n, width))
    check(A, X, Y, values=draw(st.sampled_from(VALUES)))


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", ["f32", "f64"])
def test_slices_of_all_lengths(format, name):
    rng = rng_for("lengths", format, name)
    lengths = np.concatenate([np.arange(18), rng.integers(0, 60, 30), [0, 33, 0]])
    shape = (len(lengths), 2100)  # rows of Y are far enough to be asked for
    major = np.repeat(np.arange(shape[0]), lengths)
    minor = rng.integers(0, shape[1], major.size)
    data = random_values(rng, DTYPES[name], major.size)
    if format == "csc":
        A = matrix_of(format, minor, major, data, shape[::-1])
    else:
        A = matrix_of(format, major, minor, data, shape)
    for width in (16, 21):
        X = random_values(rng, DTYPES[name], (A.shape[0], width))
        Y = random_values(rng, DTYPES[name], (A.shape[1], width))
        check(A, X, Y, width, values="scale")


@pytest.mark.parametrize("format", FORMATS)
def test_threads_and_levels_give_the_same_bits(format):
    rng = rng_for("threads", format)
    core = ps._core
    for name in ("f32", "f64", "c64", "i16", "b1"):
        A = random_matrix(rng, format, (900, 700), 9000, DTYPES[name])
        X = random_values(rng, DTYPES[name], (900, 37))
        Y = random_values(rng, DTYPES[name], (700, 37))
        results = []
        for level in core.levels():
            core.force_level(level)
            for threads in (1, 2, 3, 7):
                ps.set_num_threads(threads)
                with np.errstate(all="ignore"):
                    results.append(ps.sddmm(A, X, Y, values="scale"))
        for result in results[1:]:
            assert_same(result, results[0], name)


def test_it_is_the_derivative_of_a_product():
    rng = rng_for("derivative")
    A = random_matrix(rng, "csc", (5, 4), 9, np.float64, special=False)
    X, G = rng.random((4, 3)), rng.random((5, 3))
    row, col, _ = triples(A)
    np.testing.assert_allclose(ps.sddmm(A, G, X), (G @ X.T)[row, col])
    np.testing.assert_allclose(
        ps.spmm(A, G, transpose=True), dense_of(A).T @ G, rtol=1e-9, atol=1e-12
    )
