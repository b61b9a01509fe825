"""Checks for tests: of derivatives, ours and yours."""

import numpy as np

from pyscatter.autodiff import calls
from pyscatter.autodiff.buffers import dtype_of, finished, is_matrix, with_data
from pyscatter.autodiff.rules import RULES
from pyscatter.autodiff.tape import KnownStep

# Operations that are at most of degree two along a line: central differences of any
# step are exact there, but for rounding.
QUADRATIC = {
    *("gather", "gather_along_axis", "gather_nd", "gather_at", "gather_where"),
    *("where", "segment_sum", "segment_mean", "segment_cumsum", "segment_expand"),
    *("bincount", "spgemm", "coo_to_csr"),
}
QUADRATIC_OPS = {"set", "first", "last", "add", "sub", "mean", "sum"}
STEP = 1e-6
SECOND_STEP = 1e-5
JUMP = 1e3  # a slope of gradients that is none: a kink lies between the ends


def check_grads(op, /, *primals, vjp=None, jvp=None, **options):
    """
    Check that the derivatives of a call are those of its values, and agree.

    Parameters
    ----------
    op : callable
        An operation of pyscatter, or any function with rules of its own.
    primals : array_like
        Arguments by position. Floats among them are moved, by random directions.
    vjp : callable, optional
        ``vjp(g, out, *primals)`` returns a gradient for each argument, or None.
    jvp : callable, optional
        ``jvp(tangents, out, *primals)`` returns the tangent of the result.
    options : optional
        Keywords of the call; of `pyscatter.vjp` too, such as ``ties=`` and ``wrt=``.

    Returns
    -------
    None

    Raises
    ------
    AssertionError
        Both directions do not agree: ``<g, J v>`` differs from ``<J* g, v>`` by more
        than rounding explains; or differences of values tell another tangent. The
        message has both numbers.
    TypeError, ValueError
        As `pyscatter.vjp` raises.

    Notes
    -----
    Four checks. The dot test is in the dtypes given, and sees errors of structure.
    Central differences are taken in double precision: with a step of 1/2 where the
    operation is at most quadratic, which is exact, and of 1e-6 elsewhere. Elements
    whose one-sided slopes differ sit on a kink, where a subgradient is a choice, and
    are left out of the differences, as are those that are not finite. Gradients must
    have the shape of their argument. Second derivatives of operations are compared with
    differences of gradients, of real numbers; those of `change_stats` are not known.

    See Also
    --------
    pyscatter.vjp, pyscatter.jvp
    torch.autograd.gradcheck, jax.test_util.check_grads

    Examples
    --------
    >>> import numpy as np
    >>> import pyscatter as ps
    >>> from pyscatter.testing import check_grads
    >>> check_grads(ps.scatter, np.ones(3), [0, 0, 2], np.arange(3.0), op="mul")
    >>> check_grads(
    ...     np.sin, np.ones(2), vjp=lambda g, y, x: g * np.cos(x),
    ...     jvp=lambda tangents, y, x: tangents[0] * np.cos(x),
    ... )
    """
    rng = np.random.default_rng(0)
    wrt = options.pop("wrt", None)
    ties = options.pop("ties", "even")
    if op in RULES:
        made = _Known(op, primals, options, wrt, ties)
    else:
        made = _Given(op, primals, options, vjp, jvp)
    moved = [made.can_move(i) for i in range(len(primals))]
    tangents = tuple(
        _direction(rng, x) if move else None
        for x, move in zip(primals, moved, strict=True)
    )
    out, tangent = made.forward(tangents)
    g = _direction(rng, out)
    _check_dot(g, tangent, made.back(g), primals, tangents)
    _check_differences(made, op, primals, tangents, options)
    if isinstance(made, _Known):
        _check_second(made, g, tangents)


class _Known:
    """An operation whose rules the library has."""

    def __init__(self, op, primals, options, wrt, ties):
        self.op, self.options = op, options
        self.rule = calls.rule_of(op)
        self.call = self.rule.called
        self.wanted = calls.chosen(self.rule, len(primals), wrt)
        self.out, self.back = calls.vjp(op, *primals, wrt=wrt, ties=ties, **options)
        self.primals, self.ties = primals, ties

    def can_move(self, i):
        x = self.primals[i]
        return i in self.wanted and not (is_matrix(x) and x.data is None)

    def asked(self):
        names = ("dtype", "casting")
        kept = {k: v for k, v in self.options.items() if k not in names}
        return {**kept, "ties": self.ties}

    def forward(self, tangents):
        return calls.jvp(
            self.op, self.primals, tangents, ties=self.ties, **self.options
        )

    def is_quadratic(self):
        if self.rule.name in QUADRATIC:
            return True
        default = "set" if self.rule.name.startswith("scatter") else "add"
        named = self.rule.name in ("spmm", "segment_reduce", "segment_scan")
        if named or default == "set":
            semiring = self.options.get("semiring")
            return self.options.get("op", default) in QUADRATIC_OPS and not semiring
        return False


class _Given:
    """A function with rules of the caller's."""

    def __init__(self, op, primals, options, vjp, jvp):
        if vjp is None or jvp is None:
            raise TypeError("a function of your own needs vjp= and jvp=")
        self.op, self.primals, self.options = op, primals, options
        self.call = op
        self.vjp, self.jvp = vjp, jvp
        self.out = np.asarray(op(*primals, **options))

    def can_move(self, i):
        dtype = dtype_of(self.primals[i])
        return dtype is not None and calls.is_inexact(dtype)

    def forward(self, tangents):
        return self.out, self.jvp(tangents, self.out, *self.primals)

    def back(self, g):
        made = self.vjp(g, self.out, *self.primals)
        return made if isinstance(made, tuple) else (made,)

    def is_quadratic(self):
        return False


def _numbers(x):
    return np.asarray(x.data if is_matrix(x) else x)


def _direction(rng, x):
    """Return a random array that fits an argument, or a tuple of them."""
    if isinstance(x, tuple):
        return tuple(_direction(rng, y) for y in x)
    numbers = _numbers(x)
    shape, dtype = numbers.shape, numbers.dtype
    direction = rng.standard_normal(shape)
    if dtype.kind == "c":
        direction = direction + 1j * rng.standard_normal(shape)
    return direction.astype(dtype if calls.is_inexact(dtype) else np.float64)


def _pairs(x, y):
    """Yield pairs of arrays from two arguments, or from tuples of them."""
    if isinstance(x, tuple):
        for a, b in zip(x, y, strict=True):
            yield from _pairs(a, b)
    elif x is not None and y is not None:
        yield _numbers(x), _numbers(y)


def _wide(x):
    return np.asarray(x, np.complex128 if x.dtype.kind == "c" else np.float64)


def _inner(x, y):
    """Return the real inner product in double precision, and its size."""
    products = (np.conj(_wide(x)) * _wide(y)).real
    return products.sum(), np.abs(products).sum()


def _eps(x):
    return {2: 2.0**-7, 4: 2.0**-22, 8: 2.0**-50}[x.real.dtype.itemsize]


def _check_dot(g, tangent, gradients, primals, tangents):
    tangent = _numbers(tangent)
    left, size = _inner(g, tangent)
    right = 0.0
    precision = _eps(tangent)
    for x, gradient, direction in zip(primals, gradients, tangents, strict=True):
        if direction is None or gradient is None:
            continue
        for mine, moved, primal in zip(
            (a for a, _ in _pairs(gradient, direction)),
            (b for _, b in _pairs(gradient, direction)),
            (a for a, _ in _pairs(x, direction)),
            strict=True,
        ):
            if mine.shape != primal.shape:
                raise AssertionError(
                    f"a gradient has shape {mine.shape}, its argument {primal.shape}"
                )
            part, more = _inner(mine, moved)
            right, size = right + part, size + more
            precision = max(precision, _eps(mine))
    if np.isnan(left) and np.isnan(right):
        return
    if not abs(left - right) <= 64 * precision * (size + 1e-30):
        raise AssertionError(f"<g, J v> is {left!r}, but <J* g, v> is {right!r}")


def _moved(x, direction, by):
    """Return an argument in double precision, moved along a direction."""
    if direction is None:
        return x
    if isinstance(x, tuple):
        return tuple(_moved(a, d, by) for a, d in zip(x, direction, strict=True))
    numbers = _numbers(x)
    wide = np.complex128 if numbers.dtype.kind == "c" else np.float64
    moved = numbers.astype(wide) + by * direction.astype(wide)
    return with_data(x, moved) if is_matrix(x) else moved


def _check_differences(made, op, primals, tangents, options):
    call = made.call
    step = 0.5 if made.is_quadratic() else STEP
    options = {k: v for k, v in options.items() if k not in ("dtype", "casting")}

    def value(by):
        pairs = zip(primals, tangents, strict=True)
        return _numbers(call(*(_moved(x, d, by) for x, d in pairs), **options))

    with np.errstate(all="ignore"):
        ahead, here, behind = value(step), value(0.0), value(-step)
        slope = (ahead - behind) / (2 * step)
        bend = np.abs(ahead - 2 * here + behind) / step
        scale = 1 + np.abs(slope)
        smooth = np.isfinite(slope) & np.isfinite(bend)
        if step == STEP:
            smooth &= bend <= 1e-3 * scale
    if isinstance(made, _Known):
        wide = tuple(_moved(x, d, 0.0) for x, d in zip(primals, tangents, strict=True))
        wide_tangents = tuple(
            None if d is None else _moved(_zero_like(d), d, 1.0) for d in tangents
        )
        call = _Known(op, wide, options, None, made.ties)
        _, tangent = call.forward(wide_tangents)
    else:
        _, tangent = made.forward(tangents)
    error = np.abs(_numbers(tangent) - slope)
    bad = smooth & ~(error <= (1e-6 if step == STEP else 1e-11) * scale)
    if bad.any():
        at = tuple(int(i) for i in np.argwhere(bad)[0])
        raise AssertionError(
            f"the tangent at {at} is {_numbers(tangent)[at]!r}, but differences say "
            f"{slope[at]!r}"
        )


def _zero_like(direction):
    if isinstance(direction, tuple):
        return tuple(map(_zero_like, direction))
    return np.zeros_like(direction)


def _joined(x):
    """Return an argument's numbers as one array; those of a tuple side by side."""
    if isinstance(x, tuple):
        return np.concatenate([np.ravel(part) for part in x])
    return _numbers(x if hasattr(x, "format") or not hasattr(x, "dense") else x.dense())


def _gradients(made, g, tangents, by):
    """Return the gradients of moved arguments, as arrays by position."""
    pairs = zip(made.primals, tangents, strict=True)
    moved = tuple(_moved(x, d, by) for x, d in pairs)
    step = KnownStep(made.op, moved, dict.fromkeys(made.wanted), made.asked())
    parts = step.pull(g)
    return step, {
        i: _joined(finished(part, moved[i], g.dtype, False, False))
        for i, part in parts.items()
        if part is not None and tangents[i] is not None
    }


def _check_second(made, g, tangents):
    """Compare the change of gradients with differences of them."""
    numbers = [_numbers(made.out), *(_joined(made.primals[i]) for i in made.wanted)]
    if any(x.dtype.kind == "c" for x in numbers):
        return
    g = _numbers(g).astype(np.float64)
    wide = {
        i: _moved(_zero_like(d), d, 1.0)
        for i, d in enumerate(tangents)
        if d is not None
    }
    step, here = _gradients(made, g, tangents, 0.0)
    with np.errstate(all="ignore"):
        bent = step.bend(g, wide, step.push(wide))
        ends = [_gradients(made, g, tangents, s * SECOND_STEP)[1] for s in (1, -1)]
        for i, middle in here.items():
            slope = (ends[0][i] - ends[1][i]) / (2 * SECOND_STEP)
            curve = np.abs(ends[0][i] - 2 * middle + ends[1][i]) / SECOND_STEP
            scale = 1 + np.abs(slope)
            got = _joined(bent.get(i, np.zeros(middle.shape)))
            bad = np.isfinite(slope) & (curve <= 1e-2 * scale) & (scale < JUMP)
            bad &= ~(np.abs(got - slope) <= 1e-5 * scale)
            if bad.any():
                at = tuple(int(k) for k in np.argwhere(bad)[0])
                raise AssertionError(
                    f"the gradient of argument {i} changes by {got[at]!r} at {at}, but "
                    f"differences say {slope[at]!r}"
                )
