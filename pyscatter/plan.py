"""The plan family: an index that is checked, resolved and sorted once, for many calls.

`Plan` is a C type; this module gives it its name and its text.
"""

from pyscatter._core import Plan
from pyscatter._docs import complete

Plan.__doc__ = complete(
    """
    An index that is checked, resolved and sorted once, for many calls.

    A plan takes the place of `index` in `scatter` and `gather`, and in `add_at` and its
    kin with ``axis=``. Results have the same bits as those of the plain call.

    Parameters
    ----------
    index : array_like of int, any shape
        Rows along an axis, as `scatter` and `gather` take them. The plan owns a copy:
        later changes of the array change nothing.
    size : int
        Length of the axis that the index is for.
    <<mode>>

    Returns
    -------
    Plan
        Immutable, and safe to use from several threads at once; compared by identity.

    Attributes
    ----------
    shape, n
        Shape of the index, and the number of its entries.
    size, mode
        As given.
    n_dropped
        Entries that mode="drop" left out.
    n_rows
        Rows that are named.
    min, max
        Least and greatest row that is named; None where there is none.
    is_sorted, is_unique
        Whether rows are named in ascending order; whether none is named twice.
    has_negative
        Whether the index held a negative number, which counts from the end under
        mode="raise".
    nbytes
        Bytes that the plan holds.

    Raises
    ------
    IndexError
        An index is out of bounds under mode="raise".
    ValueError
        `size` is negative; an unknown mode; later, in a call: an axis of another size,
        or another mode than the plan's.
    TypeError
        `index` is not of integers, or `size` is no integer; later: a plan where only
        arrays are accepted, as in `scatter_nd`, `scatter_along_axis` or `gather_at`.
    MemoryError
        The plan does not fit into memory.

    Notes
    -----
    *Order and duplicates*: entries of a row are kept in C order of the index, so each
    element meets its values in the order of the plain call.

    *Determinism*: the same bits as the plain call for any op, dtype, number of threads
    and CPU level.

    *Derivatives*: none; an index has no gradient. Those of a call with a plan are those
    of the plain call.

    *Cost*: building is linear in the length of the index: 8 ns an entry where it is
    sorted, 13 to 33 where it is not (1e6 entries on Zen 1). A plan holds 4 bytes for
    each entry, 4 more where the index is not sorted, and 4 for each row of the axis
    (for each row that is named, where the axis is much longer than the index); twice
    that from 2**31 on. Calls then neither check nor sort: where the
    target is large or the index sorted, each row is read and written once, and threads
    share rows evenly. ``where=`` and ``batch_dims=`` are allowed and take the plain
    way. A pickle holds the resolved rows; it is checked and sorted when it is loaded.

    See Also
    --------
    scatter, gather, add_at
    torch_scatter.segment_csr, scipy.sparse.csr_array, jax.ops.segment_sum with
    indices_are_sorted=True

    Examples
    --------
    >>> import numpy as np
    >>> import pyscatter as ps
    >>> plan = ps.Plan([2, 0, 2], 4)
    >>> plan
    Plan(shape=(3,), size=4, mode='raise')
    >>> ps.scatter(np.zeros(4), plan, [1.0, 2.0, 3.0], op="add")
    array([2., 0., 4., 0.])
    >>> ps.gather(np.arange(4) * 10, plan)
    array([20,  0, 20])
    >>> plan.is_unique, plan.max
    (False, 2)
    """
)
