"""A program in numbers: what each process does, and what is shared.

A recorded run has no text to make formulas of, who takes a task of a pool no formula knows, and
processes of unlike speed or that share a port have no one formula.

The form is ``free`` with numbers in place of formulas: each process's own time, which nothing can
shorten, and beside it all that passes a port, the bus or a disk. Tasks of a pool share the
processes that come to it: they are servers of one resource, which all that these processes do, and
all tasks, must pass.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from parcast.model import Costs
from parcast.program import Block, Unrolled
from parcast.program.source import SENDS
from parcast.program.unroll import Pool

#: Operations that keep a process busy for a receiver's overhead, whatever they wait for.
_RECEIVING = frozenset({"recv", "irecv", "wait", "waitall"})


def text(unrolled: Unrolled, costs: Costs) -> str:
    """Return the equations of a program whose collectives are expanded."""
    alone, shared, started = _demands(unrolled, costs)
    if started.any():  # time begins with whichever starts last
        least = float(alone[started].min())
        return f"root program_\nprogram_ =\n    {f'delay({least!r})' if least else 'skip'}"
    resources = [f"resource {name}" for name in _resources(shared, costs)]
    processes = [f"delay({seconds!r})" for seconds in alone.tolist() if seconds]
    processes += [f"use({name}, {seconds!r})" for name, seconds in shared.items() if seconds]
    for block in unrolled.blocks:
        if block.op == "pool":
            pool = unrolled.pools[block.arguments["pool"]]
            name, ranks = f"pool{block.arguments['pool']}", _takers(unrolled, block)
            resources.append(f"resource {name} mult {len(ranks)}")
            tasks = _tasks(pool, ranks, costs)
            for seconds, count in Counter([*alone[ranks].tolist(), *tasks]).items():
                use = f"use({name}, {seconds!r})"
                processes.append(use if count == 1 else f"par (task_ = 1, {count}) {{ {use} }}")
    body = "\n || ".join(processes) or "skip"
    return "\n".join([*resources, "root program_", "program_ =", f"    {{ {body} }}"])


def _demands(
    unrolled: Unrolled, costs: Costs
) -> tuple[np.ndarray, dict[str, float], NDArray[np.bool_]]:
    """Return the seconds of each process by itself and of each thing that is shared.

    Those of a process are from its last ``start()`` on; whether it has one comes third.
    """
    alone, shared = np.zeros(unrolled.size), defaultdict[str, float](float)
    started = np.zeros(unrolled.size, bool)
    for block in unrolled.blocks:
        ranks, arguments = unrolled.ranks_of(block), block.arguments
        if block.op == "start":
            alone[ranks], started[ranks] = 0.0, True
        elif block.op == "compute":
            alone[ranks] += costs.compute(ranks, arguments["flops"], arguments["bytes"])
        elif block.op == "elapse":
            alone[ranks] += arguments["seconds"]
        elif block.op in {"read", "write"}:
            pieces = np.broadcast_to(costs.piece(arguments["bytes"], arguments["file"]), len(ranks))
            alone[ranks] += pieces
            for rank, piece in zip(ranks.tolist(), pieces.tolist(), strict=True):
                for disk in costs.disks_of(rank, arguments["file"]):
                    shared[f"disk[{disk}]"] += piece
        elif block.op in _RECEIVING:
            alone[ranks] += costs.overhead_receive
        elif block.op == "pool":  # to ask, and to be told that there are none
            pool, takers = unrolled.pools[arguments["pool"]], _takers(unrolled, block)
            alone[takers] += _fetching(takers, 0, costs, pool.master or 0)
            if pool.master is not None:
                alone[pool.master] += _attending(pool, costs)
        if block.op in SENDS:
            alone[ranks] += costs.sending(arguments["bytes"])
            for name, seconds in _passed(ranks, arguments["dst"], arguments["bytes"], costs):
                shared[name] += seconds
    return alone, dict(shared), started


def _takers(unrolled: Unrolled, block: Block) -> NDArray[np.int64]:
    """Return who takes tasks of a pool: all who come, but for a master."""
    ranks: NDArray[np.int64] = unrolled.ranks_of(block)
    master = unrolled.pools[block.arguments["pool"]].master
    return ranks if master is None else ranks[ranks != master]


def _fetching(
    ranks: np.ndarray, n: float | np.ndarray, costs: Costs, keeper: int, sent: float = 0
) -> np.ndarray:
    """Return the seconds in which a task of so many bytes is fetched, if nothing is in the way.

    ``sent`` are the bytes of the message that asks the ``keeper`` for it.
    """
    request, reply = costs.wire(ranks, keeper, sent), costs.wire(keeper, ranks, n)
    return np.asarray(costs.sending(sent) + request + reply + costs.overhead_receive)


def _attending(pool: Pool, costs: Costs) -> float:
    """Return the seconds that a master is busy with messages and answers."""
    dealt = np.broadcast_to(costs.sending(pool.bytes), pool.tasks).sum()
    told = pool.workers * costs.sending(0)
    return float(dealt + told + (pool.tasks + pool.workers) * costs.overhead_receive)


def _tasks(pool: Pool, ranks: np.ndarray, costs: Costs) -> list[float]:
    """Return the seconds of each task, on whichever of these processes is fastest at it."""
    keeper = pool.master or 0
    sizes = zip(
        *(np.broadcast_to(column, pool.tasks).tolist() for column in (pool.bytes, pool.result)),
        strict=True,
    )
    seconds = np.array([_fetching(ranks, n, costs, keeper, sent).min() for n, sent in sizes])
    where = np.stack([costs.placement.speed[ranks], costs.placement.sharing[ranks]])
    distinct = ranks[np.unique(where, axis=1, return_index=True)[1]]
    for block in pool.work.blocks:
        tasks, arguments = pool.work.ranks_of(block), block.arguments
        if block.op == "compute":
            flops, moved = arguments["flops"], arguments["bytes"]
            times = [costs.compute(rank, flops, moved) for rank in distinct]
            seconds[tasks] += np.min(times, axis=0)
        elif block.op == "elapse":
            seconds[tasks] += arguments["seconds"]
        elif block.op in {"read", "write"}:
            seconds[tasks] += costs.piece(arguments["bytes"], arguments["file"])
    return [float(value) for value in seconds]


def _passed(
    ranks: np.ndarray, dst: int | np.ndarray, n: float | np.ndarray, costs: Costs
) -> Iterator[tuple[str, float]]:
    """Yield what messages between nodes hold, and for how long."""
    if costs.contention == "none":
        return
    node = costs.placement.node
    seconds = np.broadcast_to(np.asarray(n) * costs.per_byte, len(ranks)).tolist()
    ends = zip(node[ranks].tolist(), np.broadcast_to(node[dst], len(ranks)).tolist(), strict=True)
    for (source, target), duration in zip(ends, seconds, strict=True):
        if source == target:
            continue
        if costs.contention == "bus":
            yield "bus", duration
        else:
            yield f"out[{source}]", duration
            yield f"into[{target}]", duration


def _resources(shared: dict[str, float], costs: Costs) -> Iterator[str]:
    last = int(costs.placement.node.max())
    for name in dict.fromkeys(key.partition("[")[0] for key in shared):
        if name == "bus":
            yield "bus"
        else:
            yield f"{name}[0..{costs.disks - 1 if name == 'disk' else last}]"
