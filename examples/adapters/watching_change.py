"""Change from batch to batch: python examples/adapters/watching_change.py [folder]

A small network is trained while a layer records how its activations change from batch
to batch, and a callback follows weights, optimizer state and a fixed probe batch. All
of it goes to TensorBoard: `tensorboard --logdir folder`. Halfway the data change their
scale, and the layer's record says when.
"""

import sys
import tempfile

import keras
import numpy as np
from tensorboardX import SummaryWriter

from pyscatter.adapters.keras import ChangeMonitor, ChangeTrackerCallback

BATCH = 32


def main(folder=None):
    """Train, watch, and find the batch at which the data changed."""
    folder = folder or tempfile.mkdtemp()
    keras.utils.set_random_seed(0)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2048, 10)).astype(np.float32)
    x[1024:] *= 4  # the change that is to be found
    y = np.tanh(x[:, :1])
    monitor = ChangeMonitor(hist="tb1")
    model = keras.Sequential(
        [
            keras.Input((10,)),
            monitor,
            keras.layers.Dense(16, activation="tanh"),
            keras.layers.Dense(1),
        ]
    )
    model.compile(keras.optimizers.Adam(0.01), "mse")
    with SummaryWriter(folder) as writer:
        watch = ChangeTrackerCallback(every=16, probe=x[:8], writer=writer)
        losses = model.fit(
            *(x, y),
            batch_size=BATCH,
            epochs=4,
            shuffle=False,
            verbose=0,
            callbacks=[watch],
        ).history["loss"]
    assert losses[-1] < losses[0]
    print(f"loss {losses[0]:.4f} -> {losses[-1]:.4f}")
    variances = np.array([record.new_var for record in monitor.records])[:64]
    jump = int(np.argmax(variances[1:] / variances[:-1])) + 1
    print(f"the activations' variance jumps at batch {jump}")
    assert jump == 1024 // BATCH
    kernel = next(k for k in watch.history if k.endswith("kernel/rel_change"))
    print(f"{kernel}: {np.round(watch.history[kernel][1:4], 4)}")
    print(f"see: tensorboard --logdir {folder}")


if __name__ == "__main__":
    main(*sys.argv[1:])
