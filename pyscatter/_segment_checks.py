"""What the arguments of segment functions must be, each checked in one place.

Every function takes what the caller gave, and returns a plain array or number that the
rest may rely on, or raises the error that says what was wrong and where.
"""

import math
import operator

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from pyscatter import _core
from pyscatter._refusals import index_trouble
from pyscatter._values import as_plain

MODES = ("raise", "drop", "clip", "wrap")
LIMIT = 2**63  # sizes are int64


def as_integers(array, name):
    """Return an array of integers of any width and byte order."""
    result = as_plain(array, name)
    if result.size == 0 and not isinstance(array, (np.ndarray, np.generic)):
        result = result.astype(np.intp)
    if result.dtype.kind in "iu":
        return result
    raise TypeError(f"'{name}' {index_trouble(array, result)}")


def as_mask(where):
    """Return an array of bools of our own: NumPy counts a mask before it uses it."""
    where = as_plain(where, "where")
    if where.dtype.kind != "b":
        raise TypeError(f"'where' has dtype {where.dtype}; expected bool")
    return where.copy()


def as_size(number, name):
    """Return a number of segments, or the like, as an int."""
    if isinstance(number, (bool, np.bool_)) or np.ndim(number):
        raise TypeError(
            f"'{name}' must be an integer, not {type(number).__name__} {number!r}"
        )
    try:
        size = operator.index(number)
    except TypeError:
        raise TypeError(f"'{name}' must be an integer, not {number!r}") from None
    if not 0 <= size < LIMIT:
        raise ValueError(f"{name} is {size}; expected a number from 0 to 2**63 - 1")
    return size


def check_mode(mode):
    """Raise ValueError for a mode that ids do not have."""
    if mode not in MODES:
        raise ValueError(f"unknown mode {mode!r}; choose from {', '.join(MODES)}")


def check_axis(axis, ndim, batch_dims):
    """Return the axis counted from 0; it lies behind the batch axes."""
    if isinstance(axis, (bool, np.bool_)):
        raise TypeError("'axis' must be an integer, not a bool")
    axis = normalize_axis_index(operator.index(axis), ndim)
    if axis < batch_dims:
        raise ValueError(f"axis {axis} is one of the {batch_dims} batch axes")
    return axis


def check_batch(batch_dims, shape, index_shape, name):
    """Return how many leading axes an index shares with the values."""
    if isinstance(batch_dims, (bool, np.bool_)):
        raise TypeError("'batch_dims' must be an integer, not a bool")
    batch_dims = operator.index(batch_dims)
    if not 0 <= batch_dims <= min(len(shape), len(index_shape)):
        raise ValueError(
            f"batch_dims is {batch_dims}; values has {len(shape)} axes and {name} has "
            f"{len(index_shape)}"
        )
    if shape[:batch_dims] != index_shape[:batch_dims]:
        raise ValueError(
            f"{name} has shape {index_shape}; expected {shape[:batch_dims]}, the batch "
            f"axes of values {shape}, in front"
        )
    return batch_dims


def raise_out_of_bounds(index, bad, size, name):
    """Raise the IndexError of the first entry that is bad."""
    position = int(np.argmax(bad))
    value = int(index.reshape(-1)[position])
    hint = '; mode="drop" leaves such ids out' if value < 0 and name == "ids" else ""
    raise IndexError(
        f"index {value} is out of bounds for axis 0 with size {size} (position "
        f"{position} of {index.size} in '{name}'{hint})"
    )


def check_bounds(index, size, name, where=None):
    """Raise IndexError unless 0 <= index < size for all entries that take part."""
    if index.size == 0 or _are_within(index, size):
        return
    bad = ((index < 0) | (index >= size)).reshape(-1)
    if where is not None:
        bad &= where.reshape(-1)
    if bad.any():
        raise_out_of_bounds(index, bad, size, name)


def _are_within(index, size):
    """Is 0 <= index < size? One pass where negatives can be read as huge."""
    itemsize = index.dtype.itemsize
    if index.dtype.kind == "i" and index.dtype.isnative:
        return index.view(f"u{itemsize}").max() < min(size, 2 ** (8 * itemsize - 1))
    return index.min() >= 0 and index.max() < size


def check_rows(index, size, name):
    """Raise IndexError unless all are rows of an axis; negatives count from its end."""
    if not index.size or (index.min() >= -size and index.max() < size):
        return
    check_bounds(index, size, name, (index < -size) | (index >= size))


def size_from(ids, where):
    """Return max id + 1 of the entries that take part."""
    taking = ids if where is None else ids[where]
    size = max(int(taking.max()) + 1, 0) if taking.size else 0
    if size > 2**27 and size > 64 * ids.size:
        raise ValueError(
            f"ids go up to {size - 1} with only {ids.size} entries; pass num_segments "
            "if that is meant"
        )
    return size


def resolve(ids, size, mode, where=None):
    """Return ids of our own within bounds, and which entries take part or None.

    NumPy checks an index before it uses it, so nobody else may write to it meanwhile.
    """
    ids = ids.copy()
    if mode == "raise":
        check_bounds(ids, size, "ids", where)
    elif mode == "drop" or not size:
        inside = (ids >= 0) & (ids < size)
        if mode != "drop":
            check_bounds(ids, size, "ids", where)
        where = inside if where is None else inside & where
    elif mode == "clip":
        ids = np.clip(ids, 0, min(size - 1, np.iinfo(ids.dtype).max))
    elif int(ids.max(initial=0)) >= size or int(ids.min(initial=0)) < 0:
        ids = _wrapped(ids, size)
    if where is not None:
        ids = np.where(where, ids, 0)
    return ids.astype(np.intp, copy=False), where


def _wrapped(ids, size):
    if ids.dtype.kind == "u":
        return ids.astype(np.uint64) % np.uint64(size)
    return ids.astype(np.int64) % np.int64(size)


def check_sorted(ids, batch_dims):
    """Raise ValueError where ids decrease within a batch."""
    if ids.size < 2:
        return
    rows = ids.reshape(*ids.shape[:batch_dims], -1)
    falls = rows[..., 1:] < rows[..., :-1]
    if falls.any():
        *batch, at = (int(i) for i in np.argwhere(falls)[0])
        row = rows[tuple(batch)]
        raise ValueError(
            f"assume_sorted: ids fall from {int(row[at])} to {int(row[at + 1])} at "
            f"position {at + 1}"
        )


def _vector(array, name):
    array = as_integers(array, name)
    if array.ndim != 1:
        raise ValueError(f"'{name}' has shape {array.shape}; expected one axis")
    return array


def _raise_entry(name, array, bad, why):
    """Raise the ValueError of the first entry of a vector that is bad."""
    at = int(np.argmax(bad))
    raise ValueError(
        f"{name}[{at}] is {int(array[at])}; {why} (position {at} of {array.size} in "
        f"'{name}')"
    )


def open_offsets(offsets, n):
    """Return offsets as int64 whose ends are right; what lies between is not read."""
    offsets = _vector(offsets, "offsets")
    if not offsets.size or offsets[0] != 0 or offsets[-1] != n:
        return check_offsets(offsets, n)
    return offsets.astype(np.int64, copy=False)


def check_offsets(offsets, n):
    """Return offsets as int64; `n` is the number of entries, or None if unknown."""
    offsets = _vector(offsets, "offsets")
    hint = "; starts= and stops= may leave entries out, overlap, come in any order"
    if not offsets.size:
        raise ValueError(f"offsets is empty; expected at least a 0{hint}")
    falls = offsets[1:] < offsets[:-1]
    if falls.any():
        falls = np.concatenate(([False], falls))
        _raise_entry("offsets", offsets, falls, f"offsets must not decrease{hint}")
    if offsets[0] != 0:
        _raise_entry("offsets", offsets, offsets != 0, f"expected 0{hint}")
    last = int(offsets[-1])
    if last >= LIMIT or (n is not None and last != n):
        bad = np.arange(offsets.size) == offsets.size - 1
        why = f"the last must be {n}, the number of entries{hint}"
        _raise_entry("offsets", offsets, bad, why)
    return offsets.astype(np.int64, copy=False)


def check_lengths(lengths, n):
    """Return the offsets that lengths mean, as int64."""
    lengths = _vector(lengths, "lengths")
    if lengths.size and lengths.min() < 0:
        _raise_entry("lengths", lengths, lengths < 0, "lengths must not be negative")
    may_overflow = lengths.size and int(lengths.max()) * lengths.size >= LIMIT
    total = sum(lengths.tolist()) if may_overflow else int(lengths.sum())
    if n is not None and total != n:
        raise ValueError(f"lengths sum to {total}; expected {n}, the number of entries")
    if total >= LIMIT:
        raise ValueError(f"lengths sum to {total}, which does not fit in 64 bits")
    offsets = np.zeros(lengths.size + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:], dtype=np.int64)
    return offsets


def check_ranges(starts, stops, n):
    """Return starts and stops as int64; `n` is None where no values limit them."""
    if starts is None or stops is None:
        missing = "starts" if starts is None else "stops"
        raise TypeError(f"starts and stops go together; {missing} is missing")
    starts, stops = _vector(starts, "starts"), _vector(stops, "stops")
    if starts.shape != stops.shape:
        raise ValueError(
            f"starts has shape {starts.shape} and stops has {stops.shape}; expected "
            "the same"
        )
    limit = LIMIT - 1 if n is None else n
    for name, array in (("starts", starts), ("stops", stops)):
        bad = (array < 0) | (array > limit)
        if bad.any():
            _raise_entry(name, array, bad, f"there are {limit} entries")
    starts = starts.astype(np.int64, copy=False)
    stops = stops.astype(np.int64, copy=False)
    if (stops < starts).any():
        at = int(np.argmax(stops < starts))
        why = f"its start is {int(starts[at])}"
        _raise_entry("stops", stops, stops < starts, why)
    return starts, stops


def check_product(size, rest):
    """Raise ValueError when a result cannot have so many elements."""
    if size * math.prod(rest) * 16 >= LIMIT:
        raise ValueError(
            f"a result of {size} segments with rows of shape {tuple(rest)} is too large"
        )


def as_scalar(value, dtype, name):
    """Return a 0-d array of `dtype`; Python numbers are weak, and range-checked."""
    if value is not None and np.ndim(value):
        raise ValueError(f"{name} has shape {np.shape(value)}; expected a scalar")
    if dtype.kind in "mM" and type(value) is not int:
        value = np.asarray(value).astype(dtype, casting="same_kind")
    result = np.zeros((), dtype)
    try:
        return _core.scatter_where(result, True, value, out=result)
    except (TypeError, OverflowError) as error:
        raise type(error)(f"{name}: {error}") from None
