"""Tensors to arrays and back, and the Functions that connect torch's graph to Calls.

A tensor's memory is shared, never copied. `Held` carries the pullback of a call from
forward to backward, so that backward does not call the operation again; when torch runs
backward for tensors of another level (torch.func), or a second time for second
derivatives, it is made anew from the saved tensors.
"""

import numpy as np
import torch

import pyscatter as ps
from pyscatter.adapters._calls import OPS


def to_array(x, name="a tensor"):
    """Return an array on a tensor's memory; numbers and arrays stay what they are."""
    if not isinstance(x, torch.Tensor):
        return x
    if x.device.type != "cpu":
        raise TypeError(
            f"{name} is on {x.device}; pyscatter works on the CPU (use .cpu())"
        )
    if x.layout != torch.strided:
        raise TypeError(f"{name} has layout {x.layout}; expected a strided tensor")
    x = x.detach()
    if x.is_conj() or x.is_neg():
        x = x.resolve_conj().resolve_neg()
    if x.dtype == torch.bfloat16:
        import ml_dtypes

        return x.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return x.numpy()


def target_array(a):
    """Return an array on the memory of a tensor that is written to."""
    if isinstance(a, torch.Tensor) and (a.is_conj() or a.is_neg()):
        raise TypeError("a is conjugated or negated lazily (use .resolve_conj())")
    return to_array(a, "a")


def to_tensor(x):
    """Return a tensor on an array's memory."""
    x = np.asarray(x)
    if not x.flags.writeable or not x.flags.c_contiguous:
        x = x.copy()
    if x.dtype.name == "bfloat16":
        return torch.from_numpy(x.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(x)


def apart(x, *others):
    """Return an array that shares no memory with others: torch adds to gradients."""
    is_shared = any(y is not None and np.may_share_memory(x, y) for y in others)
    return x.copy() if is_shared else x


class Held:
    """A Call, and the pullback that its forward has made."""

    __slots__ = ("call", "pull", "keeps", "wanted")

    def __init__(self, call, keeps):
        self.call, self.keeps = call, keeps
        self.pull, self.wanted = None, ()


class Function(torch.autograd.Function):
    """An operation."""

    @staticmethod
    def forward(held, *operands):
        call = held.call
        arrays = [
            to_array(x, name) for x, name in zip(operands, call.names, strict=True)
        ]
        if not held.keeps:
            return to_tensor(call.run(arrays))
        held.wanted = tuple(
            i
            for i in call.numbers
            if isinstance(operands[i], torch.Tensor) and operands[i].requires_grad
        )
        out, held.pull = call.vjp(arrays, held.wanted)
        return to_tensor(out)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.held, *operands = inputs
        ctx.set_materialize_grads(False)
        ctx.constants = [None if isinstance(x, torch.Tensor) else x for x in operands]
        tensors = [x for x in operands if isinstance(x, torch.Tensor)]
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)
        if not (output.is_floating_point() or output.is_complex()):
            ctx.mark_non_differentiable(output)

    @staticmethod
    def backward(ctx, g):
        if g is None:
            return (None,) * (len(ctx.constants) + 1)
        operands = restored(ctx)
        wanted = tuple(i for i in ctx.held.call.numbers if ctx.needs_input_grad[i + 1])
        grads = [None] * (len(operands) + 1)
        pulled = Pull.apply(ctx.held, wanted, g, *operands)
        for i, grad in zip(wanted, pulled, strict=True):
            grads[i + 1] = grad
        return tuple(grads)

    @staticmethod
    def jvp(ctx, _, *tangents):
        return pushed(ctx.held.call, restored(ctx), tangents)


def restored(ctx):
    """Return the operands of a Function in order."""
    tensors = iter(ctx.saved_tensors)
    return [next(tensors) if x is None else x for x in ctx.constants]


def pushed(call, operands, tangents):
    """Return the tangent of a result."""
    moves = [None if tangents[i] is None else tangents[i] for i in call.numbers]
    return Push.apply(call, len(moves), *moves, *operands)


class Push(torch.autograd.Function):
    """The pushforward of an operation, itself without derivatives."""

    @staticmethod
    def forward(call, count, *rest):
        moves = [None if x is None else to_array(x) for x in rest[:count]]
        made = call.push([to_array(x) for x in rest[count:]], moves)
        return to_tensor(apart(made, *moves))

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, g):
        raise RuntimeError("a tangent has no derivative of its own here")


class Pull(torch.autograd.Function):
    """The pullback of an operation: linear in the cotangent."""

    @staticmethod
    def forward(held, wanted, g, *operands):
        g = to_array(g, "the cotangent")
        if held.pull is not None and held.wanted == wanted:
            grads = held.pull(g)
        else:
            arrays = [to_array(x) for x in operands]
            grads = held.call.pull(arrays, g, wanted)
        return tuple(to_tensor(apart(x, g)) for x in grads)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.held, ctx.wanted, g, *operands = inputs
        ctx.set_materialize_grads(False)
        ctx.constants = [None if isinstance(x, torch.Tensor) else x for x in operands]
        ctx.save_for_backward(g, *(x for x in operands if isinstance(x, torch.Tensor)))

    @staticmethod
    def backward(ctx, *sources):
        g, *tensors = ctx.saved_tensors
        tensors = iter(tensors)
        operands = [next(tensors) if x is None else x for x in ctx.constants]
        call = ctx.held.call
        moves = dict(zip(ctx.wanted, sources, strict=True))
        moves = [moves.get(i) for i in call.numbers]
        grads = [None] * len(operands)
        if any(ctx.needs_input_grad[3:]) and any(x is not None for x in moves):
            if not call.is_piecewise_linear():
                seconds = Second.apply(call, len(moves), g, *moves, *operands)
                for i, grad in zip(call.numbers, seconds, strict=True):
                    grads[i] = grad if ctx.needs_input_grad[i + 3] else None
        return None, None, Push.apply(call, len(moves), *moves, *operands), *grads


class Second(torch.autograd.Function):
    """What a pullback's own pullback gives the operands, itself without derivatives."""

    @staticmethod
    def forward(call, count, g, *rest):
        moves = [None if x is None else to_array(x) for x in rest[:count]]
        arrays = [to_array(x) for x in rest[count:]]
        seconds = call.second(arrays, to_array(g), moves)
        return tuple(
            None if x is None else to_tensor(apart(x, *moves)) for x in seconds
        )

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, *_):
        raise RuntimeError("there are no third derivatives here")


def apply(call, operands):
    """Call an operation, by way of torch's graph only where derivatives may follow."""
    operands = [np.asarray(x) if type(x) in (list, tuple) else x for x in operands]
    keeps = torch.is_grad_enabled() and any(
        isinstance(x, torch.Tensor) and x.requires_grad for x in operands
    )
    if not keeps and is_plain():
        arrays = [to_array(x, n) for x, n in zip(operands, call.names, strict=True)]
        return to_tensor(call.run(arrays))
    return Function.apply(Held(call, keeps), *operands)


def is_plain():
    """Is no transform of torch.func and no level of forward mode at work?"""
    return (
        torch.autograd.forward_ad._current_level < 0
        and torch._C._functorch.peek_interpreter_stack() is None
    )


def update(name, a, operands, options):
    """Update a tensor in place, or say why it would lose a gradient."""
    if torch.compiler.is_compiling():
        raise RuntimeError(
            f"{name}_ cannot be compiled: use torch.ops.pyscatter.{name}_"
        )
    if not isinstance(a, torch.Tensor):
        raise TypeError(f"a is a {type(a).__name__}; expected a Tensor")
    known = {"axis", "batch_dims", "op", "mode", "include_self", "where"}
    for key in options:
        if key not in known:
            raise TypeError(f"{name}_() has no keyword {key!r}")
    tensors = {"a": a, **operands}
    if torch.is_grad_enabled():
        for key, x in tensors.items():
            if isinstance(x, torch.Tensor) and x.requires_grad:
                raise TypeError(
                    f"{key} requires a gradient, which would be lost: use {name}, or "
                    f"torch.no_grad() round {name}_"
                )
    arrays = {key: to_array(x, key) for key, x in tensors.items()}
    if options.get("where") is not None:
        options = options | {"where": to_array(options["where"])}
    arrays["a"] = target_array(a)
    positional = [arrays[key] for key in OPS[name].positional if key in arrays]
    getattr(ps, name)(*positional, out=arrays["a"], **options)
    torch.autograd.graph.increment_version(a)
    return a
