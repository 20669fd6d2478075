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
        self._entries: OrderedDict[tuple[Any, ...], tuple[Any, Sources, float]] = OrderedDict()
        self._taken = 0.0  # by all entries together

    def once(self, sources: Sources, make: Callable[[], T]) -> T:
        """Return what ``make`` gives, or what it gave for the same sources."""
        key = key_of(sources)
        entry = self._entries.get(key)
        if entry is not None:
            known: T = entry[0]
            return known
        if len(self._entries) >= self._limit:
            with self._lock:
                self._forget(self._limit - 1)  # before memory is needed for the next
        answer = make()
        self._keep(key, answer, sources)
        return answer

    def get(self, sources: Sources) -> Any:
        """Return the answer that these sources have, or None."""
        entry = self._entries.get(key_of(sources))
        return None if entry is None else entry[0]

    def _keep(self, key: tuple[Any, ...], answer: Any, sources: Sources) -> None:
        size = 0.0 if self._size is None else self._size(answer)
        with self._lock:
            former = self._entries.get(key)  # of another thread
            self._taken += size - (former[2] if former else 0.0)
            self._entries[key] = answer, sources, size
            self._forget(self._limit)

    def _forget(self, most: int) -> None:
        """Forget the oldest until as many are left, or all that are left have room."""
        while len(self._entries) > most and (self._size is None or self._taken > self._room):
            _, (_, _, size) = self._entries.popitem(last=False)
            self._taken -= size
