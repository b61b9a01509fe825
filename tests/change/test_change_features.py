"""Features of halves and integers: several rows at once, or element by element."""

import numpy as np
import pytest

import pyscatter as ps
from tests.cases import DTYPES, rng_for

CORE = ps._core
LEVELS = CORE.levels()
FIELDS = (
    "feature_mean feature_m2 feature_max_abs feature_n_changed feature_new_mean "
    "feature_new_m2 feature_is_dead"
).split()
NAMES = [n for n in DTYPES if np.dtype(DTYPES[n]).itemsize <= 4 and n != "bool"]


def random_pair(rng, dtype, shape):
    """Return two arrays that differ here and there; halves with every kind of bits."""
    n = int(np.prod(shape))
    old = rng.integers(0, 256, n * dtype.itemsize, np.uint8).view(dtype)
    new = old.copy()
    places = rng.random(n) < 0.2
    new.view(np.uint8).reshape(n, -1)[places, 0] ^= 3
    return old.reshape(shape), new.reshape(shape)


def bits_of_features(stats):
    """Return the bytes of all features."""
    return [np.asarray(getattr(stats, name)).tobytes() for name in FIELDS]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", NAMES)
def test_both_ways_give_the_same_bits(name, level):
    CORE.force_level(level)
    dtype = np.dtype(DTYPES[name])
    rng = rng_for("features", name)
    for shape, axis in (((150, 300), 0), ((7, 37), 0), ((3, 131, 19), 1)):
        old, new = random_pair(rng, dtype, shape)
        if dtype.itemsize == 2 and name.startswith(("f", "b")):
            finite = np.isfinite(new.astype(np.float32))
            finite[..., :20] = True  # some features have what is not finite
            old[~finite] = new[~finite] = 0
        apart = np.zeros((*shape[:-1], shape[-1] + 1), dtype)[..., :-1]
        apart[...] = old
        with np.errstate(all="ignore"):
            flat = ps.change_stats(old, new, axis=axis, per_feature=True)
            other = ps.change_stats(apart, new, axis=axis, per_feature=True)
        assert bits_of_features(flat) == bits_of_features(other), shape
        assert flat.n_changed == other.n_changed
