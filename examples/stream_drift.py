"""Does a stream drift? python examples/stream_drift.py

Tokens of standard-library modules arrive one module after the other. Whether the stream
changes its nature is no question of element against element: each module is another
sample. So the frequencies of the commonest tokens are compared as distributions, by
their means over chunks of a module, and as aligned vectors, by the angle between them.
"""

import argparse
import inspect
import json
import pathlib
import re
import tokenize
from collections import Counter

import numpy as np

import pyscatter as ps

MODULES = (json, re, tokenize, pathlib, argparse, inspect)
CHUNK = 200
COMMON = 50


def main():
    """Feed one module after the other and print what has moved."""
    texts = [re.findall(r"\w+|[^\w\s]", inspect.getsource(m)) for m in MODULES]
    commonest = Counter(word for text in texts for word in text).most_common(COMMON)
    number = {word: i for i, (word, _) in enumerate(commonest)}
    spread = ps.ChangeTracker(mode="distribution", name="chunks")
    whole = ps.ChangeTracker(ema={"cosine": 0.5}, history=len(MODULES), name="module")
    for module, text in zip(MODULES, texts, strict=True):
        ids = np.array([number.get(word, COMMON) for word in text])
        chunk = np.arange(ids.size) // CHUNK
        counts = np.zeros((int(chunk[-1]) + 1, COMMON + 1))
        ps.add_at(counts, (chunk, ids), 1)
        shares = counts / counts.sum(axis=1, keepdims=True)
        samples = spread.update(shares)
        aligned = whole.update(counts.sum(axis=0) / ids.size)
        if samples.first:
            continue
        moved = np.abs(samples.feature_mean)
        word = commonest[int(moved[:COMMON].argmax())][0]
        print(
            f"{module.__name__:10s} cosine with the one before {aligned.cosine:.3f}, "
            f"on average {aligned.ema['cosine']:.3f}; {word!r} moves most, "
            f"by {moved[:COMMON].max():.3f}; {samples.n_dead} tokens unused"
        )
    assert [r["step"] for r in whole.history] == list(range(len(MODULES)))
    assert all(r["n_nan"] == 0 for r in whole.history)


if __name__ == "__main__":
    main()
