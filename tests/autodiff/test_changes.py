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


def hvp_of(old, new, moves, **options):
    """Return the second derivative of one field with both arrays variables."""
    tape = ps.Tape()
    pair = tape.variable(old), tape.variable(new)
    return tape.hvp(tape.apply(ps.change_stats, *pair, **options), *moves)


def test_second_derivatives_by_formula():
    apart, v = (NEW - OLD).ravel(), RNG.standard_normal(NEW.size)
    n, norm = apart.size, np.linalg.norm(apart)
    along = v / norm - apart * (apart @ v) / norm**3
    for field, expected in (("l2", along), ("rms", along / np.sqrt(n))):
        of_old, of_new = hvp_of(OLD, NEW, (None, v.reshape(NEW.shape)), field=field)
        assert np.allclose(of_new.ravel(), expected, rtol=1e-12, atol=1e-14)
        assert np.array_equal(of_old, -of_new)
    of_old, of_new = hvp_of(OLD, NEW, (OLD, None), field="dot")
    assert not of_old.any() and np.allclose(of_new, OLD, rtol=1e-15)
    for field in ("mean", "mean_abs", "max_abs", "new_min"):
        assert not any(x.any() for x in hvp_of(OLD, NEW, (OLD, NEW), field=field))


def test_second_derivatives_where_slopes_jump_are_zero():
    same, moves = np.zeros(3), (np.ones(3), np.arange(3.0))
    for field in ("rms", "l2", "rel_change", "cosine", "old_norm", "new_norm"):
        assert not any(x.any() for x in hvp_of(same, same, moves, field=field))
    new = np.array([1.0, np.nan, 2.0])
    made = hvp_of(same, new, moves, field="rms", finite_only=True)
    assert all(np.isfinite(x).all() and x[1] == 0 for x in made)
    narrow = hvp_of(OLD.astype("f4"), NEW.astype("f4"), (None, NEW), field="l2")
    assert np.allclose(narrow[1], hvp_of(OLD, NEW, (None, NEW), field="l2")[1], 1e-4)


def test_fields_without_a_derivative():
    for field in (None, "n_changed", "argmax_abs", "hist"):
        with pytest.raises(TypeError, match="field="):
            ps.vjp(ps.change_stats, OLD, NEW, field=field)
    with pytest.raises(TypeError, match="complex"):
        ps.vjp(ps.change_stats, OLD + 1j, NEW, field="mean")
