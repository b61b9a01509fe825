"""The keys family against its slow twin: every dtype, every way, every option."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pyscatter as ps
from pyscatter import _core
from tests import reference
from tests.cases import DTYPES, random_values, rng_for

WAYS = ("near", "hash", "spread", "second", "sort")
MISSING = ("group", "drop", "raise")
STRINGS = ("S1", "S5", "S8", "S9", "S21", "U1", "U2", "U3", "U12", ">U12", ">U2")
RECORDS = {
    "pair": np.dtype([("n", "i2"), ("x", "f4")]),
    "padded": np.dtype([("n", "u1"), ("x", ">f8")], align=True),
    "nested": np.dtype([("a", [("b", "S3"), ("c", "M8[D]")]), ("d", "f2", (2,))]),
    "strings": np.dtype([("s", "U5"), ("n", "i8")]),
}


@pytest.fixture(params=[None, *WAYS])
def way(request):
    """Force a way, and three stretches of the entries."""
    before = _core.force_keys(request.param, 0 if request.param is None else 3)
    yield request.param
    _core.force_keys(*before)


def same(actual, expected):
    """Compare results, of which some are tuples."""
    if isinstance(expected, tuple):
        assert isinstance(actual, tuple) and len(actual) == len(expected)
        for one, other in zip(actual, expected, strict=True):
            same(one, other)
        return
    assert type(actual) is np.ndarray
    assert actual.dtype == expected.dtype and actual.shape == expected.shape
    assert actual.flags.c_contiguous and actual.dtype.isnative
    if actual.dtype.kind == "O":
        assert [repr(x) for x in actual.ravel()] == [repr(x) for x in expected.ravel()]
    elif actual.dtype.names:
        for name in actual.dtype.names:
            same(np.array(actual[name]), np.array(expected[name]))
    elif actual.dtype.char in "gG":
        assert [repr(x) for x in actual.ravel()] == [repr(x) for x in expected.ravel()]
    else:
        assert actual.tobytes() == expected.tobytes()


def outcome(function, *args, **options):
    try:
        return function(*args, **options)
    except (TypeError, ValueError) as error:
        return type(error)


def agree(function, twin, *args, **options):
    actual = outcome(function, *args, **options)
    expected = outcome(twin, *args, **options)
    if isinstance(expected, type):
        assert actual is expected, (actual, expected)
    else:
        assert not isinstance(actual, type), actual
        same(actual, expected)


def factorizes(*keys, **options):
    everything = {"return_first": True, "return_counts": True}
    for sort in (True, False):
        agree(
            ps.factorize,
            reference.factorize,
            *keys,
            sort=sort,
            **everything,
            **options,
        )


def keys_of(name, n, spread, rng):
    """Keys of a dtype, NaN and NaT and zeros of both signs among them."""
    if name in DTYPES:
        dtype = DTYPES[name]
        some = random_values(rng, dtype, max(1, min(n, spread)))
        return some[rng.integers(0, len(some), n)]
    return rng.integers(0, spread, n).astype(name)


# ---------------------------------------------------------------- one array


@pytest.mark.parametrize("name", [*DTYPES, *STRINGS])
def test_as_the_twin(name, way):
    rng = rng_for("keys", name)
    for n, spread in ((0, 1), (1, 1), (10, 3), (300, 12), (300, 400)):
        keys = keys_of(name, n, spread, rng)
        for missing in MISSING:
            factorizes(keys, missing=missing)


@pytest.mark.parametrize("name", [*DTYPES, "S9", "U3"])
def test_layouts_and_byte_orders(name):
    rng = rng_for("layouts", name)
    keys = keys_of(name, 96, 9, rng).reshape(4, 6, 4)
    swapped = keys.astype(keys.dtype.newbyteorder()) if name != "bf16" else keys
    flat = np.zeros(96 * keys.itemsize + 1, np.uint8)
    unaligned = flat[1:].view(keys.dtype)
    unaligned[...] = keys.ravel()
    for view in (
        keys.T,
        keys[:, ::-1, ::2],
        swapped,
        swapped[::-1, 1:],
        unaligned,
        np.broadcast_to(keys[:, :1], (4, 5, 4)),
        np.broadcast_to(keys[:1, :1, :1], (3, 50, 2)),
        keys[0, 0, 0],
    ):
        factorizes(view)


@pytest.mark.parametrize("name", RECORDS)
def test_records(name, way):
    rng = rng_for("records", name)
    dtype = RECORDS[name]
    keys = np.zeros(200, dtype)
    fill_record(keys, rng)
    for missing in MISSING:
        factorizes(keys, missing=missing)
    factorizes(keys[::-3].reshape(-1, 1), missing="drop")


def fill_record(keys, rng):
    for name in keys.dtype.names:
        field = keys[name]
        if field.dtype.names:
            fill_record(field, rng)
            continue
        values = rng.integers(-2, 3, field.shape)
        if field.dtype.kind == "f":
            odd = rng.choice([0.0, -0.0, np.nan, 1.5], field.shape)
            values = np.where(rng.random(field.shape) < 0.5, odd, values)
        field[...] = values.astype(field.dtype)


def test_records_without_fields_and_items_without_bytes():
    for keys in (
        np.zeros(4, np.dtype([])),
        np.zeros((2, 3), "V0"),
        np.empty(3, np.dtype([("s", "U0")])),
    ):
        ids, uniques, counts = ps.factorize(keys, return_counts=True)
        assert ids.shape == keys.shape and not ids.any()
        assert uniques.shape == (1,) and uniques.dtype == keys.dtype
        assert counts.tolist() == [keys.size]


def test_void_items_are_told_apart_by_all_bytes(way):
    keys = np.array([b"a\0", b"a", b"ab", b"a\0"], "S2").view("V2")
    ids, uniques = ps.factorize(keys)
    assert ids.tolist() == [0, 0, 1, 0] and len(uniques) == 2
    wide = np.frombuffer(bytes(range(60)) * 2, "V20")
    assert ps.factorize(wide)[0].tolist() == [0, 1, 2, 0, 1, 2]


def test_complex_long_doubles():
    a = np.array([1 + 2j, np.nan, complex(1, np.nan), 1 + 2j, -1, -0.0], np.clongdouble)
    ids, uniques = ps.factorize(a)
    assert ids.tolist() == [2, 3, 3, 2, 0, 1] and uniques.dtype == a.dtype
    assert ps.factorize(a, missing="drop")[0].tolist() == [2, -1, -1, 2, 0, 1]


# ---------------------------------------------------------------- meaning


def test_equal_numbers_are_one_key_and_the_first_is_kept():
    ids, uniques = ps.factorize([0.0, -0.0, 1.0, -0.0])
    assert ids.tolist() == [0, 0, 1, 0]
    assert not np.signbit(uniques[0]) and np.signbit(ps.factorize([-0.0, 0.0])[1][0])
    payloads = np.array([0x7FF8000000000001, 0xFFF0000000000123], "u8").view("f8")
    ids, uniques = ps.factorize(payloads)
    assert ids.tolist() == [0, 0]
    assert uniques.view("u8").tolist() == [0x7FF8000000000001]


def test_several_keys_are_lexicographic_and_missing_where_any_is():
    one, other = [2, 1, 1, 2, 1], [0.5, np.nan, 0.5, 0.5, np.nan]
    ids, (a, b) = ps.factorize(one, other)
    assert ids.tolist() == [2, 1, 0, 2, 1]
    assert a.tolist() == [1, 1, 2] and np.array_equal(
        b, [0.5, np.nan, 0.5], equal_nan=True
    )
    ids, (a, b) = ps.factorize(one, other, missing="drop")
    assert ids.tolist() == [1, -1, 0, 1, -1] and a.tolist() == [1, 2]
    with pytest.raises(ValueError, match="missing at position 1 of 5"):
        ps.factorize(one, other, missing="raise")


@pytest.mark.parametrize("missing", MISSING)
def test_many_keys(way, missing):
    rng = rng_for("many", missing)
    columns = [
        rng.integers(0, 4, 200),
        rng.choice([0.5, -0.0, 0.0, np.nan], 200),
        rng.integers(0, 3, 200).astype("U3"),
        rng.integers(0, 3, 200).astype("S12"),
        rng.integers(0, 2, 200).astype("M8[D]"),
        rng.choice(np.array(["x", None, "y"], object), 200),
    ]
    for k in range(1, 7):
        factorizes(*columns[:k], missing=missing)
    factorizes(*(c.reshape(20, 10)[:, ::2] for c in columns[:4]), missing=missing)


def test_lists_scalars_and_no_entries():
    assert ps.factorize("fig")[0].shape == ()
    assert ps.factorize([[1, 2], [2, 1]])[0].tolist() == [[0, 1], [1, 0]]
    ids, uniques = ps.factorize(np.zeros((0, 3), "U4"))
    assert ids.shape == (0, 3) and uniques.shape == (0,) and uniques.dtype == "U4"
    ids, (a, b) = ps.factorize([], np.zeros(0, "M8[s]"))
    assert len(a) == len(b) == 0 and b.dtype == "M8[s]"


# ---------------------------------------------------------------- objects


def test_objects():
    keys = np.array(["b", None, "a", np.nan, "b", None, 3.5 * np.nan], object)
    factorizes(keys)
    for missing in ("drop", "raise"):
        factorizes(keys, missing=missing)
    ids, uniques = ps.factorize(keys)
    assert ids.tolist() == [1, 3, 0, 2, 1, 3, 2]
    mixed = np.array([1, "a", 1.0, (1, 2), True], object)
    ids, uniques = ps.factorize(mixed, sort=False)
    assert ids.tolist() == [0, 1, 0, 2, 0] and uniques[0] is mixed[0]
    with pytest.raises(TypeError, match="sort=True needs keys that < compares"):
        ps.factorize(mixed)
    with pytest.raises(TypeError, match="unhashable"):
        ps.factorize(np.array([[], {}], object), sort=False)


def test_objects_keep_their_references():
    import sys

    marker = object()
    keys = np.array([marker, None, marker], object)
    before = sys.getrefcount(marker)
    for _ in range(5):
        ps.factorize(keys, sort=False, return_first=True)
    assert sys.getrefcount(marker) == before


class Bad:
    """An object whose comparison does something."""

    def __init__(self, action):
        self.action = action

    def __hash__(self):
        return 1

    def __eq__(self, other):
        self.action()
        return False

    def __lt__(self, other):
        self.action()
        return False


def fail():
    raise RuntimeError("no")


def test_objects_whose_methods_raise():
    keys = np.array([Bad(fail), Bad(fail)], object)
    for sort in (False, True):
        with pytest.raises(RuntimeError, match="no"):
            ps.factorize(keys, sort=sort)
    broken = type("Broken", (), {"__hash__": lambda self: fail()})
    with pytest.raises(RuntimeError, match="no"):
        ps.factorize(np.array([broken()], object))


def test_objects_whose_methods_change_the_array():
    for change in ("fill", "resize"):
        keys = np.empty(60, object)

        def act(keys=keys, change=change):
            if change == "fill":
                keys[:] = None
            elif len(keys) == 60:
                keys.resize(1, refcheck=False)

        keys[:] = [Bad(act) for _ in range(60)]
        try:
            ids, uniques = ps.factorize(keys, sort=False)
        except RuntimeError as error:
            assert "changed" in str(error)
        else:
            assert ids.max() < len(uniques)


def test_objects_that_take_the_memory_of_another_key():
    other = np.arange(20000.0)

    def act():
        if len(other) > 1:
            other.resize(1, refcheck=False)

    keys = np.empty(20000, object)
    keys[:] = [Bad(act)] * 2 + [0] * 19998
    keys[1] = Bad(act)
    with pytest.raises(RuntimeError, match="changed"):
        ps.factorize(keys, other, sort=False)


def test_string_dtype():
    dtype = np.dtypes.StringDType(na_object=None)
    keys = np.array(["pear", None, "a" * 50, "pear", "fig"], dtype)
    ids, uniques = ps.factorize(keys)
    assert ids.tolist() == [2, 3, 0, 2, 1] and uniques.dtype == dtype
    assert uniques[:3].tolist() == ["a" * 50, "fig", "pear"] and uniques[3] is None
    assert ps.factorize(keys, missing="drop")[0].tolist() == [2, -1, 0, 2, 1]
    plain = np.array(["b", "a", "b"], np.dtypes.StringDType())
    assert ps.factorize(plain[::-1])[1].tolist() == ["a", "b"]


# ---------------------------------------------------------------- refusals


def test_what_is_refused():
    with pytest.raises(TypeError, match="at least one array of keys"):
        ps.factorize()
    with pytest.raises(ValueError, match=r"shapes \(2,\) and \(3,\)"):
        ps.factorize([1, 2], [1, 2, 3])
    with pytest.raises(TypeError, match="masked"):
        ps.factorize(np.ma.array([1, 2], mask=[0, 1]))
    with pytest.raises(ValueError, match="'group', 'drop' or 'raise', got 'keep'"):
        ps.factorize([1], missing="keep")
    with pytest.raises(TypeError, match="unexpected keyword argument 'order'"):
        ps.factorize([1], order="C")
    with pytest.raises(TypeError, match="keys are None"):
        ps.group_reduce(np.arange(3), None, op="count")
    with pytest.raises(TypeError, match="values and at least one array"):
        ps.group_reduce([1.0])
    with pytest.raises(TypeError, match="unexpected keyword argument 'ids'"):
        ps.group_reduce([1.0], [1], ids=[0])
    many = np.dtype([("a", "u1", (5000,))])
    with pytest.raises(ValueError, match="more than 4096 fields"):
        ps.factorize(np.zeros(1, many))


# ---------------------------------------------------------------- groups


OPTIONS = (
    {},
    {"op": "mean"},
    {"op": ("max", "count", "std")},
    {"op": "median", "missing": "group"},
    {"weights": np.linspace(0, 1, 60)},
    {"where": np.arange(60) % 3 > 0},
    {"op": "max", "return_arg": True, "return_counts": True},
    {"sort": False, "op": "first"},
    {"dtype": np.float32, "skipna": True},
    {"op": "quantile", "q": [0.25, 0.5]},
)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_groups_as_the_twin(options, way):
    rng = rng_for("groups", sorted(options))
    values = np.where(rng.random(60) < 0.1, np.nan, rng.standard_normal(60))
    name = rng.choice(np.array(["a", "bb", "c"]), 60)
    x = rng.choice([0.5, np.nan, 1.5], 60)
    for keys in ((name,), (x,), (name, x)):
        agree(ps.group_reduce, reference.group_reduce, values, *keys, **options)
    both = (values, np.arange(60))
    if "weights" not in options and "dtype" not in options:
        agree(ps.group_reduce, reference.group_reduce, both, name, **options)


def test_groups_of_rows_axes_and_masks_of_elements():
    rng = rng_for("rows")
    rows, names = rng.standard_normal((40, 3)), rng.integers(0, 5, 40).astype("S2")
    agree(ps.group_reduce, reference.group_reduce, rows, names)
    mask = rng.random((40, 3)) < 0.3
    agree(ps.group_reduce, reference.group_reduce, rows, names, where=mask)
    agree(
        ps.group_reduce,
        reference.group_reduce,
        rows.T,
        names,
        axis=1,
        where=mask.T,
    )
    two = names.reshape(8, 5)
    agree(ps.group_reduce, reference.group_reduce, rows.reshape(8, 5, 3), two)
    agree(
        ps.group_reduce,
        reference.group_reduce,
        rows.reshape(8, 5, 3),
        two,
        where=mask[:, 0].reshape(8, 5),
    )
    for where in (mask[:5], mask[0], mask[:, :, None]):
        with pytest.raises(ValueError, match="where.? has shape"):
            ps.group_reduce(rows, names, where=where)


def test_groups_into_arrays():
    uniques, result = ps.group_reduce(None, ["b", "a", "b"], op="count")
    assert uniques.tolist() == ["a", "b"] and result.tolist() == [1, 2]
    out = np.empty(2)
    assert ps.group_reduce([1.0, 2.0, 4.0], ["b", "a", "b"], out=out)[1] is out
    assert out.tolist() == [2, 5]
    outs = np.empty(2), np.empty(2, int)
    values = [1.0, 2.0, 4.0], [1, 2, 3]
    result = ps.group_reduce(values, ["b", "a", "b"], out=outs)[1]
    assert result[0] is outs[0] and outs[1].tolist() == [2, 4]
    with pytest.raises(TypeError, match="tuple of 2"):
        ps.group_reduce(values, ["b", "a", "b"], out=out)


def test_left_out_entries_make_no_key():
    uniques, total = ps.group_reduce([1, 2, 3], [5, 6, 5], where=[True, False, True])
    assert uniques.tolist() == [5] and total.tolist() == [4]
    uniques, total = ps.group_reduce([1, 2, 3], [5, 6, 5], where=[False] * 3)
    assert len(uniques) == len(total) == 0


# ---------------------------------------------------------------- properties


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-4, 4), max_size=60),
    st.sampled_from(["i8", "f8", "c16", "U20", "S20", "m8[s]", "O"]),
    st.sampled_from([None, *WAYS]),
    st.integers(0, 4),
)
def test_uniques_of_ids_are_the_keys(numbers, dtype, forced, parts):
    keys = np.array(numbers, "i8").astype(dtype)
    before = _core.force_keys(forced, parts)
    try:
        for sort in (True, False):
            ids, uniques, first, counts = ps.factorize(
                keys, sort=sort, return_first=True, return_counts=True
            )
            restored = uniques[ids]
            if keys.dtype.kind == "m":
                restored, keys = restored.view("i8"), keys.view("i8")
            assert (restored == keys).all()
            assert (counts == np.bincount(ids, minlength=len(uniques))).all()
            assert (ids[first] == np.arange(len(uniques))).all()
            assert sort or (np.diff(first) > 0).all()
            same(ps.factorize(keys, sort=sort)[0], ids)
    finally:
        _core.force_keys(*before)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("outlier", [None, 50_000, -(10**12), 2**63 - 1])
def test_a_range_that_was_guessed_is_checked(outlier, threads):
    n = 150_000
    keys = rng_for("guess").integers(0, 100, n)
    if outlier is not None:
        keys[n // 2 + 7] = outlier
    mask = np.arange(n) % 5 > 0
    with ps.num_threads(threads):
        for dtype in ("i8", "M8[s]", "f8"):
            some = keys.astype(dtype)
            ids, uniques, first = ps.factorize(some, return_first=True)
            expected = np.unique(some, return_index=True, return_inverse=True)
            assert (uniques == expected[0]).all() and (first == expected[1]).all()
            assert (ids == expected[2]).all()
        pair, (a, b) = ps.factorize(keys, keys % 7)
        assert (pair == np.unique(keys, return_inverse=True)[1]).all()
        assert (b == a % 7).all()
        groups, count = ps.group_reduce(None, keys, op="count", where=mask)
        expected = np.unique(keys[mask], return_counts=True)
        assert (groups == expected[0]).all() and (count == expected[1]).all()


@pytest.mark.parametrize("dtype", ["i8", "u8", "i4", "i1"])
def test_ranges_at_the_limits_of_a_dtype(dtype):
    limits = np.iinfo(dtype)
    steps = rng_for("limits", dtype).integers(0, 50, 20_000).astype(dtype)
    for keys in (limits.min + steps, limits.max - steps):
        keys = keys.astype(dtype)
        ids, uniques = ps.factorize(keys)
        expected = np.unique(keys, return_inverse=True)
        assert (uniques == expected[0]).all() and (ids == expected[1]).all()


@pytest.mark.parametrize("dtype", ["U2", "U9", "U20", "U70", "S9", "S30", "S70", "V9"])
def test_many_strings_are_in_order(dtype):
    """Enough for every way to sort them: letters, wide characters, zeros within."""
    rng = rng_for("strings", dtype)
    codes = rng.choice(np.array([0, 65, 66, 200, 255]), (1500, 70))
    codes[:, 1:40:3] = 65
    keys = codes.astype("u4").view("U70")[:, 0]
    if dtype[0] != "U":
        keys = codes.astype("u1").view("S70")[:, 0]
    keys = keys.astype(dtype.replace("V", "S")).view(dtype)
    for some in (keys, keys[::-1]):
        expected = np.unique(some.view(dtype.replace("V", "S")), return_inverse=True)
        ids, uniques = ps.factorize(some)
        assert (uniques.view(expected[0].dtype) == expected[0]).all()
        assert (ids == expected[1]).all()
    if dtype[0] == "U":
        wide = keys.copy()
        wide[7] = "\u0416" + str(wide[7])[1:]
        expected = np.unique(wide, return_inverse=True)
        assert (ps.factorize(wide)[0] == expected[1]).all()
        assert ps.factorize(wide)[1].tolist() == expected[0].tolist()


@pytest.mark.parametrize("place", [0, 1, 2501, 4999])
@pytest.mark.parametrize("missing", ["group", "drop"])
def test_a_wide_character_in_short_text(place, missing, way):
    keys = rng_for("short").integers(0, 3000, 5000).astype("U8")
    keys[place] = "\u0416\U0001f600a"
    ids, uniques = ps.factorize(keys, missing=missing)
    expected = np.unique(keys, return_inverse=True)
    assert (uniques == expected[0]).all() and (ids == expected[1]).all()
    first = ps.factorize(keys, sort=False, return_first=True)[2]
    assert (np.diff(first) > 0).all() and len(first) == len(uniques)
    pair = ps.factorize(keys, keys.astype("U9"))[0]
    assert (pair == ids).all()


@pytest.mark.parametrize("kind", "SU")
@pytest.mark.parametrize("order", "<>")
def test_strings_without_characters(kind, order):
    """NumPy gives such a string one character, which is none of another's memory."""
    for _ in range(20):
        np.full(8, 0x41414141)  # what lies about
        keys = np.zeros(3, [("key", f"{order}{kind}0"), ("other", "i4")])["key"]
        assert keys.itemsize == 0
        ids, uniques = ps.factorize(keys)
        assert ids.tolist() == [0, 0, 0]
        assert not any(uniques.tobytes())


@pytest.mark.parametrize("sort", [True, False])
def test_records_become_native(sort):
    fields = [("number", ">i2"), ("float", ">f4")]
    for dtype in (np.dtype(fields, align=True), np.dtype([*fields, ("any", "O")])):
        keys = np.zeros(3, dtype)
        keys["number"] = 2, 5, 2
        uniques = ps.factorize(keys, sort=sort)[1]
        assert uniques.dtype == dtype.newbyteorder("=")
        assert uniques.dtype["number"].isnative
        assert uniques["number"].tolist() == [2, 5]
        if not dtype.hasobject:
            zeros = np.zeros(2, uniques.dtype)
            zeros["number"] = 2, 5
            assert uniques.tobytes() == zeros.tobytes()
