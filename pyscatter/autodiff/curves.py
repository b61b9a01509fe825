"""Second derivatives: how the gradients of a call change when its arguments move.

Most operations are linear, or linear piece by piece, and have none. Products are linear
in each argument: the change of one's gradient is that gradient with another argument in
the place of which stands its tangent. The rest has formulas, or is analytic, so that an
imaginary step of 1e-100 gives the change to the last bit.
"""

import numpy as np

from pyscatter.autodiff import calls, changes, entries, segments
from pyscatter.autodiff.buffers import finished, is_matrix, with_data
from pyscatter.autodiff.parts import STEP, unbroadcast
from pyscatter.autodiff.products import EXTREMES, Extreme
from pyscatter.autodiff.scatters import name_of
from pyscatter.autodiff.wheres import Packed

MULTILINEAR = {"spmm", "sddmm", "spgemm"}
OWN_STEP = 1e-5


def bend(step, g, tangents, tangent):
    """Return the change of each node's gradient, for the moves of all arguments."""
    if step.name in MULTILINEAR:
        return multilinear(step, g, tangents)
    if step.name == "apply_where":
        return {1: step.call.once(Packed).bend(g, tangents[1])}
    if step.name == "change_stats":
        made = changes.bend(step.call, g, tangents, tangent)
        return {i: made[i] for i in step.parents if i in made}
    op = name_of(step.call.get("op", "set"))
    is_segment = step.name.startswith("segment_")
    formula = FORMULAS.get(op) if is_segment else None
    formula = FORMULAS.get(step.name, formula)
    if formula is not None:
        return {0: formula(step.call, g, tangents[0], tangent)}
    if op in ("mul", "div") or step.name == "segment_prod":
        return by_imaginary_step(step, g, tangents)
    return {}


def multilinear(step, g, tangents):
    """Put tangents in the place of arguments, one at a time."""
    made = {}
    kind = step.call.get("op", "add")
    if step.call.get("semiring") or name_of(kind) not in ("add", "mean"):
        return _of_extremes(step, g, tangents)
    if step.name == "sddmm" and step.call.get("values", "pattern") != "scale":
        tangents = {j: t for j, t in tangents.items() if j}  # A's values are not used
    for i in step.parents:
        for j, moved in tangents.items():
            part = _instead(step, g, i, j, moved) if j != i else None
            if part is not None:
                made[i] = made.get(i, 0) + part
    return made


def _instead(step, g, i, j, moved):
    """Return the gradient of argument i with a tangent in the place of argument j."""
    x = step.values[j]
    moved = with_data(x, moved) if is_matrix(x) else moved
    call = step.call.anew(**{step.rule.arguments[j]: moved})
    return finished_data(step.rule.vjps[i](call, g), step.values[i], g)


def finished_data(part, x, g):
    """Return a gradient as a plain array."""
    whole = finished(part, x, g.dtype, False, False)
    return whole.data if is_matrix(whole) else whole


def _of_extremes(step, g, tangents):
    """Winners stay: their products are still linear in each factor."""
    semiring = step.call.get("semiring") or name_of(step.call.get("op"))
    if EXTREMES[semiring][1]:
        return {}
    extreme = step.call.once(Extreme)
    of_A, of_X = (0, 1) if extreme.product.left else (1, 0)
    pair = extreme.bend(g, tangents.get(of_A), tangents.get(of_X))
    made = dict(zip((of_A, of_X), pair, strict=True))
    return {i: made[i] for i in step.parents}


def by_imaginary_step(step, g, tangents):
    """Take gradients at arguments that are moved by an imaginary step."""
    primals = list(step.values)
    for i in step.rule.starred:
        x = np.asarray(primals[i])
        if np.iscomplexobj(x):
            raise TypeError(f"{step.name} of complex numbers has no second derivative")
        x = x.astype(np.complex128)
        primals[i] = x + 1j * STEP * tangents[i] if i in tangents else x
    options = {k: v for k, v in step.call.options.items() if k != "dtype"}
    call = calls.run(step.rule, tuple(primals), options, step.call.ties)
    made = {}
    for i in step.parents:
        vjp = step.rule.vjps[i]
        part = vjp(call, g.astype(np.complex128))
        part = part if isinstance(part, np.ndarray) else part.dense()
        made[i] = np.asarray(-part.imag / STEP)  # rules conjugate their factors
    return made


# --- formulas -------------------------------------------------------------------------


def _moved(call, g, dx):
    """Return deviations of the tangent, times g in their segment, where they count."""
    it = call.once(segments.layout)
    mask = call.once(segments.term_of).mask
    moved = segments.centred(call, segments.taken(it, dx)) * it.at.gather(g)
    return moved if mask is None else np.where(mask, moved, 0.0)


def var_bend(call, g, dx, tangent):
    """The gradient 2 d g / n is linear in x."""
    with np.errstate(all="ignore"):
        moved = _moved(call, 2 * g / segments.left(call), dx)
    return segments.given_back(call, moved)


def std_bend(call, g, dx, tangent):
    """The gradient d g / (n s): the change of d, then that of s."""
    it = call.once(segments.layout)
    with np.errstate(all="ignore"):
        own = np.where(call.out == 0, 0, tangent / call.out)
        scale = np.where(call.out == 0, 0, 1 / (segments.left(call) * call.out))
        first = _moved(call, g * scale, dx)
        second = call.once(segments.term_of).times(it.at.gather(g * own))
    return segments.given_back(call, first - second)


def logsumexp_bend(call, g, dx, tangent):
    """The gradient g w: w changes by w (dx - that of the result)."""
    it = call.once(segments.layout)
    weights = call.once(segments.term_of)
    apart = segments.taken(it, dx) - it.at.gather(tangent)
    return segments.given_back(call, weights.times(it.at.gather(g) * apart))


def softmax_bend(call, g, dx, tangent):
    """The gradient y (g - s), with s the sum of g y."""
    it = call.once(segments.layout)
    shape = it.values.shape
    y, dy, g = (x.reshape(shape) for x in (call.out, tangent, g))
    sums, change = entries.sums(call, g * y), entries.sums(call, g * dy)
    return (dy * (g - sums) - y * change).reshape(call.out.shape)


def log_softmax_bend(call, g, dx, tangent):
    """The gradient g - y s, with s the sum of g."""
    it = call.once(segments.layout)
    shape = it.values.shape
    y = entries.powers(call.out).reshape(shape)
    change = y * tangent.reshape(shape)
    return (-change * entries.sums(call, g.reshape(shape))).reshape(call.out.shape)


FORMULAS = {
    "var": var_bend,
    "std": std_bend,
    "logsumexp": logsumexp_bend,
    "segment_softmax": softmax_bend,
    "segment_log_softmax": log_softmax_bend,
}


# --- functions with rules of their own ------------------------------------------------


def bend_own(step, g, tangents):
    """Return a central difference of a function's vjp along the tangents."""
    moved = []
    for sign in (1, -1):
        values = list(step.values)
        for i, t in tangents.items():
            values[i] = np.asarray(values[i]) + sign * OWN_STEP * t
        out = np.asarray(step.op(*values, **step.options))
        made = step.vjp(g, out, *values)
        moved.append(made if isinstance(made, tuple) else (made,))
    return {
        i: unbroadcast(
            (moved[0][i] - moved[1][i]) / (2 * OWN_STEP), np.shape(step.values[i])
        )
        for i in step.parents
        if moved[0][i] is not None
    }
