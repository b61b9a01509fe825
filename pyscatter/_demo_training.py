"""The demo's training step: tokens get vectors whose products tell who follows whom.

How often one token follows another is a sparse matrix; its logarithm is factorised into
two tables of vectors, by gradient steps on what is stored. Numbers are rounded so that
the first step is exact in any order of summation: the answers are equal bit for bit.
"""

from functools import partial

import numpy as np

import pyscatter as ps
from pyscatter.bench import OURS, Way

TOKENS, WIDTH, STEPS = 1024, 16, 8
RATE = 2.0**-9
GRAIN = 2.0**12


class Task:
    """What is to be learned: entries of a matrix, and where the tables begin."""

    def __init__(self, corpus):
        size = min(TOKENS, len(corpus.words))
        before, after = corpus.token[:-1], corpus.token[1:]
        known = (before < size) & (after < size)
        where = after[known], before[known]
        counts = ps.coo_to_csr(np.ones(len(where[0])), where, (size, size))
        self.wanted = np.round(np.log1p(counts.data) * GRAIN) / GRAIN
        self.pattern = counts
        self.row, self.col = counts.to_coo().row, counts.indices
        rng = np.random.default_rng(3)
        self.tables = [rng.integers(-4, 5, (size, WIDTH)) / 16.0 for _ in "uv"]

    def miss(self, u, v):
        """Return what the products miss, and the pullback of the products."""
        made, back = ps.vjp(ps.sddmm, self.pattern, u, v)
        return made - self.wanted, back

    def loss(self, u, v):
        """Return half the mean square of what is missed."""
        return np.square(self.miss(u, v)[0]).mean() / 2

    def step(self, u, v):
        """Return the tables after one step, by pyscatter."""
        missed, back = self.miss(u, v)
        _, of_u, of_v = back(missed)
        return u - RATE * of_u, v - RATE * of_v

    def step_of_numpy(self, u, v):
        """Return the same by NumPy."""
        of_row, of_col = u[self.row], v[self.col]
        missed = (of_row * of_col).sum(axis=1) - self.wanted
        of_u, of_v = np.zeros_like(u), np.zeros_like(v)
        np.add.at(of_u, self.row, missed[:, None] * of_col)
        np.add.at(of_v, self.col, missed[:, None] * of_row)
        return u - RATE * of_u, v - RATE * of_v


def trained(corpus):
    """Return the ways to take a training step, and the check of what follows."""
    task = Task(corpus)

    def both(step):
        return np.stack(step(*task.tables))

    ways = {
        "np.add.at": Way(partial(both, task.step_of_numpy)),
        OURS: Way(partial(both, task.step)),
    }
    return ways, partial(find_no_progress, task)


def find_no_progress(task, result):
    """Return what is wrong with the gradient or with more steps; None: nothing."""
    u, v = task.tables
    missed, back = task.miss(u, v)
    gradient, direction = back(missed / missed.size)[1], np.cos(u)
    ends = [task.loss(u + h * direction, v) for h in (0.5, -0.5)]
    slope = (gradient * direction).sum()
    if not np.isclose(ends[0] - ends[1], slope, rtol=1e-9, atol=1e-12):
        return "the gradient is not the slope of the loss"
    before = task.loss(u, v)
    for _ in range(STEPS):
        u, v = task.step(u, v)
        after = task.loss(u, v)
        if not after < before:
            return f"the loss rises from {before} to {after}"
        before = after
    return None
