"""pyscatter on torch's CPU tensors, with both modes of derivatives.

Each function is a `torch.autograd.Function`: forward reads the tensors' memory without
a copy (bfloat16 too), backward calls the pullback that forward has made, `jvp` pushes
tangents. torch.compile does not trace them: it breaks the graph, warns, and gives the
same result; the forms in place refuse to be compiled. For compiled graphs the import
registers the same operations as `torch.ops.pyscatter`.

Second derivatives are right for set, add, sub, mean, min, max, gathers, segments and
products, and a RuntimeError by name for the others.
"""

from pyscatter.adapters._functions import functions
from pyscatter.adapters._imports import required

torch = required("torch", "torch")

from pyscatter.adapters import _torch_ops  # noqa: E402, F401
from pyscatter.adapters import _torch_tensors as _tensors  # noqa: E402

_MADE = functions(
    _tensors.apply,
    "Tensor",
    "torch",
    "a tensor is not on the CPU",
)
globals().update(_MADE)

__all__ = [*_MADE, "scatter_", "scatter_nd_"]


def scatter_(a, index, values, axis=None, *, batch_dims=0, **options):
    """Update slices of an axis of a tensor, in place.

    Parameters
    ----------
    a : Tensor
        The target, on the CPU. A leaf that requires a gradient is updated under
        `torch.no_grad()` only.
    index : Tensor of integers
        Places on the axis.
    values : Tensor or scalar
        What arrives.
    axis : int, optional
        The axis that is indexed; default: the first one behind the batch axes.
    batch_dims : int, optional
        How many leading axes are batches.
    options : optional
        op, where, mode and include_self, as in `pyscatter.scatter`.

    Returns
    -------
    Tensor
        `a`.

    Raises
    ------
    IndexError
        An index is out of bounds. Nothing has been written.
    ValueError
        Shapes do not fit.
    TypeError
        A tensor is not on the CPU, or takes part in a gradient that would be lost.

    Notes
    -----
    *Order and duplicates*, *Determinism*: as `pyscatter.scatter`. *Derivatives*: none;
    use `scatter`. *Cost*: that of the update; the memory of `a` is written directly.

    See Also
    --------
    scatter, pyscatter.scatter
    torch.Tensor.index_add_
    """
    axis = batch_dims if axis is None else axis
    options |= {"axis": axis, "batch_dims": batch_dims}
    return _tensors.update("scatter", a, {"index": index, "values": values}, options)


def scatter_nd_(a, indices, values, **options):
    """Update what tuples name in a tensor, in place.

    Parameters
    ----------
    a : Tensor
        The target, on the CPU. A leaf that requires a gradient is updated under
        `torch.no_grad()` only.
    indices : Tensor of integers
        (..., k): tuples.
    values : Tensor or scalar
        What arrives.
    options : optional
        batch_dims, op, where, mode and include_self, as in `pyscatter.scatter_nd`.

    Returns
    -------
    Tensor
        `a`.

    Raises
    ------
    IndexError
        An index is out of bounds. Nothing has been written.
    ValueError
        Shapes do not fit.
    TypeError
        A tensor is not on the CPU, or takes part in a gradient that would be lost.

    Notes
    -----
    *Order and duplicates*, *Determinism*: as `pyscatter.scatter_nd`. *Derivatives*:
    none; use `scatter_nd`. *Cost*: that of the update; the memory of `a` is written
    directly.

    See Also
    --------
    scatter_nd, pyscatter.scatter_nd
    """
    operands = {"indices": indices, "values": values}
    return _tensors.update("scatter_nd", a, operands, options)
