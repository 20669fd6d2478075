"""An unrolled program: the operations of every process, in blocks over many ranks at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast.program.source.operations import COLLECTIVES, SENDS
from parcast.program.source.tree import Site

if TYPE_CHECKING:
    from parcast.model.machine import Need

Ranks = NDArray[np.int64]

#: One value for every rank of a block, or a value for each (int64, or float64).
Column = int | float | NDArray[Any]


@attrs.frozen(eq=False)
class Request:
    """Requests that a ``wait`` or ``waitall`` waits for: those of one earlier block."""

    back: int  #: how many blocks earlier it stands
    ranks: Ranks | None = None  #: the ranks that wait for theirs, rising; None: all of the wait's


@attrs.frozen(eq=False)
class Block:
    """One operation on some ranks; blocks repeat in a list, so they hold no place in it.

    ``arguments`` holds numbers as columns (``dst``, ``src``, ``bytes``, ``tag``, ``flops``,
    ``seconds``, ``root``, ``color``) and, as they stand in the source, ``file``,
    ``collective`` and a region's ``name``; of ``elapse`` also ``beside``, which collective next to
    it goes on meanwhile, and the ``pace`` of messages. ``color`` may be None and ``src`` `ANY`.
    Peers are within 0 .. size - 1, tags and roots are not negative (an expanded collective
    has negative tags), amounts are finite and not negative but for the bytes of a `SIGNAL`, which
    switches send and which costs nothing. Columns are shared between
    blocks: never write into one.
    """

    site: int
    op: str
    ranks: Ranks | None  #: rising; None: every rank
    arguments: Mapping[str, Any]
    requests: tuple[Request, ...] = ()


def is_collective(block: Block | Operation) -> bool:
    """Return whether processes do this together."""
    return block.op in COLLECTIVES or bool(block.arguments.get("collective", False))


@attrs.frozen
class Operation:
    """One operation of one rank, every argument a plain number, text, flag or None."""

    site: int
    op: str
    arguments: Mapping[str, Any]
    requests: tuple[int, ...] = ()  #: places in the rank's own list


@attrs.frozen(eq=False)
class Pool:
    """Tasks that go to whichever process asks first.

    ``work`` holds the operations of each task, a task in place of a rank; ``bytes`` is what is
    fetched of each. Where a process attends, as ``master``, each process sends it ``result`` of
    the task that it has done; these messages and their answers have a ``tag`` of their own.
    """

    bytes: Column
    work: Unrolled
    result: Column = 0
    master: int | None = None
    workers: int = 0  #: processes that come beside the master
    tag: int = 0
    keeper: int = 0  #: the rank that it is kept at, where nobody attends

    @property
    def tasks(self) -> int:
        """How many there are."""
        return self.work.size

    def bytes_of(self, task: int) -> float:
        """Return what is fetched of a task; nothing where there is none of that number."""
        return _at(self.bytes, task) if task < self.tasks else 0

    def result_of(self, task: int) -> float:
        """Return what the master is sent of a task that is done."""
        return _at(self.result, task)


def _at(column: Column, index: int) -> float:
    value: float = column.item(index) if isinstance(column, np.ndarray) else column
    return value


@attrs.frozen(eq=False)
class Unrolled:
    """The operations of ``size`` processes.

    Within a rank, the order of the blocks is the order of the program. Read in block order,
    they are usually an order in which all processes together could run. A block ``pool`` stands
    for all tasks that its ranks take of the pool with that number in ``pools``.
    """

    size: int
    blocks: Sequence[Block]
    sites: tuple[Site, ...]
    where: str = ""  #: the file, as errors name it
    pools: tuple[Pool, ...] = ()
    #: processes that each rank stands for, ``size`` apart (`parcast.program.matching.folding`);
    #: peers are numbers of these
    copies: int = 1

    def ranks_of(self, block: Block) -> Ranks:
        """Return the ranks of a block, rising."""
        return np.arange(self.size) if block.ranks is None else block.ranks

    def count(self) -> int:
        """Return how many operations all ranks have, those of tasks with them."""
        operations = sum(self.size if b.ranks is None else len(b.ranks) for b in self.blocks)
        return operations + sum(pool.work.count() for pool in self.pools)

    def tasks(self) -> int:
        """Return how many tasks its pools have."""
        return sum(pool.tasks for pool in self.pools)

    def needs(self) -> frozenset[Need]:
        """Return what it uses of a machine, as `Costs.of` takes it."""
        parts = (self, *(pool.work for pool in self.pools))
        ops = {block.op for part in parts for block in part.blocks}
        used: dict[Need, frozenset[str]] = {
            "compute": frozenset({"compute"}),
            "messages": SENDS | COLLECTIVES | {"pool"},
            "io": frozenset({"read", "write"}),
        }
        return frozenset(need for need, names in used.items() if ops & names)

    def line(self, site: int) -> str:
        """Return ``file:line`` of a site, as errors name it."""
        line = self.sites[site].line
        return self.where if line is None else f"{self.where}:{line}"

    @cached_property
    def lists(self) -> list[list[Operation]]:
        """The operations of every rank, see `by_rank`, for who plays a program again and again."""
        return self.by_rank()

    def rank(self, rank: int) -> list[Operation]:
        """Return the operations of one rank, in order."""
        return self.by_rank([rank])[0]

    def by_rank(self, ranks: Sequence[int] | None = None) -> list[list[Operation]]:
        """Return the operations of each of these ranks, or of every one.

        It makes an object of every operation: for looking at and for plain references, not
        for large programs.
        """
        wanted = range(self.size) if ranks is None else ranks
        lists: dict[int, list[Operation]] = {rank: [] for rank in wanted}
        positions: dict[int, dict[int, int]] = {rank: {} for rank in wanted}
        for ordinal, block in enumerate(self.blocks):
            members = range(self.size) if block.ranks is None else block.ranks.tolist()
            columns = {k: _listed(v, len(members)) for k, v in block.arguments.items()}
            for lane, rank in enumerate(members):
                if rank in lists:
                    waited = _waited(block, ordinal, rank, positions[rank])
                    positions[rank][ordinal] = len(lists[rank])
                    arguments = {k: column[lane] for k, column in columns.items()}
                    lists[rank].append(Operation(block.site, block.op, arguments, waited))
        return [lists[rank] for rank in wanted]

    @classmethod
    def of_ranks(
        cls, lists: Sequence[Sequence[Operation]], sites: tuple[Site, ...], where: str = ""
    ) -> Unrolled:
        """Return what these operations of each rank are as blocks, one block an operation.

        Blocks take turns over the ranks: first operations first.
        """
        order = [
            (position, rank) for rank, listed in enumerate(lists) for position in range(len(listed))
        ]
        order.sort()
        ordinal = {(rank, position): index for index, (position, rank) in enumerate(order)}
        blocks = []
        for index, (position, rank) in enumerate(order):
            operation = lists[rank][position]
            requests = tuple(Request(index - ordinal[rank, r]) for r in operation.requests)
            ranks = np.array([rank])
            blocks.append(Block(operation.site, operation.op, ranks, operation.arguments, requests))
        return cls(len(lists), blocks, sites, where)


def _listed(value: Any, count: int) -> Sequence[Any]:
    return value.tolist() if isinstance(value, np.ndarray) else [value] * count


def _waited(block: Block, ordinal: int, rank: int, positions: Mapping[int, int]) -> tuple[int, ...]:
    """Return where in the rank's list the requests stand that it waits for."""
    return tuple(
        positions[ordinal - request.back]
        for request in block.requests
        if request.ranks is None or _holds(request.ranks, rank)
    )


def _holds(ranks: Ranks, rank: int) -> bool:
    at = int(np.searchsorted(ranks, rank))
    return at < len(ranks) and int(ranks[at]) == rank
