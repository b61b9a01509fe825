"""Indices of libraries that do not count from the end.

pyscatter's mode="raise" counts negative indices from the end. Libraries that refuse
them get the same bytes read as unsigned integers: what was negative is then out of
bounds, is refused by the one check that every call makes anyhow, and costs no pass.
"""

import contextlib
import re

import numpy as np

PATTERN = re.compile(r"index (\d+)")


def unsigned(index):
    """Return an index whose negative entries are out of bounds.

    Parameters
    ----------
    index : array_like of integers
        Of any dtype that an index may have; others are left to the call's own check.

    Returns
    -------
    ndarray
        A view of the same memory, of unsigned integers.
    """
    index = np.asarray(index)
    if index.dtype.kind == "i":
        return index.view(index.dtype.str.replace("i", "u"))
    if index.size == 0 and index.dtype.kind == "f":
        return index.astype(np.intp)  # an empty list has no dtype of its own
    return index


@contextlib.contextmanager
def in_their_words(index):
    """Have an IndexError name the index as the caller wrote it.

    Parameters
    ----------
    index : array_like of integers
        What `unsigned` was given.

    Raises
    ------
    IndexError
        With a negative number where the unsigned one stood.
    """
    try:
        yield
    except IndexError as error:
        dtype = np.asarray(index).dtype
        bits = 8 * dtype.itemsize if dtype.kind == "i" else 0
        message = PATTERN.sub(lambda m: f"index {signed(int(m[1]), bits)}", str(error))
        raise IndexError(message) from None


def signed(number, bits):
    """Return the number that an unsigned one was before it was read so."""
    return number - (1 << bits) if bits and number >> (bits - 1) else number
