"""Threads: ours, the caller's, forks, signals, and who decides how many there are.

What may hang or crash runs in child processes with generous limits (tests/isolated);
no test measures time.
"""

import asyncio
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import pyscatter as ps
from pyscatter import _core
from tests.isolated.children import listing, run_cases, run_code, sanitized

pytestmark = pytest.mark.alone
SIZE, COUNT = 1000, 200_000
INDEX = np.arange(COUNT) * 7919 % SIZE
EXPECTED = np.bincount(INDEX, minlength=SIZE)
LEVELS = ("baseline", "avx2", "avx512", "avx512vbmi2")
SHOW = "import pyscatter as ps; print(ps.get_num_threads())"
LEVEL = "import pyscatter as ps; print(ps.show_config(mode='dicts')['cpu_level'])"
ON_PURPOSE = pytest.mark.skipif(
    sanitized("tsan"), reason="races between the caller's own threads are the test"
)
NO_VARIABLES = {
    "PYSCATTER_NUM_THREADS": None,
    "OMP_NUM_THREADS": None,
    "PYSCATTER_CPU": None,
}


def children(script, group, seconds=60):
    """Run a group of a script; the text of its complaints."""
    ended, complaints = run_cases(script, group, seconds=seconds)
    assert ended > 0, listing(complaints)
    return listing(complaints) if complaints else ""


def said(code, **variables):
    """What a fresh interpreter prints."""
    child = run_code(code, **{**NO_VARIABLES, **variables})
    assert not child.death, child.err
    return child.out.strip()


# ---- how many ----


def test_set_returns_what_held_before():
    first = ps.set_num_threads(3)
    assert first >= 1
    assert ps.get_num_threads() == 3
    assert ps.set_num_threads(first) == 3
    assert ps.get_num_threads() == first


@pytest.mark.parametrize("number", [0, -1, -(2**40)])
def test_fewer_than_one_is_refused(number):
    before = ps.get_num_threads()
    with pytest.raises(ValueError):
        ps.set_num_threads(number)
    with pytest.raises(ValueError):
        with ps.num_threads(number):
            pass
    assert ps.get_num_threads() == before


@pytest.mark.parametrize("number", [1.0, "2", None, [2], 2 + 0j])
def test_only_integers_are_numbers_of_threads(number):
    with pytest.raises(TypeError):
        ps.set_num_threads(number)
    with pytest.raises(TypeError):
        with ps.num_threads(number):
            pass


@pytest.mark.parametrize("number", [np.int8(2), np.uint64(2), np.array(2)])
def test_whatever_is_an_index_is_a_number(number):
    ps.set_num_threads(number)
    assert ps.get_num_threads() == 2


@pytest.mark.parametrize("number", [10_000, 2**31, 2**63, 2**70])
def test_a_huge_number_is_harmless(number):
    try:
        ps.set_num_threads(number)
    except (OverflowError, ValueError):
        assert number > 2**31 - 1
    assert 1 <= ps.get_num_threads()
    a = np.zeros(SIZE)
    ps.add_at(a, INDEX, 1.0)
    assert np.array_equal(a, EXPECTED)


def test_blocks_nest_and_end():
    outside = ps.get_num_threads()
    with ps.num_threads(5):
        with ps.num_threads(2):
            assert ps.get_num_threads() == 2
        assert ps.get_num_threads() == 5
        # The block wins over the setting of all contexts, which still changes.
        ps.set_num_threads(7)
        assert ps.get_num_threads() == 5
    assert ps.get_num_threads() == 7
    ps.set_num_threads(outside)


def test_a_block_ends_by_an_exception():
    before = ps.get_num_threads()
    with pytest.raises(KeyError):
        with ps.num_threads(before + 1):
            raise KeyError
    assert ps.get_num_threads() == before


def test_a_block_is_seen_by_its_own_thread_only():
    ps.set_num_threads(4)
    with ps.num_threads(2), ThreadPoolExecutor(1) as pool:
        assert pool.submit(ps.get_num_threads).result() == 4
        assert ps.get_num_threads() == 2


def test_a_setting_is_seen_by_all_threads():
    with ThreadPoolExecutor(1) as pool:
        pool.submit(ps.set_num_threads, 6).result()
    assert ps.get_num_threads() == 6


def test_tasks_have_numbers_of_their_own():
    async def task(number, barrier):
        with ps.num_threads(number):
            await barrier.wait()
            return ps.get_num_threads()

    async def both():
        barrier = asyncio.Barrier(2)
        return await asyncio.gather(task(2, barrier), task(3, barrier))

    assert asyncio.run(both()) == [2, 3]


# ---- what the environment says ----


def test_without_variables_the_processors_count():
    assert int(said(SHOW)) in range(1, len(os.sched_getaffinity(0)) + 1)


def test_affinity_bounds_the_default():
    cpu = min(os.sched_getaffinity(0))
    code = f"import os; os.sched_setaffinity(0, [{cpu}]); {SHOW}"
    assert said(code) == "1"


@pytest.mark.parametrize("name", ["PYSCATTER_NUM_THREADS", "OMP_NUM_THREADS"])
@pytest.mark.parametrize("text", ["1", "1,4", " 1", "1,1,1"])
def test_the_first_number_of_a_list_counts(name, text):
    assert said(SHOW, **{name: text}) == "1"


def test_our_variable_wins():
    several = said(SHOW)
    ours = {"PYSCATTER_NUM_THREADS": "1", "OMP_NUM_THREADS": "64"}
    assert said(SHOW, **ours) == "1"
    ours = {"PYSCATTER_NUM_THREADS": several, "OMP_NUM_THREADS": "1"}
    assert said(SHOW, **ours) == several


@pytest.mark.parametrize("name", ["PYSCATTER_NUM_THREADS", "OMP_NUM_THREADS"])
def test_an_empty_variable_is_unset(name):
    assert said(SHOW, **{name: ""}) == said(SHOW)


def test_an_empty_variable_of_ours_leaves_the_other():
    assert said(SHOW, PYSCATTER_NUM_THREADS="", OMP_NUM_THREADS="1") == "1"


@pytest.mark.slow
@pytest.mark.parametrize("text", ["0", "-3", "many", "9" * 40, "1e3", ",", "\udcff"])
def test_nonsense_does_no_harm(text):
    both = dict.fromkeys(("PYSCATTER_NUM_THREADS", "OMP_NUM_THREADS"), text)
    assert int(said(SHOW, **both)) >= 1


# ---- CPU levels ----


@pytest.mark.parametrize("level", LEVELS)
def test_a_level_is_used_or_refused_by_name(level):
    if level in _core.levels():
        assert said(LEVEL, PYSCATTER_CPU=level) == level
        return
    child = run_code(LEVEL, **{**NO_VARIABLES, "PYSCATTER_CPU": level})
    assert child.code == 1
    assert "RuntimeError" in child.err
    assert "PYSCATTER_CPU" in child.err


@pytest.mark.parametrize("level", ["sse9", "AVX2 ", "avx2,avx512", "0", "\udcff"])
def test_an_unknown_level_is_refused_at_import(level):
    child = run_code("import pyscatter", **{**NO_VARIABLES, "PYSCATTER_CPU": level})
    assert child.code == 1
    last = child.err.strip().splitlines()[-1]
    assert last.startswith("RuntimeError:")
    assert "PYSCATTER_CPU" in last


def test_levels_start_at_the_baseline():
    levels = _core.levels()
    assert levels[0] == "baseline"
    assert set(levels) <= set(LEVELS)
    for level in levels:
        before = _core.force_level(level)
        try:
            assert ps.show_config(mode="dicts")["cpu_level"] == level
        finally:
            assert _core.force_level(before) == level


def test_config_is_printed(capsys):
    assert ps.show_config() is None
    text = capsys.readouterr().out
    for word in (ps.__version__, np.__version__, _core.levels()[-1]):
        assert word in text


def test_config_is_returned(capsys):
    ps.set_num_threads(3)
    config = ps.show_config(mode="dicts")
    assert capsys.readouterr().out == ""
    assert config["threads"] == 3
    assert config["numpy"] == np.__version__


def test_config_has_two_modes():
    with pytest.raises(ValueError, match="stdout.*dicts"):
        ps.show_config(mode="yaml")


# ---- callers in several threads ----


def add_many(target, calls):
    for _ in range(calls):
        ps.add_at(target, INDEX, 1.0)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_conditions_from_many_threads(threads):
    mask = INDEX % 3 == 0
    right = [np.where(mask, INDEX, -1), np.flatnonzero(mask), INDEX[mask]]

    def call(number):
        results = [
            ps.where(mask, INDEX, -1),
            ps.flatnonzero(mask),
            ps.gather_where(INDEX, mask),
        ]
        return all(map(np.array_equal, results, right))

    ps.set_num_threads(threads)
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(call, range(30)))


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_targets_of_their_own_are_exact(threads):
    targets = [np.zeros(SIZE) for _ in range(8)]
    ps.set_num_threads(threads)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add_many, targets, [4] * 8))
    for target in targets:
        assert np.array_equal(target, 4 * EXPECTED)


def test_disjoint_parts_of_one_array_are_exact():
    whole = np.zeros((8, SIZE), np.float32)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add_many, whole, [3] * 8))
    assert np.array_equal(whole, np.tile(3 * EXPECTED, (8, 1)))


UPDATES = [
    lambda out, at: ps.add_at(out, at, 1.0),
    lambda out, at: ps.scatter(out, at, np.ones(len(at)), op="add", out=out),
    lambda out, at: ps.scatter(out, at, 1, op="add", compensated=True, out=out),
    lambda out, at: ps.scatter_nd(out, at[:, None], 1, op="add", out=out),
]


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("dtype", ["f8", ">f4", "f2"])
def test_interleaved_elements_of_one_array_are_exact(update, dtype):
    """What a call does not name, it does not write: other threads may be at it."""
    size, callers, calls = 64, 4, 40
    out = np.zeros(size, dtype)

    def work(caller):
        at = np.tile(np.arange(caller, size, callers), 400)
        for _ in range(calls):
            update(out, at)
            ps.scatter(out, at[: size // callers], 0, out=out)
        update(out, at)

    with ThreadPoolExecutor(callers) as pool:
        list(pool.map(work, range(callers)))
    assert (out == 400).all()


def test_sources_are_shared():
    source = np.arange(SIZE * 4.0).reshape(SIZE, 4)
    right = source[INDEX]
    with ThreadPoolExecutor(8) as pool:
        results = [pool.submit(ps.gather, source, INDEX) for _ in range(16)]
        for result in results:
            assert np.array_equal(result.result(), right)


def test_errors_stay_in_their_thread():
    bad = INDEX.copy()
    bad[-1] = SIZE

    def call(number):
        a = np.zeros(SIZE)
        if number % 2:
            with pytest.raises(IndexError, match=f"position {COUNT - 1} of {COUNT}"):
                ps.add_at(a, bad, 1.0)
            return not a.any()
        ps.add_at(a, INDEX, 1.0)
        return np.array_equal(a, EXPECTED)

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(call, range(30)))


def test_settings_change_during_calls():
    stop = threading.Event()

    def fiddle():
        number = 1
        while not stop.is_set():
            ps.set_num_threads(number)
            number = number % 6 + 1

    with ThreadPoolExecutor(3) as pool:
        fiddler = pool.submit(fiddle)
        targets = [np.zeros(SIZE) for _ in range(2)]
        try:
            list(pool.map(add_many, targets, [20] * 2))
        finally:
            stop.set()
        fiddler.result()
    for target in targets:
        assert np.array_equal(target, 20 * EXPECTED)


def ticks_during(call):
    """How often another thread gets to run while a call is made."""
    ticks, stop = [0], threading.Event()

    def tick():
        while not stop.wait(0.001):
            ticks[0] += 1

    # So long that the interpreter takes itself from nobody: a thread runs only where
    # another one lets go of it.
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    thread = threading.Thread(target=tick)
    thread.start()
    try:
        before = ticks[0]
        call()
        return ticks[0] - before
    finally:
        sys.setswitchinterval(interval)
        stop.set()
        thread.join()


@pytest.mark.parametrize("threads", [1, 2])
def test_other_threads_run_during_a_call(threads):
    index = np.tile(INDEX, 40)
    a = np.zeros(SIZE)
    calls = [
        lambda: ps.add_at(a, index, 1.0),
        lambda: ps.gather(a, index),
        lambda: ps.where(index, 1.0, index),
        lambda: ps.argwhere(index),
        lambda: ps.gather_where(index, index > 9),
    ]
    with ps.num_threads(threads):
        for call in calls:  # a busy machine may not run the other thread in time
            assert any(ticks_during(call) > 0 for _ in range(50))
    assert ticks_during(lambda: [0] * 100_000) == 0


def test_threads_end_with_calls_behind_them():
    """Threads that come and go leave the pool usable."""
    for _ in range(30):
        a = np.zeros(SIZE)
        thread = threading.Thread(target=add_many, args=(a, 1))
        thread.start()
        thread.join()
        assert np.array_equal(a, EXPECTED)


def test_floating_point_modes_are_the_callers():
    """Denormal numbers survive in helpers as in the caller."""
    tiny = np.full((COUNT, 4), 5e-324)
    a = np.zeros((SIZE, 4))
    with ps.num_threads(3):
        ps.add_at(a, INDEX, tiny, axis=0)
    assert np.array_equal(a, np.repeat(EXPECTED[:, None], 4, axis=1) * 5e-324)


# ---- what may hang or crash ----


@pytest.mark.parametrize("action", ["", "import os; os._exit(0)", "raise SystemExit"])
def test_a_process_with_a_pool_ends(action):
    code = (
        "import numpy as np, pyscatter as ps, threading\n"
        "ps.set_num_threads(3)\n"
        "def work():\n"
        "    for _ in range(40):\n"
        "        ps.add_at(np.zeros(1000), np.arange(400_000) % 1000, 1.0)\n"
        "threading.Thread(target=work, daemon=True).start()\n"
        "ps.add_at(np.zeros(1000), np.arange(400_000) % 1000, 1.0)\n"
    )
    child = run_code(code + action, seconds=20)
    assert not child.death


def test_a_daemon_thread_is_ended_inside_a_call():
    """Its stack goes away, with all that helpers were working on."""
    code = (
        "import sys, threading, time, numpy as np, pyscatter as ps\n"
        "ps.set_num_threads(3)\n"
        "class Slow:\n"
        "    closed = False\n"
        "    def flush(self):\n"
        "        time.sleep(0.3)\n"
        "def work(depth):\n"
        "    if depth:\n"
        "        return list(map(work, [depth - 1]))\n"
        "    row = np.ones(1 << 20, bool)\n"
        "    ps.count_nonzero(np.broadcast_to(row, (1 << 20, 1 << 20)))\n"
        "threading.Thread(target=work, args=(300,), daemon=True).start()\n"
        "time.sleep(0.3)\n"
        "sys.stdout = Slow()\n"  # is flushed when the interpreter ends
    )
    for _ in range(3):
        assert not run_code(code, seconds=20).death


def test_forks():
    assert children("fork_cases", "fork", seconds=100) == ""


@pytest.mark.skipif(sanitized(), reason="forks beside running threads")
@pytest.mark.slow
def test_forks_in_signal_handlers():
    assert children("fork_cases", "handlers", seconds=100) == ""


@pytest.mark.slow
def test_signals():
    assert children("signal_cases", "signals", seconds=100) == ""


@pytest.mark.slow
def test_signals_during_every_pass():
    assert children("signal_cases", "passes", seconds=100) == ""


@ON_PURPOSE
def test_arrays_rewritten_meanwhile():
    assert children("race_cases", "races", seconds=100) == ""


@ON_PURPOSE
@pytest.mark.slow
def test_arrays_exchanged_meanwhile():
    assert children("race_cases", "swaps", seconds=200) == ""


@ON_PURPOSE
@pytest.mark.slow
def test_arrays_reshaped_meanwhile():
    assert children("race_cases", "reshaped arrays", seconds=200) == ""


@ON_PURPOSE
@pytest.mark.slow
def test_masks_rewritten_meanwhile():
    assert children("race_cases", "mask races", seconds=100) == ""


@ON_PURPOSE
@pytest.mark.slow
def test_arrays_rewritten_meanwhile_by_algorithm():
    assert children("race_cases", "races by algorithm", seconds=100) == ""
