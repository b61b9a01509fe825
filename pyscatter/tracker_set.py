"""Trackers of many arrays by name: one call on the C side for all of them."""

import contextlib

import numpy as np

from pyscatter import _core
from pyscatter._tracker_checks import new_lock, plain
from pyscatter.tracker import ChangeTracker


class TrackerSet:
    """
    Trackers of many arrays by name, whose updates are one call.

    Parameters
    ----------
    options : keywords
        Those of `ChangeTracker`, for each of them; `name` is its own.

    Returns
    -------
    TrackerSet
        A mapping: ``set[name]`` is a tracker, names come in the order of their first
        update.

    Raises
    ------
    ValueError, TypeError
        As `ChangeTracker`.

    Methods
    -------
    update(arrays)
        Compare each array of a dict with the baseline of its name; a dict of records.
        If one is refused, none is taken.
    summary()
        A table of the last records, as text.
    top(k, by="rel_change")
        The names and values of the k largest; NaN last.

    Notes
    -----
    *Order and duplicates*: as in `change_stats`.

    *Determinism*: the same bits as single trackers.

    *Derivatives*: none.

    *Cost*: threads share the arrays among them, small ones too.

    See Also
    --------
    ChangeTracker, wandb.watch

    Examples
    --------
    >>> import numpy as np
    >>> import pyscatter as ps
    >>> trackers = ps.TrackerSet()
    >>> weights = {"w": np.ones(3), "b": np.zeros(2)}
    >>> _ = trackers.update(weights)
    >>> weights["w"][0] = 2
    >>> trackers.update(weights)["w"].n_changed
    1
    >>> trackers.top(1, by="max_abs")
    [('w', 1.0)]
    """

    def __init__(self, **options):
        if "name" in options or "baseline_buffer" in options:
            raise TypeError("trackers of a set have names and buffers of their own")
        ChangeTracker(**options)
        self._options = options
        self._trackers = {}
        self._lock = new_lock()

    def update(self, arrays):
        """Compare all arrays; see the class."""
        arrays = {name: np.asarray(plain(x)) for name, x in dict(arrays).items()}
        with self._lock, contextlib.ExitStack() as stack:
            trackers = {
                name: self._trackers.get(name)
                or ChangeTracker(**self._options, name=str(name))
                for name in arrays
            }
            self._enter_all(stack, trackers)
            plans, items = {}, []
            before = {name: t._state for name, t in trackers.items()}
            for name, tracker in trackers.items():
                if tracker._is_due(before[name]):
                    plans[name] = tracker._plan(before[name], arrays[name], None)
                    items += plans[name].items
            answers = iter(_core.change_update(tuple(items)))
            after = {}
            for name, tracker in trackers.items():
                state, plan = before[name], plans.get(name)
                if plan is None:
                    after[name] = state._replace(step=state.step + 1)
                    continue
                own = [next(answers) for _ in plan.items]
                after[name] = tracker._finish(state, plan, own)
            self._commit(trackers, before, after)
        return {name: state.last for name, state in after.items()}

    def _enter_all(self, stack, trackers):
        """Take the turn of all trackers, in an order of their own."""
        for tracker in sorted(trackers.values(), key=id):
            stack.enter_context(tracker._lock)
            if not tracker._is_busy:  # first: a signal may come between
                stack.callback(setattr, tracker, "_is_busy", False)
            tracker._enter()

    def _commit(self, trackers, before, after):
        """All trackers take their new states, or none does."""
        known = self._trackers
        try:
            for name, tracker in trackers.items():
                tracker._commit(before[name], after[name])
            self._trackers = {**known, **trackers}
        except BaseException:
            for name, tracker in trackers.items():
                tracker._state = before[name]
            self._trackers = known
            raise

    def __getitem__(self, name):
        return self._trackers[name]

    def __len__(self):
        return len(self._trackers)

    def __iter__(self):
        return iter(self._trackers)

    def __contains__(self, name):
        return name in self._trackers

    def top(self, k, by="rel_change"):
        """Return the k largest of a field as pairs of name and value, NaN last."""
        pairs = []
        for name, tracker in self._trackers.items():
            if tracker.last is not None:
                pairs.append((name, getattr(tracker.last, by)))
        for _, value in pairs:
            if not isinstance(value, (int, float, complex)):
                raise TypeError(f"{by} is not a number, which top could compare")
        pairs.sort(key=lambda pair: (pair[1] != pair[1], -_real(pair[1])))
        return pairs[:k]

    def summary(self):
        """Return a table of the last records."""
        aligned = self._options.get("mode", "aligned") == "aligned"
        fields = ("rms", "max_abs", "rel_change") if aligned else ()
        fields = ("step", *fields, "new_mean", "new_var", "n_nan")
        width = max([4, *(len(str(name)) for name in self._trackers)])
        lines = [" ".join([f"{'name':{width}}", *(f"{f:>10}" for f in fields)])]
        for name, tracker in self._trackers.items():
            last = tracker.last
            if last is None:
                lines.append(f"{name!s:{width}} no update yet")
                continue
            values = [getattr(last, field) for field in fields]
            cells = (f"{_real(value):>10.4g}" for value in values)
            lines.append(" ".join([f"{name!s:{width}}", *cells]))
        return "\n".join(lines)

    def __reduce__(self):
        return _revive_set, (self._options, dict(self._trackers))

    def __repr__(self):
        return f"TrackerSet of {len(self)}\n{self.summary()}"


def _revive_set(options, trackers):
    result = TrackerSet(**options)
    result._trackers = trackers
    return result


def _real(value):
    return abs(value) if isinstance(value, complex) else value
