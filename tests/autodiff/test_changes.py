"""Derivatives of what `change_stats` tells, field by field."""

import numpy as np
import pytest

import pyscatter as ps
from pyscatter.autodiff.changes import SLOPES
from pyscatter.testing import check_grads
from tests.cases import rng_for

RNG = rng_for("changes")
OLD = RNG.standard_normal((5, 4))
NEW = OLD + 0.3 * RNG.standard_normal((5, 4))


@pytest.mark.parametrize("field", SLOPES)
@pytest.mark.parametrize("axis", [0, 1])
def test_fields(field, axis):
    check_grads(ps.change_stats, OLD, NEW, field=field, axis=axis)
    check_grads(ps.change_stats, OLD[:, 0], NEW[:, 0], field=field)


@pytest.mark.parametrize("field", ["mean", "rms", "max_abs", "cosine", "new_var"])
def test_what_is_not_finite_has_no_part(field):
    new = NEW.copy()
    new[1, 2] = np.nan
    _, back = ps.vjp(ps.change_stats, OLD, new, field=field, finite_only=True)
    for gradient in back(np.array(1.0)):
        assert gradient[1, 2] == 0 and np.isfinite(gradient).all()


def test_points_where_there_is_a_choice():
    same = np.ones(3)
    for field in ("rms", "l2", "mean_abs", "max_abs", "rel_change"):
        _, back = ps.vjp(ps.change_stats, same, same, field=field)
        assert all(not gradient.any() for gradient in back(np.array(1.0)))
    _, back = ps.vjp(ps.change_stats, np.zeros(3), same, field="cosine")
    assert all(not gradient.any() for gradient in back(np.array(1.0)))
    old, new = np.zeros(3), np.array([2.0, -2.0, 1.0])
    _, back = ps.vjp(ps.change_stats, old, new, field="max_abs")
    assert back(np.array(1.0))[1].tolist() == [0.5, -0.5, 0]
    _, back = ps.vjp(ps.change_stats, old, new, field="max_abs", ties="first")
    assert back(np.array(1.0))[1].tolist() == [1, 0, 0]


def test_fields_without_a_derivative():
    for field in (None, "n_changed", "argmax_abs", "hist"):
        with pytest.raises(TypeError, match="field="):
            ps.vjp(ps.change_stats, OLD, NEW, field=field)
    with pytest.raises(TypeError, match="complex"):
        ps.vjp(ps.change_stats, OLD + 1j, NEW, field="mean")
