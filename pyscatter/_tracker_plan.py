"""What a tracker knows, and what an update compares with what.

A plan is made from a state and an array before anything is measured: it names the calls
for the C side and where the next baseline is to be written.
"""

from typing import Any, NamedTuple

import numpy as np

from pyscatter import _core


class State(NamedTuple):
    """What a tracker knows; never changed in place, but for `spare`'s elements."""

    step: int = 0  # updates so far, those that `every` left out included
    measured: int = 0  # records made
    version: int = 0  # baselines so far
    baseline: np.ndarray | None = None
    spare: np.ndarray | None = None  # of the baseline's shape and dtype
    is_shared: bool = False  # somebody has a view of the baseline
    ids: np.ndarray | None = None
    moments: tuple | None = None  # of the last batch: mean, m2, n of each feature
    averages: dict = {}  # noqa: RUF012 - never written to: name: (sum, weight, left out)
    dead_for: np.ndarray | None = None
    stale_rows: np.ndarray | None = None
    records: tuple = ()  # the last few, as dicts
    way_back: tuple = ()  # (version, delta to it from the next)
    pending: tuple | None = None  # (delta, baseline)
    last: Any = None


class Plan(NamedTuple):
    """An update on its way: calls for the C side, and what they mean."""

    items: list
    x: np.ndarray
    old: np.ndarray | None = None
    copy: np.ndarray | None = None  # becomes the baseline
    n_added: int = 0
    n_removed: int = 0
    ids: np.ndarray | None = None
    rows: np.ndarray | None = None  # of x, that were compared
    old_rows: np.ndarray | None = None
    rest: np.ndarray | None = None  # rows of x that were not compared
    forgets: bool = False  # features or rows have nothing to do with those before


class Planning:
    """The part of a tracker that finds what is to be compared with what."""

    def _plan(self, state, x, ids):
        """Find what is to be compared with what, and where it is to be kept."""
        if not self._is_aligned:
            return self._plan_distribution(state, x, ids)
        if ids is not None:
            self._check_ids(x, ids)
        old = state.baseline
        if (
            old is not None
            and x.dtype != old.dtype
            and not _is_same(x.dtype, old.dtype)
        ):
            if self._config["on_dtype"] == "raise":
                raise ValueError(f"x has dtype {x.dtype}, but the baseline {old.dtype}")
            old = None
        if old is not None and x.shape != old.shape and not self._fits(x, old):
            old = None
        forgets = old is None and state.baseline is not None
        copy = self._room(state, x) if self._renews(state, old) else None
        if old is None:
            items = [(None, x, *self._options, copy)]
            return Plan(items, x, copy=copy, ids=ids, forgets=forgets)
        if ids is not None or state.ids is not None:
            return self._plan_ids(state, x, ids, old, copy)
        if x.shape == old.shape:
            return Plan([(old, x, *self._options, copy)], x, old, copy)
        return self._plan_common(x, old, copy)

    def _plan_distribution(self, state, x, ids):
        if ids is not None:
            raise ValueError("ids= needs mode='aligned'")
        if x.ndim == 0:
            raise ValueError("mode='distribution' needs an axis of samples")
        forgets = False
        if state.moments is not None:
            axis = self._config["axis"]
            shape = np.delete(x.shape, axis).tolist()
            forgets = shape != list(state.moments[0].shape)
            if forgets and self._config["on_resize"] != "reset":
                raise ValueError(
                    f"x has features of shape {tuple(shape)}, but those before have "
                    f"{state.moments[0].shape} (on_resize='reset' begins anew)"
                )
        return Plan([(None, x, *self._options, None)], x, forgets=forgets)

    def _fits(self, x, old):
        """Whether rows of arrays of other shapes can be compared."""
        policy = self._config["on_resize"]
        if policy == "reset":
            return False
        axis = self._config["axis"]
        same_rows = x.ndim == old.ndim > 0 and x.ndim > axis >= -x.ndim
        if same_rows and policy == "common":
            one, other = list(x.shape), list(old.shape)
            del one[axis], other[axis]
            if one == other:
                return True
        raise ValueError(
            f"x has shape {x.shape}, but the baseline {old.shape} (on_resize='reset' "
            "begins anew)"
        )

    def _renews(self, state, old):
        kind = self._config["baseline"]
        if kind == "fixed":
            return False
        if kind == "first":
            return old is None
        return kind == "previous" or old is None or state.measured % kind == 0

    def _room(self, state, x):
        """Return a private array that the new baseline can be written to."""
        spare = state.spare
        if spare is None or spare.shape != x.shape or spare.dtype != x.dtype:
            spare = np.empty(x.shape, x.dtype.newbyteorder("="))
        if self._buffer is not None and (
            self._buffer.shape != x.shape or self._buffer.dtype != spare.dtype
        ):
            raise ValueError(
                f"baseline_buffer has shape {self._buffer.shape} and dtype "
                f"{self._buffer.dtype}, but x has {x.shape} and {x.dtype}"
            )
        return spare

    def _plan_common(self, x, old, copy):
        """The first rows are compared; what is new is copied and measured beside."""
        axis = self._config["axis"]
        n, before = x.shape[axis], old.shape[axis]
        common = min(n, before)
        parts = []
        for array in (old, x, copy):
            parts.append(None if array is None else _rows(array, axis, 0, common))
        items = [(parts[0], parts[1], *self._options, parts[2])]
        if n > common:
            rest = None if copy is None else _rows(copy, axis, common, n)
            items.append((None, _rows(x, axis, common, n), *self._options, rest))
        return Plan(items, x, old, copy, n - common, before - common)

    def _check_ids(self, x, ids):
        axis = self._config["axis"]
        if not -x.ndim <= axis < x.ndim or ids.shape != (x.shape[axis],):
            raise ValueError(f"ids has shape {ids.shape}, but x {x.shape}")

    def _plan_ids(self, state, x, ids, old, copy):
        """Rows are compared with those of the same id."""
        if ids is None or state.ids is None:
            raise ValueError("ids must be given with every update or with none")
        axis = self._config["axis"]
        given, known = ids, state.ids
        if np.result_type(ids, known).kind not in "iu":  # floats would round them
            ids, known = ids.astype(object), known.astype(object)
        _, rows, old_rows = np.intersect1d(
            ids, known, assume_unique=True, return_indices=True
        )
        order = np.argsort(rows)
        rows, old_rows = rows[order], old_rows[order]
        if copy is not None:
            _core.change_update(((None, x, *self._options, copy),))
            x = copy
        items = [
            (old.take(old_rows, axis), x.take(rows, axis), *self._options, None),
        ]
        rest = np.setdiff1d(np.arange(ids.size), rows, assume_unique=True)
        if rest.size:
            items.append((None, x.take(rest, axis), *self._options, None))
        removed = state.ids.size - rows.size
        n = rest.size
        return Plan(items, x, old, copy, n, removed, given, rows, old_rows, rest)


def places_of(plan, axis):
    """Functions of flat positions in the parts of a plan to those in its array."""
    shape = plan.x.shape
    rows, rest = plan.rows, plan.rest
    if rows is None:
        common = shape[axis] - plan.n_added
        rows, rest = np.arange(common), np.arange(common, shape[axis])

    def place_in(rows):
        part = list(shape)
        part[axis] = rows.size

        def place(position):
            where = list(np.unravel_index(position, part))
            where[axis] = rows[where[axis]]
            return int(np.ravel_multi_index(where, shape))

        return place

    return place_in(rows), place_in(rest)


def _is_same(one, other):
    return one.newbyteorder("=") == other.newbyteorder("=")


def _rows(array, axis, first, last):
    where = [slice(None)] * array.ndim
    where[axis] = slice(first, last)
    return array[tuple(where)]
