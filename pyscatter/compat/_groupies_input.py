"""numpy-groupies' ways to say groups, brought to one: a line of ids, a line of values.

Labels may be a line, rows of coordinates, or labels along an axis of the values. The
shape that the result takes in the end is kept beside the lines.
"""

from typing import NamedTuple

import numpy as np

from pyscatter.compat._groupies_names import POSITIONS, plain_name

NEGATIVE = "negative indices not supported"
TOO_LARGE = "one or more indices are too large for size {}"


class Labels(NamedTuple):
    """One call in flat form."""

    ids: np.ndarray
    values: object  # a line as long as ids, or one number for all of them
    size: int | None  # groups; None: the largest id and one
    shape: tuple | None = None  # of the result, if it is no line
    along: tuple | None = None  # (shape of the values, axis), to unravel positions


def is_number(a):
    """Is it one value instead of a line of them?"""
    return getattr(a, "ndim", None) == 0 or isinstance(a, (int, float, complex))


def as_labels(group_idx, a, size, order, axis, name):
    """Return the Labels of a call."""
    if not isinstance(a, np.ndarray) and not is_number(a):
        a = np.asanyarray(a)
    if len(group_idx) == 0:
        raise ValueError("group_idx must not be empty")
    ids = np.asanyarray(group_idx)
    if ids.dtype.kind not in "iu":
        raise TypeError("group_idx must be of integer type")
    if axis is not None:
        return labels_along(ids, a, size, order, axis, name)
    if getattr(a, "ndim", 0) > 1:
        raise ValueError(
            "a must be scalar or 1 dimensional, use .ravel to flatten. "
            "Alternatively specify axis."
        )
    shape = None
    if ids.ndim > 1:
        ids, shape = from_coordinates(ids, size, order)
        size = int(np.prod(shape))
    elif size is not None and not np.isscalar(size):
        raise ValueError("output size must be scalar or None")
    if not is_number(a) and len(a) != ids.size:
        raise ValueError(
            "group_idx and a must be of the same length, or a can be scalar"
        )
    return Labels(ids, a, size, shape)


def from_coordinates(ids, size, order):
    """Return flat ids and the shape of the groups, for one row of ids per axis."""
    if np.any(ids < 0):
        raise ValueError(NEGATIVE)
    if size is None:
        size = ids.max(axis=1) + 1
    elif np.isscalar(size):
        raise ValueError(f"output size must be of length {len(ids)}")
    elif len(size) != len(ids):
        raise ValueError(
            f"{len(size)} sizes given, but {len(ids)} output dimensions specified"
        )
    shape = tuple(int(length) for length in size)
    return np.ravel_multi_index(tuple(ids), shape, order=order), shape


def labels_along(ids, a, size, order, axis, name):
    """Return the Labels of a call that groups one axis; the others stay."""
    ndim = getattr(a, "ndim", 0)
    if not -ndim <= axis < ndim:
        raise ValueError("axis arg too large for np.ndim(a)")
    if np.any(ids < 0):
        raise ValueError(NEGATIVE)
    axis %= ndim
    ids = spread_labels(ids, a.shape, axis)
    if size is not None and not np.isscalar(size):
        raise NotImplementedError("when using axis arg, size must be None or scalar.")
    shape = list(a.shape)
    shape[axis] = int(ids.max()) + 1 if size is None else int(size)
    places = list(np.ogrid[tuple(slice(length) for length in a.shape)])
    places[axis] = ids
    flat = np.ravel_multi_index(tuple(places), shape, order=order)
    item_by_item = isinstance(name, str) and ("cum" in name or name == "sort")
    walk = order if item_by_item and ndim > 1 else "C"
    total = int(np.prod(shape))
    if item_by_item:
        shape = a.shape
    return Labels(
        flat.ravel(walk),
        a.ravel(walk),
        total,
        tuple(shape) if ndim > 1 else None,
        (a.shape, axis) if plain_of(name) in POSITIONS else None,
    )


def plain_of(name):
    """Return the plain name of a known function, None for a callable."""
    return plain_name(name) if isinstance(name, str) else None


def spread_labels(ids, shape, axis):
    """Return labels of an axis, or of every element, with the shape of the values."""
    if ids.ndim == 1:
        if ids.size != shape[axis]:
            raise ValueError("a.shape[axis] doesn't match length of group_idx.")
        ids = ids.reshape([-1 if k == axis else 1 for k in range(len(shape))])
    elif ids.ndim != len(shape):
        raise ValueError(
            "when using axis arg, group_idx must be 1d, or of the same "
            "dimensionality as a"
        )
    try:
        return np.broadcast_to(ids, shape)
    except ValueError as error:
        raise ValueError(
            f"group_idx with shape {ids.shape} cannot be broadcast to a with "
            f"shape {shape}"
        ) from error


def check_ids(ids, size):
    """Return the number of groups; ValueError for ids that have none."""
    if ids.size and ids.min() < 0:
        raise ValueError(NEGATIVE)
    top = int(ids.max()) if ids.size else -1
    if size is None:
        return top + 1
    if top > size - 1:
        raise ValueError(TOO_LARGE.format(size))
    return int(size)
