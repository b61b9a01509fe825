"""ONNX's node cases for scatter, gather, conditions, from its package's generators.

Each generator module registers models of one node with inputs and expected outputs.
The modules are imported one by one: importing all of them needs packages that have
nothing to do with indexed updates.
"""

import importlib
import importlib.util

import numpy as np
from onnx import helper
from onnx.backend.test.case import node

import pyscatter as ps

GENERATORS = (
    "scatternd scatterelements scatter gathernd gatherelements gather tensorscatter "
    "where compress nonzero"
).split()


def _scatter_nd(data, indices, updates, *, reduction="none"):
    return ps.scatter_nd(data, indices, updates, op=_op(reduction))


def _scatter_elements(data, indices, updates, *, axis=0, reduction="none"):
    return ps.scatter_along_axis(data, indices, updates, axis, op=_op(reduction))


def _tensor_scatter(cache, update, start=None, *, axis=-2, mode="linear"):
    """Write a block of new entries into each batch row of a cache, from its start on.

    The leading axes are batch axes of scatter_nd, so the tuples have one number.
    """
    axis %= cache.ndim
    start = np.zeros(len(cache), np.int64) if start is None else start
    position = start[:, None] + np.arange(update.shape[axis])
    if mode == "circular":
        position %= cache.shape[axis]
    position = position.reshape(len(cache), *(1,) * (axis - 1), -1, 1)
    position = np.broadcast_to(position, update.shape[: axis + 1] + (1,))
    return ps.scatter_nd(cache, position, update, batch_dims=axis)


def _compress(data, condition, *, axis=None):
    """Without an axis the array is flat; what a short condition lacks is false."""
    if axis is None:
        data, axis = data.reshape(-1), 0
    mask = np.zeros(data.shape[axis], bool)
    mask[: len(condition)] = condition
    return ps.gather_where(data, mask, axis)


OPERATORS = {
    "ScatterND": _scatter_nd,
    "ScatterElements": _scatter_elements,
    "Scatter": _scatter_elements,
    "GatherND": lambda data, indices, batch_dims=0: ps.gather_nd(
        data, indices, batch_dims=batch_dims
    ),
    "GatherElements": lambda data, indices, axis=0: ps.gather_along_axis(
        data, indices, axis
    ),
    "Gather": lambda data, indices, axis=0: ps.gather(data, indices, axis=axis),
    "TensorScatter": _tensor_scatter,
    "Where": ps.where,
    "Compress": _compress,
    "NonZero": lambda data: np.stack(ps.nonzero(data)),
}


def _op(reduction):
    return "set" if reduction == "none" else reduction


def _attributes(graph_node):
    values = {a.name: helper.get_attribute_value(a) for a in graph_node.attribute}
    return {k: v.decode() if isinstance(v, bytes) else v for k, v in values.items()}


def cases():
    """Return (name, operator, attributes, inputs, expected) of every case we answer."""
    for name in GENERATORS:
        if importlib.util.find_spec(f"{node.__name__}.{name}"):
            importlib.import_module(f"{node.__name__}.{name}")
    found = []
    for case in node._NodeTestCases:
        nodes = case.model.graph.node
        if len(nodes) == 1 and nodes[0].op_type in OPERATORS:
            for inputs, outputs in case.data_sets:
                attributes = _attributes(nodes[0])
                found.append((case.name, nodes[0].op_type, attributes, inputs, outputs))
    return found


def run(operator, attributes, inputs):
    """Answer one node by pyscatter."""
    return OPERATORS[operator](*inputs, **attributes)
