"""Tells on a terminal how far a simulation has come."""

from __future__ import annotations

import multiprocessing
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from parcast_emulator.engines.usage import Progress


@contextmanager
def shown() -> Iterator[Progress]:
    """Give what shows simulated time and rate, nothing where many are simulated side by side."""
    main = threading.current_thread() is threading.main_thread()
    if main and multiprocessing.parent_process() is None and sys.stderr.isatty():
        yield from _bar()
    else:
        yield _nothing


def _nothing(_time: float, _done: float) -> None:
    """Show nothing."""


def _bar() -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    from parcast.cli import progress_stream

    columns = (BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Bar(*columns, console=Console(file=progress_stream()), transient=True) as bar:
        task, begun = bar.add_task("preparing", total=None), time.perf_counter()

        def tell(simulated: float, operations: float) -> None:
            rate = operations / max(time.perf_counter() - begun, 1e-9)
            at = f"{simulated:,.1f} s simulated, " if simulated < float("inf") else ""
            bar.update(task, description=f"{at}{rate / 1e6:,.2f} M operations/s")

        yield tell
