"""The demo's questions for sparse matrices: what each is in NumPy, and in pyscatter.

Two matrices of the standard library: which token occurs how often in which file, and
which token follows which. All answers are the same bit for bit: the numbers of the
first product are integers, and the second one's sums have the order of the entries.
SciPy's way is timed too where it is installed.
"""

import importlib.util
from functools import partial

import numpy as np

import pyscatter as ps
from pyscatter.bench import OURS, Way

WIDTH = 16
DAMPING = 0.85
STEPS = 10


def scipy_sparse():
    """Return scipy.sparse, or None where it is not installed."""
    if importlib.util.find_spec("scipy") is None:
        return None
    return importlib.import_module("scipy.sparse")


def files_by_tokens(corpus):
    """Return the matrix whose entry (f, t) says how often file f has token t."""
    ones = np.ones(len(corpus.token))
    shape = corpus.files, len(corpus.words)
    return ps.coo_to_csr(ones, (corpus.file, corpus.token), shape)


def described(corpus):
    """Return the ways to add up, for each file, what describes its tokens."""
    matrix = files_by_tokens(corpus)
    rng = np.random.default_rng(2)
    table = rng.integers(-9, 10, (len(corpus.words), WIDTH)).astype(float)
    lengths = np.bincount(corpus.file, minlength=corpus.files)
    parts = np.split(corpus.token, np.cumsum(lengths)[:-1])

    def by_files():
        return np.array([table[part].sum(axis=0) for part in parts])

    ways = {
        "sums of a[i]": Way(by_files),
        OURS: Way(partial(ps.spmm, matrix, table)),
    }
    sparse = scipy_sparse()
    if sparse is not None:
        ways["scipy.sparse"] = Way(partial(matrix.to_scipy().__matmul__, table))
    return ways


def followers(corpus):
    """Return the matrix whose entry (t, s) is the share of s that t follows."""
    size = len(corpus.words)
    before, after = corpus.token[:-1], corpus.token[1:]
    share = 1 / np.bincount(before, minlength=size).clip(1)
    return ps.coo_to_csr(share[before], (after, before), (size, size))


def ranks(multiply, size):
    """Return PageRank after STEPS products: where a random reader would be."""
    rank = np.full(size, 1 / size)
    for _ in range(STEPS):
        rank = DAMPING * multiply(rank) + (1 - DAMPING) / size
    return rank


def ranked(corpus):
    """Return the ways to rank tokens by which token follows which."""
    matrix = followers(corpus)
    size = matrix.shape[0]
    row, col = matrix.to_coo().row, matrix.indices
    data = matrix.data

    def by_bincount(rank):
        return np.bincount(row, data * rank[col], minlength=size)

    return {
        "np.bincount": Way(partial(ranks, by_bincount, size)),
        OURS: Way(partial(ranks, partial(ps.spmm, matrix), size)),
    }


def find_far_rank(corpus, rank):
    """Return what differs from SciPy's ranks, which may fuse sums; None: nothing."""
    if scipy_sparse() is None:
        return None
    product = followers(corpus).to_scipy().__matmul__
    if np.allclose(ranks(product, len(rank)), rank, rtol=1e-9, atol=0):
        return None
    return "the ranks are not those of SciPy's products"
