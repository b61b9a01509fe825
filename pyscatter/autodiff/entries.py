"""Rules of what gives each entry something back, and of counting with weights."""

import numpy as np

from pyscatter import _core
from pyscatter.autodiff.layouts import layout
from pyscatter.autodiff.parts import unbroadcast

WAYS = ("ids", "offsets", "lengths")


def sums(call, x):
    """Return for each entry the sum of x over its segment."""
    it = call.once(layout)
    if call.get("ids") is None:
        size = len(np.asarray(call.get("offsets", call.get("lengths"))))
    elif hasattr(it.at.index, "n_dropped"):
        size = it.at.index.size
    else:
        size = 1 + int(np.max(it.at.index, initial=0))
    ndim = len(
        it.at.index.shape if hasattr(it.at.index, "shape") else np.shape(it.at.index)
    )
    ends = it.axis + ndim - it.batch_dims
    shape = x.shape[: it.axis] + (size,) + x.shape[ends:]
    return it.at.gather(it.at.scatter(np.zeros(shape, x.dtype), x))


def softmax_back(call, g):
    """Softmax: y (g - sum of g y)."""
    it, y = call.once(layout), call.out
    y, g = (x.reshape(it.values.shape) for x in (y, g))
    return (y * (g - sums(call, g * y))).reshape(call.out.shape)


def log_softmax_back(call, g):
    """Log-softmax: g - y times the sum of g."""
    it = call.once(layout)
    y, g = powers(call.out).reshape(it.values.shape), g.reshape(it.values.shape)
    return (g - y * sums(call, g)).reshape(call.out.shape)


def powers(x):
    wide = np.ascontiguousarray(x, np.float64)
    return _core.elementary("exp", wide).reshape(x.shape)


def softmax_forward(call, tangents):
    """Softmax: y (dx - sum of y dx), which is its own transpose."""
    return softmax_back(call, tangents[0])


def log_softmax_forward(call, tangents):
    """Log-softmax: dx - sum of y dx."""
    it = call.once(layout)
    y = powers(call.out).reshape(it.values.shape)
    dx = tangents[0].reshape(y.shape)
    return (dx - sums(call, y * dx)).reshape(call.out.shape)


def expand_back(call, g):
    """Add up what the entries of a segment have."""
    options = {name: call.get(name) for name in WAYS if call.get(name) is not None}
    axis = call.get("axis", 0)
    if "ids" in options:
        options["num_segments"] = np.shape(call.get("g"))[axis]
    return _core.segment_reduce(g, axis=axis, dtype=g.dtype, **options)


def expand_forward(call, tangents):
    """Give each entry the tangent of its segment."""
    options = {name: call.get(name) for name in WAYS if call.get(name) is not None}
    return _core.segment_expand(tangents[0], axis=call.get("axis", 0), **options)


def counted(call):
    """Return (x, axis, where) with an axis for each of a weight's."""
    x = np.asarray(call.get("x"))
    x = x if x.size else x.astype(np.intp)  # an empty list is one of integers
    rest = (1,) * (call.out.ndim - x.ndim)
    axis = call.get("axis")
    axis = 0 if axis is None else int(axis) % x.ndim
    where = call.get("where")
    if where is not None:
        where = np.broadcast_to(where, x.shape).reshape(x.shape + rest)
    return x.reshape(x.shape + rest), axis, where


def weights_back(call, g):
    """Give each weight the cotangent of its number's count."""
    x, axis, where = counted(call)
    options = {} if where is None else {"where": where}
    made = _core.gather_along_axis(g, x, axis, **options)
    return unbroadcast(made, np.shape(call.get("weights")))


def weights_forward(call, tangents):
    """Count with tangents for weights."""
    options = call.options_of("minlength", "axis", "where")
    return _core.bincount(call.get("x"), tangents[0], **options)
