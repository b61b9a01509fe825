"""Rules of gathers, and the addresses that scatters share with them."""

import operator

import numpy as np

from pyscatter import _core
from pyscatter.autodiff.parts import Address, put_masked, take_masked
from pyscatter.autodiff.row_sparse import RowSparse
from pyscatter.plan import Plan


def _options(call, *names):
    """Return those of these options that were given, in words that scatters know."""
    args = call.args
    if len(args) == 2:  # the array and its index
        return {}
    options = {name: args[name] for name in (*names, "where", "mode") if name in args}
    if options.get("mode") == "fill":
        options["mode"] = "drop"
    return options


def _own_axis(call, options):
    """Return the axes that an index on one axis tells apart, batch axes included."""
    if not options:
        return (0,)
    batch = operator.index(options.get("batch_dims", 0))
    axis = options.get("axis", batch)
    if axis is None:
        return None
    axis = operator.index(axis)
    ndim = np.ndim(call.get("a"))
    return (*range(batch), axis + ndim if axis < 0 else axis)


def by_axis(call):
    """Return the address of an index on one axis."""
    options = _options(call, "axis", "batch_dims")
    own = _own_axis(call, options)
    return Address(_core.gather, _core.scatter, call.get("index"), options, own)


def along_axis(call):
    """Return the address of an index for each element along an axis."""
    take, put = _core.gather_along_axis, _core.scatter_along_axis
    return Address(take, put, call.get("index"), _options(call, "axis"))


def by_tuples(call):
    """Return the address of index tuples."""
    options = _options(call, "batch_dims")
    indices = np.asarray(call.get("indices"))
    depth = indices.shape[-1] if indices.ndim else 1
    own = tuple(range(operator.index(options.get("batch_dims", 0)) + depth))
    return Address(_core.gather_nd, _core.scatter_nd, indices, options, own)


def by_expression(call):
    """Return the address of an index expression."""
    take, put = _core.gather_at, _core.scatter_at
    return Address(take, put, call.get("indices"), _options(call))


def by_mask(call):
    """Return the address of a mask; of the trues alone, where values are packed."""
    packed = {"packed": bool(call.get("packed", False))}
    mask = np.asarray(call.get("mask"))
    if mask.size == 0:
        mask = mask.astype(bool)
    return Address(take_masked, put_masked, mask, packed)


def by_packed_mask(call):
    """Return the address of what `gather_where` takes."""
    axis = call.get("axis")
    mask = np.asarray(call.get("mask"))
    if mask.size == 0:
        mask = mask.astype(bool)
    if axis is None:
        return Address(take_masked, put_masked, mask, {"packed": True})
    places = _core.flatnonzero(mask)
    return Address(_core.gather, _core.scatter, places, {"axis": axis})


class Scattered:
    """A gradient that is a scatter-add: dense, into a buffer, or row by row."""

    __slots__ = ("address", "g", "shape")

    def __init__(self, address, g, shape):
        self.address = address
        self.g = g
        self.shape = shape

    def dense(self):
        """Return it as a new array."""
        return self.add_to(np.zeros(self.shape, self.g.dtype))

    def add_to(self, buffer):
        """Add it to an array in place; no other array of that size is made."""
        at = self.address
        return at.put(buffer, at.index, self.g, op="add", out=buffer, **at.options)

    def sparse(self):
        """Return it row-sparse, or None where it does not consist of rows."""
        at = self.address
        if at.own_axes != (0,) or not self.shape:
            return None
        if at.take is _core.gather:
            index = at.index
        elif at.take is _core.gather_nd and at.index.ndim > 1:
            index = at.index[..., 0]
        else:
            return None
        rows, values = flat_rows(index, self.g, self.shape, at.options)
        return RowSparse._of(rows, values, self.shape)


class MaskScattered(Scattered):
    """The same under a mask, whose scatter names its options itself."""

    __slots__ = ()

    def add_to(self, buffer):
        """Add it to an array in place."""
        at = self.address
        packed = at.options.get("packed", False)
        put = _core.scatter_where
        return put(buffer, at.index, self.g, op="add", packed=packed, out=buffer)


def resolved(index, size, options):
    """Return rows from 0 that entries name, and which entries name one (None: all)."""
    if isinstance(index, Plan):
        mode, index = index.mode, _core.plan_index(index)
        mode = "drop" if mode == "drop" else "raise"
    else:
        mode, index = options.get("mode", "raise"), np.asarray(index)
    index = index.astype(np.intp, copy=False)
    if mode == "raise":
        index = np.where(index < 0, index + size, index)
    elif mode == "clip":
        index = np.clip(index, 0, size - 1)
    elif mode == "wrap":
        index = index % size
    found = options.get("where")
    if found is not None:
        found = np.broadcast_to(found, index.shape)
    if mode in ("drop", "fill"):
        inside = (index >= 0) & (index < size)
        found = inside if found is None else found & inside
    return index, found


def flat_rows(index, g, shape, options):
    """Return (rows, values) of a scatter-add of `g` along the first axis."""
    rows, found = resolved(index, shape[0], options)
    rows, values = rows.reshape(-1), g.reshape((rows.size, *shape[1:]))
    if found is None:
        return rows, values
    found = found.reshape(-1)
    return rows[found], values[found]


def gather_vjp(address):
    """Return the rule of a gather: its cotangent goes back to where it came from."""

    def rule(call, g):
        at, shape = address(call), np.shape(call.get("a"))
        if at.take is take_masked:
            return MaskScattered(at, g, shape)
        return Scattered(at, g, shape)

    return rule


def gather_jvp(address):
    """Return the rule of a gather's tangent: gathered alike, zero where filled."""

    def rule(call, tangents):
        (tangent,) = tangents
        return address(call).gather(tangent)

    return rule
