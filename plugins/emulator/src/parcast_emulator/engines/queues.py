"""The event heap, the queues of servers and the pool of messages of the merge engine."""

from __future__ import annotations

from typing import Any

from parcast_emulator.compilation import step

# Arguments are untyped: ``state`` is the named tuple `parcast_emulator.engines.state.State`.

#: Entries of ``state.scalars``: events in the heap, and free messages in the pool.
HEAP, POOL = range(2)

#: The end of a list, and no block, message or node.
NONE = -1

#: Codes of events: the kind above, the server below.
KIND = 1 << 40


@step
def push(state: Any, time: float, kind: int, server: int, tie: int) -> Any:
    """Put an event into the heap; return where. ``tie`` orders the ends of one disk at one time."""
    at, code, heap = state.scalars[HEAP], kind * KIND + int(server), state.heap
    state.scalars[HEAP] += 1
    while at > 0:
        up = (at - 1) >> 1
        if not before(time, code, tie, heap, up):
            break
        heap[at] = heap[up]
        at = up
    heap.time[at], heap.code[at], heap.tie[at] = time, code, tie
    return at


@step
def before(time: float, code: int, tie: int, heap: Any, at: int) -> Any:
    """Tell whether an event comes before one of the heap."""
    if time != heap.time[at]:
        return time < heap.time[at]
    if code != heap.code[at]:
        return code < heap.code[at]
    return tie < heap.tie[at]


@step
def pop(state: Any) -> None:
    """Take the first event out of the heap."""
    state.scalars[HEAP] -= 1
    settle(state.heap, 0, state.scalars[HEAP])


@step
def settle(heap: Any, at: int, count: int) -> None:
    """Put the event behind so many others into a free slot, or one below it."""
    time, code, tie = heap.time[count], heap.code[count], heap.tie[count]
    down = 2 * at + 1
    while down < count:
        sibling = down + 1
        if sibling < count and before(
            heap.time[sibling], heap.code[sibling], heap.tie[sibling], heap, down
        ):
            down = sibling
        if before(time, code, tie, heap, down):
            break
        heap[at] = heap[down]
        at, down = down, 2 * down + 1
    heap[at] = heap[count]


@step
def append(heads: Any, tails: Any, server: int, item: int, links: Any) -> None:
    """Append a block or a message to a server's queue."""
    links[item] = NONE
    if heads[server] == NONE:
        heads[server] = item
    else:
        links[tails[server]] = item
    tails[server] = item


@step
def message(state: Any, block: int, target: int, time: float) -> Any:
    """Take a message from the pool."""
    state.scalars[POOL] -= 1
    item = state.pool[state.scalars[POOL]]
    state.message.block[item], state.message.target[item], state.message.time[item] = (
        block,
        target,
        time,
    )
    return item
