"""Derivatives of the library's operations: backward, forward, and tools round them."""

from pyscatter.autodiff.calls import jvp, vjp
from pyscatter.autodiff.row_sparse import RowSparse

__all__ = ["RowSparse", "jvp", "vjp"]
