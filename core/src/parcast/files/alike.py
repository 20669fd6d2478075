"""Whether ranks that have no file are taken for the like of those that have one.

Profilers write a file for each rank, and people have those of some. Whoever asks says so around
the reading; a reader that can do it (`parcast.plugins.Reader.alike`) looks here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_ALIKE: ContextVar[bool] = ContextVar("assume_alike", default=False)


def assumes_alike() -> bool:
    """Return whether what is read now may be of some ranks for all."""
    return _ALIKE.get()


@contextmanager
def assuming_alike(assume: bool) -> Iterator[None]:
    """Take ranks without a file for the like of others, in the block."""
    token = _ALIKE.set(assume)
    try:
        yield
    finally:
        _ALIKE.reset(token)
