"""Attention on a graph with segment_softmax: python examples/graph_attention.py

Every node weighs the messages that arrive over its edges by a softmax of their scores,
and adds them up: the inner step of graph attention, without a loop over nodes.
"""

import numpy as np

import pyscatter as ps

NODES, EDGES, WIDTH = 200, 1_000, 8


def main():
    """Compute one step and compare it with a loop over the nodes."""
    rng = np.random.default_rng(0)
    source = rng.integers(0, NODES, EDGES)
    target = rng.integers(0, NODES - 20, EDGES)  # the last nodes hear nothing
    features = rng.standard_normal((NODES, WIDTH))
    score = rng.standard_normal(EDGES) * 10

    weight = ps.segment_softmax(score, target, NODES)
    heard = ps.segment_reduce(features, target, NODES, gather=source, weights=weight)

    for node in range(NODES):
        edges = np.flatnonzero(target == node)
        if len(edges) == 0:
            assert (heard[node] == 0).all()
            continue
        share = np.exp(score[edges] - score[edges].max())
        expected = share / share.sum() @ features[source[edges]]
        assert np.allclose(heard[node], expected)
    deaf = NODES - len(np.unique(target))
    print(f"{EDGES} edges, {NODES} nodes, {deaf} of them without a message")
    busiest = ps.bincount(target, minlength=NODES).argmax()
    print(f"node {busiest} hears most; its weights:")
    print(np.round(weight[target == busiest], 3))


if __name__ == "__main__":
    main()
