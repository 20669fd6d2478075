"""What keeps starting quick: rooms import on first use, and cycles of objects are sought seldom."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

#: How seldom `gc` looks for cycles: among the many small values of points it takes a tenth.
SELDOM = (100_000, 20, 20)


def lazily(room: str) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a room (PEP 562), which imports a name when it is first used.

    What type checkers read says where names are: the imports from its own modules that stand in
    the source of the room, under ``if TYPE_CHECKING``.
    """

    def attribute(name: str) -> Any:
        home = None if name.startswith("__") else _homes(room).get(name)
        if home is None:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        value = getattr(import_module(home), name)
        setattr(sys.modules[room], name, value)
        return value

    return attribute


@cache
def _homes(room: str) -> dict[str, str]:
    """Return the module of each name that a room has from its own modules."""
    loader: Any = sys.modules[room].__loader__
    return {
        alias.name: statement.module
        for statement in ast.walk(ast.parse(loader.get_source(room)))
        if isinstance(statement, ast.ImportFrom)
        and statement.module is not None
        and statement.module.startswith(f"{room}.")
        for alias in statement.names
    }
