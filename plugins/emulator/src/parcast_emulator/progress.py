"""Tells on a terminal how far a simulation has come."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from parcast.cli import show_progress
from parcast_emulator.engines.usage import Progress


@contextmanager
def simulation_progress() -> Iterator[Progress]:
    """Give what shows simulated time, which has no known end, and the rate of operations."""
    with show_progress() as tell:
        begun = time.perf_counter()

        def progress(simulated: float, operations: float) -> None:
            rate = operations / max(time.perf_counter() - begun, 1e-9)
            at = f"{simulated:,.1f} s simulated, " if simulated < float("inf") else ""
            tell(f"{at}{rate / 1e6:,.2f} M operations/s")

        yield progress
