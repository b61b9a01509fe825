"""pyscatter inside other packages, each imported only when it is asked for.

- `pyscatter.adapters.torch`, `.tensorflow`, `.jax`, `.autograd`: the operations on
  tensors of these packages, with derivatives
- `pyscatter.adapters.keras`: layers, and a callback that watches change
- `pyscatter.adapters.tensorboard`: changes and histograms, through any writer
- `pyscatter.adapters.dask`: reductions and updates of chunked arrays
"""
