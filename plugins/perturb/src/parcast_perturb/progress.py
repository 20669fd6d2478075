"""Tells on a terminal how far a long trace has been gone through."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def event_progress(events: int) -> Iterator[Callable[[int], None]]:
    """Give what is told how many events are done; 0 of them, or where nobody looks, show none."""
    if not events or sys.stderr is None or not sys.stderr.isatty():
        yield lambda _done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TimeRemainingColumn

    from parcast.cli import progress_stream

    columns = (BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(file=progress_stream()), transient=True) as bar:
        task = bar.add_task("events", total=events)
        yield lambda processed: bar.update(task, completed=processed)
