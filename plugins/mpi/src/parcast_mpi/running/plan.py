"""Plans: what each rank does, in words that its process follows without this package's core."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import attrs
import numpy as np

from parcast import InvalidPointError, UnsupportedError
from parcast.program import Operation, Unrolled
from parcast.program.matching import find_collectives, groups, groups_and_bytes
from parcast.program.source import COLLECTIVES, SENDS, VECTOR_COLLECTIVES
from parcast.program.unroll import Pool, is_collective

#: Collectives that have a block for each process in a buffer.
_BLOCKS = frozenset({"gather", "scatter", "allgather", "alltoall", "reduce_scatter"})

#: Largest tag that every MPI library takes.
MOST_TAG = 32767


@attrs.frozen
class Plan:
    """What all ranks do; amounts are whole bytes, requests indices of a rank's own slots."""

    steps: list[list[list[Any]]]  #: of each rank: an operation's name, its site, its arguments
    groups: list[list[int]]  #: ranks of each communicator, in the order in which they are made
    receive: list[int]  #: of each rank the bytes of its largest message
    lines: list[str]  #: of each site
    pools: list[dict[str, Any]]  #: ``bytes`` of each task, and its ``steps``

    def of(self, rank: int) -> dict[str, Any]:
        """Return what one rank is told."""
        return {
            "steps": self.steps[rank],
            "groups": [[number, g] for number, g in enumerate(self.groups) if rank in g],
            "receive": self.receive[rank],
            "lines": self.lines,
            "pools": self.pools,
        }

    def memory(self) -> int:
        """Return how many bytes the buffers of all ranks need at most."""
        return sum(map(self._memory, range(len(self.steps))))

    def _memory(self, rank: int) -> int:
        """Return the bytes of a rank: to send, to receive, and for every receive in flight."""
        steps, size, receive = self.steps[rank], len(self.steps), self.receive[rank]
        slots = {arguments[-1] for op, _, arguments in steps if op == "irecv"}
        sent = [arguments[1] for op, _, arguments in steps if op in SENDS]
        buffers = [_buffer(op, arguments, size) for op, _, arguments in steps]
        largest = max([0, *buffers])
        fetched = max((amount for pool in self.pools for amount in pool["bytes"]), default=0)
        messages: int = max([largest, *sent]) + max(largest, receive) + len(slots) * receive
        return messages + fetched * (2 if rank == 0 else 1)


def _buffer(op: str, arguments: list[Any], size: int) -> int:
    """Return the bytes of a collective's larger buffer, 0 for other operations."""
    if op not in COLLECTIVES:
        return 0
    if op in VECTOR_COLLECTIVES:
        return int(max(arguments[0])) * size
    return int(arguments[0]) * (size if op in _BLOCKS else 1)


def plan(unrolled: Unrolled, *, blocking: bool = False) -> Plan:
    """Return the plan of an unrolled program whose collectives are not expanded.

    Fractions of bytes are rounded to the nearest whole; tags up to `MOST_TAG` are kept. Reads
    that the program marks (``ahead``) are under way beside other work, unless ``blocking``.

    Raises
    ------
    InvalidPointError
        If MPI has no such tag.
    """
    numbers: dict[tuple[int, ...], int] = {}
    colored, unequal = _groups_of_colors(unrolled, numbers), _bytes_of_groups(unrolled)
    steps = [
        _Steps(unrolled, colored[rank], unequal[rank]).of(operations, blocking=blocking)
        for rank, operations in enumerate(unrolled.by_rank())
    ]
    lines = [unrolled.line(site) for site in range(len(unrolled.sites))]
    if any(pool.master is not None for pool in unrolled.pools):
        raise UnsupportedError(
            f"{unrolled.where}: a process attends to a pool (master=), which mpi.run does not "
            "play; leave master= out, or deal the tasks by recv(ANY)"
        )
    if any(block.op == "send" for pool in unrolled.pools for block in pool.work.blocks):
        raise UnsupportedError(
            f"{unrolled.where}: tasks of a pool send messages, which mpi.run does not play; "
            "collect results after the pool"
        )
    pools = [_pool(pool) for pool in unrolled.pools]
    return Plan(steps, [list(members) for members in numbers], _largest(unrolled), lines, pools)


def _pool(pool: Pool) -> dict[str, Any]:
    amounts = np.broadcast_to(pool.bytes, pool.tasks).tolist()
    tasks = [_Steps(pool.work, (), ()).of(operations) for operations in pool.work.by_rank()]
    return {"bytes": [whole(amount) for amount in amounts], "steps": tasks}


def _groups_of_colors(unrolled: Unrolled, numbers: dict[tuple[int, ...], int]) -> list[list[int]]:
    """Return of each rank the communicators of its colored collectives, in their order.

    Each gets a number, which is added to ``numbers`` by its members.
    """
    by_rank: list[list[int]] = [[] for _ in range(unrolled.size)]
    for block in unrolled.blocks:
        if is_collective(block) and block.arguments.get("color") is not None:
            ranks = unrolled.ranks_of(block)
            among = groups(ranks, block.arguments["color"])
            first = np.broadcast_to(among.first, len(ranks))
            size = np.broadcast_to(among.size, len(ranks))
            for lane, rank in enumerate(ranks.tolist()):
                members = among.members[first[lane] : first[lane] + size[lane]].tolist()
                by_rank[rank].append(numbers.setdefault(tuple(members), len(numbers)))
    return by_rank


def _bytes_of_groups(unrolled: Unrolled) -> list[list[list[int]]]:
    """Return of each rank the bytes of all in the group, of its collectives of unlike bytes."""
    by_rank: list[list[tuple[int, list[int]]]] = [[] for _ in range(unrolled.size)]
    if not any(block.op in VECTOR_COLLECTIVES for block in unrolled.blocks):
        return [[] for _ in by_rank]
    for call in find_collectives(unrolled):
        if call[0].block.op not in VECTOR_COLLECTIVES:
            continue
        among, amount = groups_and_bytes(call)
        amounts = np.broadcast_to(amount, among.ranks.shape)
        first, size = (np.broadcast_to(x, amounts.shape) for x in (among.first, among.size))
        ordinals = {rank: arrival.ordinal for arrival in call for rank in arrival.ranks.tolist()}
        for lane, rank in enumerate(among.ranks.tolist()):
            members = among.members[first[lane] : first[lane] + size[lane]]
            of_group = amounts[np.searchsorted(among.ranks, members)].tolist()
            by_rank[rank].append((ordinals[rank], [whole(amount) for amount in of_group]))
    return [
        [amounts for _, amounts in sorted(entries, key=lambda at: at[0])] for entries in by_rank
    ]


class _Steps:
    """The steps of one rank; a request gets the lowest slot that is free."""

    def __init__(
        self, unrolled: Unrolled, colored: Iterable[int], unequal: Iterable[list[int]]
    ) -> None:
        self.unrolled = unrolled
        self.colored, self.unequal = iter(colored), iter(unequal)
        self.slots: dict[int, int] = {}  # by the index of the operation that made the request

    def of(self, operations: Sequence[Operation], *, blocking: bool = True) -> list[list[Any]]:
        """Return an operation's name, its site and its arguments, of each."""
        return [
            [operation.op, operation.site, self._arguments(index, operation, blocking=blocking)]
            for index, operation in enumerate(operations)
            if operation.op != "region"
        ]

    def _arguments(self, index: int, operation: Operation, *, blocking: bool) -> list[Any]:
        fields = operation.arguments
        match operation.op:
            case "pool":
                return [fields["pool"]]
            case "compute":
                return [float(fields["flops"]), float(fields["bytes"])]
            case "elapse":
                return [float(fields["seconds"])]
            case "start":
                return []
            case "send":
                return [fields["dst"], whole(fields["bytes"]), self._tag(operation)]
            case "isend":
                sent = [fields["dst"], whole(fields["bytes"])]
                return [*sent, self._tag(operation), self._slot(index)]
            case "irecv":
                return [fields["src"], self._tag(operation), self._slot(index)]
            case "recv":
                return [fields["src"], self._tag(operation)]
            case "sendrecv":
                sent = [fields["dst"], whole(fields["bytes"])]
                return [*sent, fields["src"], self._tag(operation)]
            case "wait" | "waitall":
                return [[self.slots.pop(request) for request in operation.requests]]
            case "read" | "write":
                ahead = bool(fields.get("ahead", False)) and not blocking
                return [whole(fields["bytes"]), fields["file"], bool(fields["collective"]), ahead]
        group = None if fields["color"] is None else next(self.colored)
        unequal = operation.op in VECTOR_COLLECTIVES
        amount = next(self.unequal) if unequal else whole(fields.get("bytes", 0))
        return [amount, int(fields.get("root", 0)), group]

    def _slot(self, index: int) -> int:
        used = set(self.slots.values())
        slot = next(slot for slot in range(len(used) + 1) if slot not in used)
        self.slots[index] = slot
        return slot

    def _tag(self, operation: Operation) -> int:
        tag = int(operation.arguments["tag"])
        if tag > MOST_TAG:
            raise InvalidPointError(
                f"{self.unrolled.line(operation.site)}: {operation.op} has the tag {tag}; MPI "
                f"libraries need only know tags up to {MOST_TAG}: use smaller ones"
            )
        return tag


def whole(amount: float) -> int:
    """Return a number of bytes, rounded to the nearest whole one."""
    return math.floor(amount + 0.5)


def _largest(unrolled: Unrolled) -> list[int]:
    """Return of each rank the bytes of the largest message that is sent to it."""
    largest = np.zeros(unrolled.size)
    for block in unrolled.blocks:
        if block.op in SENDS:
            np.maximum.at(largest, block.arguments["dst"], block.arguments["bytes"])
    return [whole(amount) for amount in largest.tolist()]
