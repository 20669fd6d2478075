"""Whether ranks that have no file are taken for the like of those that have one.

Profilers write a file for each rank, and people have those of some. Whoever asks says so around
the reading; a reader that can do it (`parcast.plugins.Reader.alike`) looks here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

#: Whether what is read now may be of some ranks for all.
ASSUMED_ALIKE: ContextVar[bool] = ContextVar("assume_alike", default=False)


@contextmanager
def assuming_alike() -> Iterator[None]:
    """Take ranks without a file for the like of others, in the block."""
    token = ASSUMED_ALIKE.set(True)
    try:
        yield
    finally:
        ASSUMED_ALIKE.reset(token)
