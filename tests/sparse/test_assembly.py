"""Assembly: what meets is added in the order of the input, now and again."""

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pyscatter as ps
from tests.reference import matrix as reference

THREADS = 1, 2, 3, 7
DTYPES = "?", "i1", "u2", "i4", "u8", "f2", "f4", "f8", "c8", "c16"


def check(data, coordinates, shape, matrix):
    """Compare a result with the reference, bit by bit."""
    wanted = reference.assemble(data, *coordinates)
    assert type(matrix) is ps.CSR
    assert matrix.shape == shape
    assert matrix.dtype == np.asarray(data).dtype
    ps._core.check_matrix(matrix)
    found = reference.entries(matrix)
    assert [(r, c) for r, c, _ in found] == list(wanted)
    values = np.array(list(wanted.values()), matrix.dtype)
    assert matrix.data.tobytes() == values.tobytes()


def numbers(rng, dtype, shape):
    """Return values of a dtype, zeros of both signs among them."""
    values = rng.integers(-9, 9, shape) / 4
    values = np.where(values == 0, rng.choice([0.0, -0.0], shape), values)
    if dtype == "?":
        return values > 0
    with np.errstate(invalid="ignore"):
        values = values.astype(dtype)
    return values * values.dtype.type(1 + 2j) if values.dtype.kind == "c" else values


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [0, 1, 10, 3000])
def test_sums(dtype, n):
    rng = np.random.default_rng(n)
    where = rng.integers(0, 20, n), rng.integers(0, 30, n)
    data = numbers(rng, dtype, n)
    check(data, where, (20, 30), ps.coo_to_csr(data, where, (20, 30)))
    plan = ps.AssemblyPlan(where, (20, 30))
    for values in (data, data[::-1], numbers(rng, dtype, n)):
        check(values, where, (20, 30), plan(values))


def test_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    data = np.array([1, 2**-8, 2**-8], ml_dtypes.bfloat16)
    matrix = ps.coo_to_csr(data, ([0, 0, 0], [1, 1, 1]), (1, 2))
    assert matrix.dtype == data.dtype
    assert float(matrix.data[0]) == 1 + 2**-7


@pytest.mark.parametrize("columns", [5, 33, 4000, 10**6, 2**40, 2**62])
@pytest.mark.parametrize("rows", [1, 3, 50])
def test_columns_by_table_and_by_hash(rows, columns):
    rng = np.random.default_rng(columns % 97 + rows)
    distinct = rng.integers(0, columns, 200)
    where = rng.integers(0, rows, 900), rng.choice(distinct, 900)
    data = rng.standard_normal(900)
    matrix = ps.coo_to_csr(data, where, (rows, columns))
    check(data, where, (rows, columns), matrix)


@pytest.mark.parametrize("lengths", [[31, 32, 33, 34], [64, 1, 0, 500], [8, 9, 7, 16]])
def test_rows_of_all_lengths(lengths):
    rng = np.random.default_rng(0)
    row = np.repeat(np.arange(4), lengths)
    col = np.concatenate([rng.permutation(1000)[:n] for n in lengths])
    order = rng.permutation(row.size)
    where = row[order], col[order]
    data = rng.standard_normal(row.size)
    check(data, where, (4, 1000), ps.coo_to_csr(data, where, (4, 1000)))


def test_shapes_that_broadcast():
    rng = np.random.default_rng(1)
    nodes = rng.integers(0, 12, (7, 3))
    row, col = nodes[:, :, None], nodes[:, None, :]
    for shape in ((7, 3, 3), (3, 3), (3, 1), (1,), (), (7, 1, 1)):
        data = rng.standard_normal(shape)
        check(data, (row, col), (12, 12), ps.coo_to_csr(data, (row, col), (12, 12)))
        check(data, (row, col), (12, 12), ps.AssemblyPlan((row, col), (12, 12))(data))
    larger = rng.standard_normal((2, 7, 3, 3))
    matrix, plan = ps.coo_to_csr(larger, (row, col), (12, 12), plan=True)
    check(larger, (row, col), (12, 12), matrix)
    check(2 * larger, (row, col), (12, 12), plan(2 * larger))
    check(7.0, (3, 4), (12, 12), ps.coo_to_csr(7.0, (3, 4), (12, 12)))


@pytest.mark.parametrize("kind", ["i1", "u1", "i2", "u2", ">i4", "u4", "i8", ">u8"])
def test_all_integers(kind):
    rng = np.random.default_rng(2)
    wide = rng.integers(0, 100, (2, 200))
    row, col = wide.astype(kind)
    data = rng.standard_normal(100)
    matrix = ps.coo_to_csr(data, (row[::2], col[::-2]), (100, 100))
    check(data, (wide[0, ::2], wide[1, ::-2]), (100, 100), matrix)
    assert matrix.indices.dtype == (np.int64 if kind[-1] == "8" else np.int32)
    assert matrix.indptr.dtype == matrix.indices.dtype


def test_widths_of_the_structure():
    one = np.ones(1)
    assert ps.coo_to_csr(one, ([0], [0]), (1, 1)).indices.dtype == np.int32
    assert ps.coo_to_csr(one, ([0], [0]), (1, 2**31)).indices.dtype == np.int64
    assert ps.AssemblyPlan((np.array([0]), [0]), (1, 1))(one).indptr.dtype == np.int64


def test_sums_start_at_the_first_entry():
    matrix = ps.coo_to_csr(np.array([-0.0, -0.0, 0.0]), ([0, 1, 1], [0, 0, 0]), (2, 1))
    assert np.signbit(matrix.data).tolist() == [True, False]
    cancelled = ps.coo_to_csr(np.array([1.0, -1.0]), ([0, 0], [0, 0]), (1, 1))
    assert cancelled.nnz == 1


def test_halves_are_rounded_once():
    data = np.array([2048, 1, 1], np.float16)
    assert ps.coo_to_csr(data, ([0] * 3, [0] * 3), (1, 1)).data[0] == 2050


@pytest.mark.parametrize("shape", [(0, 0), (0, 5), (5, 0), (5, 5)])
def test_nothing_to_assemble(shape):
    matrix, plan = ps.coo_to_csr([], ([], []), shape, plan=True)
    assert matrix.nnz == 0
    assert matrix.shape == plan.shape == shape
    assert plan(np.zeros(0, np.int8)).dtype == np.int8


@given(st.data())
def test_any_contributions(draw):
    rows, columns = draw.draw(st.tuples(st.integers(1, 8), st.integers(1, 8)))
    n = draw.draw(st.integers(0, 60))
    number = st.lists(st.integers(0, rows - 1), min_size=n, max_size=n)
    row = np.array(draw.draw(number), np.int32)
    number = st.lists(st.integers(0, columns - 1), min_size=n, max_size=n)
    col = np.array(draw.draw(number), np.int16)
    values = st.lists(st.floats(width=32), min_size=n, max_size=n)
    data = np.array(draw.draw(values), np.float32)
    finite = np.isfinite(data)
    row, col, data = row[finite], col[finite], data[finite]
    with np.errstate(over="ignore", invalid="ignore"):
        matrix = ps.coo_to_csr(data, (row, col), (rows, columns))
        wanted = reference.assemble(data, row, col)
    sums = np.array(list(wanted.values()), np.float32)
    np.testing.assert_array_equal(matrix.data, sums)


@pytest.mark.parametrize("kind", ["random", "mesh", "one row", "sorted", "wide"])
def test_same_bits_on_any_number_of_threads(kind):
    rng = np.random.default_rng(3)
    n, shape = 300_000, (5000, 7000)
    row, col = rng.integers(0, shape[0], n), rng.integers(0, shape[1], n)
    if kind == "mesh":
        row, col = np.arange(n) // 70, np.arange(n) // 70 + np.arange(n) % 9
    elif kind == "one row":
        row = np.full(n, 17)
    elif kind == "sorted":
        order = np.lexsort((col, row))
        row, col = row[order], col[order]
    elif kind == "wide":
        shape = (5000, 2**40)
        col = col * 2**27 + 1
    data = rng.standard_normal(n).astype(np.float32)
    results = set()
    for number in THREADS:
        with ps.num_threads(number):
            matrix, plan = ps.coo_to_csr(data, (row, col), shape, plan=True)
            arrays = matrix.data, matrix.indices, matrix.indptr, plan(data).data
        results.add(tuple(array.tobytes() for array in arrays))
    assert len(results) == 1
    assert arrays[0].tobytes() == arrays[3].tobytes()
    if kind != "wide":
        keys, at = np.unique(row * shape[1] + col, return_inverse=True)
        np.testing.assert_array_equal(keys % shape[1], matrix.indices)
        sums = ps.scatter(np.full(keys.size, -0.0, np.float32), at, data, op="add")
        assert sums.tobytes() == matrix.data.tobytes()


# --- what is refused ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "col", "words"),
    [
        ([0, 3], [0, 0], r"row\[1\] is 3, out of bounds for a size of 3"),
        ([0, -1], [0, 0], r"row\[1\] is -1, out of bounds"),
        ([0, 1], [4, 0], r"col\[0\] is 4, out of bounds for a size of 4"),
        ([0, 1], [0, -5], r"col\[1\] is -5, out of bounds"),
        ([[0], [1], [3]], [0, 1], r"row\[2\] is 3, out of bounds"),
        ([[0], [1]], [0, 1, 2, 3, 4], r"col\[4\] is 4, out of bounds"),
        (np.array([0, 2**64 - 1], "u8"), [0, 1], r"row\[1\] is 18446744073709551615"),
        ([0, 2**40], [0, 1], r"row\[1\] is 1099511627776"),
    ],
)
def test_out_of_bounds(row, col, words):
    for call in (
        lambda: ps.coo_to_csr(1.0, (row, col), (3, 4)),
        lambda: ps.AssemblyPlan((row, col), (3, 4)),
    ):
        with pytest.raises(ValueError, match=words):
            call()


def test_the_first_that_is_out_of_bounds_on_any_number_of_threads():
    row = np.zeros(200_000, np.int32)
    row[150_000] = row[199_999] = 9
    for number in THREADS:
        with ps.num_threads(number), pytest.raises(ValueError, match=r"row\[150000\]"):
            ps.AssemblyPlan((row, row), (9, 9))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: ps.AssemblyPlan(([0, 1], [0, 1, 2]), (3, 3)), ValueError, "broadcast"),
        (lambda: ps.coo_to_csr([1, 2], ([0] * 3, [0] * 3), (3, 3)), ValueError, "data"),
        (lambda: ps.AssemblyPlan(([0], [0]), (3,)), ValueError, "two sizes"),
        (lambda: ps.AssemblyPlan(([0], [0]), (3, -1)), ValueError, "negative"),
        (lambda: ps.AssemblyPlan(([0], [0]), 3), TypeError, "pair of integers"),
        (lambda: ps.AssemblyPlan(([0.5], [0]), (3, 3)), TypeError, "'row' has dtype"),
        (lambda: ps.AssemblyPlan(([0], ["a"]), (3, 3)), TypeError, "'col' has dtype"),
        (lambda: ps.AssemblyPlan([0, 1], (3, 3)), TypeError, r"tuple \(row, col\)"),
        (lambda: ps.AssemblyPlan((0, 1, 2), (3, 3)), TypeError, r"tuple \(row, col\)"),
        (lambda: ps.coo_to_csr(["a"], ([0], [0]), (3, 3)), TypeError, "dtype <U1"),
        (lambda: ps.coo_to_csr([None], ([0], [0]), (3, 3)), TypeError, "dtype object"),
        (
            lambda: ps.coo_to_csr(np.ones(1, "g"), ([0], [0]), (3, 3)),
            TypeError,
            "double precision",
        ),
        (
            lambda: ps.coo_to_csr(np.ma.ones(1), ([0], [0]), (3, 3)),
            TypeError,
            "masked array",
        ),
        (
            lambda: ps.AssemblyPlan(([0, 1], [0, 1]), (3, 3))(np.ones((2, 2))),
            ValueError,
            r"data has shape \(2, 2\); expected to broadcast to \(2,\), the shape",
        ),
        (lambda: ps.AssemblyPlan(([0], [0]), (2**61, 3)), MemoryError, None),
    ],
)
def test_refusals(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_a_plan_cannot_be_changed():
    row = np.array([0, 1])
    plan = ps.AssemblyPlan((row, row), (2, 2))
    row[:] = 9
    assert plan(np.ones(2)).indices.tolist() == [0, 1]
    for name in ("shape", "nnz", "new"):
        with pytest.raises(AttributeError):
            setattr(plan, name, 1)
    with pytest.raises(ValueError, match="read-only"):
        plan(np.ones(2)).indices[0] = 1


def test_another_thread_that_rewrites():
    rng = np.random.default_rng(4)
    row, col = rng.integers(0, 50, (2, 60_000))
    good, data = row.copy(), rng.standard_normal(60_000)
    stop = threading.Event()

    def rewrite():
        while not stop.is_set():
            row[::7] = 2**40
            row[:] = good

    thread = threading.Thread(target=rewrite)
    thread.start()
    try:
        for _ in range(60):
            try:
                matrix = ps.coo_to_csr(data, (row, col), (50, 50))
                ps._core.check_matrix(matrix)
            except ValueError as error:
                assert "out of bounds" in str(error)
    finally:
        stop.set()
        thread.join()
