"""What a room exports, imported on first use, so that a room costs what is used of it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazily(room: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a room (PEP 562).

    Parameters
    ----------
    room
        The package's name.
    modules
        What each of its modules defines for others, names with blanks between them.
    """
    homes = {
        name: f"{room}.{module}" for module, names in modules.items() for name in names.split()
    }

    def attribute(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        value = getattr(import_module(home), name)
        setattr(sys.modules[room], name, value)
        return value

    return attribute
