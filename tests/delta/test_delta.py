"""The delta family against its slow twin, bit by bit.

The twin makes the bytes of a delta from the description of their format, so what is
compared is everything: positions, values, the choice of encoding, checksums.
"""

import copy
import pickle
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pyscatter as ps
from tests.cases import DTYPES, LAYOUTS, WRITABLE_LAYOUTS, rng_for
from tests.reference import delta as slow

CORE = ps._core
LEVELS = CORE.levels()
OPS = ("overwrite", "xor")
ENCODINGS = ("auto", *slow.ENCODINGS)
# Around words of 64 elements, lists of 2,048, chunks of 32,768 and blocks of sums.
SIZES = (0, 1, 5, 63, 64, 65, 127, 128, 129, 1023, 1025, 2047, 2049, 4097)
DTYPE_NAMES = sorted(DTYPES)


def random_bits(rng, dtype, n):
    """Return n elements of any bits whatever; of longdouble all bytes count."""
    return rng.integers(0, 256, n * dtype.itemsize, np.uint8).view(dtype)


def pair(rng, dtype, n, density):
    """Return two arrays of random bits that differ in some elements."""
    dtype = np.dtype(dtype)
    old = random_bits(rng, dtype, n)
    new = old.copy()
    at = np.flatnonzero(rng.random(n) < density)
    new[at] = random_bits(rng, dtype, at.size)
    return old, new


def same_bytes(one, other):
    """Whether two arrays have the same dtype, shape and bytes."""
    return (
        one.dtype == other.dtype
        and one.shape == other.shape
        and one.tobytes() == other.tobytes()
    )


def raw(array):
    """Return the bytes of an array in C order, native."""
    return slow.native(array).tobytes()


# --- bytes ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", DTYPE_NAMES)
def test_every_dtype_has_the_bytes_of_the_twin(name):
    rng = rng_for("bytes", name)
    for n in (0, 3, 70, 300):
        old, new = pair(rng, DTYPES[name], n, 0.2)
        for op in OPS:
            for encoding in ENCODINGS:
                made = ps.delta(old, new, op=op, encoding=encoding)
                expected = slow.wire(old, new, op=op, encoding=encoding)
                assert made.to_bytes() == expected, (n, op, encoding)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("size", [1, 2, 4, 8, 16])
def test_sizes_and_densities(level, size):
    CORE.force_level(level)
    dtype = np.dtype({16: "c16"}.get(size, f"u{size}"))
    rng = rng_for("sizes", size)
    for n in SIZES:
        for density in (0, 0.01, 0.3, 1):
            old, new = pair(rng, dtype, n, density)
            made = ps.delta(old, new)
            assert made.to_bytes() == slow.wire(old, new), (n, density)
            assert same_bytes(made.apply(old, verify="both"), new)


@pytest.mark.parametrize("granularity", slow.GRANULARITIES)
@pytest.mark.parametrize("shape", [(0, 3), (5, 0), (7, 3), (40, 5, 2), (3, 700), (6,)])
def test_granularities(granularity, shape):
    rng = rng_for("granularity", shape)
    for dtype in ("u1", "f4", "c16"):
        old, new = pair(rng, dtype, int(np.prod(shape)), 0.02)
        old, new = old.reshape(shape), new.reshape(shape)
        for op in OPS:
            for encoding in ENCODINGS:
                options = {"granularity": granularity, "op": op, "encoding": encoding}
                made = ps.delta(old, new, **options)
                assert made.to_bytes() == slow.wire(old, new, **options)
                assert same_bytes(made.apply(old), new)
                assert made.granularity == granularity
                assert len(made) == len(made.positions)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_of_what_is_read(layout):
    rng = rng_for("layout", layout)
    for name in DTYPE_NAMES:
        old, new = (x.reshape(6, 11) for x in pair(rng, DTYPES[name], 66, 0.3))
        # Making a layout may copy numbers; what it came to is what is compared.
        before, after = LAYOUTS[layout](old), LAYOUTS[layout](new)
        made = ps.delta(before, after)
        assert made.to_bytes() == slow.wire(before, after)
        assert raw(made.apply(before)) == raw(after)
        assert made.apply(before).flags.c_contiguous


@pytest.mark.parametrize("layout", WRITABLE_LAYOUTS)
@pytest.mark.parametrize("granularity", slow.GRANULARITIES)
def test_layouts_of_what_is_written(layout, granularity):
    rng = rng_for("written", layout)
    for name in DTYPE_NAMES:
        old, new = (x.reshape(6, 11) for x in pair(rng, DTYPES[name], 66, 0.3))
        target = LAYOUTS[layout](old)
        before = slow.native(target).copy()
        goal = np.frombuffer(raw(LAYOUTS[layout](new)), before.dtype).reshape(6, 11)
        for op in OPS:
            made = ps.delta(before, goal, op=op, granularity=granularity)
            place = LAYOUTS[layout](old)
            assert made.apply(place, out=place, verify="both") is place
            assert raw(place) == raw(goal), (name, op)
            other = LAYOUTS[layout](new)
            assert made.apply(target, out=other) is other
            assert raw(other) == raw(goal)


def test_threads_and_levels_make_the_same_bytes():
    rng = rng_for("threads")
    for dtype, n in (("f4", 700_000), ("u1", 2_100_000)):
        for density in (0.001, 0.3):
            old, new = pair(rng, dtype, n, density)
            found = set()
            for level in LEVELS:
                CORE.force_level(level)
                for threads in (1, 3):
                    ps.set_num_threads(threads)
                    made = ps.delta(old, new)
                    found.add(made.to_bytes())
                    assert same_bytes(made.apply(old, verify="both"), new)
            assert len(found) == 1


@st.composite
def arrays(draw):
    """Draw two arrays of one dtype, of any bits, and how a delta is made of them."""
    dtype = DTYPES[draw(st.sampled_from(DTYPE_NAMES))]
    n = draw(st.integers(0, 200))
    old = draw(st.binary(min_size=n * dtype.itemsize, max_size=n * dtype.itemsize))
    new = bytearray(old)
    for at in draw(st.lists(st.integers(0, max(len(new) - 1, 0)), max_size=40)):
        if new:
            new[at] ^= draw(st.integers(1, 255))
    is_integer = dtype.kind in "iu"
    options = {
        "op": draw(st.sampled_from(slow.OPS if is_integer else OPS)),
        "encoding": draw(st.sampled_from(ENCODINGS)),
        "granularity": draw(st.sampled_from(slow.GRANULARITIES)),
    }
    return np.frombuffer(old, dtype), np.frombuffer(bytes(new), dtype), options


@given(arrays())
def test_bits_arrive_as_they_were(case):
    old, new, options = case
    made = ps.delta(old, new, **options)
    assert made.to_bytes() == slow.wire(old, new, **options)
    assert same_bytes(made.apply(old), new)
    target = old.copy()
    made.apply(target, out=target, verify="both")
    assert same_bytes(target, new)
    back = made.invert(old)
    assert same_bytes(back.apply(new, verify="both"), old)
    assert ps.Delta.from_bytes(made.to_bytes()) == made


@given(arrays(), st.data())
@settings(max_examples=60)
def test_composition(case, data):
    old, middle, options = case
    options["encoding"] = "auto"
    new = bytearray(middle.tobytes())
    for at in data.draw(st.lists(st.integers(0, max(len(new) - 1, 0)), max_size=20)):
        if new:
            new[at] ^= data.draw(st.integers(1, 255))
    new = np.frombuffer(bytes(new), old.dtype)
    last = new[::-1].copy()
    one, two, three = (
        ps.delta(a, b, **options)
        for a, b in ((old, middle), (middle, new), (new, last))
    )
    both = one.compose(two)
    assert same_bytes(both.apply(old, verify="both"), new)
    assert ps.Delta.from_bytes(both.to_bytes()) == both
    assert both.compose(three) == one.compose(two.compose(three))
    if options["op"] != "overwrite":
        assert len(one.compose(one.invert())) == 0


# --- what is lossy --------------------------------------------------------------------


@pytest.mark.parametrize("name", DTYPE_NAMES)
@pytest.mark.parametrize("granularity", slow.GRANULARITIES)
def test_selections(name, granularity):
    rng = rng_for("select", name)
    dtype = DTYPES[name]
    shape = (60, 5) if granularity != "block" else (900, 5)
    old, new = pair(rng, dtype, int(np.prod(shape)), 0.1)
    if dtype.kind in "fc" or name == "bf16":  # numbers to tell apart, and others
        old = rng.integers(-9, 9, old.size).astype(dtype)
        new = np.where(rng.random(old.size) < 0.1, old + dtype.type(3), old)
        new = new.astype(dtype)
        new[:3] = np.array([np.nan, np.inf, 1], dtype)
    old, new = old.reshape(shape), new.reshape(shape)
    at = slow.changes(old, new, granularity)
    choices = [{"top_k": k} for k in (0, 1, 4, len(at), 10**6)]
    choices += [{"threshold": t} for t in (0, 2.5, 100, np.inf)]
    choices += [{"threshold": 1, "top_k": 3}, {"threshold": 1e30, "top_k": 3}]
    for choice in choices:
        kept = slow.selected(old, new, at, granularity, **choice)
        for op in OPS:
            made = ps.delta(old, new, granularity=granularity, op=op, **choice)
            np.testing.assert_array_equal(made.positions, kept)
            goal = slow.applied(
                old,
                kept,
                [slow.units_of(new, granularity)[i] for i in kept],
                "overwrite",
                granularity,
            )
            result = made.apply(old, verify="both")
            assert same_bytes(result, goal)
            assert made.checksum_new == slow.checksum(goal)


@pytest.mark.parametrize("count", [63, 64, 65, 66])
def test_selections_of_few_and_of_many(count):
    """Ties go to the lower position, however the least difference is found."""
    old = np.zeros(2 * count, np.int32)
    new = old.copy()
    new[::2] = 1 + np.arange(count) * 7 % 5
    for k in (1, 2, count // 2, count - 1, count):
        order = np.argsort(-new, kind="stable")[:k]
        made = ps.delta(old, new, top_k=k)
        np.testing.assert_array_equal(made.positions, np.sort(order))


def test_a_dense_selection_stores_the_base():
    old = np.arange(100.0)
    new = old + np.arange(100) % 7
    for op in OPS:
        made = ps.delta(old, new, top_k=5, encoding="dense", op=op)
        result = made.apply(old, verify="both")
        assert (result != old).sum() == 5 and len(made) == 100


def test_a_selection_leaves_a_residual():
    """What is left out arrives later, since the base is what was received."""
    rng = rng_for("residual")
    new = rng.standard_normal(500).astype(np.float32)
    received = np.zeros_like(new)
    for _ in range(5):
        ps.delta(received, new, top_k=100).apply(received, out=received)
    assert same_bytes(received, new)


# --- the object -----------------------------------------------------------------------


def test_what_can_be_seen():
    old = np.arange(12.0).reshape(3, 4)
    new = old.copy()
    new[1, 2] = np.nan
    made = ps.delta(old, new)
    assert made.shape == (3, 4) and made.dtype == np.float64
    assert made.base_version is None and made.version is None
    assert made.op == "overwrite" and made.granularity == "element"
    assert made.positions.tolist() == [6] and made.positions.dtype == np.int64
    assert np.isnan(made.values.view(np.float64)).all()
    assert made.values.dtype == np.uint64 and made.values.shape == (1,)
    assert made.checksum_base == slow.checksum(old)
    assert made.checksum_new == slow.checksum(new)
    assert len(made) == 1 and made.nbytes == len(made.to_bytes())
    assert "1 of 12 elements" in repr(made)
    rows = ps.delta(old, new, granularity="row")
    assert rows.values.shape == (1, 4) and "1 of 3 rows" in repr(rows)
    assert ps.delta(old, new, granularity="block").values.shape == (12,)
    pairs = ps.delta(np.zeros(2, complex), np.ones(2, complex))
    assert pairs.values.dtype == "V16" and pairs.values.view(complex).tolist() == [1, 1]


def test_nothing_of_it_can_be_written():
    made = ps.delta(np.zeros(9), np.ones(9))
    for array in (made.values, made.positions):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(ValueError, match="WRITEABLE"):
        made.values.flags.writeable = True
    for name in ("shape", "values", "version"):
        with pytest.raises(AttributeError):
            setattr(made, name, None)


def test_equality_copies_and_pickles():
    rng = rng_for("pickle")
    for name in DTYPE_NAMES:
        old, new = pair(rng, DTYPES[name], 50, 0.2)
        made = ps.delta(old, new).with_versions(3, 4)
        assert (made.base_version, made.version) == (3, 4)
        for twin in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made)):
            assert twin == made and not twin != made
        assert made != ps.delta(old, new)
        assert made == ps.delta(old, new, encoding="runs").with_versions(3, 4)
        assert made != ps.delta(old, new, op="xor").with_versions(3, 4)
        assert made != 3
    with pytest.raises(TypeError, match="unhashable"):
        hash(made)


def test_from_parts():
    rng = rng_for("parts")
    for name in DTYPE_NAMES:
        old, new = pair(rng, DTYPES[name], 90, 0.3)
        for encoding in slow.ENCODINGS:
            made = ps.delta(old, new, encoding=encoding)
            parts = (made.positions, made.values, made.checksum_new, made.checksum_base)
            twin = ps.Delta(made.shape, made.dtype, None, None, encoding, *parts)
            assert twin.to_bytes() == made.to_bytes()
    whole = ps.Delta((3,), "f4", 1, 2, "dense", None, np.float32([1, 2, 3]))
    assert whole.apply(np.zeros(3, "f4")).tolist() == [1, 2, 3]
    assert whole.checksum_new is None


def test_numbers_of_integers_are_added():
    old = np.array([0, 255, 7, 100], np.uint8)
    new = np.array([255, 0, 7, 101], np.uint8)
    made = ps.delta(old, new, op="add", encoding="index32")
    assert made.values.tolist() == [255, 1, 1]
    assert made.apply(old).tolist() == new.tolist()
    assert made.apply(np.zeros(4, np.uint8)).tolist() == [255, 1, 0, 1]


# --- refusals -------------------------------------------------------------------------


BAD_PAIRS = {
    "shape": (np.zeros(3), np.zeros(4), ValueError, "new has shape"),
    "axes": (np.zeros((3, 1)), np.zeros(3), ValueError, "new has shape"),
    "dtype": (np.zeros(3), np.zeros(3, "f4"), ValueError, "new has dtype float32"),
    "unit": (np.zeros(3, "M8[s]"), np.zeros(3, "M8[ms]"), ValueError, "dtype"),
    "object": (np.zeros(3, object), np.zeros(3, object), TypeError, "dtype object"),
    "text": (np.zeros(3, "S2"), np.zeros(3, "S2"), TypeError, "dtype"),
    "record": (np.zeros(3, "i4,f4"), np.zeros(3, "i4,f4"), TypeError, "dtype"),
    "masked": (np.ma.zeros(3), np.zeros(3), TypeError, "masked"),
    "masked new": (np.zeros(3), np.ma.zeros(3), TypeError, "masked"),
}


@pytest.mark.parametrize("case", BAD_PAIRS)
def test_arrays_that_are_refused(case):
    old, new, error, message = BAD_PAIRS[case]
    with pytest.raises(error, match=message):
        ps.delta(old, new)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"granularity": "column"}, ValueError),
        ({"granularity": 3}, ValueError),
        ({"op": "sub"}, ValueError),
        ({"op": "add"}, ValueError),  # of floats
        ({"encoding": "zip"}, ValueError),
        ({"top_k": -1}, ValueError),
        ({"top_k": 1.0}, TypeError),
        ({"top_k": True}, TypeError),
        ({"threshold": -1}, ValueError),
        ({"threshold": np.nan}, ValueError),
        ({"threshold": "1"}, TypeError),
        ({"more": 1}, TypeError),
    ],
)
def test_options_that_are_refused(options, error):
    with pytest.raises(error):
        ps.delta(np.zeros(3), np.ones(3), **options)


def test_an_array_without_axes():
    made = ps.delta(np.float32(1), np.float32(2))
    assert made.shape == () and made.apply(np.float32(1)).shape == ()
    with pytest.raises(ValueError, match="no rows"):
        ps.delta(1.0, 2.0, granularity="row")


BAD_TARGETS = {
    "shape": (lambda: np.zeros(4), {}, ValueError),
    "dtype": (lambda: np.zeros(9, "i8"), {}, ValueError),
    "verify": (lambda: np.zeros(9), {"verify": "all"}, ValueError),
    "base": (lambda: np.full(9, 2.0), {"verify": "base"}, ValueError),
    "result": (lambda: np.arange(9.0), {"verify": "new"}, ValueError),
    "both": (lambda: np.full(9, 2.0), {"verify": "both"}, ValueError),
    "version": (lambda: np.zeros(9), {"base_version": 8}, ValueError),
    "no version": (lambda: np.zeros(9), {"base_version": 1.5}, TypeError),
}


@pytest.mark.parametrize("case", BAD_TARGETS)
@pytest.mark.parametrize("op", OPS)
def test_targets_that_are_refused_stay_as_they_were(case, op):
    make, options, error = BAD_TARGETS[case]
    old = np.zeros(9)
    made = ps.delta(old, old + (np.arange(9) > 5), op=op).with_versions(7, 8)
    target = make()
    before = target.copy()
    for out in (target, None, np.full(9, 5.0)):
        kept = None if out is None else out.copy()
        with pytest.raises(error):
            made.apply(target, out=out, **options)
        assert same_bytes(target, before)
        assert out is None or same_bytes(out, kept)
    assert made.apply(old, base_version=7).sum() == 3


def test_places_for_results_that_are_refused():
    made = ps.delta(np.zeros(9), np.ones(9))
    locked = np.zeros(9)
    locked.flags.writeable = False
    shared = np.broadcast_to(np.zeros(1), 9)
    for out, error in (
        (locked, ValueError),
        (shared, ValueError),
        (np.zeros(8), ValueError),
        (np.zeros(9, "f4"), ValueError),
        ([0.0] * 9, TypeError),
        (np.ma.zeros(9), TypeError),
    ):
        with pytest.raises(error):
            made.apply(np.zeros(9), out=out)


def test_a_target_that_overlaps_the_place():
    memory = np.arange(20.0)
    made = ps.delta(np.zeros(15), np.r_[np.zeros(14), 9.0], op="xor")
    expected = made.apply(memory[:15])
    made.apply(memory[:15], out=memory[5:])
    assert same_bytes(memory[5:], expected)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"new": np.zeros((3, 3))}, "shapes"),
        ({"new": np.zeros(9, "f4")}, "dtypes"),
        ({"granularity": "row"}, "granularity"),
        ({"op": "xor"}, "op"),
    ],
)
def test_pairs_that_do_not_compose(change, message):
    one = ps.delta(np.zeros(9), np.ones(9))
    new = change.pop("new", np.ones(9))
    with pytest.raises(ValueError, match=message):
        one.compose(ps.delta(np.ones_like(new), new + 1, **change))


def test_chains_that_do_not_meet():
    a, b, c = (np.full(9, float(k)) for k in range(3))
    one, two = ps.delta(a, b).with_versions(1, 2), ps.delta(b, c).with_versions(2, 3)
    both = one.compose(two)
    assert (both.base_version, both.version) == (1, 3)
    with pytest.raises(ValueError, match="version"):
        one.compose(two.with_versions(3, 4))
    with pytest.raises(ValueError, match="made from"):
        one.compose(ps.delta(a, c))
    with pytest.raises(TypeError, match="expected a Delta"):
        one.compose(3)
    with pytest.raises(ValueError, match=r"invert\(old\)"):
        one.invert()


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"shape": (-1,)}, ValueError),
        ({"shape": (2**40, 2**40)}, ValueError),
        ({"dtype": object}, TypeError),
        ({"positions": [1, 0]}, ValueError),
        ({"positions": [1, 1]}, ValueError),
        ({"positions": [1, 9]}, IndexError),
        ({"positions": [-1, 3]}, IndexError),
        ({"positions": [0.5, 1]}, TypeError),
        ({"positions": [[0, 1]]}, TypeError),
        ({"positions": [1, 2, 3]}, ValueError),
        ({"positions": None}, ValueError),
        ({"values": np.zeros(3)}, ValueError),
        ({"values": np.zeros(4, "f4")}, ValueError),
        ({"encoding": "dense"}, ValueError),
        ({"encoding": "gzip"}, ValueError),
        ({"version": 1.5}, TypeError),
        ({"version": 2**63}, OverflowError),
        ({"checksum_new": -1}, OverflowError),
        ({"op": "add"}, ValueError),
    ],
)
def test_parts_that_are_refused(change, error):
    parts = {
        "shape": (9,),
        "dtype": "f8",
        "base_version": None,
        "version": None,
        "encoding": "auto",
        "positions": [1, 2],
        "values": np.ones(2),
    }
    ps.Delta(**parts)
    with pytest.raises(error):
        ps.Delta(**parts | change)


@pytest.mark.alone
def test_another_thread_writes_meanwhile():
    """Numbers may be of any moment; what was made can be applied, and says so."""
    rng = rng_for("writer")
    old, new = pair(rng, "u4", 300_000, 0.02)
    stop = threading.Event()

    def write():
        while not stop.is_set():
            new[rng.integers(0, new.size, 1000)] += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(40):
            made = ps.delta(old, new)
            assert len(made.positions) == len(made.values) == len(made)
            assert ps.Delta.from_bytes(made.to_bytes()) == made
            result = made.apply(old)
            assert np.array_equal(result[made.positions], made.values)
    finally:
        stop.set()
        writer.join()


def test_differences_with_nat_are_above_any_threshold():
    old, new = np.array([[1, 2], ["NaT", 5]], "M8[s]")
    assert ps.delta(old, new, threshold=1e30).positions.tolist() == [0]


def test_parts_of_shapes_at_the_border():
    values = np.zeros(1, np.uint8)
    large = ps.Delta((2**63 - 1,), "u1", None, None, "auto", [5], values)
    assert ps.Delta.from_bytes(large.to_bytes()) == large
    with pytest.raises(MemoryError):
        ps.Delta((2**63 - 1,), "u1", None, None, "bitmap", [5], values)
    with pytest.raises(ValueError, match="does not fit"):
        ps.Delta((0, 2**40, 2**40), "u1", None, None, "auto", [], values[:0])


def test_values_are_no_objects():
    with pytest.raises(TypeError, match="not objects"):
        ps.Delta((3,), "i8", None, None, "auto", [1], np.array([None]))
