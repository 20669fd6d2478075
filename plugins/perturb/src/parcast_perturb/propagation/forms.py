"""Which form of the kernel runs: plain Python for small questions, or compiled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from parcast_perturb.propagation import (
    collectives,
    edges,
    kernel,
    messages,
    sampling,
    state,
    waiting,
)
from parcast_traces.compilation import compiled

#: Events worth loading numba for, which takes a second or more, of one process, call after call.
PLAIN_EVENTS = 50_000

_events_so_far: Counter[str] = Counter()


def form(events: int) -> Callable[..., int]:
    """Return the form of the kernel that answers a question of so many events soonest."""
    _events_so_far["events"] += min(events, PLAIN_EVENTS + 1)
    return _compiled() if _events_so_far["events"] > PLAIN_EVENTS else plain


@cache
def _compiled() -> Any:
    modules = (sampling, messages, collectives, edges, waiting, kernel)
    return compiled(modules, "advance", "parcast-perturb", (state,))


def plain(*tables: Any) -> int:
    """Run the kernel as plain Python."""
    return int(kernel.advance(*(_as_views(table) for table in tables)))


def _as_views(table: Any) -> Any:
    """Return named tuples with views that give Python's numbers, which are fast in Python."""
    if not isinstance(table, tuple):
        return table
    views = (field.data if isinstance(field, np.ndarray) else field for field in table)
    return type(table)(*views)
