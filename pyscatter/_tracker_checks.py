"""What the arguments of trackers must be, and what follows from them."""

import math
import threading

import numpy as np

from pyscatter.change import _LEVEL, _NUMBERS

_CHOICES = {
    "mode": ("aligned", "distribution"),
    "on_resize": ("common", "reset", "raise"),
    "on_dtype": ("raise", "reset"),
    "on_nonfinite": ("count", "warn", "raise"),
}
_ALIGNED_AVERAGES = ("frac_changed", "mean_abs", "rms", "max_abs", "rel_change")
_LEVEL_AVERAGES = ("new_mean", "new_var")


def checked_config(config):
    """Return the arguments if all of them make sense, as Python has them."""
    for key, value in config.items():
        if isinstance(value, np.generic):
            config[key] = value.item()
    for key, choices in _CHOICES.items():
        if config[key] not in choices:
            raise ValueError(f"unknown {key} {config[key]!r}; choose from {choices}")
    _check_baseline(config["baseline"], config["mode"])
    for key, least in (("axis", -math.inf), ("every", 1), ("history", 0)):
        value = config[key]
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"{key} must be an integer, got {value!r}")
        if value < least:
            raise ValueError(f"{key} must be at least {least}, got {value}")
    hist = config["hist"]
    if hist is not None and not isinstance(hist, (str, int)):
        config["hist"] = np.asarray(hist, np.float64).tolist()
    if config["name"] is not None and not isinstance(config["name"], str):
        raise TypeError(f"name must be a string, got {config['name']!r}")
    return config


def _check_baseline(kind, mode):
    is_count = isinstance(kind, int) and not isinstance(kind, bool) and kind >= 1
    if not is_count and kind not in ("previous", "first", "fixed"):
        raise ValueError(
            f"baseline must be 'previous', 'first', 'fixed' or a positive int, got "
            f"{kind!r}"
        )
    if mode == "distribution" and kind == "fixed":
        raise ValueError("mode='distribution' has no fixed baseline")


def checked_buffer(buffer):
    if buffer is None:
        return None
    if not isinstance(buffer, np.ndarray):
        raise TypeError("baseline_buffer must be an ndarray")
    if not buffer.flags.writeable:
        raise ValueError("baseline_buffer is read-only")
    return buffer


def averages_of(ema, mode):
    """Return the b of each field."""
    if ema is None:
        return {}
    if not isinstance(ema, dict):
        fields = _LEVEL_AVERAGES
        if mode == "aligned":
            fields = (*_ALIGNED_AVERAGES, *fields)
        ema = dict.fromkeys(fields, ema)
    known = _LEVEL if mode == "distribution" else _NUMBERS
    for name, beta in ema.items():
        if name not in known:
            raise ValueError(f"ema of {name!r}: there is no such number in a record")
        if isinstance(beta, bool) or not isinstance(beta, (int, float)):
            raise TypeError(f"ema of {name} must be a number, got {beta!r}")
        if not 0 <= beta < 1:
            raise ValueError(f"ema of {name} must be in [0, 1), got {beta!r}")
    return dict(ema)


def checked_ids(ids):
    ids = np.asarray(ids)
    if ids.dtype.kind not in "iu":
        raise TypeError(f"ids has dtype {ids.dtype}; expected integers")
    if ids.ndim != 1 or np.unique(ids).size != ids.size:
        raise ValueError("ids must be distinct, one for each row")
    return ids.copy()


def plain(x):
    if isinstance(x, np.ma.MaskedArray):
        raise TypeError("a masked array has a mask that would be lost")
    return x


def new_lock():
    """A lock for trackers; Python calls a lack of memory a RuntimeError."""
    try:
        return threading.RLock()
    except RuntimeError:
        raise MemoryError("can't allocate a lock") from None
