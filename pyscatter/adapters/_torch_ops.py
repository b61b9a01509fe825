"""`torch.ops.pyscatter`: the operations as custom operators, which torch.compile keeps.

An operator is known to torch by its schema and by the shape and dtype of its result, so
that a compiled graph holds it whole. It carries nothing from forward to backward but
tensors and constants: a call is described by a text (its options) and lengths (which
may be symbols while torch traces), and `_pull`, `_push` and `_second` are operators
themselves. So a pullback calls the operation again, which the plain functions avoid.

The table of schemas says what exists. A sparse matrix is three tensors and a shape, an
axis that is None is the first one behind the batch axes, an operator that ends in an
underscore writes into its first argument and returns nothing.
"""

import json
from types import SimpleNamespace

import numpy as np
import torch

import pyscatter as ps
from pyscatter.adapters._calls import OPS, Call, dtype_of, shape_of
from pyscatter.adapters._functions import DEFAULTS
from pyscatter.adapters._torch_tensors import apart, target_array, to_array, to_tensor

PLACE = "int? axis=None, int batch_dims=0, Tensor? where=None"
LAST = "int axis=-1, Tensor? where=None"
TUPLE = "int batch_dims=0, Tensor? where=None"
READ = 'str mode="raise", Scalar? fill_value=None'
WRITE = 'str op="set", str mode="raise", bool include_self=True'
MATRIX = "Tensor indices, Tensor indptr, SymInt[] shape"
SCHEMAS = {
    "gather": f"(Tensor a, Tensor index, {PLACE}, {READ}) -> Tensor",
    "gather_along_axis": f"(Tensor a, Tensor index, {LAST}, {READ}) -> Tensor",
    "gather_nd": f"(Tensor a, Tensor indices, {TUPLE}, {READ}) -> Tensor",
    "scatter": f"(Tensor a, Tensor index, Tensor values, {PLACE}, {WRITE}) -> Tensor",
    "scatter_along_axis": (
        f"(Tensor a, Tensor index, Tensor values, {LAST}, {WRITE}) -> Tensor"
    ),
    "scatter_nd": (
        f"(Tensor a, Tensor indices, Tensor values, {TUPLE}, {WRITE}) -> Tensor"
    ),
    "where": "(Tensor condition, Tensor x, Tensor y) -> Tensor",
    "scatter_where": (
        '(Tensor a, Tensor mask, Tensor values, str op="set", bool packed=False) '
        "-> Tensor"
    ),
    "segment_reduce": (
        "(Tensor values, Tensor? ids=None, SymInt? num_segments=None, Tensor? "
        "offsets=None, Tensor? starts=None, Tensor? stops=None, Tensor? lengths=None, "
        "Tensor? gather=None, Tensor? weights=None, int? axis=None, int batch_dims=0, "
        'str op="add", float? q=None, int ddof=0, Scalar? initial=None, Scalar? '
        'fill_value=None, Tensor? where=None, bool skipna=False, str mode="raise", '
        "bool assume_sorted=False) -> Tensor"
    ),
    "spmm": (
        f"(Tensor data, {MATRIX}, Tensor X, Scalar alpha=1, str op='add', str? "
        "semiring=None, bool transpose=False, bool conjugate=False, Scalar? "
        "fill_value=None) -> Tensor"
    ),
    "sddmm": f"({MATRIX}, Tensor X, Tensor Y) -> Tensor",
}
# A compiled update in place passes its arguments by name through a function of torch's
# that has an argument `mode` itself.
HERE = WRITE.replace("str mode", "str index_mode")
IN_PLACE = {
    "scatter_": f"(Tensor(a!) a, Tensor index, Tensor values, {PLACE}, {HERE}) -> ()",
    "scatter_nd_": (
        f"(Tensor(a!) a, Tensor indices, Tensor values, {TUPLE}, {HERE}) -> ()"
    ),
}
PRODUCTS = ("spmm", "sddmm")
CALL = "str spec, SymInt[] sizes"
INNER = {
    "_pull": f"({CALL}, Tensor g, Tensor[] operands, int[] wanted) -> Tensor[]",
    "_push": f"({CALL}, Tensor[] moves, int[] moved, Tensor[] operands) -> Tensor",
    "_second": (
        f"({CALL}, Tensor g, Tensor[] moves, int[] moved, Tensor[] operands) "
        "-> Tensor[]"
    ),
}


def given_to(arguments, args, kwargs):
    """Return what an operator was given, by name, with the schema's defaults."""
    ret = {}
    for i, argument in enumerate(arguments):
        default = argument.default_value
        ret[argument.name] = args[i] if i < len(args) else default
    return ret | kwargs


def described(name, given):
    """Return a call's text, its lengths, and its operands' names and tensors."""
    known = {*OPS[name].numbers, *OPS[name].others}
    names = [key for key in given if key in known and given[key] is not None]
    if name in PRODUCTS:
        names = [key for key in names if key not in ("indices", "indptr")]
    options = {
        key: x
        for key, x in given.items()
        if key not in known and key in DEFAULTS and x != DEFAULTS[key]
    }
    if given.get("axis") is not None:
        options["axis"] = int(given["axis"])
    sizes = list(given.get("shape", ()))
    if given.get("ids") is not None and given["num_segments"] is None:
        raise TypeError("num_segments is needed here: a shape cannot depend on ids")
    if options.pop("num_segments", None) is not None:
        sizes = [given["num_segments"]]
    if name == "spmm" and options["op"] in ("add", "sum"):
        del options["op"]
    operands = [given[key] for key in names]
    if name in PRODUCTS:
        operands += [given["indices"], given["indptr"]]
    return json.dumps([name, names, options]), sizes, names, operands


def call_of(spec, sizes, operands, is_fake=False):
    """Return a Call, and how many operands it has: those of a matrix come behind."""
    name, names, options = json.loads(spec)
    matrix, count = None, len(names)
    if name not in PRODUCTS:
        options |= {"num_segments": sizes[0]} if sizes else {}
        return Call(name, tuple(names), options), count
    indices, indptr = operands[count:]
    if is_fake:
        matrix = SimpleNamespace(shape=tuple(sizes), nnz=indices.shape[0])
        return Call(name, tuple(names), options, matrix), count
    data = operands[0] if name == "spmm" else np.ones(len(indices), np.bool_)
    matrix = ps.CSR((data, indices, indptr), tuple(map(int, sizes)))
    return Call(name, tuple(names), options, matrix), count


def real(spec, sizes, operands):
    """Return a Call and the arrays of its operands."""
    names = json.loads(spec)[1] + ["indices", "indptr"]
    arrays = [to_array(x, n) for x, n in zip(operands, names, strict=False)]
    call, count = call_of(spec, sizes, arrays)
    return call, arrays[:count]


def numpy_dtype(x):
    """Return NumPy's dtype of a tensor, which may have no memory."""
    return to_array(torch.empty(0, dtype=x.dtype, device="cpu")).dtype


def fake(spec, sizes, operands):
    """Return an empty tensor like the result; nothing of the operands is read."""
    call, count = call_of(spec, sizes, operands, is_fake=True)
    operands = operands[:count]
    with torch._subclasses.fake_tensor.unset_fake_temporarily():
        dtype = to_tensor(np.empty(0, dtype_of(call, map(numpy_dtype, operands)))).dtype
    return operands[0].new_empty(
        shape_of(call, [x.shape for x in operands]), dtype=dtype
    )


# --- the operators --------------------------------------------------------------------


def define(name, schema):
    """Register an operation."""
    arguments = torch._C.parse_schema(f"pyscatter::{name}{schema}").arguments

    def run(*args, **kwargs):
        spec, sizes, _, operands = described(name, given_to(arguments, args, kwargs))
        call, arrays = real(spec, sizes, operands)
        return to_tensor(apart(np.asarray(call.run(arrays)), *arrays))

    def make(*args, **kwargs):
        spec, sizes, _, operands = described(name, given_to(arguments, args, kwargs))
        return fake(spec, sizes, operands)

    def setup_context(ctx, inputs, output):
        given = given_to(arguments, inputs, {})
        ctx.spec, ctx.sizes, ctx.names, operands = described(name, given)
        ctx.save_for_backward(*operands)

    def backward(ctx, g):
        # Arguments at the end that are left at their defaults have no entry.
        needs = {
            x.name: n for x, n in zip(arguments, ctx.needs_input_grad, strict=False)
        }
        numbers = OPS[name].numbers
        wanted = [i for i, n in enumerate(ctx.names) if n in numbers and needs[n]]
        operands = list(ctx.saved_tensors)
        pulled = torch.ops.pyscatter._pull(ctx.spec, ctx.sizes, g, operands, wanted)
        grads = {ctx.names[i]: x for i, x in zip(wanted, pulled, strict=True)}
        return tuple(grads.get(x.name) for x in arguments)

    op = torch.library.custom_op(
        f"pyscatter::{name}", run, mutates_args=(), schema=schema
    )
    op.register_fake(make)
    op.register_autograd(backward, setup_context=setup_context)


def define_in_place(name, schema):
    """Register an update in place."""
    arguments = torch._C.parse_schema(f"pyscatter::{name}{schema}").arguments

    def run(*args, **kwargs):
        given = given_to(arguments, args, kwargs)
        given = {key: x for key, x in given.items() if x is not None}
        out = target_array(given["a"])
        arrays = {key: to_array(x, key) for key, x in given.items()}
        arrays["mode"] = arrays.pop("index_mode")
        if name == "scatter_":
            arrays.setdefault("axis", arrays["batch_dims"])
        op = OPS[name[:-1]]
        operands = [arrays.pop(key) for key in op.positional if key in arrays]
        op.function(*operands, out=out, **arrays)

    op = torch.library.custom_op(
        f"pyscatter::{name}", run, mutates_args=("a",), schema=schema
    )
    op.register_fake(lambda *args, **kwargs: None)


def separate(grads, *others):
    """Return tensors that share memory neither with others nor with each other."""
    ret = []
    for x in grads:
        ret.append(apart(x, *others, *ret))
    return [to_tensor(x) for x in ret]


def pull(spec, sizes, g, operands, wanted):
    call, arrays = real(spec, sizes, operands)
    g = to_array(g, "the cotangent")
    return separate(call.pull(arrays, g, tuple(wanted)), g, *arrays)


def pull_fake(spec, sizes, g, operands, wanted):
    return [operands[i].new_empty(operands[i].shape) for i in wanted]


def pull_context(ctx, inputs, output):
    ctx.spec, ctx.sizes, g, operands, ctx.wanted = inputs
    ctx.save_for_backward(g, *operands)


def pull_backward(ctx, sources):
    g, *operands = ctx.saved_tensors
    call, count = call_of(ctx.spec, ctx.sizes, operands, is_fake=True)
    kept = [(i, x) for i, x in zip(ctx.wanted, sources, strict=True) if x is not None]
    moved, moves = [i for i, _ in kept], [x for _, x in kept]
    ops = torch.ops.pyscatter
    grads = [None] * len(operands)
    if any(ctx.needs_input_grad[3]) and not call.is_piecewise_linear():
        seconds = ops._second(ctx.spec, ctx.sizes, g, moves, moved, operands)
        for i, x in zip(call.numbers, seconds, strict=True):
            grads[i] = x if ctx.needs_input_grad[3][i] else None
    moved_g = ops._push(ctx.spec, ctx.sizes, moves, moved, operands)
    # torch takes an empty list of lengths for a list of tensors.
    return None, None if ctx.sizes else [], moved_g, grads, None


def tangents_of(call, moves, moved):
    """Return a tangent for each number, None where there is none."""
    moves = dict(zip(moved, map(to_array, moves), strict=True))
    return [moves.get(i) for i in call.numbers]


def push(spec, sizes, moves, moved, operands):
    call, arrays = real(spec, sizes, operands)
    tangents = tangents_of(call, moves, moved)
    return separate([call.push(arrays, tangents)], *tangents, *arrays)[0]


def push_fake(spec, sizes, moves, moved, operands):
    return fake(spec, sizes, operands)


def second(spec, sizes, g, moves, moved, operands):
    call, arrays = real(spec, sizes, operands)
    tangents = tangents_of(call, moves, moved)
    seconds = call.second(arrays, to_array(g), tangents)
    numbers = [arrays[i] for i in call.numbers]
    made = [
        np.zeros_like(x) if y is None else y
        for x, y in zip(numbers, seconds, strict=True)
    ]
    return separate(made, *tangents, *arrays)


def second_fake(spec, sizes, g, moves, moved, operands):
    call, _ = call_of(spec, sizes, operands, is_fake=True)
    return [operands[i].new_empty(operands[i].shape) for i in call.numbers]


def define_inner(name, run, make):
    """Register what derivatives consist of."""
    schema = INNER[name]
    op = torch.library.custom_op(
        f"pyscatter::{name}", run, mutates_args=(), schema=schema
    )
    op.register_fake(make)
    return op


define_inner("_pull", pull, pull_fake).register_autograd(
    pull_backward, setup_context=pull_context
)
define_inner("_push", push, push_fake)
define_inner("_second", second, second_fake)
for _name, _schema in SCHEMAS.items():
    define(_name, _schema)
for _name, _schema in IN_PLACE.items():
    define_in_place(_name, _schema)
