"""Watching change inside Keras: a layer for what flows, a callback for what is kept.

Batches of training are other samples each time, so the layer compares distributions by
default. The callback compares element by element: weights, the optimizer's state, and
the activations of a fixed probe batch. Neither changes what is computed.
"""

import collections
import contextlib

import keras
import numpy as np

import pyscatter as ps
from pyscatter.adapters.tensorboard import log_change

PACKAGE = "pyscatter"
FIELDS = (
    *("mean_abs", "max_abs", "rms", "rel_change", "frac_changed"),
    *("n_nan", "n_posinf", "n_neginf"),
)
KINDS = ("weights", "optimizer", "probe")


@keras.saving.register_keras_serializable(package=PACKAGE)
class ChangeMonitor(keras.layers.Layer):
    """Pass activations on, and record how they change from batch to batch.

    Called on x of any shape (B, ...); the result is x.

    Parameters
    ----------
    mode : {"distribution", "aligned"}, optional
        "distribution" (default) compares mean and variance of each feature; "aligned"
        compares element by element, for a batch that is always the same.
    every : int, optional
        Record one batch of so many.
    hist : str or int, optional
        Keep a histogram of each recorded batch: the `bins` of `pyscatter.histogram`.
    **kwargs
        Those of keras.layers.Layer.

    Attributes
    ----------
    records : deque of ChangeStats
        The last thousand records.
    tracker : ChangeTracker
        What makes them.

    Raises
    ------
    ValueError
        An unknown mode; `every` is no positive number.

    Notes
    -----
    *Determinism*: a record's bits depend neither on threads nor on the CPU; on JAX
    batches may be recorded in another order. *Derivatives*: those of the identity.
    *Cost*: one pass over a recorded batch. A SavedModel cannot hold it.

    See Also
    --------
    ChangeTrackerCallback, pyscatter.ChangeTracker

    Examples
    --------
    >>> import numpy as np
    >>> from pyscatter.adapters.keras import ChangeMonitor
    >>> monitor = ChangeMonitor()
    >>> for scale in (1.0, 3.0):
    ...     _ = monitor(np.full((4, 2), scale, "f4"))
    >>> [record.new_mean for record in monitor.records]
    [1.0, 3.0]
    """

    def __init__(self, mode="distribution", every=1, hist=None, **kwargs):
        super().__init__(**kwargs)
        self.tracker = ps.ChangeTracker(mode=mode, every=every, hist=hist)
        self.records = collections.deque(maxlen=1000)
        self._config = {"mode": mode, "every": every, "hist": hist}
        self.is_paused = False

    def compute_output_shape(self, input_shape):
        """Return the shape of x."""
        return tuple(input_shape)

    def record(self, x):
        """Compare an array with the batch before."""
        if self.is_paused:
            return
        before = self.tracker.last
        found = self.tracker.update(x)
        if found is not before:
            self.records.append(found)

    def call(self, x):
        """Return x, after it has been recorded."""
        backend = keras.backend.backend()
        if backend == "tensorflow":
            return self._call_tensorflow(x)
        if backend == "jax":
            import jax

            jax.debug.callback(lambda x: self.record(np.asarray(x)), x)
            return x
        self.record(keras.ops.convert_to_numpy(x))
        return x

    def _call_tensorflow(self, x):
        from pyscatter.adapters import _tensorflow_tensors as tensors

        def record(x):
            self.record(x)
            return [np.True_]

        tf = tensors.tf
        x = tf.convert_to_tensor(x)
        if tf.executing_eagerly():
            record(np.asarray(x))
            return x
        tensors.guard().is_initialized()
        with tf.control_dependencies([tf.numpy_function(record, [x], [tf.bool])[0]]):
            return tf.identity(x)

    def get_config(self):
        """Return what makes the same layer."""
        return {**super().get_config(), **self._config}


class ChangeTrackerCallback(keras.callbacks.Callback):
    """Follow weights, optimizer state and a probe batch's activations under `fit`.

    Parameters
    ----------
    every : int, optional
        Measure after so many batches, counted over epochs.
    what : sequence of str, optional
        Any of "weights", "optimizer" and "probe".
    probe : array or list of arrays, optional
        A fixed batch of inputs; without one "probe" is nothing.
    writer : object, optional
        Receives the numbers and histograms: see `pyscatter.adapters.tensorboard`.
    stop_on_nonfinite : bool, optional
        Stop training where a NaN or an infinity is found.
    prefix : str, optional
        Of the keys in logs, history and the writer.

    Attributes
    ----------
    history : dict of list
        "batch", and keys such as "change/weights/dense/kernel/mean_abs", for each
        measurement: plain Python numbers, NaN in the first one.
    trackers : pyscatter.TrackerSet
        What measures.

    Raises
    ------
    ValueError
        An unknown name in `what`; `every` is no positive number.

    Notes
    -----
    The last measurement's numbers are put into the logs at the end of an epoch, where
    Keras' History finds them. The first measurement is made before the first batch.
    *Determinism*: the bits of a record depend neither on threads nor on the CPU.
    *Cost*: a copy of what is followed, and one pass over it for each measurement; with
    a writer, the writer's own work for each number; on JAX also the transfer of the
    model's state.

    See Also
    --------
    ChangeMonitor, pyscatter.TrackerSet
    """

    def __init__(
        self,
        every=100,
        what=KINDS,
        probe=None,
        writer=None,
        stop_on_nonfinite=False,
        prefix="change",
    ):
        super().__init__()
        unknown = set(what) - set(KINDS)
        if unknown or isinstance(what, str):
            raise ValueError(f"what={what!r}; expected a tuple of some of {KINDS}")
        if not isinstance(every, int) or every < 1:
            raise ValueError(f"every={every!r}; expected a positive number")
        self.every, self.what, self.probe = every, tuple(what), probe
        self.writer, self.stop_on_nonfinite = writer, stop_on_nonfinite
        self.prefix = prefix
        self.trackers = ps.TrackerSet(hist=None if writer is None else "tb1")
        self.history = {"batch": []}
        self._batches, self._newest = 0, {}
        self._watched = None

    def on_train_begin(self, logs=None):
        """Measure before the first batch."""
        self._watched = None
        self._measure()

    def on_train_batch_end(self, batch, logs=None):
        """Measure when it is time."""
        self._batches += 1
        if self._batches % self.every == 0:
            self._measure()

    def on_epoch_end(self, epoch, logs=None):
        """Put the newest numbers into the logs."""
        if logs is not None:
            logs.update(self._newest)

    def _measure(self):
        """Compare everything with the measurement before."""
        records = self.trackers.update(dict(self._arrays()))
        self._newest = {
            f"{self.prefix}/{name}/{field}": getattr(record, field)
            for name, record in records.items()
            for field in FIELDS
        }
        self.history["batch"].append(self._batches)
        for key, value in self._newest.items():
            self.history.setdefault(key, []).append(value)
        if self.writer is not None:
            for name, record in records.items():
                tag = f"{self.prefix}/{name}"
                log_change(self.writer, record, self._batches, tag=tag, fields=FIELDS)
        if self.stop_on_nonfinite and any(map(_is_nonfinite, records.values())):
            self.model.stop_training = True

    def _arrays(self):
        """Yield names and arrays of what is followed."""
        model = self.model
        if "weights" in self.what:
            yield from _floats("weights", model.weights)
        if "optimizer" in self.what and model.optimizer is not None:
            yield from _floats("optimizer", model.optimizer.variables)
        if "probe" in self.what and self.probe is not None:
            names, watched = self._outputs(model)
            with _paused(model):
                found = watched(self.probe, training=False)
            found = found if isinstance(found, (list, tuple)) else [found]
            for name, x in zip(names, found, strict=True):
                yield f"probe/{name}", _read(x)

    def _outputs(self, model):
        """Return names, and a model that gives the activations that they name."""
        if self._watched is None:
            layers = getattr(model, "layers", ()) if model.built else ()
            if not getattr(model, "inputs", None):
                return ["output"], model
            layers = [x for x in layers if not isinstance(x, keras.layers.InputLayer)]
            layers = [x for x in layers if hasattr(x, "output")]
            layers = [x for x in layers if isinstance(x.output, keras.KerasTensor)]
            outputs = [x.output for x in layers]
            inputs = model.inputs if len(model.inputs) > 1 else model.inputs[0]
            watched = keras.Model(inputs, outputs)
            self._watched = [x.name for x in layers], watched
        return self._watched


@contextlib.contextmanager
def _paused(model):
    """Keep a probe batch out of the records of the model's own monitors."""
    monitors = [x for x in model._flatten_layers() if isinstance(x, ChangeMonitor)]
    for monitor in monitors:
        monitor.is_paused = True
    try:
        yield
    finally:
        for monitor in monitors:
            monitor.is_paused = False


def _floats(kind, variables):
    """Yield names and arrays of variables that hold numbers with a fraction."""
    for variable in variables:
        if "float" in keras.backend.standardize_dtype(variable.dtype):
            yield f"{kind}/{variable.path}", _read(variable)


def _read(x):
    """Return an array on the memory of a tensor or variable, to look at at once."""
    x, backend = keras.ops.convert_to_tensor(x), keras.backend.backend()
    if backend == "torch":
        from pyscatter.adapters._torch_tensors import to_array

        return to_array(x.detach().cpu())
    if backend == "tensorflow":
        import tensorflow as tf

        x = tf.convert_to_tensor(x)  # a variable is read; NumPy would copy it
    return np.asarray(x)


def _is_nonfinite(record):
    return record.n_nan + record.n_posinf + record.n_neginf > 0
