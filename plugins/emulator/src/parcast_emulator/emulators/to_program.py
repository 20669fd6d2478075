"""An emulated application as a program of p processes, for the families that take programs.

Each process takes its blocks one by one: it reads one, sends it to its consumers, computes on it,
and then receives, from sender after sender, the blocks that the others sent it in their same turn.
Reads are marked ``ahead``: a real run has them under way before a process comes to them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np

from parcast import Query, UnsupportedError, Workload
from parcast.model import place
from parcast.program import Block, Program, Site, Unrolled
from parcast_emulator.blocks import Blocks
from parcast_emulator.cluster import Cluster, Hardware, make_cluster

#: Larger programs take minutes to make and to check.
MOST_OPERATIONS = 1_000_000

READ, SEND, OWN, RECEIVE, COMPUTE, BARRIER = range(6)
_SITES = tuple(
    map(
        Site,
        ("read a block", "send it", "compute on it", "receive a block", "compute on what came",
         "end of an epoch"),
    )
)  # fmt: skip

_NOTES = (
    "too high: each process waits for its reads, which a real run overlaps with other work",
    "blocks are received in the order of their senders, not of arrival, which may add waiting",
)
_EPOCHS = "a barrier separates the epochs, and its messages add to the time"


def program(workload: Workload, query: Query) -> tuple[Workload, tuple[str, ...]]:
    """Return an ``emulator`` workload as a recorded program of the query's p processes.

    Raises
    ------
    UnsupportedError
        If it has more operations than others can look at one by one.
    """
    unrolled, epochs = query.once("emulator as a program", _unrolled)
    content = Program(None, unrolled)
    notes = (*_NOTES, _EPOCHS) if epochs > 1 else _NOTES
    return attrs.evolve(workload, kind="program", content=content, processes=query.p), notes


def _unrolled(query: Query) -> tuple[Unrolled, int]:
    """Return the operations of all processes, and the number of epochs."""
    if query.workload.content.writing(query) is not False:
        raise UnsupportedError(
            f"{query.workload.name} writes, which is simulated in reverse time, and a program runs "
            "forward only; use emulator.lc"
        )
    cluster = make_cluster([[0] * query.d] * query.p, Hardware())
    operations: list[Block] = []
    total = epochs = 0
    for blocks in query.workload.content.epochs(query, cluster):
        total += len(blocks.disk) + 3 * int(blocks.consumers.counts().sum())
        if total > MOST_OPERATIONS:
            raise UnsupportedError(
                f"{query.workload.name} at p={query.p} is a program of over {MOST_OPERATIONS:,} "
                "operations; use a smaller p, fewer blocks, or emulator.lc"
            )
        if epochs:
            operations.append(Block(BARRIER, "barrier", None, {"color": None}))
        operations += _epoch(blocks, cluster, place(query).speed)
        epochs += 1
    return Unrolled(query.p, operations, _SITES, query.workload.name), epochs


def _epoch(blocks: Blocks, cluster: Cluster, speed: Any) -> Iterator[Block]:
    """Yield what all processes do in an epoch, a turn after another."""
    node = cluster.node_of[blocks.disk].astype(np.int64)
    order = np.argsort(node, kind="stable")
    turn = np.empty(len(node), np.int64)
    first = np.searchsorted(node[order], node[order])
    turn[order] = np.arange(len(node)) - first
    lists = blocks.consumers.as_lists()
    counts = np.diff(lists.start)
    of = np.repeat(np.arange(len(node)), counts)
    table = _Messages(block=of, sender=node[of], target=lists.nodes.astype(np.int64), turn=turn[of])
    by_turn = np.argsort(turn * len(cluster.speed) + node, kind="stable")
    cuts = np.searchsorted(turn[by_turn], np.arange(int(turn.max(initial=-1)) + 2))
    parts = table.by_turn(len(cuts) - 1)
    size = np.broadcast_to(blocks.size, node.shape)
    seconds = np.broadcast_to(blocks.compute, node.shape)
    for index, part in enumerate(parts):
        reading = by_turn[cuts[index] : cuts[index + 1]]
        arguments = {"bytes": size[reading], "file": "own", "collective": False, "ahead": True}
        yield Block(READ, "read", node[reading], arguments)
        yield from _turn(part, size, seconds, speed)


@attrs.frozen(eq=False)
class _Messages:
    """Who gets which block, in the order in which blocks and their consumers are listed."""

    block: Any
    sender: Any
    target: Any
    turn: Any

    def take(self, chosen: Any) -> _Messages:
        return _Messages(*(column[chosen] for column in attrs.astuple(self, recurse=False)))

    def by_turn(self, turns: int) -> list[_Messages]:
        order = np.argsort(self.turn, kind="stable")
        cuts = np.searchsorted(self.turn[order], np.arange(1, turns))
        return [self.take(part) for part in np.split(order, cuts)] if turns else []


def _turn(part: _Messages, size: Any, seconds: Any, speed: Any) -> Iterator[Block]:
    """Yield the sends, the computation on own blocks, and then what is received."""
    away = part.take(part.target != part.sender)
    for sends in _nth(away, away.sender):
        arguments = {"dst": sends.target, "bytes": size[sends.block], "tag": 0}
        yield Block(SEND, "isend", sends.sender, arguments)
    local = part.take(part.target == part.sender)
    if len(local.block):
        local = local.take(np.argsort(local.sender))
        working = seconds[local.block] / speed[local.sender]
        yield Block(OWN, "elapse", local.sender, {"seconds": working})
    for receives in _nth(away.take(np.argsort(away.sender, kind="stable")), None):
        yield Block(RECEIVE, "recv", receives.target, {"src": receives.sender, "tag": 0})
        working = seconds[receives.block] / speed[receives.target]
        yield Block(COMPUTE, "elapse", receives.target, {"seconds": working})


def _nth(messages: _Messages, by: Any) -> Iterator[_Messages]:
    """Yield the first message of every process, then the second ones, by rising rank.

    A process's are those that it sends, or, where nothing is given, that it receives.
    """
    key = messages.target if by is None else by
    order = np.argsort(key, kind="stable")
    listed = key[order]
    nth = np.arange(len(listed)) - np.searchsorted(listed, listed)
    for rank_among in range(int(nth.max(initial=-1)) + 1):
        yield messages.take(order[nth == rank_among])
