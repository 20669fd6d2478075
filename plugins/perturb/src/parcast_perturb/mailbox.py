"""Messages and receives of one rank that have no partner yet, found without looking at all."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

from parcast_traces.readers.schedules import ANY

T = TypeVar("T")

#: A source and a tag; `ANY` stands for all.
Key = tuple[int, int]


class Mailbox(Generic[T]):
    """What waits, in the order in which it came, under one or several keys each."""

    def __init__(self) -> None:
        self._count = 0
        self._waiting: dict[int, T] = {}
        self._by_key: dict[Key, deque[int]] = defaultdict(deque)

    def __iter__(self) -> Iterator[T]:
        return iter(self._waiting.values())

    def add(self, item: T, keys: Iterable[Key]) -> None:
        """Let something wait under some keys."""
        self._waiting[self._count] = item
        for key in keys:
            self._by_key[key].append(self._count)
        self._count += 1

    def take(self, keys: Iterable[Key]) -> T | None:
        """Take what came first of all that waits under one of these keys, if anything does."""
        heads = (self._head(key) for key in keys)
        first = min((head for head in heads if head is not None), default=None)
        return None if first is None else self._waiting.pop(first)

    def _head(self, key: Key) -> int | None:
        queue = self._by_key.get(key)
        while queue and queue[0] not in self._waiting:  # it was taken under another key
            queue.popleft()
        return queue[0] if queue else None


def receive_keys(source: int, tag: int) -> tuple[Key, ...]:
    """Return the keys of all receives that may take a message from a source with a tag."""
    return tuple({(source, tag), (ANY, tag), (source, ANY), (ANY, ANY)})
