"""The demo's replica: token frequencies of each part of the stream, sent as deltas.

The stream of tokens is cut into parts of equal length and each part counted. A replica
has the counts of the first part; from then on it receives bytes, and its counts are
compared with the true ones byte for byte after each.
"""

from functools import partial

import numpy as np

import pyscatter as ps
from pyscatter.bench import OURS, Way

PARTS = 16


def counts_of(corpus):
    """Count the tokens of each part: one row for each, one column for each token."""
    part = np.arange(corpus.token.size) * PARTS // max(corpus.token.size, 1)
    counts = np.zeros((PARTS, len(corpus.words)), np.int64)
    ps.add_at(counts, (part, corpus.token), 1)
    return counts


def by_numpy(counts):
    """Positions and values of what differs, put in their places."""
    replica, received = counts[0].copy(), []
    for new in counts[1:]:
        at = np.flatnonzero(replica != new)
        values = new[at]
        replica[at] = values
        received.append(replica.copy())
    return np.array(received)


def by_deltas(counts):
    """The same through bytes, each end checked."""
    replica, received = counts[0].copy(), []
    for old, new in zip(counts[:-1], counts[1:], strict=True):
        wire = ps.delta(old, new).to_bytes()
        ps.Delta.from_bytes(wire).apply(replica, out=replica, verify="both")
        received.append(replica.copy())
    return np.array(received)


def sent(corpus):
    """Return the ways to keep a replica in step."""
    counts = counts_of(corpus)
    return {
        "flatnonzero(old != new)": Way(partial(by_numpy, counts)),
        OURS: Way(partial(by_deltas, counts)),
    }


def told(corpus):
    """Say how many bytes the replica takes, and that it has the bytes of the counts."""
    counts = counts_of(corpus)
    wires = [
        ps.delta(old, new).to_bytes()
        for old, new in zip(counts[:-1], counts[1:], strict=True)
    ]
    replica = counts[0].copy()
    for wire in wires:
        ps.Delta.from_bytes(wire).apply(replica, out=replica)
    same = "equals" if replica.tobytes() == counts[-1].tobytes() else "DIFFERS FROM"
    whole = counts[1:].nbytes
    return (
        f"a replica of the frequencies of {PARTS} parts receives "
        f"{sum(map(len, wires)):,} bytes of deltas for {whole:,} bytes of counts, and "
        f"{same} them byte for byte"
    )
