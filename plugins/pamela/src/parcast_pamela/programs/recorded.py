"""A program in numbers: what each process does, and what is shared.

A recorded run has no text to make formulas of, who takes a task of a pool no formula knows, and
processes of unlike speed or that share a port have no one formula.

The form is ``free`` with numbers in place of formulas: each process's own time, which nothing can
shorten, and beside it all that passes a link, a port, the bus or a disk. With its waits for
messages, the critical path without contention stands for the processes. Tasks
of a pool share the processes that come to it: they are servers of one resource, which all that
these processes do, and all tasks, must pass.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cache

import numpy as np
from numpy.typing import NDArray

from parcast.model import Costs
from parcast.program import Block, Unrolled
from parcast.program.matching import Matched
from parcast.program.source import SENDS
from parcast.program.unroll import Pool
from parcast_pamela.programs.critical import critical_path, fetching, least_receiving
from parcast_pamela.programs.links import link_seconds, passed
from parcast_pamela.programs.words import resource_of

#: Links that a model names: the fullest.
MOST_WRITTEN = 8


def text(matched: Matched, costs: Costs, *, waits: bool) -> str:
    """Return the equations of a program, with its waits for messages or without."""
    unrolled = matched.unrolled
    alone, shared, started = _demands(unrolled, costs)
    if started.any():  # time begins with whichever starts last
        least = float(alone[started].min())
        return f"root program_\nprogram_ =\n    {f'delay({least!r})' if least else 'skip'}"
    resources = [f"resource {name}" for name in _resources(shared, costs)]
    longest = [critical_path(matched, costs)] if waits else alone.tolist()
    processes = [f"delay({seconds!r})" for seconds in longest if seconds]
    for link, seconds in list(link_seconds(matched, costs).items())[:MOST_WRITTEN]:
        resources.append(f"resource {resource_of(link)}")
        processes.append(f"use({resource_of(link)}, {seconds!r})")
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
    receiving = {"recv": least_receiving(costs)}
    if costs.overhead_by == "call":  # else paid by a wait for what it takes
        receiving |= dict.fromkeys(["irecv", "wait", "waitall"], float(costs.overhead_receive))
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
        elif block.op in receiving:
            alone[ranks] += receiving[block.op]
        elif block.op == "pool":
            _count_pool(alone, unrolled, block, costs)
        if block.op in SENDS:
            alone[ranks] += costs.sending(arguments["bytes"])
        for name, seconds in _passing(unrolled, block, costs):
            shared[name] += seconds
    return alone, dict(shared), started


def _count_pool(alone: np.ndarray, unrolled: Unrolled, block: Block, costs: Costs) -> None:
    """Count the seconds to ask, and to be told that there are no tasks; and to attend to it."""
    pool, takers = unrolled.pools[block.arguments["pool"]], _takers(unrolled, block)
    alone[takers] += fetching(takers, 0, costs, pool.master)
    if pool.master is not None:
        alone[pool.master] += _attending(pool, costs)


def _passing(unrolled: Unrolled, block: Block, costs: Costs) -> Iterable[tuple[str, float]]:
    """Return how long messages pass what they share, and the tasks of a pool all disks."""
    arguments = block.arguments
    if block.op == "pool":
        return _on_all_disks(unrolled.pools[arguments["pool"]], costs)
    if block.op in SENDS:
        return passed(unrolled.ranks_of(block), arguments["dst"], arguments["bytes"], costs)
    return ()


def _on_all_disks(pool: Pool, costs: Costs) -> Iterator[tuple[str, float]]:
    """Yield what each disk does for tasks whose accesses are spread over all, whoever does them."""
    for block in pool.work.blocks:
        if block.op in {"read", "write"} and costs.striped(file := block.arguments["file"]):
            pieces = costs.piece(block.arguments["bytes"], file)
            seconds = float(np.broadcast_to(pieces, len(pool.work.ranks_of(block))).sum())
            yield from ((f"disk[{disk}]", seconds) for disk in range(costs.disks))


def _takers(unrolled: Unrolled, block: Block) -> NDArray[np.int64]:
    """Return who takes tasks of a pool: all who come, but for a master."""
    ranks: NDArray[np.int64] = unrolled.ranks_of(block)
    master = unrolled.pools[block.arguments["pool"]].master
    return ranks if master is None else ranks[ranks != master]


def _attending(pool: Pool, costs: Costs) -> float:
    """Return the seconds that a master is busy with messages and answers, at least."""
    dealt = np.broadcast_to(costs.sending(pool.bytes), pool.tasks).sum()
    told = pool.workers * costs.sending(0)
    return float(dealt + told + (pool.tasks + pool.workers) * least_receiving(costs))


def _tasks(pool: Pool, ranks: np.ndarray, costs: Costs) -> list[float]:
    """Return the seconds of each task, on whichever of these processes is fastest at it."""
    sizes = zip(
        *(np.broadcast_to(column, pool.tasks).tolist() for column in (pool.bytes, pool.result)),
        strict=True,
    )
    alike = cache(lambda n, sent: fetching(ranks, n, costs, pool.master, sent).min())
    seconds = np.array([alike(n, sent) for n, sent in sizes])
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


def _resources(shared: dict[str, float], costs: Costs) -> Iterator[str]:
    last = int(costs.placement.node.max())
    for name in dict.fromkeys(key.partition("[")[0] for key in shared):
        if name == "bus":
            yield "bus"
        else:
            yield f"{name}[0..{costs.disks - 1 if name == 'disk' else last}]"
