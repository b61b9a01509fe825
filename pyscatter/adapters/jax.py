"""pyscatter on JAX's arrays: under jit, vmap, and one mode of derivatives at a time.

These functions have reverse mode (grad, vjp); those of `forward` in this module have
forward mode (jvp, jacfwd). Each is a callback into this process (pure_callback), to
which arrays are copied: it is there for its exactness, not for speed.

A callback may not raise. Concrete indices are checked before it; traced ones, under
jit, are refused with mode="raise" by a TypeError: "drop", "clip" and "fill" work there.
"""

from types import SimpleNamespace

from pyscatter.adapters._functions import functions
from pyscatter.adapters._imports import required

jax = required("jax", "jax")

from pyscatter.adapters import _jax_arrays as _arrays  # noqa: E402

_WORDS = (
    "jax.Array",
    "jax",
    "There are no second ones.",
    'indices are traced under mode="raise"',
)
_MADE = functions(_arrays.apply_reverse, *_WORDS)
gather = _MADE["gather"]
gather_along_axis = _MADE["gather_along_axis"]
gather_nd = _MADE["gather_nd"]
scatter = _MADE["scatter"]
scatter_along_axis = _MADE["scatter_along_axis"]
scatter_nd = _MADE["scatter_nd"]
where = _MADE["where"]
scatter_where = _MADE["scatter_where"]
segment_reduce = _MADE["segment_reduce"]
spmm = _MADE["spmm"]
sddmm = _MADE["sddmm"]

forward = SimpleNamespace(**functions(_arrays.apply_forward, *_WORDS))

__all__ = [*_MADE, "forward"]
