"""The names of reductions, and the dtypes that they take, compute in and give."""

import functools

import numpy as np

from pyscatter._segment_folds import SUMS, half_or

ORDER = ("min", "max", "fmin", "fmax")
PICKS = ("first", "last")
ARGS = ("argmin", "argmax")
BITS = ("and", "or", "xor")
WIDE = ("mean", "var", "std", "logsumexp")
MOMENTS = ("mean", "var", "std", "median", "quantile")
OPS = (
    *(*SUMS, *ORDER, *BITS, *MOMENTS, *PICKS, *ARGS),
    *("count", "any", "all", "logsumexp"),
)
ALIASES = {
    "sum": "add",
    "prod": "mul",
    "multiply": "mul",
    "amin": "min",
    "minimum": "min",
    "amax": "max",
    "maximum": "max",
}
UFUNCS = {
    np.add: "add",
    np.multiply: "mul",
    np.minimum: "min",
    np.maximum: "max",
    np.fmin: "fmin",
    np.fmax: "fmax",
    np.bitwise_and: "and",
    np.bitwise_or: "or",
    np.bitwise_xor: "xor",
}
# The kinds of dtypes for which an op means something; "V" is bfloat16.
KINDS = {
    **dict.fromkeys(("add", "mean"), "biufVcm"),
    **dict.fromkeys(("mul", "var", "std"), "biufVc"),
    **dict.fromkeys((*ORDER, *ARGS, "median", "quantile"), "biufVmM"),
    **dict.fromkeys(BITS, "biu"),
    "logsumexp": "biufV",
    **dict.fromkeys(("any", "all"), "biufVcmM"),
}


def op_name(op):
    """Return an op's own name."""
    if isinstance(op, np.ufunc):
        if op in UFUNCS:
            return UFUNCS[op]
        names = ", ".join(ufunc.__name__ for ufunc in UFUNCS)
        raise TypeError(f"op must be a name or one of the ufuncs {names}; got {op!r}")
    if not isinstance(op, str):
        raise TypeError(f"op must be a name or a ufunc, not {op!r}")
    name = ALIASES.get(op, op)
    if name not in OPS:
        raise ValueError(f"unknown op {op!r}; choose from {', '.join(OPS)}")
    return name


@functools.lru_cache(maxsize=512)
def dtypes_of(op, given, weights, dtype):
    """Return (dtype of the result, accumulator) of an op.

    `given` is the dtype of the values, `weights` that of the weights or None, `dtype`
    what the caller names or None.
    """
    kinds = KINDS.get(op, "biufVcmMOSU")
    is_record = given.kind == "V" and given.name != "bfloat16" and op in KINDS
    if given.kind not in kinds or is_record:
        has_no_order = given.kind == "c" and op in (*ORDER, *ARGS)
        because = " (complex numbers have no order)" if has_no_order else ""
        raise TypeError(f"op {op!r} is not defined for dtype {given}{because}")
    given = given.newbyteorder("=")
    if weights is not None:
        given = np.result_type(given, weights)
    result = result_dtype(op, given, dtype)
    return result, accumulator_of(op, given, result, dtype is not None)


def result_dtype(op, given, dtype):
    """Return the dtype of a result; `dtype` is what the caller names, or None."""
    if op in ("count", *ARGS):
        return np.dtype(np.int64)
    if op in ("any", "all"):
        return np.dtype(bool)
    natural = _natural_dtype(op, given)
    if dtype is None:
        return natural
    dtype = np.dtype(dtype).newbyteorder("=")
    sources = (given, natural) if op in (*SUMS, "mean") else (natural,)
    if not any(casts(source, dtype) for source in sources):
        raise TypeError(
            f"op {op!r} on dtype {given} has no result of dtype {dtype} (a cast of the "
            "same kind)"
        )
    return dtype


def casts(source, dtype):
    if dtype.name == "bfloat16":
        return source.kind in "biuf" or source.name == "bfloat16"
    return np.can_cast(source, dtype, "same_kind")


def _natural_dtype(op, given):
    if op in SUMS and given.kind in "bi":
        return np.dtype(np.int64)
    if op in SUMS and given.kind == "u":
        return np.dtype(np.uint64)
    if op in (*MOMENTS, "logsumexp") and given.kind in "biu":
        return np.dtype(np.float64)
    if op in ("var", "std") and given.kind == "c":
        return np.zeros((), given).real.dtype
    return given


def accumulator_of(op, given, result, is_named):
    """Return the dtype that is computed in: float32 for half types.

    Means and variances are sums of many, which float32 would lose; a dtype that the
    caller names wins over that.
    """
    if op in ("count", "any", "all", *ARGS, *PICKS):
        return given
    if op in ORDER and result == given:
        return given
    kept = half_or(result, np.float32)
    if op in WIDE and not is_named and kept.kind in "fc":
        kept = np.result_type(kept, np.float64)
    if op in ("var", "std") and given.kind == "c":
        return np.result_type(kept, np.complex64)
    return kept
