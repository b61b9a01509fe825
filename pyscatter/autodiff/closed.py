"""Jacobians in closed form: for each operation, which elements move which, by how much.

A local operation has an entry for each value that arrives; what is left over is sparse
in some other way that is known beforehand.
"""

import math

import numpy as np

from pyscatter import _core
from pyscatter.autodiff import segments
from pyscatter.autodiff.buffers import is_matrix
from pyscatter.autodiff.entries import counted, powers
from pyscatter.autodiff.orders import Lines
from pyscatter.autodiff.products import Product, coordinates
from pyscatter.autodiff.structures import Terms, values_of
from pyscatter.sparse import CSR


def numbered(shape):
    """Return the numbers of the elements of an array, in C order."""
    return np.arange(math.prod(shape), dtype=np.intp).reshape(shape)


def matrix_of(rows, columns, values, shape):
    """Return a CSR of entries, of which some may name one place."""
    rows, columns, values = np.broadcast_arrays(rows, columns, values)
    where = rows.reshape(-1), columns.reshape(-1)
    return _core.coo_to_csr(CSR, values.reshape(-1), where, shape)


def factors_of(term, shape):
    """Return (factor, where it is) of a term, in the shape of its entries."""
    factor = 1.0 if term.factor is None else term.factor
    mask = True if term.mask is None else term.mask
    return np.broadcast_to(factor, shape), np.broadcast_to(mask, shape)


def of_term(term, rows, columns, found, shape):
    """Return the matrix of a local term: entry e goes from columns[e] to rows[e]."""
    factor, mask = factors_of(term, rows.shape)
    mask = mask & found
    columns = np.broadcast_to(columns, rows.shape)
    return matrix_of(rows[mask], columns[mask], factor[mask], shape)


def of_gather(address, call, wrt, shape):
    """Each element of the result is one of the array."""
    places = address(call).numbers(np.shape(call.get("a"))).reshape(-1)
    found = places > 0
    rows = np.arange(places.size)[found]
    return matrix_of(rows, places[found] - 1, 1.0, shape)


def of_scatter(at_of, terms_of, call, wrt, shape):
    """Old values stay in their places; arriving ones go to theirs."""
    terms, at = call.once(terms_of), call.once(at_of)
    if wrt == 0:
        own = numbered(call.out.shape)
        return of_term(terms[0], own, own, True, shape)
    places = at.numbers(call.out.shape)
    columns = numbered(np.shape(call.get("values")))
    return of_term(terms[1], places - 1, columns, places > 0, shape)


def of_segments(call, wrt, shape):
    """Each entry goes to its segment."""
    it = call.once(segments.layout)
    columns = segments.taken(it, numbered(it.values.shape))
    if call.get("op") in segments.ORDERS:
        return None
    places = it.at.numbers(call.out.shape)
    places = np.broadcast_to(places, columns.shape)
    term = call.once(segments.term_of)
    return of_term(term, places - 1, columns, places > 0, shape)


def of_where(call, wrt, shape):
    """Each element of the result is one of x or of y."""
    condition = np.asarray(call.get("condition")).astype(np.bool_)
    condition = np.broadcast_to(condition, call.out.shape)
    chosen = condition if wrt == 1 else ~condition
    x = numbered(np.shape(call.get("x" if wrt == 1 else "y")))
    columns = np.broadcast_to(x, call.out.shape)
    return matrix_of(numbered(call.out.shape)[chosen], columns[chosen], 1.0, shape)


def of_expand(call, wrt, shape):
    """Each entry is the value of its segment."""
    ways = ("ids", "offsets", "lengths")
    options = {name: call.get(name) for name in ways if call.get(name) is not None}
    numbers = numbered(np.shape(call.get("g")))
    places = _core.segment_expand(numbers, axis=call.get("axis", 0), **options)
    return matrix_of(numbered(places.shape), places, 1.0, shape)


def of_softmax(log, call, wrt, shape):
    """All entries of a segment move each other."""
    lines = Lines(call)
    y = lines.sort(call.out)
    run = np.cumsum(np.append(True, lines.group[1:] != lines.group[:-1])) - 1
    run = run[: y.size]
    count = np.bincount(run) if y.size else np.zeros(0, np.intp)
    begin = np.cumsum(count) - count
    lengths = count[run]
    left = np.repeat(np.arange(y.size), lengths)
    ends = np.cumsum(lengths)
    right = begin[run[left]] + np.arange(left.size) - (ends - lengths)[left]
    same = (left == right).astype(np.float64)
    entries = same - powers(y)[right] if log else y[left] * (same - y[right])
    return matrix_of(lines.order[left], lines.order[right], entries, shape)


def of_spmm(call, wrt, shape):
    """An element of the result is a sum over its row's entries."""
    product = call.once(Product)
    if product.kind != "add" or np.ndim(product.alpha):
        return None
    coo = coordinates(product.A)
    rows, columns = coo.row, coo.col
    data = np.ones(coo.nnz) if coo.data is None else coo.data
    if product.transpose == product.left:
        rows, columns = columns, rows
    if product.conjugate:
        data = np.conj(data)
    outer, inner = _grids(call.out, product.left), _grids(product.X, product.left)
    to, given = outer[..., rows, :], inner[..., columns, :]
    if is_matrix((call.get("A"), call.get("X"))[wrt]):
        x = product.X.reshape(-1)[given]
        return matrix_of(to, np.arange(coo.nnz)[:, None], product.alpha * x, shape)
    return matrix_of(to, given, product.alpha * data[:, None], shape)


def _grids(x, left):
    """Return numbers of a dense operand as (..., rows, columns)."""
    numbers = numbered(x.shape)
    if x.ndim == 1:
        return numbers[:, None]
    return numbers if left else np.swapaxes(numbers, -1, -2)


def of_sddmm(call, wrt, shape):
    """An inner product is linear in each of its rows."""
    if np.ndim(call.out) != 1:
        return None
    coo = coordinates(call.get("A"))
    X, Y = np.asarray(call.get("X")), np.asarray(call.get("Y"))
    scales = call.get("values", "pattern") == "scale" and coo.data is not None
    data = coo.data if scales else np.ones(coo.nnz)
    entries = np.arange(coo.nnz)
    if wrt == 0:
        slopes = _core.sddmm(coo, X, Y) if scales else np.zeros(coo.nnz)
        return matrix_of(entries, entries, slopes, shape)
    own, other = (X, Y) if wrt == 1 else (Y, X)
    place, far = (coo.row, coo.col) if wrt == 1 else (coo.col, coo.row)
    factor = data[:, None] * other[far]
    return matrix_of(entries[:, None], numbered(own.shape)[place], factor, shape)


def of_spgemm(call, wrt, shape):
    """Each term belongs to an entry of each matrix."""
    terms = call.once(Terms)
    own, other = (terms.a, terms.b) if wrt == 0 else (terms.b, terms.a)
    factor = values_of(call.get("B" if wrt == 0 else "A"))[other]
    return matrix_of(terms.c, own, factor, shape)


def of_assembly(call, wrt, shape):
    """Each contribution goes to its entry."""
    row, col = (np.asarray(x) for x in call.get("coordinates"))
    numbers = numbered(np.shape(call.get("data")))
    row, col, numbers = np.broadcast_arrays(row, col, numbers)
    slots, *_ = _core.assemble((row, col), call.get("shape"), None)
    return matrix_of(slots.reshape(-1), numbers.reshape(-1), 1.0, shape)


def of_bincount(call, wrt, shape):
    """Each weight goes to the count of its number."""
    x, axis, where = counted(call)
    options = {} if where is None else {"where": where}
    places = _core.gather_along_axis(1 + numbered(call.out.shape), x, axis, **options)
    columns = np.broadcast_to(numbered(np.shape(call.get("weights"))), places.shape)
    found = places > 0
    return matrix_of(places[found] - 1, columns[found], 1.0, shape)
