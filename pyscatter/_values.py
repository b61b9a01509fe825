"""Values that need words: lists of Python numbers, and which arrays are masked.

The binding calls these for what is rare; scalars and arrays never come here.
"""

import sys

import numpy as np

WEAK_TYPES = (bool, int, float, complex)


def is_masked(array):
    """Is it a masked array? Its mask would be lost, so the binding refuses it."""
    masked = sys.modules.get("numpy.ma")
    return masked is not None and isinstance(array, masked.MaskedArray)


def as_plain(array, name):
    """Return an array whose elements are all there is to it."""
    if is_masked(array):
        raise TypeError(
            f"'{name}' is a masked array, whose mask would be lost (use .filled() or "
            ".data)"
        )
    return np.asarray(array)


def weak_values(values, dtype, is_unsafe):
    """Return an array of weak values, or None where the usual casting rules hold.

    Weak are Python numbers and lists or tuples of them (exact types): they are checked
    against the range of `dtype`, the target's, and kept wide.
    """
    if isinstance(values, (list, tuple)):
        kinds = set()
        if not _collect_kinds(values, kinds):
            return None
    elif type(values) in WEAK_TYPES:
        kinds = {type(values)}
    else:
        return None
    if dtype.kind in "mMOSUVT" and not _is_bfloat16(dtype):
        return None
    if is_unsafe:
        return np.asarray(values, _wide_dtype(kinds, None))
    return _checked(values, kinds, dtype)


def _is_bfloat16(dtype):
    return dtype.name == "bfloat16"


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


def _wide_dtype(kinds, dtype):
    if complex in kinds:
        return np.complex128
    if float in kinds:
        return np.float64
    if int in kinds:
        return None
    return bool if kinds else dtype


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
