"""A plain run without times: the reference for deadlock, and the check where timing decides."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from typing import Any

import numpy as np

from parcast.program.matching.columns import CODE, Columns, attended
from parcast.program.matching.tasks import sent_by_tasks
from parcast.program.source.operations import ANY, RECEIVES, SENDS

_SENDS, _RECEIVES = ({CODE[name] for name in names} for names in (SENDS, RECEIVES))


def sweep(columns: Columns, eager_limit: float) -> list[int]:
    """Return the operations that processes are stuck in for ever, by rank; none if all end.

    Each process runs until it must wait. As only timing tells which message a `recv(ANY)`
    takes, the k-th that is posted lets the k-th sender of each rank go on: who is stuck then is
    stuck in any order. Collectives must be expanded.
    """
    messages = _Messages(columns, eager_limit)
    at, ends = columns.offsets[:-1].tolist(), columns.offsets[1:].tolist()
    started = [-1] * len(at)
    ready = deque(range(len(at)))
    while ready:
        rank = ready.popleft()
        while at[rank] < ends[rank]:
            if started[rank] != at[rank]:
                started[rank] = at[rank]
                ready.extend(messages.start(at[rank], rank))
            if not messages.over(at[rank]):
                break
            at[rank] += 1
    return [operation for operation, end in zip(at, ends, strict=True) if operation < end]


class _Messages:
    """The sends and receives that have no partner so far, first come first served."""

    def __init__(self, columns: Columns, eager_limit: float) -> None:
        self.op, self.dst, self.src = columns.op.data, columns.dst.data, columns.src.data
        self.tag = columns.tag.data
        self.late = (columns.amount > eager_limit).data
        self.rank_of = np.repeat(np.arange(len(columns.offsets) - 1), np.diff(columns.offsets)).data
        self.taken, self.received = bytearray(len(self.op)), bytearray(len(self.op))
        self.sends: dict[Any, deque[int]] = defaultdict(deque)
        self.receives: dict[Any, deque[int]] = defaultdict(deque)
        wild = np.flatnonzero(columns.src == ANY)
        owners, tags = columns.rank_of(wild).tolist(), columns.tag[wild].tolist()
        self.wild = set(zip(owners, tags, strict=True))
        self.posted: dict[Any, int] = defaultdict(int)  # wildcards of a channel
        self.asked: dict[Any, int] = defaultdict(int)  # late messages to them, of each rank
        self.asking: dict[Any, list[int]] = defaultdict(list)  # sends that wait for the n-th
        self.requests: dict[int, list[int]] = defaultdict(list)
        pairs = zip(columns.wait_op.tolist(), columns.wait_request.tolist(), strict=True)
        for wait, request in pairs:
            self.requests[wait].append(request)
        self.pools = {
            id_: (number, columns.unrolled.pools[number])
            for id_ in np.flatnonzero(columns.op == CODE["pool"]).tolist()
            for number in (columns.unrolled.blocks[int(columns.order[id_])].arguments["pool"],)
        }
        self.dealt: set[int] = set()  # pools whose tasks are done
        self.begun: set[int] = set()  # operations that wait for each other in pools
        self.needs: dict[int, list[int]] = defaultdict(list)
        for waiting, needed in zip(*(ids.tolist() for ids in attended(columns)), strict=True):
            self.needs[waiting].append(needed)

    def start(self, x: int, rank: int) -> Iterator[int]:
        """Begin an operation; yield the ranks of those that got a partner by it."""
        if x in self.needs:
            self.begun.add(x)
            yield from (self.rank_of[other] for other in self.needs[x])
        if self.op[x] == CODE["pool"]:
            yield from self._tasks(x)
        if self.op[x] in _SENDS:
            channel = self._channel(rank, self.dst[x], self.tag[x])
            if channel[0] == ANY and self.late[x]:
                self._ask(x, rank, channel)
            if self.receives[channel]:
                yield self._pair(x, self.receives[channel].popleft())
            else:
                self.sends[channel].append(x)
        if self.op[x] in _RECEIVES:
            channel = self._channel(self.src[x], rank, self.tag[x])
            if channel[0] == ANY:
                self.posted[channel] += 1
                for send in self.asking.pop((channel, self.posted[channel]), ()):
                    self.taken[send] = 1
                    yield self.rank_of[send]
            if self.sends[channel]:
                send = self.sends[channel].popleft()
                self._pair(send, x)
                yield self.rank_of[send]
            else:
                self.receives[channel].append(x)

    def _tasks(self, x: int) -> Iterator[int]:
        """Let the messages of tasks be sent, once there is somebody to do them."""
        number, pool = self.pools[x]
        waits = pool.master is not None and not self.begun.intersection(self.needs[x])
        if waits or number in self.dealt:
            return
        self.dealt.add(number)
        for (to, tag), count in sent_by_tasks(pool).items():
            channel = ANY, to, tag
            for _ in range(count):
                if self.receives[channel]:
                    yield self._pair(x, self.receives[channel].popleft())
                else:
                    self.sends[channel].append(x)

    def _ask(self, x: int, rank: int, channel: Any) -> None:
        """Let a sender go on if a wildcard may have taken its message, or note that it waits."""
        self.asked[channel, rank] += 1
        if self.asked[channel, rank] <= self.posted[channel]:
            self.taken[x] = 1
        else:
            self.asking[channel, self.asked[channel, rank]].append(x)

    def _channel(self, source: int, to: int, tag: int) -> tuple[int, int, int]:
        return (ANY if (to, tag) in self.wild else source), to, tag

    def _pair(self, send: int, receive: int) -> int:
        self.received[receive] = 1
        self.taken[send] |= self.src[receive] != ANY
        return self.rank_of[receive]

    def over(self, x: int) -> bool:
        """Return whether an operation that has begun can end."""
        if x in self.needs:
            return self.begun.issuperset(self.needs[x])
        if self.op[x] in (CODE["wait"], CODE["waitall"]):
            return all(map(self._met, self.requests[x]))
        return self.op[x] in (CODE["isend"], CODE["irecv"]) or self._met(x)

    def _met(self, x: int) -> bool:
        sent = self.taken[x] or not self.late[x] or self.op[x] not in _SENDS
        return bool(sent and (self.received[x] or self.op[x] not in _RECEIVES))
