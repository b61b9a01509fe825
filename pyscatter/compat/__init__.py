"""Other libraries' names and rules on NumPy arrays, without importing those libraries.

Each module has the function names, argument order and conventions of one library, put
around pyscatter's own functions:

- `pyscatter.compat.numpy_groupies`: `aggregate`
"""
