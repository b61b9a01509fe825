"""The slow twin of the keys family: a dict of what entries have been seen.

An element becomes a tuple of plain Python things that are equal where keys are and
sort as keys do: missing ones last.
"""

import functools

import numpy as np

from .addressing import refuse_masked
from .segment import segment_reduce

MISSING = (1, 0)


def canonical(element):
    """Return what stands for one element, and whether it is missing."""
    if isinstance(element, np.void) and element.dtype.names is not None:
        parts = [canonical(element[name]) for name in element.dtype.names]
        return tuple(p for p, _ in parts), any(is_missing for _, is_missing in parts)
    if isinstance(element, np.ndarray):
        parts = [canonical(item) for item in element.ravel()]
        return tuple(p for p, _ in parts), any(is_missing for _, is_missing in parts)
    if element is None:
        return (2, 0), True
    if isinstance(element, (np.datetime64, np.timedelta64)):
        ticks = int(element.astype(np.int64))
        return (MISSING, True) if np.isnat(element) else ((0, ticks), False)
    if isinstance(element, np.void):
        return (0, element.tobytes()), False
    if isinstance(element, str):
        return (0, str(element)), False
    if isinstance(element, bytes):
        return (0, bytes(element)), False
    if element != element:
        return MISSING, True
    if isinstance(element, (complex, np.complexfloating)):
        return (0, (element.real + 0.0, element.imag + 0.0)), False
    return (0, element), False


def entries_of(array):
    """Return the elements of an array in C order, one by one."""
    flat = array.ravel()
    if array.dtype.kind == "O":
        return flat.tolist()
    return [flat[i] for i in range(flat.size)]


def factorize(
    *keys, sort=True, missing="group", return_first=False, return_counts=False
):
    """Number distinct keys in the order of appearance, then sort these if wanted."""
    if missing not in ("group", "drop", "raise"):
        raise ValueError(f"missing={missing!r}")
    if not keys:
        raise TypeError("no keys")
    for key in keys:
        refuse_masked(key)
    arrays = [np.asarray(key) for key in keys]
    if len({array.shape for array in arrays}) > 1:
        raise ValueError("shapes differ")
    ids, first, counts = number(arrays, missing, sort)
    uniques = tuple(take(array, first) for array in arrays)
    result = [np.array(ids, np.intp).reshape(arrays[0].shape)]
    result.append(uniques[0] if len(arrays) == 1 else uniques)
    result += [np.array(first, np.int64)] if return_first else []
    result += [np.array(counts, np.int64)] if return_counts else []
    return tuple(result)


def take(array, first):
    """Return the elements at these positions, native."""
    flat = array.ravel()[np.array(first, np.intp)]
    return np.array(flat, array.dtype.newbyteorder("="))


def number(arrays, missing, sort, takes_part=None):
    """Return ids, first entries and counts of the keys of flat entries."""
    ids, first, counts, seen = [], [], [], {}
    rows = zip(*(entries_of(array) for array in arrays), strict=True)
    for i, row in enumerate(rows):
        if takes_part is not None and not takes_part[i]:
            ids.append(-1)
            continue
        parts = [canonical(element) for element in row]
        if missing != "group" and any(is_missing for _, is_missing in parts):
            if missing == "raise":
                raise ValueError(f"missing at {i}")
            ids.append(-1)
            continue
        key = tuple(part for part, _ in parts)
        if key not in seen:
            seen[key] = len(first)
            first.append(i)
            counts.append(0)
        ids.append(seen[key])
        counts[seen[key]] += 1
    if not sort:
        return ids, first, counts
    order = sorted(seen, key=functools.cmp_to_key(compare))
    rank = {seen[key]: k for k, key in enumerate(order)}
    back = [seen[key] for key in order]
    ids = [rank.get(i, -1) for i in ids]
    return ids, [first[i] for i in back], [counts[i] for i in back]


def compare(a, b):
    """Return -1, 0 or 1 as a comes before b, is b, or comes after it."""
    return -1 if a < b else int(b < a)


def group_reduce(values, *keys, op="add", sort=True, missing="drop", **options):
    """Number the keys of entries that stay, then reduce segments by them."""
    if not keys:
        raise TypeError("no keys")
    arrays = [np.asarray(key) for key in keys]
    where = options.get("where")
    takes_part = None
    if where is not None:
        axis = options.get("axis", 0)
        mask, ndim = np.asarray(where), arrays[0].ndim
        apart = [i for i in range(mask.ndim) if not axis <= i < axis + ndim]
        takes_part = mask.any(axis=tuple(apart)).ravel() if apart else mask.ravel()
    ids, first, _ = number(arrays, missing, sort, takes_part)
    ids = np.array(ids, np.intp).reshape(arrays[0].shape)
    uniques = tuple(take(array, first) for array in arrays)
    uniques = uniques[0] if len(arrays) == 1 else uniques
    options |= {"op": op, "mode": "drop"}
    if isinstance(values, tuple):
        parts = [segment_reduce(v, ids, len(first), **options) for v in values]
        return uniques, tuple(parts)
    return uniques, segment_reduce(values, ids, len(first), **options)
