"""What adapters cost: ``python -m benchmarks.bench_adapters [package ...]``.

A scatter-add through each package that is installed, large and small, beside the call
on arrays, the package's own callback that does nothing, and the package's own
operation; then an epoch of Keras, watched and not. Name one package to have no other
one's threads in the process.
"""

import importlib.util
import os
import sys
import tempfile
from functools import partial
from statistics import median

import numpy as np

import pyscatter as ps
from pyscatter.bench import Way, measure, rng

SIZES = (1_000_000, 10)
BATCH, BATCHES, WIDTH = 64, 300, 512


def operands(n):
    """A target, indices and values, float32."""
    numbers = rng().random((2, n), np.float32)
    return numbers[0], rng().integers(0, n, n).astype(np.int32), numbers[1]


def ways_of_torch(a, index, values):
    """Torch's tensors share their memory with arrays."""
    import torch

    import pyscatter.adapters.torch as pt

    tensors = a, index, values = [*map(torch.tensor, (a, index, values))]
    recorded = values.clone().requires_grad_()
    return {
        "scatter": partial(pt.scatter, *tensors, op="add"),
        "scatter, recorded": partial(pt.scatter, a, index, recorded, op="add"),
        "its own index_add": partial(torch.index_add, a, 0, index, values),
    }


def ways_of_tensorflow(a, index, values):
    """In a graph there is a callback, eager calls have none."""
    import tensorflow as tf

    import pyscatter.adapters.tensorflow as pt

    tensors = a, index, values = [*map(tf.constant, (a, index, values))]

    def idle(*tensors):
        return tf.numpy_function(lambda *arrays: arrays[2], tensors, tf.float32, False)

    graph = tf.function(partial(pt.scatter, op="add"), autograph=False)
    own = tf.function(tf.tensor_scatter_nd_add)
    return {
        "scatter": partial(pt.scatter, *tensors, op="add"),
        "scatter in a graph": partial(graph, *tensors),
        "an idle callback": partial(tf.function(idle, autograph=False), *tensors),
        "its own tensor_scatter_nd_add": partial(own, a, index[:, None], values),
    }


def ways_of_jax(a, index, values):
    """Under jit there is a callback, calls on concrete arrays have none."""
    import jax

    import pyscatter.adapters.jax as pj

    arrays = a, index, values = [*map(jax.numpy.asarray, (a, index, values))]
    like = jax.ShapeDtypeStruct(values.shape, values.dtype)

    def idle(*arrays):
        return jax.pure_callback(lambda *arrays: np.asarray(arrays[2]), like, *arrays)

    def ready(function):
        return lambda: function(*arrays).block_until_ready()

    traced = jax.jit(partial(pj.scatter, op="add", mode="drop"))
    return {
        "scatter": ready(partial(pj.scatter, op="add")),
        "scatter under jit": ready(traced),
        "an idle callback": ready(jax.jit(idle)),
        "its own a.at[].add": ready(jax.jit(lambda a, i, x: a.at[i].add(x))),
    }


def ways_of_autograd(a, index, values):
    """Autograd's arrays are NumPy's."""
    import pyscatter.adapters.autograd as pa

    return {"scatter": partial(pa.scatter, a, index, values, op="add")}


def print_calls(package, n, rounds):
    """Print milliseconds of one call in each way."""
    arrays = operands(n)
    calls = {
        "on arrays": partial(ps.scatter, *arrays, op="add"),
        "on arrays, mode='drop'": partial(ps.scatter, *arrays, op="add", mode="drop"),
    }
    calls |= globals()[f"ways_of_{package}"](*arrays)
    times = measure({name: Way(call) for name, call in calls.items()}, rounds)
    for name, seconds in times.items():
        print(f"{package:>10} {n:>8} {name:30} {median(seconds) * 1e3:9.3f} ms")


def epochs():
    """Return calls that train for an epoch, by the callback that watches."""
    import keras
    from tensorboardX import SummaryWriter

    from pyscatter.adapters.keras import ChangeTrackerCallback

    x = rng().normal(size=(BATCHES * BATCH, 256)).astype(np.float32)
    y = (x[:, :1] > 0).astype(np.float32)
    hidden = [keras.layers.Dense(WIDTH, activation="relu") for _ in range(2)]
    model = keras.Sequential([keras.Input((256,)), *hidden, keras.layers.Dense(1)])
    model.compile("adam", "mse")
    writer = SummaryWriter(tempfile.mkdtemp())
    own = keras.callbacks.TensorBoard
    callbacks = {
        "nobody watching": [],
        "every 100 batches": [ChangeTrackerCallback(probe=x[:BATCH])],
        "once, to TensorBoard": [
            ChangeTrackerCallback(every=BATCHES, probe=x[:BATCH], writer=writer)
        ],
        "its own, histogram_freq=1": [
            own(tempfile.mkdtemp(), histogram_freq=1, write_graph=False)
        ],
        "its own, histogram_freq=0": [
            own(tempfile.mkdtemp(), histogram_freq=0, write_graph=False)
        ],
    }
    fit = partial(model.fit, x, y, batch_size=BATCH, verbose=0)
    return {
        name: Way(partial(fit, callbacks=watching))
        for name, watching in callbacks.items()
    }


def print_epochs(rounds):
    """Print what watching adds to an epoch."""
    times = measure(epochs(), rounds)
    plain = times["nobody watching"]
    for name, seconds in times.items():
        more = median(t / p for t, p in zip(seconds, plain, strict=True)) - 1
        print(f"     keras {median(seconds):8.3f} s {name:28} {more:+8.1%}")


def main(*packages):
    """Measure the packages that are named, or all that are installed."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    known = ("autograd", "torch", "tensorflow", "jax", "keras")
    for package in packages or known:
        if importlib.util.find_spec(package) is None:
            print(f"{package} is not installed")
        elif package == "keras":
            print_epochs(rounds=5)
        else:
            for n in SIZES:
                print_calls(package, n, rounds=25)


if __name__ == "__main__":
    main(*sys.argv[1:])
