"""Calls on JAX's arrays: a pure_callback, or where nothing is traced the call itself.

A callback may not raise, so what can be refused is refused outside: shapes and dtypes
from the operands' own, indices by a look at them where they are concrete. A traced
index has no value yet, and under mode="raise" is refused. vmap gives the callback all
operands with the mapped axis in front, and it works one after the other.
"""

import jax
import numpy as np

import pyscatter as ps
from pyscatter.adapters import _results
from pyscatter.adapters._calls import dtype_of, shape_of

INDICES = ("index", "indices", "ids", "gather")
BOUNDS = ("offsets", "starts", "stops", "lengths")


def prepared(call, operands):
    """Return operands as arrays of JAX, after all that can be refused has been."""
    if any(map(is_traced, operands)):  # otherwise the call itself refuses
        check_indices(call, operands)
    arrays = [jax.numpy.asarray(x) for x in operands]
    dtypes = [arrays[i].dtype for i in call.numbers if hasattr(operands[i], "dtype")]
    for i in call.numbers:
        if dtypes and not hasattr(operands[i], "dtype"):
            arrays[i] = arrays[i].astype(dtypes[0])
    return arrays


def is_traced(x):
    """Has an array no value yet?"""
    return isinstance(x, jax.core.Tracer)


def check_indices(call, operands):
    """Refuse indices that are out of bounds, or that cannot be looked at."""
    given = dict(zip(call.names, operands, strict=True))
    names = [name for name in given if name in INDICES + BOUNDS]
    mode = call.options.get("mode", "raise")
    for name in names:
        if is_traced(given[name]) and (mode == "raise" or name in BOUNDS):
            instead = '"drop", "clip" or "fill"'
            advice = f"mode={instead}" if name in INDICES else "concrete arrays"
            raise TypeError(
                f"{name!r} is traced, so it cannot be checked: use {advice}"
            )
    if not names or any(is_traced(given[name]) for name in names):
        return
    probe = {name: np.asarray(given[name]) for name in names}
    if call.name == "segment_reduce":
        values = given["values"]
        shape = jax.numpy.shape(values)
    else:
        shape = jax.numpy.shape(given["a"])
    if is_traced(given.get("where", 0)):
        raise TypeError("'where' is traced, so indices cannot be checked: use mode=")
    if given.get("where") is not None:
        probe["where"] = np.asarray(given["where"])
    looked_at(call, probe, np.broadcast_to(np.zeros((), bool), shape))


def looked_at(call, probe, a):
    """Call the gather of an addressing on bools that need no memory: it checks."""
    options = {k: x for k, x in call.options.items() if k in ("axis", "batch_dims")}
    mode = call.options.get("mode", "raise")
    if call.name == "segment_reduce":
        options["mode"] = mode
        count = call.options.get("num_segments")
        ps.segment_reduce(a, num_segments=count, op="first", **probe, **options)
        return
    mode = mode if mode in ("raise", "clip", "wrap") else "drop"
    name = call.name.replace("scatter", "gather")
    index = probe.pop("index", probe.pop("indices", None))
    getattr(ps, name)(a, index, mode=mode, **probe, **options)


def callback(function, kinds, arrays):
    """Call a function of arrays, traced or not; kinds are (shape, dtype)."""
    ranks = [x.ndim for x in arrays]

    def host(*arrays):
        arrays = [np.asarray(x) for x in arrays]
        lead = arrays[0].ndim - ranks[0]
        if not lead:
            return fitted(function(*arrays), kinds)
        shape = arrays[0].shape[:lead]
        rows = [
            fitted(function(*(x[place] for x in arrays)), kinds)
            for place in np.ndindex(*shape)
        ]
        return [
            np.stack(parts).reshape(shape + parts[0].shape)
            for parts in zip(*rows, strict=True)
        ]

    if not any(map(is_traced, arrays)):
        # A callback outside a program is a program of its own, compiled for each call.
        return [taken(x) for x in host(*arrays)]
    structs = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in kinds]
    return jax.pure_callback(host, structs, *arrays, vmap_method="broadcast_all")


def taken(x):
    """Return an array of JAX, on the memory of a result that is nobody else's."""
    # A view of an operand is read-only: a program may be given its memory to reuse.
    if _results.is_aligned(x):
        return jax.device_put(x, may_alias=True)
    return jax.numpy.asarray(x)


def fitted(rets, kinds):
    """Return results in the dtypes that were promised."""
    return [np.asarray(x, dtype) for x, (_, dtype) in zip(rets, kinds, strict=True)]


def kind_of(call, arrays):
    """Return shape and dtype of a result."""
    dtype = dtype_of(call, [x.dtype for x in arrays])
    shape = shape_of(call, [x.shape for x in arrays])
    return shape, jax.dtypes.canonicalize_dtype(dtype)


def run(call, arrays):
    """Return the result of a call."""
    kind = kind_of(call, arrays)
    return callback(lambda *arrays: [_results.run(call, arrays)], [kind], arrays)[0]


def derived(call, arrays):
    """Return the positions of the operands that have derivatives."""
    inexact = jax.numpy.inexact
    return tuple(
        i for i in call.numbers if jax.numpy.issubdtype(arrays[i].dtype, inexact)
    )


def apply_reverse(call, operands):
    """Call an operation with its VJP."""
    arrays = prepared(call, operands)
    if not any(map(is_traced, arrays)):
        return run(call, arrays)
    wanted = derived(call, arrays)

    @jax.custom_vjp
    def function(*arrays):
        return run(call, arrays)

    def back(arrays, g):
        kinds = [(arrays[i].shape, arrays[i].dtype) for i in wanted]
        grads = [None] * len(arrays)

        def pull(g, *arrays):
            return call.pull(arrays, g, wanted)

        for i, grad in zip(wanted, callback(pull, kinds, [g, *arrays]), strict=True):
            grads[i] = grad
        return tuple(grads)

    function.defvjp(lambda *arrays: (run(call, arrays), arrays), back)
    return function(*arrays)


def apply_forward(call, operands):
    """Call an operation with its JVP."""
    arrays = prepared(call, operands)
    if not any(map(is_traced, arrays)):
        return run(call, arrays)
    wanted = derived(call, arrays)

    @jax.custom_jvp
    def function(*arrays):
        return run(call, arrays)

    @function.defjvp
    def push(primals, tangents):
        out = function(*primals)
        moves = [tangents[i] for i in wanted]

        def pushed(*arrays):
            moves = dict(zip(wanted, arrays, strict=False))
            moves = [moves.get(i) for i in call.numbers]
            return [call.push(arrays[len(wanted) :], moves)]

        kind = (out.shape, out.dtype)
        return out, callback(pushed, [kind], [*moves, *primals])[0]

    return function(*arrays)
