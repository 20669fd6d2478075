"""Which form of the kernel runs: plain Python for small questions, or compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from parcast.plugins import Kernel, is_cached
from parcast_perturb.propagation import (
    collectives,
    edges,
    kernel,
    messages,
    sampling,
    state,
    waiting,
)
from parcast_traces.compilation import compiled, files_of

#: Events worth loading numba for, which takes a second or more, of one process, call after call.
PLAIN_EVENTS = 50_000


def plain(*tables: Any) -> int:
    """Run the kernel as plain Python."""
    return int(kernel.advance(*(as_views(table) for table in tables)))


def as_views(table: Any) -> Any:
    """Return named tuples with views that give Python's numbers, which are fast in Python."""
    if isinstance(table, tuple):
        return type(table)(*(as_views(field) for field in table))
    return table.data if isinstance(table, np.ndarray) else table


_MODULES = (sampling, messages, collectives, edges, waiting, kernel)


def _compiled() -> Callable[..., Any]:
    return compiled(_MODULES, "advance", "parcast-perturb", (state,))  # type: ignore[no-any-return]


def _is_cached() -> bool:
    return is_cached("kernel.advance", "parcast-perturb", files_of(_MODULES, (state,)))


#: The kernel in both forms; a step is an event, some 15 us in plain Python. To compile takes 10 s.
PROPAGATION = Kernel(
    plain, _compiled, plain_steps=PLAIN_EVENTS, uncached_steps=700_000, is_cached=_is_cached
)
