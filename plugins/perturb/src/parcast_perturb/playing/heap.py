"""Heaps of messages in arrays: the least key at the top, of equal keys the lowest number."""

from __future__ import annotations

from typing import Any

from parcast_traces.compilation import step


@step
def comes_before(keys: Any, first: int, second: int) -> Any:
    """Return whether a message comes before another one."""
    if keys[first] != keys[second]:
        return keys[first] < keys[second]
    return first < second


@step
def push(heap: Any, count: int, keys: Any, message: int) -> None:
    """Put in a message, which is then one of ``count + 1``."""
    at = count
    while at > 0:
        above = (at - 1) >> 1
        if not comes_before(keys, message, heap[above]):
            break
        heap[at] = heap[above]
        at = above
    heap[at] = message


@step
def pop(heap: Any, count: int, keys: Any) -> Any:
    """Take out the first of so many."""
    first, last, at = heap[0], heap[count - 1], 0
    below = 1
    while below < count - 1:
        if below + 1 < count - 1 and comes_before(keys, heap[below + 1], heap[below]):
            below += 1
        if comes_before(keys, last, heap[below]):
            break
        heap[at] = heap[below]
        at, below = below, 2 * below + 1
    heap[at] = last
    return first
