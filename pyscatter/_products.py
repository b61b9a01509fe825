"""Types of products of sparse and dense matrices, beyond operands of one dtype."""

import numpy as np

from pyscatter import _core


def product_types(dtypes, form, alpha, beta, fill_value, dtype):
    """
    Settle what a product is computed in and what its result is.

    Parameters
    ----------
    dtypes : tuple of dtype or None
        Those of the operands; None is absent data, which act as bools.
    form : {"add", "mean", "extreme", "or_and"}
        How products meet.
    alpha, beta, fill_value : scalar or None
        Factors, and what empty rows become.
    dtype : dtype_like or None
        What the caller asks for.

    Returns
    -------
    tuple
        The accumulator's dtype and the result's; then alpha, beta and fill_value as
        arrays of one element of the accumulator's dtype, or None where they take no
        part.
    """
    given = [np.dtype(bool) if one is None else one for one in dtypes]
    factors = [scalar(one, name) for one, name in ((alpha, "alpha"), (beta, "beta"))]
    result = result_dtype(
        given, [one for one in factors if one is not None], form, dtype
    )
    accumulator = np.dtype(np.float32) if is_half(result) else result.newbyteorder("=")
    alpha, beta = (element(one, accumulator) for one in factors)
    if beta is not None and beta[0] == 0:
        beta = None
    if fill_value is None:
        empty = element(np.nan, accumulator) if form == "mean" else None
    else:
        empty = filling(fill_value, accumulator)
    return accumulator, result, alpha, beta, empty


def result_dtype(given, factors, form, dtype):
    """Return NumPy's promotion, or what the caller asks for."""
    if dtype is not None:
        asked = np.dtype(dtype)
        if form == "or_and" and asked != np.bool_:
            raise TypeError(f"semiring 'or_and' gives bools, not {asked}")
        if form != "or_and":
            for one in given:
                _core.require_cast("an operand", one, asked, "same_kind")
        return refuse_long(asked)
    if form == "or_and":
        return np.dtype(bool)
    promoted = np.result_type(*given, *factors)
    if form == "mean" and promoted.kind in "biu":
        promoted = np.dtype(np.float64)
    return refuse_long(promoted)


def refuse_long(dtype):
    """Return a dtype that products are defined for."""
    is_long = (
        dtype.char in "gG" and dtype.itemsize > np.dtype(dtype.kind + "8").itemsize
    )
    if is_long or not (dtype.kind in "biufc" or is_half(dtype)):
        raise TypeError(
            "products are of bools, integers, floats or complex numbers of at most "
            f"double precision, not {dtype}"
        )
    return dtype.newbyteorder("=")


def is_half(dtype):
    """Whether values of a dtype are computed in float32."""
    return dtype == np.float16 or dtype.name == "bfloat16"


def scalar(value, name):
    """Return a number as promotion takes it: Python's own are weak."""
    if value is None or type(value) in (bool, int, float, complex):
        return value
    array = np.asarray(value)
    if array.ndim != 0 or array.dtype.kind not in "biufcV":
        raise TypeError(f"{name} must be a number, got {value!r}")
    return array[()]


def element(value, dtype):
    """Return an array of one element, which outlives the call's temporaries."""
    return None if value is None else np.full(1, value, dtype)


def filling(value, dtype):
    """Return `fill_value` as an element, where its kind allows that."""
    value = scalar(value, "fill_value")
    if type(value) in (bool, int, float, complex):
        kind = np.result_type(dtype, value)
        if kind != dtype:
            raise TypeError(f"fill_value {value!r} does not fit a result of {dtype}")
    else:
        _core.require_cast("fill_value", value.dtype, dtype, "same_kind")
    return element(value, dtype)
