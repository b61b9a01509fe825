"""pyscatter inside other packages, each imported only when it is asked for.

- `pyscatter.adapters.torch`, `.tensorflow`, `.jax`, `.autograd`: the operations on
  tensors of these packages, with derivatives
- `pyscatter.adapters.keras`: layers
- `pyscatter.adapters.dask`: reductions and updates of chunked arrays
"""
