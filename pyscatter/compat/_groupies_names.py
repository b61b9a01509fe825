"""numpy-groupies' names, the fill value of each function, and its dtype rules.

These are tables and their look-ups; nothing here touches an array of values.
"""

import numpy as np

NAN = float("nan")
PLAIN = (
    "sum prod first last len nunique mean median quantile percentile trapezoid var std "
    "skew kurt all any max min argmax argmin sumofsquares cumsum cumprod cummax cummin"
).split()
NAMES = {*PLAIN, *("nan" + name for name in PLAIN), "allnan", "anynan", "sort", "array"}
ALIASES = {
    "or": "any",
    "and": "all",
    "add": "sum",
    "count": "len",
    "plus": "sum",
    "multiply": "prod",
    "product": "prod",
    "times": "prod",
    "amax": "max",
    "maximum": "max",
    "amin": "min",
    "minimum": "min",
    "split": "array",
    "splice": "array",
    "sorted": "sort",
    "asort": "sort",
    "asorted": "sort",
    "rsorted": "sort",
    "dsort": "sort",
    "kurtosis": "kurt",
}
BUILTINS = {
    all: "all",
    any: "any",
    len: "len",
    max: "max",
    min: "min",
    sum: "sum",
    sorted: "sort",
    slice: "array",
    list: "array",
    np.array: "array",
    np.asarray: "array",
    np.add: "sum",
    np.multiply: "prod",
    np.minimum: "min",
    np.maximum: "max",
}
NUMPY = (
    "sum any all prod amin min amax max argmax argmin mean median quantile percentile "
    "std var sort cumsum cumprod nansum nanprod nanmean nanmedian nanquantile "
    "nanpercentile nanvar nanmax nanmin nanstd nanargmax nanargmin nancumsum trapezoid"
).split()
CALLABLES = {
    **{getattr(np, name): ALIASES.get(name, name) for name in NUMPY},
    **BUILTINS,
}

FILLS = {
    **dict.fromkeys(("sum", "trapezoid", "sumofsquares", "len", "nunique"), 0),
    **dict.fromkeys(("cumsum", "cummax", "cummin"), 0),
    **dict.fromkeys(("prod", "cumprod"), 1),
    **dict.fromkeys(("all", "any", "allnan", "anynan"), False),
    **dict.fromkeys(("argmax", "argmin"), -1),
    **dict.fromkeys(("array", "sort"), ()),
}
TRUTHS = ("all", "any", "allnan", "anynan")
COUNTS = ("len", "nunique")
POSITIONS = ("argmin", "argmax")
AVERAGES = ("mean", "median", "quantile", "percentile", "trapezoid", "skew", "kurt")
SQUARES = ("var", "std", "sumofsquares")
REAL_OF_COMPLEX = {*TRUTHS, *COUNTS, *POSITIONS, *SQUARES, "array"}

WIDER = {
    "b1": "i1",
    "u1": "i2",
    "i1": "i2",
    "u2": "i4",
    "i2": "i4",
    "u4": "i8",
    "i4": "i8",
    "f2": "f4",
    "f4": "f8",
    "f8": "c8",
    "c8": "c16",
}


def canonical(func):
    """Return the name of a known function; the callable itself for another one."""
    if isinstance(func, str):
        name = ALIASES.get(func, func)
        if name in NAMES:
            return name
        if name in ("nanallnan", "nananynan", "nansort", "nanarray"):
            raise ValueError(f"{name[3:]} does not have a nan-version")
    elif type(func).__hash__ is not None and func in CALLABLES:
        return CALLABLES[func]
    if callable(func):
        return func
    raise ValueError(
        f"func {func} is neither a valid function string nor a callable object"
    )


def skips_nan(name):
    """Is it the form of a function that leaves NaN out?"""
    return name.startswith("nan")


def plain_name(name):
    """Return the name of the function without its nan."""
    return name.removeprefix("nan") if name != "nan" else name


def holds(dtype, number):
    """Does `dtype` hold the number as it is? Every dtype is taken to hold NaN."""
    if number == 0 or number != number:
        return True
    try:
        with np.errstate(all="ignore"):
            return bool(np.array(number).astype(dtype) == number)
    except (ValueError, OverflowError):
        return False


def minimum_dtype(number, dtype):
    """Return the first dtype from `dtype` upwards that holds the number."""
    dtype = np.dtype(dtype)
    floats = dtype.kind in "fc"
    while not holds(dtype, number):
        code = f"{dtype.kind}{dtype.itemsize}"
        if code not in WIDER:
            if floats:
                raise ValueError(f"Can not determine dtype of {number!r}")
            return np.dtype(np.float32)
        dtype = np.dtype(WIDER[code])
    return dtype


def result_dtype(name, given, dtype, n):
    """Return the dtype of a result for n values of dtype `given`, by name."""
    plain = plain_name(name)
    if dtype is not None:
        return checked_dtype(plain, name, given, np.dtype(dtype))
    if plain in TRUTHS:
        return np.dtype(bool)
    if plain in COUNTS + POSITIONS:
        return np.dtype(np.int64)
    if plain == "array":
        return np.dtype(object)
    if plain in AVERAGES:
        return given if given.kind in "fc" else np.dtype(np.float64)
    if plain in SQUARES:
        return square_dtype(plain, given)
    if name == "sum" and given.kind in "iub" and given != np.int64:
        top = n if given.kind == "b" else np.iinfo(given).max * n
        return minimum_dtype(top, given)
    return given


def square_dtype(plain, given):
    """Return the real dtype of squares."""
    if given.kind == "f":
        return given
    if given.kind == "c":
        return np.dtype(given.char.lower())
    return np.dtype(np.int64 if plain == "sumofsquares" else np.float64)


def checked_dtype(plain, name, given, dtype):
    """Return the dtype that a caller asked for; TypeError if it loses the result."""
    if dtype.kind == "b" and plain not in TRUTHS:
        raise TypeError(f"function {name} requires a more complex datatype than bool")
    if plain in COUNTS and dtype.kind not in "iu":
        raise TypeError(f"function {name} requires an integer datatype")
    if given.kind == "c" and dtype.kind != "c" and plain not in REAL_OF_COMPLEX:
        raise TypeError(
            f"function {name} cannot aggregate complex values into the non-complex "
            f"dtype {dtype} - pass a complex dtype to keep the imaginary part"
        )
    return dtype


def default_fill(name, dtype):
    """Return what an absent group holds: NaN where the dtype can hold it."""
    fill = FILLS.get(plain_name(name), NAN)
    if fill == fill:
        return fill
    if dtype.kind == "c":
        return complex(NAN, NAN)
    return NAN if dtype.kind == "f" else 0


def check_fill(name, fill, dtype):
    """Raise unless a result of `dtype` can hold the fill value."""
    plain = plain_name(name)
    if fill is None and plain != "array":
        raise TypeError(
            "fill_value=None fills an object result, which is what func='array' "
            "returns and no other function does"
        )
    if plain in ("array", "sort"):
        return
    if dtype.kind == "b":
        if fill not in (0, 1):
            raise ValueError("Value not boolean")
        return
    try:
        dtype.type(fill)
    except (ValueError, TypeError, OverflowError) as error:
        text = f"fill_value must be convertible into {dtype.type.__name__}"
        raise ValueError(text) from error
