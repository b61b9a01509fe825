"""What messages say: what an argument is instead of what was wanted, and what to do.

Those that name an index out of bounds, and the exceptions themselves, are compared with
the slow twin's elsewhere.
"""

import numpy as np
import pytest

import pyscatter as ps


def target():
    return np.arange(5.0)


LABELS = "(number the labels first: ids, labels = ps.factorize(labels))"
SEQUENCE = "(pass a list or an array)"
EXPRESSION = "(scatter_at and gather_at take index expressions)"
# By name: what is no index, made anew for each call, and how the message goes on.
NO_INDICES = {
    "strings": (lambda: ["b", "a"], f"has dtype <U1* {LABELS}"),
    "bytes": (lambda: [b"b"], f"has dtype |S1* {LABELS}"),
    "dates": (
        lambda: np.array(["2020"], "M8[D]"),
        f"has dtype datetime64[D]* {LABELS}",
    ),
    "bools": (lambda: np.ones((2, 2), bool), "has dtype bool* (a mask goes through"),
    "whole floats": (
        lambda: [0.0, 1.0],
        "has dtype float64* (the values are whole: use",
    ),
    "floats": (lambda: [0, 1.5], "has dtype float64* (1.5 at position 1 is not whole)"),
    "NaN": (lambda: [1, np.nan], "has dtype float64* (nan at position 1 is not whole)"),
    "infinity": (lambda: np.float16([np.inf]), "* (inf at position 0 is not whole)"),
    "floats that are too large": (
        lambda: np.array([0, 2.0**63]),
        "* (9.223372036854776e+18 at position 1 does not fit in 64 bits)",
    ),
    "complex": (lambda: [1j], "has dtype complex128*"),
    "records": (lambda: np.zeros(2, [("i", int)]), "has dtype [('i', '<i8')]*"),
    "set": (lambda: {0, 1}, f"is a set* {SEQUENCE}"),
    "dict": (lambda: {0: 1}, f"is a dict* {SEQUENCE}"),
    "keys": (lambda: {0: 1}.keys(), f"is a dict_keys* {SEQUENCE}"),
    "generator": (lambda: (i for i in "a"), f"is a generator* {SEQUENCE}"),
    "iterator": (lambda: iter([0]), f"is a list_iterator* {SEQUENCE}"),
    "function": (lambda: len, "is a builtin_function_or_method*"),
    "objects": (
        lambda: np.array([0, 1], object),
        "has dtype object* (its elements are",
    ),
    "None in a list": (lambda: [0, None], "holds None at position 1*"),
    "words among objects": (
        lambda: np.array([0, "a"], object),
        f"holds a str at position 1* {LABELS}",
    ),
    "large numbers": (
        lambda: [0, 10**5000],
        "holds an integer that does not fit in 64 bits at position 1*",
    ),
    "a large number": (
        lambda: 2**64,
        "is an integer that does not fit in 64 bits*",
    ),
}
# What is no index for those alone that take no index expressions.
NO_AXIS_INDICES = {
    "None": (lambda: None, "is None*"),
    "slice": (lambda: slice(2), f"is a slice* {EXPRESSION}"),
    "Ellipsis": (lambda: ..., f"is an ellipsis* {EXPRESSION}"),
    "expression": (lambda: (0, slice(2)), f"holds a slice at position 1* {EXPRESSION}"),
}
INDEXED = {
    "scatter": ("'index'", lambda index: ps.scatter(target(), index, 1.0)),
    "gather": ("'index'", lambda index: ps.gather(target(), index)),
    "along": ("'index'", lambda index: ps.gather_along_axis(target(), index)),
    "nd": ("'indices'", lambda index: ps.scatter_nd(target(), index, 1.0)),
    "axis=": ("'indices'", lambda index: ps.add_at(target(), index, 1.0, axis=0)),
    "Plan": ("'index'", lambda index: ps.Plan(index, 5)),
}
EXPRESSIONS = {
    "scatter_at": lambda index: ps.scatter_at(target(), index, 1.0),
    "gather_at": lambda index: ps.gather_at(target(), (index,)),
    "add_at": lambda index: ps.add_at(target(), index, 1.0),
}


@pytest.mark.parametrize("kind", {**NO_INDICES, **NO_AXIS_INDICES})
@pytest.mark.parametrize("name", INDEXED)
def test_what_is_no_index(name, kind):
    argument, call = INDEXED[name]
    make, says = {**NO_INDICES, **NO_AXIS_INDICES}[kind]
    with pytest.raises(TypeError) as raised:
        call(make())
    said = says.replace("*", "; expected integers")
    assert said in str(raised.value)
    assert str(raised.value).startswith(argument)


@pytest.mark.parametrize("kind", [k for k in NO_INDICES if k != "bools"])
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_what_is_no_expression(name, kind):
    make, says = NO_INDICES[kind]
    with pytest.raises(IndexError) as raised:
        EXPRESSIONS[name](make())
    assert str(raised.value).startswith("only integers, slices (`:`), ellipsis")
    assert says.replace("*", "") in str(raised.value)


# By name: the exception, the message or its beginning, and the call.
TABLE = np.zeros((3, 4))
INTEGERS = np.arange(5)
MESSAGES = {
    "flat, scatter": (
        ValueError,
        "axis=None takes 'a' as flat, so 'index' must have one dimension, not 2",
        lambda: ps.scatter_along_axis(TABLE, [[0, 1]], [[1.0, 2.0]], None),
    ),
    "flat, gather": (
        ValueError,
        "axis=None takes 'a' as flat, so 'index' must have one dimension, not 0",
        lambda: ps.gather_along_axis(TABLE, 0, None),
    ),
    "flat, values along": (
        ValueError,
        "values has shape (3,); expected to broadcast to (2,) = index.shape",
        lambda: ps.scatter_along_axis(TABLE, [0, 1], np.ones(3), None),
    ),
    "flat, values": (
        ValueError,
        "values has shape (3,); expected to broadcast to (1, 2) = index.shape",
        lambda: ps.scatter(TABLE, [[0, 1]], np.ones(3), None),
    ),
    "axes along": (
        ValueError,
        "'index' has ndim 1; expected 2, that of 'a'",
        lambda: ps.gather_along_axis(TABLE, [0]),
    ),
    "index of a drop-in along an axis": (
        IndexError,
        "index 9 is out of bounds for axis 0 with size 5 (position 0 of 1 in 'indices'",
        lambda: ps.add_at(INTEGERS, [9], 1, axis=0),
    ),
    "mask of positions": (
        TypeError,
        "'mask' has dtype int64; expected bool (compare first, as in x != 0; "
        "positions go through scatter and gather)",
        lambda: ps.scatter_where(TABLE, [0, 2], 1.0),
    ),
    "mask of strings": (
        TypeError,
        "'mask' has dtype <U1; expected bool",
        lambda: ps.gather_where(TABLE, list("abc")),
    ),
    "axis of a mask": (
        TypeError,
        "axis must be an integer, got 'x'",
        lambda: ps.gather_where(TABLE, [True] * 3, "x"),
    ),
    "fill value that is no integer": (
        TypeError,
        "cannot cast 1.5 to dtype int64 (convert it first",
        lambda: ps.gather(INTEGERS, [9], mode="fill", fill_value=1.5),
    ),
    "fill values": (
        ValueError,
        "fill_value must be one item, not an array",
        lambda: ps.gather(INTEGERS, [9], mode="fill", fill_value=[1, 2]),
    ),
    "values of a drop-in along an axis": (
        ValueError,
        "values has shape (3,); expected to broadcast to (2, 4) = a.shape[:axis] + "
        "indices.shape + a.shape[axis+1:]",
        lambda: ps.add_at(TABLE, [0, 1], np.ones(3), axis=0),
    ),
    "where of positions": (
        TypeError,
        "'where' has dtype int64; expected bool (compare first, as in x != 0",
        lambda: ps.scatter(TABLE, [0, 1], 1.0, where=[0, 1]),
    ),
    "choice that is no integer": (
        TypeError,
        "cannot cast 1.5 to dtype int64 (convert it first",
        lambda: ps.where(INTEGERS > 2, INTEGERS, 1.5, dtype=int),
    ),
    "list of floats for integers": (
        TypeError,
        "cannot cast Python numbers of type float to dtype int64 (convert them first",
        lambda: ps.add_at(INTEGERS, [0], [1.5]),
    ),
    "out that is no array": (
        TypeError,
        "'out' must be a NumPy array, since it is written to; got list",
        lambda: ps.gather(INTEGERS, [0], out=[0]),
    ),
    "one positional argument": (
        TypeError,
        "nonzero() takes at most 1 positional argument (2 given)",
        lambda: ps.nonzero(INTEGERS, 3),
    ),
    "function that returns too much": (
        ValueError,
        "f1 returned shape (4,); expected (2,), one for each of its elements",
        lambda: ps.apply_where(
            INTEGERS > 2, INTEGERS, lambda x: np.tile(x, 2), fill_value=0
        ),
    ),
    "function that returns too little": (
        ValueError,
        "f2 returned shape (1,); expected (3,), one for each of its elements",
        lambda: ps.apply_where(INTEGERS > 2, INTEGERS, np.sqrt, lambda x: x[:1]),
    ),
    "function that is none": (
        TypeError,
        "f1 must be callable, got 3",
        lambda: ps.apply_where(INTEGERS > 2, INTEGERS, 3, fill_value=0),
    ),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_message(name):
    error, says, call = MESSAGES[name]
    with pytest.raises(error) as raised:
        call()
    assert str(raised.value).startswith(says)
    assert not TABLE.any() and INTEGERS.tolist() == [0, 1, 2, 3, 4]
