"""Trackers: objects that keep the last array, or what is known of it, and compare.

The state of a tracker is one immutable record that is replaced by a single assignment
when everything else has succeeded: an exception, a signal or a refused allocation at
any point leaves the tracker as it was. The array that will be the next baseline is
written to a second buffer, in the pass that measures it, and the two change places.
"""

import json

import numpy as np

from pyscatter import _core
from pyscatter._tracker_checks import (
    averages_of,
    checked_buffer,
    checked_config,
    checked_ids,
    new_lock,
    plain,
)
from pyscatter._tracker_plan import Planning, State
from pyscatter._tracker_records import Records
from pyscatter._tracker_state import pack_state, unpack_state
from pyscatter.change import histogram_of
from pyscatter.delta import delta as find_delta


class ChangeTracker(Planning, Records, _core.TrackerBase):
    """
    Follow an array from update to update: what has changed since the last one?

    Two questions hide under this. mode="aligned" compares element by element: weights,
    embeddings, optimizer state, a fixed probe batch. mode="distribution" is for batches
    of other samples each time, whose elements have nothing to do with each other: it
    compares mean and variance of each feature, and keeps no batch.

    Parameters
    ----------
    mode : {"aligned", "distribution"}, optional
        What is compared.
    baseline : {"previous", "first", "fixed"} or int, optional
        With what: the update before, the first one, what `set_baseline` gave, or one
        that is renewed after updates 0, k, 2k ...
    axis : int, optional
        Along which rows (samples) are numbered.
    atol : float, optional
    rtol : float, optional
        As in `change_stats`.
    hist : None, str, int or array_like, optional
        Keep a histogram of each new array: the `bins` of `histogram`.
    per_row : bool, optional
        Also sums by rows, `changed_rows`, and `stale_rows`: updates since each row has
        changed.
    per_feature : bool, optional
        Also moments by features, and `dead_for`: updates for which each feature has
        been zero in all rows. Always so in mode="distribution".
    on_resize : {"common", "reset", "raise"}, optional
        What another number of rows does: the first rows that both have are compared,
        and the others counted as added or removed (default); or the tracker begins
        anew; or ValueError. Other features are a ValueError unless "reset" is given.
    on_dtype : {"raise", "reset"}, optional
        What another dtype does.
    on_nonfinite : {"count", "warn", "raise"}, optional
        What NaN and infinities do: "raise" is a FloatingPointError that says where.
    finite_only : bool, optional
    view : None or "bfloat16", optional
        As in `change_stats`.
    every : int, optional
        Measure one update of so many; those between return the last record.
    ema : float or dict, optional
        Moving averages ``e = b e + (1 - b) v``, corrected for their start: b, for some
        fields, or the b of each field. NaN does not enter.
    history : int, optional
        How many records, and how many baselines for `delta`, are kept.
    baseline_buffer : ndarray, optional
        Receives the baseline after each update: a memory map, say.
    name : str, optional
        Goes into records and messages.

    Returns
    -------
    ChangeTracker

    Raises
    ------
    ValueError
        An unknown choice, a number out of range, a read-only buffer.
    TypeError
        A number of the wrong kind.

    Attributes
    ----------
    last, step, version, history, baseline
        The last record; updates so far; how often the baseline has been renewed; the
        last records as dicts; the baseline as a read-only array that later updates do
        not change, or None.

    Methods
    -------
    update(x, ids=None)
        Compare `x`, make it the baseline if it is time, and return a `ChangeStats`. The
        first record has ``first=True`` and NaN for what is not known. `ids` are
        integers, one for each row: rows are compared with those of the same id.
    delta(new, *, commit=True, since=None, top_k=None, threshold=None, \
granularity="element", op="overwrite", encoding="auto")
        The `Delta` that leads from the baseline (or an older version) to `new`, which
        becomes the baseline, as far as the delta leads there; commit=False leaves that
        to `commit` or `rollback`.
    commit(), rollback()
        Accept or forget a pending delta; RuntimeError where there is none.
    set_baseline(x), reset(), copy(), close()
        Give a baseline; begin anew; an independent tracker; give all memory back.
    get_config(), from_config(config)
        The arguments as JSON can hold them, and a tracker of these.
    get_state(baseline=True), set_state(state)
        Everything else as a flat dict of arrays, fit for `numpy.savez`.
    plot(fields=("rms", "max_abs"), ax=None)
        Draw the history, by matplotlib (``pip install "pyscatter[plot]"``).

    Notes
    -----
    *Order and duplicates*: as in `change_stats`; `ids` must be distinct.

    *Determinism*: records have the same bits for any threads and CPU level.

    *Derivatives*: none.

    *Cost*: one pass that measures and copies; in aligned mode two buffers as large as
    the array. Safe to use from several threads, whose updates take turns. Whatever
    raises leaves the tracker as it was.

    See Also
    --------
    TrackerSet, change_stats, delta
    torch.nn.Module.register_forward_hook, wandb.watch, alibi_detect.cd.KSDrift

    Examples
    --------
    >>> import numpy as np
    >>> import pyscatter as ps
    >>> tracker = ps.ChangeTracker()
    >>> tracker.update(np.array([1.0, 2.0])).first
    True
    >>> c = tracker.update(np.array([1.0, 2.5]))
    >>> c.n_changed, c.max_abs, c.step
    (1, 0.5, 1)
    """

    def __init__(
        self,
        *,
        mode="aligned",
        baseline="previous",
        axis=0,
        atol=0,
        rtol=0,
        hist=None,
        per_row=False,
        per_feature=False,
        on_resize="common",
        on_dtype="raise",
        on_nonfinite="count",
        finite_only=False,
        view=None,
        every=1,
        ema=None,
        history=0,
        baseline_buffer=None,
        name=None,
    ):
        config = dict(locals())
        del config["self"], config["baseline_buffer"]
        self._config = checked_config(config)
        self._buffer = checked_buffer(baseline_buffer)
        self._lock = new_lock()
        self._is_busy = False
        self._state = State()
        ema, every = config["ema"], config["every"]
        self._averages = averages_of(ema, mode)
        self._options = (
            config["axis"],
            atol,
            rtol,
            per_row if mode == "aligned" else False,
            per_feature if mode == "aligned" else True,
            finite_only,
            view,
        )
        self._is_aligned = mode == "aligned"
        # Updates that ask for nothing beside a comparison take a short way, in C.
        self._is_plain = (
            self._is_aligned
            and baseline == "previous"
            and every == 1
            and not (per_row or per_feature or history or self._averages)
            and hist is None
            and on_nonfinite == "count"
            and baseline_buffer is None
        )
        self._name = config["name"]
        self._set_plain(self._options if self._is_plain else None)
        self._measure((np.array([0.0]), np.array([0.0])))  # options that C refuses

    def _measure(self, arrays):
        old, new = arrays
        if self._config["view"] is not None:
            old, new = (a.astype(np.uint16) for a in arrays)
        options = (0, *self._options[1:])
        _core.change_update(((old, new, *options, None),))
        if self._config["hist"] is not None:
            histogram_of(new, self._config["hist"], self._config["view"] is not None)

    # ---- updates ----

    def _update(self, x, ids=None):
        """Compare `x` with the baseline, whatever is asked for."""
        if ids is not None or type(x) is not np.ndarray:
            x, ids = self._as_arrays(x, ids)
        with self._lock:
            self._enter()
            try:
                before = self._state
                after = self._after(before, x, ids)
                self._commit(before, after)
            finally:
                self._is_busy = False
        return after.last

    def _after(self, state, x, ids):
        """Return the state after an update."""
        if not self._is_due(state):
            return state._replace(step=state.step + 1)
        plan = self._plan(state, x, ids)
        return self._finish(state, plan, _core.change_update(tuple(plan.items)))

    def _enter(self):
        """Refuse an update within an update, which would write to the same buffer."""
        if self._is_busy:
            raise RuntimeError("an update was called during an update of this tracker")
        self._is_busy = True

    def _as_arrays(self, x, ids):
        if isinstance(x, np.ma.MaskedArray):
            raise TypeError("'x' is a masked array; the mask would be lost")
        return np.asarray(x), None if ids is None else checked_ids(ids)

    def _is_due(self, state):
        return state.last is None or state.step % self._config["every"] == 0

    def _commit(self, before, after):
        """Put a new state in force, if nothing else has meanwhile."""
        if self._state is not before:
            raise RuntimeError("the tracker was changed during an update")
        if self._buffer is not None and after.baseline is not before.baseline:
            np.copyto(self._buffer, after.baseline)
        self._state = after

    # ---- deltas ----

    def delta(
        self,
        new,
        *,
        commit=True,
        since=None,
        top_k=None,
        threshold=None,
        granularity="element",
        op="overwrite",
        encoding="auto",
    ):
        """Find the delta from the baseline to `new`; see the class."""
        options = {"granularity": granularity, "op": op, "encoding": encoding}
        new = np.array(plain(new), order="C")
        with self._lock:
            state = self._state
            base, version = self._version(state, since)
            found = find_delta(base, new, top_k=top_k, threshold=threshold, **options)
            found = found.with_versions(version, state.version + 1)
            selects = top_k is not None or threshold is not None
            baseline = found.apply(base) if selects else _native(new)
            after = state._replace(pending=(found, baseline))
            if commit:
                after = self._with_baseline(state, after, baseline, state.ids)
            self._commit(state, after)
        return found

    def _version(self, state, since):
        """Return an array as it was, and its number."""
        if not self._is_aligned:
            raise ValueError("mode='distribution' keeps no array to make a delta from")
        if state.baseline is None:
            raise ValueError("there is no baseline yet; update or set_baseline first")
        if since is None or since == state.version:
            return state.baseline, state.version
        array = state.baseline
        for version, back in reversed(state.way_back):
            array = back.apply(array)
            if version == since:
                return array, version
        kept = [version for version, _ in state.way_back]
        raise ValueError(
            f"version {since} is not kept; history={self._config['history']} has "
            f"{[*kept, state.version]}"
        )

    def commit(self):
        """Make what a pending delta leads to the baseline."""
        with self._lock:
            state = self._state
            if state.pending is None:
                raise RuntimeError("there is no pending delta to commit")
            after = self._with_baseline(state, state, state.pending[1], state.ids)
            self._commit(state, after)

    def rollback(self):
        """Forget a pending delta."""
        with self._lock:
            state = self._state
            if state.pending is None:
                raise RuntimeError("there is no pending delta to roll back")
            self._commit(state, state._replace(pending=None))

    # ---- state ----

    @property
    def last(self):
        """The last record, or None."""
        return self._state.last

    @property
    def step(self):
        """Updates so far."""
        return self._state.step

    @property
    def version(self):
        """How often the baseline has been renewed."""
        return self._state.version

    @property
    def history(self):
        """The last records as dicts, the oldest first."""
        return list(self._state.records)

    @property
    def baseline(self):
        """The baseline, read-only; later updates leave it as it is."""
        with self._lock:
            array = self._state.baseline
            if array is None:
                return None
            self._state = self._state._replace(is_shared=True)
        view = array.view()
        view.flags.writeable = False
        return view

    def set_baseline(self, x, ids=None):
        """Give the array that updates are compared with."""
        if not self._is_aligned:
            raise ValueError("mode='distribution' has no array as its baseline")
        x, ids = self._as_arrays(x, ids)
        x = _native(np.array(x, order="C"))
        _core.change_update(((None, x, *self._options, None),))
        with self._lock:
            state = self._state
            self._room(state, x)
            self._commit(state, self._with_baseline(state, state, x, ids))

    def reset(self):
        """Begin anew: the next update is a first one."""
        with self._lock:
            self._state = State()

    def close(self):
        """Give all memory back; the tracker may be used again, from the start."""
        self.reset()

    def copy(self):
        """Return an independent tracker in the same state."""
        return self._revive(self.get_config(), self.get_state())

    def get_config(self):
        """Return the arguments of the constructor, as JSON can hold them."""
        return json.loads(json.dumps(self._config))

    @classmethod
    def from_config(cls, config):
        """Return a tracker of these arguments."""
        return cls(**config)

    def get_state(self, baseline=True):
        """Return what the tracker knows as a flat dict of arrays."""
        with self._lock:
            return pack_state(self._packable(self._state), baseline)

    def _packable(self, state):
        """Counts of another number of rows than the baseline's are of no update."""
        stale, base = state.stale_rows, state.baseline
        if stale is None or base is None:
            return state
        fits = stale.size == base.shape[self._config["axis"]]
        return state if fits else state._replace(stale_rows=None)

    def set_state(self, state):
        """Take over what `get_state` gave; ValueError where it is something else."""
        after = unpack_state(State(), state)
        self._check_rows(after)
        with self._lock:
            self._state = after

    def _check_rows(self, state):
        """Rows that are known one by one must be those of the baseline."""
        if state.baseline is None:
            return
        axis, ndim = self._config["axis"], state.baseline.ndim
        for array in (state.ids, state.stale_rows):
            if array is not None and not (
                -ndim <= axis < ndim and array.size == state.baseline.shape[axis]
            ):
                raise ValueError("ids or stale_rows do not belong to the baseline")

    @classmethod
    def _revive(cls, config, state):
        tracker = cls.from_config(config)
        tracker.set_state(state)
        return tracker

    def __reduce__(self):
        return self._revive, (self.get_config(), self.get_state())

    def __repr__(self):
        config = self._config
        defaults = ChangeTracker.__init__.__kwdefaults__
        shown = [f"{k}={v!r}" for k, v in config.items() if v != defaults[k]]
        return (
            f"ChangeTracker({', '.join(shown)}): step {self.step}, last {self.last!r}"
        )

    def _repr_html_(self):
        last = self.last
        return "<p>no update yet</p>" if last is None else last._repr_html_()

    def plot(self, fields=("rms", "max_abs"), ax=None):
        """Draw fields of the records that `history` has kept; return the axes."""
        if not self._config["history"]:
            raise ValueError("plot draws the history; make the tracker with history=")
        if ax is None:
            from pyscatter.adapters._imports import required

            ax = required("matplotlib.pyplot", "plot").gca()
        records = self.history
        steps = [record["step"] for record in records]
        for field in fields:
            ax.plot(steps, [record[field] for record in records], label=field)
        ax.set_xlabel("step")
        ax.legend()
        return ax


# What Python says of wrong arguments names the method that was called.
ChangeTracker._update.__qualname__ = "ChangeTracker.update"


def _native(array):
    return array.astype(array.dtype.newbyteorder("="), copy=False)
