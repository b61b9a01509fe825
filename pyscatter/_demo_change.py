"""The demo's question of change: how do token frequencies move from part to part?

The stream of tokens is cut into parts of equal length, and each part counted; then each
part is compared with the one before. The answers are integers, so NumPy's and
pyscatter's are the same bit for bit.
"""

from functools import partial

import numpy as np

import pyscatter as ps
from pyscatter.bench import OURS, Way

PARTS = 16


def frequencies(corpus):
    """Count the tokens of each part of the stream."""
    size = len(corpus.words)
    part = np.arange(corpus.token.size) * PARTS // max(corpus.token.size, 1)
    counts = np.zeros((PARTS, size), np.int64)
    ps.add_at(counts, (part, corpus.token), 1)
    return counts


def by_numpy(counts):
    """Tokens that changed, appeared and vanished; the largest change, and whose."""
    answers = []
    for old, new in zip(counts[:-1], counts[1:], strict=True):
        size = np.abs(new - old)
        appeared, vanished = (old == 0) & (new != 0), (old != 0) & (new == 0)
        numbers = [np.count_nonzero(m) for m in (size, appeared, vanished)]
        answers.append([*numbers, size.max(), size.argmax()])
    return np.array(answers)


def by_tracker(counts):
    """The same from the records of a tracker."""
    tracker = ps.ChangeTracker()
    records = [tracker.update(row) for row in counts][1:]
    return np.array(
        [
            [c.n_changed, c.n_left_zero, c.n_became_zero, int(c.max_abs), c.argmax_abs]
            for c in records
        ]
    )


def moved(corpus):
    """Return the ways to follow frequencies from part to part."""
    counts = frequencies(corpus)
    return {
        "differences": Way(partial(by_numpy, counts)),
        OURS: Way(partial(by_tracker, counts)),
    }


def report(corpus):
    """Say how the last part differs from the one before."""
    old, new = frequencies(corpus)[-2:]
    c = ps.change_stats(old, new)
    word = corpus.words[c.argmax_abs]
    return (
        f"from part {PARTS - 1} to part {PARTS} of the stream {c.n_changed:,} of "
        f"{c.n_compared:,} frequencies change, {c.n_left_zero:,} tokens appear and "
        f"{c.n_became_zero:,} vanish;\n{word!r} changes most, by {int(c.max_abs):,}; "
        f"the cosine of both parts is {c.cosine:.4f}"
    )
