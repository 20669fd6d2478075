"""The compiled kernel's entry: the two memories pass from function to function as bare pointers.

Arrays would each cost every call a dozen arguments and a count of references.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import intrinsic

from parcast_petri.kernel import game


@intrinsic
def pointer(_: Any, array: Any) -> Any:
    """Return where the entries of an array begin."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        structure = context.make_array(signature.args[0])
        return structure(context, builder, arguments[0]).data

    entries: Any = types.CPointer
    return entries(array.dtype)(array), code


def run(m: Any, f: Any, draw: Any, firings: int) -> int:
    """Play as `game.run` does on lists."""
    at: Any = pointer
    return game.run(at(m), at(f), draw, firings)
