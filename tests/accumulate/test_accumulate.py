"""Sums of gradients: the loop against its slow twin, and the object round it."""

import pickle
import threading

import numpy as np
import pytest

import pyscatter as ps
from tests.cases import DTYPES, assert_same, random_values, rng_for
from tests.reference.accumulate import accumulate as slow

RNG = rng_for("accumulate")
HALVES = [name for name in ("f16", "bf16") if name in DTYPES]
PAIRS = [(to, of) for to in ("f32", "f64") for of in (*HALVES, "f32", "f64")]
PAIRS += [(to, of) for to in ("c64", "c128") for of in ("c64", "c128")]
ODD = np.array([1.0, np.nan, np.inf, 2.0])


# --- the loop -------------------------------------------------------------------------


@pytest.mark.parametrize("how", [0, 1, 2])
@pytest.mark.parametrize(("to", "of"), PAIRS)
@pytest.mark.parametrize("level", ps._core.levels())
def test_loop(level, to, of, how):
    ps._core.force_level(level)
    for n in (0, 1, 7, 64, 203):
        acc = random_values(RNG, DTYPES[to], n, special=False)
        g = random_values(RNG, DTYPES[of], n)
        expected, odd = slow(acc, g, 0.75, how)
        assert ps._core.accumulate(acc, g, 0.75, how) == odd
        assert_same(acc, expected, f"{to} {of} {how} {n}")


def test_large_sums_are_the_same_on_any_number_of_threads():
    acc = RNG.standard_normal(300_001).astype("f4")
    g = RNG.standard_normal(300_001).astype("f4")
    g[::1000] = np.nan
    results = []
    for threads in (1, 2, 3):
        total = acc.copy()
        with ps.num_threads(threads):
            assert ps._core.accumulate(total, g, 0.5, 1) == 301
        results.append(total)
    assert np.array_equal(results[0], np.where(np.isnan(g), acc, acc + 0.5 * g))
    assert all(np.array_equal(results[0], other) for other in results)


def test_zero_keeps_its_sign():
    acc = np.array([-0.0, -0.0])
    ps._core.accumulate(acc, np.array([np.nan, -0.0]), 1.0, 1)
    assert np.signbit(acc).all()


def readonly(x):
    x.flags.writeable = False
    return x


@pytest.mark.parametrize(
    ("acc", "g", "how", "error"),
    [
        (np.zeros(3), np.zeros(2), 0, ValueError),
        (np.zeros(3), np.zeros(6)[::2], 0, ValueError),
        (np.zeros(6)[::2], np.zeros(3), 0, ValueError),
        (readonly(np.zeros(3)), np.zeros(3), 0, ValueError),
        (np.zeros(3), np.zeros(3, int), 0, TypeError),
        (np.zeros(3, int), np.zeros(3), 0, TypeError),
        (np.zeros(3, "f2"), np.zeros(3), 0, TypeError),
        (np.zeros(3), np.zeros(3, complex), 0, TypeError),
        (np.zeros(3), np.zeros(3, object), 0, TypeError),
        (np.zeros(3), np.zeros(3, ">f8"), 0, (TypeError, ValueError)),
        (np.zeros(3), np.zeros(3), 3, TypeError),
        (np.zeros(3), np.zeros(3), -1, TypeError),
        (np.zeros(3), [0.0] * 3, 0, TypeError),
    ],
)
def test_loop_refuses(acc, g, how, error):
    with pytest.raises(error):
        ps._core.accumulate(acc, g, 1.0, how)


def test_loop_refuses_shared_memory():
    x = np.zeros(4)
    with pytest.raises(ValueError, match="shares memory"):
        ps._core.accumulate(x[:3], x[1:], 1.0, 0)


# --- sums and means -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reduction", "grads", "expected"),
    [
        ("sum", [1.0, 1.0, 1.0, 9.0], 12.0),
        ("mean", [1.0, 1.0, 1.0, 9.0], 1.32),
        ("mean_of_sums", [32.0, 32.0, 32.0, 36.0], 1.32),
    ],
)
def test_means_are_right_for_unequal_batches(reduction, grads, expected):
    sums = ps.GradientAccumulator((), reduction=reduction)
    for g, weight in zip(grads, (32, 32, 32, 4), strict=True):
        sums.add(np.array(g), weight=weight)
    assert sums.value() == pytest.approx(expected)
    assert sums.weight == 100 and sums.n_adds == 4
    assert sums.take() == pytest.approx(expected)
    assert sums.value() == 0 and sums.weight == 0 and sums.n_adds == 0


def test_halves_add_up_in_float32():
    sums = ps.GradientAccumulator.like(np.zeros(1, np.float16))
    for _ in range(10_000):
        sums.add(np.array([1e-3], np.float16))
    assert sums.value().dtype == np.float32
    assert sums.value()[0] == pytest.approx(10, rel=1e-3)


def test_forms_of_parameters():
    params = {"w": np.zeros((2, 2), "f4"), "b": np.zeros(2)}
    sums = ps.GradientAccumulator.like(params)
    sums.add({"w": np.ones((2, 2))})
    sums.add({"b": np.ones(2, "f4"), "w": None})
    value = sums.value(sparse=False)
    assert value["w"].dtype == np.float32 and value["w"].sum() == 4
    assert value["b"].tolist() == [1, 1]
    for kind in (list, tuple):
        sums = ps.GradientAccumulator.like(kind(params.values()))
        sums.add(kind([None, np.ones(2)]))
        assert type(sums.value()) is kind and sums.value()[1].tolist() == [1, 1]
    sums = ps.GradientAccumulator((2,), np.complex64)
    sums.add(np.array([1j, 2]))
    assert sums.value().dtype == np.complex64


# --- what is not finite ---------------------------------------------------------------


def test_count_adds_all():
    sums = ps.GradientAccumulator(4)
    sums.add(ODD)
    assert sums.n_nonfinite == 2 and np.isnan(sums.value()[1])


def test_zero_leaves_elements_out():
    sums = ps.GradientAccumulator(4, on_nonfinite="zero")
    sums.add(ODD)
    sums.add(ps.RowSparse([1, 1], [np.inf, 5.0], (4,)))
    assert sums.n_nonfinite == 3 and sums.value().tolist() == [1, 5, 0, 2]


@pytest.mark.parametrize("policy", ["raise", "skip"])
@pytest.mark.parametrize("rows", [False, True])
def test_raise_and_skip_leave_every_sum_untouched(policy, rows):
    params = {"a": np.zeros(4), "b": np.zeros(4)}
    sums = ps.GradientAccumulator.like(params, on_nonfinite=policy)
    sums.add({"a": np.ones(4), "b": np.ones(4)})
    bad = ps.RowSparse([2], [np.nan], (4,)) if rows else ODD
    grads = {"a": np.ones(4), "b": bad}
    if policy == "raise":
        with pytest.raises(FloatingPointError, match="parameter 'b'; nothing was"):
            sums.add(grads)
    else:
        sums.add(grads)
    assert sums.n_skipped == (policy == "skip") and sums.n_adds == 1
    assert all(v.tolist() == [1] * 4 for v in sums.value(sparse=False).values())
    assert sums.n_nonfinite == (1 if rows else 2)


# --- rows -----------------------------------------------------------------------------


def test_rows_stay_rows():
    table = np.zeros((1_000_000, 4), np.float32)
    sums = ps.GradientAccumulator.like(table)
    for start in range(3):
        out, back = ps.vjp(ps.gather, table, [start, 5, 5])
        sums.add(back(np.ones(out.shape, "f4"), sparse=True)[0])
    value = sums.value()
    assert isinstance(value, ps.RowSparse) and value.indices.tolist() == [0, 1, 2, 5]
    assert value.values[:, 0].tolist() == [1, 1, 1, 6]
    assert sums.rows.tolist() == [0, 1, 2, 5] and value.nbytes < 200
    sums.sgd_step(table, lr=0.5)
    assert table[[0, 5, 6], 0].tolist() == [-0.5, -3, 0]
    sums.zero()
    assert sums.rows.size == 0


def test_rows_meet_whole_gradients():
    sums = ps.GradientAccumulator((4, 2))
    sums.add_rows([1, 1], [[1, 2], [3, 4]])
    sums.add(np.ones((4, 2)))
    sums.add_rows([3], [[5, 5]])
    expected = np.ones((4, 2))
    expected[1] += [4, 6]
    expected[3] += 5
    assert np.array_equal(sums.value(), expected) and sums.rows is None
    assert np.array_equal(sums.value(sparse=True).to_dense(), expected)
    with pytest.raises(ValueError, match="RowSparse"):
        ps.GradientAccumulator((4, 2), sparse=True).add(np.ones((4, 2)))


def test_dense_sums_know_their_rows():
    sums = ps.GradientAccumulator((5, 2), sparse=False, reduction="mean")
    sums.add_rows([3], [[2.0, 4.0]], weight=2)
    assert isinstance(sums.value(), np.ndarray) and sums.rows.tolist() == [3]
    table = np.zeros((5, 2), np.float16)
    sums.sgd_step(table, 1.0)
    assert table[3].tolist() == [-2, -4] and not table[:3].any()
    sums.zero()
    assert not sums.value().any() and sums.rows.size == 0


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", ">f4"])
def test_steps(dtype):
    params = np.ones((3, 2), dtype)
    sums = ps.GradientAccumulator.like(np.ones((3, 2)), reduction="mean")
    sums.add(np.full((3, 2), 2.0), weight=4)
    sums.sgd_step(params, lr=0.25)
    sums.sgd_step(params[:, ::1], lr=0.25)
    assert params.tolist() == [[0, 0]] * 3


# --- joining, keeping, sharing --------------------------------------------------------


def test_merge_and_state():
    one = ps.GradientAccumulator((6, 2), reduction="mean")
    two = ps.GradientAccumulator((6, 2), reduction="mean")
    one.add_rows([1], [[1.0, 1.0]], weight=1)
    two.add_rows([1, 4], [[3.0, 3.0], [2.0, 2.0]], weight=3)
    state = pickle.loads(pickle.dumps(one.get_state()))
    one.merge(two)
    assert one.weight == 4 and one.value().indices.tolist() == [1, 4]
    assert one.value().values[:, 0].tolist() == [2.5, 1.5]
    one.set_state(state)
    assert one.weight == 1 and one.value().values.tolist() == [[1, 1]]
    two.add(np.ones((6, 2)))
    one.merge(two)
    assert one.n_adds == 3
    again = ps.GradientAccumulator((6, 2), reduction="mean")
    again.set_state(one.get_state())
    assert np.array_equal(again.value(), one.value())
    for bad in (one, ps.GradientAccumulator((6, 2)), ps.GradientAccumulator(3)):
        with pytest.raises(ValueError):
            one.merge(bad)
    with pytest.raises(TypeError):
        one.merge(3)
    with pytest.raises(ValueError, match="reduction"):
        ps.GradientAccumulator((6, 2)).set_state(state)


def test_threads_share_one():
    sums = ps.GradientAccumulator((100, 3))

    def work(i):
        for k in range(50):
            sums.add_rows([i, k], np.ones((2, 3)))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sums.n_adds == 200 and sums.value(sparse=False).sum() == 200 * 6


# --- refusals -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda s: s.add(np.ones(3)), ValueError, r"shape \(3,\); expected \(4,\)"),
        (lambda s: s.add(np.ones(4, int)), TypeError, "int64"),
        (lambda s: s.add(np.ones(4, complex)), TypeError, "complex128"),
        (lambda s: s.add(np.ones(4), weight=-1), ValueError, "weight"),
        (lambda s: s.add(np.ones(4), weight=np.nan), ValueError, "weight"),
        (lambda s: s.add_rows([4], [1.0]), ValueError, "from 0 to 3"),
        (lambda s: s.sgd_step(np.ones(3), 1), ValueError, "shape"),
        (lambda s: s.sgd_step([1.0] * 4, 1), ValueError, "shape"),
        (lambda s: s.sgd_step(readonly(np.ones(4)), 1), ValueError, "read-only"),
        (lambda s: s.sgd_step(np.ones(4, int), 1), TypeError, "int64"),
    ],
)
def test_what_is_refused(call, error, words):
    sums = ps.GradientAccumulator(4)
    sums.add(np.ones(4))
    with pytest.raises(error, match=words):
        call(sums)
    assert sums.value().tolist() == [1] * 4 and sums.n_adds == 1


def test_options_are_checked():
    for bad in (
        {"reduction": "max"},
        {"on_nonfinite": "ignore"},
        {"sparse": "maybe"},
    ):
        with pytest.raises(ValueError):
            ps.GradientAccumulator(3, **bad)
    for dtype in (int, "f16" if np.dtype(np.longdouble).itemsize == 16 else object):
        with pytest.raises(TypeError):
            ps.GradientAccumulator(3, dtype)
    sums = ps.GradientAccumulator.like({"a": np.ones(2)})
    for bad in ({"b": np.ones(2)}, [np.ones(2)]):
        with pytest.raises(ValueError):
            sums.add(bad)
    with pytest.raises(ValueError):
        ps.GradientAccumulator.like([np.ones(2)]).add([])


def misaligned(n, dtype=np.float64):
    return np.zeros(n * np.dtype(dtype).itemsize + 1, np.uint8)[1:].view(dtype)


def test_gradients_and_parameters_that_lie_oddly():
    g = misaligned(3)
    g[:] = [1, 2, 3]
    sums = ps.GradientAccumulator.like([np.zeros(3)] * 3, sparse=False)
    sums.add([g, g, g])
    params = [np.zeros(3), misaligned(3), np.zeros(3, np.longdouble)]
    sums.sgd_step(params, 0.5)
    for parameter in params:
        assert parameter.tolist() == [-0.5, -1.0, -1.5]


def test_rows_of_unsigned_numbers_beyond_what_floats_tell_apart():
    first = 1 << 60
    sums = ps.GradientAccumulator(first * 2)
    sums.add_rows(np.array([first + 1, first], np.uint64), [1.0, 2.0])
    sums.add_rows(np.array([first + 1], np.uint64), [4.0])
    indices, values, _ = sums.value()
    assert indices.tolist() == [first, first + 1]
    assert values.tolist() == [2.0, 5.0]
    rows = ps.RowSparse(np.array([first + 1], np.uint64), [1.0], (first * 2,))
    assert rows.take([first, first + 1]).tolist() == [0.0, 1.0]


def test_a_state_is_checked_before_anything_changes():
    sums = ps.GradientAccumulator(2, sparse=False)
    sums.add(np.array([1.0, 2.0]))
    good = sums.get_state()
    bad = [
        ("counts", np.full(4, np.nan), ValueError),
        ("counts", np.ones(1), ValueError),
        ("sum.0", np.array([1j, 2j]), TypeError),
        ("sum.0", np.array(["1", "2"]), TypeError),
        ("sum.0", np.ones(3), ValueError),
    ]
    other = ps.GradientAccumulator(2, sparse=False)
    other.add(np.array([7.0, 8.0]), weight=3)
    for name, value, error in bad:
        with pytest.raises(error, match="the state has"):
            other.set_state(good | {name: value})
        assert other.value().tolist() == [7.0, 8.0]
        assert (other.weight, other.n_adds) == (3.0, 1)
    rows = {"rows.0": [1], "values.0": np.array([1j]), "counts": np.zeros(4)}
    with pytest.raises(TypeError, match="the state has dtype complex128"):
        other.set_state({"reduction": "sum"} | rows)


def test_options_and_keys_that_mean_nothing():
    for sparse in (0, 1, None, "rows"):
        with pytest.raises(ValueError, match="sparse must be"):
            ps.GradientAccumulator(3, sparse=sparse)
    held = ps.GradientAccumulator(3, sparse=np.True_)
    with pytest.raises(ValueError, match="RowSparse gradients alone"):
        held.add(np.ones(3))
    with pytest.raises(ValueError, match="key='b' is no parameter"):
        ps.GradientAccumulator.like({"a": np.zeros(3)}).add_rows([0], [1.0], key="b")
    for key in (None, 2, -1):
        with pytest.raises(ValueError, match="is no parameter"):
            ps.GradientAccumulator.like([np.zeros(3)] * 2).add_rows([0], [1], key=key)
    with pytest.raises(ValueError, match="a scalar has no rows"):
        ps.GradientAccumulator(()).value(sparse=True)


def test_states_and_merges_keep_to_rows_or_wholes():
    whole, rows = ps.GradientAccumulator(3), ps.GradientAccumulator(3)
    whole.add(np.ones(3))
    rows.add_rows([1], [2.0])
    strict = ps.GradientAccumulator(3, sparse=True)
    strict.add_rows([0], [5.0])
    with pytest.raises(ValueError, match="RowSparse gradients alone"):
        strict.merge(whole)
    with pytest.raises(ValueError, match="RowSparse gradients alone"):
        strict.set_state(whole.get_state())
    assert strict.value().to_dense().tolist() == [5.0, 0.0, 0.0]
    strict.merge(rows)
    assert strict.value().to_dense().tolist() == [5.0, 2.0, 0.0]
    dense = ps.GradientAccumulator(3, sparse=False)
    dense.set_state(rows.get_state())
    assert dense.value().tolist() == [0.0, 2.0, 0.0]
    assert dense.rows.tolist() == [1]


@pytest.mark.parametrize("sparse", ["auto", True, False])
def test_rows_whose_indices_have_been_rewritten(sparse):
    g = ps.RowSparse(np.array([0, 1]), np.ones(2), (3,))
    sums = ps.GradientAccumulator.like([np.zeros(3)] * 2, sparse=sparse)
    g.indices[0] = 99
    with pytest.raises(ValueError, match="indices must be from 0 to 2"):
        sums.add([ps.RowSparse([1], [1.0], (3,)), g])
    assert sums.n_adds == 0
    assert not any(np.any(one) for one in sums.value(sparse=False))


def test_scalars_beside_rows():
    params = [np.zeros(3), np.zeros(())]
    one = ps.GradientAccumulator.like(params, sparse=True)
    other = ps.GradientAccumulator.like(params, sparse=True)
    other.add([ps.RowSparse([1], [2.0], (3,)), None])
    one.merge(other)
    other.set_state(one.get_state())
    assert other.value()[0].to_dense().tolist() == [0.0, 2.0, 0.0]
    assert other.value()[1] == 0.0
