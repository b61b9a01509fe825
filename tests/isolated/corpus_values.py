"""Values that do not fit: shapes, casts, Python scalars out of range, and divisors."""

import warnings
from functools import partial

import numpy as np

import pyscatter as ps
from tests.isolated.forms import DROP_INS, INTEGERS
from tests.isolated.harness import case

INTEGER_DTYPES = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8")
REAL_DTYPES = ("f2", "f4", "f8")


def axis_shapes():
    """Values that do not broadcast to the index with the array's other axes."""
    a = np.zeros((3, 4))
    index = np.array([[0, 1, 2], [2, 1, 0]])
    for shape in ((3, 2), (6,), (2,), (2, 3, 3), (2, 3, 5), (0,), (2, 2, 3, 4), (4, 3)):
        values = np.ones(shape)
        said = (str(shape), "(2, 3, 4)")
        call = (ps.scatter, a, index, values)
        yield case(f"scatter {shape}", "ValueError", *call, out=a, says=said)
        call = (ps.add_at, a, index, values)
        yield case(f"add_at {shape}", "ValueError", *call, axis=0)
        yield case(f"add_at {shape} by NumPy's rule", "ValueError", *call)
    for shape in ((3,), (2, 2), (3, 3), (3, 2, 1)):
        call = (ps.scatter, a, [0, 1], np.ones(shape))
        yield case(f"scatter axis 1 {shape}", "ValueError", *call, axis=1, out=a)


def lengths():
    """Values one too long or too short, and empty on one side only."""
    index = np.array([0, 1, 2])
    for function in (ps.scatter, ps.scatter_along_axis, ps.scatter_at, ps.add_at):
        for count in (0, 2, 4, 6, 9):
            a = np.zeros(5)
            name = f"{function.__name__} {count} values for 3"
            yield case(name, "ValueError", function, a, index, np.ones(count))
        for count in (2, 3, 10_000):
            name = f"{function.__name__} {count} values for none"
            empty = np.zeros(0, np.intp)
            yield case(name, "ValueError", function, np.zeros(5), empty, np.ones(count))
    a = np.zeros((3, 4))
    for indices, shape in (
        (np.zeros((2, 1), int), (3, 4)),
        (np.zeros((2, 1), int), (2, 3)),
        (np.zeros((2, 2), int), (2, 4)),
        (np.zeros((2, 2), int), (3,)),
        (np.zeros((2, 3, 1), int), (3, 2, 4)),
        (np.zeros((0, 2), int), (2,)),
    ):
        name = f"scatter_nd {indices.shape} {shape}"
        values = np.ones(shape)
        yield case(name, "ValueError", ps.scatter_nd, a, indices, values, out=a)


def along_shapes():
    """Along an axis: other axes must agree, and so must the number of axes."""
    a = np.zeros((3, 4))
    for shape in ((2,), (2, 4, 1), (2, 3), (2, 5), ()):
        index = np.zeros(shape, int)
        wrong = "ValueError|IndexError"
        call = ps.scatter_along_axis
        yield case(f"scatter {shape}", wrong, call, a, index, 1.0, 0, out=a)
        yield case(f"gather {shape}", wrong, ps.gather_along_axis, a, index, 0)


def refused_casts():
    """Dtypes of targets, and values that same_kind keeps out of them."""
    return [
        ("i8", np.array([1.5])),
        ("i8", np.float64(1)),
        ("f8", np.array([1j])),
        ("f4", np.complex64(1)),
        ("u1", np.array([1], "i8")),
        ("?", np.array([1], "i8")),
        ("?", np.array([0.5])),
        ("u8", np.array([-1], "i1")),
        ("f8", np.array(["1"])),
        ("f8", np.array([b"1"])),
        ("f8", np.array([1], object)),
        ("f8", [None]),
        ("f8", None),
        ("f8", "1"),
        ("f8", {}),
        ("f8", np.array([0], "M8[s]")),
        ("M8[s]", np.array([1.5])),
        ("m8[s]", np.array([1.5])),
        ("i8", np.array([0], "m8[s]")),
        ("f8", np.zeros(1, [("x", "f8"), ("y", "f8")])),
    ]


def casts():
    """What same_kind refuses, from arrays and NumPy scalars."""
    for dtype, values in refused_casts():
        a = np.ones(3, dtype)
        for function in (ps.scatter, ps.scatter_along_axis, ps.scatter_at):
            name = f"{function.__name__} {values!r} into {dtype}"
            yield case(name, "TypeError", function, a, [0], values, out=a)
        name = f"add_at {values!r} into {dtype}"
        yield case(name, "TypeError", ps.add_at, a, [0], values)
    single, double = np.ones(3, "f4"), np.ones(3)
    for casting in ("no", "equiv", "safe"):
        call = (ps.scatter, single, [0], double[:1])
        yield case(f"f8 into f4 {casting}", "TypeError", *call, casting=casting)


def weak_scalars():
    """Python numbers are checked against the target, however they are wrapped."""
    large = 2**70
    for dtype in INTEGER_DTYPES:
        limits = np.iinfo(dtype)
        for number in (limits.max + 1, limits.min - 1, large, -large):
            yield from weak(dtype, number, "OverflowError")
        for number in (limits.max, limits.min):
            yield from weak(dtype, number, "ok")
        for number in (1.5, 1.0, float("nan"), 1j):
            yield from weak(dtype, number, "TypeError")
    for dtype in REAL_DTYPES:
        yield from weak(dtype, 10**400, "OverflowError")
        yield from weak(dtype, 1j, "TypeError")
        yield from weak(dtype, 1e300, "ok" if dtype == "f8" else "RuntimeWarning")
        yield from weak(dtype, large, "RuntimeWarning" if dtype == "f2" else "ok")
    for number in (0, 1, 2, -1, 0.5, 1j):
        yield from weak("?", number, "TypeError")


def weak(dtype, number, outcome):
    """A number alone, in a list, last in a long list, and nested."""
    kin = type(number)(0)
    shapes = {
        "alone": number,
        "list": [number],
        "tuple": (number,),
        "last": [kin] * 3 + [number],
        "nested": [[kin, number], [kin, kin]],
    }
    for label, values in shapes.items():
        index = np.zeros(np.shape(values), np.intp)
        a = np.ones(5, dtype)
        name = f"{dtype} {str(number)[:12]} {label}"
        yield case(f"scatter {name}", outcome, ps.scatter, a, index, values, out=a)
        yield case(f"maximum_at {name}", outcome, ps.maximum_at, a, index, values)


MISSING_OPS = {
    "?": ("sub", "div", "floor_div"),
    "i4": ("div",),
    "u8": ("div",),
    "f4": ("and", "or", "xor"),
    "c16": ("min", "max", "fmin", "fmax", "floor_div", "and"),
    "M8[s]": ("add", "mul", "div", "floor_div", "and", "mean"),
    "m8[s]": ("mul", "and", "floor_div", "div"),
    "g": ("add", "mul", "mean"),
    "O": ("add", "min", "mean"),
    "S3": ("add", "min"),
    "U3": ("add", "max"),
    "V4": ("add", "or"),
    "i4,f8": ("add", "min"),
}


def refused_ops():
    """Operations that a dtype does not have."""
    for dtype, ops in MISSING_OPS.items():
        a = np.zeros(3, dtype)
        for op in ops:
            for values in (a[:1], np.zeros(0, dtype)):
                index = np.arange(values.size)
                name = f"{op} {dtype} {values.size}"
                call = (ps.scatter, a, index, values)
                yield case(name, "TypeError", *call, op=op, out=a, casting="unsafe")
    for name in INTEGERS[:3]:
        call = (getattr(ps, name), np.zeros(3), [0], 1.0)
        yield case(f"{name} on floats", "TypeError", *call)
    for dtype in INTEGER_DTYPES:
        a = np.ones(3, dtype)
        yield case(f"divide_at {dtype}", "TypeError", ps.divide_at, a, [0], a[:1])
    for op in ("mul", "min", "set"):
        call = (ps.scatter, np.zeros(3), [0], 1.0)
        yield case(f"compensated {op}", "ValueError", *call, op=op, compensated=True)


def floor_divide(a, index, values, *, through, **options):
    """The division by either of its public names."""
    if through == "drop-in":
        ps.floor_divide_at(a, index, values, **options)
        return a
    return ps.scatter(a, index, values, op="floor_div", out=a, **options)


def raising(call, *args, **options):
    """Make a call with warnings as errors."""
    warnings.simplefilter("error")
    return call(*args, **options)


def warned_once(call, *args, **options):
    """Make a call that gives exactly one RuntimeWarning."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        got = call(*args, **options)
    if [w.category for w in heard] != [RuntimeWarning]:
        raise AssertionError(f"warnings: {[str(w.message) for w in heard]}")
    return got


def divisions():
    """Zero gives 0 and one warning; the smallest number over -1 wraps in silence."""
    for dtype in INTEGER_DTYPES:
        for through in ("drop-in", "op"):
            divide = partial(floor_divide, through=through)
            yield from zero_divisors(dtype, divide, f"{dtype} {through}")
            if dtype[0] == "i":
                yield from smallest_over_minus_one(dtype, divide, f"{dtype} {through}")


def zero_divisors(dtype, divide, label):
    """A zero at the ends, at block edges, and where it takes no part."""
    for count in (1, 5, 9000):
        index = np.arange(count) % 3
        for place in sorted({0, count // 2, count - 1, min(count - 1, 8192)}):
            values = np.ones(count, dtype)
            values[place] = 0
            a = np.array([7, 8, 9], dtype)
            name = f"{label} zero at {place} of {count}"
            yield case(name, "RuntimeWarning", raising, divide, a, index, values)
            done = np.where(np.arange(3) == place % 3, 0, a)
            args = (divide, a.copy(), index, values)
            yield case(f"{name}, warned", "ok", warned_once, *args, result=done)
            where = values != 0
            args = (divide, a.copy(), index, values)
            yield case(f"{name}, left out", "ok", raising, *args, where=where, result=a)
            dropped = np.where(values == 0, 99, index)
            args = (divide, a.copy(), dropped, values)
            yield case(f"{name}, dropped", "ok", raising, *args, mode="drop", result=a)


def smallest_over_minus_one(dtype, divide, label):
    """The one quotient that does not fit and that the processor traps."""
    low = np.iinfo(dtype).min
    for count in (1, 2, 1000):
        done = np.full(4, low, dtype)
        index = np.arange(count) % 4
        for minus in (np.full(count, -1, dtype), -1):
            call = (raising, divide, done.copy(), index, minus)
            name = f"{label} smallest over {type(minus).__name__} {count}"
            yield case(name, "ok", *call, result=done)
    rows = np.full((4, 40), low, dtype)
    minus = np.full((2, 40), -1, dtype)
    call = (raising, partial(divide, axis=0), rows.copy(), [1, 1], minus)
    yield case(f"{label} smallest in rows", "ok", *call, result=rows)


def moves():
    """Set and gather of what kernels cannot compute with."""
    record = np.dtype([("n", "i4"), ("s", "S3")])
    columns = {
        "objects": np.array([{}, [1], None], object),
        "str": np.array(["a", "bc", ""]),
        "bytes": np.array([b"a", b"\0b", b""]),
        "records": np.array([(1, b"a"), (2, b"b"), (3, b"")], record),
        "void": np.array([b"abc", b"def", b"\0\0\0"], "V3"),
        "big-endian records": np.array([(1, 2.0)] * 3, [("n", ">i4"), ("x", ">f8")]),
    }
    for name, a in columns.items():
        index = np.array([2, 0])
        done = a.copy()
        done[index] = a[:2]
        yield case(f"set {name}", "ok", ps.scatter, a, index, a[:2].copy(), result=done)
        yield case(f"gather {name}", "ok", ps.gather, a, index, result=a[index])
        bad = np.array([2, 3])
        args = (ps.scatter, a, bad, a[:2].copy())
        yield case(f"set {name} out of range", "IndexError", *args, out=a)
        yield case(f"gather {name} out of range", "IndexError", ps.gather, a, bad)
    fields = np.zeros(3, record)
    others = np.zeros(1, [("a", "M8[s]"), ("b", "f8")])
    call = (ps.scatter, fields, [0], others)
    yield case("other records", "TypeError", *call, out=fields)


def every_drop_in_on_objects():
    """Kernels never see objects, strings or records."""
    for name in DROP_INS:
        for dtype in ("O", "S3", "U3", "V4", "i4,f8"):
            a = np.zeros(3, dtype)
            call = (getattr(ps, name), a, [0, 0], a[:1])
            yield case(f"{name} {dtype}", "TypeError", *call)


GROUPS = {
    "values shapes": axis_shapes,
    "values lengths": lengths,
    "values along": along_shapes,
    "values casts": casts,
    "values weak": weak_scalars,
    "values ops": refused_ops,
    "values divisors": divisions,
    "values moves": moves,
    "values objects": every_drop_in_on_objects,
}
