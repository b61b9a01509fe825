"""The benchmarks: every way of every workload gives the same answer, at tiny sizes,
and the tables and the gate say what was measured. Nothing here looks at a clock.
"""

import numpy as np
import pytest

import pyscatter as ps
from benchmarks import (
    bench_bins,
    bench_change,
    bench_delta,
    bench_gather,
    bench_histogram,
    bench_keys,
    bench_layouts,
    bench_nonzero,
    bench_plan,
    bench_scatter,
    bench_segment,
    bench_spmm,
    bench_tiny,
    bench_where,
    gate,
    harness,
    report,
    rivals,
)
from pyscatter import bench

SUITES = (
    bench_delta.SUITE,
    bench_change.SUITE,
    bench_scatter.SUITE,
    bench_bins.SUITE,
    bench_gather.SUITE,
    bench_keys.SUITE,
    bench_histogram.SUITE,
    bench_nonzero.SUITE,
    bench_plan.SUITE,
    bench_segment.SUITE,
    bench_spmm.SUITE,
    bench_where.SUITE,
)
SUITE_WORKLOADS = [w for suite in SUITES for w in suite.workloads]
TINY = 300


def names(workloads):
    return [workload.name for workload in workloads]


def record(name, numpy_ms, ours_ms):
    return {
        "name": name,
        "ms": {"np.take": numpy_ms, bench.OURS: ours_ms},
        "numpy": "np.take",
        "numpy_ratio": numpy_ms / ours_ms,
        "best": "np.take",
        "best_ratio": numpy_ms / ours_ms,
    }


# ---------------------------------------------------------------- ten elements


def test_every_public_function_has_a_row_of_ten_elements():
    settings = {"get_num_threads", "num_threads", "set_num_threads", "show_config"}
    assert {row.function for row in bench_tiny.ROWS} == set(ps.__all__) - settings
    assert len({row.name for row in bench_tiny.ROWS}) == len(bench_tiny.ROWS)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("row", bench_tiny.ROWS, ids=lambda row: row.name)
def test_calls_of_ten_elements_run(row):
    row.ours()
    if row.twin is not None:
        row.twin()


# ---------------------------------------------------------------- answers


@pytest.mark.parametrize("workload", bench.WORKLOADS, ids=names(bench.WORKLOADS))
def test_the_users_workloads_agree_with_numpy(workload):
    problem = workload.build(TINY)
    assert bench.OURS in problem.ways
    assert bench.check(problem).size > 0


@pytest.mark.parametrize("workload", SUITE_WORKLOADS, ids=names(SUITE_WORKLOADS))
def test_the_developers_workloads_agree_with_numpy_and_rivals(workload, capsys):
    problem = workload.build(0.001)
    expected = bench.check(problem)
    harness.usable(expected, rivals.ways(problem))
    assert "wrong result" not in capsys.readouterr().err


@pytest.mark.parametrize("job", [*bench_layouts.JOBS, "ties"])
def test_the_cells_of_layouts_agree_with_numpy(job):
    cells = [*bench_layouts.layout_cells((16, 200)), *bench_layouts.tie_cells((200,))]
    cells = [cell for cell in cells if job in (cell.name.partition(",")[0], cell.group)]
    for cell in cells:
        bench.check(cell.build())
    assert len({(cell.name, cell.size) for cell in cells}) == len(cells) > 0


def test_the_sweep_of_layouts_lists_what_is_slow(monkeypatch, capsys):
    monkeypatch.setattr(
        bench_layouts, "ratio", lambda cell: 0.9 if cell.size == 10 else 2
    )
    monkeypatch.setattr(harness, "restart_clean", lambda threads: None)
    assert bench_layouts.main(["--quick", "--only", "nonzero, C"]) == 0
    out = capsys.readouterr().out
    assert "4 of 4 cells, 2 below 0.95" in out
    assert "0.90  nonzero, C, axis 0, 10 elements" in out


def test_the_sweep_of_layouts_takes_sizes_and_a_time(monkeypatch, capsys):
    monkeypatch.setattr(bench_layouts, "ratio", lambda cell: 2)
    monkeypatch.setattr(harness, "restart_clean", lambda threads: None)
    for seconds, measured in (("60", 2), ("-1", 0)):
        options = ["--sizes", "1e7", "--seconds", seconds, "--only", "nonzero, C"]
        assert bench_layouts.main(options) == 0
        out = capsys.readouterr().out
        assert f"{measured} of 2 cells, 0 below 0.95" in out
        assert out.count("1e+07:") == measured


def test_the_chart_of_layouts_has_every_curve():
    found = {(c.group, c.name): {} for c in bench_layouts.layout_cells((10,))}
    for ratios in found.values():
        ratios.update({10.0: 1.5, 1000.0: 2.0})
    drawn = bench_layouts.chart(found)
    assert drawn.count("<polyline") == 3 * 7


def test_workload_names_are_unique():
    for workloads in (bench.WORKLOADS, SUITE_WORKLOADS):
        assert len(set(names(workloads))) == len(workloads)


@pytest.mark.parametrize("suite", SUITES, ids=[suite.name for suite in SUITES])
def test_the_sweep_covers_all_rows_in_both_widths(suite):
    records = harness.sweep(suite, n=640, rounds=1)
    done = {(r["op"], r["dtype"], r["width"]) for r in records}
    pairs = [pair for pair in suite.rows() if harness.numpy_dtype(pair[1]) is not None]
    assert done == {(*pair, width) for pair in pairs for width in (1, 64)}
    assert {r["per_byte"] for r in records if (r["op"], r["dtype"]) == suite.base} == {
        1
    }


def test_the_sweep_leaves_out_accumulators_only():
    built = {dtype for op, dtype in harness.kernel_rows("scatter") if op != "set"}
    assert {"b1", "i8", "u64", "f32", "f64", "c64"} <= built
    assert built - set(harness.DTYPES) - set(harness.HALVES) <= {"k32", "k64"}


def test_the_gather_sweep_knows_every_dtype():
    built = {dtype for _, dtype in harness.kernel_rows("gather")}
    swept = {dtype for _, dtype in bench_gather.sweep_rows()}
    assert {"b1", "i8", "f32", "c128"} <= swept <= built


@pytest.mark.parametrize(
    "pattern", ["uniform", "power", "sorted", "power sorted", "same"]
)
def test_drawn_indices_fit_their_pattern(pattern):
    index = bench.draw(1000, 50, pattern)
    assert index.shape == (1000,) and index.min() >= 0 and index.max() < 50
    assert ("sorted" in pattern or pattern == "same") == bool(
        (np.diff(index) >= 0).all()
    )
    assert (len(np.unique(index)) == 1) == (pattern == "same")


# ---------------------------------------------------------------- wrong answers


def test_one_wrong_bit_of_pyscatter_is_noticed():
    problem = bench.add_1d(TINY)
    result = problem.ways[bench.OURS].result().copy()
    result[7] = np.nextafter(result[7], np.inf)
    ways = problem.ways | {bench.OURS: bench.Way(lambda: result)}
    problem = bench.add_1d(TINY)._replace(ways=ways)
    with pytest.raises(AssertionError, match="pyscatter and np.add.at disagree"):
        bench.check(problem)


def test_rivals_that_fail_or_are_wrong_are_left_out(capsys):
    def fail():
        raise MemoryError("no room")

    expected = np.arange(5.0)
    ways = {
        "good": bench.Way(lambda: expected + 1e-9),
        "wrong": bench.Way(lambda: expected + 1),
        "fails": bench.Way(fail),
    }
    assert list(harness.usable(expected, ways)) == ["good"]
    err = capsys.readouterr().err
    assert "wrong left out: wrong result" in err
    assert "fails left out: MemoryError: no room" in err


# ---------------------------------------------------------------- measuring


def test_every_way_is_timed_in_every_round():
    calls = []
    ways = {name: bench.Way(lambda name=name: calls.append(name)) for name in "ab"}
    times = bench.measure(ways, rounds=4, block=0)
    assert {name: len(t) for name, t in times.items()} == {"a": 4, "b": 4}
    assert calls == ["a", "b"] * 5


def test_time_running_out_leaves_three_rounds():
    ways = {"a": bench.Way(lambda: None)}
    assert len(bench.measure(ways, rounds=50, seconds=0, block=0)["a"]) == 3


def test_pyscatter_is_compared_with_the_fastest_other_way():
    times = {"slow": [3.0, 3, 3], "fast": [1.0, 2, 9], bench.OURS: [0.5, 0.5, 1]}
    row = bench.compare("job", times)
    assert row == bench.Row("job", "fast", 2000.0, 500.0, 4.0)


def test_the_command_shows_every_workload(capsys):
    assert bench.main(["--updates", "200", "--rounds", "1"]) == 0
    out = capsys.readouterr().out
    assert all(workload.name in out for workload in bench.WORKLOADS)
    assert f"NumPy {np.__version__}" in out
    assert "thread(s)" in out


def test_a_suite_reports_both_ratios():
    workload = bench.Workload("counts", lambda scale: bench.count_1d(TINY))
    result = harness.run(workload, 1.0, with_rivals=False, seconds=0, rounds=3)
    assert set(result["ms"]) == {"np.add.at", "np.bincount", bench.OURS}
    assert result["best"] == result["numpy"] != bench.OURS
    assert result["numpy_ratio"] == result["best_ratio"] > 0


def test_a_clean_environment_has_no_overrides():
    dirty = {"OPENBLAS_CORETYPE": "Prescott", "OPENBLAS_L2_SIZE": "1", "HOME": "/"}
    assert harness.clean_environment(dirty) == {"HOME": "/"}
    clean = harness.clean_environment(dirty, threads=1)
    assert clean["OMP_NUM_THREADS"] == clean["PYSCATTER_NUM_THREADS"] == "1"


# ---------------------------------------------------------------- gate and report


def fake_timer(*ratios):
    remaining = list(ratios)

    def timer(workload, n):
        return bench.Row(workload.name, "np.add.at", 1.0, 1.0, remaining.pop(0))

    return timer


def test_the_gate_covers_enough_calls():
    assert sum(workload.in_gate for workload in bench.WORKLOADS) >= 12


@pytest.mark.parametrize(
    ("ratios", "judged"), [((0.9,), 0.9), ((0.5, 1.2), 1.2), ((0.5, 0.7), 0.7)]
)
def test_a_failing_call_has_one_more_chance(ratios, judged):
    timer = fake_timer(*ratios)
    assert gate.judge(bench.WORKLOADS[0], timer).ratio == judged
    with pytest.raises(IndexError):  # every prepared ratio was asked for
        timer(bench.WORKLOADS[0], 1)


@pytest.mark.parametrize(("ratio", "code"), [(0.79, 1), (0.81, 0)])
def test_the_gate_fails_below_its_floor(monkeypatch, capsys, ratio, code):
    row = bench.Row("job", "np.add.at", 1.0, 1.0, ratio)
    monkeypatch.setattr(gate, "judge", lambda workload: row)
    assert gate.main() == code
    assert ("BELOW THE FLOOR" in capsys.readouterr().out) == bool(code)


def test_the_table_replaces_what_is_between_the_markers():
    text = f"above\n{report.BEGIN}\nold\n{report.END}\nbelow\n"
    once = report.rewrite(text, r"new \1")
    assert once == f"above\n{report.BEGIN}\nnew \\1\n{report.END}\nbelow\n"
    assert report.rewrite(once, r"new \1") == once


def test_a_readme_without_markers_is_refused():
    with pytest.raises(ValueError, match="the markers must occur once"):
        report.rewrite("no markers here", "new")


def test_the_table_keeps_slower_calls():
    results = {
        1: [record("fast", 250.4, 10.0), record("tiny", 0.000083, 0.00016)],
        2: [record("fast", 250.0, 5.0), record("tiny", 0.00008, 0.00016)],
    }
    lines = report.table(results).splitlines()
    assert lines[0].count("|") == 8
    assert "1 thread" in lines[0] and "2 threads" in lines[0]
    assert lines[2] == "| fast | `np.take` | 250 | 10 | 25.04 | 5 | 50.00 |"
    assert lines[3].startswith("| tiny | `np.take` | 0.000083 | 0.000160 | 0.52 |")
