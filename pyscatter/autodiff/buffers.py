"""Gradients on their way out: made dense or row-sparse, or added to buffers.

A rule returns an array, a tuple of them for a tuple of arguments, or something lazy: an
object with `dense()`, `add_to(buffer)` and `sparse()`, which adds without making the
whole array first.
"""

import numpy as np

from pyscatter.sparse import COO, CSC, CSR, Sparse


def is_matrix(x):
    """Whether an argument is a sparse matrix, ours or another's."""
    return hasattr(x, "format") and hasattr(x, "data") and hasattr(x, "shape")


def dtype_of(x):
    """Return the dtype of an argument, None for weak numbers and absent data."""
    if isinstance(x, np.ndarray):
        return x.dtype
    if is_matrix(x):
        return None if x.data is None else np.asarray(x.data).dtype
    if x is None or is_weak(x):
        return None
    return np.asarray(x).dtype


def is_weak(x):
    """Whether an argument is a Python number, or a list of nothing else."""
    if type(x) in (list, tuple):
        return all(map(is_weak, x))
    return type(x) in (int, float, complex)


def fitted(gradient, primal, dtype):
    """Return a gradient in the precision of its cotangent, real for what is real."""
    real = primal is None or primal.kind != "c"
    if dtype.kind == "c" and real:
        dtype = np.dtype(f"f{dtype.itemsize // 2}")
    elif dtype.kind != "c" and not real:
        dtype = np.result_type(dtype, np.complex64)
    if gradient.dtype.kind == "c" and real:
        gradient = np.ascontiguousarray(gradient.real)
    return gradient.astype(dtype, copy=False)


def with_data(A, data):
    """Return a matrix of the same structure and class with other values."""
    if isinstance(A, Sparse):
        return A._with_data(data)
    if A.format == "coo":
        parts = (data, (A.row, A.col))
    else:
        parts = (data, A.indices, A.indptr)
    if type(A).__module__.startswith("scipy."):
        return type(A)(parts, shape=A.shape)
    return {form.format: form for form in (CSR, CSC, COO)}[A.format](parts, A.shape)


def finished(part, x, dtype, sparse, coalesce):
    """Return a rule's gradient of an argument as the caller wants it."""
    if type(part) is not np.ndarray and part is not None and not sparse:
        part = part if type(part) is tuple else part.dense()
    if type(part) is np.ndarray and type(x) is np.ndarray:
        if part.dtype is dtype and x.dtype.kind == dtype.kind:
            return part
    if part is None:
        return None
    if isinstance(part, tuple):
        return tuple(
            finished(p, y, dtype, sparse, coalesce)
            for p, y in zip(part, x, strict=True)
        )
    if not isinstance(part, np.ndarray):
        rows = part.sparse() if sparse else None
        if rows is not None:
            return rows.coalesce() if coalesce else rows
        part = part.dense()
    part = fitted(part, dtype_of(x), dtype)
    return with_data(x, part) if is_matrix(x) else part


def overlap(x, y):
    """Whether two arrays share memory, or would take long to tell."""
    try:
        return np.shares_memory(x, y, max_work=1000)
    except np.exceptions.TooHardError:
        return True


def arrays_of(x):
    """Yield the arrays that an argument consists of."""
    if isinstance(x, np.ndarray):
        yield x
    elif is_matrix(x):
        yield from (y for y in vars_of(x) if isinstance(y, np.ndarray))
    elif isinstance(x, (tuple, list)):
        for y in x:
            if isinstance(y, np.ndarray):
                yield y


def vars_of(A):
    """Return the arrays of a matrix."""
    names = ("data", "indices", "indptr", "row", "col")
    return [getattr(A, name, None) for name in names]


def shape_of(x):
    """Return the shape of an argument's gradient."""
    return np.shape(x.data) if is_matrix(x) else np.shape(x)


def pairs_of(into, parts, primals):
    """Return (position, buffer, gradient, primal) of what is to be added."""
    if isinstance(into, np.ndarray) or not hasattr(into, "__len__"):
        raise ValueError("into must be a tuple or list with a buffer for each argument")
    if len(into) != len(primals):
        raise ValueError(f"into has {len(into)} buffers for {len(primals)} arguments")
    pairs = []
    for i, (buffer, part, x) in enumerate(zip(into, parts, primals, strict=True)):
        if buffer is None:
            continue
        if isinstance(part, tuple):
            pairs += [(i, *three) for three in zip(buffer, part, x, strict=True)]
        else:
            pairs.append((i, buffer, part, x))
    return pairs


def require_buffers(pairs, primals, g):
    """Refuse buffers that cannot receive a gradient, before anything is written."""
    inputs = [y for x in primals for y in arrays_of(x)]
    inputs += [] if g is None else [g]
    seen = []
    for i, buffer, part, x in pairs:
        what = f"the buffer of argument {i}"
        if part is None and g is not None:
            raise ValueError(f"{what} would stay as it is: there is no gradient of it")
        if not isinstance(buffer, np.ndarray):
            raise ValueError(f"{what} must be an ndarray, got {type(buffer).__name__}")
        if buffer.shape != shape_of(x):
            raise ValueError(f"{what} has shape {buffer.shape}; expected {shape_of(x)}")
        if not (buffer.dtype.char in "efdFD" or buffer.dtype.name == "bfloat16"):
            raise ValueError(f"{what} has dtype {buffer.dtype}; expected floats")
        primal = dtype_of(x)
        if primal is not None and primal.kind == "c" and buffer.dtype.kind != "c":
            raise ValueError(f"{what} has dtype {buffer.dtype}; expected complex")
        if not buffer.flags.writeable:
            raise ValueError(f"{what} is read-only")
        if any(overlap(buffer, other) for other in inputs + seen):
            raise ValueError(f"{what} shares memory with an input or another buffer")
        seen.append(buffer)


def add_one(part, buffer, x, dtype):
    """Add a gradient to its buffer."""
    if part is None:
        return
    if isinstance(part, np.ndarray):
        part = fitted(part, dtype_of(x), dtype)
        np.add(buffer, part, out=buffer, casting="same_kind")
    else:
        part.add_to(buffer)


def add_all(parts, primals, into, g, sparse=False, coalesce=False):
    """Add gradients to buffers; nothing is written if one of these does not do.

    Returns a tuple of the buffers, and of finished gradients where there is none.
    """
    pairs = pairs_of(into, parts, primals)
    require_buffers(pairs, primals, g)
    done = []
    for i, buffer, part, x in pairs:
        try:
            add_one(part, buffer, x, None if g is None else g.dtype)
        except BaseException as error:
            which = ", ".join(map(str, done)) or "none"
            error.add_note(f"gradients of these arguments had been added: {which}")
            raise
        done.append(i)
    dtype = None if g is None else g.dtype
    return tuple(
        finished(part, x, dtype, sparse, coalesce) if buffer is None else buffer
        for part, x, buffer in zip(parts, primals, into, strict=True)
    )
