"""The functions that all adapters have, made for the tensors of one package.

Names, arguments and meaning are those of pyscatter; `out`, `casting`, `compensated`
and `dtype` are left out. An adapter gives `apply`, which takes a Call and its operands;
what stands here sorts arguments into operands and constants, and says it in docstrings.
"""

import inspect

from pyscatter.adapters._calls import OPS, Call
from pyscatter.autodiff.buffers import is_matrix


class _Batch:
    """The default axis: the first one behind the batch axes."""

    def __repr__(self):
        return "<batch_dims>"


BATCH = _Batch()
NAMES = tuple(OPS)

DOC = """{first}

    `pyscatter.{name}` for {what}: arguments, meaning and errors are described there.

    Parameters
    ----------
{parameters}

    Returns
    -------
    {returns}
        What `pyscatter.{name}` returns, of shape {shape}.

    Raises
    ------
    IndexError
        An index is out of bounds under mode="raise"; inside a compiled graph it is the
        package's own error with this message.
    ValueError
        Shapes do not fit.
    TypeError
        Indices are no integers; {type_error}.

    Notes
    -----
    *Order and duplicates*, *Determinism*: as `pyscatter.{name}`. *Derivatives*: those
    of `pyscatter.vjp` and `pyscatter.jvp`, for {numbers}; indices have none.
    {second}
    *Cost*: that of the operation and of the package's own call.

    See Also
    --------
    pyscatter.{name}, pyscatter.vjp
"""
SECOND = (
    "Second ones are right for set, add, sub, mean, min, max, gathers, segments and\n"
    "    products, and a RuntimeError for the others."
)
TENSORS = {
    "a": "a : {t}\n    The target, or the source of a gather.",
    "index": "index : {t} of integers\n    Places on the axis.",
    "indices": "indices : {t} of integers\n    (..., k): tuples.",
    "values": "values : {t}\n    What arrives.",
    "axis": "axis : int, optional\n    The axis that is indexed.",
    "batch_dims": "batch_dims : int, optional\n    How many leading axes are batches.",
    "where": "where : {t} of bool, optional\n    Which entries take part.",
    "mode": "mode : str, optional\n    What an index out of bounds does.",
    "fill_value": "fill_value : scalar, optional\n    What stands where nothing is.",
    "op": "op : str, optional\n    What happens where values arrive.",
    "include_self": "include_self : bool, optional\n    Whether the old value counts.",
    "condition": "condition : {t} of bool\n    True chooses `x`.",
    "x": "x : {t} or scalar\n    Chosen where true.",
    "y": "y : {t} or scalar\n    Chosen elsewhere.",
    "mask": "mask : {t} of bool\n    Covers `a`, or its first axes.",
    "packed": "packed : bool, optional\n    `values` has one entry for each true.",
    "ids": "ids : {t} of integers, optional\n    The segment of each entry.",
    "num_segments": "num_segments : int, optional\n    How many segments there are.",
    "offsets": "offsets : {t} of integers, optional\n    Where segments begin and end.",
    "starts": "starts : {t} of integers, optional\n    Where segments begin.",
    "stops": "stops : {t} of integers, optional\n    Where segments end.",
    "lengths": "lengths : {t} of integers, optional\n    How long segments are.",
    "gather": "gather : {t} of integers, optional\n    Which rows are reduced.",
    "weights": "weights : {t}, optional\n    Constants that entries are multiplied by.",
    "q": "q : float or list of float, optional\n    The quantile.",
    "ddof": "ddof : int, optional\n    What var and std subtract from the count.",
    "initial": "initial : scalar, optional\n    What every reduction starts at.",
    "skipna": "skipna : bool, optional\n    Leave NaN out.",
    "assume_sorted": "assume_sorted : bool, optional\n    A promise that is checked.",
    "A": "A : sparse matrix\n    One of pyscatter's or SciPy's: a constant.",
    "X": "X : {t}\n    Dense.",
    "Y": "Y : {t}\n    Dense.",
    "data": "data : {t}, optional\n    Replaces the matrix's values, in stored order.",
    "alpha": "alpha : scalar, optional\n    What the product is multiplied by.",
    "semiring": "semiring : str, optional\n    As there.",
    "transpose": "transpose : bool, optional\n    Use the transpose of the matrix.",
    "conjugate": "conjugate : bool, optional\n    Use its conjugate.",
}
FIRST = {
    "gather": ("Take slices of an axis.", "index's in place of the axis", "`a`"),
    "gather_along_axis": ("Take elements along an axis.", "that of index", "`a`"),
    "gather_nd": ("Take what tuples name.", "indices.shape[:-1] and the rest", "`a`"),
    "scatter": ("Update slices of an axis.", "a.shape", "`a` and `values`"),
    "scatter_along_axis": (
        "Update elements along an axis.",
        "a.shape",
        "`a` and `values`",
    ),
    "scatter_nd": ("Update what tuples name.", "a.shape", "`a` and `values`"),
    "where": ("Choose between two.", "the common one", "`x` and `y`"),
    "scatter_where": ("Update where a mask is true.", "a.shape", "`a` and `values`"),
    "segment_reduce": (
        "Reduce segments.",
        "num_segments in place of the axis",
        "`values`",
    ),
    "spmm": (
        "Multiply a sparse matrix and a dense one, from either side.",
        "of the product",
        "`X` and `data`",
    ),
    "sddmm": ("Take X @ Y.T at the entries of a matrix.", "(..., nnz)", "`X` and `Y`"),
}


def functions(apply, kind, package, type_error, second=SECOND):
    """Make the functions of one package.

    Parameters
    ----------
    apply : callable
        ``apply(call, operands)`` returns the result.
    kind : str
        What the package calls a tensor.
    package : str
        Its name.
    type_error : str
        What else is a TypeError.
    second : str, optional
        What is said about second derivatives.

    Returns
    -------
    dict
        The functions by name, which an adapter adds to its own names.
    """

    def given(name, operands, **options):
        present = {key: x for key, x in operands.items() if x is not None}
        if options.get("axis", 0) is BATCH:
            del options["axis"]
        kept = {
            key: x for key, x in options.items() if key == "axis" or x != DEFAULTS[key]
        }
        return apply(Call(name, tuple(present), kept), list(present.values()))

    made = {}
    for make in (_gathers, _scatters, _masks, _segments):
        made |= make(given)
    made |= _products(apply)
    for name, function in made.items():
        first, shape, numbers = FIRST[name]
        parameters = "\n".join(
            TENSORS[p].format(t=kind) for p in inspect.signature(function).parameters
        )
        function.__name__ = function.__qualname__ = name
        function.__module__ = f"pyscatter.adapters.{package}"
        function.__doc__ = DOC.format(
            first=first,
            name=name,
            what=f"{package}'s {kind}s" if kind != "array_like" else "traced arrays",
            returns=kind,
            shape=shape,
            numbers=numbers,
            second=second,
            type_error=type_error,
            parameters="    " + parameters.replace("\n", "\n    "),
        )
    return made


DEFAULTS = {
    "batch_dims": 0,
    "mode": "raise",
    "fill_value": None,
    "op": None,
    "include_self": True,
    "packed": False,
    "num_segments": None,
    "q": None,
    "ddof": 0,
    "initial": None,
    "skipna": False,
    "assume_sorted": False,
    "alpha": 1,
    "semiring": None,
    "transpose": False,
    "conjugate": False,
    "values": "pattern",
}


def _gathers(given):
    def gather(
        a, index, axis=BATCH, *, batch_dims=0, where=None, mode="raise", fill_value=None
    ):
        operands = {"a": a, "index": index, "where": where}
        options = {"axis": axis, "batch_dims": batch_dims, "mode": mode}
        return given("gather", operands, fill_value=fill_value, **options)

    def gather_along_axis(
        a, index, axis=-1, *, where=None, mode="raise", fill_value=None
    ):
        operands = {"a": a, "index": index, "where": where}
        return given(
            "gather_along_axis", operands, axis=axis, mode=mode, fill_value=fill_value
        )

    def gather_nd(
        a, indices, *, batch_dims=0, where=None, mode="raise", fill_value=None
    ):
        operands = {"a": a, "indices": indices, "where": where}
        options = {"batch_dims": batch_dims, "mode": mode, "fill_value": fill_value}
        return given("gather_nd", operands, **options)

    return {
        "gather": gather,
        "gather_along_axis": gather_along_axis,
        "gather_nd": gather_nd,
    }


def _scatters(given):
    def scatter(
        a,
        index,
        values,
        axis=BATCH,
        *,
        op="set",
        batch_dims=0,
        where=None,
        mode="raise",
        include_self=True,
    ):
        operands = {"a": a, "index": index, "values": values, "where": where}
        options = {"axis": axis, "batch_dims": batch_dims, "mode": mode}
        return given("scatter", operands, op=op, include_self=include_self, **options)

    def scatter_along_axis(
        a,
        index,
        values,
        axis=-1,
        *,
        op="set",
        where=None,
        mode="raise",
        include_self=True,
    ):
        operands = {"a": a, "index": index, "values": values, "where": where}
        options = {"axis": axis, "mode": mode, "include_self": include_self}
        return given("scatter_along_axis", operands, op=op, **options)

    def scatter_nd(
        a,
        indices,
        values,
        *,
        batch_dims=0,
        op="set",
        where=None,
        mode="raise",
        include_self=True,
    ):
        operands = {"a": a, "indices": indices, "values": values, "where": where}
        options = {"batch_dims": batch_dims, "mode": mode, "include_self": include_self}
        return given("scatter_nd", operands, op=op, **options)

    return {
        "scatter": scatter,
        "scatter_along_axis": scatter_along_axis,
        "scatter_nd": scatter_nd,
    }


def _masks(given):
    def where(condition, x, y):
        return given("where", {"condition": condition, "x": x, "y": y})

    def scatter_where(a, mask, values, *, op="set", packed=False):
        operands = {"a": a, "mask": mask, "values": values}
        return given("scatter_where", operands, op=op, packed=packed)

    return {"where": where, "scatter_where": scatter_where}


def _segments(given):
    def segment_reduce(
        values,
        ids=None,
        num_segments=None,
        *,
        offsets=None,
        starts=None,
        stops=None,
        lengths=None,
        gather=None,
        weights=None,
        axis=BATCH,
        batch_dims=0,
        op="add",
        q=None,
        ddof=0,
        initial=None,
        fill_value=None,
        where=None,
        skipna=False,
        mode="raise",
        assume_sorted=False,
    ):
        operands = {"values": values, "ids": ids, "offsets": offsets, "starts": starts}
        operands |= {"stops": stops, "lengths": lengths, "gather": gather}
        operands |= {"weights": weights, "where": where}
        return given(
            "segment_reduce",
            operands,
            num_segments=num_segments,
            axis=axis,
            batch_dims=batch_dims,
            op=op,
            q=q,
            ddof=ddof,
            initial=initial,
            fill_value=fill_value,
            skipna=skipna,
            mode=mode,
            assume_sorted=assume_sorted,
        )

    return {"segment_reduce": segment_reduce}


def _products(apply):
    def options_of(**options):
        return {key: x for key, x in options.items() if x != DEFAULTS[key]}

    def spmm(
        A,
        X,
        *,
        data=None,
        alpha=1,
        op="add",
        semiring=None,
        transpose=False,
        conjugate=False,
        fill_value=None,
    ):
        is_right = is_matrix(X) and not is_matrix(A)
        matrix, dense = (X, A) if is_right else (A, X)
        if not is_matrix(matrix):
            raise TypeError("neither operand is a sparse matrix of pyscatter or SciPy")
        options = options_of(
            alpha=alpha,
            semiring=semiring,
            transpose=transpose,
            conjugate=conjugate,
            fill_value=fill_value,
        )
        options |= {} if op in ("add", "sum") else {"op": op}
        names = ("X",) if data is None else ("data", "X")
        operands = [dense] if data is None else [data, dense]
        return apply(Call("spmm", names, options, matrix, is_right), operands)

    def sddmm(A, X, Y, *, values="pattern"):
        if not is_matrix(A):
            raise TypeError(f"A is a {type(A).__name__}; expected a sparse matrix")
        call = Call("sddmm", ("X", "Y"), options_of(values=values), A)
        return apply(call, [X, Y])

    return {"spmm": spmm, "sddmm": sddmm}
