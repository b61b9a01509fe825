"""Memory for the result of a call that another package takes over without a copy.

A runtime of tensors takes an array as it is only where the array begins at a multiple
of 64 bytes; NumPy's begin anywhere. So a large result is written into memory that
begins there. The array is nobody else's: once it is handed over, no one writes to it.
"""

import math

import numpy as np

from pyscatter.adapters._calls import dtype_of, shape_of

ALIGNMENT = 64
# Below this a copy costs less than working out shape and dtype: 20 us.
LARGE = 1 << 18


def room(shape, dtype):
    """Return an array of unset elements that begins at a multiple of the alignment."""
    dtype = np.dtype(dtype)
    nbytes = math.prod(shape) * dtype.itemsize
    raw = np.empty(nbytes + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + nbytes].view(dtype).reshape(shape)


def is_aligned(x):
    """Can a runtime take an array as it is?"""
    flags = x.flags
    return flags.c_contiguous and flags.writeable and not x.ctypes.data % ALIGNMENT


def run(call, arrays):
    """Return the result of a call, a large one where a runtime can take it."""
    return call.run(arrays, out=room_for(call, arrays))


def room_for(call, arrays):
    """Return room for a large result; None for a small one and for a bad call."""
    if max((x.nbytes for x in arrays), default=0) < LARGE:
        return None
    try:
        shape = shape_of(call, [x.shape for x in arrays])
        return room(shape, dtype_of(call, [x.dtype for x in arrays]))
    except (IndexError, TypeError, ValueError, OverflowError, MemoryError):
        return None  # the call itself refuses it, or finds the shape in the numbers
