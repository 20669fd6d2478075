"""What keeps starting quick: rooms import on first use, and cycles of objects are sought seldom."""

from __future__ import annotations

import gc
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


def seldom_collect() -> None:
    """Look for cycles less often: among the many small values of points it takes a tenth."""
    gc.set_threshold(100_000, 20, 20)
