"""torch's scatter, gather, index and mask functions on NumPy arrays.

Names, argument order and rules are torch's (2.13), as functions whose first argument is
the array: ``scatter_add_(a, 0, index, src)`` for ``a.scatter_add_(0, index, src)``. A
trailing underscore updates the array in place and returns it; without one the result
is new. What fails leaves every array as it was, where torch's writers leave it half
written. Values may be of another dtype if `numpy.copyto` would cast them under
"same_kind". torch is not imported.

Everywhere: repeated indices all count, of those that write the last one in C order of
the index stays; halves accumulate in float32 and are rounded once; the bits depend
neither on threads nor on the CPU.
"""

from pyscatter.compat._torch_masks import (
    masked_fill,
    masked_fill_,
    masked_scatter,
    masked_scatter_,
    masked_select,
    nonzero,
    where,
)
from pyscatter.compat._torch_reads import (
    bincount,
    count_nonzero,
    gather,
    index_select,
    segment_reduce,
    take,
    take_along_dim,
)
from pyscatter.compat._torch_writes import (
    index_add,
    index_add_,
    index_copy,
    index_copy_,
    index_fill,
    index_fill_,
    index_put,
    index_put_,
    index_reduce,
    index_reduce_,
    put,
    put_,
    scatter,
    scatter_,
    scatter_add,
    scatter_add_,
    scatter_reduce,
    scatter_reduce_,
)

__all__ = [
    "bincount",
    "count_nonzero",
    "gather",
    "index_add",
    "index_add_",
    "index_copy",
    "index_copy_",
    "index_fill",
    "index_fill_",
    "index_put",
    "index_put_",
    "index_reduce",
    "index_reduce_",
    "index_select",
    "masked_fill",
    "masked_fill_",
    "masked_scatter",
    "masked_scatter_",
    "masked_select",
    "nonzero",
    "put",
    "put_",
    "scatter",
    "scatter_",
    "scatter_add",
    "scatter_add_",
    "scatter_reduce",
    "scatter_reduce_",
    "segment_reduce",
    "take",
    "take_along_dim",
    "where",
]
