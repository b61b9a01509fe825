"""The demo's questions for keys: what each is in Python and NumPy, and in pyscatter.

Tokens are numbered from their text, which a Python dict did when the sources were read;
lines are grouped by the file that they are in and by how far they are indented.
"""

from functools import partial

import numpy as np

import pyscatter as ps
from pyscatter.bench import OURS, Way

# A part of the stream, and the beginnings of its tokens: an array of text is as wide as
# the longest of them.
TOKENS = 500_000
CHARACTERS = 20


def numbered_by_dict(words):
    """Return the number of each word, in the order of appearance."""
    number = {}
    return np.array([number.setdefault(word, len(number)) for word in words], np.intp)


def numbered_by_unique(text):
    """Return the same by NumPy, which sorts all entries."""
    _, first, ids = np.unique(text, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[ids]


def numbered(corpus):
    """Return the ways to number the first tokens by their text."""
    words = [word[:CHARACTERS] for word in corpus.words]
    text = np.array(words)[corpus.token[:TOKENS]]
    return {
        "a dict": Way(partial(numbered_by_dict, text.tolist())),
        "np.unique": Way(partial(numbered_by_unique, text)),
        OURS: Way(lambda: ps.factorize(text, sort=False)[0]),
    }


def indented(corpus):
    """Return the ways to find the longest line by file and indentation."""
    length, file, indent = corpus.line_length, corpus.line_file, corpus.line_indent

    def by_unique():
        pair = file * (indent.max() + 1) + indent
        groups, ids = np.unique(pair, return_inverse=True)
        longest = np.zeros(len(groups), np.int64)
        np.maximum.at(longest, ids, length)
        return longest

    return {
        "np.unique, np.maximum.at": Way(by_unique),
        OURS: Way(lambda: ps.group_reduce(length, file, indent, op="max")[1]),
    }
