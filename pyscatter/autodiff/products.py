"""Rules of products with sparse matrices: values on their pattern, and dense operands.

The gradient of a matrix is one number for each stored entry, in storage order:
explicit zeros have one, and duplicates each have theirs. No product with a dense
gradient of the matrix is ever made.
"""

import math

import numpy as np

from pyscatter import _core
from pyscatter.autodiff.buffers import is_matrix, with_data
from pyscatter.autodiff.parts import unbroadcast
from pyscatter.sparse import COO

EXTREMES = {
    "min": ("min", False),
    "max": ("max", False),
    "minimum": ("min", False),
    "maximum": ("max", False),
    "amin": ("min", False),
    "amax": ("max", False),
    "min_plus": ("min", True),
    "max_plus": ("max", True),
    "max_times": ("max", False),
}
BLOCK = 1 << 20  # elements of what extremes make for a block of columns


class Product:
    """One call of `spmm`, as ``alpha B X`` or ``alpha X B`` with B made of A."""

    __slots__ = ("A", "X", "left", "transpose", "conjugate", "alpha", "kind")

    def __init__(self, call):
        first, second = call.get("A"), call.get("X")
        self.left = is_matrix(first)
        self.A, X = (first, second) if self.left else (second, first)
        self.X = np.asarray(X)
        self.transpose = bool(call.get("transpose", False))
        self.conjugate = bool(call.get("conjugate", False))
        self.alpha = call.get("alpha", 1)
        op = call.get("op", "add")
        op = op.__name__ if isinstance(op, np.ufunc) else op
        self.kind = call.get("semiring") or op

    def times(self, A, X, back=False, **options):
        """Return ``B X`` or ``X B``; with the adjoint of B to go back."""
        transpose, conjugate = self.transpose != back, self.conjugate != back
        pair = (A, X) if self.left else (X, A)
        return _core.spmm(*pair, transpose=transpose, conjugate=conjugate, **options)

    def at_entries(self, rows, columns):
        """Return sums of ``rows[r] columns[c]`` at the entries (r, c) of A.

        The two are as dense operands are: of B's rows, and of its columns.
        """
        if self.transpose:
            rows, columns = columns, rows
        if self.X.ndim == 1:
            rows, columns = rows[:, None], columns[:, None]
        elif not self.left:
            rows, columns = (np.swapaxes(x, -1, -2) for x in (rows, columns))
        made = _core.sddmm(self.A, rows, columns)
        made = made.reshape(math.prod(made.shape[:-1]), made.shape[-1])
        made = made[0] if len(made) == 1 else made.sum(axis=0)
        return np.conj(made) if self.conjugate else made


def _scaled(product, g):
    """Return the cotangent of ``B X`` before alpha, and before a mean's division."""
    alpha = product.alpha
    g = (
        g
        if alpha is None or (np.isscalar(alpha) and alpha == 1)
        else g * np.conj(alpha)
    )
    return _over_counts(product, g) if product.kind == "mean" else g


def _over_counts(product, x):
    """Divide what belongs to the rows of B by how many entries these have."""
    inner = product.A.shape[1 if product.left != product.transpose else 0]
    counts = product.times(_counting(product.A), np.ones(inner))
    counts = np.maximum(counts, 1)
    return x / (counts[:, None] if product.left and product.X.ndim > 1 else counts)


def _counting(A):
    """Return a matrix of ones in the place of A's entries."""
    return with_data(A, np.ones(entries(A)))


def entries(A):
    """Return how many entries a matrix stores."""
    return len(A.row) if A.format == "coo" else len(A.indices)


class Multiplied:
    """The gradient of a dense operand: a product that adds to its buffer."""

    __slots__ = ("product", "g")

    def __init__(self, product, g):
        self.product, self.g = product, g

    def dense(self):
        """Return it as a new array."""
        return self.product.times(self.product.A, self.g, back=True)

    def add_to(self, buffer):
        """Add it in place, if that takes no cast."""
        A, dtype = self.product.A, np.dtype(np.bool_)
        dtype = dtype if A.data is None else np.asarray(A.data).dtype
        if np.result_type(dtype, self.g) == buffer.dtype:
            self.product.times(A, self.g, back=True, beta=1, out=buffer)
        else:
            made = self.dense()
            made = made if buffer.dtype.kind == "c" else made.real
            np.add(buffer, made, out=buffer, casting="same_kind")

    def sparse(self):
        """Return None: its rows are those of a whole array."""


def of_matrix(call, g):
    """Return the gradient of A's values."""
    product = call.once(Product)
    if product.A.data is None:
        return None
    if product.kind in EXTREMES:
        return call.once(Extreme).back(g)[0]
    pair = _scaled(product, g), np.conj(product.X)
    return product.at_entries(*(pair if product.left else pair[::-1]))


def of_dense(call, g):
    """Return the gradient of the dense operand."""
    product = call.once(Product)
    if product.kind in EXTREMES:
        return call.once(Extreme).back(g)[1]
    return Multiplied(product, _scaled(product, g))


def of_first(call, g):
    """Return the gradient of the left operand."""
    return of_matrix(call, g) if call.once(Product).left else of_dense(call, g)


def of_second(call, g):
    """Return the gradient of the right operand."""
    return of_dense(call, g) if call.once(Product).left else of_matrix(call, g)


def spmm_forward(call, tangents):
    """Multiply each operand's tangent by the other."""
    product = call.once(Product)
    dA, dX = tangents if product.left else tangents[::-1]
    if product.kind in EXTREMES:
        return call.once(Extreme).forward(dA, dX)
    options = {"op": "mean", "fill_value": 0} if product.kind == "mean" else {}
    if product.alpha is not None:
        options["alpha"] = product.alpha
    made = 0
    if dA is not None:
        made = product.times(with_data(product.A, dA), product.X, **options)
    if dX is not None:
        made = made + product.times(product.A, dX, **options)
    return made


class Extreme:
    """Which entries have the least or the greatest product, for each element.

    A block of columns at a time, since every entry meets every column.
    """

    __slots__ = ("product", "values", "rows", "columns", "out", "ties")

    def __init__(self, call):
        self.product = product = call.once(Product)
        coo = coordinates(product.A)
        self.rows, self.columns = coo.row, coo.col
        if product.transpose == product.left:
            self.rows, self.columns = self.columns, self.rows
        self.values = np.ones(coo.nnz) if coo.data is None else coo.data
        self.out, self.ties = call.out, call.ties

    def _flat(self, x):
        """Return a dense operand or result as (rows, columns)."""
        if x.ndim == 1:
            return x[:, None]
        if not self.product.left:
            x = np.swapaxes(x, -1, -2)
        columns = math.prod(x.shape[:-2]) * x.shape[-1]
        return np.moveaxis(x, -2, 0).reshape(x.shape[-2], columns)

    def _shaped(self, flat, like):
        """Return such an array in the shape of an operand."""
        if like.ndim == 1:
            return flat[:, 0]
        if not self.product.left:
            shape = (*like.shape[:-2], like.shape[-1], like.shape[-2])
        else:
            shape = like.shape
        whole = flat.reshape(shape[-2], *shape[:-2], shape[-1])
        whole = np.moveaxis(whole, 0, -2)
        return whole if self.product.left else np.swapaxes(whole, -1, -2)

    def _blocks(self):
        """Yield (columns, values of X, winners, one over how many) of blocks."""
        X, v = self._flat(self.product.X), self.values[:, None]
        reduce, plus = EXTREMES[self.product.kind]
        width = max(1, BLOCK // max(1, self.rows.size))
        size = self._flat(self.out).shape[0]
        for start in range(0, X.shape[1], width):
            block = slice(start, start + width)
            x = self._at_columns(X, block)
            z = v + x if plus else v * x
            best = _core.segment_reduce(z, self.rows, size, op=reduce)
            wins = (z == _core.gather(best, self.rows)) | (z != z)
            if self.ties == "first":
                wins = self._first_of(wins, size)
            count = np.zeros((size, z.shape[1]))
            _core.scatter(count, self.rows, wins.astype(float), op="add", out=count)
            yield block, x, wins, 1 / np.maximum(count, 1)

    def _at_columns(self, X, block):
        """Return the rows of a flat operand that the entries meet."""
        return _core.gather(np.ascontiguousarray(X[:, block]), self.columns)

    def _first_of(self, wins, size):
        places = np.where(wins, np.arange(self.rows.size)[:, None], self.rows.size)
        least = _core.segment_reduce(places, self.rows, size, op="min")
        return wins & (places == _core.gather(least, self.rows))

    def back(self, g):
        """Return the gradients of the values and of the dense operand."""
        if EXTREMES[self.product.kind][1]:
            return self._pulled(g, 1, None)
        return self._pulled(g, self.values[:, None], self._flat(self.product.X))

    def bend(self, g, dv, dX):
        """Return how these change where factors are moved: winners stay."""
        dv = np.zeros(self.values.size) if dv is None else dv
        dX = np.zeros(self.product.X.shape) if dX is None else dX
        return self._pulled(g, dv[:, None], self._flat(dX))

    def _pulled(self, g, values, X):
        """Give entries the cotangent times X, rows of X that times the values.

        X is None for ones.
        """
        product = self.product
        g = self._flat(g if product.alpha is None else g * product.alpha)
        of_v = np.zeros(self.values.size, g.dtype)
        of_x = np.zeros(self._flat(product.X).shape, g.dtype)
        for block, _, wins, share in self._blocks():
            moves = _core.gather(g[:, block] * share, self.rows)
            x = 1 if X is None else self._at_columns(X, block)
            of_v += (moves * np.where(wins, x, 0)).sum(axis=1)
            moves = np.where(wins, moves * values, 0)
            sums = np.zeros(of_x[:, block].shape, moves.dtype)
            _core.scatter(sums, self.columns, moves, op="add", out=sums)
            of_x[:, block] = sums
        return of_v, self._shaped(of_x, product.X)

    def forward(self, dv, dX):
        """Return the tangent of the result."""
        product, plus = self.product, EXTREMES[self.product.kind][1]
        flat = self._flat(self.out)
        made = np.zeros(flat.shape)
        dX = None if dX is None else self._flat(dX)
        for block, x, wins, share in self._blocks():
            moves = np.zeros(x.shape)
            if dv is not None:
                moves += dv[:, None] if plus else dv[:, None] * x
            if dX is not None:
                dx = _core.gather(np.ascontiguousarray(dX[:, block]), self.columns)
                moves += dx if plus else self.values[:, None] * dx
            sums = np.zeros((len(flat), x.shape[1]))
            moves = np.where(wins, moves, 0)
            _core.scatter(sums, self.rows, moves, op="add", out=sums)
            made[:, block] = sums * share
        made = made if product.alpha is None else made * product.alpha
        return self._shaped(made, self.out)


def coordinates(A):
    """Return the entries of a matrix as ours by coordinates, in storage order."""
    data, columns, rows = _core.convert(A, "coo")
    return COO((data, (rows, columns)), A.shape)


# --- sampled products -----------------------------------------------------------------


def _sampled(call, g):
    """Return the cotangent times the values, if these scale."""
    if call.get("values", "pattern") != "scale":
        return g
    A = call.get("A")
    return g if A.data is None else g * np.conj(A.data)


def _each(product, g, *others):
    """Return products of matrices with different data, one for each batch."""
    if g.ndim == 1:
        return product(g, *others)
    batch = g.shape[:-1]
    count = math.prod(batch)
    g = g.reshape(count, g.shape[-1])
    others = [x.reshape(count, *x.shape[-2:]) for x in others]
    if not count:
        each = [np.zeros(x.shape[1:], x.dtype) for x in (g, *others)]
        return np.zeros(batch + product(*each).shape, g.dtype)
    made = [product(*each) for each in zip(g, *others, strict=True)]
    return np.asarray(made).reshape(*batch, *made[0].shape)


def sampled_values(call, g):
    """Return the gradient of A's values: the inner products, where they scale."""
    A = call.get("A")
    if call.get("values", "pattern") != "scale" or A.data is None:
        return None
    X, Y = np.asarray(call.get("X")), np.asarray(call.get("Y"))
    made = g * np.conj(_core.sddmm(A, X, Y))
    return unbroadcast(made, np.shape(A.data))


def sampled_left(call, g):
    """Return the gradient of X: the cotangent as a matrix, times conj Y."""
    A, Y = call.get("A"), np.conj(call.get("Y"))
    return _each(lambda v, y: _core.spmm(with_data(A, v), y), _sampled(call, g), Y)


def sampled_right(call, g):
    """Return the gradient of Y: its transpose, times conj X."""
    A, X = call.get("A"), np.conj(call.get("X"))

    def product(v, x):
        return _core.spmm(with_data(A, v), x, transpose=True)

    return _each(product, _sampled(call, g), X)


def sampled_forward(call, tangents):
    """Sample the products of tangents."""
    A, X, Y = (call.get(name) for name in "AXY")
    values = call.get("values", "pattern")
    dA, dX, dY = tangents
    made = 0
    if dA is not None and values == "scale":
        made = _core.sddmm(A, X, Y) * dA
    if dX is not None:
        made = made + _core.sddmm(A, dX, Y, values=values)
    if dY is not None:
        made = made + _core.sddmm(A, X, dY, values=values)
    return made if isinstance(made, np.ndarray) else np.zeros(call.out.shape)
