"""The delta family: what turns one array into another, exactly.

The function is a C function and `Delta` a C type; this module gives them their names
and their text.
"""

from pyscatter._core import Delta, delta
from pyscatter._docs import complete, document

document(
    delta,
    '(old, new, *, granularity="element", top_k=None, threshold=None, '
    'op="overwrite", encoding="auto")',
    """
    Find what turns one array into another, bit for bit.

    Parameters
    ----------
    old : array_like
        The array as it was: numbers, bools, datetimes or timedeltas.
    new : array_like
        What it has become, of equal shape and dtype; either may have any byte order and
        layout. Elements are compared as bits: -0.0 differs from 0.0, and a NaN from a
        NaN of other bits.
    granularity : {"element", "row", "block"}, optional
        What is stored when any of it differs: the element (default), the row along the
        first axis, or the block of 4,096 bytes in C order.
    top_k : int, optional
        Store only so many elements, rows or blocks: those of the largest difference.
        The difference of a row or block is the largest of its elements; what is not
        finite comes first, and of equals the first ones. By default all.
    threshold : float, optional
        Store only what differs by more than this, or by something that is not finite.
        With `top_k`, the largest of those.
    op : {"overwrite", "xor", "add"}, optional
        "overwrite" (default) stores the new bits: it may be applied twice, and to
        arrays that differ elsewhere. "xor" stores which bits turn over, so the delta is
        its own opposite and compresses well. "add" stores differences of integers,
        which wrap: such deltas may be applied in any order.
    encoding : str, optional
        How positions are written down: "index32", "index64", "gap16", "runs", "bitmap",
        or "dense", where everything is stored. "auto" (default) takes what is smallest.

    Returns
    -------
    Delta
        ``delta(old, new).apply(old)`` has the bytes of `new`, unless `top_k` or
        `threshold` leave something out.

    Raises
    ------
    ValueError
        Shapes or dtypes differ; an unknown name; a negative `top_k` or `threshold`, or
        NaN; op "add" on what is no integer; an array without axes has no rows;
        "index32" for more than 2**32 elements.
    TypeError
        Objects, strings, records, masked arrays; a `top_k` that is no integer.
    MemoryError
        There is no room for the result.

    Notes
    -----
    *Order and duplicates*: positions ascend and none comes twice.

    *Determinism*: the same bytes for any number of threads and any CPU level.

    *Derivatives*: none; bits have none. Where a gradient is wanted, add differences by
    `scatter`.

    *Cost*: one read of both arrays; a bit for each element and an eighth of an array as
    work memory, most of it untouched when little differs. Arrays that are not
    contiguous, native and aligned are copied.

    See Also
    --------
    Delta, explain_diff, flatnonzero, scatter
    numpy.flatnonzero(old != new), torch.ne and torch.nonzero, xdelta

    Examples
    --------
    >>> import numpy as np
    >>> import pyscatter as ps
    >>> old = np.array([1.0, 0.0, np.nan, 4.0])
    >>> new = np.array([1.0, -0.0, np.nan, 5.0])
    >>> change = ps.delta(old, new)
    >>> change.positions
    array([1, 3])
    >>> change.values.view(change.dtype)
    array([-0.,  5.])
    >>> change.apply(old).tobytes() == new.tobytes()
    True
    """,
)

Delta.__doc__ = complete(
    """
    What turns one array into another: positions, and what is stored of each.

    `delta` makes one, `from_bytes` reads one; the constructor takes its parts.

    Parameters
    ----------
    shape : tuple of int
        Of the arrays that the delta is for.
    dtype : dtype
        Theirs.
    base_version : int or None
        The version that the delta is for, in the caller's own numbering.
    version : int or None
        The version that it makes.
    encoding : str
        See `delta`.
    positions : array_like of int, shape (n,), or None
        Numbers of elements in C order, of rows or of blocks, ascending. None: all.
    values : array_like
        What is stored of each, one after the other: elements of `dtype`, or unsigned
        integers as wide.
    checksum_new : int or None, optional
        Checksum of the result, as `delta` finds it.
    checksum_base : int or None, optional
        Checksum of the base.
    op : {"overwrite", "xor", "add"}, optional
        See `delta`.
    granularity : {"element", "row", "block"}, optional
        See `delta`.

    Returns
    -------
    Delta
        Immutable, and safe to use from several threads. It holds copies.

    Attributes
    ----------
    shape, dtype, base_version, version, encoding, op, granularity
        As above; dtype is native.
    positions
        An array of int64. ``len(delta)`` is its length.
    values
        A read-only view: unsigned integers as wide as an element (bytes where it has
        16), of rows in their shape; ``values.view(delta.dtype)`` are elements.
    checksum_new, checksum_base
        None, or what ``verify=`` compares.
    nbytes
        Length of ``to_bytes()``.

    Methods
    -------
    apply(target, out=None, *, verify="none", base_version=None)
        The array that `target` becomes: a new one, or `out`, which may be the target
        itself. ``verify="base"`` compares the checksum of the target first, "new" that
        of the result, before anything is written, "both" both. `base_version` says
        which version the target has. ValueError for another shape, dtype, version or
        checksum; the target is left as it was.
    invert(old=None)
        The delta of the way back. One that overwrites has to be given the array that it
        was made from.
    compose(other)
        One delta for this one and then `other`. Shape, dtype, granularity and op have
        to be equal; versions and checksums have to meet where both are known.
    to_bytes()
        The delta as bytes, little-endian, ending in the XXH64 of all bytes before it.
    from_bytes(buffer)
        The delta of such bytes, which may come from anybody: whatever is wrong with
        them is a ValueError.
    with_versions(base_version, version)
        The same delta with these versions.

    Raises
    ------
    ValueError
        Positions that do not ascend, values of another size, an unknown name, a size
        that does not fit in 64 bits.
    IndexError
        A position is out of bounds.
    TypeError
        Positions that are not integers, a dtype that `delta` does not take.
    OverflowError
        A version or checksum does not fit in 64 bits.

    Notes
    -----
    *Order and duplicates*: positions ascend strictly, so no order can matter.

    *Determinism*: the same bytes for any number of threads and any CPU level.

    *Derivatives*: none.

    *Cost*: applying reads positions and values once and touches the elements that they
    name; ``verify=`` reads the whole target.

    See Also
    --------
    delta, scatter
    numpy.put, torch.Tensor.index_copy_, bsdiff

    Examples
    --------
    >>> import numpy as np
    >>> import pyscatter as ps
    >>> old, new = np.zeros(1000, np.float32), np.zeros(1000, np.float32)
    >>> new[[3, 500]] = 1, 2
    >>> wire = ps.delta(old, new).to_bytes()
    >>> change = ps.Delta.from_bytes(wire)
    >>> change.positions
    array([  3, 500])
    >>> len(wire), change.nbytes, new.nbytes
    (104, 104, 4000)
    >>> replica = old.copy()
    >>> change.apply(replica, out=replica, verify="both") is replica
    True
    >>> bool((replica == new).all())
    True
    >>> change.invert(old).apply(new).any()
    np.False_
    """
)
