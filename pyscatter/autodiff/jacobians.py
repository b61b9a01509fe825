"""Jacobians: in closed form, by sweeps in either direction, or as a chain."""

import operator

import numpy as np

from pyscatter import _core
from pyscatter.autodiff import calls, chains
from pyscatter.autodiff.buffers import finished, is_matrix
from pyscatter.autodiff.tape import Tape
from pyscatter.sparse import CSR, Sparse

MODES_OF_INDICES = ("raise", "drop", "clip", "wrap", "fill")  # an operation's own
MODES = ("auto", "closed", "forward", "reverse", "chain")


class Jacobian:
    """A Jacobian and how it was found.

    Attributes are `matrix` (a CSR), `shape` (elements of the result, of the argument),
    `nnz`, `mode` ("closed", "forward", "reverse" or "chain"), `sweeps`, `cost` (the
    estimate of multiply-adds by which the mode was chosen) and `order` (of a chain's
    products). `to_dense()` returns an ndarray.
    """

    __slots__ = ("matrix", "mode", "sweeps", "cost", "order")

    def __init__(self, matrix, mode, sweeps, cost, order=None):
        self.matrix, self.mode = matrix, mode
        self.sweeps, self.cost, self.order = sweeps, cost, order

    @property
    def shape(self):
        """Elements of the result, and of the argument."""
        return self.matrix.shape

    @property
    def nnz(self):
        """Stored entries."""
        return self.matrix.nnz

    def to_dense(self):
        """Return an ndarray."""
        return self.matrix.to_dense()

    def __repr__(self):
        """Return its shape and how it was found."""
        return (
            f"Jacobian(shape={self.shape}, nnz={self.nnz}, mode={self.mode!r}, "
            f"sweeps={self.sweeps}, cost={self.cost})"
        )


# --- what there is a Jacobian of ------------------------------------------------------


class Map:
    """A function of one argument, at a point, in both directions: flat to flat."""

    def __init__(self, shape, forward, back, work, closed=None, chain=None):
        self.shape, self.forward, self.back = shape, forward, back
        self.work = work  # multiply-adds of a sweep
        self.closed, self.chain = closed, chain


def numbers_of(x):
    """Return the numbers of an argument: of a matrix, its data."""
    return np.asarray(x.data if is_matrix(x) else x)


def map_of_call(op, primals, wrt, options, ties):
    """Return the map of one argument of an operation."""
    rule = calls.rule_of(op)
    calls.chosen(rule, len(primals), wrt)
    calls.require_inexact(rule.arguments[wrt], primals[wrt])
    call = calls.run(rule, primals, options, ties)
    x, out = numbers_of(primals[wrt]), calls.numbers_of(call.out)
    k = rule.starred.index(wrt)

    def forward(v):
        tangents = [None] * len(rule.starred)
        tangents[k] = v.reshape(x.shape)
        return calls.numbers_of(calls.pushed(rule, call, tuple(tangents))).reshape(-1)

    def back(u):
        part = rule.vjps[wrt](call, u.reshape(out.shape))
        made = finished(part, primals[wrt], u.dtype, False, False)
        if made is None:
            return np.zeros(x.size)
        return numbers_of(made).reshape(-1)

    shape = (out.size, x.size)

    def closed():
        fresh = call.anew()
        return rule.jacobian(fresh, wrt, shape) if rule.jacobian is not None else None

    return Map(shape, forward, back, out.size + x.size, closed)


def flat_of(made, like, rule):
    """Return what a rule of the caller's gave, which is as large as `like`, flat."""
    if made is None:
        return np.zeros(like.size)
    made = np.asarray(made)
    if made.shape != like.shape:
        raise ValueError(f"{rule} returned shape {made.shape}; expected {like.shape}")
    return made.reshape(-1)


def map_of_function(f, primals, wrt, vjp, jvp, options):
    """Return the map of a function with rules of the caller's."""
    if not 0 <= wrt < len(primals):
        raise ValueError(f"wrt={wrt} is none of {len(primals)} arguments")
    out, x = np.asarray(f(*primals, **options)), np.asarray(primals[wrt])

    def forward(v):
        tangents = [None] * len(primals)
        tangents[wrt] = v.reshape(x.shape)
        return flat_of(jvp(tuple(tangents), out, *primals), out, "jvp")

    def back(u):
        made = vjp(u.reshape(out.shape), out, *primals)
        made = made if isinstance(made, tuple) else (made,)
        if len(made) != len(primals):
            count = f"{len(made)} gradients for {len(primals)} arguments"
            raise ValueError(f"vjp returned {count}")
        return flat_of(made[wrt], x, "vjp")

    ways = (forward if jvp else None, back if vjp else None)
    return Map((out.size, x.size), *ways, out.size + x.size)


def map_of_tape(tape, primals, wrt):
    """Return the map from a variable of a tape to a node, by default the last one."""
    variables = list(tape._variables)
    if not 0 <= wrt < len(variables):
        raise ValueError(f"wrt={wrt} is none of {len(variables)} variables of the tape")
    node = primals[0] if primals else tape._nodes[-1]
    tape._require_own(node)
    variable = variables[wrt]
    x, out = numbers_of(variable.value), numbers_of(node.value)

    def forward(v):
        tangents = [None] * len(variables)
        tangents[wrt] = v.reshape(x.shape)
        return tape.forward(node, *tangents).reshape(-1)

    def back(u):
        made = tape.reverse(node, u.reshape(out.shape))[wrt]
        return numbers_of(made).reshape(-1)

    stages = chains.stages_between(variable, node)
    work = chains.work_of(tape, node)
    return Map((out.size, x.size), forward, back, work, chain=stages)


# --- sweeps ---------------------------------------------------------------------------


def _colored(pattern):
    """Return (colours of columns, how many)."""
    rows, columns = pattern.to_csr(), pattern.to_csc()
    lengths = np.diff(rows.indptr)
    degree = np.zeros(columns.shape[1], np.int64)
    coo = columns.to_coo()
    _core.add_at(degree, coo.col, lengths[coo.row])
    order = np.argsort(-degree, kind="stable")
    return _core.color_columns(
        rows.indptr, rows.indices, columns.indptr, columns.indices, order
    )


def as_pattern(pattern, shape):
    """Return a pattern as a COO, each place once."""
    if not is_matrix(pattern) or isinstance(pattern, np.ndarray):
        pattern = CSR.from_dense(np.asarray(pattern) != 0)
    elif not isinstance(pattern, Sparse):
        pattern = CSR.from_scipy(pattern)
    if pattern.shape != shape:
        raise ValueError(f"pattern has shape {pattern.shape}; expected {shape}")
    return pattern.to_csr().sum_duplicates().to_coo()


def by_colors(sweep, pattern, size, is_reverse):
    """Return (entries of a pattern in its order, sweeps): columns share directions."""
    turned = pattern.T if is_reverse else pattern
    colors, count = _colored(turned)
    values = None
    for color in range(count):
        made = sweep((colors == color).astype(np.float64))
        here = colors[turned.col] == color
        if values is None:
            values = np.zeros(pattern.nnz, made.dtype)
        values[here] = made[turned.row[here]]
    return np.zeros(pattern.nnz) if values is None else values, count


def by_basis(sweep, n_in, n_out, is_reverse):
    """Return a CSR, one direction at a time."""
    rows, columns, values = [], [], []
    for i in range(n_in):
        direction = np.zeros(n_in)
        direction[i] = 1
        made = sweep(direction)
        places = np.flatnonzero(made != 0)
        rows.append(places)
        columns.append(np.full(places.size, i))
        values.append(made[places])
    shape = (n_in, n_out) if is_reverse else (n_out, n_in)
    if not rows:
        return _core.coo_to_csr(CSR, np.zeros(0), ([], []), shape)
    rows, columns, values = map(np.concatenate, (rows, columns, values))
    where = (columns, rows) if is_reverse else (rows, columns)
    return _core.coo_to_csr(CSR, values, where, shape)


def swept(which, mapped, pattern):
    """Return the Jacobian by sweeps in one direction."""
    is_reverse = which == "reverse"
    sweep = mapped.back if is_reverse else mapped.forward
    if sweep is None:
        raise TypeError(f"mode {which!r} needs {'vjp=' if is_reverse else 'jvp='}")
    n_out, n_in = mapped.shape
    # A gradient is what the adjoint gives: its conjugate is a row of the Jacobian.
    direction = (lambda u: np.conj(sweep(u))) if is_reverse else sweep
    if pattern is not None:
        values, sweeps = by_colors(direction, pattern, mapped.shape, is_reverse)
        where = pattern.row, pattern.col
        matrix = _core.coo_to_csr(CSR, values, where, mapped.shape)
    else:
        sweeps = n_out if is_reverse else n_in
        sizes = (n_out, n_in) if is_reverse else (n_in, n_out)
        matrix = by_basis(direction, *sizes, is_reverse)
    return Jacobian(matrix, which, sweeps, sweeps * mapped.work)


def costs_of(mapped, pattern):
    """Return the estimated cost of each way of sweeping."""
    n_out, n_in = mapped.shape
    if pattern is not None:
        n_in, n_out = _colored(pattern)[1], _colored(pattern.T)[1]
    costs = {}
    if mapped.forward is not None:
        costs["forward"] = n_in * mapped.work
    if mapped.back is not None:
        costs["reverse"] = n_out * mapped.work
    return costs


def chained(mapped):
    """Return the Jacobian of a chain, its stages multiplied in the cheapest order."""
    if mapped.chain is None:
        raise ValueError(
            "mode 'chain' needs a tape on which one path leads to the node"
        )
    matrix, cost, order = chains.multiplied(mapped.chain)
    return Jacobian(matrix, "chain", 0, cost, order)


def found(mapped, mode, pattern):
    """Return the Jacobian of a map in a mode."""
    if pattern is not None:
        pattern = as_pattern(pattern, mapped.shape)
    if mode in ("auto", "closed") and mapped.closed is not None and pattern is None:
        matrix = mapped.closed()
        if matrix is not None:
            return Jacobian(matrix, "closed", 0, matrix.nnz)
    if mode == "closed":
        raise ValueError("there is no closed form of this Jacobian")
    if mode == "chain":
        return chained(mapped)
    costs = costs_of(mapped, pattern)
    if mode == "auto":
        mode = min(costs, key=costs.get)
        if mapped.chain is not None and pattern is None:
            if chains.plan_of(mapped.chain)[0] < costs[mode]:
                return chained(mapped)
    return swept(mode, mapped, pattern)


def jacobian(
    f,
    /,
    *primals,
    wrt=0,
    mode="auto",
    pattern=None,
    vjp=None,
    jvp=None,
    ties="even",
    **options,
):
    """
    Return the Jacobian of a call, of a function, or of a tape.

    Parameters
    ----------
    f : callable or Tape
        An operation of pyscatter; a function that comes with `vjp` or `jvp`; or a
        `Tape`.
    primals : array_like
        The arguments by position. For a tape: the node, by default the last one.
    wrt : int or tuple of int, optional
        The position of the argument that moves (for a tape: the number of the
        variable). The columns of several stand side by side.
    mode : {"auto", "closed", "forward", "reverse", "chain"}, optional
        "closed" writes down what is known of an operation, "forward" and "reverse"
        sweep once for each column or row, or for each colour of a pattern, "chain"
        multiplies the Jacobians of the stages of a tape in the cheapest order. "auto"
        is closed where that exists, else the cheapest. What an operation calls a mode
        ("drop" and its kin) is passed on to it.
    pattern : sparse matrix or array_like, optional
        Where the Jacobian may differ from zero, of its shape. Columns, or rows, that
        share no row, or column, are swept together. What lies outside is added to
        what lies inside: a pattern with holes gives wrong numbers.
    vjp : callable, optional
        Of a function: ``vjp(g, out, *primals)``, a gradient for each; None is zero.
    jvp : callable, optional
        Of a function: ``jvp(tangents, out, *primals)``.
    ties : {"even", "first"}, optional
        As in `vjp`.
    options : optional
        Keywords of the call.

    Returns
    -------
    Jacobian
        With ``matrix`` (a CSR), ``shape`` (elements of the result, of the argument),
        ``nnz``, ``mode``, ``sweeps``, ``cost`` (multiply-adds, as estimated), ``order``
        (of a chain's products) and ``to_dense()``.

    Raises
    ------
    ValueError
        An unknown mode, or one that `f` does not have; a pattern of another shape;
        `wrt` names no argument or variable; a rule that returned another shape.
    TypeError
        A function without the rule that the mode needs; what `vjp` refuses.

    Notes
    -----
    The estimate of a sweep is the number of elements that it reads and writes; that of
    a product of stages the number of its terms, if entries were spread evenly.

    *Order and duplicates*: exact, as `vjp`.

    *Determinism*: the same bits for any number of threads and any CPU level.

    *Derivatives*: as `vjp`; for complex numbers the Jacobian is that of `jvp`.

    *Cost*: closed forms cost their entries. Colours are given greedily, largest degree
    first, in C, in the sum of the squares of the lengths of rows.

    See Also
    --------
    linear_operator, Tape
    jax.jacfwd, jax.jacrev, torch.autograd.functional.jacobian, sparsejac.jacfwd

    Examples
    --------
    >>> import numpy as np
    >>> import pyscatter as ps
    >>> J = ps.jacobian(ps.segment_mean, np.zeros(4), [0, 1, 0, 0])
    >>> J
    Jacobian(shape=(2, 4), nnz=4, mode='closed', sweeps=0, cost=4)
    >>> J.to_dense()
    array([[0.33333333, 0.        , 0.33333333, 0.33333333],
           [0.        , 1.        , 0.        , 0.        ]])
    >>> x = np.array([1.0, 2.0, 3.0, 4.0])
    >>> own = {"jvp": lambda tangents, y, x: 2 * x * tangents[0]}
    >>> ps.jacobian(np.square, x, pattern=np.eye(4), **own)
    Jacobian(shape=(4, 4), nnz=4, mode='forward', sweeps=1, cost=8)
    """
    if mode in MODES_OF_INDICES:
        options["mode"], mode = mode, "auto"
    if mode not in MODES:
        raise ValueError(f"unknown mode {mode!r}; choose from {', '.join(MODES)}")
    given = wrt if isinstance(wrt, (tuple, list)) else (wrt,)
    given = tuple(operator.index(one) for one in given)
    if not given:
        raise ValueError("wrt names no argument")
    made = []
    for one in given:
        if isinstance(f, Tape):
            mapped = map_of_tape(f, primals, one)
        elif vjp is None and jvp is None:
            mapped = map_of_call(f, primals, one, options, ties)
        else:
            mapped = map_of_function(f, primals, one, vjp, jvp, options)
        made.append(found(mapped, mode, pattern))
    return made[0] if len(made) == 1 else side_by_side(made)


def side_by_side(parts):
    """Return one Jacobian of several arguments."""
    coos = [part.matrix.to_coo() for part in parts]
    widths = np.cumsum([0] + [coo.shape[1] for coo in coos])
    shape = (coos[0].shape[0], int(widths[-1]))
    where = (
        np.concatenate([coo.row for coo in coos]),
        np.concatenate(
            [coo.col.astype(np.int64) + w for coo, w in zip(coos, widths, strict=False)]
        ),
    )
    data = np.concatenate([coo.data for coo in coos])
    matrix = _core.coo_to_csr(CSR, data, where, shape)
    modes = {part.mode for part in parts}
    sweeps, cost = (sum(getattr(p, name) for p in parts) for name in ("sweeps", "cost"))
    return Jacobian(matrix, "+".join(sorted(modes)), sweeps, cost)
