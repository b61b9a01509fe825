"""How the docstrings of the C functions are put together.

The functions live in `pyscatter._core`; their text lives beside the names of their
family. What many of them say in the same words stands here once.
"""

from pyscatter import _core

PARTS = {
    "op": """op : str or ufunc, optional
        What happens where values arrive: "set" (default), "add", "sub", "mul", "div",
        "floor_div", "min", "max", "fmin", "fmax", "mean", "and", "or", "xor", "first"
        or "last" (the same as "set"); also "sum", "prod", "amin", "amax", "subtract",
        "multiply", "divide", "floor_divide", "minimum", "maximum", "update", or the
        NumPy ufunc, such as ``np.add``.""",
    "where": """where : array_like of bool, optional
        Which entries take part; broadcasts to {entries}. The others are not even
        validated.""",
    "mask": """mask : array_like of bool
        Covers all axes of `a` or the first of them, or has as many axes, of which those
        of length 1 broadcast.""",
    "mode": """mode : {"raise", "drop", "clip", "wrap"}, optional
        What an index out of bounds does. "raise" (default) counts negative indices from
        the end and raises IndexError beyond that; the other modes read an index as it
        is, so that -1 padding is dropped by "drop".""",
    "gather_mode": """mode : {"raise", "fill", "drop", "clip", "wrap"}, optional
        What an index out of bounds does. "raise" (default) counts negative indices from
        the end and raises IndexError beyond that; the other modes read an index as it
        is. "fill" (and "drop") give `fill_value`.
    fill_value : scalar, optional
        The value of entries that name nothing or take no part, in the dtype of the
        result; by default that dtype's zero: 0, False, "" or NaT.""",
    "scatter_options": """include_self : bool, optional
        False: where something arrives, the old value takes no part; untouched places
        keep theirs.
    dtype : dtype, optional
        The accumulator. By default float32 for float16 and bfloat16, else the target's
        own dtype; for means float64, or complex128, of whatever is narrower. There is
        one rounding, at the end.
    compensated : bool, optional
        Neumaier sums per destination, for add, sub and mean.
    casting : str, optional
        As in `numpy.copyto`: whether `values` may be cast to the target's dtype, which
        is that of `out`, if there is one.
    out : ndarray, optional
        Absent: the result is a new array. ``out=a``, or another view of
        the same elements: they are updated in place. Any other array of a's shape
        receives the result.""",
    "scatter_returns": """Returns
    -------
    ndarray
        `out`, or a new native C-ordered array with the dtype of `a` (float64 for means
        of integers and bools).""",
    "scatter_raises": """Raises
    ------
    IndexError
        An index is out of bounds under mode="raise". Nothing has been written.
    ValueError
        Shapes do not fit; an unknown op, mode or casting; a target that is read-only or
        whose elements share memory; `compensated` with another op.
    TypeError
        Index, values or dtype of a kind that the op or the casting rule refuses; a
        masked array.
    OverflowError
        A Python integer in `values` does not fit the target's dtype.
    numpy.exceptions.AxisError
        `axis` is out of bounds.""",
    "scatter_notes": """Notes
    -----
    *Order and duplicates*: values are combined with the old value from left to right in
    C order of the index; "set" keeps the last of several, "first" the first.

    *Determinism*: the same bits for any number of threads and any CPU level. NaN wins
    in min and max and loses in fmin and fmax; -0.0 is less than +0.0; integers and
    times wrap. Integer division by zero gives 0 and one RuntimeWarning, before anything
    is written. A Python number that overflows the target's floats warns as NumPy's
    casts do.

    *Derivatives*: of floats with respect to `a` and `values`, by `vjp` and `jvp`: exact
    for duplicates (of several that are set the one that stays), zeros among factors,
    and ties, which share; linear for set, add, sub and mean.

    *Cost*: one pass over index and values, and one over the touched part of the target;
    at most 16 bytes of work memory per index beside a wide accumulator.""",
    "condition": """a : array_like
        Of any dtype and layout. Numbers are true unless they are zero: NaN and NaT are,
        -0.0 is not; of strings, records and objects NumPy says which are.""",
    "places_size": """size : int, optional
        The number of places to give: surplus ones are cut, missing ones filled. By
        default as many as there are.
    fill_value : int, optional
        The coordinate that fills missing places.""",
    "places_raises": """TypeError
        A masked array, StringDType, or a `size` or `fill_value` that is not an integer.
    OverflowError
        `size` or `fill_value` does not fit in 64 bits.""",
    "places_notes": """Notes
    -----
    *Order and duplicates*: C order of `a`, whatever its layout; no place comes twice.

    *Determinism*: the same for any number of threads and any CPU level.

    *Derivatives*: none; places are integers.

    *Cost*: one read of `a` and one write of the result, which is made in its exact
    size; a bit of work memory for each element.""",
    "gather_out": """out : ndarray, optional
        Receives the result; same-kind casting.""",
    "gather_raises": """Raises
    ------
    IndexError
        An index is out of bounds under mode="raise"; `out` is untouched.
    ValueError
        Shapes do not fit; an unknown mode; `out` is read-only or overlaps itself.
    TypeError
        An index that is not of integers, a masked array, or a cast that is not of one
        kind.
    numpy.exceptions.AxisError
        `axis` is out of bounds.""",
    "gather_notes": """Notes
    -----
    *Order and duplicates*: an index may name an element any number of times.

    *Determinism*: every bit is moved as it is, NaN payloads included; bools come out as
    0 or 1, foreign byte orders native.

    *Derivatives*: linear in `a`; the transpose is {transpose} with ``op="add"``.

    *Cost*: one pass over index and output, and one touch of each row named.""",
    "reduction": """Parameters
    ----------
    values : array_like
        What is reduced.
    ids : array_like of int, or Plan
        For each entry the segment that it belongs to, in any order; or say the segments
        by ``offsets=``, ``starts=`` and ``stops=``, or ``lengths=``.
    num_segments : int, optional
        How many segments there are. By default the largest id and one.
    options : optional
        Every other keyword of `segment_reduce` but `op`.

    Returns
    -------
    ndarray, or a tuple of out, arg and counts as asked
        As `segment_reduce` with ``op="{name}"``.

    Raises
    ------
    IndexError, ValueError, TypeError, OverflowError, numpy.exceptions.AxisError
        As `segment_reduce`.

    Notes
    -----
    This is `segment_reduce` with ``op="{name}"``, whose order, determinism,
    derivatives and cost it has.

    See Also
    --------
    segment_reduce, scatter
    numpy.add.reduceat, torch.segment_reduce, jax.ops.segment_sum,
    tf.math.unsorted_segment_sum""",
    "softmax": """Parameters
    ----------
    values : array_like
        Real numbers.
    <<entry_ids>>
    num_segments : int, optional
        How many segments there are. By default the largest id and one.
    axis : int, optional
        The first axis of the entries; default `batch_dims`.
    batch_dims : int, optional
        Leading axes that `values` and `ids` share and that are independent.

    Returns
    -------
    ndarray
        Of the shape and dtype of `values`; float64 for integers and bools.

    <<entry_raises>>

    Notes
    -----
    *Order and duplicates*: powers are shifted by the largest element of the segment,
    and added in the order that `segment_reduce` has for sums. Segments without entries
    give nothing; one of -inf alone, or with +inf, gives NaN, as torch's.

    *Determinism*: the same bits for any number of threads, any CPU level, and whatever
    code NumPy and the C library choose for the CPU: exponentials and logarithms are
    the library's own, less than one unit in the last place off. Everything is computed
    in float64 and rounded once.

    *Derivatives*: those of softmax, segment by segment.

    *Cost*: by offsets and lengths one pass over the values, three where segments are
    longer than 4,096; by ids three, two float64 for each segment, and one for each
    element of a result that is not float64 itself.""",
    "entry_ids": """ids : array_like of int, or Plan, optional
        For each entry the segment that it belongs to, in any order; not negative.
    offsets : array_like of int, shape (num_segments + 1,), optional
        Instead of `ids`: segment s has the entries from ``offsets[s]`` to
        ``offsets[s + 1]``; first 0, last the number of entries, never decreasing.
    lengths : array_like of int, shape (num_segments,), optional
        Instead of `ids`: how many entries each segment has, one after the other.""",
    "entry_raises": """Raises
    ------
    IndexError
        An id is out of range.
    ValueError
        Shapes that do not fit; offsets or lengths that are no ranges; one large id
        that would ask for far more segments than there are entries.
    TypeError
        Not exactly one of `ids`, `offsets` and `lengths`; ids that are not integers;
        a dtype that has no such function; a masked array.
    numpy.exceptions.AxisError
        `axis` is out of bounds.""",
}


def filled(text):
    """Return a docstring with its parts in place.

    ``<<name>>`` or ``<<name: key=words>>`` stands for a part above, which is moved to
    the indentation of its line: Python 3.13 and later take that of docstrings away.
    """
    for name, part in PARTS.items():
        while (start := text.find(f"<<{name}")) >= 0:
            end = text.index(">>", start)
            _, _, given = text[start + 2 : end].partition(": ")
            key, _, words = given.partition("=")
            whole = part.replace("{" + key + "}", words) if key else part
            line = text[text.rfind("\n", 0, start) + 1 : start]
            margin = line[: len(line) - len(line.lstrip())]
            whole = whole.replace("\n    ", "\n" + margin)
            text = text[:start] + whole + text[end + 2 :]
    return text


def complete(text):
    """Return `filled` text without its indentation."""
    lines = filled(text).splitlines()
    return "\n".join(line.removeprefix("    ") for line in lines).strip()


def document(function, signature, text):
    """Give a C function its docstring.

    Parameters
    ----------
    function : builtin_function_or_method
        A function of `pyscatter._core`.
    signature : str
        What `inspect.signature` shall show, with the brackets.
    text : str
        The docstring, as `complete` takes it.
    """
    _core.set_docstring(
        function, f"{function.__name__}{signature}\n--\n\n{complete(text)}\n"
    )
