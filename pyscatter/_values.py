"""Values that need words: lists of Python numbers.

The binding calls these for what is rare; scalars and arrays never come here.
"""

import numpy as np

from pyscatter._core import as_plain, require_cast

WEAK_TYPES = (bool, int, float, complex)
KIND_RANKS = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}  # the rank of each weak type


def arriving(values, target, casting):
    """Return values, whose cast to the dtype `target` the rule allows, as an array."""
    values = as_plain(values, "values")
    require_cast("values", values.dtype, target, casting)
    return values


def weak_values(values, dtype, casting):
    """Return an array of weak values, or None where the usual casting rules hold.

    Weak are Python numbers and lists or tuples of them (exact types): they are checked
    against the range of `dtype`, the target's, and kept wide. Which of them the rule
    `casting` allows is what np.copyto does with one of their type.
    """
    if isinstance(values, (list, tuple)):
        kinds = set()
        if not _collect_kinds(values, kinds):
            return None
    elif type(values) in WEAK_TYPES:
        kinds = {type(values)}
    else:
        return None
    if dtype.kind in "mMOSUVT" and not is_bfloat16(dtype):
        return None
    if casting == "unsafe" and _rank(kinds) > KIND_RANKS.get(dtype.kind, 2):
        return np.asarray(values, complex if complex in kinds else None)
    if casting not in ("same_kind", "unsafe"):
        _check_casting(kinds, dtype, casting)
    return _checked(values, kinds, dtype)


def _rank(kinds):
    return max(map(WEAK_TYPES.index, kinds), default=0)


def _check_casting(kinds, dtype, casting):
    """Ask np.copyto, whose rules for Python numbers are its own."""
    for kind in kinds:
        try:
            np.copyto(np.empty((), dtype), kind(), casting=casting)
        except TypeError:
            raise TypeError(
                f"cannot cast a Python {kind.__name__} to {dtype} according to the "
                f"rule '{casting}'"
            ) from None


def is_bfloat16(dtype):
    """Whether a dtype is that of ml_dtypes, by the name of its type.

    Asked for `dtype.name`, NumPy makes a string that the interpreter's cache of types
    keeps, a new one each time.
    """
    return dtype.isbuiltin == 2 and dtype.type.__name__ == "bfloat16"


def _collect_kinds(values, kinds):
    """Gather the exact types of all leaves; False when one is not a Python number."""
    for value in values:
        if isinstance(value, (list, tuple)):
            if not _collect_kinds(value, kinds):
                return False
        elif type(value) in WEAK_TYPES:
            kinds.add(type(value))
        else:
            return False
    return True


def _checked(values, kinds, dtype):
    if dtype.kind == "b":
        _refuse(kinds - {bool}, dtype)
        return np.asarray(values, bool)
    if dtype.kind in "iu":
        _refuse(kinds - {bool, int}, dtype)
        return _integers(values, dtype)
    if dtype.kind == "c":
        return np.asarray(values, np.result_type(dtype, np.complex128))
    _refuse(kinds - {bool, int, float}, dtype)
    if int in kinds:
        values = _floats(values)
    return np.asarray(values, dtype if dtype.char == "g" else np.float64)


def _floats(values):
    """Ints as float(int), which is what other libraries and NumPy make of them."""
    if isinstance(values, (list, tuple)):
        return [_floats(value) for value in values]
    return float(values)


def _refuse(kinds, dtype):
    if kinds:
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise TypeError(
            f"cannot cast Python numbers of type {names} to dtype {dtype} (convert "
            'them first, or pass casting="unsafe" to a function that takes it)'
        )


def _integers(values, dtype):
    np.asarray(values)  # refuses lists that are no rectangle
    info = np.iinfo(dtype)
    wide = np.array(values, dtype=object)
    for value in wide.ravel():
        if not info.min <= value <= info.max:
            raise OverflowError(f"Python integer {value} is out of bounds for {dtype}")
    return wide.astype(dtype)
