"""Rules of what makes a sparse matrix: products of two, and assembly.

The cotangent of a sparse result lives on its pattern, each gradient on that of its
factor, in storage order.
"""

import numpy as np

from pyscatter import _core
from pyscatter.autodiff.buffers import with_data
from pyscatter.autodiff.parts import unbroadcast
from pyscatter.autodiff.products import coordinates, entries
from pyscatter.sparse import CSR


def values_of(A):
    """Return the values of a matrix; ones where it has none."""
    return np.ones(entries(A)) if A.data is None else np.asarray(A.data)


class Terms:
    """The terms of a sparse product: which entries of A, B and C each belongs to."""

    __slots__ = ("a", "b", "c")

    def __init__(self, call):
        A, B = (coordinates(call.get(name)) for name in "AB")
        C = call.out
        by_row = np.argsort(B.row, kind="stable")
        count = np.bincount(B.row, minlength=B.shape[0])
        begin = np.cumsum(count) - count
        lengths = count[A.col]
        self.a = np.repeat(np.arange(A.nnz), lengths)
        ends = np.cumsum(lengths)
        skip = np.repeat(begin[A.col] - (ends - lengths), lengths)
        self.b = by_row[np.arange(self.a.size) + skip]
        width = C.shape[1]
        rows = np.repeat(np.arange(C.shape[0]), np.diff(C.indptr))
        known = rows * width + C.indices
        wanted = A.row[self.a].astype(np.int64) * width + B.col[self.b]
        self.c = np.searchsorted(known, wanted)


def of_left_factor(call, g):
    """Return the gradient of A's values: terms times conj B, by entry of A."""
    if call.get("A").data is None:
        return None
    terms, B = call.once(Terms), values_of(call.get("B"))
    moves = g[terms.c] * np.conj(B)[terms.b]
    return _core.segment_reduce(moves, terms.a, entries(call.get("A")))


def of_right_factor(call, g):
    """Return the gradient of B's values: conj A times terms, by entry of B."""
    if call.get("B").data is None:
        return None
    terms, A = call.once(Terms), values_of(call.get("A"))
    moves = np.conj(A)[terms.a] * g[terms.c]
    return _core.segment_reduce(moves, terms.b, entries(call.get("B")))


def spgemm_forward(call, tangents):
    """Multiply each factor's tangent by the other, on the pattern of the product."""
    A, B = call.get("A"), call.get("B")
    made = 0
    for factors in ((tangents[0], B), (A, tangents[1])):
        if any(f is None for f in factors):
            continue
        left, right = factors
        left = left if left is A else with_data(A, left)
        right = right if right is B else with_data(B, right)
        made = made + _core.spgemm(CSR, left, right)[0].data
    return made


# --- assembly -------------------------------------------------------------------------


def of_contributions(call, g):
    """Give each contribution the cotangent of its entry."""
    row, col = (np.asarray(x) for x in call.get("coordinates"))
    shape = np.broadcast_shapes(row.shape, col.shape, np.shape(call.get("data")))
    where = np.broadcast_to(row, shape), np.broadcast_to(col, shape)
    slots, *_ = _core.assemble(where, call.get("shape"), None)
    made = _core.gather(g, slots.reshape(-1)).reshape(shape)
    return unbroadcast(made, np.shape(call.get("data")))


def assembly_forward(call, tangents):
    """Assemble tangents."""
    where = call.get("coordinates")
    return _core.coo_to_csr(CSR, tangents[0], where, call.get("shape")).data
