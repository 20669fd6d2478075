"""Plans: what each rank does, in words that its process follows without this package's core."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import attrs
import numpy as np

from parcast import InvalidPointError
from parcast.program import Operation, Unrolled
from parcast.program.matching import find_collectives, groups, groups_and_bytes, is_collective
from parcast.program.source import COLLECTIVES, SENDS, VECTOR_COLLECTIVES
from parcast.program.unroll import Pool

#: Collectives that have a block for each process in a buffer.
_BLOCKS = frozenset({"gather", "scatter", "allgather", "alltoall", "reduce_scatter"})

#: Largest tag that every MPI library takes.
MOST_TAG = 32767


@attrs.frozen
class Plan:
    """What all ranks do; amounts are whole bytes, requests places in a rank's own slots."""

    steps: list[list[list[Any]]]  #: of each rank: an operation's name, its site, its arguments
    groups: list[list[int]]  #: ranks of each communicator, in the order in which they are made
    receive: list[int]  #: of each rank the bytes of its largest message
    lines: list[str]  #: of each site
    pools: list[dict[str, Any]]  #: ``bytes`` of each task, and its ``steps``

    def of(self, rank: int) -> dict[str, Any]:
        """Return what one rank is told."""
        return {
            "steps": self.steps[rank],
            "groups": [[place, g] for place, g in enumerate(self.groups) if rank in g],
            "receive": self.receive[rank],
            "lines": self.lines,
            "pools": self.pools,
        }

    def memory(self) -> int:
        """Return how many bytes the buffers of all ranks need at most."""
        return sum(map(self._memory, range(len(self.steps))))

    def _memory(self, rank: int) -> int:
        """Return the bytes of a rank: to send, to receive, and for every receive in flight."""
        steps, size = self.steps[rank], len(self.steps)
        slots = {given[-1] for op, _, given in steps if op == "irecv"}
        sent = [given[1] for op, _, given in steps if op in SENDS]
        together = [
            max(given[0]) * size
            if op in VECTOR_COLLECTIVES
            else given[0] * (size if op in _BLOCKS else 1)
            for op, _, given in steps
            if op in COLLECTIVES
        ]
        largest = max([0, *together])
        receive: int = max(largest, self.receive[rank])
        most: int = max([largest, *sent])
        fetched = max((amount for pool in self.pools for amount in pool["bytes"]), default=0)
        return most + receive + len(slots) * self.receive[rank] + fetched * (2 if rank == 0 else 1)


def plan(unrolled: Unrolled, *, blocking: bool = False) -> Plan:
    """Return the plan of an unrolled program whose collectives are not expanded.

    Fractions of bytes are rounded to the nearest whole; tags up to `MOST_TAG` are kept. Reads
    that the program marks (``ahead``) are under way beside other work, unless ``blocking``.

    Raises
    ------
    InvalidPointError
        If MPI has no such tag.
    """
    made: dict[tuple[int, ...], int] = {}
    colored, unequal = _groups_of_colors(unrolled, made), _bytes_of_groups(unrolled)
    steps: list[list[list[Any]]] = []
    for rank, operations in enumerate(unrolled.by_rank()):
        mine = iter(colored[rank]), iter(unequal[rank])
        steps.append(list(_steps(unrolled, operations, *mine, blocking=blocking)))
    lines = [unrolled.line(site) for site in range(len(unrolled.sites))]
    pools = [_pool(one) for one in unrolled.pools]
    return Plan(steps, [list(group) for group in made], _largest(unrolled), lines, pools)


def _pool(pool: Pool) -> dict[str, Any]:
    amounts = np.broadcast_to(pool.bytes, pool.tasks).tolist()
    none: Iterator[Any] = iter(())
    tasks = [list(_steps(pool.work, one, none, none)) for one in pool.work.by_rank()]
    return {"bytes": [whole(amount) for amount in amounts], "steps": tasks}


def _groups_of_colors(unrolled: Unrolled, made: dict[tuple[int, ...], int]) -> list[list[int]]:
    """Return of each rank the communicators of its colored collectives, in their order."""
    found: list[list[int]] = [[] for _ in range(unrolled.size)]
    for block in unrolled.blocks:
        if is_collective(block) and block.arguments.get("color") is not None:
            ranks = unrolled.ranks_of(block)
            among = groups(ranks, block.arguments["color"])
            first = np.broadcast_to(among.first, len(ranks))
            size = np.broadcast_to(among.size, len(ranks))
            for lane, rank in enumerate(ranks.tolist()):
                members = among.members[first[lane] : first[lane] + size[lane]]
                found[rank].append(made.setdefault(tuple(members.tolist()), len(made)))
    return found


def _bytes_of_groups(unrolled: Unrolled) -> list[list[list[int]]]:
    """Return of each rank the bytes of all in the group, of its collectives of unlike bytes."""
    found: list[list[tuple[int, list[int]]]] = [[] for _ in range(unrolled.size)]
    if not any(block.op in VECTOR_COLLECTIVES for block in unrolled.blocks):
        return [[] for _ in found]
    for call in find_collectives(unrolled):
        if call[0].block.op not in VECTOR_COLLECTIVES:
            continue
        among, amount = groups_and_bytes(call)
        every = np.broadcast_to(amount, among.ranks.shape)
        first, size = (np.broadcast_to(one, every.shape) for one in (among.first, among.size))
        place = {rank: arrival.ordinal for arrival in call for rank in arrival.ranks.tolist()}
        for lane, rank in enumerate(among.ranks.tolist()):
            members = among.members[first[lane] : first[lane] + size[lane]]
            of_group = every[np.searchsorted(among.ranks, members)].tolist()
            found[rank].append((place[rank], [whole(one) for one in of_group]))
    return [[amounts for _, amounts in sorted(one, key=lambda at: at[0])] for one in found]


def _steps(  # noqa: PLR0912  (a branch for each operation)
    unrolled: Unrolled,
    operations: Sequence[Operation],
    colored: Iterator[int],
    unequal: Iterator[list[int]],
    *,
    blocking: bool = True,
) -> Iterator[list[Any]]:
    """Yield the steps of one rank; a request gets the lowest slot that is free."""
    slots: dict[int, int] = {}  # by the place of the operation that made the request
    for place, one in enumerate(operations):
        given = one.arguments
        arguments: list[Any] = []
        match one.op:
            case "pool":
                arguments = [given["pool"]]
            case "compute":
                arguments = [float(given["flops"]), float(given["bytes"])]
            case "elapse":
                arguments = [float(given["seconds"])]
            case "send":
                arguments = [given["dst"], whole(given["bytes"]), _tag(unrolled, one)]
            case "isend" | "irecv":
                slot = slots[place] = _lowest(slots)
                peer = [given["dst"], whole(given["bytes"])] if "dst" in given else [given["src"]]
                arguments = [*peer, _tag(unrolled, one), slot]
            case "recv":
                arguments = [given["src"], _tag(unrolled, one)]
            case "sendrecv":
                tag = _tag(unrolled, one)
                arguments = [given["dst"], whole(given["bytes"]), given["src"], tag]
            case "wait" | "waitall":
                arguments = [[slots.pop(request) for request in one.requests]]
            case "read" | "write":
                ahead = bool(given.get("ahead", False)) and not blocking
                together = bool(given["collective"])
                arguments = [whole(given["bytes"]), given["file"], together, ahead]
            case "region" | "start":
                pass
            case _:
                group = None if given["color"] is None else next(colored)
                own, root = whole(given.get("bytes", 0)), int(given.get("root", 0))
                amount = next(unequal) if one.op in VECTOR_COLLECTIVES else own
                arguments = [amount, root, group]
        if one.op != "region":
            yield [one.op, one.site, arguments]


def whole(amount: float) -> int:
    """Return a number of bytes, rounded to the nearest whole one."""
    return math.floor(amount + 0.5)


def _lowest(slots: dict[int, int]) -> int:
    taken = set(slots.values())
    return next(slot for slot in range(len(taken) + 1) if slot not in taken)


def _tag(unrolled: Unrolled, one: Operation) -> int:
    tag = int(one.arguments["tag"])
    if tag > MOST_TAG:
        raise InvalidPointError(
            f"{unrolled.line(one.site)}: {one.op} has the tag {tag}; MPI libraries need only know "
            f"tags up to {MOST_TAG}: use smaller ones"
        )
    return tag


def _largest(unrolled: Unrolled) -> list[int]:
    """Return of each rank the bytes of the largest message that is sent to it."""
    largest = np.zeros(unrolled.size)
    for block in unrolled.blocks:
        if block.op in SENDS:
            np.maximum.at(largest, block.arguments["dst"], block.arguments["bytes"])
    return [whole(amount) for amount in largest.tolist()]
