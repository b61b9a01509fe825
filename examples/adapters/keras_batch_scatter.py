"""Batch scatter-add in a model: python examples/adapters/keras_batch_scatter.py

Each sample is a bag of words, of which a few mean something: the model adds a learned
vector of every word to the topic that the word belongs to in this sample, and a dense
layer reads the topics. It is trained by `fit`, then by a step of our own; the gradients
of a step are compared with those of TensorFlow's own scatter.
"""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np
import tensorflow as tf

from pyscatter.adapters.keras import BatchScatter

WORDS, TOPICS, LENGTH, WIDTH = 50, 5, 12, 4


class OwnScatter(keras.layers.Layer):
    """The same by tf.tensor_scatter_nd_add, which has no batches of its own."""

    def call(self, inputs):
        table, ids, values = inputs
        batch = tf.broadcast_to(tf.range(tf.shape(ids)[0])[:, None], tf.shape(ids))
        return tf.tensor_scatter_nd_add(table, tf.stack([batch, ids], -1), values)


def model_of(scatter):
    """Return a functional model with one layer that scatters."""
    keras.utils.set_random_seed(0)
    words = keras.Input((LENGTH,), dtype="int32")
    topics = keras.Input((LENGTH,), dtype="int32")
    vectors = keras.layers.Embedding(WORDS, WIDTH)(words)
    table = keras.ops.zeros_like(vectors[:, :TOPICS])
    sums = scatter([table, topics, vectors])
    out = keras.layers.Dense(1)(keras.layers.Flatten()(sums))
    model = keras.Model([words, topics], out)
    model.compile(keras.optimizers.Adam(0.01), "mse")
    return model


def data():
    """Return bags whose target is the meaning of the words of topic 0, less topic 1."""
    rng = np.random.default_rng(0)
    meaning = rng.normal(size=WORDS)
    words = rng.integers(0, WORDS, (1024, LENGTH)).astype(np.int32)
    topics = rng.integers(0, TOPICS, (1024, LENGTH)).astype(np.int32)
    sign = np.where(topics == 0, 1.0, np.where(topics == 1, -1.0, 0.0))
    return [words, topics], (meaning[words] * sign).sum(axis=1, keepdims=True)


def step(model, inputs, target):
    """Return the loss and the gradients of one batch."""
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(inputs) - target) ** 2)
    grads = tape.gradient(loss, model.trainable_variables)
    return loss, [tf.convert_to_tensor(g) for g in grads]


def main():
    """Train in both ways, and compare with TensorFlow's own op."""
    inputs, target = data()
    ours, theirs = model_of(BatchScatter("add")), model_of(OwnScatter())
    batch = [x[:64] for x in inputs]
    for mine, its in zip(
        step(ours, batch, target[:64])[1],
        step(theirs, batch, target[:64])[1],
        strict=True,
    ):
        np.testing.assert_allclose(mine, its, rtol=1e-4, atol=1e-6)
    print("the first gradients are TensorFlow's, to rounding")
    losses = ours.fit(inputs, target, batch_size=64, epochs=10, verbose=0).history[
        "loss"
    ]
    print(f"fit: loss {losses[0]:.3f} -> {losses[-1]:.3f}")
    assert losses[-1] < 0.5 * losses[0]
    for _ in range(20):
        loss, grads = step(ours, batch, target[:64])
        ours.optimizer.apply(grads, ours.trainable_variables)
    print(f"own step: loss of the batch {float(loss):.3f}")
    assert float(loss) < losses[-1]


if __name__ == "__main__":
    main()
