"""The same problems in other libraries, as far as they can be imported.

`ways(problem)` gives candidates by name for a problem of pyscatter.bench. Each sees
the very arrays that NumPy and pyscatter see, or its own copy where the library keeps
data in its own form; conversions and compilation are done before the clock starts, to
the rival's favour.
"""

import importlib
import sys
from functools import cache, partial

import numpy as np

from pyscatter.bench import Way, in_place

LIBRARIES = ("torch", "numba", "jax", "scipy", "numpy_groupies")


@cache
def load(name):
    """The library, or None where it is absent or broken (said once)."""
    try:
        return importlib.import_module(name)
    except Exception as error:  # a broken build may raise anything
        print(f"# no {name}: {error}", file=sys.stderr)
        return None


def versions():
    """The versions of the libraries that are there."""
    found = {name: load(name) for name in LIBRARIES}
    return {
        name: getattr(module, "__version__", "?")
        for name, module in found.items()
        if module
    }


def ways(problem):
    """Candidates by name; empty for kinds of problem that no rival has."""
    makers = MAKERS.get(problem.kind, ())
    return {
        name: way
        for library, make in makers
        if load(library)
        for name, way in make(problem).items()
    }


# ---------------------------------------------------------------- torch


def torch_in_place(problem, method, *args):
    """A method of a torch tensor that shares memory with a copy of the target."""
    target = problem.a.copy()
    tensor = load("torch").from_numpy(target)
    return Way(partial(getattr(tensor, method), *args), target)


def torch_add(problem):
    torch = load("torch")
    index, values = map(torch.from_numpy, (problem.index, problem.values))
    wide = index.reshape((-1,) + (1,) * (values.ndim - 1)).expand(values.shape)
    return {
        "torch.index_add_": torch_in_place(problem, "index_add_", 0, index, values),
        "torch.scatter_add_": torch_in_place(problem, "scatter_add_", 0, wide, values),
    }


def torch_add_nd(problem):
    torch = load("torch")
    index = tuple(map(torch.from_numpy, problem.index))
    values = torch.from_numpy(problem.values)
    way = torch_in_place(problem, "index_put_", index, values, True)
    return {"torch.index_put_": way}


def torch_max(problem):
    torch = load("torch")
    args = torch.from_numpy(problem.index), torch.from_numpy(problem.values), "amax"
    way = torch_in_place(problem, "scatter_reduce_", 0, *args)
    return {"torch.scatter_reduce_": way}


def torch_take(problem):
    torch = load("torch")
    out = np.empty(problem.index.shape + problem.a.shape[1:], problem.a.dtype)
    tensors = map(torch.from_numpy, (problem.a, problem.index, out))
    a, index, tensor_out = tensors
    call = partial(torch.index_select, a, 0, index, out=tensor_out)
    return {"torch.index_select": Way(call, out)}


def torch_nonzero(problem):
    torch = load("torch")
    flat = torch.from_numpy(problem.a).reshape(-1)
    return {"torch.nonzero": Way(lambda: torch.nonzero(flat)[:, 0].numpy())}


def torch_argwhere(problem):
    torch = load("torch")
    tensor = torch.from_numpy(problem.a)
    return {"torch.nonzero": Way(lambda: torch.nonzero(tensor).numpy())}


# ---------------------------------------------------------------- numba


@cache
def compiled(loop):
    """A plain loop as machine code; the loops below check no index at all."""
    return load("numba").njit(loop)


def loop_add(out, index, values):
    for i in range(index.shape[0]):
        out[index[i]] += values[i]


def loop_add_rows(out, index, values):
    for i in range(index.shape[0]):
        row = index[i]
        for j in range(values.shape[1]):
            out[row, j] += values[i, j]


def loop_add_2d(out, rows, columns, values):
    for i in range(rows.shape[0]):
        out[rows[i], columns[i]] += values[i]


def loop_max(out, index, values):
    for i in range(index.shape[0]):
        out[index[i]] = max(out[index[i]], values[i])


def loop_take(a, index, out):
    for i in range(index.shape[0]):
        out[i] = a[index[i]]


def loop_take_rows(a, index, out):
    for i in range(index.shape[0]):
        row = index[i]
        for j in range(a.shape[1]):
            out[i, j] = a[row, j]


def numba_add(problem):
    loop = compiled(loop_add if problem.a.ndim == 1 else loop_add_rows)
    return {"numba": in_place(loop, problem.a, problem.index, problem.values)}


def numba_add_nd(problem):
    if problem.a.ndim != 2 or len(problem.index) != 2:
        return {}
    args = problem.a, *problem.index, problem.values
    return {"numba": in_place(compiled(loop_add_2d), *args)}


def numba_max(problem):
    args = problem.a, problem.index, problem.values
    return {"numba": in_place(compiled(loop_max), *args)}


def numba_take(problem):
    loop = compiled(loop_take if problem.a.ndim == 1 else loop_take_rows)
    out = np.empty(problem.index.shape + problem.a.shape[1:], problem.a.dtype)
    return {"numba": Way(partial(loop, problem.a, problem.index, out), out)}


# ---------------------------------------------------------------- jax


def jax_way(function, *arrays):
    """A compiled call on arrays that JAX holds already."""
    jax = load("jax")
    jax.config.update("jax_enable_x64", True)
    compiled = jax.jit(function)
    held = [jax.block_until_ready(jax.numpy.asarray(array)) for array in arrays]
    return Way(lambda: compiled(*held).block_until_ready())


def jax_add(problem):
    segment_sum = partial(load("jax").ops.segment_sum, num_segments=len(problem.a))
    way = jax_way(lambda i, v: segment_sum(v, i), problem.index, problem.values)
    return {"jax.segment_sum": way}


def jax_add_nd(problem):
    def add(a, values, *index):
        return a.at[index].add(values)

    return {"jax .at[].add": jax_way(add, problem.a, problem.values, *problem.index)}


def jax_max(problem):
    def maximum(a, index, values):
        return a.at[index].max(values)

    way = jax_way(maximum, problem.a, problem.index, problem.values)
    return {"jax .at[].max": way}


# ---------------------------------------------------------------- scipy, groupies


def scipy_add(problem):
    """A product with a sparse matrix of ones, which is made beforehand."""
    if problem.a.ndim != 2:
        return {}
    sparse = importlib.import_module("scipy.sparse")
    n = len(problem.index)
    entries = np.ones(n, problem.a.dtype), (problem.index, np.arange(n))
    matrix = sparse.csr_array(entries, shape=(len(problem.a), n))
    return {"scipy M @": Way(partial(matrix.__matmul__, problem.values))}


def scipy_add_nd(problem):
    if problem.a.ndim != 2 or len(problem.index) != 2:
        return {}
    sparse = importlib.import_module("scipy.sparse")

    def assemble():
        entries = problem.values, problem.index
        return sparse.coo_array(entries, shape=problem.a.shape).toarray()

    return {"scipy coo": Way(assemble)}


def groupies_aggregate(problem, function):
    if problem.a.ndim != 1:
        return {}
    aggregate = load("numpy_groupies").aggregate
    args = problem.index, problem.values, function
    # Our targets start at zero, so that is what destinations without values hold.
    call = partial(aggregate, *args, size=len(problem.a), fill_value=0)
    return {"numpy_groupies": Way(call)}


# ---------------------------------------------------------------- sparse matrices


def scipy_spmm(problem):
    sparse = importlib.import_module("scipy.sparse")
    kind = sparse.csr_array if problem.kind == "spmm csr" else sparse.csc_array
    indptr, indices = problem.index
    size = len(problem.a)
    matrix = kind((problem.values, indices, indptr), shape=(size, size))
    return {"scipy @": Way(lambda: matrix @ problem.a)}


def torch_matrix(problem, data):
    torch = load("torch")
    is_csc = problem.kind == "spmm csc"
    kind = torch.sparse_csc_tensor if is_csc else torch.sparse_csr_tensor
    arrays = (*(numbers.astype(np.int64) for numbers in problem.index), data)
    size = len(problem.a)
    return kind(*map(torch.from_numpy, arrays), (size, size))


def torch_spmm(problem):
    x = load("torch").from_numpy(problem.a)
    matrix = torch_matrix(problem, problem.values)
    return {"torch @": Way(lambda: (matrix @ x).numpy())}


def torch_sddmm(problem):
    torch = load("torch")
    x, y = map(torch.from_numpy, (problem.a, problem.values))
    matrix = torch_matrix(problem, np.zeros(len(problem.index[1]), np.float32))
    call = partial(torch.sparse.sampled_addmm, matrix, x, y.t())
    return {"torch.sampled_addmm": Way(lambda: call().values().numpy())}


MAKERS = {
    "add": (
        ("torch", torch_add),
        ("numba", numba_add),
        ("jax", jax_add),
        ("scipy", scipy_add),
        ("numpy_groupies", partial(groupies_aggregate, function="sum")),
    ),
    "add nd": (
        ("torch", torch_add_nd),
        ("numba", numba_add_nd),
        ("jax", jax_add_nd),
        ("scipy", scipy_add_nd),
    ),
    "max": (
        ("torch", torch_max),
        ("numba", numba_max),
        ("jax", jax_max),
        ("numpy_groupies", partial(groupies_aggregate, function="max")),
    ),
    "nonzero": (("torch", torch_nonzero),),
    "argwhere": (("torch", torch_argwhere),),
    "take": (("torch", torch_take), ("numba", numba_take)),
    "spmm csr": (("scipy", scipy_spmm), ("torch", torch_spmm)),
    "spmm csc": (("scipy", scipy_spmm), ("torch", torch_spmm)),
    "sddmm": (("torch", torch_sddmm),),
}
