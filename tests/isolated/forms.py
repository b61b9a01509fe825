"""Every way to name destinations or sources by one list of numbers.

Each form makes its own small array and knows how to call one public function on it, so
that a corpus of hostile indices can be run through all of them by one loop.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

import pyscatter as ps

REALS = (
    "add_at",
    "subtract_at",
    "multiply_at",
    "divide_at",
    "minimum_at",
    "maximum_at",
    "fmin_at",
    "fmax_at",
)
INTEGERS = ("bitwise_and_at", "bitwise_or_at", "bitwise_xor_at", "floor_divide_at")
DROP_INS = REALS + INTEGERS
OPS = ("set", "add", "sub", "mul", "div", "min", "max", "fmin", "fmax", "mean", "first")


@dataclass(frozen=True)
class Form:
    """A public function, bound to a way of writing the index down."""

    name: str
    shape: Callable  # number of places along the axis -> shape of the array
    axis: int
    call: Callable  # (array, index, operand, **options)
    dtype: str = "f8"
    reads: bool = False  # a gather, whose operand is its out
    ops: tuple = ()  # what op= takes here

    def array(self, size):
        """An array with `size` places along the form's axis."""
        shape = self.shape(size)
        # A copy owns its memory, so that a hostile hook is able to resize it.
        return np.arange(1, 1 + np.prod(shape), dtype=self.dtype).reshape(shape).copy()

    def operand(self, array, count):
        """A value that fits every scatter, or the out of a gather."""
        if not self.reads:
            return np.ones((), self.dtype)
        before = () if self.shape is pair_table else array.shape[: self.axis]
        after = array.shape[self.axis + 1 :]
        return np.full((*before, count, *after), -1.0, self.dtype)


def line(size):
    return (size,)


def rows(size):
    return (size, 4)


def columns(size):
    return (3, size)


def batch(size):
    return (1, size)


def pair_table(size):
    return (2, size)


def as_is(index):
    return index


def as_batch(index):
    return index[None]


def as_tuples(index):
    return index[..., None]


def as_pairs(index):
    """Tuples (1, i), in the index's own byte order."""
    pairs = np.empty((index.size, 2), index.dtype)
    pairs[:, 0] = 1
    pairs[:, 1] = index
    return pairs


def behind_slice(index):
    return slice(None), index


def writes(name, shape, axis, function, write=as_is):
    """A form that updates its array in place."""

    def call(a, index, values, **options):
        return function(a, write(index), values, out=a, **options)

    return Form(name, shape, axis, call, ops=OPS)


def reads(name, shape, axis, function, write=as_is):
    """A form that fills the out that it is given."""

    def call(a, index, out, **options):
        return function(a, write(index), out=out, **options)

    return Form(name, shape, axis, call, reads=True)


def drop_in(name, dtype):
    """ufunc.at's form of one drop-in, and its axis form."""
    function = getattr(ps, name)

    def by_rows(a, index, b, **options):
        return function(a, index, b, axis=0, **options)

    yield Form(name, line, 0, function, dtype)
    yield Form(f"{name}-axis", rows, 0, by_rows, dtype)


SCATTERS = (
    Form("scatter-new", line, 0, ps.scatter, ops=OPS),
    writes("scatter", line, 0, ps.scatter),
    writes("scatter-rows", rows, 0, ps.scatter),
    writes("scatter-axis1", columns, 1, partial(ps.scatter, axis=1)),
    writes("scatter-batch", batch, 1, partial(ps.scatter, batch_dims=1), as_batch),
    writes("scatter_along", line, 0, ps.scatter_along_axis),
    writes("scatter_nd", line, 0, ps.scatter_nd, as_tuples),
    writes("scatter_nd-pairs", pair_table, 1, ps.scatter_nd, as_pairs),
    writes("scatter_at", line, 0, ps.scatter_at),
    writes("scatter_at-slice", columns, 1, ps.scatter_at, behind_slice),
)
GATHERS = (
    reads("gather", line, 0, ps.gather),
    reads("gather-rows", rows, 0, ps.gather),
    reads("gather-axis1", columns, 1, partial(ps.gather, axis=1)),
    reads("gather-batch", batch, 1, partial(ps.gather, batch_dims=1), as_batch),
    reads("gather_along", line, 0, ps.gather_along_axis),
    reads("gather_nd", line, 0, ps.gather_nd, as_tuples),
    reads("gather_nd-pairs", pair_table, 1, ps.gather_nd, as_pairs),
    reads("gather_at", line, 0, ps.gather_at),
    reads("gather_at-slice", columns, 1, ps.gather_at, behind_slice),
)
DROP_IN_FORMS = tuple(
    form
    for names, dtype in ((REALS, "f8"), (INTEGERS, "i8"))
    for name in names
    for form in drop_in(name, dtype)
)
FORMS = {form.name: form for form in SCATTERS + DROP_IN_FORMS + GATHERS}
