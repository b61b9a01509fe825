"""What the rules of all families share: where entries are, and what weighs on them.

An `Address` is a way of naming elements: it gathers and scatters. Nearly every
operation of the library is *local*: each value that arrives moves one element of the
result, by a factor of its own. Its tangent then is a scatter of factors times tangents,
its cotangent a gather times the conjugate factors, and both agree by construction.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from pyscatter import _core

NOTHING = np.False_

# An imaginary step so small that its square vanishes beside anything: what is analytic
# changes by its derivative times the step, to the last bit.
STEP = 1e-100


class Address:
    """The elements that a call names: a gather and a scatter with the same options.

    Entries that take no part (dropped, or left out by ``where=``) gather zero.
    """

    __slots__ = ("take", "put", "index", "options", "own_axes")

    def __init__(self, take, put, index, options, own_axes=None):
        self.take = take
        self.put = put
        self.index = index
        self.options = options
        self.own_axes = own_axes  # which axes the index tells apart; None: all

    def gather(self, x):
        """Return the element of `x` that each entry names, or zero."""
        return self.take(x, self.index, **self.options)

    def scatter(self, x, values, op="add"):
        """Return `x` with values combined at the elements that entries name."""
        return self.put(x, self.index, values, op=op, **self.options)

    def thin(self, shape):
        """Return the shape without the axes whose elements all share one entry."""
        if self.own_axes is None:
            return shape
        return tuple(n if i in self.own_axes else 1 for i, n in enumerate(shape))

    def numbers(self, shape):
        """Return for each entry the number of its element, from 1; 0 for none."""
        count = np.arange(1, 1 + math.prod(shape), dtype=np.intp)
        return self.gather(count.reshape(shape))


def take_masked(x, mask, packed):
    """Return what a mask selects, packed or in its place among zeros."""
    if packed:
        return _core.gather_where(x, mask)
    return _core.where(over(mask, x.ndim), x, x.dtype.type(0))


def put_masked(x, mask, values, op, packed):
    """Combine values with what a mask selects."""
    return _core.scatter_where(x, mask, values, op=op, packed=packed)


def over(mask, ndim):
    """Return a mask with an axis for each of an array that has `ndim`."""
    return mask.reshape(mask.shape + (1,) * (ndim - mask.ndim))


class Term(NamedTuple):
    """What an argument's tangent is multiplied by: a factor where a mask is true.

    None stands for ones, and for everywhere. The mask selects: what it leaves out is
    exactly zero, whatever the factor or the tangent holds there.
    """

    factor: Any = None
    mask: Any = None

    def times(self, x, conjugate=False):
        """Return the product with a tangent, or with a cotangent if `conjugate`."""
        factor = self.factor
        if factor is not None:
            if conjugate and np.iscomplexobj(factor):
                factor = np.conj(factor)
            with np.errstate(all="ignore"):
                x = np.asarray(np.multiply(x, factor))  # NumPy makes 0-d ones scalars
        return x if self.mask is None else _core.where(self.mask, x, x.dtype.type(0))


ONE, ZERO, MINUS = Term(), Term(mask=NOTHING), Term(-1)


def wide(dtype):
    """Return what to compute a dtype's numbers in: float32 for halves."""
    return np.dtype(np.float32) if dtype.itemsize == 2 else dtype


def unbroadcast(x, shape):
    """Return the sums of `x` over axes along which an array of `shape` was spread."""
    if x.shape == shape:
        return x
    lead = x.ndim - len(shape)
    spread = [i + lead for i, n in enumerate(shape) if n == 1 != x.shape[i + lead]]
    axes = (*range(lead), *spread)
    sums = x.sum(axis=axes, dtype=wide(x.dtype), keepdims=True)
    return sums.astype(x.dtype, copy=False).reshape(shape)


def chosen_sum(mask, chosen, x, shape):
    """Return x where a mask is `chosen`, zero elsewhere, summed to `shape`.

    The last run of axes that are summed is summed under the mask, so that no array of
    the full shape is made; the rest of them are axes of what is left.
    """
    lead = x.ndim - len(shape)
    kept = [i >= lead and shape[i - lead] == n for i, n in enumerate(x.shape)]
    summed = [i for i, keep in enumerate(kept) if not keep]
    if not summed:
        zero = x.dtype.type(0)
        pair = (x, zero) if chosen else (zero, x)
        return _core.where(mask, *pair)
    stop = summed[-1] + 1
    start = next((i + 1 for i in reversed(range(stop)) if kept[i]), 0)
    parts = [x.shape[:start], x.shape[start:stop], x.shape[stop:]]
    sizes = [math.prod(part) for part in parts]
    mask = np.broadcast_to(mask, x.shape).reshape(sizes)
    if mask.strides[2] not in (0, 1) and sizes[2] > 1:
        mask = np.ascontiguousarray(mask)
    dtype = wide(x.dtype)
    flat = np.ascontiguousarray(x.astype(dtype, copy=False)).reshape(sizes)
    sums = _core.sum_chosen(flat, mask, chosen).reshape(parts[0] + parts[2])
    left = tuple(i for i in summed if i < start)
    sums = sums.sum(axis=left) if left else sums
    return sums.astype(x.dtype, copy=False).reshape(shape)


def equal(x, y):
    """Return where two arrays are equal, NaN to NaN and -0.0 to +0.0."""
    with np.errstate(invalid="ignore"):
        return (x == y) | ((x != x) & (y != y))


def in_shape(values, shape, dtype):
    """Return values as the call used them: cast, and spread over their entries."""
    values = np.asarray(values).astype(dtype, copy=False)
    return values if values.shape == shape else np.broadcast_to(values, shape)


class Call(_core.Call):
    """One call of an operation: its arguments, its result, and options.

    Names are bound to arguments when a rule first asks for one. What several rules of
    it need is made once and kept in `store`.
    """

    __slots__ = ()

    def __reduce__(self):
        """Return what a copy is made from; it keeps things of its own."""
        given = self.rule, self.primals, self.options, self.out, self.ties, self.wanted
        names = "bound", "recipe", "option"
        return type(self), given, (None, {name: getattr(self, name) for name in names})

    @property
    def args(self):
        """All arguments by name."""
        if self.bound is None:
            args = dict(zip(self.rule.arguments, self.primals, strict=False))
            self.bound = args | self.options | self.rule.fixed
        return self.bound

    def anew(self, **args):
        """Return the same call with nothing kept, and these arguments instead."""
        call = Call(self.rule, self.primals, self.options, self.out, self.ties)
        if args:
            call.bound = self.args | args
        return call

    def get(self, name, default=None):
        """Return an argument, or what stands for it where it is absent."""
        return self.args.get(name, default)

    def options_of(self, *names):
        """Return those of these arguments that were given."""
        return {name: self.args[name] for name in names if name in self.args}

    def once(self, make):
        """Return what a function makes of the call, made the first time."""
        store = self.store
        if make in store:
            return store[make]
        made = store[make] = make(self)
        return made
