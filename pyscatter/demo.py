"""pyscatter at work on text that every machine has: ``python -m pyscatter.demo``.

The sources of the Python standard library are split into tokens and every distinct
token gets a number. From there on all is indexed updates: counting, a token-by-file
matrix, first and last occurrence, sums and maxima of segments, statistics by a plan,
places and weights under a mask, the lookup of rows of an embedding table and the update
of its rows by gradients, products with the matrix of tokens by files and with that of
which token follows which, a training step on the latter, the change of frequencies from
one part of the stream to the next; tokens are numbered by their text, and lines grouped
by file and indentation. Each step is done in NumPy and by pyscatter, the answers are
compared, and a table shows both times. Reading, splitting and the numbering that the
other steps use is plain Python and no part of any time.
"""

import argparse
import importlib.util
import re
import sys
import sysconfig
import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

import pyscatter as ps
from pyscatter._demo_change import moved, report
from pyscatter._demo_delta import sent, told
from pyscatter._demo_keys import indented, numbered
from pyscatter._demo_products import described, find_far_rank, ranked
from pyscatter._demo_training import trained
from pyscatter.bench import HEAD, OURS, Row, Way, compare, describe, line, measure

TOKEN = re.compile(r"[^\W\d]\w*|\d[\w.]*|[^\w\s]").findall

# Wide enough for what models use, narrow enough that NumPy's side ends in seconds.
WIDTH = 64
# A matrix of all tokens by all files would have 200 million cells, nearly all zero.
FREQUENT = 4096
# A share of the stream from which a token counts as frequent: about 200 of them.
FREQUENT_SHARE = 1e-4
# Rows of one training step: 8 MiB of gradients.
BATCH = 32_768


class Corpus(NamedTuple):
    """The token stream as numbers, with what is needed to check answers."""

    files: int
    words: list[str]
    token: np.ndarray
    file: np.ndarray
    line_length: np.ndarray
    line_file: np.ndarray
    line_indent: np.ndarray
    longest: list[int]


class Step(NamedTuple):
    """One question: NumPy's ways to answer it, and pyscatter's, on equal data.

    `check` looks at pyscatter's answer on its own; without rounds, the run that checks
    the answer is also the one that is timed.
    """

    name: str
    ways: dict[str, Way]
    check: Callable[[np.ndarray], str | None] | None = None
    rounds: int = 3


class Outcome(NamedTuple):
    """A finished step: its line of the table, and what was wrong."""

    row: Row
    fault: str | None


# ---------------------------------------------------------------- input


def say(text):
    """Progress goes to stderr, so that the table alone is on stdout."""
    print(text, file=sys.stderr, flush=True)


def source_files(limit=None):
    """The standard library's .py files in a fixed order, without installed packages."""
    root = Path(sysconfig.get_paths()["stdlib"])
    foreign = {"site-packages", "dist-packages"}
    files = (p for p in root.rglob("*.py") if foreign.isdisjoint(p.parts))
    return root, sorted(files)[:limit]


def read_corpus(limit=None):
    """Read, split and number the sources.

    Parameters
    ----------
    limit : int, optional
        Use the first `limit` files only.

    Returns
    -------
    Corpus
    """
    root, paths = source_files(limit)
    if not paths:
        raise SystemExit(f"no .py files under {root}: nothing to read")
    number = defaultdict()
    number.default_factory = number.__len__
    tokens, lengths, indents = [], [], []
    for done, path in enumerate(paths):
        if done % 500 == 0:
            say(f"reading {done:,} of {len(paths):,} files under {root}")
        text = path.read_text(encoding="utf-8", errors="replace")
        split = TOKEN(text)
        tokens.append(np.fromiter(map(number.__getitem__, split), np.intp, len(split)))
        lines = text.splitlines()
        lengths.append(np.array([len(line) for line in lines], np.int64))
        indents += [len(line) - len(line.lstrip()) for line in lines]
    return Corpus(
        files=len(paths),
        words=list(number),
        token=np.concatenate(tokens),
        file=np.repeat(np.arange(len(paths)), [len(t) for t in tokens]),
        line_length=np.concatenate(lengths),
        line_file=np.repeat(np.arange(len(paths)), [len(n) for n in lengths]),
        line_indent=np.array(indents, np.int64),
        longest=[max(n.tolist(), default=0) for n in lengths],
    )


# ---------------------------------------------------------------- steps


def into(call, target):
    """The way that runs `call(target)`; check and timing both see `target`."""
    return Way(partial(call, target), target)


def occurrences(corpus):
    """How often each token occurs: a scatter add of ones."""
    size = len(corpus.words)

    def count(add_at, counts):
        counts.fill(0)
        add_at(counts, corpus.token, 1)

    ways = {
        "np.add.at": into(partial(count, np.add.at), np.zeros(size, np.int64)),
        "np.bincount": Way(partial(np.bincount, corpus.token, None, size)),
        OURS: into(partial(count, ps.add_at), np.zeros(size, np.int64)),
    }
    return Step("occurrences of each token", ways)


def counts_of(corpus):
    """How often each token occurs."""
    counts = np.zeros(len(corpus.words), np.int64)
    ps.add_at(counts, corpus.token, 1)
    return counts


def most_frequent(corpus):
    """The numbers of the most frequent tokens, the most frequent first."""
    return np.argsort(-counts_of(corpus), kind="stable")[:FREQUENT]


def token_by_file(corpus, frequent):
    """How often each frequent token occurs in each file: indices in two dimensions."""
    place = np.full(len(corpus.words), -1)
    place[frequent] = np.arange(len(frequent))
    row = ps.gather(place, corpus.token)
    row, column = row[row >= 0], corpus.file[row >= 0]
    shape = len(frequent), corpus.files

    def count(add_at, counts):
        counts.fill(0)
        add_at(counts, (row, column), 1)

    def by_bincount():
        flat = np.ravel_multi_index((row, column), shape)
        return np.bincount(flat, minlength=shape[0] * shape[1]).reshape(shape)

    ways = {
        "np.add.at": into(partial(count, np.add.at), np.zeros(shape, np.int64)),
        "np.bincount": Way(by_bincount),
        OURS: into(partial(count, ps.add_at), np.zeros(shape, np.int64)),
    }
    return Step(f"token-by-file matrix {shape[0]:,} x {shape[1]:,}", ways)


def first_file(corpus):
    """The first file in which each token occurs: a scatter with op="min"."""

    def first(minimum_at, out):
        out.fill(corpus.files)
        minimum_at(out, corpus.token, corpus.file)

    def assign_backwards(out):
        out[corpus.token[::-1]] = corpus.file[::-1]

    def by_scatter(out):
        out.fill(corpus.files)
        ps.scatter(out, corpus.token, corpus.file, op="min", out=out)

    new = partial(np.empty, len(corpus.words), np.intp)
    ways = {
        "np.minimum.at": into(partial(first, np.minimum.at), new()),
        "a[i[::-1]] = v[::-1]": into(assign_backwards, new()),
        OURS: into(by_scatter, new()),
    }
    return Step("first file of each token", ways)


def last_file(corpus):
    """The last file in which each token occurs: the last value set stays."""

    def maximum(out):
        out.fill(-1)
        np.maximum.at(out, corpus.token, corpus.file)

    def assign(out):
        out[corpus.token] = corpus.file

    def by_scatter(out):
        ps.scatter(out, corpus.token, corpus.file, op="last", out=out)

    new = partial(np.empty, len(corpus.words), np.intp)
    ways = {
        "np.maximum.at": into(maximum, new()),
        "a[i] = v": into(assign, new()),
        OURS: into(by_scatter, new()),
    }
    return Step("last file of each token", ways)


def file_offsets(corpus):
    """Where the lines of each file begin; files without lines have equal offsets."""
    lines = ps.bincount(corpus.line_file, minlength=corpus.files)
    return np.concatenate([[0], np.cumsum(lines)])


def by_reduceat(ufunc, corpus, offsets):
    """A reduction of each file's lines by reduceat, which has no empty segments."""
    filled = offsets[:-1] < offsets[1:]
    out = np.zeros(corpus.files, np.int64)
    out[filled] = ufunc.reduceat(corpus.line_length, offsets[:-1][filled])
    return out


def longest_line(corpus):
    """The longest line of each file, in characters: segments of neighbouring lines."""
    offsets = file_offsets(corpus)

    def longest(out):
        out.fill(0)
        np.maximum.at(out, corpus.line_file, corpus.line_length)

    ways = {
        "np.maximum.at": into(longest, np.zeros(corpus.files, np.int64)),
        "np.maximum.reduceat": Way(partial(by_reduceat, np.maximum, corpus, offsets)),
        OURS: Way(
            partial(ps.segment_max, corpus.line_length, offsets=offsets, initial=0)
        ),
    }
    check = partial(find_fault, corpus.longest)
    return Step("longest line of each file", ways, check)


def file_sizes(corpus):
    """The characters of each file: sums of the same segments."""
    offsets = file_offsets(corpus)

    def add(out):
        out.fill(0)
        np.add.at(out, corpus.line_file, corpus.line_length)

    ways = {
        "np.add.at": into(add, np.zeros(corpus.files, np.int64)),
        "np.add.reduceat": Way(partial(by_reduceat, np.add, corpus, offsets)),
        OURS: Way(partial(ps.segment_sum, corpus.line_length, offsets=offsets)),
    }
    return Step("characters of each file", ways)


def spread(corpus):
    """How often, first where and last where: statistics of each token by one plan.

    The plan is made beforehand, as for every further question about the same tokens.
    """
    size = len(corpus.words)
    plan = ps.Plan(corpus.token, size)

    def by_numpy():
        first, last = np.full(size, corpus.files), np.full(size, -1)
        np.minimum.at(first, corpus.token, corpus.file)
        np.maximum.at(last, corpus.token, corpus.file)
        return np.stack([np.bincount(corpus.token, None, size), first, last])

    def by_plan():
        return np.stack(
            ps.segment_reduce(corpus.file, plan, op=("count", "min", "max"))
        )

    ways = {"np.bincount, ufunc.at": Way(by_numpy), OURS: Way(by_plan)}
    return Step("statistics of each token, planned", ways)


def used_once(corpus):
    """Where in the stream the tokens stand that occur nowhere else: a sparse mask."""
    once = ps.gather(counts_of(corpus), corpus.token) == 1
    ways = {
        "np.flatnonzero": Way(partial(np.flatnonzero, once)),
        "m.nonzero": Way(lambda: once.nonzero()[0]),
        OURS: Way(partial(ps.flatnonzero, once)),
    }
    return Step("places of tokens used once", ways)


def subsampling(corpus):
    """Weights of the stream's tokens, smaller where the token is frequent.

    A masked product, as in training on text of which half is a handful of tokens.
    """
    share = ps.gather(counts_of(corpus), corpus.token) / len(corpus.token)
    frequent = share > FREQUENT_SHARE
    factor = np.sqrt(FREQUENT_SHARE / share).astype(np.float32)

    def by_ufunc(weight):
        weight.fill(1)
        np.multiply(weight, factor, out=weight, where=frequent)

    def by_index(weight):
        weight.fill(1)
        weight[frequent] *= factor[frequent]

    def by_scatter(weight):
        weight.fill(1)
        ps.scatter_where(weight, frequent, factor, op="mul", out=weight)

    new = partial(np.empty, len(corpus.token), np.float32)
    ways = {
        "np.multiply(where=)": into(by_ufunc, new()),
        "w[m] *= f[m]": into(by_index, new()),
        OURS: into(by_scatter, new()),
    }
    return Step("weights of frequent tokens scaled", ways)


def embedding(corpus):
    """A table with a row of numbers for every token."""
    shape = len(corpus.words), WIDTH
    return np.random.default_rng(0).standard_normal(shape, dtype=np.float32)


def lookup(table, frequent):
    """The rows of the most frequent tokens."""
    outs = [np.empty((len(frequent), WIDTH), np.float32) for _ in range(2)]
    ways = {
        "a[i]": Way(partial(table.__getitem__, frequent)),
        "np.take": Way(partial(np.take, table, frequent, 0, outs[0]), outs[0]),
        OURS: Way(partial(ps.gather, table, frequent, out=outs[1]), outs[1]),
    }
    return Step(f"rows of the {len(frequent):,} most frequent", ways)


def gradient_rows():
    """One batch of gradients; every batch of the stream uses the same."""
    rows = np.random.default_rng(1).standard_normal((BATCH, WIDTH), dtype=np.float32)
    return rows * np.float32(1e-3)


def gradient_step(table, corpus):
    """A gradient row for every token of the stream, added to its row of the table."""
    gradient = gradient_rows()
    starts = range(0, len(corpus.token), BATCH)
    batches = [corpus.token[start : start + BATCH] for start in starts]

    def by_numpy(out):
        for batch in batches:
            np.add.at(out, batch, gradient[: len(batch)])

    def by_scatter(out):
        for batch in batches:
            ps.scatter(out, batch, gradient[: len(batch)], op="add", out=out)

    ways = {
        "np.add.at": into(by_numpy, table.copy()),
        OURS: into(by_scatter, table.copy()),
    }
    check = partial(find_drift, table, corpus)
    # NumPy needs seconds for one pass: long enough to be steady, too long to repeat.
    return Step(f"gradients added, {WIDTH} float32 each", ways, check, rounds=0)


def description(corpus):
    """What describes each file: a sparse matrix times a table of tokens."""
    return Step("files described by their tokens", described(corpus))


def page_rank(corpus):
    """Which tokens a reader who follows the stream at random comes to most."""
    check = partial(find_far_rank, corpus)
    return Step("PageRank of tokens by what follows them", ranked(corpus), check)


def training(corpus):
    """Vectors of tokens, from which token follows which: one step of learning."""
    return Step("training step, products at known pairs", *trained(corpus))


def numbering(corpus):
    """Numbers of tokens, from their text."""
    return Step("tokens numbered by their text", numbered(corpus))


def indentation(corpus):
    """The longest line of each file and indentation: groups by two keys."""
    return Step("longest by file and indentation", indented(corpus))


def movement(corpus):
    """How token frequencies change from one part of the stream to the next."""
    return Step("frequencies from part to part", moved(corpus))


def transfer(corpus):
    """Token frequencies of each part of the stream, sent to a replica as deltas."""
    return Step("frequencies sent as deltas", sent(corpus))


# ---------------------------------------------------------------- answers


def find_fault(expected, got):
    """What is wrong with an answer; None when it is equal, bit for bit.

    Equal bits are right for floats too: pyscatter adds in index order, as np.add.at.
    """
    expected, got = np.asarray(expected), np.asarray(got)
    if got.shape != expected.shape or got.dtype != expected.dtype:
        return (
            f"got {got.dtype} {got.shape}, expected {expected.dtype} {expected.shape}"
        )
    bits = f"u{got.itemsize}"
    wrong = np.argwhere(got.view(bits) != expected.view(bits))
    if not len(wrong):
        return None
    place = tuple(wrong[0].tolist())
    return (
        f"{len(wrong):,} of {got.size:,} elements differ,"
        f" the first at {place}: {got[place]} instead of {expected[place]}"
    )


def find_drift(start, corpus, result, rows=32):
    """Check updated rows of frequent tokens against sums in plain float64."""
    gradient = gradient_rows().astype(float)
    for token in range(min(rows, len(start))):
        positions = np.flatnonzero(corpus.token == token) % BATCH
        expected = start[token] + gradient[positions].sum(axis=0)
        if not np.allclose(result[token], expected, rtol=1e-3, atol=1e-3):
            return f"row {token} is far from its sum in float64"
    return None


def answer(step):
    """Run all ways of a step, compare their answers, then time them in turn."""
    answers, times = {}, {}
    for name, way in step.ways.items():
        start = time.perf_counter()
        answers[name] = way.result()
        times[name] = [time.perf_counter() - start]
    expected = next(iter(answers.values()))
    faults = [find_fault(expected, got) for got in answers.values()]
    if step.check:
        faults.append(step.check(answers[OURS]))
    if step.rounds:
        times = measure(step.ways, step.rounds)
    say(f"{step.name}: done")
    fault = next(filter(None, faults), None)
    row = compare(step.name, times)
    return Outcome(row, fault)


def run_steps(corpus):
    """Answer every question about the corpus.

    Parameters
    ----------
    corpus : Corpus

    Returns
    -------
    list of Outcome
    """
    frequent = most_frequent(corpus)
    table = embedding(corpus)
    return [
        answer(occurrences(corpus)),
        answer(token_by_file(corpus, frequent)),
        answer(first_file(corpus)),
        answer(last_file(corpus)),
        answer(longest_line(corpus)),
        answer(file_sizes(corpus)),
        answer(spread(corpus)),
        answer(used_once(corpus)),
        answer(subsampling(corpus)),
        answer(lookup(table, frequent)),
        answer(gradient_step(table, corpus)),
        answer(description(corpus)),
        answer(page_rank(corpus)),
        answer(training(corpus)),
        answer(numbering(corpus)),
        answer(indentation(corpus)),
        answer(movement(corpus)),
        answer(transfer(corpus)),
    ]


def plot(outcomes, path):
    """A bar chart of both times."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(9, 4.5), layout="constrained")
    rows = [outcome.row for outcome in outcomes]
    lines = np.arange(len(rows))
    axes.barh(lines - 0.2, [row.rival_ms for row in rows], 0.4, label="NumPy")
    axes.barh(lines + 0.2, [row.ours_ms for row in rows], 0.4, label=OURS)
    axes.set(xscale="log", xlabel="milliseconds (the fastest NumPy way)")
    axes.set_yticks(lines, [row.name for row in rows])
    axes.invert_yaxis()
    axes.legend()
    figure.savefig(path, dpi=120)
    print(f"chart written to {path}")


def print_corpus(corpus, seconds):
    """What was read, and that the time it took is no part of the table."""
    words = [corpus.words[token] for token in most_frequent(corpus)[:24]]
    print(
        f"{corpus.files:,} files, {len(corpus.line_length):,} lines,"
        f" {len(corpus.token):,} tokens, {len(corpus.words):,} distinct"
        f" ({seconds:.1f} s in plain Python, not in the table)"
    )
    print(f"most frequent: {' '.join(words)}")


def parse_arguments(argv):
    parser = argparse.ArgumentParser(
        prog="python -m pyscatter.demo",
        description="Indexed updates on the sources of the Python standard library.",
    )
    parser.add_argument("--plot", metavar="OUT.PNG", help="also write a chart")
    parser.add_argument("--limit", type=int, metavar="N", help="read N files only")
    args = parser.parse_args(argv)
    if args.limit is not None and args.limit < 1:
        parser.error("--limit must be at least 1")
    if args.plot and importlib.util.find_spec("matplotlib") is None:
        say("--plot needs matplotlib, which is not installed: no chart will be written")
        args.plot = None
    return args


def main(argv=None):
    """Run the demo; the exit code is 1 when an answer is wrong."""
    args = parse_arguments(argv)
    start = time.perf_counter()
    corpus = read_corpus(args.limit)
    print_corpus(corpus, time.perf_counter() - start)
    print(describe(), end="\n\n", flush=True)
    outcomes = run_steps(corpus)
    print(HEAD)
    for row, fault in outcomes:
        print(line(row) + (f"  WRONG: {fault}" if fault else ""))
    right = sum(fault is None for _, fault in outcomes)
    print(f"\n{report(corpus)}")
    print(f"\n{told(corpus)}")
    print(f"\n{right} of {len(outcomes)} answers equal NumPy's bit for bit")
    print(f"{time.perf_counter() - start:.1f} s in all")
    if args.plot:
        plot(outcomes, args.plot)
    return int(right < len(outcomes))


if __name__ == "__main__":
    sys.exit(main())
