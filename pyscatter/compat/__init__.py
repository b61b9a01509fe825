"""Other libraries' names and rules on NumPy arrays, without importing those libraries.

Each module has the function names, argument order and conventions of one library, put
around pyscatter's own functions:

- `pyscatter.compat.numpy_groupies`: `aggregate`
- `pyscatter.compat.tensorflow`: scatter_nd, batch_scatter_add, segment_sum ...
- `pyscatter.compat.torch`: scatter_reduce_, index_add_, masked_fill_, gather ...
"""
