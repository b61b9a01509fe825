"""How a tracker makes records of what was measured, and its next state."""

import math
import warnings

import numpy as np

from pyscatter._tracker_plan import places_of
from pyscatter.change import ChangeStats, histogram_of, join_parts
from pyscatter.delta import delta as find_delta


class Records:
    """The part of a tracker that makes a record and the next state of an update."""

    def _finish(self, state, plan, answers):
        """Return the next state; its `last` is the record."""
        raw, arrays = answers[0]
        if plan.n_added or plan.n_removed or plan.rows is not None:
            raws = tuple(answer[0] for answer in answers)
            raw = join_parts(raws, places_of(plan, self._config["axis"])[: len(raws)])
        if self._is_plain and plan.ids is None:
            return self._finish_plain(state, plan, raw)
        context = {
            "step": state.step,
            "name": self._config["name"],
            "mode": self._config["mode"],
            "first": plan.old is None,
            "n_added": plan.n_added,
            "n_removed": plan.n_removed,
        }
        record = ChangeStats(raw, arrays, context)
        parts = {"moments": None}
        if not self._is_aligned:
            parts["moments"] = self._compare_moments(state, plan, arrays, context)
        parts["dead_for"] = self._count_dead(state, plan, arrays, context)
        parts["stale_rows"] = self._count_stale(state, plan, arrays, context)
        if self._config["hist"] is not None:
            context["hist"] = self._histogram(plan)
        parts["averages"] = self._average(state, record, context)
        self._refuse_nonfinite(record)
        return self._advance(state, plan, record, parts)

    def _finish_plain(self, state, plan, raw):
        context = {"step": state.step, "first": plan.old is None}
        if plan.n_added or plan.n_removed:
            context.update(n_added=plan.n_added, n_removed=plan.n_removed)
        if self._config["name"] is not None:
            context["name"] = self._config["name"]
        record = ChangeStats(raw, None, context)
        return self._advance(state, plan, record, {"moments": None})

    def _advance(self, state, plan, record, parts):
        keep = self._config["history"]
        after = state._replace(
            step=state.step + 1, measured=state.measured + 1, last=record, **parts
        )
        if keep:
            records = (*state.records, record.as_dict())[-keep:]
            after = after._replace(records=records)
        if not self._is_aligned:
            renewed = self._renews(state, state.moments)
            if not renewed and not plan.forgets:
                after = after._replace(moments=state.moments)
            return after._replace(version=state.version + renewed)
        if plan.copy is None:
            return after
        return self._with_baseline(state, after, plan.copy, plan.ids)

    def _with_baseline(self, state, after, baseline, ids=None):
        """The next version; the way back to this one is kept if any is."""
        way_back = ()
        keep = self._config["history"]
        old = state.baseline
        same = (
            old is not None
            and old.shape == baseline.shape
            and old.dtype == baseline.dtype
        )
        if keep and same:
            back = find_delta(baseline, old, op="xor")
            way_back = (*state.way_back, (state.version, back))[-keep:]
        return after._replace(
            version=state.version + 1,
            baseline=baseline,
            spare=None if state.is_shared else _if_like(old, baseline),
            is_shared=False,
            ids=ids,
            way_back=way_back,
            pending=None,
        )

    def _compare_moments(self, state, plan, arrays, context):
        """What each feature's mean has moved by since the last batch."""
        features = arrays[1]
        mean, m2, n = features[4], features[5], features[8]
        before = None if plan.forgets else state.moments
        context["first"] = before is None
        with np.errstate(all="ignore"):
            context["feature_mean"] = (
                np.full(mean.shape, np.nan) if before is None else mean - before[0]
            )
        return mean, m2, n

    def _count_dead(self, state, plan, arrays, context):
        if arrays is None or arrays[1] is None:
            return None
        dead = arrays[1][6]
        if plan.n_added and len(plan.items) > 1:
            axis = self._config["axis"]
            dead = ~np.any(np.moveaxis(plan.x, axis, 0) != 0, axis=0)
        before = state.dead_for
        if before is None or before.shape != dead.shape or plan.forgets:
            before = np.zeros(dead.shape, np.int64)
        context["dead_for"] = np.where(dead, before + 1, 0)
        return context["dead_for"]

    def _count_stale(self, state, plan, arrays, context):
        if arrays is None or arrays[0] is None:
            return None
        changed, n = arrays[0][2], plan.x.shape[self._config["axis"]]
        stale = np.zeros(n, np.int64)
        if plan.old is not None:
            rows = np.arange(changed.size) if plan.rows is None else plan.rows
            before = state.stale_rows
            known = plan.old.shape[self._config["axis"]]
            if before is None or before.size != known:
                before = np.zeros(known, np.int64)
            old_rows = rows if plan.old_rows is None else plan.old_rows
            stale[rows] = np.where(changed, 0, before[old_rows] + 1)
            context["changed_rows"] = rows[changed]
            if plan.copy is None:  # the next batch is compared with the same rows
                context["stale_rows"] = stale
                kept = before.copy()
                kept[old_rows] = stale[rows]
                return kept
        else:
            context["changed_rows"] = np.zeros(0, np.int64)
        context["stale_rows"] = stale
        return stale

    def _histogram(self, plan):
        x = plan.x if plan.copy is None else plan.copy
        return histogram_of(x, self._config["hist"], self._config["view"] is not None)

    def _average(self, state, record, context):
        """Moving averages: sums that forget, and what their weights come to."""
        if not self._averages:
            return state.averages
        averages, shown = dict(state.averages), {}
        for name, beta in self._averages.items():
            total, weight, left_out = averages.get(name, (0.0, 0.0, 0))
            value = getattr(record, name)
            if value == value:
                total = beta * total + (1 - beta) * value
                weight = beta * weight + (1 - beta)
            else:
                left_out += 1
            averages[name] = (total, weight, left_out)
            shown[name] = total / weight if weight else math.nan
        context["ema"] = shown
        return averages

    def _refuse_nonfinite(self, record):
        policy = self._config["on_nonfinite"]
        if policy == "count" or record.first_nonfinite is None:
            return
        step, position = record.first_nonfinite
        label = self._config["name"]
        message = (
            f"{'' if label is None else f'{label}: '}{record.n_nan} NaN, "
            f"{record.n_posinf} inf and {record.n_neginf} -inf at step {step}, the "
            f"first at flat position {position}"
        )
        if policy == "raise":
            raise FloatingPointError(message)
        warnings.warn(message, RuntimeWarning, stacklevel=4)


def _if_like(array, other):
    """The array, if it has the shape and dtype of the other."""
    if array is not None and array.shape == other.shape and array.dtype == other.dtype:
        return array
    return None
