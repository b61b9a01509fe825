"""Where the entries of a call go, the slow way.

Each addressing (axis, along, nd, at) becomes one list: for every element of the values
(or of a gather's result), in C order, the element of the target that it meets, or None
where mode= or where= leaves it out. Scatter and gather then are loops over that list,
and all index checking happens here, before anything is written.
"""

import math
import operator
from typing import NamedTuple

import numpy as np

BATCH_DIMS = "<batch_dims>"  # default of axis=: the number of batch axes
SCATTER_MODES = ("raise", "drop", "clip", "wrap")
GATHER_MODES = ("raise", "drop", "clip", "wrap", "fill")


class Places(NamedTuple):
    """The shape of the values, and for each of them a target element or None."""

    shape: tuple
    targets: list


def refuse_masked(*arrays):
    """Raise TypeError for masked arrays, whose mask would be lost."""
    for array in arrays:
        if isinstance(array, np.ma.MaskedArray):
            raise TypeError("masked arrays are not accepted (use .filled())")


def check_mode(mode, choices):
    """Raise ValueError unless `mode` is one of `choices`."""
    if mode not in choices:
        raise ValueError(f"unknown mode {mode!r}; choose one of {', '.join(choices)}")


def as_index(index, name="index", error=TypeError):
    """Return `index` as an array of integers; an empty list is one, too."""
    refuse_masked(index)
    array = np.asarray(index)
    if array.size == 0 and isinstance(index, (list, tuple)):
        return array.astype(np.intp)
    if array.dtype.kind not in "iu":
        raise error(f"{name!r} has dtype {array.dtype}; expected integers")
    return array


def as_bools(mask, name):
    """Return a mask as an array of bools; an empty list is one, too."""
    refuse_masked(mask)
    array = np.asarray(mask)
    if array.size == 0 and isinstance(mask, (list, tuple)):
        return array.astype(bool)
    if array.dtype != np.bool_:
        raise TypeError(f"{name} has dtype {array.dtype}; expected bool")
    return array


def as_where(where, shape):
    """Return `where` as a flat list of bools, one per index entry."""
    if where is None:
        return [True] * math.prod(shape)
    return np.broadcast_to(as_bools(where, "where"), shape).ravel().tolist()


def out_of_bounds(value, axis, size, position, total, name):
    """Make the IndexError of the first index that is out of bounds."""
    return IndexError(
        f"index {value} is out of bounds for axis {axis} with size {size} "
        f"(position {position} of {total} in {name!r})"
    )


def settle(value, size, mode):
    """Return the position that `value` means; None: it takes no part; -1: an error.

    Only mode="raise" counts negative numbers from the end.
    """
    if mode == "raise":
        value = value + size if value < 0 else value
        return value if 0 <= value < size else -1
    if mode == "clip":
        return min(max(value, 0), size - 1)
    if mode == "wrap":
        return value % size if size else -1
    return value if 0 <= value < size else None


def settle_all(index, size, axis, mode, parts, name):
    """Settle every entry of `index`; return an object array of the same shape."""
    found = np.empty(index.size, object)
    values = index.ravel().tolist()
    for position, (value, part) in enumerate(zip(values, parts, strict=True)):
        found[position] = settle(value, size, mode) if part else None
        if found[position] == -1:
            raise out_of_bounds(value, axis, size, position, index.size, name)
    return found.reshape(index.shape)


def element_number(position, shape):
    """Return the number, in C order, of the element at `position`."""
    number = 0
    for i, size in zip(position, shape, strict=True):
        number = number * size + i
    return number


def target_of(before, settled, after, shape):
    """Return the element number of before + settled + after; None if left out."""
    if any(i is None for i in settled):
        return None
    return element_number((*before, *settled, *after), shape)


def check_batch(shape, index_shape, batch_dims):
    """Return batch_dims as an int; ValueError unless the batch axes agree."""
    batch = operator.index(batch_dims)
    if batch < 0 or batch > min(len(shape), len(index_shape)):
        raise ValueError(f"batch_dims={batch} does not fit the number of axes")
    if shape[:batch] != index_shape[:batch]:
        raise ValueError(f"batch axes differ: {shape[:batch]}, {index_shape[:batch]}")
    return batch


def check_axis(axis, ndim):
    """Return `axis` counted from the front; AxisError if there is no such axis."""
    axis = operator.index(axis)
    if not -ndim <= axis < ndim:
        raise np.exceptions.AxisError(axis, ndim)
    return axis % ndim


def axis_places(shape, index, axis, batch_dims, where, mode):
    """One axis: index of any shape; the axes around it come along whole."""
    index = as_index(index)
    batch = check_batch(shape, index.shape, batch_dims)
    if axis is None and batch:
        raise ValueError("axis=None cannot be combined with batch_dims")
    if axis is None:
        shape, axis = (math.prod(shape),), 0
    axis = check_axis(batch if axis is BATCH_DIMS else axis, len(shape))
    if axis < batch:
        raise ValueError(f"axis {axis} is one of the {batch} batch axes")
    parts = as_where(where, index.shape)
    settled = settle_all(index, shape[axis], axis, mode, parts, "index")

    end = axis + index.ndim - batch
    values_shape = shape[:axis] + index.shape[batch:] + shape[axis + 1 :]
    targets = []
    for here in np.ndindex(values_shape):
        before, entry, after = here[:axis], here[axis:end], here[end:]
        i = settled[before[:batch] + entry]
        targets.append(target_of(before, [i], after, shape))
    return Places(values_shape, targets)


def common_shape(*shapes):
    """Return the shape that all broadcast to; NumPy's function stops at 32 axes."""
    ndim = max((len(shape) for shape in shapes), default=0)
    result = [1] * ndim
    for shape in shapes:
        for k, size in enumerate(shape, ndim - len(shape)):
            if size != 1 and result[k] not in (1, size):
                raise ValueError(f"shapes {shapes} cannot be broadcast together")
            result[k] = result[k] if size == 1 else size
    return tuple(result)


def broadcast_position(here, shape):
    """Return `here` inside an array of `shape`, whose axes of length 1 repeat."""
    return tuple(0 if size == 1 else i for i, size in zip(here, shape, strict=True))


def along_places(shape, index, axis, where, mode):
    """Element by element along an axis; the other axes broadcast both ways."""
    index = as_index(index)
    if axis is None:
        shape, axis = (math.prod(shape),), 0
    if index.ndim != len(shape):
        raise ValueError(f"index has {index.ndim} axes; expected {len(shape)}")
    axis = check_axis(axis, len(shape))
    around = common_shape(
        shape[:axis] + (1,) + shape[axis + 1 :],
        index.shape[:axis] + (1,) + index.shape[axis + 1 :],
    )
    parts = as_where(where, index.shape)
    settled = settle_all(index, shape[axis], axis, mode, parts, "index")

    values_shape = around[:axis] + (index.shape[axis],) + around[axis + 1 :]
    targets = []
    for here in np.ndindex(values_shape):
        i = settled[broadcast_position(here, index.shape)]
        home = broadcast_position(here, shape)
        targets.append(target_of(home[:axis], [i], home[axis + 1 :], shape))
    return Places(values_shape, targets)


def nd_places(shape, indices, batch_dims, where, mode):
    """Tuples in the last axis of `indices`, each naming an element or a sub-array."""
    indices = as_index(indices, "indices")
    if indices.ndim == 0:
        raise ValueError("indices must have at least one axis, the tuples")
    batch = check_batch(shape, indices.shape[:-1], batch_dims)
    depth = indices.shape[-1]
    if batch + depth > len(shape):
        raise ValueError(
            f"tuples of {depth} do not fit {len(shape) - batch} axes; "
            "did you mean indices[..., None]?"
        )
    entries = indices.shape[:-1]
    parts = as_where(where, entries)
    settled = np.empty(indices.shape, object)
    for number, entry in enumerate(np.ndindex(entries)):
        for k in range(depth):
            value, size = int(indices[entry + (k,)]), shape[batch + k]
            settled[entry + (k,)] = settle(value, size, mode) if parts[number] else None
            if settled[entry + (k,)] == -1:
                total = math.prod(entries)
                raise out_of_bounds(value, batch + k, size, number, total, "indices")

    values_shape = entries + shape[batch + depth :]
    targets = []
    for here in np.ndindex(values_shape):
        entry, after = here[: len(entries)], here[len(entries) :]
        left_out = not parts[element_number(entry, entries)]
        chosen = [None] if left_out else settled[entry].tolist()
        targets.append(target_of(here[:batch], chosen, after, shape))
    return Places(values_shape, targets)


class Basic(NamedTuple):
    """A slice or new axis of an index expression: one axis of the result."""

    axis: int | None
    steps: range


class Advanced(NamedTuple):
    """An integer, index array or one axis of a mask: broadcasts with its peers."""

    axis: int | None
    index: np.ndarray


def convert_item(item):
    """Return an item of an index expression as slice, None, Ellipsis or array."""
    if item is None or item is Ellipsis or isinstance(item, slice):
        return item
    refuse_masked(item)
    array = np.asarray(item)
    if array.dtype == np.bool_:
        return array
    return as_index(item, "indices", IndexError)


def axes_taken(item):
    """Return the number of target axes that an item of an expression consumes."""
    if item is None or item is Ellipsis:
        return 0
    if isinstance(item, np.ndarray) and item.dtype == np.bool_:
        return item.ndim
    return 1


def mask_parts(mask, axis, shape):
    """Return the index arrays that a mask over axes from `axis` on stands for."""
    if mask.ndim == 0:
        return [Advanced(None, np.zeros(int(mask), np.intp))]
    if mask.shape != shape[axis : axis + mask.ndim]:
        raise IndexError(f"boolean index did not match: {mask.shape} against {shape}")
    return [Advanced(axis + k, part) for k, part in enumerate(mask.nonzero())]


def parse_expression(indices, shape):
    """Return Basic and Advanced parts in order; "gap" where an Ellipsis stood."""
    items = list(indices) if isinstance(indices, tuple) else [indices]
    items = [convert_item(item) for item in items]
    ellipses = sum(item is Ellipsis for item in items)
    spare = len(shape) - sum(axes_taken(item) for item in items)
    if ellipses > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if spare < 0:
        raise IndexError(f"too many indices for an array with {len(shape)} axes")
    if ellipses == 0:
        items.append(Ellipsis)
    parts = []
    axis = 0
    for item in items:
        if item is Ellipsis:
            rest = range(axis, axis + spare)
            parts += ["gap", *(Basic(k, range(shape[k])) for k in rest)]
            axis += spare
        elif item is None:
            parts.append(Basic(None, range(1)))
        elif isinstance(item, slice):
            parts.append(Basic(axis, range(*item.indices(shape[axis]))))
        elif item.dtype == np.bool_:
            parts += mask_parts(item, axis, shape)
        else:
            parts.append(Advanced(axis, item))
        axis += 0 if item is Ellipsis else axes_taken(item)
    return parts


def entry_start(parts):
    """Return where the axes of the index arrays go among the result's axes.

    NumPy's rule: in the place of the first of them, or in front of everything when a
    slice, new axis or Ellipsis stands between two of them.
    """
    numbers = [n for n, part in enumerate(parts) if isinstance(part, Advanced)]
    if not numbers or numbers[-1] - numbers[0] + 1 != len(numbers):
        return 0
    return sum(isinstance(part, Basic) for part in parts[: numbers[0]])


def settle_entries(advanced, entries, shape, where, mode):
    """Return {entry: positions on the advanced axes}, None in it where left out."""
    parts = as_where(where, entries)
    arrays = [np.broadcast_to(part.index, entries) for part in advanced]
    settled = {}
    for number, entry in enumerate(np.ndindex(entries)):
        found = []
        for (axis, _), array in zip(advanced, arrays, strict=True):
            value, size = int(array[entry]), 1 if axis is None else shape[axis]
            found.append(settle(value, size, mode) if parts[number] else None)
            if found[-1] == -1:
                total = math.prod(entries)
                raise out_of_bounds(value, axis, size, number, total, "indices")
        settled[entry] = found if parts[number] else None
    return settled


def at_places(shape, indices, where, mode):
    """Any NumPy index expression: slices, None, Ellipsis, integers, arrays, masks."""
    parts = parse_expression(indices, shape)
    basic = [part for part in parts if isinstance(part, Basic)]
    advanced = [part for part in parts if isinstance(part, Advanced)]
    try:
        entries = common_shape(*(part.index.shape for part in advanced))
    except ValueError as error:
        raise IndexError(f"shape mismatch: {error}") from None
    settled = settle_entries(advanced, entries, shape, where, mode)

    start, end = entry_start(parts), entry_start(parts) + len(entries)
    around = tuple(len(part.steps) for part in basic)
    values_shape = around[:start] + entries + around[start:]
    targets = []
    for here in np.ndindex(values_shape):
        found = settled[here[start:end]]
        if found is None or None in found:
            targets.append(None)
            continue
        position = dict(zip((part.axis for part in advanced), found, strict=True))
        for part, i in zip(basic, here[:start] + here[end:], strict=True):
            position[part.axis] = part.steps[i]
        position.pop(None, None)
        targets.append(element_number([position[k] for k in sorted(position)], shape))
    return Places(values_shape, targets)
