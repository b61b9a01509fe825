"""Several ops of one call are what calls of one op each give, bit by bit."""

import itertools

import numpy as np
import pytest

import pyscatter as ps
from tests.cases import rng_for

OPS = ("count", "mean", "add", "std", "max", "mean", "count", "var", "any", "last")

OPTIONS = [
    {},
    {"fill_value": 7},
    {"ddof": 1},
    {"return_counts": True},
    {"skipna": True},
    {"skipna": True, "return_counts": True},
    {"where": "entries"},
    {"where": "elements"},
    {"dtype": "f4"},
    {"compensated": True},
]


def cases():
    rng = rng_for("several ops")
    n, size = 200, 9
    ids = rng.integers(-1, size - 2, n)
    edges = np.sort(rng.integers(0, n, size + 1))
    values = np.where(rng.random((n, 2)) < 0.1, np.nan, rng.standard_normal((n, 2)))
    for array in (values, values[:, 0], np.arange(n, dtype="i4"), values.astype("f2")):
        yield array, {"ids": ids, "num_segments": size, "mode": "drop"}
        yield array, {"starts": edges[:-1], "stops": edges[1:]}


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_as_one_by_one(options):
    rng = rng_for("several ops, masks")
    for values, where in cases():
        given = options | where
        ops = OPS
        if "where" in options:
            rows = options["where"] == "entries"
            given["where"] = (
                rng.random(values.shape[:1] if rows else values.shape) < 0.5
            )
        if "dtype" in options or "compensated" in options or "fill_value" in options:
            ops = ("mean", "add", "std", "mean", "var")
        if "fill_value" in options:
            ops = ("count",) + ops + ("count",)
        with np.errstate(all="ignore"):
            together = ps.segment_reduce(values, op=ops, **given)
            apart = [ps.segment_reduce(values, op=op, **given) for op in ops]
        if "return_counts" in options:
            together, counts = together
            assert counts.tobytes() == apart[0][1].tobytes()
            apart = [one[0] for one in apart]
        for op, one, other in zip(ops, together, apart, strict=True):
            assert one.dtype == other.dtype, op
            assert one.tobytes() == other.tobytes(), op
        for one, other in itertools.combinations(together, 2):
            assert not np.shares_memory(one, other)


def test_with_weights():
    rng = rng_for("several ops, weights")
    for values, where in cases():
        weights, ops = rng.random(len(values)), ("add", "mean", "mean")
        together = ps.segment_reduce(values, op=ops, weights=weights, **where)
        for op, one in zip(ops, together, strict=True):
            other = ps.segment_reduce(values, op=op, weights=weights, **where)
            assert one.tobytes() == other.tobytes(), op


class Answers:
    """A number that is another one each time it is asked for, the last one for good."""

    def __init__(self, *numbers):
        self.numbers = list(numbers)

    def __index__(self):
        return self.numbers.pop(0) if len(self.numbers) > 1 else self.numbers[0]


@pytest.mark.parametrize("sizes", [(9, 200_000), (200_000, 9)])
@pytest.mark.parametrize("weighs", [False, True])
def test_another_number_of_segments_for_each_op(sizes, weighs):
    """What is shared has the shape of each call, or is not shared."""
    rng = rng_for("several ops, answers")
    values, ids = rng.random((100, 2)), rng.integers(0, 9, 100)
    given = {"weights": rng.random(100)} if weighs else {}
    together = ps.segment_reduce(
        values, ids, Answers(*sizes), op=("add", "mean"), **given
    )
    for op, one, size in zip(("add", "mean"), together, sizes, strict=True):
        other = ps.segment_reduce(values, ids, size, op=op, **given)
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("shape", [(100,), (100, 40)])
def test_values_of_other_axes_for_each_op(shape):
    """A number that resizes the values as the second op asks for it."""
    rng = rng_for("several ops, axes")
    memory, ids = np.ones((100, 4)), rng.integers(0, 9, 100)

    class Resizes(Answers):
        def __index__(self):
            if len(self.numbers) == 1:
                memory.resize(shape, refcheck=False)
            return super().__index__()

    added, mean = ps.segment_reduce(
        memory, ids, Resizes(9, 9), op=("add", "mean"), weights=np.ones(100)
    )
    assert added.shape == (9, 4)
    assert mean.shape == (9, *shape[1:])
