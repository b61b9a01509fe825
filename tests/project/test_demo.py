"""The demo: it runs, its input is what it says, and it notices wrong answers."""

import subprocess
import sys
import tokenize
from collections import Counter

import numpy as np
import pytest

from pyscatter import demo

FILES = 40


def run_demo(*args):
    return subprocess.run(
        [sys.executable, "-m", "pyscatter.demo", *args],
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.fixture(scope="module")
def corpus():
    return demo.read_corpus(FILES)


def test_the_command_prints_every_step_and_succeeds():
    result = run_demo("--limit", str(FILES))
    assert result.returncode == 0, result.stderr
    assert f"{FILES} files" in result.stdout
    assert "18 of 18 answers equal NumPy's bit for bit" in result.stdout
    assert "WRONG" not in result.stdout
    for step in (
        "occurrences",
        "matrix",
        "first file",
        "last file",
        "longest line",
        "PageRank",
        "training step",
        "numbered by their text",
        "by file and indentation",
        "from part to part",
    ):
        assert result.stdout.count(step) == 1
    assert "reading 0 of 40 files" in result.stderr


@pytest.mark.parametrize("limit", ["0", "-1", "many"])
def test_a_limit_that_is_no_count_is_refused(limit):
    result = run_demo("--limit", limit)
    assert result.returncode == 2
    assert "--limit" in result.stderr


def test_tokens_are_numbered_as_plain_python_would(corpus):
    _, paths = demo.source_files(FILES)
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in paths]
    words = [demo.TOKEN(text) for text in texts]
    counted = Counter(word for split in words for word in split)
    counts = np.bincount(corpus.token, minlength=len(corpus.words))
    assert dict(zip(corpus.words, counts.tolist(), strict=True)) == counted
    assert np.bincount(corpus.file, minlength=FILES).tolist() == list(map(len, words))


def test_longest_lines_are_those_of_the_files(corpus):
    _, paths = demo.source_files(FILES)
    for path, longest in zip(paths, corpus.longest, strict=True):
        with tokenize.open(path) as file:
            lines = file.read().splitlines()
        assert longest == max(map(len, lines), default=0)


def test_equal_answers_have_no_fault():
    answer = np.array([[1.5, np.nan], [0.0, -np.inf]])
    assert demo.find_fault(answer, answer.copy()) is None


def test_one_wrong_element_is_found_and_named():
    expected = np.arange(12).reshape(3, 4)
    tampered = expected.copy()
    tampered[1, 2] += 1
    fault = demo.find_fault(expected, tampered)
    assert fault == "1 of 12 elements differ, the first at (1, 2): 7 instead of 6"


@pytest.mark.parametrize(
    "tampered",
    [
        np.array([-0.0, 1.0]),
        np.array([0.0, np.nextafter(1.0, 2.0)]),
        np.array([0.0, 1.0], np.float32),
        np.array([0.0, 1.0, 1.0]),
    ],
    ids=["sign of zero", "one ulp", "dtype", "shape"],
)
def test_small_differences_are_faults(tampered):
    assert demo.find_fault(np.array([0.0, 1.0]), tampered)


def test_rows_far_from_their_sum_are_found(corpus):
    table = demo.embedding(corpus)
    step = demo.gradient_step(table, corpus)
    result = step.ways[demo.OURS].result()
    assert step.check(result) is None
    result[3, 5] += 1
    assert step.check(result) == "row 3 is far from its sum in float64"


def test_a_wrong_answer_of_pyscatter_fails_the_command(monkeypatch, capsys):
    right = demo.ps.segment_max

    def wrong(values, **options):
        result = right(values, **options)
        result[-1] += 1
        return result

    monkeypatch.setattr(demo.ps, "segment_max", wrong)
    assert demo.main(["--limit", "5"]) == 1
    out = capsys.readouterr().out
    assert "17 of 18 answers" in out
    assert "WRONG: 1 of 5 elements differ, the first at (4,)" in out


def test_a_chart_without_matplotlib_is_a_message(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(demo.importlib.util, "find_spec", lambda name: None)
    chart = tmp_path / "chart.png"
    assert demo.main(["--limit", "5", "--plot", str(chart)]) == 0
    assert "--plot needs matplotlib" in capsys.readouterr().err
    assert not chart.exists()


def test_no_sources_is_a_message(monkeypatch, tmp_path):
    monkeypatch.setattr(demo.sysconfig, "get_paths", lambda: {"stdlib": str(tmp_path)})
    with pytest.raises(SystemExit, match="nothing to read"):
        demo.read_corpus()
