"""States of trackers as flat dicts of arrays, and back.

What comes back may come from anywhere: whatever does not fit is a ValueError, and the
tracker that asked keeps what it has.
"""

import json

import numpy as np

from pyscatter.change import ChangeStats

FORMAT = 1
_NUMBERS = ("step", "measured", "version")
_ARRAYS = ("ids", "dead_for", "stale_rows")
_MOMENTS = ("mean", "m2", "n")


def pack_state(state, baseline):
    """Return everything but records and pending deltas."""
    packed = {"format": np.int64(FORMAT)}
    packed.update((name, np.int64(getattr(state, name))) for name in _NUMBERS)
    for name in _ARRAYS:
        if getattr(state, name) is not None:
            packed[name] = getattr(state, name).copy()
    if state.moments is not None:
        for name, array in zip(_MOMENTS, state.moments, strict=True):
            packed[f"moments_{name}"] = array.copy()
    packed["averages"] = np.array(json.dumps(state.averages, default=_complex_parts))
    if state.last is not None:
        raw, context = state.last.unbound()
        packed["last"] = np.frombuffer(raw, np.uint8).copy()
        packed["last_context"] = np.array(json.dumps(context, default=_complex_parts))
    packed["records"] = np.array(json.dumps(state.records))
    if baseline and state.baseline is not None:
        raw = np.frombuffer(state.baseline.tobytes(), np.uint8)
        packed["baseline_bytes"] = raw.copy()
        packed["baseline_shape"] = np.array(state.baseline.shape, np.int64)
        packed["baseline_dtype"] = np.array(state.baseline.dtype.name)
    return packed


def unpack_state(blank, packed):
    """Return the state that a dict describes, starting from one that knows nothing."""
    try:
        if int(packed["format"]) != FORMAT:
            raise ValueError(f"unknown format {int(packed['format'])}")
        parts = {name: _number(packed[name], name) for name in _NUMBERS}
        parts["averages"] = _averages(json.loads(str(packed["averages"])))
        parts["records"] = _records(json.loads(str(packed["records"])))
    except (KeyError, TypeError, OverflowError, RecursionError) as error:
        raise ValueError(f"no state of a tracker: {error}") from None
    for name in _ARRAYS:
        if name in packed:
            parts[name] = _integers(packed[name], name)
    if "last" in packed:
        parts["last"] = _record(packed)
    if "moments_mean" in packed:
        parts["moments"] = _moments(packed)
    if "baseline_bytes" in packed:
        parts["baseline"] = _baseline(packed)
    else:
        parts.pop("ids", None)
        parts.pop("stale_rows", None)
    _check_lengths(parts)
    return blank._replace(**parts)


def _number(value, name):
    number = int(value)
    if not 0 <= number < 2**63:
        raise ValueError(f"{name} must be in [0, 2**63), got {number}")
    return number


def _complex_parts(value):
    """What JSON holds of a complex number."""
    if isinstance(value, complex):
        return [value.real, value.imag]
    raise TypeError(f"{type(value).__name__} is no number")


def _is_real(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _number_of_json(value, name):
    """The number that a value stands for, a complex one as two."""
    if isinstance(value, list) and len(value) == 2 and all(map(_is_real, value)):
        return complex(*value)
    if not _is_real(value):
        raise ValueError(f"no moving average of {name}: {value!r}")
    return value


def _record(packed):
    raw = np.array(packed["last"])
    try:
        context = json.loads(str(packed["last_context"]))
    except KeyError as error:
        raise ValueError(f"no state of a tracker: {error}") from None
    except RecursionError as error:
        raise ValueError(f"no state of a tracker: {error}") from None
    if raw.dtype != np.uint8 or not isinstance(context, dict):
        raise ValueError("last is no record")
    return ChangeStats.bound(raw.tobytes(), _context(context))


def _context(context):
    """What a tracker says beside a record, each of its kind."""
    if not all(_fits(name, value) for name, value in context.items()):
        raise ValueError("last_context is not that of a record")
    if "ema" in context:
        ema = context["ema"].items()
        return {**context, "ema": {name: _number_of_json(x, name) for name, x in ema}}
    return context


def _fits(name, value):
    if name in ("step", "n_added", "n_removed"):
        return type(value) is int and 0 <= value < 2**63
    kinds = {"name": (str, type(None)), "mode": str, "first": bool, "ema": dict}
    return name in kinds and isinstance(value, kinds[name])


def _records(records):
    if not isinstance(records, list) or not all(isinstance(x, dict) for x in records):
        raise ValueError("records must be a list of records")
    return tuple(records)


def _averages(averages):
    if not isinstance(averages, dict):
        raise ValueError(f"no moving averages: {averages!r}")
    for name, parts in averages.items():
        if not isinstance(parts, list) or len(parts) != 3:
            raise ValueError(f"no moving average of {name}: {parts!r}")
        if not all(map(_is_real, parts[1:])):
            raise ValueError(f"no moving average of {name}: {parts!r}")
    return {
        name: (_number_of_json(total, name), weight, left_out)
        for name, (total, weight, left_out) in averages.items()
    }


def _integers(array, name):
    array = np.array(array)
    if array.dtype.kind not in "iu":
        raise ValueError(f"{name} must be integers, got {array.dtype}")
    return array


def _moments(packed):
    try:
        mean, m2, n = (np.array(packed[f"moments_{name}"]) for name in _MOMENTS)
    except KeyError as error:
        raise ValueError(f"no state of a tracker: {error}") from None
    if not mean.shape == m2.shape == n.shape or mean.dtype.kind not in "fc":
        raise ValueError("moments of features do not belong together")
    return mean, m2, _integers(n, "moments_n")


def _baseline(packed):
    raw = np.array(packed["baseline_bytes"])
    try:
        shape = tuple(int(n) for n in np.asarray(packed["baseline_shape"]).ravel())
        dtype = np.dtype(str(packed["baseline_dtype"]))
    except KeyError as error:
        raise ValueError(f"no state of a tracker: {error}") from None
    except OverflowError as error:
        raise ValueError(f"no state of a tracker: {error}") from None
    except (TypeError, SyntaxError):
        name = packed["baseline_dtype"]
        hint = "import ml_dtypes first" if str(name) == "bfloat16" else "unknown"
        raise ValueError(f"baseline_dtype {name}: {hint}") from None
    if raw.dtype != np.uint8 or raw.ndim != 1 or dtype.hasobject:
        raise ValueError("baseline_bytes must be bytes of numbers")
    size = dtype.itemsize
    for n in shape:
        size *= n
    if min(shape, default=0) < 0 or size != raw.size:
        raise ValueError(
            f"baseline_bytes has {raw.size} bytes, but {dtype} of shape {shape} needs "
            f"{size}"
        )
    return raw.view(dtype).reshape(shape) if raw.size else np.empty(shape, dtype)


def _check_lengths(parts):
    """Rows that are known one by one must be the same for all that knows them."""
    rows = [parts[name].ndim for name in ("ids", "stale_rows") if name in parts]
    if any(ndim != 1 for ndim in rows):
        raise ValueError("ids and stale_rows have one axis")
    if "ids" in parts and np.unique(parts["ids"]).size != parts["ids"].size:
        raise ValueError("ids must be distinct")
    if "ids" in parts and "stale_rows" in parts:
        if parts["ids"].size != parts["stale_rows"].size:
            raise ValueError("ids and stale_rows have different lengths")
