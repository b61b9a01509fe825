"""One call of an operation, apart from the package whose tensors it is made with.

An adapter names the operands of a call (numbers and indices, in one order), turns its
tensors into arrays, and gets back what `pyscatter.vjp` and `pyscatter.jvp` say: no rule
is written here. What cannot be known inside a traced function (the shape and dtype of a
result) is worked out from shapes and dtypes alone.

Second derivatives of operations that are linear, but for choices that the numbers make
(gather, set, add, mean, min ...), follow from these two: the gradient is linear in its
cotangent, its own cotangent goes forward. Products of a sparse matrix are linear in
each factor, so the gradients of a gradient are pullbacks at the cotangents. Of the
others no second derivative is offered.
"""

from typing import Any, NamedTuple

import numpy as np

import pyscatter as ps
from pyscatter.autodiff.buffers import with_data


class Op(NamedTuple):
    """An operation: its function, positional arguments, and which hold what."""

    function: Any
    positional: tuple
    numbers: tuple  # operands that have gradients
    others: tuple  # operands that are indices and masks


SEGMENT_OTHERS = (
    "ids",
    "offsets",
    "starts",
    "stops",
    "lengths",
    "gather",
    "weights",
    "where",
)
OPS = {
    "gather": Op(ps.gather, ("a", "index", "axis"), ("a",), ("index", "where")),
    "gather_along_axis": Op(
        ps.gather_along_axis, ("a", "index", "axis"), ("a",), ("index", "where")
    ),
    "gather_nd": Op(ps.gather_nd, ("a", "indices"), ("a",), ("indices", "where")),
    "scatter": Op(
        ps.scatter,
        ("a", "index", "values", "axis"),
        ("a", "values"),
        ("index", "where"),
    ),
    "scatter_along_axis": Op(
        ps.scatter_along_axis,
        ("a", "index", "values", "axis"),
        ("a", "values"),
        ("index", "where"),
    ),
    "scatter_nd": Op(
        ps.scatter_nd,
        ("a", "indices", "values"),
        ("a", "values"),
        ("indices", "where"),
    ),
    "where": Op(ps.where, ("condition", "x", "y"), ("x", "y"), ("condition",)),
    "scatter_where": Op(
        ps.scatter_where, ("a", "mask", "values"), ("a", "values"), ("mask",)
    ),
    "segment_reduce": Op(
        ps.segment_reduce,
        ("values", "ids", "num_segments"),
        ("values",),
        SEGMENT_OTHERS,
    ),
    "spmm": Op(ps.spmm, ("A", "X"), ("data", "X"), ()),
    "sddmm": Op(ps.sddmm, ("A", "X", "Y"), ("X", "Y"), ()),
}
# Ops that are linear once the numbers have made their choices.
PIECEWISE = {
    *("set", "update", "first", "last", "add", "sum", "sub", "subtract", "mean"),
    *("min", "amin", "minimum", "max", "amax", "maximum", "fmin", "fmax"),
    *("median", "quantile"),
}


class Call(NamedTuple):
    """The operands of a call by name, and its constants."""

    name: str
    names: tuple  # of the operands
    options: dict  # axis, op, mode ...
    matrix: Any = None  # of spmm and sddmm
    is_right: bool = False  # the matrix is the second factor

    @property
    def numbers(self):
        """Positions of the operands that can have a gradient."""
        known = OPS[self.name].numbers
        return tuple(i for i, name in enumerate(self.names) if name in known)

    def arguments(self, arrays):
        """Return positional arguments and options of the function."""
        given = dict(zip(self.names, arrays, strict=True)) | self.options
        positional = OPS[self.name].positional
        if self.matrix is not None:
            data = given.pop("data", None)
            given["A"] = (
                self.matrix
                if data is None
                else with_data(self.matrix, np.asarray(data))
            )
            positional = positional[::-1] if self.is_right else positional
        count = max(i for i, name in enumerate(positional) if name in given) + 1
        return [given.pop(name, None) for name in positional[:count]], given

    def places(self, wanted):
        """Return the positional argument that each wanted operand is a part of."""
        positional = OPS[self.name].positional
        positional = positional[::-1] if self.is_right else positional
        return [
            positional.index("A" if self.names[i] == "data" else self.names[i])
            for i in wanted
        ]

    def run(self, arrays, out=None):
        """Return the result, in `out` where that is given."""
        args, options = self.arguments(arrays)
        if out is not None:
            options["out"] = out
        return OPS[self.name].function(*args, **options)

    def vjp(self, arrays, wanted):
        """Return the result, and what takes a cotangent to the wanted gradients."""
        args, options = self.arguments(arrays)
        places = self.places(wanted)
        function = OPS[self.name].function
        out, pullback = ps.vjp(function, *args, wrt=tuple(places), **options)

        def pull(g):
            grads = pullback(g)
            picked = [grads[place] for place in places]
            return [x.data if self.is_matrix(x) else x for x in picked]

        return out, pull

    def is_matrix(self, x):
        """Is it a gradient on the pattern of the matrix?"""
        return self.matrix is not None and not isinstance(x, np.ndarray)

    def pull(self, arrays, g, wanted):
        """Return the gradients of the wanted operands."""
        return self.vjp(arrays, wanted)[1](g)

    def push(self, arrays, tangents):
        """Return the tangent of the result; tangents belong to the numbers."""
        args, options = self.arguments(arrays)
        moves = [None] * len(args)
        for place, tangent in zip(self.places(self.numbers), tangents, strict=True):
            moves[place] = tangent
        function = OPS[self.name].function
        return ps.jvp(function, tuple(args), tuple(moves), **options)[1]

    def is_piecewise_linear(self):
        """Is its derivative the same around a point, as far as it exists?"""
        if self.matrix is not None:
            return False
        op = self.options.get("op", "add" if "segment" in self.name else "set")
        return self.name in ("gather", "gather_nd", "gather_along_axis", "where") or (
            getattr(op, "__name__", op) in PIECEWISE
        )

    def is_product(self):
        """Is it linear in each of its operands?"""
        op = self.options.get("op", "add")
        is_sum = getattr(op, "__name__", op) in ("add", "sum", "mean")
        return self.matrix is not None and is_sum and not self.options.get("semiring")

    def second(self, arrays, g, sources):
        """Return what the gradients' cotangents give the operands, or refuse.

        arrays, sources
            The operands, and the cotangents of the gradients of the numbers (None: 0).
        """
        if self.is_piecewise_linear():
            return [None] * len(self.numbers)
        self.require_product()
        moved = list(arrays)
        for i, source in zip(self.numbers, sources, strict=True):
            if source is None:
                moved[i] = np.zeros_like(arrays[i])
            else:
                moved[i] = np.asarray(source)
        if len(self.numbers) == 1:
            return [None]
        return self.pull(moved, g, self.numbers)

    def require_product(self):
        """Refuse what has no second derivative here."""
        if not self.is_product():
            op = self.options.get("op")
            raise RuntimeError(
                f"{self.name} with op={op!r} has no second derivative here; those of "
                "set, add, sub, mean, min, max, gather, where and products have"
            )

    def cross(self, arrays, first, then):
        """Return how a tangent moves with an operand; both name one by position."""
        moved = list(arrays)
        if self.is_piecewise_linear():
            return np.zeros_like(self.run(arrays))
        self.require_product()
        if first.keys() == then.keys():
            return np.zeros_like(self.run(arrays))
        for i, move in (first | then).items():
            moved[i] = move
        return self.run(moved)


# --- shapes and dtypes ----------------------------------------------------------------


def shape_of(call, shapes):
    """Return the shape of a result from those of the operands; None where unknown."""
    shapes = dict(zip(call.names, map(tuple, shapes), strict=True))
    return SHAPES[call.name](call, shapes, call.options)


def gather_shape(call, shapes, options):
    a, index = shapes["a"], shapes["index"]
    batch = options.get("batch_dims", 0)
    axis = options.get("axis", batch)
    if axis is None:
        return index
    axis = axis + len(a) if axis < 0 else axis
    return a[:axis] + index[batch:] + a[axis + 1 :]


def along_shape(call, shapes, options):
    a, index = shapes["a"], shapes["index"]
    axis = options.get("axis", -1)
    ret = list(broadcast(a[:axis] + (1,) + a[axis:][1:], index))
    ret[axis] = index[axis]
    return tuple(ret)


def tuples_shape(call, shapes, options):
    a, indices = shapes["a"], shapes["indices"]
    return indices[:-1] + a[options.get("batch_dims", 0) + indices[-1] :]


def target_shape(call, shapes, options):
    return shapes["a"]


def where_shape(call, shapes, options):
    return broadcast(*shapes.values())


def broadcast(*shapes):
    """Return the common shape; an unknown length stays unknown beside 1."""
    ret = []
    for lengths in zip(*(s[::-1] + (1,) * 64 for s in shapes), strict=False):
        if len(ret) == max(map(len, shapes)):
            break
        # Lengths that torch traces are symbols, which no set holds.
        known = [n for n in lengths if n is not None and n != 1]
        if any(n != known[0] for n in known):
            raise ValueError(f"shapes {shapes} do not broadcast")
        unknown = None if any(n is None for n in lengths) else 1
        ret.append(known[0] if known else unknown)
    return tuple(ret[::-1])


def segment_shape(call, shapes, options):
    values, batch = shapes["values"], options.get("batch_dims", 0)
    axis = options.get("axis", batch)
    axis = axis + len(values) if axis < 0 else axis
    covered, count = 1, options.get("num_segments")
    if "ids" in shapes and "gather" not in shapes:
        covered = len(shapes["ids"]) - batch
    for name, fewer in (("offsets", 1), ("starts", 0), ("lengths", 0)):
        if name in shapes:
            length = shapes[name][0]
            count = None if length is None else length - fewer
    if "ids" in shapes and count is None:
        raise TypeError("num_segments is needed here: a shape cannot depend on ids")
    lead = np.shape(options.get("q")) if options.get("q") is not None else ()
    return (*lead, *values[:axis], count, *values[axis + max(covered, 0) :])


def product_shape(call, shapes, options):
    X, (rows, columns) = shapes["X"], call.matrix.shape
    if options.get("transpose"):
        rows, columns = columns, rows
    length = columns if call.is_right else rows
    if len(X) == 1:
        return (length,)
    return X[:-1] + (length,) if call.is_right else X[:-2] + (length, X[-1])


def sampled_shape(call, shapes, options):
    return shapes["X"][:-2] + (call.matrix.nnz,)


SHAPES = {
    "gather": gather_shape,
    "gather_along_axis": along_shape,
    "gather_nd": tuples_shape,
    "scatter": target_shape,
    "scatter_along_axis": target_shape,
    "scatter_nd": target_shape,
    "scatter_where": target_shape,
    "where": where_shape,
    "segment_reduce": segment_shape,
    "spmm": product_shape,
    "sddmm": sampled_shape,
}


def dtype_of(call, dtypes):
    """Return the dtype of a result from those of the operands."""
    dtypes = dict(zip(call.names, map(np.dtype, dtypes), strict=True))
    if call.name == "where":
        return np.result_type(dtypes["x"], dtypes["y"])
    if call.name == "segment_reduce":
        keys = ("op", "q", "ddof")
        options = {key: call.options[key] for key in keys if key in call.options}
        if "weights" in dtypes:
            options["weights"] = np.ones(1, dtypes["weights"])
        one = np.ones(1, dtypes["values"])
        return ps.segment_reduce(one, np.zeros(1, np.intp), 1, **options).dtype
    if call.name in ("spmm", "sddmm"):
        data = dtypes.get("data", getattr(call.matrix, "dtype", np.dtype(bool)))
        kinds = [data, dtypes["X"]] if call.name == "spmm" else [*dtypes.values()]
        dtype = np.result_type(*kinds)
        return (
            np.dtype("f8")
            if call.options.get("op") == "mean" and dtype.kind in ("biu")
            else dtype
        )
    dtype = dtypes["a"]
    is_mean = call.options.get("op") == "mean" and call.name.startswith("scatter")
    return np.dtype("f8") if is_mean and dtype.kind in "biu" else dtype
