"""The executor that ``pool:N`` names."""

from __future__ import annotations

from concurrent.futures import Executor, ThreadPoolExecutor

from parcast import ParcastError


def pool(count: str) -> Executor:
    """Return an executor of ``count`` threads."""
    if not count.isdecimal() or int(count) < 1:
        raise ParcastError(f"executor 'pool:{count}' needs a number, such as pool:4")
    return ThreadPoolExecutor(int(count))
