"""How torch's pairs of names are made: one rule, in place and on a copy.

A writer is a function whose first argument is the array that it updates in place.
`pair` makes two public functions of it, with one text: `name_` changes its argument,
`name` a copy. A copy of a list is an array, so both say what is wrong in one way.
"""

import functools
import inspect

import numpy as np

TEXT = """{first}

    Parameters
    ----------
    input : {kind}
        {what}
{parameters}
    Returns
    -------
    ndarray
        {returns}

    Raises
    ------
    IndexError
        {index_error}
    ValueError
        Shapes do not fit{value_error}{read_only}.
    TypeError
        {type_error}

    Notes
    -----
    *Order and duplicates*: {order}
    *Determinism*: the bits depend neither on threads nor on the CPU.
    *Derivatives*: {derivatives}.
    *Cost*: {cost}.

    See Also
    --------
    {twin}
    torch.Tensor.{name}

    Examples
    --------
    >>> import numpy as np
    >>> from pyscatter.compat.torch import {name}
    >>> a = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> {call}
    {shown}
"""
ALL_COUNT = "repeated indices all count, in C order of the index."
LAST_STAYS = "of repeated indices the last one in C order stays."


def in_place(input, name):
    """Return the array that a function in place works on; refuse what is none."""
    if not isinstance(input, np.ndarray):
        raise TypeError(
            f"input is a {type(input).__name__}; {name}_ updates an ndarray in place "
            f"({name} takes anything and makes a new array)"
        )
    return input


def pair(writer, *, call, shown, twin, order=ALL_COUNT, **text):
    """Make the function in place and the one on a copy from a writer.

    Parameters
    ----------
    writer : function
        Its docstring is the first line and, behind an empty one, the parameters.
    call : str
        The arguments behind `input` in the example.
    shown : str
        What the example prints.
    twin : str
        The lines of See Also.
    order : str, optional
        What is said about repeated indices.
    **text
        index_error, value_error, type_error where they are not the usual ones.

    Returns
    -------
    tuple of function
        The function on a copy, and the function in place.
    """
    name = writer.__name__.lstrip("_")

    @functools.wraps(writer)
    def functional(input, *args, **kwargs):
        ret = np.array(input, order="C")
        writer(ret, *args, **kwargs)
        return ret

    @functools.wraps(writer)
    def updating(input, *args, **kwargs):
        writer(in_place(input, name), *args, **kwargs)
        return input

    first, _, parameters = inspect.cleandoc(writer.__doc__).partition("\n\n")
    text = {
        "index_error": "An index is negative or too large.",
        "value_error": "",
        "type_error": "Indices are no integers, or values do not fit the dtype.",
        "parameters": parameters.replace("\n", "\n    ").join(("    ", "\n")),
        "order": order,
        "twin": twin,
        "shown": shown.replace("\n", "\n    "),
        **text,
    }
    for function, spelled in ((functional, name), (updating, f"{name}_")):
        changes = function is updating
        function.__name__ = function.__qualname__ = spelled
        function.__doc__ = TEXT.format(
            first=f"{first[:-1]}, {'in place' if changes else 'in a copy'}.",
            kind="ndarray" if changes else "array_like",
            what="The target, changed in place." if changes else "What is copied.",
            read_only="; `input` is read-only" if changes else "",
            returns="`input`." if changes else "A new array, C-ordered.",
            derivatives="none, as for every update in place"
            if changes
            else f"those of `{twin.split()[0]}`",
            cost="one pass over what is written"
            if changes
            else "a copy, and one pass over what is written",
            name=spelled,
            call=f"{spelled}(a, {call})",
            **text,
        )
    return functional, updating
