"""Reads ahead: a thread of its own reads what a rank takes later, beside what the rank does."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

#: Seconds after which the reading thread may have the interpreter from one that spins.
_TURN = 1e-4


class Ahead:
    """One thread of a rank, which reads in the order in which the rank takes what was read."""

    def __init__(self, read: Callable[[int, str], None]) -> None:
        self._read = read
        self._thread = ThreadPoolExecutor(max_workers=1)
        self._reading: deque[Future[None]] = deque()
        sys.setswitchinterval(_TURN)

    def issue(self, reads: Sequence[tuple[int, str]]) -> None:
        """Begin reads of so many bytes of a file each."""
        self._reading.extend(self._thread.submit(self._read, *read) for read in reads)

    def take(self) -> None:
        """Wait until the first of the reads that were not yet taken is done."""
        self._reading.popleft().result()


def issues(steps: Sequence[Sequence[object]]) -> dict[int, list[tuple[int, str]]]:
    """Return by the index of a step which reads ahead begin before it.

    They begin together: those up to the next barrier at the first step after the last one.
    """
    begins: dict[int, list[tuple[int, str]]] = {}
    first = 0
    for index, (op, _, arguments) in enumerate(steps):
        if op == "barrier":
            first = index + 1
        elif is_ahead(op, arguments):
            begins.setdefault(first, []).append((arguments[0], arguments[1]))  # type: ignore[index]
    return begins


def is_ahead(op: object, arguments: object) -> bool:
    """Return whether a step takes what was read ahead."""
    return op == "read" and bool(arguments[3])  # type: ignore[index]
