"""A tape: a small graph of operations, and its derivatives in both directions.

It records what it is told, call by call: operations of the library, whose rules it
knows, and functions that come with rules of their own. Arbitrary NumPy is not traced.
"""

import threading

import numpy as np

from pyscatter.autodiff import calls, curves
from pyscatter.autodiff.buffers import add_all, dtype_of, finished, fitted, is_matrix


class Node:
    """A value on a tape."""

    __slots__ = ("tape", "number", "value", "step")

    def __init__(self, tape, number, value, step):
        self.tape, self.number, self.value, self.step = tape, number, value, step

    def __repr__(self):
        """Return what it is and the shape of its value."""
        what = "variable" if self.step is None else self.step.name
        return f"<{what} of shape {np.shape(calls.numbers_of(self.value))}>"


class KnownStep:
    """A call of an operation whose rule the library has."""

    __slots__ = ("name", "rule", "op", "call", "values", "parents")

    def __init__(self, op, values, parents, options):
        options = dict(options)
        ties = options.pop("ties", "even")
        self.rule, self.op = calls.rule_of(op), op
        self.name, self.values, self.parents = self.rule.name, values, parents
        for i in parents:
            if i not in self.rule.starred:
                raise TypeError(f"{self.rule.arguments[i]!r} cannot be a node")
            calls.require_inexact(self.rule.arguments[i], values[i])
        self.call = calls.run(self.rule, values, options, ties)

    @property
    def out(self):
        return self.call.out

    def pull(self, g):
        """Return the gradient of each node among the arguments."""
        vjps = self.rule.vjps
        return {i: vjps[i](self.call, g) for i in self.parents}

    def push(self, tangents):
        """Return the tangent of the result; `tangents` by position."""
        given = tuple(tangents.get(i) for i in self.rule.starred)
        return calls.numbers_of(calls.pushed(self.rule, self.call, given))

    def bend(self, g, tangents, tangent):
        """Return how the gradients change when arguments move."""
        return curves.bend(self, g, tangents, tangent)


class OwnStep:
    """A call of a function with rules of the caller's."""

    __slots__ = ("name", "values", "parents", "out", "vjp", "jvp", "op", "options")

    def __init__(self, op, values, parents, options, vjp, jvp):
        self.name, self.op = getattr(op, "__name__", "function"), op
        self.values, self.parents, self.vjp, self.jvp = values, parents, vjp, jvp
        self.out, self.options = np.asarray(op(*values, **options)), options

    def pull(self, g):
        """Return the gradient of each node among the arguments."""
        if self.vjp is None:
            raise TypeError(f"{self.name} has no vjp=")
        made = self.vjp(g, self.out, *self.values)
        made = made if isinstance(made, tuple) else (made,)
        if len(made) != len(self.values):
            raise ValueError(
                f"vjp of {self.name} returned {len(made)} gradients for "
                f"{len(self.values)} arguments"
            )
        return {i: self._fits(i, made[i]) for i in self.parents}

    def _fits(self, i, gradient):
        if gradient is None:
            return None
        gradient = np.asarray(gradient)
        if gradient.shape != np.shape(self.values[i]):
            raise ValueError(
                f"vjp of {self.name} returned shape {gradient.shape} for an argument "
                f"of shape {np.shape(self.values[i])}"
            )
        return gradient

    def push(self, tangents):
        """Return the tangent of the result."""
        if self.jvp is None:
            raise TypeError(f"{self.name} has no jvp=")
        given = tuple(tangents.get(i) for i in range(len(self.values)))
        made = np.asarray(self.jvp(given, self.out, *self.values))
        if made.shape != self.out.shape:
            raise ValueError(
                f"jvp of {self.name} returned shape {made.shape} for a result of shape "
                f"{self.out.shape}"
            )
        return made

    def bend(self, g, tangents, tangent):
        """Return how the gradients change, by a central difference of the vjp."""
        return curves.bend_own(self, g, tangents)


def require_constants(name, parts):
    """Refuse nodes where the tape does not look for them."""
    if any(isinstance(x, Node) for x in parts):
        raise TypeError(
            f"a node in {name!r} would have no gradient: nodes are arguments by "
            "position, one each; give node.value for a constant"
        )


class Tape:
    """
    A record of calls, from which derivatives of a result are taken.

    Parameters
    ----------
    None
        A tape begins empty.

    Returns
    -------
    Tape
        ``variable(x)`` returns a node for an array, or a sparse matrix, whose gradient
        is wanted. ``apply(op, *args, vjp=None, jvp=None, **options)`` calls an
        operation of the library, or any function with rules of its own, on nodes and
        constants, and returns a node with ``.value``. ``reverse(node, g=None, *,
        into=None)`` returns the gradient of each variable; ``forward(node,
        *tangents)`` the tangent of a node; ``hvp(node, *tangents)`` the product of the
        second derivative with tangents.

    Raises
    ------
    ValueError
        A node of another tape; tangents that do not fit; a cotangent of another shape,
        or none where the node is no scalar.
    TypeError
        An operation without a rule that came without `vjp` and `jvp`; integers; a
        second derivative that nobody knows.

    Notes
    -----
    A function's rules are ``vjp(g, out, *args)``, which returns a gradient for each
    argument (None where there is none), and ``jvp(tangents, out, *args)``. Its second
    derivative is a central difference of its vjp; so is that of `apply_where`, of its
    ``derivative``, which is called a little beside the arguments. Nothing else is
    traced: for derivatives of arbitrary code use a framework that traces it.

    *Order and duplicates*: a node that is used several times has the sum of its
    gradients, from the last use to the first.

    *Determinism*: that of the operations.

    *Derivatives*: first ones in both directions, second ones by `hvp`, forward over
    reverse; where a function has kinks, those of the piece that it is on.

    *Cost*: a tape holds every value until it is dropped; it may be asked any number of
    times, and from several threads. Gradients are added in place.

    See Also
    --------
    vjp, jvp, jacobian
    tf.GradientTape, jax.linearize, autograd.grad

    Examples
    --------
    >>> import numpy as np
    >>> import pyscatter as ps
    >>> tape = ps.Tape()
    >>> table = tape.variable(np.array([1.0, 2.0, 3.0]))
    >>> rows = tape.apply(ps.gather, table, [0, 2, 2])
    >>> product = tape.apply(ps.segment_prod, rows, [0, 0, 0])
    >>> product.value
    array([9.])
    >>> tape.reverse(product)
    (array([9., 0., 6.]),)
    >>> tape.hvp(product, np.array([0.0, 0.0, 1.0]))
    (array([6., 0., 2.]),)
    """

    def __init__(self):
        self._nodes, self._variables = [], []
        self._lock = threading.Lock()

    def _append(self, value, step):
        with self._lock:
            node = Node(self, len(self._nodes), value, step)
            self._nodes.append(node)
            if step is None:
                self._variables.append(node)
            return node

    def variable(self, x):
        """Return a node for an array or a sparse matrix of floats."""
        x = x if is_matrix(x) else np.asarray(x)
        calls.require_inexact("x", x)
        return self._append(x, None)

    def apply(self, op, /, *args, vjp=None, jvp=None, **options):
        """Call an operation, or a function with its rules; return the result's node."""
        parents = {}
        for i, x in enumerate(args):
            if isinstance(x, Node):
                self._require_own(x)
                parents[i] = x
            elif type(x) is tuple:
                require_constants(f"argument {i}", x)
        for name, x in options.items():
            require_constants(name, (x,))
        values = tuple(x.value if isinstance(x, Node) else x for x in args)
        if vjp is None and jvp is None:
            step = KnownStep(op, values, parents, options)
        else:
            step = OwnStep(op, values, parents, options, vjp, jvp)
        return self._append(step.out, step)

    def _require_own(self, node):
        if not isinstance(node, Node) or node.tape is not self:
            raise ValueError("a node belongs to another tape, or is none")

    def _cotangent(self, node, g):
        numbers = calls.numbers_of(node.value)
        if g is not None:
            return calls.cotangent_of(node.value, g)
        if numbers.size != 1:
            raise ValueError(
                f"the node has shape {numbers.shape}: give a cotangent, or a scalar"
            )
        return np.ones_like(numbers)

    def reverse(self, node, g=None, *, into=None):
        """Return the gradient of each variable; buffers of `into` are added to."""
        self._require_own(node)
        g = self._cotangent(node, g)
        sums = _Sums()
        sums.add(node, g, None, g.dtype)
        for each in self._back_from(node):
            held = sums.take(each)
            if held is not None:
                for i, part in each.step.pull(held).items():
                    parent = each.step.parents[i]
                    sums.add(parent, part, parent.value, g.dtype)
        variables = list(self._variables)
        parts = [sums.held.get(v.number) for v in variables]
        values = [v.value for v in variables]
        if into is not None:
            return add_all(parts, values, into, g)
        pairs = zip(parts, values, strict=True)
        return tuple(finished(p, x, g.dtype, False, False) for p, x in pairs)

    def _back_from(self, node):
        """Yield the steps that may have led to a node, the last one first."""
        for each in reversed(self._nodes[: node.number + 1]):
            if each.step is not None:
                yield each

    def _tangents(self, tangents):
        """Return tangents of variables by number of node."""
        variables = list(self._variables)
        if len(tangents) != len(variables):
            raise ValueError(
                f"the tape has {len(variables)} variables; give a tangent, or None, "
                "for each"
            )
        pairs = enumerate(zip(variables, tangents, strict=True))
        return {
            v.number: calls.tangent_of(f"variable {i}", v.value, t)
            for i, (v, t) in pairs
            if t is not None
        }

    def _led_to(self, node):
        """Return the numbers of the nodes that a node is made of, and its own."""
        found = {node.number}
        for each in self._back_from(node):
            if each.number in found:
                found.update(p.number for p in each.step.parents.values())
        return found

    def _pushed(self, node, moved):
        """Return tangents of what leads to a node; what does not move has none."""
        needed = self._led_to(node)
        for each in self._nodes[: node.number + 1]:
            if each.step is not None and each.number in needed:
                given = {
                    i: moved[p.number]
                    for i, p in each.step.parents.items()
                    if p.number in moved
                }
                if given:
                    moved[each.number] = each.step.push(given)
        return moved

    def forward(self, node, *tangents):
        """Return the tangent of a node for one tangent of each variable."""
        self._require_own(node)
        moved = self._pushed(node, self._tangents(tangents))
        made = moved.get(node.number)
        return np.zeros_like(calls.numbers_of(node.value)) if made is None else made

    def hvp(self, node, *tangents):
        """Return the second derivative of a scalar node times tangents.

        One array for each variable: how its gradient changes along the tangents.
        """
        self._require_own(node)
        g = self._cotangent(node, None)
        moved = self._pushed(node, self._tangents(tangents))
        sums, changes = _Sums(), _Sums()
        sums.add(node, g, None, g.dtype)
        for each in self._back_from(node):
            held, change = sums.take(each), changes.take(each)
            if held is None:
                continue
            step, parents = each.step, each.step.parents
            for i, part in step.pull(held).items():
                sums.add(parents[i], part, parents[i].value, g.dtype)
            given = {
                i: moved[p.number] for i, p in parents.items() if p.number in moved
            }
            parts = [] if change is None else [step.pull(change)]
            if given:
                parts.append(step.bend(held, given, moved[each.number]))
            for made in parts:
                for i, part in made.items():
                    changes.add(parents[i], part, parents[i].value, g.dtype)
        return tuple(
            finished(self._or_zero(changes, v), v.value, g.dtype, False, False)
            for v in self._variables
        )

    def _or_zero(self, sums, node):
        held = sums.held.get(node.number)
        return np.zeros_like(calls.numbers_of(node.value)) if held is None else held

    def __repr__(self):
        """Return how much is recorded."""
        return f"<Tape of {len(self._nodes)} nodes, {len(self._variables)} variables>"


class _Sums:
    """Cotangents of nodes on their way back; those that are ours are added in place."""

    __slots__ = ("held", "ours")

    def __init__(self):
        self.held, self.ours = {}, set()

    def take(self, node):
        """Return what has come to a node, which is then done."""
        return self.held.pop(node.number, None)

    def add(self, node, part, x, dtype):
        """Add a rule's gradient to what a node has."""
        if part is None:
            return
        number = node.number
        if number not in self.held:
            if not isinstance(part, np.ndarray):
                part = part.dense()
                self.ours.add(number)
            self.held[number] = (
                fitted(part, dtype_of(x), dtype) if x is not None else part
            )
            return
        if number not in self.ours:
            self.held[number] = self.held[number].copy()
            self.ours.add(number)
        if isinstance(part, np.ndarray):
            self.held[number] += fitted(part, dtype_of(x), dtype)
        else:
            part.add_to(self.held[number])
