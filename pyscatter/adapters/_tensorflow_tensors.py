"""Calls on TensorFlow's tensors: at once in eager mode, by numpy_function in a graph.

A graph cannot hold NumPy code, only a callback into this process; shapes and dtypes
that the callback loses are set from the operands'. Gradients are calls of the same
kind, with gradients of their own. A graph with a callback also captures a variable that
nothing tracks: TensorFlow refuses to save it and names the variable, which says why.
"""

import functools

import numpy as np
import tensorflow as tf

from pyscatter.adapters import _results
from pyscatter.adapters._calls import dtype_of, shape_of

GUARD = "pyscatter_calls_python_and_cannot_be_saved_in_a_SavedModel"


def apply(call, operands):
    """Call an operation on tensors, variables, arrays and numbers."""
    tensors = as_tensors(call, operands)

    @tf.custom_gradient
    def function(*tensors):
        return run(call, tensors), functools.partial(gradients, call, tensors)

    return function(*tensors)


def as_tensors(call, operands):
    """Return operands as tensors; numbers take the dtype of the others."""
    kinds = [x.dtype for i, x in enumerate(operands) if hasattr(x, "dtype")]
    numbers = set(call.numbers)
    with_dtype = [
        operands[i].dtype for i in call.numbers if hasattr(operands[i], "dtype")
    ]
    dtype = (with_dtype or kinds or [None])[0]
    return [
        tf.convert_to_tensor(x)
        if hasattr(x, "dtype") or i not in numbers
        else tf.convert_to_tensor(x, dtype)
        for i, x in enumerate(operands)
    ]


def arrays_of(tensors):
    """Return arrays on the memory of eager tensors."""
    return [np.asarray(x) for x in tensors]


@functools.cache
def guard():
    """Return the variable that keeps callbacks out of saved graphs."""
    with tf.init_scope():
        return tf.Variable(False, trainable=False, name=GUARD)


def host(function, tensors, kinds):
    """Call a function of arrays; kinds has (shape or None, dtype) of its results."""
    if tf.executing_eagerly():
        rets = function(*arrays_of(tensors))
        return [tf.convert_to_tensor(x) for x in rets]
    guard().is_initialized()
    rets = tf.numpy_function(
        function, tensors, [tf.as_dtype(d) for _, d in kinds], stateful=False
    )
    for ret, (shape, _) in zip(rets, kinds, strict=True):
        if shape is not None:
            ret.set_shape(shape)
    return rets


def static(x):
    """Return a tensor's shape as a tuple, None where its rank is unknown."""
    return None if x.shape.rank is None else tuple(x.shape.as_list())


def run(call, tensors):
    """Return the result of a call."""
    if tf.executing_eagerly():
        arrays = arrays_of(tensors)
        room = _results.room_for(call, arrays)
        ret = call.run(arrays, room)
        return taken(ret) if ret is room else tf.convert_to_tensor(ret)
    shapes = [static(x) for x in tensors]
    shape = None if None in shapes else shape_of(call, shapes)
    dtype = dtype_of(call, [x.dtype.as_numpy_dtype for x in tensors])
    kinds = [(shape, dtype)]
    return host(lambda *arrays: [_results.run(call, arrays)], tensors, kinds)[0]


def taken(x):
    """Return a tensor on the memory of a result that is nobody else's."""
    if x.dtype.kind in "iufc":
        return tf.experimental.dlpack.from_dlpack(x.__dlpack__())
    return tf.convert_to_tensor(x)


def gradients(call, tensors, g):
    """Return the gradients of all operands: None for indices and masks."""
    grads = [None] * len(tensors)
    if has_rows(call):
        grads[0] = rows(tensors, g)
        return grads
    wanted = [i for i in call.numbers if tensors[i].dtype.is_floating]
    wanted += [i for i in call.numbers if tensors[i].dtype.is_complex]
    for i, grad in zip(wanted, pull(call, wanted, g, tensors), strict=True):
        grads[i] = grad
    return grads


def has_rows(call):
    """Does the gradient consist of rows, which TensorFlow keeps as IndexedSlices?"""
    options = call.options
    is_whole = call.name == "gather" and call.names == ("a", "index")
    return is_whole and (
        options.get("axis", 0) == 0
        and not options.get("batch_dims")
        and options.get("mode", "raise") == "raise"
    )


def rows(tensors, g):
    """Return the gradient of rows that were gathered: duplicates stay."""
    a, index = tensors
    shape = tf.shape(a, out_type=tf.int64)
    index = tf.reshape(tf.cast(index, tf.int64), [-1])
    index = tf.where(index < 0, index + shape[0], index)
    values = tf.reshape(g, tf.concat([[-1], shape[1:]], 0))
    return tf.IndexedSlices(values, index, tf.cast(shape, tf.int64))


def pull(call, wanted, g, tensors):
    """Return wanted gradients, which have gradients themselves."""

    @tf.custom_gradient
    def function(g, *tensors):
        grads = host(
            lambda g, *arrays: call.pull(arrays, g, tuple(wanted)),
            [g, *tensors],
            [(static(tensors[i]), g.dtype) for i in wanted],
        )
        return grads, functools.partial(seconds, call, wanted, g, tensors)

    return function(g, *tensors)


def seconds(call, wanted, g, tensors, *sources):
    """Return what cotangents of gradients give the cotangent and the operands."""
    count = len(sources)

    def forward(*arrays):
        moves = dict(zip(wanted, arrays[:count], strict=True))
        return [call.push(arrays[count:], [moves.get(i) for i in call.numbers])]

    def back(g, *arrays):
        moves = dict(zip(wanted, arrays[:count], strict=True))
        sources = [moves.get(i) for i in call.numbers]
        return call.second(arrays[count:], g, sources)

    moved = host(forward, [*sources, *tensors], [(static(g), g.dtype)])[0]
    grads = [None] * len(tensors)
    if not call.is_piecewise_linear() and len(call.numbers) > 1:
        call.require_product()
        kinds = [(static(tensors[i]), tensors[i].dtype) for i in call.numbers]
        found = host(back, [g, *sources, *tensors], kinds)
        for i, grad in zip(call.numbers, found, strict=True):
            grads[i] = grad
    elif not call.is_piecewise_linear():
        call.require_product()
    return moved, *grads
