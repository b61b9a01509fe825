"""Records with holes: bytes between the fields belong to someone else and stay."""

import numpy as np
import pytest

import pyscatter as ps
from tests.cases import (
    FORMS,
    LAYOUTS,
    MASK_FORMS,
    WRITABLE_LAYOUTS,
    assert_same,
    drawer,
    random_mask,
    rng_for,
)


def function(family, stem):
    """Return pyscatter's function of a family by its stem."""
    return getattr(ps, family + stem)


RECORD = np.dtype([("x", "i2"), ("y", "i4"), ("z", "i2")])


def fields_at(offsets, formats, itemsize):
    """Return a record of fields a, b, ... at chosen places."""
    names = list("abcdef"[: len(offsets)])
    return np.dtype(
        {"names": names, "formats": formats, "offsets": offsets, "itemsize": itemsize}
    )


HOLES = {
    "two of three": RECORD[["x", "z"]],
    "the middle one": RECORD[["y"]],
    "the last one": fields_at([4], ["i4"], 8),
    "no field": fields_at([], [], 8),
    "padding": np.dtype([("a", "u1"), ("b", "f8")], align=True),
    "padding at the end": np.dtype([("a", "f4"), ("b", "u1")], align=True),
    "records within": np.dtype(
        [("a", RECORD[["x", "z"]]), ("b", "u1"), ("c", RECORD[["z"]], (2, 3))]
    ),
    "arrays within": fields_at([2, 7], [("u1", (3,)), ("S2", (2,))], 16),
    "swapped": fields_at([1, 5], [">i2", ">f4"], 12),
    "out of order": fields_at([6, 0, 3], ["i2", "i2", "u1"], 9),
    "shared bytes": fields_at([2, 4], ["i4", "i2"], 8),
}


def octets(a):
    """Return the bytes of each element as a last axis that can be written."""
    return a.view(np.ndarray).view([("all", "u1", (a.dtype.itemsize,))])["all"]


def noise(rng, dtype, shape):
    """Return records of random bytes, those that no field fills included."""
    a = np.zeros(shape, dtype)
    octets(a)[...] = rng.integers(0, 256, (*a.shape, dtype.itemsize))
    return a


def fills(dtype):
    """Return for each byte of an item whether a field fills it."""
    filled = np.zeros(dtype.itemsize, bool)
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return np.tile(fills(base), int(np.prod(shape)))
    for field, offset, *_ in (dtype.fields or {}).values():
        filled[offset : offset + field.itemsize] |= fills(field)
    return filled if dtype.names is not None else ~filled


def moved(a, positions, values, op="set"):
    """Return the bytes of `a` after values have come, field by field."""
    result, filled = octets(a).copy(), fills(a.dtype)
    rows = result.reshape(-1, filled.size)
    arriving = octets(np.broadcast_to(values, positions.shape).copy())
    arriving = arriving.reshape(-1, filled.size)
    pairs = list(zip(positions.ravel(), arriving, strict=True))
    for position, item in pairs if op == "set" else reversed(pairs):
        rows[position, filled] = item[filled]
    return result


def numbered(a):
    """Return the flat positions of the elements of an array of this shape."""
    return np.arange(a.size).reshape(a.shape)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("holes", HOLES)
def test_bytes_between_fields_stay(holes, form):
    rng = rng_for("holes", holes, form)
    dtype, form = HOLES[holes], FORMS[form]
    index = form.index(drawer(rng))
    scatter, gather = function("scatter", form.stem), function("gather", form.stem)
    plain = [name for name in WRITABLE_LAYOUTS if name != "byteswapped"]
    for op, layout in (("set", "c"), ("first", "c"), ("set", rng.choice(plain))):
        a = noise(rng, dtype, form.shape)
        values = noise(rng, dtype, form.values)
        positions = gather(numbered(a), index, **form.options)
        target = LAYOUTS[layout](a)
        octets(target)[...] = octets(a)
        scatter(target, index, values, op=op, out=target, **form.options)
        assert_same(octets(target), moved(a, positions, values, op), layout)

        taken = noise(rng, dtype, form.values)
        expected = moved(taken, numbered(taken), a.reshape(-1)[positions])
        gather(a, index, out=taken, **form.options)
        assert_same(octets(taken), expected, "gather")


@pytest.mark.parametrize("algorithm", [None, *ps._core.algorithms()])
@pytest.mark.parametrize("holes", HOLES)
def test_bytes_between_fields_stay_by_every_algorithm(holes, algorithm):
    rng, dtype = rng_for("hole algorithms", holes), HOLES[holes]
    ps._core.force_algorithm(algorithm)
    ps.set_num_threads(3)
    for shape, n in (((70,), 2100), ((40, 6), 300), ((9, 3, 7), 30)):
        a = noise(rng, dtype, shape)
        values = noise(rng, dtype, (n, *shape[1:]))
        index = rng.integers(-shape[0], shape[0], n)
        positions = numbered(a)[index]
        plan = ps.Plan(index, shape[0])
        for op, where in (("set", index), ("first", index), ("set", plan)):
            target = a.copy()
            octets(target)[...] = octets(a)
            ps.scatter(target, where, values, op=op, out=target)
            assert_same(octets(target), moved(a, positions, values, op), op)


@pytest.mark.parametrize("form", MASK_FORMS)
@pytest.mark.parametrize("holes", HOLES)
def test_bytes_between_fields_stay_under_masks(holes, form):
    rng, dtype = rng_for("hole masks", holes, form), HOLES[holes]
    shape, mask_shape = MASK_FORMS[form]
    mask = random_mask(rng, "half", mask_shape)
    rest = (1,) * (len(shape) - mask.ndim)
    spread = np.broadcast_to(mask.reshape(mask.shape + rest), shape)
    x, y, out = (noise(rng, dtype, shape) for _ in range(3))
    expected = moved(out, numbered(out)[spread], x[spread])
    target = out.copy()
    octets(target)[...] = octets(out)
    ps.scatter_where(target, mask, x, out=target)
    assert_same(octets(target), expected, "scatter_where")
    octets(target)[...] = octets(out)
    ps.scatter_where(target, spread, x[spread], packed=True, out=target)
    assert_same(octets(target), expected, "packed")

    for branch in (y, x):
        chosen = x.copy()
        octets(chosen)[~spread] = octets(branch)[~spread]
        target = out.copy()
        octets(target)[...] = octets(out)
        ps.where(spread, x, branch, out=target)
        assert_same(octets(target), moved(out, numbered(out), chosen), "where")
    before = octets(x).copy()
    before[~spread] = moved(x, numbered(x), y)[~spread]
    ps.where(spread, x, y, out=x)
    assert_same(octets(x), before, "where in place")


@pytest.mark.parametrize("holes", HOLES)
def test_new_records_are_zero_between_fields(holes):
    rng, dtype = rng_for("new holes", holes), HOLES[holes]
    native, filled = dtype.newbyteorder("="), fills(dtype)
    a, values = (noise(rng, dtype, (5000,)) for _ in range(2))
    index, mask = rng.integers(0, 5000, 7000), np.ones(5000, bool)
    results = {
        "copy": ps.scatter(a, index[:0], values[:0]),
        "scatter": ps.scatter(a, index[:5000], values),
        "flat": ps.scatter(a.reshape(50, 100).T, index[:5000], values, axis=None),
        "scatter_where": ps.scatter_where(a, mask, values),
        "fill": ps.gather(a, index + 5000, mode="fill"),
    }
    for name, result in results.items():
        assert result.dtype == native, name
        assert not octets(result)[..., ~filled].any(), name
    taken, expected = ps.gather(a, index), np.take(a, index).astype(native)
    assert taken.dtype == native
    assert_same(octets(taken)[..., filled], octets(expected)[..., filled], "gather")
    chosen = ps.where(mask, a, values, dtype=dtype)
    assert_same(octets(chosen)[..., filled], octets(results["copy"])[..., filled])
    assert ps.where(mask, a, a).dtype == np.where(mask, a, a).dtype.newbyteorder("=")


def test_records_of_objects_leave_the_bytes_between_fields():
    record = np.dtype([("item", "O"), ("y", "i4"), ("z", "i4")])
    base, other = np.zeros(6, record), np.zeros(6, record)
    base["y"], other["z"] = np.arange(6), 5
    a, values = base[["item", "z"]], other[["item", "z"]]
    ps.scatter(a, [0, 3, 3], values[:3], out=a)
    ps.scatter_where(a, np.arange(6) % 2 == 1, values, out=a)
    ps.where(np.arange(6) == 2, values, a, out=a)
    assert base["y"].tolist() == list(range(6))
    assert base["z"].tolist() == [5, 5, 5, 5, 0, 5]
    ps.gather(values, [5, 4, 3, 2, 1, 0], out=a)
    assert base["y"].tolist() == list(range(6))
    assert base["z"].tolist() == [5] * 6
