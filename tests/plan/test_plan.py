"""Plans: what they say of an index, what they refuse, pickles, threads and forks."""

import copy
import gc
import pickle
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pyscatter as ps
from tests import reference
from tests.cases import rng_for
from tests.isolated.children import run_code

CORE = ps._core
MODES = ("raise", "drop", "clip", "wrap")
FACTS = (
    *("shape", "size", "mode", "n", "n_dropped", "n_rows", "min", "max"),
    *("is_sorted", "is_unique", "has_negative"),
)


# ---------------------------------------------------------------- what a plan says


def check_facts(index, size, mode):
    plan, twin = ps.Plan(index, size, mode=mode), reference.Plan(index, size, mode=mode)
    assert [getattr(plan, f) for f in FACTS] == [getattr(twin, f) for f in FACTS]
    rows = CORE.plan_index(plan)
    assert rows.dtype == np.int32 and rows.shape == twin.shape
    assert np.array_equal(rows, twin.rows)
    assert CORE.plan_has_negative(plan) is twin.has_negative
    return plan


@pytest.mark.parametrize("dtype", ["i1", "u2", ">i4", "u8", "i8"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("size", [40, 100_000_000])
def test_facts(mode, dtype, size):
    rng = rng_for(mode, dtype, size)
    signed = np.dtype(dtype).kind == "i"
    low, high = (-40 if signed else 0), (40 if mode == "raise" else 90)
    for shape in ((0,), (), (3, 5), (2500,)):
        index = np.asarray(rng.integers(low, high, shape)).astype(dtype)
        check_facts(index, size, mode)
        check_facts(np.sort(index.reshape(-1))[::-1], size, mode)


def test_flags():
    for index, wanted in {
        (0, 1, 1, 3): (True, False),
        (0, 2, 3): (True, True),
        (3, 1): (False, True),
        (): (True, True),
        (-1, 0): (False, True),
    }.items():
        plan = ps.Plan(list(index), 5)
        assert (plan.is_sorted, plan.is_unique) == wanted, index
    dropped = ps.Plan([5, 0, -1, 4], 5, mode="drop")
    assert (dropped.n, dropped.n_dropped, dropped.min, dropped.max) == (4, 2, 0, 4)
    assert CORE.plan_index(dropped).tolist() == [-1, 0, -1, 4]


def test_size_of_memory():
    index = np.arange(1000)[::-1]
    assert ps.Plan(index, 1000).nbytes == 4 * (1000 + 1000 + 1001)
    assert ps.Plan(index[::-1], 1000).nbytes == 4 * (1000 + 1001)
    assert ps.Plan(index, 10**9).nbytes == 4 * (1000 + 1000 + 1001 + 1000)
    assert ps.Plan(index, 10**12).nbytes == 8 * (1000 + 1000 + 1001 + 1000)


def test_repr_names_the_arguments():
    assert repr(ps.Plan([[1]], 3, mode="clip")) == (
        "Plan(shape=(1, 1), size=3, mode='clip')"
    )


def test_wide_plans():
    size = 2**31 + 5
    index = np.array([size - 1, 3, -1, 3])
    plan = ps.Plan(index, size)
    assert CORE.plan_index(plan).dtype == np.int64
    assert (plan.max, plan.n_rows, plan.is_sorted) == (size - 1, 2, False)
    assert ps.gather(np.broadcast_to(np.int8(7), size), plan).tolist() == [7] * 4
    again = pickle.loads(pickle.dumps(plan))
    assert CORE.plan_index(again).tolist() == [size - 1, 3, size - 1, 3]


@given(st.data())
def test_any_index(data):
    size = data.draw(st.integers(0, 12))
    mode = data.draw(st.sampled_from(MODES))
    index = data.draw(st.lists(st.integers(-15, 15), max_size=20))
    width = data.draw(st.sampled_from([1, 2, 17, 64]))
    values = np.arange(1, 1 + len(index) * width).reshape(-1, width) / 8
    a = np.zeros((size, width))
    try:
        expected = ps.scatter(a, index, values, op="add", mode=mode)
    except IndexError as error:
        with pytest.raises(IndexError) as raised:
            ps.Plan(index, size, mode=mode)
        assert str(raised.value) == str(error)
        return
    plan = check_facts(np.array(index, np.intp), size, mode)
    for algorithm in (None, "grouped"):
        CORE.force_algorithm(algorithm)
        assert ps.scatter(a, plan, values, op="add").tobytes() == expected.tobytes()
    CORE.force_algorithm(None)


# ---------------------------------------------------------------- immutable


def test_the_callers_index_may_change():
    index = np.array([1, 2, 2])
    plan = ps.Plan(index, 4)
    index[:] = 3
    assert ps.scatter(np.zeros(4), plan, 1.0, op="add").tolist() == [0, 1, 2, 0]


def test_nothing_can_be_written():
    plan = ps.Plan([1, 2], 4)
    for name in (*FACTS, "nbytes", "other"):
        with pytest.raises(AttributeError):
            setattr(plan, name, 1)
    rows = CORE.plan_index(plan)
    with pytest.raises(ValueError):
        rows[0] = 3
    with pytest.raises(ValueError):
        rows.flags.writeable = True
    with pytest.raises(TypeError):
        memoryview(plan)


def test_a_view_keeps_its_plan():
    plan = ps.Plan(np.arange(5000) % 7, 7)
    rows, alive = CORE.plan_index(plan), weakref.ref(plan)
    del plan
    gc.collect()
    assert alive() is not None and rows.sum() == (np.arange(5000) % 7).sum()
    del rows
    gc.collect()
    assert alive() is None


def test_identity():
    one, two = ps.Plan([1], 2), ps.Plan([1], 2)
    assert one == one and one != two and len({one, two, one}) == 2
    assert copy.copy(one) is one and copy.deepcopy([one])[0] is one
    assert gc.is_tracked(one)


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("args", "options", "error", "words"),
    [
        (([0, 5], 5), {}, IndexError, "index 5 .* size 5 .position 1 of 2 in 'index'"),
        (([0, -6], 5), {}, IndexError, "index -6 is out of bounds"),
        (([0], 0), {"mode": "clip"}, IndexError, "size 0"),
        (([0], -1), {}, ValueError, "size must not be negative, got -1"),
        (([0], 2**64), {}, ValueError, "does not fit in 64 bits"),
        (([0], 1.0), {}, TypeError, "size must be an integer, got 1.0"),
        (([0], True), {}, TypeError, "size must be an integer, got True"),
        (([0.0], 5), {}, TypeError, "'index' has dtype float64"),
        (([True], 5), {}, TypeError, "'index' has dtype bool"),
        ((np.ma.array([0]), 5), {}, TypeError, "masked"),
        (([0], 5), {"mode": "fill"}, ValueError, "unknown mode 'fill'"),
        (([0], 5), {"mode": None}, ValueError, "unknown mode None"),
        (([0],), {}, TypeError, "size"),
        (([0], 5, "drop"), {}, TypeError, "positional"),
    ],
)
def test_refused_plans(args, options, error, words):
    with pytest.raises(error, match=words):
        ps.Plan(*args, **options)


@pytest.mark.parametrize("mode", ["raise", "drop", "wrap"])
def test_a_plan_fits_one_size_and_mode(mode):
    plan, a = ps.Plan([0, 1], 5, mode="clip"), np.zeros((6, 5))
    with pytest.raises(ValueError, match=r"axis of size 5, but axis 0 of 'a' .* 6"):
        ps.scatter(a, plan, 1.0, out=a)
    with pytest.raises(ValueError, match="flattened 'a' has size 30"):
        ps.gather(a, plan, axis=None)
    options = {"axis": 1, "mode": mode}
    for call in (
        lambda: ps.scatter(a, plan, 1.0, out=a, **options),
        lambda: ps.gather(a, plan, **options),
        lambda: ps.add_at(a, plan, 1.0, **options),
    ):
        with pytest.raises(ValueError, match=f"mode '{mode}', .* mode 'clip'"):
            call()
    assert not a.any()
    assert ps.gather(a, plan, axis=1, mode="clip").shape == (6, 2)


def test_where_no_plan_is_accepted():
    plan, a = ps.Plan([0, 1], 4), np.zeros((4, 4))
    for call in (
        lambda: ps.scatter_nd(a, plan, 1.0),
        lambda: ps.scatter_along_axis(a, plan, 1.0),
        lambda: ps.scatter_at(a, plan, 1.0),
        lambda: ps.scatter_at(a, (plan, 0), 1.0),
        lambda: ps.gather_nd(a, plan),
        lambda: ps.gather_along_axis(a, plan),
        lambda: ps.gather_at(a, plan),
        lambda: ps.add_at(a, plan, 1.0),
        lambda: ps.scatter(a, [plan], 1.0),
        lambda: ps.scatter(a, [0, 1], plan),
        lambda: ps.Plan(plan, 4),
        lambda: np.asarray(plan),
    ):
        with pytest.raises(TypeError, match="accepted as the axis 'index' of scatter"):
            call()
    assert not a.any()
    for call in (CORE.plan_index, CORE.plan_has_negative):
        with pytest.raises(TypeError, match="expected a Plan"):
            call(a)


# ---------------------------------------------------------------- pickles


@pytest.mark.parametrize("mode", MODES)
def test_pickles(mode):
    plan = ps.Plan([[4, -1, 4], [0, 9 if mode != "raise" else 2, 1]], 5, mode=mode)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(plan, protocol))
        assert type(again) is ps.Plan and again != plan
        assert all(getattr(again, f) == getattr(plan, f) for f in FACTS)
        assert np.array_equal(CORE.plan_index(again), CORE.plan_index(plan))


ROWS = np.array([0, 4], np.int32)


@pytest.mark.parametrize(
    "state",
    [
        (np.array([5]), 5, "raise", False),
        (np.array([-1]), 5, "raise", False),
        (np.array([-2]), 5, "drop", False),
        (np.array([2**63], np.uint64), 5, "raise", False),
        (ROWS, 4, "clip", False),
        (ROWS, -1, "raise", False),
        (ROWS, 2**70, "raise", False),
        (ROWS, 5.0, "raise", False),
        (ROWS, 5, "fill", False),
        (ROWS, 5, 0, False),
        (ROWS, 5, "raise", 1),
        (ROWS.astype(float), 5, "raise", False),
        ([0, 4], 5, "raise", False),
        (ROWS, 5, "raise"),
        (),
    ],
)
def test_refused_states(state):
    with pytest.raises(ValueError):
        CORE.load_plan(*state)


@given(
    st.binary(max_size=64),
    st.sampled_from(["i1", "i4", "<i8", ">i8", "u8"]),
    st.integers(-2, 2**40),
    st.sampled_from([*MODES, "fill", ""]),
)
def test_any_state(octets, dtype, size, mode):
    """A plan that says what its rows are, or a ValueError."""
    whole = len(octets) // np.dtype(dtype).itemsize * np.dtype(dtype).itemsize
    rows = np.frombuffer(octets[:whole], dtype)
    numbers = rows.tolist()
    least = -1 if mode == "drop" else 0
    good = mode in MODES and size >= 0 and all(least <= r < size for r in numbers)
    try:
        plan = CORE.load_plan(rows, size, mode, False)
    except ValueError:
        assert not good
        return
    assert good and CORE.plan_index(plan).tolist() == numbers


def test_any_byte_of_a_pickle():
    """The bytes of the rows are arbitrary: a plan, or ValueError."""
    whole = pickle.dumps(ps.Plan([3, 1, 2, 0], 4), 4)
    start = whole.index(np.array([3, 1, 2, 0], np.int32).tobytes())
    outcomes = set()
    for place in range(start, start + 16):
        for byte in (0, 1, 3, 4, 127, 255):
            broken = bytearray(whole)
            broken[place] = byte
            try:
                plan = pickle.loads(bytes(broken))
                assert 0 <= plan.min <= plan.max < 4
                outcomes.add("plan")
            except ValueError:
                outcomes.add("refused")
    assert outcomes == {"plan", "refused"}


# ---------------------------------------------------------------- threads, forks


def test_threads_share_a_plan():
    rng = rng_for("share")
    index = rng.integers(0, 3000, 40_000)
    plan, values = ps.Plan(index, 3000), rng.standard_normal((40_000, 16))
    expected = ps.scatter(np.zeros((3000, 16)), index, values, op="add").tobytes()

    def work(threads):
        with ps.num_threads(threads):
            return ps.scatter(np.zeros((3000, 16)), plan, values, op="add").tobytes()

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(work, [1, 2, 3, 2, 1, 2])) == {expected}


FORK = """
import os, numpy as np, pyscatter as ps
index = np.arange(60_000) * 7 % 5000
plan = ps.Plan(index, 5000)
ps.set_num_threads(2)
def work():
    ps._core.force_algorithm("grouped")
    a = np.zeros((5000, 16))
    ps.scatter(a, plan, 1.0, op="add", out=a)
    ps.scatter(a, plan, np.ones((60_000, 16)), op="add", out=a)
    return a.sum() == 2 * 60_000 * 16
assert work()
pid = os.fork()
if pid == 0:
    os._exit(0 if work() else 1)
assert os.waitpid(pid, 0)[1] == 0 and work()
"""


def test_plans_after_a_fork():
    child = run_code(FORK)
    assert not child.death, child.err
