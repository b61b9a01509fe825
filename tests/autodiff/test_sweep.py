"""check_grads over every row of kernels(), every operation and dtype, every option.

What is left out is named with its reason: a row, a dtype or an option that is in no
list here fails a test.
"""

import inspect

import numpy as np
import pytest

import pyscatter as ps
from pyscatter.autodiff.rules import RULES
from pyscatter.testing import check_grads
from tests.cases import DTYPES, rng_for

RNG = rng_for("sweep")
IDS = np.array([0, 2, 2, 0, 1, 2])
SOME = IDS > 0
VALUES = np.array([1.5, -0.5, 2.0, 0.75, -1.25, 3.0])
FLOATS = {name: DTYPES[name] for name in ("f16", "bf16", "f32", "f64", "c64", "c128")
          if name in DTYPES}  # fmt: skip
PAIRS = {"k32": FLOATS["f32"], "k64": FLOATS["f64"]}  # compensated sums
COORDINATES = [0, 1, 1, 3, 4, 0], [1, 0, 2, 3, 3, 1]


def numbers(dtype, x=VALUES):
    """Return numbers of a dtype; complex ones have two parts."""
    x = x.astype(dtype)
    return x - np.asarray(1j, dtype) if x.dtype.kind == "c" else x


def matrix(dtype):
    """Return a matrix with an empty row and a duplicate."""
    return ps.COO((numbers(dtype), COORDINATES), (5, 4)).to_csr()


def dense(dtype, rows=4):
    return numbers(dtype, RNG.standard_normal((rows, 3)))


# --- every row of kernels() -----------------------------------------------------------


def with_op(function, *addressing):
    """Return what sweeps the ops of a scatter."""
    return lambda op, v: (function, (v, *addressing, v), {"op": op})


def reduced(function, *ids):
    """Return what sweeps the ops of a reduction."""
    return lambda op, v: (function, (v, *ids), {"op": op})


def product(op, v):
    """Return the call of a row of products."""
    A, X = matrix(v.dtype), dense(v.dtype)
    if op == "sddmm":
        return ps.sddmm, (A, dense(v.dtype, 5), X), {"values": "scale"}
    kinds = {"add_times": {}, "min_times": {"op": "min"}}
    kind = kinds.get(op, {"semiring": op})
    return ps.spmm, (A, X), kind | ({"fill_value": 0} if kind else {})


MOVES = {
    ("where", "select"): lambda op, v: (ps.where, (SOME, v, v[::-1]), {}),
    ("where", "compress"): lambda op, v: (ps.gather_where, (v, SOME), {}),
    ("quantile", "select"): lambda op, v: (
        ps.segment_reduce,
        (v, IDS, 4),
        {"op": "quantile", "q": [0.25, 1]},
    ),
}
SWEPT = {
    "scatter": with_op(ps.scatter, IDS),
    "plan": with_op(ps.scatter, ps.Plan(IDS, 6)),
    "where": with_op(ps.scatter_where, SOME),
    "segment": reduced(ps.segment_reduce, IDS, 4),
    "scan": reduced(ps.segment_scan, IDS),
    "gather": lambda op, v: (ps.gather, (v, IDS), {}),
    "spmm": product,
    "change": lambda op, v: (ps.change_stats, (v, v[::-1] + v[::-1]), {"field": "rms"}),
}


def reason(family, op, dtype):
    """Return why a row has no derivative, or None."""
    if family in ("nonzero", "delta", "bins", "histogram", "keys"):
        return "its result is places, counts or bits"
    if family == "accumulate":
        return "what it adds is a gradient"
    if family == "change" and dtype[0] == "c":
        return "differences of complex numbers: TypeError"
    if op in ("and", "or", "xor"):
        return "bits of integers"
    if dtype == "f80":
        return "wider than double precision: TypeError"
    if dtype not in FLOATS and dtype not in PAIRS:
        return "nothing flows through integers and times: TypeError"
    if op[-3:] in ("min", "max") and dtype[0] == "c":
        return "complex numbers have no order for derivatives"
    return None


ROWS = sorted({row[:3] for row in ps._core.kernels()})


@pytest.mark.parametrize(
    ("family", "op", "dtype"), [row for row in ROWS if reason(*row) is None]
)
def test_kernels(family, op, dtype):
    values = numbers(PAIRS.get(dtype) or FLOATS[dtype])
    sweep = MOVES.get((family, op)) or SWEPT[family]
    function, arguments, options = sweep(op, values)
    more = {"compensated": True} if dtype in PAIRS else {}
    check_grads(function, *arguments, **options, **more)


@pytest.mark.parametrize("dtype", ["i8", "b1", "f80", "t64"])
def test_kernels_of_other_dtypes_are_refused(dtype):
    names = {"i8": "i1", "b1": "?", "f80": np.longdouble, "t64": "m8[s]"}
    values = np.zeros(6, names[dtype])
    for function, arguments in (
        (ps.gather, (values, IDS)),
        (ps.scatter, (values, IDS, values)),
        (ps.segment_sum, (values, IDS)),
    ):
        with pytest.raises(TypeError, match="float|derivative"):
            ps.vjp(function, *arguments)


# --- every operation, and every dtype of numbers --------------------------------------

EXAMPLES = {
    "gather": lambda v: (v, IDS),
    "gather_along_axis": lambda v: (v, IDS),
    "gather_nd": lambda v: (v, IDS[:, None]),
    "gather_at": lambda v: (v, IDS),
    "gather_where": lambda v: (v, SOME),
    "scatter": lambda v: (v, IDS, v),
    "scatter_along_axis": lambda v: (v, IDS, v),
    "scatter_nd": lambda v: (v, IDS[:, None], v),
    "scatter_at": lambda v: (v, IDS, v),
    "scatter_where": lambda v: (v, SOME, v[::-1]),
    "where": lambda v: (SOME, v, v[0]),
    "apply_where": lambda v: (SOME, v, np.square),
    "segment_expand": lambda v: (v, IDS),
    "bincount": lambda v: (IDS, v),
    "spmm": lambda v: (matrix(v.dtype), dense(v.dtype)),
    "sddmm": lambda v: (matrix(v.dtype), dense(v.dtype, 5), dense(v.dtype)),
    "spgemm": lambda v: (matrix(v.dtype), matrix(v.dtype).T),
    "coo_to_csr": lambda v: (v, COORDINATES, (5, 4)),
    "change_stats": lambda v: (v, v[::-1] + v[::-1]),
}
NEEDED = {
    "apply_where": {"fill_value": 0.0, "derivative": lambda x: 2 * x},
    "change_stats": {"field": "rms"},
}
ORDERED = ("segment_min", "segment_max", "segment_softmax", "segment_log_softmax")


def example(name, dtype):
    """Return the arguments of a call, and the options that it needs."""
    values = numbers(dtype)
    made = EXAMPLES.get(name, lambda v: (v, IDS))(values)
    return made, NEEDED.get(name, {})


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", RULES, ids=lambda op: op.__name__)
def test_operations(op, dtype):
    arguments, options = example(op.__name__, FLOATS[dtype])
    is_ordered = op.__name__ in (*ORDERED, "change_stats")
    if FLOATS[dtype].kind == "c" and is_ordered:
        with pytest.raises(TypeError):
            ps.vjp(op, *arguments, **options)
        return
    check_grads(op, *arguments, **options)


# --- every option ---------------------------------------------------------------------

GRID = RNG.standard_normal((3, 4))
LINES = np.array([[0, 1, 0, 1], [1, 0, 0, 0], [0, 0, 1, 1]])
ROW = np.array([0, 2, 2])
BY_ROWS = {"axis": 1, "batch_dims": 1}
# For each option the calls that have it: arguments (None: the example's) and options.
OPTIONS = {
    "axis": [(None, {"axis": 0})],
    "batch_dims": [(None, {"batch_dims": 0})],
    "where": [(None, {"where": SOME})],
    "mode": [(None, {"mode": mode}) for mode in ("raise", "drop", "clip", "wrap")],
    "fill_value": [(None, {"fill_value": 1.5})],
    "op": [(None, {"op": op}) for op in ("add", "max")],
    "include_self": [(None, {"op": "mean", "include_self": False})],
    "dtype": [(None, {"dtype": np.float64})],
    "compensated": [(None, {"op": "add", "compensated": True})],
    "casting": [(None, {"casting": "unsafe"})],
    "packed": [((VALUES, SOME, VALUES[SOME]), {"packed": True})],
    "offsets": [((VALUES,), {"offsets": [0, 2, 6]})],
    "lengths": [((VALUES,), {"lengths": [2, 4]})],
    "starts": [((VALUES,), {"starts": [3, 0], "stops": [5, 4]})],
    "stops": [((VALUES,), {"starts": [3, 0], "stops": [5, 4]})],
    "gather": [((VALUES[:3], IDS, 4), {"gather": IDS})],
    "weights": [(None, {"weights": VALUES**2})],
    "q": [(None, {"op": "quantile", "q": 0.3})],
    "ddof": [((VALUES, IDS % 2), {"op": "var", "ddof": 1})],
    "initial": [(None, {"op": "max", "initial": 0.5})],
    "skipna": [(None, {"skipna": True})],
    "assume_sorted": [((VALUES, np.sort(IDS)), {"assume_sorted": True})],
    "derivative": [(None, {})],
    "exclusive": [(None, {"exclusive": True})],
    "reverse": [(None, {"reverse": True})],
    "alpha": [(None, {"alpha": 2.5})],
    "beta": [(None, {"beta": 0})],
    "semiring": [(None, {"semiring": "max_plus", "fill_value": 0})],
    "transpose": [((matrix("f8").T, dense("f8")), {"transpose": True})],
    "conjugate": [((matrix("c16"), dense("c16")), {"conjugate": True})],
    "values": [(None, {"values": "scale"})],
    "atol": [(None, {"atol": 0.5})],
    "rtol": [(None, {"rtol": 0.5})],
    "per_row": [(None, {"per_row": True})],
    "per_feature": [(None, {"per_feature": True})],
    "finite_only": [(None, {"finite_only": True})],
    "view": [],  # bits of another type: none flows
    "hist": [],  # counts
    "copy_new_to": [],  # a second result, beside the statistics
    "plan": [],  # False alone; True is refused with a reason
    "return_arg": [],  # refused with a reason
    "return_counts": [],
    "out": [],
}
# Where an option means something else, or needs another call.
SPECIAL = {
    ("spmm", "op"): [(None, {"op": "mean", "fill_value": 0})],
    ("spmm", "fill_value"): [(None, {"op": "mean", "fill_value": 0.5})],
    ("gather_where", "axis"): [((GRID, ROW > 0), {"axis": 0})],
    ("segment_reduce", "fill_value"): [((VALUES, IDS, 5), {"fill_value": 7.0})],
    ("apply_where", "fill_value"): [(None, {})],
    ("gather", "batch_dims"): [((GRID, LINES), BY_ROWS)],
    ("scatter", "batch_dims"): [((GRID, LINES, GRID), BY_ROWS | {"op": "max"})],
    ("gather_nd", "batch_dims"): [((GRID, ROW[:, None]), {"batch_dims": 1})],
    ("scatter_nd", "batch_dims"): [((GRID, ROW[:, None], ROW / 2), {"batch_dims": 1})],
    ("segment_reduce", "batch_dims"): [((GRID, LINES), BY_ROWS)],
    ("segment_softmax", "batch_dims"): [((GRID, LINES), BY_ROWS)],
    ("segment_log_softmax", "batch_dims"): [((GRID, LINES), BY_ROWS)],
}
for _name in ("gather", "gather_along_axis", "gather_nd", "gather_at"):
    filled = {"mode": "fill", "where": SOME, "fill_value": 1.5}
    SPECIAL[_name, "fill_value"] = [(None, filled)]


for _way, _ends in (
    ("offsets", [0, 1, 1, 3, 4, 6, 7]),
    ("lengths", [1, 0, 2, 1, 2, 1]),
):
    SPECIAL["segment_expand", _way] = [((VALUES,), {_way: _ends})]


def options_of(op):
    """Return the options of an operation; those that abbreviate another have its."""
    whole = inspect.signature(getattr(ps, op.__name__)).parameters.values()
    keywords = {p.name for p in whole if p.kind is p.KEYWORD_ONLY}
    return sorted(keywords | {"axis"} & {p.name for p in whole})


CASES = [(op, option) for op in RULES for option in options_of(op)]


@pytest.mark.parametrize(
    ("op", "option"), CASES, ids=lambda x: x if isinstance(x, str) else x.__name__
)
def test_options(op, option):
    name = op.__name__
    for arguments, options in SPECIAL.get((name, option), OPTIONS[option]):
        own, needed = example(name, "f8")
        own = own if arguments is None else arguments
        check_grads(op, *own, **needed, **options)


@pytest.mark.parametrize("op", RULES, ids=lambda op: op.__name__)
def test_ties(op):
    arguments, options = example(op.__name__, "f8")
    check_grads(op, *arguments, ties="first", **options)
