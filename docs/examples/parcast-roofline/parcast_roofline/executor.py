"""The executor that ``threads:N`` names."""

from __future__ import annotations

from concurrent.futures import Executor, ThreadPoolExecutor

from parcast import ParcastError


def threads(count: str) -> Executor:
    """Return an executor of ``count`` threads."""
    if not count.isdecimal() or int(count) < 1:
        raise ParcastError(f"executor 'threads:{count}' needs a number, such as threads:4")
    return ThreadPoolExecutor(int(count))
