"""Words and pictures of the sparse containers: what the formats have in common."""

import html

import numpy as np

from pyscatter import _core

TEXT = """
    {what}

    Parameters
    ----------
    arrays : tuple
        {arrays}
    shape : tuple of int
        Rows and columns.

    Returns
    -------
    {name}
        Immutable: no attribute can be set, and the arrays that it shows are read-only
        views. Later changes of the caller's arrays are seen, and checked at each use.

    Attributes
    ----------
    data
        Values of the entries, or None, which stands for ones of dtype bool.
    {fields}
    shape, nnz, dtype
        Rows and columns; stored entries, zeros and duplicates among them; dtype of the
        values.
    T
        The transpose, of the same arrays: {transpose}.

    Raises
    ------
    ValueError
        Lengths that do not fit; {malformed}. The message names array, position and
        value.
    TypeError
        Index arrays that are not of integers; values that are not numbers, or are
        longdouble; masked arrays; arrays in another form.

    Notes
    -----
    *Order and duplicates*: entries may come in any order{within}; duplicates are
    entries of their own, which add up in products; stored zeros stay. ``to_csr``,
    ``to_csc`` and ``to_coo`` keep every entry in its order among those of its row or
    column; only ``sum_duplicates`` merges.

    *Determinism*: the same bits for any number of threads and any CPU level.

    *Derivatives*: none of the structure; products are linear in `data`.

    *Cost*: no array is copied. Index arrays of int32 and int64 are used as they are,
    those of other integer types converted once. A list is the array that NumPy makes of
    it, of int64; arrays of int32 take half the memory. A matrix that is multiplied
    again by its columns keeps an order by rows, see spmm. The structure is read once
    to be checked: 1 us for ten entries, 0.2 ns an entry beyond.

    See Also
    --------
    coo_to_csr, spgemm
    {peers}

    Examples
    --------
    {examples}
    """

PARTS = {
    "CSR": {
        "name": "CSR",
        "what": "A sparse matrix by rows: compressed sparse rows.",
        "arrays": "``(data, indices, indptr)``: row i has the values "
        "``data[indptr[i]:indptr[i + 1]]``\n        in the columns `indices` of the "
        "same range.",
        "fields": "indices, indptr\n        Columns of the entries; where each row "
        "begins, and the end.",
        "transpose": "a `CSC`",
        "malformed": "`indptr` that does not rise from 0 to the number of entries; a\n"
        "        column that is out of bounds",
        "within": " within a row",
        "peers": "scipy.sparse.csr_array, torch.sparse_csr_tensor",
        "examples": """>>> import numpy as np
    >>> import pyscatter as ps
    >>> A = ps.CSR((np.array([1.0, 2.0, 4.0]), [0, 2, 2], [0, 2, 3]), (2, 3))
    >>> A
    CSR(shape=(2, 3), nnz=3, dtype=float64)
    >>> A.T
    CSC(shape=(3, 2), nnz=3, dtype=float64)
    >>> repeated = ps.CSR((np.array([1.0, 2.0]), [0, 0], [0, 2]), (1, 2))
    >>> repeated.nnz
    2""",
    },
    "CSC": {
        "name": "CSC",
        "what": "A sparse matrix by columns: compressed sparse columns.",
        "arrays": "``(data, indices, indptr)``: column j has the values\n        "
        "``data[indptr[j]:indptr[j + 1]]`` in the rows `indices` of the same range.",
        "fields": "indices, indptr\n        Rows of the entries; where each column "
        "begins, and the end.",
        "transpose": "a `CSR`",
        "malformed": "`indptr` that does not rise from 0 to the number of entries; a\n"
        "        row that is out of bounds",
        "within": " within a column",
        "peers": "scipy.sparse.csc_array, torch.sparse_csc_tensor",
        "examples": """>>> import numpy as np
    >>> import pyscatter as ps
    >>> A = ps.CSC((np.array([1.0, 2.0]), [1, 1], [0, 1, 1, 2]), (2, 3))
    >>> A
    CSC(shape=(2, 3), nnz=2, dtype=float64)
    >>> A.T
    CSR(shape=(3, 2), nnz=2, dtype=float64)
    >>> repeated = ps.CSC((np.array([1.0, 2.0]), [0, 0], [0, 2]), (1, 1))
    >>> repeated.nnz
    2""",
    },
    "COO": {
        "name": "COO",
        "what": "A sparse matrix by coordinates: row, column and value of each entry.",
        "arrays": "``(data, (row, col))``, of one length.",
        "fields": "row, col\n        Coordinates of the entries.",
        "transpose": "a `COO`",
        "malformed": "a row or column that is out of bounds",
        "within": "",
        "peers": "scipy.sparse.coo_array, torch.sparse_coo_tensor, "
        "tf.sparse.SparseTensor",
        "examples": """>>> import numpy as np
    >>> import pyscatter as ps
    >>> A = ps.COO((np.array([4.0, 5.0, 6.0]), ([0, 0, 1], [1, 1, 0])), (2, 2))
    >>> A
    COO(shape=(2, 2), nnz=3, dtype=float64)
    >>> A.T.row
    array([1, 1, 0])""",
    },
}


def text_of(name):
    """Return the docstring of a container."""
    return TEXT.format(**PARTS[name])


# --- the picture ----------------------------------------------------------------------

CELLS = 32
CELL = 5  # pixels


def _cells(numbers, size, cells):
    """Return which of `cells` equal parts of an axis each number lies in."""
    return (numbers.astype(np.float64) * (cells / size)).astype(np.intp)


def _density(matrix):
    """Return how many entries lie in each cell of a small grid."""
    coo = matrix.to_coo()
    height, width = (max(1, min(CELLS, size)) for size in matrix.shape)
    counts = np.zeros((height, width), np.intp)
    if coo.nnz:
        rows, columns = matrix.shape
        row = np.minimum(_cells(coo.row, rows, height), height - 1)
        col = np.minimum(_cells(coo.col, columns, width), width - 1)
        _core.add_at(counts, (row, col), 1)
    return counts


def picture(matrix):
    """Return HTML: the text, and where the entries are, the darker the more."""
    counts = _density(matrix)
    height, width = (CELL * n for n in counts.shape)
    shade = np.sqrt(counts / max(1, counts.max()))
    squares = "".join(
        f'<rect x="{CELL * j}" y="{CELL * i}" width="{CELL}" height="{CELL}" '
        f'fill-opacity="{0.15 + 0.85 * shade[i, j]:.2f}"/>'
        for i, j in np.argwhere(counts)
    )
    return (
        f"<div><code>{html.escape(repr(matrix))}</code><br>"
        f'<svg width="{width + 2}" height="{height + 2}" '
        f'viewBox="-1 -1 {width + 2} {height + 2}" fill="currentColor">'
        f'<rect x="-0.5" y="-0.5" width="{width + 1}" height="{height + 1}" '
        f'fill="none" stroke="currentColor" stroke-opacity="0.4"/>{squares}</svg></div>'
    )
