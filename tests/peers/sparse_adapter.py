"""Pytest plugin: SciPy's own tests of sparse arrays, whose kernels pyscatter answers.

SciPy's sparse arrays call a table of compiled kernels on bare arrays. Here those of
products, conversions and merging are replaced, wherever one of its modules has taken
them to: each makes pyscatter's container of the arrays, lets it work, and writes into
the arrays that the kernel would have written to. What pyscatter does not offer (long
double, objects, more than two axes) stays SciPy's and is not counted.

Use: pytest -p tests.peers.sparse_adapter --peer-report=FILE FILE ...
"""

import functools
import pathlib
import sys
import types
from collections import Counter

import numpy as np
import scipy.sparse
import scipy.sparse.tests
from scipy.sparse import _sparsetools

import pyscatter as ps
from tests.peers.reports import register

pytest_plugins = ["tests.peers.reports"]

ROOM = pathlib.Path(scipy.sparse.tests.__file__).resolve().parent
FILES = sorted(ROOM.glob("test_*.py"))
calls = Counter()


def _csr(rows, columns, indptr, indices, data):
    """Make a CSR of the entries alone: kernels ignore what lies behind them."""
    n = int(indptr[rows])
    data = data if data is None else data[:n]
    return ps.CSR((data, indices[:n], indptr[: rows + 1]), (rows, columns))


def _csc(rows, columns, indptr, indices, data):
    return _csr(columns, rows, indptr, indices, data).T


def _coo(rows, columns, nnz, row, col, data):
    return ps.COO((data[:nnz], (row[:nnz], col[:nnz])), (rows, columns))


def _add_product(matrix, x, y):
    ps.spmm(matrix, x, out=y, beta=1, dtype=y.dtype)


def _write(matrix, indptr, indices, data):
    indptr[:] = matrix.indptr
    indices[: matrix.nnz] = matrix.indices
    data[: matrix.nnz] = matrix.data


def csr_matvec(m, n, indptr, indices, data, x, y):
    _add_product(_csr(m, n, indptr, indices, data), x, y)


def csc_matvec(m, n, indptr, indices, data, x, y):
    _add_product(_csc(m, n, indptr, indices, data), x, y)


def csr_matvecs(m, n, k, indptr, indices, data, x, y):
    matrix = _csr(m, n, indptr, indices, data)
    _add_product(matrix, x.reshape(n, k), y.reshape(m, k))


def csc_matvecs(m, n, k, indptr, indices, data, x, y):
    matrix = _csc(m, n, indptr, indices, data)
    _add_product(matrix, x.reshape(n, k), y.reshape(m, k))


def coo_matvec(nnz, row, col, data, x, y):
    _add_product(_coo(len(y), len(x), nnz, row, col, data), x, y)


def coo_matmat_dense(nnz, k, row, col, data, x, y):
    if k > 0:
        x, y = x.reshape(-1, k), y.reshape(-1, k)
        _add_product(_coo(len(y), len(x), nnz, row, col, data), x, y)


def csr_todense(m, n, indptr, indices, data, y):
    matrix = _csr(m, n, indptr, indices, data).astype(y.dtype)
    y.reshape(m, n)[...] += matrix.to_dense()


def coo_todense(m, n, nnz, row, col, data, y, fortran):
    matrix = _coo(m, n, nnz, row, col, data).astype(y.dtype)
    y.reshape((m, n), order="F" if fortran else "C")[...] += matrix.to_dense()


def coo_tocsr(m, n, nnz, row, col, data, indptr, indices, out):
    _write(_coo(m, n, nnz, row, col, data).to_csr(), indptr, indices, out)


def csr_tocsc(m, n, indptr, indices, data, columns, rows, out):
    _write(_csr(m, n, indptr, indices, data).to_csc(), columns, rows, out)


def csr_sum_duplicates(m, n, indptr, indices, data):
    _write(_csr(m, n, indptr, indices, data).sum_duplicates(), indptr, indices, data)


def csr_sort_indices(m, indptr, indices, data):
    n = int(indices.max(initial=-1)) + 1
    _write(_csr(m, n, indptr, indices, data).sort_indices(), indptr, indices, data)


def expandptr(m, indptr, rows):
    nnz = int(indptr[m])
    rows[:nnz] = _csr(m, 1, indptr, np.zeros(nnz, np.int32), None).to_coo().row


def csr_matmat_maxnnz(m, n, a_indptr, a_indices, b_indptr, b_indices):
    inner = len(b_indptr) - 1
    a = _csr(m, inner, a_indptr, a_indices, None)
    return ps.spgemm(a, _csr(inner, n, b_indptr, b_indices, None)).nnz


def csr_matmat(m, n, ap, aj, ax, bp, bj, bx, cp, cj, cx):
    inner = len(bp) - 1
    a, b = _csr(m, inner, ap, aj, ax), _csr(inner, n, bp, bj, bx)
    _write(ps.spgemm(a.astype(cx.dtype), b.astype(cx.dtype)), cp, cj, cx)


KERNELS = (
    csr_matvec,
    csc_matvec,
    csr_matvecs,
    csc_matvecs,
    coo_matvec,
    coo_matmat_dense,
    csr_todense,
    coo_todense,
    coo_tocsr,
    csr_tocsc,
    csr_sum_duplicates,
    csr_sort_indices,
    expandptr,
    csr_matmat_maxnnz,
    csr_matmat,
)


def _offered(args):
    """Whether all arrays hold numbers that pyscatter has."""
    arrays = [one for one in args if isinstance(one, np.ndarray)]
    return all(a.dtype.kind in "biufc" and a.dtype.char not in "gG" for a in arrays)


def _replaced(kernel, original):
    @functools.wraps(original)
    def answer(*args):
        if not _offered(args):
            return original(*args)
        calls[kernel.__name__] += 1
        return kernel(*args)

    return answer


def replace_kernels():
    """Put them wherever a module of scipy.sparse has a name for one."""
    replaced = {}
    for kernel in KERNELS:
        original = getattr(_sparsetools, kernel.__name__)
        replaced[original] = _replaced(kernel, original)
    for name, module in list(sys.modules.items()):
        if not name.startswith("scipy.sparse"):
            continue
        for attribute, value in list(vars(module).items()):
            if isinstance(value, types.BuiltinFunctionType) and value in replaced:
                setattr(module, attribute, replaced[value])


def pytest_configure(config):
    replace_kernels()
    register(config, calls)
