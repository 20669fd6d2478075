"""Answers that are kept: one cache, with one key, of what is worked out from frozen values."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Any, TypeVar

T = TypeVar("T")

Sources = tuple[Any, ...]  #: all that an answer depends on

_BY_VALUE = frozenset({int, float, bool, str, type(None)})


def key_of(sources: Sources) -> tuple[Any, ...]:
    """Return what tells sources apart: numbers and texts their type and value, objects themselves.

    So 1 is not 1.0, and machines that are equal may be different. A key holds the identities of
    objects, which are theirs alone as long as they are alive.
    """
    key: list[Any] = []
    for source in sources:
        kind = source.__class__
        if kind not in _BY_VALUE:
            key.append(key_of(source) if kind is tuple else id(source))
        elif source or kind is not float:
            key += (kind, source)
        else:
            key.append(str(source))  # -0.0 is not 0.0
    return tuple(key)


class Answers:
    """Answers by their sources, which stay alive with them; the oldest are forgotten.

    Threads may share them: what two ask for at the same time is worked out twice.

    Parameters
    ----------
    limit
        The most answers that are kept, at least 1.
    size
        How much room an answer takes. With it, answers beyond the limit are kept as well, as long
        as all together take at most ``room``.
    """

    def __init__(
        self, limit: int, *, size: Callable[[Any], float] | None = None, room: float = 0
    ) -> None:
        self._limit = limit
        self._size, self._room = size, room
        self._lock = Lock()
        self._entries: OrderedDict[tuple[Any, ...], tuple[Any, Sources]] = OrderedDict()

    def once(self, sources: Sources, make: Callable[[], T]) -> T:
        """Return what ``make`` gives, or what it gave for the same sources."""
        key = key_of(sources)
        entry = self._entries.get(key)
        if entry is None:
            self._forget(self._limit - 1)  # before memory is needed for the next
            entry = self._entries[key] = make(), sources
            self._forget(self._limit)
        return entry[0]

    def get(self, sources: Sources) -> Any:
        """Return the answer that these sources have, or None."""
        entry = self._entries.get(key_of(sources))
        return None if entry is None else entry[0]

    def _forget(self, most: int) -> None:
        if len(self._entries) > most:
            with self._lock:
                while len(self._entries) > most and not self._has_room():
                    self._entries.popitem(last=False)

    def _has_room(self) -> bool:
        if self._size is None:
            return False
        return sum(self._size(answer) for answer, _ in self._entries.values()) <= self._room
