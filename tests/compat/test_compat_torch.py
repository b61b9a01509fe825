"""torch's names on NumPy arrays: what is documented, and torch itself."""

import numpy as np
import pytest

import pyscatter.compat.torch as ct
from tests.compat.peers import peer

RNG = np.random.default_rng(11)
KINDS = ("f4", "f8", "i4", "i8")


def numbers(shape, kind="f8"):
    """Return whole numbers: sums and products of them are exact in any order."""
    return RNG.integers(-5, 6, shape).astype(kind)


def tensor(torch, x):
    return torch.from_numpy(x.copy()) if isinstance(x, np.ndarray) else x


def both(name, input, *args, **kwargs):
    """Compare a pair of writers with torch's: in place, on a copy."""
    torch = peer("torch")
    theirs = tensor(torch, input)
    given = [
        tuple(tensor(torch, y) for y in x) if isinstance(x, tuple) else tensor(torch, x)
        for x in args
    ]
    getattr(theirs, f"{name}_")(*given, **kwargs)
    functional = getattr(ct, name)(input, *args, **kwargs)
    updated = input.copy()
    assert getattr(ct, f"{name}_")(updated, *args, **kwargs) is updated
    for ours in (functional, updated):
        assert ours.dtype == theirs.numpy().dtype
        np.testing.assert_array_equal(ours, theirs.numpy())


# --- against the package --------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:The reduce argument")
@pytest.mark.parametrize("kind", KINDS)
def test_scatter_is_theirs(kind):
    a, src = numbers((4, 5), kind), numbers((6, 5), kind)
    index = np.array([[0, 1, 3], [2, 2, 0], [3, 1, 1], [0, 0, 3], [2, 3, 3]])
    both("scatter", a, 0, index, src)
    both("scatter", a, -2, index, 7)
    both("scatter_add", a, 0, index, src)
    both("scatter", a, 0, index, src, reduce="multiply")
    both("scatter", a, 0, index, src, reduce="add")
    both("scatter_add", a[0], 0, index[0], src[0])
    both("scatter_add", a, 0, np.zeros(0, int), src)
    for reduce in ("sum", "prod", "mean", "amax", "amin"):
        for include in (True, False):
            if kind[0] == "i" or reduce != "mean":
                options = {"reduce": reduce, "include_self": include}
                both("scatter_reduce", a, 0, index, src, **options)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_index_functions_are_theirs(kind, dim):
    a, index = numbers((4, 4), kind), np.array([3, 0, 3])
    source = numbers((3, 4), kind) if dim == 0 else numbers((4, 3), kind)
    both("index_add", a, dim, index, source)
    both("index_add", a, dim, index, source, alpha=2)
    both("index_copy", a, dim, index, source)
    both("index_fill", a, dim, np.array([0, -1]), 7)


@pytest.mark.filterwarnings("ignore:index_reduce")
@pytest.mark.parametrize("reduce", ["prod", "amax", "amin", "mean"])
def test_index_reduce_is_theirs(reduce):
    for kind in KINDS if reduce != "mean" else ("i4", "i8"):
        a, index = numbers((4, 2), kind), np.array([3, 0, 3])
        for include in (True, False):
            options = {"reduce": reduce, "include_self": include}
            both("index_reduce", a, 0, index, numbers((3, 2), kind), **options)


@pytest.mark.parametrize("kind", KINDS)
def test_put_is_theirs(kind):
    a = numbers((4, 5), kind)
    pairs = (np.array([0, 3, -1]), np.array([1, 1, 1]))
    for accumulate in (True, False):
        both("index_put", a, pairs, numbers(3, kind), accumulate=accumulate)
        both("index_put", a, pairs[:1], numbers(5, kind), accumulate=accumulate)
        both("index_put", a, (a[:, 0] > 0,), numbers(5, kind), accumulate=accumulate)
        line = np.array([[0, -1], [7, 0]])
        both("put", a, line, numbers((2, 2), kind), accumulate=accumulate)


def test_masks_are_theirs():
    torch = peer("torch")
    a = numbers((3, 4))
    for mask in (RNG.random((3, 4)) < 0.5, RNG.random(4) < 0.5, RNG.random((3, 1)) < 2):
        both("masked_fill", a, mask, 7)
        both("masked_scatter", a, mask, numbers(20))
        theirs = torch.masked_select(tensor(torch, a), tensor(torch, mask))
        np.testing.assert_array_equal(ct.masked_select(a, mask), theirs)
    wide = RNG.random((2, 1)) < 0.5
    theirs = torch.masked_fill(tensor(torch, a[0]), tensor(torch, wide), 3.0)
    np.testing.assert_array_equal(ct.masked_fill(a[0], wide, 3.0), theirs)
    np.testing.assert_array_equal(ct.nonzero(a), torch.nonzero(tensor(torch, a)))
    for ours, place in zip(ct.where(a), torch.where(tensor(torch, a)), strict=True):
        np.testing.assert_array_equal(ours, place)


def test_reads_are_theirs():
    torch = peer("torch")
    a, index = numbers((4, 5)), np.array([[0, 1, 3], [2, 2, 0]])
    calls = [
        ("gather", (0, index)),
        ("gather", (1, index)),
        ("gather", (0, index[:, :0])),
        ("take_along_dim", (index[:, :1], 0)),
        ("take_along_dim", (index,)),
        ("take", (index,)),
        ("take", (np.array([-1]),)),
        ("index_select", (1, index[0])),
        ("index_select", (0, np.array(2))),
        ("count_nonzero", ()),
        ("count_nonzero", (1,)),
    ]
    for name, args in calls:
        given = [tensor(torch, x) for x in args]
        theirs = getattr(torch, name)(tensor(torch, a), *given).numpy()
        ours = getattr(ct, name)(a, *args)
        assert np.shape(ours) == theirs.shape
        np.testing.assert_array_equal(ours, theirs)
    theirs = torch.bincount(tensor(torch, index[0]), minlength=6).numpy()
    np.testing.assert_array_equal(ct.bincount(index[0], minlength=6), theirs)


@pytest.mark.parametrize("reduce", ["sum", "mean", "max", "min", "prod"])
def test_segments_are_theirs(reduce):
    torch = peer("torch")
    data = numbers((2, 6, 3), "f4")
    cases = [
        (data[0], {"lengths": np.array([2, 0, 4])}),
        (data[0], {"lengths": np.array([2, 0, 3]), "unsafe": True}),
        (data[0], {"offsets": np.array([1, 2, 2, 6])}),
        (data, {"lengths": np.array([[2, 0, 4], [1, 1, 4]]), "axis": 1}),
    ]
    for values, options in cases:
        for initial in (None, 2.0):
            given = {key: tensor(torch, x) for key, x in options.items()}
            theirs = torch.segment_reduce(
                tensor(torch, values), reduce, initial=initial, **given
            )
            ours = ct.segment_reduce(values, reduce, initial=initial, **options)
            assert ours.dtype == values.dtype
            np.testing.assert_allclose(ours, theirs, rtol=1e-6)


# --- without it -----------------------------------------------------------------------


def test_an_index_smaller_than_both_uses_its_part():
    a = np.zeros((3, 3))
    ct.scatter_add_(a, 0, [[2, 2]], [[1.0, 2.0, 4.0], [8.0, 8.0, 8.0]])
    assert a.tolist() == [[0, 0, 0], [0, 0, 0], [1, 2, 0]]


def test_means_of_whole_numbers_are_rounded_down():
    a = np.zeros(2, int)
    ret = ct.index_reduce(a, 0, [0, 0], [-1, -2], "mean", include_self=False)
    assert ret.tolist() == [-2, 0]


def test_halves_are_rounded_once():
    ret = ct.index_add(np.zeros(1, "f2"), 0, np.zeros(5000, int), np.ones(5000, "f2"))
    assert ret.tolist() == [5000]


@pytest.mark.parametrize(
    "name, args",
    [
        ("scatter_", (0, [[0, -1]], [[1.0, 1.0]])),
        ("scatter_add_", (0, [[0, 3]], [[1.0, 1.0]])),
        ("scatter_reduce_", (1, [[0, -1]], [[1.0, 1.0]], "sum")),
        ("index_add_", (0, [0, -1], np.ones((2, 3)))),
        ("index_copy_", (0, [0, 3], np.ones((2, 3)))),
        ("index_fill_", (0, [0, -4], 1.0)),
        ("index_put_", (([0, 3],), 1.0)),
        ("put_", ([0, 9], [1.0, 1.0])),
        ("gather", (0, [[0, -1]])),
        ("index_select", (0, [0, -1])),
        ("take", ([9],)),
    ],
)
def test_bad_indices_leave_all_as_it_was(name, args):
    a = np.zeros((3, 3))
    with pytest.raises(IndexError, match=r"index (-1|3|-4|9) is out of bounds"):
        getattr(ct, name)(a, *args)
    assert not a.any()


@pytest.mark.parametrize(
    "name, args, error, words",
    [
        ("scatter_", (0, [0], [1.0]), ValueError, "as many axes"),
        ("scatter_", (0, [[0] * 4], [[1.0] * 4]), ValueError, "no more than input"),
        ("scatter_", (0, [[0] * 3], [[1.0] * 2]), ValueError, "no more than src"),
        ("scatter_", (5, [[0]], [[1.0]]), ValueError, "axis 5"),
        ("scatter_", (0, [[0.5]], [[1.0]]), TypeError, "float"),
        ("scatter_", (0, [[0]], [[1j]]), TypeError, ""),
        ("scatter_reduce_", (0, [[0]], [[1.0]], "?"), ValueError, "unknown"),
        ("index_reduce_", (0, [0], [[1.0] * 3], "sum"), ValueError, "unknown"),
        ("index_add_", (0, [[0]], [[1.0] * 3]), ValueError, "one axis"),
        ("index_add_", (0, [0], [1.0] * 3), ValueError, "source has shape"),
        ("index_fill_", (0, [0], [1.0]), ValueError, "number"),
        ("index_put_", ([[0]], 1.0), None, ""),
        ("index_put_", (3, 1.0), TypeError, "tuple"),
        ("put_", ([0], [1.0, 2.0]), ValueError, "2 values for 1"),
        ("masked_fill_", ([[True]] * 2, 1.0), ValueError, "broadcast"),
        ("masked_fill_", ([1, 0, 0], 1.0), TypeError, "bool"),
        ("masked_fill_", ([True] * 3, [1.0]), ValueError, "number"),
        ("masked_scatter_", (True, [1.0]), ValueError, "needs 9"),
        ("segment_reduce", ("sum",), ValueError, "one of both"),
        ("index_select", (0, [[0]]), ValueError, "one axis"),
    ],
)
def test_bad_calls_are_refused(name, args, error, words):
    a = np.zeros((3, 3))
    if error is None:
        assert getattr(ct, name)(a, *args) is a
        return
    with pytest.raises(error, match=words or "."):
        getattr(ct, name)(a, *args)
    assert not a.any()


@pytest.mark.parametrize(
    "options, words",
    [
        ({"lengths": [2, 2]}, "do not sum"),
        ({"lengths": [-1, 4]}, "negative"),
        ({"lengths": [2**62, 2**62], "unsafe": True}, "longer"),
        ({"offsets": [0, 2, 1]}, "fall"),
        ({"offsets": [0, 9]}, "leave"),
        ({"offsets": [0, 3], "axis": 1}, "axis is 1"),
        ({"lengths": [[1]]}, "lengths has shape"),
    ],
)
def test_bad_segments_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        ct.segment_reduce(np.ones((3, 2)), "sum", **options)


def test_only_arrays_are_updated_in_place():
    for name, args in (("put_", ([0], [1.0])), ("masked_fill_", (True, 1.0))):
        with pytest.raises(TypeError, match="updates an ndarray in place"):
            getattr(ct, name)([1.0, 2.0], *args)
    a = np.zeros(3)
    a.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        ct.index_add_(a, 0, [0], [1.0])


def test_numbers():
    a = np.array(1.0)
    assert ct.scatter_(a, 0, 0, 3.0) is a and a == 3
    assert ct.gather(a, 0, 0) == 3 and ct.index_select(a, 0, 0) == 3
    assert ct.index_add(a, 0, 0, 2.0) == 5 and ct.index_fill(a, 0, 0, 2) == 2
