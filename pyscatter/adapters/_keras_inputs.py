"""What the layers share: the backend's adapter, checks of inputs, words of an error.

A layer's inputs are checked when it is built, before there are numbers: shapes by
`build`, the dtype of indices by `compute_output_spec`. Without a model a layer meets
its inputs in `call`, which looks at the dtype again.
"""

import importlib

import keras
from keras import ops

SCATTERS = ("set", "add", "sub", "mul", "div", "min", "max", "mean", "first")


def adapter():
    """Return the adapter of Keras' backend."""
    backend = keras.backend.backend()
    if backend not in ("tensorflow", "torch", "jax"):
        raise RuntimeError(f"there is no adapter for Keras' backend {backend!r}")
    return importlib.import_module(f"pyscatter.adapters.{backend}")


def mode_of(mode="raise"):
    """Return how a layer treats indices out of bounds on this backend."""
    is_jax = keras.backend.backend() == "jax"
    return "drop" if is_jax and mode == "raise" else mode


class Indexed(keras.layers.Layer):
    """What checks the inputs of a layer that has several."""

    second = None  # the name of the second input, where that has to be integers

    def refuse(self, why):
        """Raise a ValueError that names the layer."""
        raise ValueError(f"{type(self).__name__} {self.name!r}: {why}")

    def choose(self, name, value, known):
        """Return an argument that must be one of some words."""
        if value not in known:
            self.refuse(f"{name}={value!r} is unknown; expected one of {[*known]}")
        return value

    def shapes_of(self, input_shape, counts):
        """Return the shapes of the inputs, of which there must be as many."""
        is_list = isinstance(input_shape, (list, tuple)) and all(
            isinstance(s, (list, tuple)) for s in input_shape
        )
        if not is_list or len(input_shape) not in counts:
            self.refuse(f"expected a list of {counts} inputs; got shape {input_shape}")
        return [tuple(s) for s in input_shape]

    def expect(self, name, shape, expected):
        """Refuse a shape that cannot be the expected one."""
        fits = len(shape) == len(expected) and all(
            None in (n, m) or n == m for n, m in zip(shape, expected, strict=True)
        )
        if not fits:
            self.refuse(f"{name} has shape {shape}; expected {expected}")

    def whole(self, x):
        """Refuse a second input that is no integers."""
        dtype = keras.backend.standardize_dtype(x.dtype)
        if "int" not in dtype:
            layer = f"{type(self).__name__} {self.name!r}"
            raise TypeError(
                f"{layer}: {self.second} has dtype {dtype}; expected integers"
            )

    def compute_output_spec(self, inputs):
        """Return shape and dtype of the result, for a model that is being built."""
        if self.second:
            self.whole(inputs[1])
        return super().compute_output_spec(inputs)


class Update(Indexed):
    """What layers share that update their first input by an op."""

    def __init__(self, op="add", **kwargs):
        super().__init__(**kwargs)
        self.op = self.choose("op", op, SCATTERS)

    def compute_output_shape(self, input_shape):
        """Return the shape of a."""
        return tuple(input_shape[0])

    def get_config(self):
        """Return what makes the same layer."""
        return {**super().get_config(), "op": self.op}


def numbers_like(x, y):
    """Return a tensor in the dtype of another."""
    return x if x.dtype == y.dtype else ops.cast(x, y.dtype)


def tuple_shape(layer, a, indices):
    """Check the shape of tuples for a target."""
    batch = layer.batch_dims
    if len(indices) <= batch or indices[-1] is None:
        layer.refuse(f"indices has shape {indices}; expected (B, ..., k) with k known")
    if indices[-1] > len(a) - batch:
        layer.refuse(
            f"indices has shape {indices}: tuples of {indices[-1]} for a of shape {a} "
            f"with batch_dims={batch}"
        )
    layer.expect("indices", indices[:batch], a[:batch])
