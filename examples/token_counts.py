"""Count tokens, per document and in all, with add_at: python examples/token_counts.py

The documents are modules of the standard library. Every repeated token of a document
has to count, which `counts[tokens] += 1` does not do.
"""

import inspect
import json
import pathlib
import re
from collections import Counter

import numpy as np

import pyscatter as ps

MODULES = (inspect, json, pathlib, re)


def main():
    """Count, compare with plain Python, print the most frequent tokens."""
    texts = [re.findall(r"\w+", inspect.getsource(module)) for module in MODULES]
    words = sorted(set().union(*texts))
    number = {word: i for i, word in enumerate(words)}
    tokens = np.array([number[word] for text in texts for word in text])
    document = np.repeat(np.arange(len(texts)), [len(text) for text in texts])

    counts = np.zeros(len(words), np.int64)
    ps.add_at(counts, tokens, 1)
    by_document = np.zeros((len(texts), len(words)), np.int64)
    ps.add_at(by_document, (document, tokens), 1)  # a pair of indices for each token

    expected = Counter(word for text in texts for word in text)
    assert counts.tolist() == [expected[word] for word in words]
    assert (by_document.sum(axis=0) == counts).all()

    first = np.full(len(words), -1)
    ps.scatter(first, tokens, np.arange(len(tokens)), op="first", out=first)
    print(f"{len(tokens):,} tokens, {len(words):,} words, {len(texts)} documents")
    for i in np.argsort(-counts, kind="stable")[:5]:
        shares = " ".join(f"{n:5d}" for n in by_document[:, i])
        print(f"{words[i]:10s} {counts[i]:6d} = {shares}   first at {first[i]}")


if __name__ == "__main__":
    main()
