"""Padded batches, with mode="drop" and where=: python examples/padding_and_masks.py

Sequences of different lengths are padded with -1. Scattered under mode="drop" the
padding names nothing; gathered under mode="fill" it reads as zeros. where= leaves
entries out by a mask instead, whatever their index is.
"""

import numpy as np

import pyscatter as ps

PAD, VOCABULARY = -1, 6
BATCH = np.array([[3, 1, 3, PAD], [2, PAD, PAD, PAD], [5, 5, 0, 1]])


def main():
    """Count, look up and pool a padded batch, and compare each with a loop."""
    counts = ps.scatter(np.zeros(VOCABULARY, int), BATCH, 1, op="add", mode="drop")
    print("counts     ", counts)
    assert counts.tolist() == [(BATCH == token).sum() for token in range(VOCABULARY)]

    per_row = np.zeros((len(BATCH), VOCABULARY), int)
    ps.scatter(per_row, BATCH, 1, batch_dims=1, op="add", mode="drop", out=per_row)
    print("per row    ", per_row.tolist())
    assert (per_row.sum(axis=0) == counts).all()

    table = np.arange(2.0 * VOCABULARY).reshape(VOCABULARY, 2)
    vectors = ps.gather(table, BATCH, mode="fill", fill_value=0.0)
    assert not vectors[BATCH == PAD].any()
    assert (vectors[BATCH != PAD] == table[BATCH[BATCH != PAD]]).all()

    rows = np.broadcast_to(np.arange(len(BATCH))[:, None], BATCH.shape)
    start = np.zeros((len(BATCH), 2))
    means = ps.scatter(
        start, rows, vectors, op="mean", include_self=False, where=BATCH != PAD
    )
    print("means      ", means.tolist())
    for mean, tokens in zip(means, BATCH, strict=True):
        assert np.allclose(mean, table[tokens[tokens != PAD]].mean(axis=0))

    # A loss that ignores token 5: its gradients take no part, and are never added.
    kept = (BATCH != PAD) & (BATCH != 5)
    gradient = ps.scatter(np.zeros_like(table), BATCH, vectors, op="add", where=kept)
    print("gradient   ", gradient[:, 1].tolist())
    assert not gradient[5].any() and gradient[3, 1] == 2 * table[3, 1]


if __name__ == "__main__":
    main()
