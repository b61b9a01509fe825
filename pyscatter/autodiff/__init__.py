"""Derivatives of the library's operations: backward, forward, and tools round them."""

from pyscatter.autodiff.calls import jvp, vjp
from pyscatter.autodiff.jacobians import jacobian
from pyscatter.autodiff.operators import linear_operator
from pyscatter.autodiff.row_sparse import RowSparse
from pyscatter.autodiff.tape import Tape

__all__ = ["RowSparse", "Tape", "jacobian", "jvp", "linear_operator", "vjp"]
