"""Ragged batches of words as mean embeddings: python examples/embedding_bag.py

Sentences of different lengths lie one after the other. gather= reads the rows of the
table where they are, so the array of all words' vectors is never made.
"""

import numpy as np

import pyscatter as ps

SENTENCES = (
    "a plan is checked once and used often",
    "",
    "an empty sentence has no mean",
    "often an often used plan",
)


def main():
    """Compute plain and weighted bags, and their gradient back to the table."""
    words = [sentence.split() for sentence in SENTENCES]
    number = {w: i for i, w in enumerate(sorted({w for ws in words for w in ws}))}
    tokens = np.array([number[w] for ws in words for w in ws])
    lengths = np.array([len(ws) for ws in words])
    table = np.random.default_rng(0).standard_normal((len(number), 4))

    bags = ps.segment_reduce(
        table, lengths=lengths, gather=tokens, op="mean", fill_value=0
    )
    rarity = 1 / ps.bincount(tokens)[tokens]
    weighted = ps.segment_reduce(table, lengths=lengths, gather=tokens, weights=rarity)

    # The gradient of sum(bags): each word gets 1 / length of each of its sentences.
    share = ps.segment_expand(1 / np.maximum(lengths, 1), lengths=lengths)
    gradient = ps.scatter(np.zeros(len(number)), tokens, share, op="add")

    for i, ws in enumerate(words):
        rows = table[[number[w] for w in ws]] if ws else np.zeros((1, 4))
        assert np.allclose(bags[i], rows.mean(axis=0))
    assert np.allclose(gradient.sum(), np.count_nonzero(lengths))
    assert not np.allclose(bags, weighted)
    print(
        f"{len(tokens)} words in {len(words)} sentences, {len(number)} different ones"
    )
    print(np.round(bags, 2))


if __name__ == "__main__":
    main()
