"""The keys family: distinct keys numbered, and groups reduced by them.

Both functions are C functions; this module gives them their names and their text.
"""

from pyscatter._core import factorize, group_reduce
from pyscatter._docs import document

document(
    factorize,
    "(*keys, sort=True, missing='group', return_first=False, return_counts=False)",
    """
    Number the distinct keys of an array, or of several arrays together.

    ``uniques[ids]`` is the keys again. Segment functions and scatters take `ids`.

    Parameters
    ----------
    keys : array_like, of one shape
        Numbers of any kind (bool, integers, floats, complex, datetime64, timedelta64,
        bfloat16, longdouble), bytes and str of fixed width, StringDType, records, and
        objects, which are told apart by hash and ``==``. Any layout and byte order.
        With several arrays a key is one element of each.
    sort : bool, optional
        True (default): ids follow the order of `numpy.sort`: NaN and NaT come last, the
        first array decides before the second. False: the order of appearance.
    missing : {"group", "drop", "raise"}, optional
        What NaN, NaT and None are: a key of their own (default); no key, with the id
        -1; or a ValueError. Of several arrays, and of the fields of a record, one that
        is missing suffices.
    return_first : bool, optional
        Also return the entry at which each key appears first.
    return_counts : bool, optional
        Also return how often each key occurs.

    Returns
    -------
    ids : ndarray of intp
        In the shape of the keys.
    uniques : ndarray, or a tuple of one for each array
        The keys, 1-D, native, in the order of ids; of each the first that arrived.
    first, counts : ndarray of int64
        As asked; `first` are positions in C order.

    Raises
    ------
    TypeError
        No keys, or None for keys; a masked array; a dtype whose elements cannot be told
        apart; objects that cannot be hashed, or not be compared by ``<`` where `sort`
        asks for it.
    ValueError
        Shapes that differ; an unknown `missing`; a missing key under "raise"; more than
        4,096 arrays, or numbers of a record, in all.
    RuntimeError
        Code of an object, such as its ``__hash__``, gave an array of keys other memory.

    Notes
    -----
    *Order and duplicates*: equal are numbers that compare equal (-0.0 and 0.0 are one
    key), all NaN, all NaT, strings up to trailing zeros. Complex numbers with a NaN are
    one key. None and NaN objects are two missing keys, None last.

    *Determinism*: ids do not depend on the way that is taken, on the number of threads
    or on the CPU level.

    *Derivatives*: none, ids are integers.

    *Cost*: one pass over the keys: a table where integers lie close together, a hash
    otherwise, whose probes are bounded; keys made to collide are sorted. Then the
    distinct keys are sorted. Up to about 24 bytes of memory for each key that occurs
    once, beyond copies that strings in the other byte order or layout and records of
    them oblige to.

    See Also
    --------
    group_reduce, segment_reduce, scatter
    numpy.unique with return_inverse=True, pandas.factorize, polars rank("dense"),
    numpy_groupies, scipy.stats.rankdata with method="dense", torch.unique,
    SQL DENSE_RANK

    Examples
    --------
    >>> import numpy as np
    >>> import pyscatter as ps
    >>> ids, names = ps.factorize(["pear", "fig", "pear", "lime"])
    >>> ids
    array([2, 0, 2, 1])
    >>> names
    array(['fig', 'lime', 'pear'], dtype='<U4')
    >>> ps.segment_sum([1.0, 2.0, 4.0, 8.0], ids)
    array([2., 8., 5.])
    >>> ps.factorize([2, 1, 2], [0.5, np.nan, 0.5], missing="drop", sort=False)
    (array([ 0, -1,  0]), (array([2]), array([0.5])))
    """,
)

document(
    group_reduce,
    "(values, *keys, op='add', sort=True, missing='drop', **options)",
    """
    Reduce the values of each group of entries whose keys are equal.

    `factorize` and `segment_reduce` in one call.

    Parameters
    ----------
    values : array_like, a tuple of them, or None
        What is reduced; the axes of the keys begin at `axis`. A tuple is reduced array
        by array. None goes with op="count".
    keys : array_like, of one shape
        As in `factorize`.
    op : str, ufunc or tuple, optional
        As in `segment_reduce`; a tuple gives a tuple of results.
    sort : bool, optional
        As in `factorize`: the order of the groups.
    missing : {"drop", "group", "raise"}, optional
        As in `factorize`, but "drop" is the default: entries whose key is missing
        belong to no group.
    options : optional
        Those of `segment_reduce` that do not say where: weights, where, skipna, q,
        ddof, initial, fill_value, gather, axis, batch_dims, dtype, compensated,
        return_arg, return_counts, out. Entries that `where` leaves out make no group;
        element by element, those of which nothing stays.

    Returns
    -------
    uniques : ndarray, or a tuple of one for each array of keys
        The keys of the groups.
    result : ndarray or tuple
        What `segment_reduce` returns, for values in a tuple a tuple of these.

    Raises
    ------
    TypeError
        No keys, or None for keys; what `factorize` and `segment_reduce` refuse.
    ValueError
        As there; a `where` that has neither the shape of the keys nor the axes of the
        values.
    OverflowError
        `initial` or `fill_value` does not fit the dtype.

    Notes
    -----
    *Order and duplicates*: each group is added from its first entry to its last, as by
    `segment_reduce` with ids.

    *Determinism*: the same bits for any number of threads and any CPU level.

    *Derivatives*: those of `segment_reduce` with the ids of `factorize`.

    *Cost*: that of both; the ids are made once, however many values and ops there are.

    See Also
    --------
    factorize, segment_reduce
    pandas.DataFrame.groupby, polars.DataFrame.group_by, numpy_groupies.aggregate,
    scipy.stats.binned_statistic, SQL GROUP BY

    Examples
    --------
    >>> import pyscatter as ps
    >>> shop = ["north", "south", "north", "north"]
    >>> month = [1, 1, 2, 1]
    >>> sales = [10.0, 20.0, 40.0, 80.0]
    >>> (shops, months), total = ps.group_reduce(sales, shop, month)
    >>> shops.tolist(), months.tolist(), total.tolist()
    (['north', 'north', 'south'], [1, 2, 1], [90.0, 40.0, 20.0])
    >>> shops, (most, count) = ps.group_reduce(sales, shop, op=("max", "count"))
    >>> most, count
    (array([80., 20.]), array([3, 1]))
    """,
)
