"""Targets of both families: out=, in place, overlap, read-only memory, warnings.

A target that shares memory with an input gives what copies would have given, one whose
elements share bytes is refused, and inputs are never written to.
"""

import warnings

import numpy as np
import pytest

import pyscatter as ps
from tests import reference
from tests.cases import (
    FORMS,
    LAYOUTS,
    WRITABLE_LAYOUTS,
    assert_fresh,
    assert_same,
    drawer,
    random_values,
    rng_for,
    snapshot,
)

LIBRARIES = [pytest.param(ps, id="pyscatter"), pytest.param(reference, id="reference")]


def function(family, stem):
    """Return pyscatter's function of a family by its stem."""
    return getattr(ps, family + stem)


# --- out= -----------------------------------------------------------------------------


def test_without_out_the_target_stays():
    a = np.zeros(3)
    result = ps.scatter(a, [1], 5.0)
    assert_fresh(result, a)
    assert result.tolist() == [0, 5, 0] and not a.any()


def test_out_is_a_updates_in_place():
    a = np.zeros(3)
    assert ps.scatter(a, [1], 5.0, out=a) is a
    assert a.tolist() == [0, 5, 0]


def test_another_out_receives_a_first():
    a, out = np.array([1, 2, 3]), np.full(3, 99)
    assert ps.scatter(a, [1], 5, out=out) is out
    assert out.tolist() == [1, 5, 3] and a.tolist() == [1, 2, 3]


@pytest.mark.parametrize("layout", WRITABLE_LAYOUTS)
@pytest.mark.parametrize("form", FORMS)
def test_another_out_of_any_layout(form, layout):
    rng = rng_for("out", form, layout)
    form = FORMS[form]
    a, values = rng.random(form.shape), rng.random(form.values)
    index = form.index(drawer(rng))
    out = LAYOUTS[layout](np.full(form.shape, 7.0))
    scatter, gather = function("scatter", form.stem), function("gather", form.stem)
    expected = scatter(a, index, values, op="add", **form.options)
    assert scatter(a, index, values, op="add", out=out, **form.options) is out
    assert_same(np.array(out, np.float64), expected)

    taken = LAYOUTS[layout](np.full(form.values, 7.0))
    assert gather(a, index, out=taken, **form.options) is taken
    assert_same(np.array(taken, np.float64), gather(a, index, **form.options))


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_dtype_of_out_counts(library):
    a, out = np.array([1, 2, 3], np.int16), np.zeros(3, np.float32)
    library.scatter(a, [0, 0], 0.25, op="add", out=out)
    assert out.tolist() == [1.5, 2, 3]
    narrow = np.zeros(3, np.int8)
    library.scatter(a, [2], 100, op="add", out=narrow)
    assert narrow.tolist() == [1, 2, 103]
    with pytest.raises(OverflowError):
        library.scatter(a, [2], 200, op="add", out=narrow)
    with pytest.raises(TypeError):
        library.scatter(np.zeros(3), [0], 1.0, out=narrow)
    assert narrow.tolist() == [1, 2, 103]


def test_a_subclass_that_is_plain_memory_is_a_target(tmp_path):
    file = np.memmap(tmp_path / "a.bin", np.float32, "w+", shape=(4,))
    assert ps.scatter(file, [1, 1], 2.0, op="add", out=file) is file
    ps.add_at(file, [3], 1.0)
    assert file.tolist() == [0, 4, 0, 1]
    assert type(ps.scatter(file, [0], 1.0)) is np.ndarray
    assert type(ps.gather(file, [0])) is np.ndarray


class Willful(np.ndarray):
    """A subclass whose own code nothing may run: its memory is all there is to it."""

    is_armed = False

    def _refuse(self, *args, **kwargs):
        raise AssertionError("code of a subclass was run")

    def __array_finalize__(self, other):
        assert not Willful.is_armed, "a subclass was made"

    __array_function__ = __array_ufunc__ = __array_wrap__ = _refuse
    __getitem__ = __setitem__ = __iter__ = __len__ = __bool__ = _refuse
    all = any = argmax = astype = copy = fill = flatten = max = min = nonzero = _refuse
    ravel = repeat = reshape = resize = squeeze = sum = swapaxes = take = _refuse
    tolist = transpose = view = _refuse


SUBCLASSES = {
    "recarray": np.recarray,
    "matrix": np.matrix,  # makes two axes of whatever is taken from it
    "willful": Willful,
}
ROWS = np.array([[0], [2]])
PLACES = np.array([[0, 1], [1, 0], [2, 0]])
FLAT = np.array([[0, 4, 5]])
MASK = np.array([[True, False], [False, True], [True, True]])
NEW = np.array([[7, 8]])
SIX = np.arange(6).reshape(3, 2)

# Calls with an array `a` of three rows and two columns; `of` makes others like it.
WITH_SUBCLASSES = {
    "scatter": lambda a, of: ps.scatter(a, of(ROWS), of(NEW), op="max", out=a),
    "scatter a copy": lambda a, of: ps.scatter(a, of(ROWS), of(NEW)),
    "under a mask": lambda a, of: ps.scatter(a, ROWS, 9, where=of(MASK[:1, :1])),
    "flat": lambda a, of: ps.scatter(a, of(FLAT), 9, axis=None, out=a),
    "a flat copy": lambda a, of: ps.scatter(a, of(FLAT), 9, axis=None),
    "to another": lambda a, of: ps.scatter(SIX, of(FLAT), 9, axis=None, out=a),
    "along": lambda a, of: ps.scatter_along_axis(a, of(PLACES % 2), of(NEW), out=a),
    "along, flat": lambda a, of: ps.scatter_along_axis(a, FLAT[0], 9, None, out=a),
    "nd": lambda a, of: ps.scatter_nd(a, of(PLACES), 9, op="add", out=a),
    "at": lambda a, of: ps.scatter_at(a, (..., of(PLACES // 2), None), 9, out=a),
    "at slices": lambda a, of: ps.scatter_at(a, (slice(1, None), None), 9, out=a),
    "at a mask": lambda a, of: ps.scatter_at(a, of(MASK), 9, out=a),
    "add_at": lambda a, of: ps.add_at(a, (slice(None), of(PLACES // 2)), 9),
    "cast values": lambda a, of: ps.scatter(a, 0, of(NEW[0] / 2), casting="unsafe"),
    "values of their target": lambda a, of: ps.scatter(a, [2, 1, 0], a, out=a),
    "an index of its target": lambda a, of: ps.scatter(a, a, 1, axis=None, out=a),
    "gather": lambda a, of: ps.gather(a, of(ROWS)),
    "gather, flat": lambda a, of: ps.gather(a, of(FLAT), axis=None),
    "gather along, flat": lambda a, of: ps.gather_along_axis(a, FLAT[0], None),
    "gather nd": lambda a, of: ps.gather_nd(a, of(PLACES)),
    "gather at": lambda a, of: ps.gather_at(a, (slice(1), None, of(PLACES // 2))),
    "gather into": lambda a, of: ps.gather(SIX[0], of(PLACES // 2), out=a),
    "gather into, cast": lambda a, of: ps.gather(np.int8([4, 5]), PLACES // 2, out=a),
    "a plan": lambda a, of: ps.gather(a, ps.Plan(of(PLACES.T), 3)),
    "where": lambda a, of: ps.where(of(MASK), a, of(-SIX)),
    "where into": lambda a, of: ps.where(of(MASK), of(-SIX), 7, out=a),
    "where by NumPy": lambda a, of: ps.where(
        of(MASK), of(SIX.astype("U3")), a, dtype="U3", casting="unsafe"
    ),
    "scatter_where": lambda a, of: ps.scatter_where(a, of(MASK), of(-SIX), out=a),
    "scatter_where, cast": lambda a, of: ps.scatter_where(
        a, of(MASK), of(SIX / 0.5), casting="unsafe", out=a
    ),
    "scatter_where, packed": lambda a, of: ps.scatter_where(
        a, MASK[:, 1], of(np.array([[7, 8], [9, 9]])), packed=True, out=a
    ),
    "gather_where": lambda a, of: ps.gather_where(a, of(MASK)),
    "gather_where, rows": lambda a, of: ps.gather_where(a, MASK[:, 0]),
    "gather_where along": lambda a, of: ps.gather_where(a, MASK[0], axis=1),
    "nonzero": lambda a, of: ps.nonzero(a),
    "nonzero of text": lambda a, of: ps.argwhere(of(np.array([["x", ""], ["", "y"]]))),
    "count_nonzero": lambda a, of: ps.count_nonzero(a, axis=1),
    "apply_where": lambda a, of: ps.apply_where(of(MASK), a, np.negative, np.square),
    "bincount": lambda a, of: ps.bincount(SIX.reshape(3, 2) % 2, axis=1, out=a),
    "objects": lambda a, of: ps.scatter(of(SIX.astype(object)), of(ROWS), "x"),
    "objects into": lambda a, of: ps.scatter(
        SIX.astype(object), of(ROWS), 5, out=of(SIX.astype(object))
    ),
    "objects of objects": lambda a, of: ps.gather(
        of(SIX.astype(object)), of(FLAT), None
    ),
}


def outcome_with(name, order, kind):
    """What a call returns with arrays of a kind, and what is left of the first one."""
    memory = np.array(np.arange(6).reshape(3, 2), order=order)

    def of(array):
        Willful.is_armed = False
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of np.matrix
            made = array if kind is None else array.view(kind)
        Willful.is_armed = True
        return made

    a = of(memory)
    try:
        result = WITH_SUBCLASSES[name](a, of)
    finally:
        Willful.is_armed = False
    parts = result if isinstance(result, tuple) else (result,)
    return result is a, [np.asarray(part).tolist() for part in parts], memory.tolist()


@pytest.mark.parametrize("subclass", SUBCLASSES)
@pytest.mark.parametrize("name", WITH_SUBCLASSES)
def test_subclasses_are_plain_memory(name, subclass):
    for order in "CF":
        expected = outcome_with(name, order, None)
        assert outcome_with(name, order, SUBCLASSES[subclass]) == expected


def test_results_of_no_axes_are_arrays():
    for result in (
        ps.gather(np.arange(3), 1),
        ps.gather_at(np.arange(3), 1),
        ps.gather_nd(np.arange(6).reshape(2, 3), [1, 2]),
        ps.scatter(np.array(5), [0], 7, axis=None),
    ):
        assert_fresh(result)
        assert result.shape == ()


# --- shared memory --------------------------------------------------------------------


@pytest.mark.parametrize("op", ["set", "add", "max", "mean"])
def test_values_that_are_the_target(op):
    for step in (1, -1, 2):
        base = np.arange(40, dtype=np.float32)
        index = np.array([3, 3, 0, 9, 1, -1, 2, 7])[:: abs(step)]
        a = base[:10]
        values = base[4 : 4 + len(index)][:: np.sign(step)]
        expected = reference.scatter(a, index, values.copy(), op=op)
        ps.scatter(a, index, values, op=op, out=a)
        assert_same(a, expected, f"{op} step {step}")


def test_an_index_that_is_the_target():
    for op in ("set", "add"):
        a = np.array([3, 1, 2, 0, 1])
        expected = reference.scatter(a, a.copy(), [4, 0, 0, 0, 2], op=op)
        ps.scatter(a, a, [4, 0, 0, 0, 2], op=op, out=a)
        assert_same(a, expected, op)
    a = np.array([2, 0, 1, 3])
    ps.gather(a, a[::-1], out=a)
    assert a.tolist() == [3, 0, 2, 1]


def test_a_mask_that_is_the_target():
    a = np.array([True, False, True])
    ps.scatter(a, [1, 0, 2], [True, False, False], where=a, out=a)
    assert a.tolist() == [True, True, False]


def test_a_permutation_of_itself():
    for view in (lambda a: a, lambda a: a[::1], lambda a: a.view(np.ndarray)):
        a = np.arange(6)
        ps.scatter(a, [5, 4, 3, 2, 1, 0], view(a), out=a)
        assert a.tolist() == [5, 4, 3, 2, 1, 0]


@pytest.mark.parametrize("shift", [-1, 0, 1])
def test_an_out_that_overlaps_a(shift):
    raw = np.arange(80, dtype=np.uint8)
    for unit in (1, 8):
        start = 16 + shift * unit
        a = raw[16:48].view(np.int64)
        out = raw[start : start + 32].view(np.int64)
        expected = reference.scatter(a.copy(), [0, 0, 3], [1, 2, 3], op="add")
        ps.scatter(a, [0, 0, 3], [1, 2, 3], op="add", out=out)
        assert_same(np.array(out), expected, f"shift {shift} of {unit} bytes")
        expected = a.copy()[[3, 0, 0, 1]]
        ps.gather(a, [3, 0, 0, 1], out=out)
        assert_same(np.array(out), expected, f"gather, shift {shift} of {unit} bytes")


@pytest.mark.parametrize("library", LIBRARIES)
def test_targets_that_overlap_themselves_are_refused(library):
    base = np.zeros(8)
    windows = np.lib.stride_tricks.sliding_window_view(base, 3, writeable=True)
    repeated = np.lib.stride_tricks.as_strided(base, (4, 8), (0, 8))
    halves = np.lib.stride_tricks.as_strided(base, (4,), (4,))
    for a in (windows, repeated, halves):
        for index in ([0, 1, 0], []):
            with pytest.raises(ValueError):
                library.scatter(a, index, 1.0, op="add", out=a)
        with pytest.raises(ValueError):
            library.add_at(a, [0], 1.0)
    with pytest.raises(ValueError):
        library.gather(np.arange(8.0), [0, 1, 2, 3], out=halves)
    assert not base.any()


def test_interleaved_targets_are_legal():
    base = np.zeros(12)
    braid = np.lib.stride_tricks.as_strided(base, (2, 4), (8, 16))
    ps.scatter(braid, [1, 1], 1.0, op="add", out=braid)
    assert base.tolist() == [0, 2] * 4 + [0] * 4
    base = np.zeros(42, np.float32)
    braid = np.lib.stride_tricks.as_strided(base, (20, 2), (8, 12))
    ps.scatter(braid, np.arange(5000) % 20, [1.0, 2.0], op="add", out=braid)
    assert braid.tolist() == [[250, 500]] * 20
    assert base[[1, 40]].tolist() == [0, 0]
    empty = np.lib.stride_tricks.as_strided(base, (0, 4), (0, 0))
    ps.scatter(empty, np.zeros(0, int), 1.0, out=empty)


def test_an_input_may_overlap_itself():
    rows = np.broadcast_to(np.float32(2), (4, 3))
    result = ps.scatter(np.zeros((2, 3), np.float32), [0, 0, 1, 0], rows, op="add")
    assert result.tolist() == [[6, 6, 6], [2, 2, 2]]
    a = np.broadcast_to(np.arange(3.0), (4, 3))
    assert ps.gather(a, [0, 3], axis=0).tolist() == [[0, 1, 2]] * 2
    assert ps.scatter(a, [3], 9.0)[3].tolist() == [9, 9, 9]
    index = np.broadcast_to(np.array(1), (5,))
    assert ps.scatter(np.zeros(3), index, 1.0, op="add").tolist() == [0, 5, 0]


def readonly_targets():
    """Return arrays that must not be written to, for three different reasons."""
    plain = np.zeros(3)
    plain.flags.writeable = False
    return [plain, np.broadcast_to(np.zeros(1), (3,)), np.frombuffer(bytes(24))]


@pytest.mark.parametrize("library", LIBRARIES)
def test_readonly_targets_are_refused(library):
    for a in readonly_targets():
        before = a.tobytes()
        for index in ([0, 1], []):
            with pytest.raises(ValueError):
                library.scatter(a, index, 1.0, op="add", out=a)
        with pytest.raises(ValueError):
            library.add_at(a, [0], 1.0)
        with pytest.raises(ValueError):
            library.gather(np.ones(3), [0, 1, 2], out=a)
        assert a.tobytes() == before


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_warning_made_an_error_leaves_the_target(library):
    a = np.array([7, 8, 9])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning):
            library.scatter(a, [0, 1, 2], [2, 0, 2], op="floor_div", out=a)
        library.scatter(a, [0, 9], [1, 0], op="floor_div", mode="drop", out=a)
        where = [True, False]
        library.scatter(a, [0, 1], [1, 0], op="floor_div", where=where, out=a)
        where, values = [False, True], [0, 1]
        library.scatter(a, [0, 1], values, op="floor_div", where=where, out=a)
        with pytest.raises(RuntimeWarning):
            values = [1, 0]
            library.scatter(a, [0, 1], values, op="floor_div", where=where, out=a)
    assert a.tolist() == [7, 8, 9]
    with pytest.warns(RuntimeWarning) as caught:
        library.scatter(a, [0, 1, 2], [0, 0, 2], op="floor_div", out=a)
    assert len(caught) == 1
    assert a.tolist() == [0, 0, 4]


# A cast of the last element overflows; by name, who is asked for it and how.
CAST_FAILURES = {
    "FloatingPointError": (FloatingPointError, {"all": "raise"}),
    "RuntimeWarning": (RuntimeWarning, {"all": "warn"}),
}


@pytest.mark.parametrize("failure", CAST_FAILURES)
@pytest.mark.parametrize("layout", ["c", "odd_strides", "byteswapped"])
@pytest.mark.parametrize("form", FORMS)
def test_a_cast_into_out_that_raises_leaves_it(form, layout, failure):
    form = FORMS[form]
    error, state = CAST_FAILURES[failure]
    index = form.index(lambda shape, size: np.full(shape, size - 1))
    big = np.full(form.shape, 1e300)
    for family, shape, values in (
        ("gather", form.values, ()),
        ("scatter", form.shape, (1.0,)),
    ):
        out = LAYOUTS[layout](np.full(shape, 5, np.float32))
        before = snapshot(out)
        with np.errstate(**state), warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(error):
                function(family, form.stem)(
                    big, index, *values, out=out, **form.options
                )
        assert snapshot(out) == before


def test_float_arithmetic_warns_of_nothing():
    a = np.array([1, -1, 0], np.float32)
    with np.errstate(all="raise"):
        ps.scatter(a, [0, 1, 2], np.float32(0), op="div", out=a)
        ps.scatter(np.ones(3), [0], 1e308 * np.ones(1), op="mul")
        ps.scatter(np.zeros(1, np.float16), [0, 0], [6e4, 6e4], op="add")
        ps.scatter(np.ones(3), [0], np.nan, op="min")
        assert np.array([2.0]).sum() == 2  # no flag is left for the next call
    assert a[:2].tolist() == [np.inf, -np.inf] and np.isnan(a[2])


@pytest.mark.parametrize("family", ["scatter", "gather"])
@pytest.mark.parametrize("form", FORMS)
def test_inputs_are_never_written(form, family):
    rng = rng_for("inputs", form)
    form = FORMS[form]
    drawn = []

    def draw(shape, size):
        drawn.append(drawer(rng)(shape, size))
        return drawn[-1]

    a = random_values(rng, np.float32, form.shape)
    index = form.index(draw)
    values = [random_values(rng, np.float32, form.values)][family == "gather" :]
    before = [snapshot(array) for array in (a, *values, *drawn)]
    for mode in ("raise", "drop", "clip", "wrap"):
        function(family, form.stem)(a, index, *values, mode=mode, **form.options)
    assert before == [snapshot(array) for array in (a, *values, *drawn)]
