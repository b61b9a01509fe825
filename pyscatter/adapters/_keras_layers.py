"""The layers: what each is called on, what it gives, and the call of the adapter."""

import keras
import numpy as np
from keras import ops

import pyscatter as ps
from pyscatter.adapters._keras_inputs import (
    SCATTERS,
    Indexed,
    Update,
    adapter,
    mode_of,
    numbers_like,
    tuple_shape,
)

PACKAGE = "pyscatter"
SEGMENTS = ("add", "mean", "min", "max", "mul", "var", "std", "logsumexp")
COMPARES = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")


@keras.saving.register_keras_serializable(package=PACKAGE)
class BatchScatter(Update):
    """Update rows of each sample's table.

    Called on ``[a, ids, values]``: a (B, rows, ...), ids (B, N) of integers, values
    (B, N, ...); the result has the shape of a.

    Parameters
    ----------
    op : str, optional
        "add" (default), "set", "sub", "mul", "div", "min", "max", "mean" or "first".
    **kwargs
        Those of keras.layers.Layer.

    Raises
    ------
    ValueError
        An unknown op; inputs whose shapes do not fit, when the layer is built.
    TypeError
        ids are no integers.

    Notes
    -----
    *Order and duplicates*: repeated ids all count, under "set" the last one stays and
    has the gradient. *Determinism*: the bits depend neither on threads nor on the CPU.
    *Derivatives*: for a and values. An id out of bounds is the backend's error; on JAX
    it is dropped.

    See Also
    --------
    ScatterNd, pyscatter.scatter

    Examples
    --------
    >>> import numpy as np
    >>> from pyscatter.adapters.keras import BatchScatter
    >>> a, values = np.zeros((1, 3, 1), "f4"), np.ones((1, 2, 1), "f4")
    >>> np.asarray(BatchScatter("add")([a, np.array([[2, 2]]), values])).ravel()
    array([0., 0., 2.], dtype=float32)
    """

    second = "ids"

    def build(self, input_shape):
        """Check the shapes of the inputs."""
        a, ids, values = self.shapes_of(input_shape, (3,))
        if len(ids) != 2 or len(a) < 2:
            self.refuse(
                f"ids has shape {ids} and a {a}; expected (B, N), (B, rows, ...)"
            )
        self.expect("ids", ids[:1], a[:1])
        self.expect("values", values, ids + a[2:])
        super().build(input_shape)

    def call(self, inputs):
        """Return the updated tables."""
        a, ids, values = inputs
        self.whole(ids)
        options = {"batch_dims": 1, "op": self.op, "mode": mode_of()}
        return adapter().scatter(a, ids, numbers_like(values, a), **options)


@keras.saving.register_keras_serializable(package=PACKAGE)
class ScatterNd(Update):
    """Update the elements or slices that tuples name.

    Called on ``[a, indices, values]``: a (B, ...), indices (B, N, k) of integers,
    values (B, N) and the axes of a behind the tuple's; the result has the shape of a.

    Parameters
    ----------
    op : str, optional
        "add" (default), "set", "sub", "mul", "div", "min", "max", "mean" or "first".
    batch_dims : int, optional
        How many leading axes are batches; default 1: each sample has tuples of its own.
    **kwargs
        Those of keras.layers.Layer.

    Raises
    ------
    ValueError
        An unknown op; inputs whose shapes do not fit, when the layer is built.
    TypeError
        indices are no integers.

    Notes
    -----
    *Order and duplicates*: repeated tuples all count, under "set" the last one stays
    and has the gradient. *Determinism*: the bits depend neither on threads nor on the
    CPU. *Derivatives*: for a and values. A tuple out of bounds is the backend's error;
    on JAX it is dropped.

    See Also
    --------
    BatchScatter, GatherNd, pyscatter.scatter_nd

    Examples
    --------
    >>> import numpy as np
    >>> from pyscatter.adapters.keras import ScatterNd
    >>> a, values = np.zeros((1, 3), "f4"), np.ones((1, 2), "f4")
    >>> np.asarray(ScatterNd("add")([a, np.array([[[2], [2]]]), values]))
    array([[0., 0., 2.]], dtype=float32)
    """

    second = "indices"

    def __init__(self, op="add", batch_dims=1, **kwargs):
        super().__init__(op, **kwargs)
        self.batch_dims = batch_dims

    def build(self, input_shape):
        """Check the shapes of the inputs."""
        a, indices, values = self.shapes_of(input_shape, (3,))
        tuple_shape(self, a, indices)
        rest = a[self.batch_dims + indices[-1] :]
        self.expect("values", values, indices[:-1] + rest)
        super().build(input_shape)

    def call(self, inputs):
        """Return the updated arrays."""
        a, indices, values = inputs
        self.whole(indices)
        options = {"batch_dims": self.batch_dims, "op": self.op, "mode": mode_of()}
        return adapter().scatter_nd(a, indices, numbers_like(values, a), **options)

    def get_config(self):
        """Return what makes the same layer."""
        return {**super().get_config(), "batch_dims": self.batch_dims}


@keras.saving.register_keras_serializable(package=PACKAGE)
class GatherNd(Indexed):
    """Take the elements or slices that tuples name.

    Called on ``[a, indices]``: a (B, ...), indices (B, N, k) of integers; the result is
    (B, N) and the axes of a behind the tuple's.

    Parameters
    ----------
    batch_dims : int, optional
        How many leading axes are batches; default 1: each sample has tuples of its own.
    **kwargs
        Those of keras.layers.Layer.

    Raises
    ------
    ValueError
        Inputs whose shapes do not fit, when the layer is built.
    TypeError
        indices are no integers.

    Notes
    -----
    *Order and duplicates*: a tuple may come any number of times. *Determinism*: a copy.
    *Derivatives*: for a. A tuple out of bounds is the backend's error; on JAX it gives
    zero.

    See Also
    --------
    ScatterNd, pyscatter.gather_nd

    Examples
    --------
    >>> import numpy as np
    >>> from pyscatter.adapters.keras import GatherNd
    >>> np.asarray(GatherNd()([np.array([[1.0, 2.0]], "f4"), np.array([[[1], [1]]])]))
    array([[2., 2.]], dtype=float32)
    """

    second = "indices"

    def __init__(self, batch_dims=1, **kwargs):
        super().__init__(**kwargs)
        self.batch_dims = batch_dims

    def build(self, input_shape):
        """Check the shapes of the inputs."""
        a, indices = self.shapes_of(input_shape, (2,))
        tuple_shape(self, a, indices)
        super().build(input_shape)

    def compute_output_shape(self, input_shape):
        """Return the shape of the tuples and of what each names."""
        a, indices = map(tuple, input_shape)
        return indices[:-1] + a[self.batch_dims + indices[-1] :]

    def call(self, inputs):
        """Return what the tuples name."""
        a, indices = inputs
        self.whole(indices)
        options = {"batch_dims": self.batch_dims, "mode": mode_of()}
        return adapter().gather_nd(a, indices, **options)

    def get_config(self):
        """Return what makes the same layer."""
        return {**super().get_config(), "batch_dims": self.batch_dims}


@keras.saving.register_keras_serializable(package=PACKAGE)
class SegmentReduce(Indexed):
    """Reduce the entries of each sample by segment.

    Called on ``[values, ids]``: values (B, T, ...), ids (B, T) of integers; the result
    is (B, num_segments, ...). Samples are independent.

    Parameters
    ----------
    num_segments : int
        How many segments each sample has.
    op : str, optional
        "add" (default), "mean", "min", "max", "mul", "var", "std" or "logsumexp".
    fill_value : float, optional
        The value of an empty segment; default: the op's identity, and 0 for means,
        variances and logsumexp, whose identity is no number.
    mode : {"raise", "drop"}, optional
        What an id out of bounds does; "drop" leaves out padding of -1.
    **kwargs
        Those of keras.layers.Layer.

    Raises
    ------
    ValueError
        An unknown op or mode; inputs whose shapes do not fit, when the layer is built.
    TypeError
        ids are no integers.

    Notes
    -----
    *Order and duplicates*: entries are taken in order. *Determinism*: the bits depend
    neither on threads nor on the CPU. *Derivatives*: for values; ties share evenly.

    See Also
    --------
    pyscatter.segment_reduce

    Examples
    --------
    >>> import numpy as np
    >>> from pyscatter.adapters.keras import SegmentReduce
    >>> values = np.array([[1.0, 2.0, 4.0]], "f4")
    >>> np.asarray(SegmentReduce(2, mode="drop")([values, np.array([[1, -1, 1]])]))
    array([[0., 5.]], dtype=float32)
    """

    second = "ids"

    def __init__(self, num_segments, op="add", fill_value=None, mode="raise", **kwargs):
        super().__init__(**kwargs)
        self.num_segments = int(num_segments)
        self.op = self.choose("op", op, SEGMENTS)
        self.mode = self.choose("mode", mode, ("raise", "drop"))
        self.fill_value = fill_value

    def build(self, input_shape):
        """Check the shapes of the inputs."""
        values, ids = self.shapes_of(input_shape, (2,))
        if len(ids) != 2:
            self.refuse(f"ids has shape {ids}; expected (B, T)")
        self.expect("ids", ids, values[:2])
        super().build(input_shape)

    def compute_output_shape(self, input_shape):
        """Return (B, num_segments, ...)."""
        values = tuple(input_shape[0])
        return (values[0], self.num_segments, *values[2:])

    def call(self, inputs):
        """Return the reduced segments."""
        values, ids = inputs
        self.whole(ids)
        fill = self.fill_value
        if fill is None and self.op in ("mean", "var", "std", "logsumexp"):
            fill = 0.0
        options = {"batch_dims": 1, "op": self.op, "fill_value": fill}
        options["mode"] = mode_of(self.mode)
        return adapter().segment_reduce(values, ids, self.num_segments, **options)

    def get_config(self):
        """Return what makes the same layer."""
        own = {"num_segments": self.num_segments, "op": self.op}
        own |= {"fill_value": self.fill_value, "mode": self.mode}
        return {**super().get_config(), **own}


@keras.saving.register_keras_serializable(package=PACKAGE)
class SparseDense(keras.layers.Layer):
    """Multiply a fixed sparse matrix and the activations of each sample.

    Called on x (B, m) or (B, m, k); the result is (B, n) or (B, n, k): ``A @ x[b]``.

    Parameters
    ----------
    matrix : sparse matrix
        (n, m): one of pyscatter's or SciPy's; stored as CSR in float32, or the layer's
        dtype.
    trainable_values : bool, optional
        Train the stored values; places without one stay zero.
    **kwargs
        Those of keras.layers.Layer.

    Raises
    ------
    ValueError
        x does not have m elements on its axis 1, when the layer is built.
    TypeError
        The matrix is no sparse matrix.

    Notes
    -----
    *Order and duplicates*: a row's entries are summed in stored order. *Determinism*:
    the bits depend neither on threads nor on the CPU. *Derivatives*: for x, and for the
    values if they are trained. The structure is saved in the model's configuration, the
    values among its weights.

    See Also
    --------
    pyscatter.spmm

    Examples
    --------
    >>> import numpy as np
    >>> from pyscatter import CSR
    >>> from pyscatter.adapters.keras import SparseDense
    >>> layer = SparseDense(CSR.from_dense([[0.0, 2.0], [1.0, 0.0]]))
    >>> np.asarray(layer(np.array([[1.0, 3.0]], "f4")))
    array([[6., 1.]], dtype=float32)
    """

    def __init__(self, matrix, trainable_values=False, **kwargs):
        super().__init__(**kwargs)
        if isinstance(matrix, dict):
            matrix = matrix_of(matrix)
        if not (hasattr(matrix, "format") and hasattr(matrix, "shape")):
            raise TypeError(
                f"matrix is a {type(matrix).__name__}; expected a sparse one"
            )
        made = matrix if isinstance(matrix, ps.CSR) else csr_of(matrix)
        data = np.ones(made.nnz) if made.data is None else np.asarray(made.data)
        parts = (data, np.asarray(made.indices), np.asarray(made.indptr))
        self.matrix = ps.CSR(parts, tuple(map(int, made.shape)))
        self.trainable_values = bool(trainable_values)

    def build(self, input_shape):
        """Check the shape of x and make the values."""
        if len(input_shape) not in (2, 3) or input_shape[1] not in (
            None,
            self.matrix.shape[1],
        ):
            raise ValueError(
                f"SparseDense {self.name!r}: x has shape {tuple(input_shape)}; "
                "expected "
                f"(B, {self.matrix.shape[1]}) or (B, {self.matrix.shape[1]}, k) for a "
                f"matrix {self.matrix.shape}"
            )
        data = np.asarray(self.matrix.data)
        self.values = self.add_weight(
            name="values",
            shape=data.shape,
            initializer=lambda shape, dtype=None: ops.convert_to_tensor(data, dtype),
            trainable=self.trainable_values,
        )
        super().build(input_shape)

    def compute_output_shape(self, input_shape):
        """Return (B, n) or (B, n, k)."""
        return (input_shape[0], self.matrix.shape[0], *input_shape[2:])

    def call(self, x):
        """Return the products."""
        values = numbers_like(ops.convert_to_tensor(self.values), x)
        if len(x.shape) == 3:
            return adapter().spmm(self.matrix, x, data=values)
        return adapter().spmm(x, self.matrix, data=values, transpose=True)

    def get_config(self):
        """Return what makes the same layer."""
        own = {
            "shape": list(self.matrix.shape),
            "indices": np.asarray(self.matrix.indices).tolist(),
            "indptr": np.asarray(self.matrix.indptr).tolist(),
            "data": np.asarray(self.matrix.data).tolist(),
        }
        config = {**super().get_config(), "matrix": own}
        return {**config, "trainable_values": self.trainable_values}


def csr_of(matrix):
    """Return a CSR matrix of pyscatter for any sparse one."""
    if isinstance(matrix, (ps.CSC, ps.COO)):
        return matrix.to_csr()
    forms = {"csr": ps.CSR, "csc": ps.CSC, "coo": ps.COO}
    if matrix.format not in forms:
        raise TypeError(f"matrix has format {matrix.format!r}; use .tocsr()")
    made = forms[matrix.format].from_scipy(matrix)
    return made if isinstance(made, ps.CSR) else made.to_csr()


def matrix_of(config):
    """Return the matrix that a layer's configuration describes."""
    data = np.array(config["data"], float)
    indices, indptr = (np.array(config[key], int) for key in ("indices", "indptr"))
    return ps.CSR((data, indices, indptr), tuple(config["shape"]))


@keras.saving.register_keras_serializable(package=PACKAGE)
class ConditionalUpdate(Indexed):
    """Change what meets a condition, and keep the rest.

    Called on ``x``, ``[x, y]``, ``[x, mask]`` or ``[x, mask, values]``, of one shape.
    A bool second input is the mask; any other is y, to which `compare` applies.

    Parameters
    ----------
    compare : str, optional
        "less", "less_equal", "greater" (default), "greater_equal", "equal" or
        "not_equal": how x, or y, is compared with `threshold`.
    threshold : float, optional
        What is compared with; default 0.
    value : float, optional
        What is written, or what is combined by `op`; None: y, or the third input.
    op : str, optional
        "set" (default), or "add", "sub", "mul", "div", "min", "max": what happens where
        the condition holds. "mul" is a scaling.
    **kwargs
        Those of keras.layers.Layer.

    Raises
    ------
    ValueError
        An unknown op or comparison; shapes that differ, when the layer is built; no
        value to write.

    Notes
    -----
    *Order and duplicates*: none. *Determinism*: exact. *Derivatives*: for x, y and the
    values, each where it is used; the condition has none.

    See Also
    --------
    pyscatter.scatter_where, pyscatter.where

    Examples
    --------
    >>> import numpy as np
    >>> from pyscatter.adapters.keras import ConditionalUpdate
    >>> x = np.array([[1.0, 5.0]], "f4")
    >>> np.asarray(ConditionalUpdate("less", 3.0, value=0.0)(x))
    array([[0., 5.]], dtype=float32)
    >>> np.asarray(ConditionalUpdate("greater", 3.0, value=2.0, op="mul")(x))
    array([[ 1., 10.]], dtype=float32)
    """

    def __init__(
        self, compare="greater", threshold=0.0, value=None, op="set", **kwargs
    ):
        super().__init__(**kwargs)
        self.compare = self.choose("compare", compare, COMPARES)
        self.op = self.choose("op", op, SCATTERS[:7])
        self.threshold = float(threshold)
        self.value = None if value is None else float(value)

    def build(self, input_shape):
        """Check that all inputs have one shape."""
        if not all(isinstance(n, (int, type(None))) for n in input_shape):
            first, *others = self.shapes_of(input_shape, (2, 3))
            for i, shape in enumerate(others):
                self.expect(f"input {i + 1}", shape, first)
        super().build(input_shape)

    def compute_output_shape(self, input_shape):
        """Return the shape of x."""
        is_one = all(isinstance(n, (int, type(None))) for n in input_shape)
        return tuple(input_shape if is_one else input_shape[0])

    def call(self, inputs):
        """Return x with the changes."""
        x, *others = inputs if isinstance(inputs, (list, tuple)) else [inputs]
        is_mask = others and keras.backend.standardize_dtype(others[0].dtype) == "bool"
        values = self.value
        if is_mask:
            mask, rest = others[0], others[1:]
        else:
            compared = others[0] if others else x
            mask = getattr(ops, self.compare)(compared, self.threshold)
            rest = others
        if values is None:
            if not rest:
                self.refuse("there is no value to write: give value=, or an input")
            values = numbers_like(rest[0], x)
        else:
            values = ops.convert_to_tensor(values, x.dtype)
        return adapter().scatter_where(x, mask, values, op=self.op)

    def get_config(self):
        """Return what makes the same layer."""
        own = {"compare": self.compare, "threshold": self.threshold}
        own |= {"value": self.value, "op": self.op}
        return {**super().get_config(), **own}
