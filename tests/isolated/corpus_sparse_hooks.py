"""Sparse calls whose arrays change while they are looked at.

An `__array__` gives data, structure, dense operands or the target of the same call
another dtype, shape or memory; a dtype is set where it was an array of numbers. What
was looked at once is looked at again before it is read.
"""

import warnings

import numpy as np

import pyscatter as ps
from tests.isolated.corpus_hooks import ANY
from tests.isolated.harness import case

LOOSE = {"strict": False}
WRONG = f"{ANY}|AttributeError|DTypePromotionError"


class Hook:
    """An array that runs code when it is asked for."""

    def __init__(self, act, value):
        self.act, self.value = act, value

    def __array__(self, dtype=None, copy=None):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.act()
        return np.asarray(self.value)


CHANGES = {
    "memory": lambda array: array.resize(0, refcheck=False),
    "times": lambda array: setattr(array, "dtype", "m8[s]"),
    "bytes": lambda array: setattr(array, "dtype", f"V{array.itemsize}"),
    "long": lambda array: setattr(array, "dtype", np.longdouble),
    "no axes": lambda array: setattr(array, "shape", ()),
    "two axes": lambda array: setattr(array, "shape", (2, -1)),
}


def structure(n):
    """Columns and limits of a matrix of 20 rows and columns with n entries."""
    columns = np.arange(n, dtype=np.int32) % 20
    return columns, np.linspace(0, n, 21).astype(np.int32)


def matrix(n, dtype=float):
    return ps.CSR((np.arange(n).astype(dtype), *structure(n)), (20, 20))


def retyped(work, n, change, dtype):
    """Values that have become something else since the container was made."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = np.arange(2 * n).astype(dtype)
        A = ps.CSR((data[:n], *structure(n)), (20, 20))
        change(data if change is CHANGES["memory"] else A.data)
        return work(A)


def multiplied(which, n, change):
    """A product whose alpha changes its operand, its target, or what they view."""
    base, rows = np.ones(20 * n), np.ones((20, n))
    whole = base.reshape(20, n)
    alpha = Hook(lambda: change(base if which.endswith("base") else whole), 2.0)
    if which.startswith("out"):
        return ps.spmm(matrix(n), rows, out=whole, alpha=alpha)
    return ps.spmm(matrix(n), whole, alpha=alpha)


def sampled(n, change):
    base = np.ones(20 * n)
    y = Hook(lambda: change(base), np.ones((20, n)))
    return ps.sddmm(matrix(n), base.reshape(20, n), y)


def assembled(which, n, change, dtype=float):
    """Coordinates of which one changes the other, or the data."""
    row, data = np.arange(n) % 20, np.arange(n).astype(dtype)
    col = Hook(lambda: change(row if which == "row" else data), np.arange(n) % 20)
    return ps.coo_to_csr(data, (row, col), (20, 20))


def planned(n, change):
    """A plan's second values change the first."""
    A = matrix(n)
    plan = ps.spgemm(A, A, plan=True)[1]
    base = np.ones(4 * n)
    return plan(base[:n], Hook(lambda: change(base), np.ones(n)))


WORKS = {
    "csc": lambda A: A.to_csc(),
    "coo": lambda A: A.to_coo(),
    "dense": lambda A: A.to_dense(),
    "turned": lambda A: A.T.to_csr(),
    "sums": lambda A: A.sum_duplicates(),
    "spmm": lambda A: ps.spmm(A, np.ones(20)),
    "kept": lambda A: [ps.spmm(np.ones((64, 20)), A) for _ in range(3)],
    "sddmm": lambda A: ps.sddmm(A, np.ones((20, 2)), np.ones((20, 2)), values="scale"),
    "spgemm": lambda A: ps.spgemm(A, A),
}


def containers():
    """Every work on values that were changed before it."""
    for name, work in WORKS.items():
        for change in ("memory", "times", "bytes", "long"):
            for dtype in (np.int64, complex):
                for n in (40, 20_000):
                    call = retyped, work, n, CHANGES[change], dtype
                    yield case(f"{name} {change} {n}", WRONG, *call, **LOOSE)


def calls():
    """Every argument that another one changes during the call."""
    for name, change in CHANGES.items():
        for n in (40, 3000):
            for which in ("x", "x base", "out", "out base"):
                call = multiplied, which, n, change
                yield case(f"spmm {which} {name} {n}", WRONG, *call, **LOOSE)
            yield case(f"sddmm {name} {n}", WRONG, sampled, n, change, **LOOSE)
            yield case(f"plan {name} {n}", WRONG, planned, n, change, **LOOSE)
            for which in ("row", "data"):
                for dtype in (np.int8, complex):
                    call = assembled, which, n, change, dtype
                    yield case(f"coo {which} {name} {n}", WRONG, *call, **LOOSE)


GROUPS = {"sparse changed before": containers, "sparse changed meanwhile": calls}
