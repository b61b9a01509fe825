"""Vectors of tokens, learned from who follows whom: python examples/factorize_tokens.py

The sources of the standard library are split into tokens; the logarithms of how often
one follows another are factorised into two tables by stochastic gradient steps. Each
batch gives gradients of a few rows, which stay rows: only these are visited.
"""

import pathlib
import re
import sysconfig
from collections import Counter

import numpy as np

import pyscatter as ps

FILES, TOKENS, WIDTH, BATCH, EPOCHS, RATE = 25, 300, 12, 512, 6, 0.02


def pairs_of_tokens():
    """Return (row, column, logarithm of the count) of pairs of frequent tokens."""
    root = pathlib.Path(sysconfig.get_paths()["stdlib"])
    texts = (p.read_text(errors="replace") for p in sorted(root.glob("*.py"))[:FILES])
    words = [word for text in texts for word in re.findall(r"\w+|[^\w\s]", text)]
    known = {word: i for i, (word, _) in enumerate(Counter(words).most_common(TOKENS))}
    numbers = np.array([known.get(word, -1) for word in words])
    both = (numbers[:-1] >= 0) & (numbers[1:] >= 0)
    where = numbers[:-1][both], numbers[1:][both]
    counts = ps.coo_to_csr(np.ones(both.sum()), where, (TOKENS, TOKENS)).to_coo()
    return counts.row, counts.col, np.log1p(counts.data)


def batch_gradients(tables, row, col, wanted):
    """Return the loss of some pairs, and the gradients of both tables as rows."""
    u, back_to_u = ps.vjp(ps.gather, tables[0], row)
    v, back_to_v = ps.vjp(ps.gather, tables[1], col)
    missed = (u * v).sum(axis=1) - wanted
    of_u = back_to_u(missed[:, None] * v, sparse=True)[0]
    of_v = back_to_v(missed[:, None] * u, sparse=True)[0]
    return np.square(missed).sum() / 2, [of_u, of_v]


def check_gradient(tables, row, col, wanted):
    """Compare with a central difference along a random direction."""
    direction = np.random.default_rng(1).standard_normal(tables[0].shape)
    _, (gradient, _) = batch_gradients(tables, row, col, wanted)
    h = 0.5  # the loss is quadratic in one table: any step is exact
    ends = [
        batch_gradients([tables[0] + s * h * direction, tables[1]], row, col, wanted)[0]
        for s in (1, -1)
    ]
    assert np.isclose(ends[0] - ends[1], (gradient.to_dense() * direction).sum())


def main():
    """Learn, and show how the loss falls."""
    row, col, wanted = pairs_of_tokens()
    rng = np.random.default_rng(0)
    tables = [rng.standard_normal((TOKENS, WIDTH)) / 4 for _ in range(2)]
    check_gradient(tables, row, col, wanted)
    sums = ps.GradientAccumulator.like(tables, on_nonfinite="raise")
    losses = []
    for _ in range(EPOCHS):
        order, total = rng.permutation(row.size), 0.0
        for start in range(0, row.size, BATCH):
            some = order[start : start + BATCH]
            loss, gradients = batch_gradients(
                tables, row[some], col[some], wanted[some]
            )
            sums.add(gradients)
            sums.sgd_step(tables, RATE)
            sums.zero()
            total += loss
        losses.append(total / row.size)
    assert losses[-1] < 0.6 * losses[0]
    print(f"{row.size} pairs of {TOKENS} tokens in tables of width {WIDTH}")
    print("loss of each epoch:", " ".join(f"{loss:.3f}" for loss in losses))
    print("the gradient agrees with differences of the loss")


if __name__ == "__main__":
    main()
