"""Columns: the operations of all ranks as arrays, each rank's own in one stretch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast.errors import InvalidPointError
from parcast.program.source.operations import OPERATIONS, SENDS
from parcast.program.unroll.blocks import Block, Ranks, Request, Unrolled

if TYPE_CHECKING:
    from parcast.model.costs import Costs

#: More operations than these would take over 10 GB with their matching.
MOST_OPERATIONS = 100_000_000

#: The names behind the codes of `Columns.op`.
OPS = (*OPERATIONS, "pool")
CODE = {name: code for code, name in enumerate(OPS)}

#: A peer where an operation has none.
NONE = -2

Ids = NDArray[np.int64]

#: Arguments that become columns, and the value of operations without one.
_TARGETS = {"dst": "dst", "src": "src", "tag": "tag"} | dict.fromkeys(
    ["bytes", "flops", "seconds"], "amount"
)
_DEFAULTS = {"dst": NONE, "src": NONE, "tag": 0, "amount": 0.0, "memory": 0.0}
_TYPES = {"dst": "i4", "src": "i4", "tag": "i8", "amount": "f8", "memory": "f8"}

_CHUNK = 1 << 20


@attrs.frozen(eq=False, kw_only=True)
class Columns:
    """The operations of all ranks: an operation's id is ``offsets[rank]`` + its place there."""

    unrolled: Unrolled = attrs.field(repr=False)
    offsets: Ids  #: p + 1 of them
    op: NDArray[np.int8]  #: a place in `OPS`
    site: NDArray[np.int32]
    order: NDArray[np.int32]  #: the ordinal of the block
    dst: NDArray[np.int32]  #: `NONE` where nothing is sent
    src: NDArray[np.int32]  #: `ANY`, or `NONE` where nothing is received
    amount: NDArray[np.float64]  #: bytes, flops or seconds
    memory: NDArray[np.float64] | None  #: bytes of ``compute``; None: all are 0
    tag: NDArray[np.int64]
    wait_op: Ids  #: a wait, rising, once for each request that it waits for
    wait_request: Ids  #: the operation that made this request

    def rank_of(self, ids: Any) -> Ids:
        """Return the ranks that these operations belong to."""
        ranks: Ids = np.searchsorted(self.offsets, ids, side="right") - 1
        return ranks

    def among(self, names: Iterable[str]) -> NDArray[np.bool_]:
        """Return of each operation whether it is one of these."""
        wanted = np.zeros(len(OPS), bool)
        wanted[[CODE[name] for name in names]] = True
        return wanted[self.op]

    def own_seconds(self, costs: Costs, rank: Any) -> NDArray[np.float64]:
        """Return the seconds that operations take of their process to compute, elapse and send.

        Parameters
        ----------
        costs
            Those of the machine.
        rank : (n,) or a number
            Who does each operation, or all of them.
        """
        seconds = np.zeros(len(self.op))
        ranks = np.broadcast_to(rank, len(self.op))
        if len(ids := np.flatnonzero(self.among({"compute"}))):
            memory = 0.0 if self.memory is None else self.memory[ids]
            seconds[ids] = costs.compute(ranks[ids], self.amount[ids], memory)
        if len(ids := np.flatnonzero(self.among({"elapse"}))):
            seconds[ids] = costs.elapse(ranks[ids], self.amount[ids])
        if len(ids := np.flatnonzero(self.among(SENDS))):
            seconds[ids] = costs.sending(self.amount[ids])
        return seconds

    def line(self, id_: int) -> str:
        """Return ``file:line`` of an operation, as errors name it."""
        return self.unrolled.line(int(self.site[id_]))


def operation_columns(unrolled: Unrolled) -> Columns:
    """Return the operations as columns; collectives are rows with their bytes.

    About a second and 500 MB for each ten million operations.

    Raises
    ------
    InvalidPointError
        If there are more operations than fit in memory.
    """
    if (count := unrolled.count()) > MOST_OPERATIONS:
        raise InvalidPointError(
            f"{unrolled.where}: at p={unrolled.size} there are {count:,} operations to look at "
            f"rank by rank, more than fit in memory ({MOST_OPERATIONS:,}); use a smaller p"
        )
    distinct = list({id(block): block for block in unrolled.blocks}.values())
    index = {id(block): number for number, block in enumerate(distinct)}
    kinds = np.array([index[id(block)] for block in unrolled.blocks], np.int32)
    times = np.bincount(kinds, minlength=len(distinct))
    offsets, wait_offsets = _offsets(unrolled.size, distinct, times)
    total = int(offsets[-1])
    wanted = set(_TARGETS.values()) | ({"memory"} if any(map(_moves_memory, distinct)) else set())
    targets = {name: np.empty(total, _TYPES[name]) for name in sorted(wanted)}
    values = [_values(block, wanted) for block in distinct]
    order, waits = _scatter(unrolled, kinds, values, targets, offsets, wait_offsets)
    for name, column in targets.items():
        _fill(column, [value[name] for value in values], kinds, order)
    codes = np.array([CODE[block.op] for block in distinct], np.int8)
    sites = np.array([block.site for block in distinct], np.int32)
    return Columns(
        unrolled=unrolled,
        offsets=offsets,
        op=codes[kinds][order],
        site=sites[kinds][order],
        order=order,
        memory=targets.pop("memory", None),
        wait_op=waits[0],
        wait_request=waits[1],
        **targets,
    )


def attended(columns: Columns) -> tuple[Ids, Ids]:
    """Return which operations wait in a pool with a master, and which they need to have started.

    That is of all others the master's, and of the master's theirs.
    """
    blocks, pools = columns.unrolled.blocks, columns.unrolled.pools
    rows = np.flatnonzero(columns.op == CODE["pool"])
    rows = rows[np.argsort(columns.order[rows], kind="stable")]
    waiting, needed = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for ids in np.split(rows, np.flatnonzero(np.diff(columns.order[rows])) + 1):
        pool = pools[blocks[columns.order[ids[0]]].arguments["pool"]] if len(ids) else None
        if pool is None or pool.master is None:
            continue
        at_master = columns.rank_of(ids) == pool.master
        others, master = ids[~at_master], np.repeat(ids[at_master], pool.workers)
        waiting += [others, master]
        needed += [master, others]
    return np.concatenate(waiting), np.concatenate(needed)


def _offsets(size: int, distinct: Sequence[Block], times: Any) -> tuple[Ids, Ids]:
    """Return where each rank's operations start, and where its waited-for requests do."""
    counts, waits = np.zeros((2, size + 1), np.int64)
    for block, repeats in zip(distinct, times.tolist(), strict=True):
        counts[1:][_at(block.ranks)] += repeats
        for request in block.requests:
            waits[1:][_at(_waiting(block, request))] += repeats
    return np.cumsum(counts), np.cumsum(waits)


def _at(ranks: Ranks | None) -> Any:
    return slice(None) if ranks is None else ranks


def _waiting(block: Block, request: Request) -> Ranks | None:
    return block.ranks if request.ranks is None else request.ranks


def _moves_memory(block: Block) -> bool:
    return block.op == "compute" and bool(np.any(block.arguments["bytes"]))


def _values(block: Block, wanted: set[str]) -> dict[str, Any]:
    """Return what a block gives to each column: a number, or an array over its ranks."""
    values: dict[str, Any] = {name: _DEFAULTS[name] for name in wanted}
    for name, value in block.arguments.items():
        target = "memory" if (block.op, name) == ("compute", "bytes") else _TARGETS.get(name)
        if target in wanted:
            values[target] = value
    return values


def _scatter(
    unrolled: Unrolled,
    kinds: NDArray[np.int32],
    values: Sequence[dict[str, Any]],
    targets: dict[str, NDArray[Any]],
    offsets: Ids,
    wait_offsets: Ids,
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Fill in all that is an array; return each operation's block, and the waits."""
    arrays = [
        [(targets[k], v) for k, v in value.items() if isinstance(v, np.ndarray)] for value in values
    ]
    order = np.empty(offsets[-1], np.int32)
    waits = np.empty((2, wait_offsets[-1]), np.int64)
    following, next_wait = offsets[:-1].copy(), wait_offsets[:-1].copy()
    last_use = _last_uses(unrolled.blocks)
    posted: dict[int, Ids] = {}
    for ordinal, (block, kind) in enumerate(zip(unrolled.blocks, kinds.tolist(), strict=True)):
        ids = following.copy() if block.ranks is None else following[block.ranks]
        following[_at(block.ranks)] = ids + 1
        order[ids] = ordinal
        for column, array in arrays[kind]:
            column[ids] = array
        if ordinal in last_use:
            posted[ordinal] = ids
        for request in block.requests:
            earlier = ordinal - request.back
            ranks = _waiting(block, request)
            at = _at(ranks)
            rows = next_wait[at]
            waits[0, rows] = following[at] - 1
            waits[1, rows] = posted[earlier][_lanes(unrolled.blocks[earlier].ranks, ranks)]
            next_wait[at] += 1
            if last_use[earlier] == ordinal:
                posted.pop(earlier, None)
    return order, waits


def _last_uses(blocks: Sequence[Block]) -> dict[int, int]:
    """Return of each block that makes requests the last block that waits for one."""
    return {
        ordinal - request.back: ordinal
        for ordinal, block in enumerate(blocks)
        for request in block.requests
    }


def _lanes(ranks: Ranks | None, wanted: Ranks | None) -> Any:
    """Return where among ``ranks`` the wanted ones stand."""
    if ranks is None or wanted is None or ranks is wanted:
        return slice(None) if ranks is wanted else _at(wanted)
    return np.searchsorted(ranks, wanted)


def _fill(column: NDArray[Any], values: list[Any], kinds: Any, order: NDArray[np.int32]) -> None:
    """Fill in all that is one number for a block."""
    arrays = np.array([isinstance(value, np.ndarray) for value in values], bool)
    table = np.array([0 if isinstance(value, np.ndarray) else value for value in values])
    table, numbers = table.astype(column.dtype)[kinds], ~arrays[kinds]
    if numbers.all():
        np.take(table, order, out=column, mode="clip")  # clip: not buffered
        return
    for start in range(0, len(column), _CHUNK):
        part = order[start : start + _CHUNK]
        np.copyto(column[start : start + _CHUNK], table[part], where=numbers[part])
