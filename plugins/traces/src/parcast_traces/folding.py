"""Folding: operations of many ranks and many iterations as few blocks, nothing of them changed.

Ranks that do the same operation share its block, and blocks that say the same, as those of the
iterations of a loop do, are one object. Computation that took longer in one iteration than in
another stays a block of its own.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from heapq import heappop, heappush
from itertools import chain
from typing import Any

import attrs
import numpy as np

from parcast.errors import UnsupportedError
from parcast.program import Block, Request, Site, Unrolled
from parcast.program.matching import NONE, OPS
from parcast.program.source import COLLECTIVES
from parcast_traces.trace.columns import Floats, Ints

#: The arguments of operations, by the column of `Table` that holds them.
_ARGUMENTS: Mapping[str, Mapping[str, str]] = {
    "compute": {"flops": "amount"},
    "elapse": {"seconds": "amount"},
    "send": {"dst": "dst", "bytes": "amount", "tag": "tag"},
    "isend": {"dst": "dst", "bytes": "amount", "tag": "tag"},
    "recv": {"src": "src", "tag": "tag"},
    "irecv": {"src": "src", "tag": "tag"},
    "sendrecv": {"dst": "dst", "bytes": "amount", "src": "src", "tag": "tag"},
    "bcast": {"bytes": "amount", "root": "root"},
    "reduce": {"bytes": "amount", "root": "root"},
    "gather": {"bytes": "amount", "root": "root"},
    "scatter": {"bytes": "amount", "root": "root"},
    "allreduce": {"bytes": "amount"},
    "allgather": {"bytes": "amount"},
    "alltoall": {"bytes": "amount"},
    "reduce_scatter": {"bytes": "amount"},
    "scan": {"bytes": "amount"},
    "gatherv": {"bytes": "amount", "root": "root"},
    "scatterv": {"bytes": "amount", "root": "root"},
    "allgatherv": {"bytes": "amount"},
    "alltoallv": {"bytes": "amount"},
}
_FIXED: Mapping[str, Mapping[str, Any]] = {"compute": {"bytes": 0}}

_COLUMNS = ("dst", "src", "amount", "tag", "root")


@attrs.frozen(eq=False, kw_only=True)
class Table:
    """The operations of all ranks, each rank's in one stretch; a row for each."""

    offsets: Ints  #: p + 1 of them
    op: Ints  #: a position in `parcast.program.matching.columns.OPS`
    site: Ints
    dst: Ints
    src: Ints
    amount: Floats  #: bytes, flops or seconds
    tag: Ints
    root: Ints
    group: Ints  #: the communicator of a collective of some ranks; `NONE` for all others
    beside: Ints  #: of what elapses: beside the collective before it (-1), after it (1), or none
    pace: tuple[float, float]  #: seconds of a message, and of each of its bytes
    wait: Ints  #: a wait, rising, once for each request that it waits for
    request: Ints  #: the operation that made it

    @property
    def size(self) -> int:
        """The number of ranks."""
        return len(self.offsets) - 1

    @property
    def rank(self) -> Ints:
        """The rank of each operation."""
        return np.repeat(np.arange(self.size), np.diff(self.offsets))


def folded(
    table: Table, sites: tuple[Site, ...], where: str, members: Sequence[Sequence[int]]
) -> Unrolled:
    """Return operations as a program, in as few blocks as are found.

    Parameters
    ----------
    table
        The operations.
    sites
        What they are called.
    where
        The file, as errors name it.
    members
        The ranks of each communicator.

    Raises
    ------
    UnsupportedError
        If the ranks of a communicator come to its collectives in different orders.
    """
    ways = [_Folding(table, _items(table, offsets)) for offsets in (False, True)]
    merged = [list(way.merged()) for way in ways]
    best = min((0, 1), key=lambda way: len(merged[way]))
    blocks = ways[best].blocks(merged[best])
    for block in {id(block): block for block in blocks}.values():
        group = block.arguments.get("color")
        count = table.size if block.ranks is None else len(block.ranks)
        if group is not None and count < len(members[group]):
            raise UnsupportedError(
                f"{where}: the ranks of a communicator of {len(members[group])} call "
                f"{block.op}, or wait for it, in different orders, and a program has one order"
            )
    return Unrolled(table.size, blocks, sites, where)


def _coded(*columns: Any) -> Ints:
    """Return a number for each row, the same for rows that are equal in all columns."""
    numbers = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        values, codes = np.unique(column, return_inverse=True)
        _, numbers = np.unique(numbers * len(values) + codes, return_inverse=True)
    return numbers.astype(np.int64)


def _items(table: Table, by_peers: bool) -> Ints:
    """Return what each operation is: ranks meet in a block by doing the same for the n-th time.

    With ``by_peers``, messages of one site to the right and to the left are two things.
    """
    rank, grouped = table.rank, table.group != NONE
    columns = [table.op, np.where(grouped, NONE, table.site), table.group]
    if by_peers:
        for peer in (table.dst, table.src):
            columns += [np.where(peer == NONE, NONE, (peer - rank) % table.size)]
    codes = _coded(*columns)
    order = np.lexsort((np.arange(len(codes)), codes, rank))
    first = np.ones(len(order), bool)
    first[1:] = (np.diff(codes[order]) != 0) | (np.diff(rank[order]) != 0)
    starts = np.flatnonzero(first)
    turn: Ints = np.empty(len(codes), np.int64)
    turn[order] = np.arange(len(order)) - np.repeat(starts, np.diff([*starts, len(order)]))
    return codes * (int(turn.max(initial=0)) + 1) + turn


#: Of a block, each class of ranks that is in it and the position in the class's operations.
_Member = tuple[int, int]


class _Folding:
    """Ranks that do the same operations in the same order, by class, and what they share."""

    def __init__(self, table: Table, items: Ints) -> None:
        self.table, self.items = table, items
        overlaps = (table.beside,) if table.beside.any() else ()
        self.values = _coded(*(getattr(table, name) for name in _COLUMNS), *overlaps)
        self.waits = np.searchsorted(table.wait, table.offsets)
        ranks_by_calls: dict[tuple[bytes, bytes], list[int]] = defaultdict(list)
        for rank in range(table.size):
            ranks_by_calls[items[self._rows(rank)].tobytes(), self._pairs(rank).tobytes()].append(
                rank
            )
        self.classes = [np.array(ranks) for ranks in ranks_by_calls.values()]
        self.ranks_of: dict[tuple[int, ...], Ints] = {}
        self.arrays: dict[bytes, Any] = {}

    def _rows(self, rank: int) -> slice:
        return slice(*self.table.offsets[rank : rank + 2].tolist())

    def _pairs(self, rank: int) -> Ints:
        """Return waits and their requests, as positions in the rank's own list."""
        part, start = slice(*self.waits[rank : rank + 2].tolist()), self.table.offsets[rank]
        pairs: Ints = np.stack([self.table.wait[part], self.table.request[part]]) - start
        return pairs

    def merged(self) -> Iterator[tuple[_Member, ...]]:
        """Yield who is in each block: all that do an operation, where no order is against it."""
        lists = [self.items[self._rows(int(ranks[0]))].tolist() for ranks in self.classes]
        left = Counter(chain.from_iterable(lists))
        at, heads = [0] * len(lists), defaultdict[int, list[int]](list)
        together = set(self.items[self.table.group != NONE].tolist())
        ready: list[tuple[int, int]] = []
        others: list[
            tuple[bool, int, int]
        ] = []  # where orders differ; groups stay whole to the last

        def come(class_number: int) -> None:
            if at[class_number] < len(lists[class_number]):
                item = lists[class_number][at[class_number]]
                heads[item].append(class_number)
                if len(heads[item]) == left[item]:
                    heappush(ready, (at[class_number], item))
                else:
                    heappush(others, (item in together, at[class_number], item))

        for class_number in range(len(lists)):
            come(class_number)
        while ready or others:
            item = heappop(ready)[-1] if ready else heappop(others)[-1]
            if item not in heads:
                continue
            present = sorted(heads.pop(item))
            left[item] -= len(present)
            yield tuple((class_number, at[class_number]) for class_number in present)
            for class_number in present:
                at[class_number] += 1
                come(class_number)

    def blocks(self, merged: Sequence[tuple[_Member, ...]]) -> list[Block]:
        """Return the blocks, those that are equal as one object."""
        pairs = [self._pairs(int(ranks[0])).T.tolist() for ranks in self.classes]
        waited = [defaultdict[int, list[int]](list) for _ in pairs]
        for class_number, listed in enumerate(pairs):
            for wait, request in listed:
                waited[class_number][wait].append(request)
        placed: list[list[int]] = [[] for _ in pairs]
        block_of: dict[Any, Block] = {}
        blocks: list[Block] = []
        for ordinal, block in enumerate(merged):
            backs: dict[int, list[int]] = {}
            for class_number, position in block:
                for request in waited[class_number].get(position, ()):
                    backs.setdefault(ordinal - placed[class_number][request], []).append(
                        class_number
                    )
                placed[class_number].append(ordinal)
            classes = tuple(class_number for class_number, _ in block)
            requests = tuple((back, tuple(backs[back])) for back in sorted(backs, reverse=True))
            rows = self._members(classes, block)
            same = (
                classes,
                int(self.table.op[rows[0]]),
                int(self.table.site[rows[0]]),
                int(self.table.group[rows[0]]),
                self.values[rows].tobytes(),
                requests,
            )
            if same not in block_of:
                block_of[same] = self._block(classes, rows, requests)
            blocks.append(block_of[same])
        return blocks

    def _members(self, classes: tuple[int, ...], block: tuple[_Member, ...]) -> Ints:
        """Return the rows of a block's operations, by rank."""
        starts = self.table.offsets
        if len(classes) == 1:
            alone: Ints = starts[self.classes[classes[0]]] + block[0][1]
            return alone
        rows = np.concatenate(
            [starts[self.classes[class_number]] + position for class_number, position in block]
        )
        return np.sort(rows)

    def _ranks(self, classes: tuple[int, ...]) -> Ints:
        if classes not in self.ranks_of:
            self.ranks_of[classes] = np.sort(np.concatenate([self.classes[c] for c in classes]))
        return self.ranks_of[classes]

    def _block(
        self, classes: tuple[int, ...], rows: Ints, requests: Sequence[tuple[int, tuple[int, ...]]]
    ) -> Block:
        table, op = self.table, OPS[int(self.table.op[rows[0]])]
        arguments = {
            name: self._column(getattr(table, c)[rows])
            for name, c in _ARGUMENTS.get(op, {}).items()
        }
        arguments.update(_FIXED.get(op, {}))
        if op == "elapse" and table.beside[rows].any():
            arguments["beside"] = self._column(table.beside[rows])
            arguments["pace"] = table.pace
        if op in COLLECTIVES:
            group = int(table.group[rows[0]])
            arguments["color"] = None if group == NONE else group
        waits = tuple(
            Request(back, None if owners == classes else self._ranks(owners))
            for back, owners in requests
        )
        ranks = None if len(rows) == table.size else self._ranks(classes)
        return Block(int(table.site[rows[0]]), op, ranks, arguments, waits)

    def _column(self, values: Any) -> Any:
        """Return one number where all are the same, and else one array for all that are equal."""
        if (values == values[0]).all():
            return values[0].item()
        return self.arrays.setdefault(values.dtype.char.encode() + values.tobytes(), values)
