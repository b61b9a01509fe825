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
    'indices are traced under mode="raise"',
    "There are no second ones.",
)
_MADE = functions(_arrays.apply_reverse, *_WORDS)
globals().update(_MADE)

forward = SimpleNamespace(**functions(_arrays.apply_forward, *_WORDS))

__all__ = [*_MADE, "forward"]
