"""Products of sparse and dense arrays against their slow twin, bit for bit."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pyscatter as ps
from tests import reference
from tests.cases import (
    DTYPES,
    as_byteswapped,
    as_odd_strides,
    as_unaligned,
    random_values,
    rng_for,
)
from tests.matrices import FORMATS, dense_of, matrix_of, random_matrix
from tests.reference.spmm import triples
from tests.spmm_bits import assert_same

NUMBERS = [name for name in DTYPES if name not in ("f80", "datetime", "timedelta")]
REAL = [name for name in NUMBERS if name not in ("c64", "c128")]
WIDTHS = (0, 1, 2, 3, 5, 8, 15, 16, 17, 31, 33, 64, 70)


def check(A, X, context="", **options):
    """Compare one call with the twin, which may overflow in silence."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = reference.spmm(A, X, **options)
        actual = ps.spmm(A, X, **options)
    assert_same(actual, expected, context)
    return actual


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", NUMBERS)
def test_sums_of_each_dtype(name, format):
    rng = rng_for(name, format)
    for width in (None, *WIDTHS):
        A = random_matrix(rng, format, (6, 5), 17, DTYPES[name])
        X = random_values(rng, DTYPES[name], (5,) if width is None else (5, width))
        check(A, X, f"width {width}")


@pytest.mark.parametrize("op", ["mean", "min", "max"])
@pytest.mark.parametrize("name", REAL)
def test_other_ways_to_meet(name, op):
    rng = rng_for(name, op)
    for format in FORMATS:
        for width in (1, 3, 16, 21):
            A = random_matrix(rng, format, (7, 5), 12, DTYPES[name])
            X = random_values(rng, DTYPES[name], (5, width))
            check(A, X, f"{format} {width}", op=op)
            check(A, X, f"{format} {width} filled", op=op, fill_value=True)


@pytest.mark.parametrize("name", ["c64", "c128"])
def test_means_of_complex_numbers(name):
    rng = rng_for(name)
    A = random_matrix(rng, "csr", (7, 5), 12, DTYPES[name])
    X = random_values(rng, DTYPES[name], (5, 3))
    check(A, X, op="mean")
    for options in ({"op": "min"}, {"op": np.maximum}, {"semiring": "min_plus"}):
        with pytest.raises(TypeError, match="not defined for dtype complex"):
            ps.spmm(A, X, **options)


@pytest.mark.parametrize("semiring", ["min_plus", "max_plus", "max_times", "or_and"])
def test_semirings(semiring):
    rng = rng_for(semiring)
    for name in REAL:
        for format in FORMATS:
            A = random_matrix(rng, format, (7, 5), 12, DTYPES[name])
            X = random_values(rng, DTYPES[name], (5, 3))
            check(A, X, f"{name} {format}", semiring=semiring)
            check(A, X[:, 0], f"{name} {format}", semiring=semiring, transpose=False)


def test_ufuncs_name_ops():
    A = matrix_of("csr", [0, 0], [0, 1], np.array([2.0, 3.0]), (2, 2))
    x = np.array([5.0, 7.0])
    for ufunc, op in ((np.add, "add"), (np.minimum, "min"), (np.maximum, "max")):
        assert_same(ps.spmm(A, x, op=ufunc), ps.spmm(A, x, op=op))
    assert ps.spmm(A, x, op="min").tolist() == [10.0, np.inf]
    assert ps.spmm(A, x, op="mean", fill_value=-1).tolist() == [15.5, -1.0]


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", ["f32", "c128", "i16", "b1"])
def test_sides_and_turns(name, format):
    rng = rng_for(name, format)
    for transpose in (False, True):
        for conjugate in (False, True):
            options = {"transpose": transpose, "conjugate": conjugate}
            n, m = (4, 6) if transpose else (6, 4)
            A = random_matrix(rng, format, (n, m), 11, DTYPES[name])
            inner, outer = (4, 6) if transpose else (4, 6)
            for shape in ((inner,), (inner, 3), (2, inner, 3), (2, 1, inner, 2)):
                check(
                    A, random_values(rng, DTYPES[name], shape), str(options), **options
                )
            for shape in ((outer,), (3, outer), (2, 3, outer), (2, 1, 2, outer)):
                check(
                    random_values(rng, DTYPES[name], shape), A, str(options), **options
                )


@pytest.mark.parametrize("name", NUMBERS)
def test_dtypes_are_promoted(name):
    rng = rng_for("promotion", name)
    for other in NUMBERS:
        try:
            np.result_type(DTYPES[name], DTYPES[other])
        except TypeError:
            continue
        A = random_matrix(rng, "csr", (4, 3), 9, DTYPES[name])
        X = random_values(rng, DTYPES[other], (3, 2))
        check(A, X, other)
    implicit = random_matrix(rng, "csc", (4, 3), 9, None)
    check(implicit, random_values(rng, DTYPES[name], (3, 2)))
    check(implicit, random_values(rng, DTYPES[name], (3, 20)), op="mean")


def test_dtype_is_what_is_computed_in():
    A = matrix_of("csr", [0, 0], [0, 1], np.array([100, 100], np.int8), (1, 2))
    x = np.array([2, 2], np.int8)
    assert ps.spmm(A, x).tolist() == [np.int8(-112)]
    for dtype in (np.int32, np.float32, np.complex64, np.float16):
        result = ps.spmm(A, x, dtype=dtype)
        assert (result.dtype, result.tolist()) == (np.dtype(dtype), [400])
    with pytest.raises(TypeError, match="cannot cast an operand"):
        ps.spmm(A, x.astype(float), dtype=np.int32)
    out = np.zeros(1, np.float32)
    assert ps.spmm(A, x, dtype=np.float64, out=out) is out
    with pytest.raises(
        TypeError, match="cannot cast from dtype float64 to out's int64"
    ):
        ps.spmm(A, x, dtype=np.float64, out=np.zeros(1, np.int64))


def test_half_types_are_rounded_once():
    data = np.full(4096, 1, np.float16)
    A = matrix_of("csr", np.zeros(4096, int), np.arange(4096), data, (1, 4096))
    assert ps.spmm(A, np.ones(4096, np.float16)) == [4096]


@pytest.mark.parametrize("format", FORMATS)
def test_alpha_beta_and_out(format):
    rng = rng_for(format)
    for name in ("f32", "f64", "c64", "i32", "f16"):
        for shape in ((5,), (5, 3), (5, 40), (2, 5, 3)):
            A = random_matrix(rng, format, (6, 5), 13, DTYPES[name], special=False)
            X = random_values(rng, DTYPES[name], shape, False)
            old = random_values(
                rng, DTYPES[name], (*shape[:-2], 6, *shape[1:][-1:]), False
            )
            for alpha, beta in ((2, 0), (1, 3), (-2, -1), (0, 1), (np.int8(3), 2)):
                options = {"alpha": alpha, "beta": beta}
                mine, twin = old.copy(), old.copy()
                assert ps.spmm(A, X, out=mine, **options) is mine
                reference.spmm(A, X, out=twin, **options)
                assert_same(mine, twin, f"{name} {shape} {options}")
    for op in ("mean", "min", "max"):
        mine = ps.spmm(A, X, op=op, fill_value=2, alpha=3, beta=-1, out=old.copy())
        twin = reference.spmm(
            A, X, op=op, fill_value=2, alpha=3, beta=-1, out=old.copy()
        )
        assert_same(mine, twin, op)


def test_factors_join_promotion():
    A = matrix_of("csr", [0], [0], np.array([3], np.int32), (1, 1))
    x = np.array([5], np.int32)
    assert ps.spmm(A, x, alpha=2).dtype == np.int32
    assert ps.spmm(A, x, alpha=0.5).tolist() == [7.5]
    assert ps.spmm(A, x, alpha=1j).tolist() == [15j]
    assert ps.spmm(A, x.astype(np.float32), alpha=0.5).dtype == np.float64
    A.data = A.data.astype(np.float32)
    assert ps.spmm(A, x.astype(np.float32), alpha=0.5).dtype == np.float32
    assert ps.spmm(A, x.astype(np.float32), alpha=np.float64(1)).dtype == np.float64


def test_a_beta_of_zero_does_not_read():
    A = matrix_of("csr", [0], [0], np.array([3.0]), (2, 1))
    for beta in (0, 0.0, np.float32(0)):
        out = np.full(2, np.nan)
        assert ps.spmm(A, np.ones(1), beta=beta, out=out).tolist() == [3, 0]
    out = np.full(2, np.nan)
    assert np.isnan(ps.spmm(A, np.ones(1), beta=1, out=out)).all()
    assert np.isnan(ps.spmm(A, np.full(1, np.inf), alpha=0)[0])


@pytest.mark.parametrize("format", FORMATS)
def test_out_may_share_memory(format):
    rng = rng_for(format)
    A = random_matrix(rng, format, (8, 8), 40, np.float64, special=False)
    X = rng.random((8, 4))
    expected = reference.spmm(A, X)
    assert_same(ps.spmm(A, X, out=X), expected)
    x = rng.random(8)
    expected = reference.spmm(A, x, alpha=2, beta=3, out=A.data[:8].copy())
    assert_same(ps.spmm(A, x, alpha=2, beta=3, out=A.data[:8]), expected)
    for name in ("row", "col", "indices", "indptr"):
        if not hasattr(A, name):
            continue
        B = SimpleNamespace(**vars(A))
        whole = getattr(B, name).astype(np.int64)
        setattr(B, name, whole)
        expected = reference.spmm(B, x.astype(int), dtype=float).astype(np.int64)
        got = ps.spmm(B, x.astype(int), dtype=float, out=whole[:8].view(float))
        assert_same(got, expected.astype(float))


@pytest.mark.parametrize("layout", [as_byteswapped, as_odd_strides, as_unaligned])
@pytest.mark.parametrize("format", FORMATS)
def test_layouts(format, layout):
    rng = rng_for(format, layout.__name__)
    A = random_matrix(rng, format, (6, 5), 13, np.float64)
    X = layout(random_values(rng, np.float64, (5, 4)))
    check(A, X)
    check(A, np.asfortranarray(X))
    check(A, X[:, 0])
    check(X.T, A, transpose=True)
    out = layout(np.ones((6, 4)))
    expected = reference.spmm(A, X, beta=2, out=np.ones((6, 4)))
    assert ps.spmm(A, X, beta=2, out=out) is out
    assert_same(np.array(out, float), expected)
    odd = SimpleNamespace(**vars(A))
    odd.data = layout(A.data)
    for name in ("row", "col", "indices", "indptr"):
        if hasattr(A, name):
            setattr(odd, name, layout(getattr(A, name)))
    check(odd, X)


def test_broadcast_batches_and_matrices_of_numpy():
    rng = rng_for("batches")
    A = random_matrix(rng, "csr", (6, 5), 13, np.float32)
    X = np.broadcast_to(random_values(rng, np.float32, (5, 4)), (3, 2, 5, 4))
    assert_same(ps.spmm(A, X)[1, 1], check(A, X[0, 0]))
    assert type(ps.spmm(A, X[0, 0].view(np.matrix))) is np.ndarray
    assert ps.spmm(A, X[0, 0].tolist()).dtype == np.float64
    assert ps.spmm(A, np.zeros((0, 5, 4), np.float32)).shape == (0, 6, 4)


@pytest.mark.parametrize("format", FORMATS)
def test_nothing_to_do(format):
    for shape in ((0, 0), (0, 3), (3, 0), (3, 3)):
        A = random_matrix(rng_for(shape), format, shape, 0, np.float64)
        for tail in ((), (0,), (2,), (20,)):
            check(A, np.ones((shape[1], *tail)))
            check(A, np.ones((shape[1], *tail)), op="max")
            check(A, np.ones((shape[1], *tail)), op="mean")
            check(A, np.ones((shape[0], *tail)), transpose=True)
            check(np.ones((*tail, shape[0])), A)


def test_places_that_are_not_stored_are_not_touched():
    A = matrix_of("csr", [0, 1], [1, 0], np.array([2.0, 0.0]), (2, 2))
    assert ps.spmm(A, np.array([np.nan, 1.0]))[0] == 2
    assert np.isnan(ps.spmm(A, np.array([np.inf, 1.0]))[1])
    assert not np.signbit(ps.spmm(A, np.array([1.0, -0.0])))[0]


@given(st.data())
def test_any_call(data):
    draw = data.draw
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    m, n = draw(st.integers(0, 9)), draw(st.integers(0, 9))
    format = draw(st.sampled_from(FORMATS))
    dtype, other = (DTYPES[draw(st.sampled_from(("f32", "f64", "i32")))] for _ in "ax")
    index = draw(st.sampled_from((np.int32, np.int64, np.uint16)))
    nnz = draw(st.integers(0, 30))
    A = random_matrix(
        rng, format, (m, n), nnz, draw(st.sampled_from((dtype, None))), index=index
    )
    transpose = draw(st.booleans())
    width = draw(st.sampled_from(((), (1,), (2,), (7,), (16,), (40,))))
    X = random_values(rng, other, ((m if transpose else n), *width))
    op = draw(st.sampled_from(("add", "mean", "min", "max")))
    check(A, X, op=op, transpose=transpose)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("width", [1, 3, 16, 64, 100, 700])
def test_long_rows_and_many_entries(format, width):
    rng = rng_for(format, width)
    n = 3000 if width < 100 else 300
    row = np.where(rng.random(n) < 0.5, 3, rng.integers(0, 50, n))
    A = matrix_of(
        format, row, rng.integers(0, 70, n), rng.random(n).astype("f4"), (50, 70)
    )
    X = rng.random((70, width)).astype("f4")
    expected = np.zeros((50, width), "f4")
    r, c, values = triples(A)
    for i, j, a in zip(r, c, values, strict=True):
        expected[i] += a * X[j]
    assert_same(ps.spmm(A, X), expected)
    assert_same(ps.spmm(A, X, beta=1, out=np.zeros_like(expected)), expected)


@pytest.mark.parametrize(
    ("name", "op"),
    [("f32", "add"), ("f64", "add"), ("c64", "add"), ("u64", "add"), ("f32", "min")],
)
def test_wide_rows_are_their_columns(name, op):
    rng = rng_for("columns", name, op)
    A = random_matrix(rng, "csr", (60, 3000), 500, DTYPES[name])
    X = random_values(rng, DTYPES[name], (3000, 301))
    with np.errstate(all="ignore"):
        columns = [ps.spmm(A, X[:, j].copy(), op=op) for j in range(301)]
        for level in ps._core.levels():
            ps._core.force_level(level)
            for width in (9, 63, 127, 255, 301):
                actual = ps.spmm(A, X[:, :width].copy(), op=op)
                assert_same(actual, np.stack(columns[:width], 1), f"{level} {width}")
    A.indices[-1] = 3000
    for width in (2, 64, 301):
        out = np.ones((60, width), DTYPES[name])
        with pytest.raises(ValueError, match=r"indices\[499\] is 3000"):
            ps.spmm(A, X[:, :width].copy(), op=op, out=out)
        assert (out == 1).all()


@pytest.mark.parametrize("format", FORMATS)
def test_threads_and_levels_give_the_same_bits(format):
    rng = rng_for("threads", format)
    core = ps._core
    for name in ("f32", "f64", "c64", "i32", "u8", "b1"):
        for width, op in (
            (1, "add"),
            (5, "add"),
            (64, "add"),
            (130, "max"),
            (16, "mean"),
        ):
            if (op == "max" and name == "c64") or (
                op == "mean" and name in ("u8", "b1")
            ):
                continue
            A = random_matrix(rng, format, (900, 700), 9000, DTYPES[name])
            X = random_values(rng, DTYPES[name], (700, width))
            old = random_values(rng, DTYPES[name], (900, width))
            results = []
            for level in core.levels():
                core.force_level(level)
                for threads in (1, 2, 3, 7):
                    ps.set_num_threads(threads)
                    with np.errstate(all="ignore"):
                        plain = ps.spmm(A, X, op=op)
                        scaled = ps.spmm(
                            A,
                            X.copy(),
                            op=op,
                            dtype=plain.dtype,
                            beta=3,
                            out=old.astype(plain.dtype),
                        )
                    results.append((plain, scaled))
            for plain, scaled in results[1:]:
                assert_same(plain, results[0][0], f"{name} {width} {op}")
                assert_same(scaled, results[0][1], f"{name} {width} {op} beta")


def test_formats_give_the_same_bits():
    rng = rng_for("formats")
    row, col = np.sort(rng.integers(0, 300, 4000)), rng.integers(0, 200, 4000)
    order = np.lexsort((col, row))
    row, col = row[order], col[order]
    data, X = rng.random(4000), rng.random((200, 33))
    results = [ps.spmm(matrix_of(f, row, col, data, (300, 200)), X) for f in FORMATS]
    shuffled = np.argsort(col, kind="stable")
    results.append(
        ps.spmm(
            matrix_of("coo", row[shuffled], col[shuffled], data[shuffled], (300, 200)),
            X,
        )
    )
    for result in results[1:]:
        assert_same(result, results[0])
    for j in (0, 7, 32):
        assert_same(
            ps.spmm(matrix_of("csr", row, col, data, (300, 200)), X[:, j]),
            results[0][:, j],
        )
    np.testing.assert_allclose(
        results[0], dense_of(matrix_of("csr", row, col, data, (300, 200))) @ X
    )
