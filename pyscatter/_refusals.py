"""What is wrong with an index that is not of integers, in words.

The binding asks when it refuses one. Elements are looked at for their types alone, so
that none of their own code runs.
"""

import numpy as np

LABELS = "number the labels first: ids, labels = ps.factorize(labels)"
EXPRESSION = "scatter_at and gather_at take index expressions"
EXPRESSIONS = (slice, type(Ellipsis))
LIMIT = 2**63


def index_trouble(index, array, wanted="; expected integers"):
    """Say what `index`, which became `array`, is, and what to do about it."""
    if array.dtype.kind != "O":
        what, advice = f"has dtype {array.dtype}", _advice_on_dtype(array)
    elif array.ndim == 0 and not issubclass(type(index), np.ndarray):
        what, advice = _look_at_object(index)
    else:
        what, advice = _look_at_elements(index, array)
    return f"{what}{wanted}" + (f" ({advice})" if advice else "")


def _advice_on_dtype(array):
    kind = array.dtype.kind
    if kind == "b":
        return "a mask goes through np.nonzero, or scatter_where and gather_where"
    if kind in "USTmM":
        return LABELS
    return _advice_on_floats(array) if kind == "f" else ""


def _advice_on_floats(array):
    flat = array.reshape(-1).astype(np.longdouble)
    for bad, why in (
        (~np.isfinite(flat) | (np.floor(flat) != flat), "is not whole"),
        (np.abs(flat) >= LIMIT, "does not fit in 64 bits"),
    ):
        if bad.any():
            position = int(bad.argmax())
            return f"{array.flat[position]} at position {position} {why}"
    return "the values are whole: use .astype(np.intp)"


def _look_at_object(index):
    """Return what a thing is that NumPy does not read as an array, and the advice."""
    if index is None:
        return "is None", ""
    if type(index) in EXPRESSIONS:
        return f"is {_with_article(index)}", EXPRESSION
    if type(index) is int:
        return "is an integer that does not fit in 64 bits", ""
    advice = "pass a list or an array" if hasattr(type(index), "__iter__") else ""
    return f"is {_with_article(index)}", advice


def _look_at_elements(index, array):
    """Return what stands in an array of objects where an integer should, and advice."""
    for position, element in enumerate(array.flat):
        if type(element) is int:
            if not -LIMIT <= element < LIMIT:
                what = "an integer that does not fit in 64 bits"
                return f"holds {what} at position {position}", ""
        elif not issubclass(type(element), np.integer):
            return _look_at_element(index, element, position)
    return "has dtype object", "its elements are integers: use .astype(np.intp)"


def _look_at_element(index, element, position):
    advice = ""
    if issubclass(type(element), (str, bytes)):
        advice = LABELS
    elif type(index) is tuple and type(element) in EXPRESSIONS:
        advice = EXPRESSION
    what = "None" if element is None else _with_article(element)
    return f"holds {what} at position {position}", advice


def _with_article(thing):
    name = type(thing).__name__
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"
