"""Compiling all kernels ahead, so that no question waits for it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import as_completed
from typing import TYPE_CHECKING

from parcast.errors import ParcastError
from parcast.plugins.entries import load
from parcast.plugins.kernels import compiling

if TYPE_CHECKING:
    from parcast.plugins.catalog import Catalog

#: Processes that compile side by side: each takes 300 MB, and the longest kernel half of all.
WORKERS = 2


def warm(registry: Catalog) -> Iterator[tuple[str, float | str]]:
    """Compile all kernels that plugins register, or load those that are compiled.

    Yields
    ------
    tuple
        As they are done, the name and the seconds that it took, or why it could not be.
    """
    with registry.executor(f"processes:{WORKERS}") as executor:
        jobs = {
            executor.submit(_compile, entry.target): name
            for name, entry in registry.kernels.items()
        }
        for job in as_completed(jobs):
            try:
                yield jobs[job], job.result()
            except (Exception, SystemExit) as error:  # noqa: BLE001  (the others are compiled)
                reason = str(error) if isinstance(error, ParcastError) else repr(error)
                yield jobs[job], " ".join(reason.split())


def _compile(target: str) -> float:
    """Return the seconds of a question that compiles kernels."""
    start = time.perf_counter()
    ask: Callable[[], object] = load(target)
    with compiling():
        ask()
    return time.perf_counter() - start
