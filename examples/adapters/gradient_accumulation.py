"""Gradients over micro-batches: python examples/adapters/gradient_accumulation.py

A table of a million rows and a dense layer are trained in TensorFlow on batches that
are cut into micro-batches. Gradients are added in place; those of the table are rows,
stay rows, and update only the rows they name. A micro-batch that is not finite is left
out as a whole. One accumulated gradient is compared with that of the whole batch.
"""

import numpy as np
import tensorflow as tf

import pyscatter as ps
import pyscatter.adapters.tensorflow as pt

ROWS, WIDTH, BATCH, MICRO, STEPS = 1_000_000, 8, 256, 64, 40
TABLE_RATE, RATE = 300.0, 0.05  # a row is named once or twice in 256


def loss_of(table, weight, ids, target):
    """Return the mean squared error of one micro-batch."""
    return tf.reduce_mean((pt.gather(table, ids) @ weight - target) ** 2)


def gradients(table, weight, ids, target):
    """Return loss and gradients: rows of the table, an array for the weight."""
    with tf.GradientTape() as tape:
        loss = loss_of(table, weight, ids, target)
    of_table, of_weight = tape.gradient(loss, [table, weight])
    rows = ps.RowSparse(
        of_table.indices.numpy(), of_table.values.numpy(), tuple(table.shape)
    )
    return float(loss), [rows, of_weight.numpy()]


def main():
    """Accumulate, skip what is not finite, update rows, and compare."""
    rng = np.random.default_rng(0)
    table = tf.Variable(tf.random.stateless_normal((ROWS, WIDTH), (0, 1)))
    weight = tf.Variable(tf.ones((WIDTH, 1)) / WIDTH)
    ids = rng.integers(0, 500, (4, BATCH)) * 1999
    target = np.sin(ids)[..., None].astype(np.float32)
    accumulated = ps.GradientAccumulator.like(
        [np.broadcast_to(np.float32(0), table.shape), weight.numpy()],
        reduction="mean",
        on_nonfinite="skip",
    )
    losses = []
    for step in range(STEPS):
        batch, wanted = ids[step % 4], target[step % 4]
        for start in range(0, BATCH, MICRO):
            part = slice(start, start + MICRO)
            loss, grads = gradients(table, weight, batch[part], wanted[part])
            accumulated.add(grads, weight=MICRO)
            losses.append(loss)
        rows, dense = accumulated.value()
        if step == 0:
            whole = gradients(table, weight, batch, wanted)[1]
            np.testing.assert_allclose(dense, whole[1], rtol=1e-4, atol=1e-6)
            assert isinstance(rows, ps.RowSparse)
            print(f"rows held: {len(np.unique(rows.indices))} of {ROWS}")
            bad = gradients(table, weight, batch[:MICRO], wanted[:MICRO] * np.nan)[1]
            accumulated.add(bad, weight=MICRO)
            assert accumulated.n_skipped == 1
            print("a micro-batch of NaN was left out")
        change = -TABLE_RATE * rows.values
        table.scatter_add(tf.IndexedSlices(change, rows.indices))
        weight.assign_sub(RATE * dense)
        accumulated.zero()
    first, last = np.mean(losses[:16]), np.mean(losses[-16:])
    print(f"loss {first:.4f} -> {last:.4f}")
    assert last < 0.8 * first


if __name__ == "__main__":
    main()
