"""pyscatter on TensorFlow's tensors and variables, with gradients.

In eager mode a function works at once on the memory of the tensors. In a tf.function it
is a callback into this process (tf.numpy_function), with the static shape and dtype of
its result set: it runs on the CPU, holds Python's lock for its overhead, and cannot be
stored in a SavedModel, which is refused when it is saved.

Second derivatives are right for set, add, sub, mean, min, max, gathers, segments and
products, and a RuntimeError by name for the others. The gradient of rows gathered along
axis 0 is tf.IndexedSlices.
"""

from pyscatter.adapters._functions import functions
from pyscatter.adapters._imports import required

tf = required("tensorflow", "tensorflow")

from pyscatter.adapters import _tensorflow_tensors as _tensors  # noqa: E402

_MADE = functions(
    _tensors.apply,
    "tf.Tensor",
    "tensorflow",
    "num_segments is missing in a graph",
)
globals().update(_MADE)

__all__ = [*_MADE, "update_variable"]


def update_variable(var, indices, values, op="set"):
    """Update the elements or slices of a variable that tuples name.

    Parameters
    ----------
    var : tf.Variable
        The variable; also one of Keras on the TensorFlow backend.
    indices : tensor of integers
        (..., k): tuples, as in tf.scatter_nd.
    values : tensor or scalar
        What arrives; broadcasts to ``indices.shape[:-1] + var.shape[k:]``.
    op : str, optional
        What happens where values arrive: any op of `pyscatter.scatter_nd`.

    Returns
    -------
    tf.Variable
        `var`.

    Raises
    ------
    IndexError
        An index is out of bounds; in a tf.function it is tf.errors.OpError with this
        message. The variable is unchanged.
    ValueError
        Shapes do not fit.
    TypeError
        `var` cannot be assigned to, or values do not fit its dtype.

    Notes
    -----
    *Order and duplicates*, *Determinism*: as `pyscatter.scatter_nd`. *Derivatives*:
    none: an assignment has none. *Cost*: the update, and an assignment of the whole.

    See Also
    --------
    scatter_nd, pyscatter.scatter_nd
    tf.Variable.scatter_nd_update

    Examples
    --------
    >>> import tensorflow as tf
    >>> from pyscatter.adapters.tensorflow import update_variable
    >>> var = tf.Variable([1.0, 2.0, 3.0])
    >>> update_variable(var, [[0], [2], [0]], [5.0, 6.0, 7.0], op="max").numpy()
    array([7., 2., 6.], dtype=float32)
    """
    if not hasattr(var, "assign"):
        raise TypeError(f"var is a {type(var).__name__}; expected a tf.Variable")
    old = tf.stop_gradient(tf.convert_to_tensor(var))
    new = _MADE["scatter_nd"](old, indices, values, op=op)
    if new.dtype != var.dtype:
        raise TypeError(f"the result has dtype {new.dtype}, the variable {var.dtype}")
    var.assign(new)
    return var
