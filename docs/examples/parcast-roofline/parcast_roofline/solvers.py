"""The roofline: a loop takes as long as the slower of its operations and its data.

Williams, Waterman & Patterson, Communications of the ACM 52(4), 2009.
"""

from __future__ import annotations

from typing import Literal

import attrs
import numpy as np

from parcast import Machine, Parts, Prediction, Query
from parcast_roofline.cache import Cache
from parcast_roofline.kernel import Kernel
from parcast_roofline.loops import sum_of_slower


@attrs.frozen(kw_only=True)
class Options:
    """How operations and data overlap: the slower counts, or their sum."""

    overlap: Literal["full", "none"] = "full"


class Dram:
    """Data come from memory, whose bandwidth the processes of a node share."""

    def supports(self, query: Query) -> str | None:
        return None

    def solve(self, query: Query) -> Prediction:
        rate = query.machine.need("processor.rate", "a kernel")
        bandwidth = self.bandwidth(query)
        kernel: Kernel = query.workload.content
        loops = kernel.at(query)
        times = [(loop.flops / rate, loop.bytes / bandwidth) for loop in loops]
        total = self.total(times, query.options)
        bound = {
            loop.name: "data" if data > work else "operations"
            for loop, (work, data) in zip(loops, times, strict=True)
        }
        return Prediction(
            time=total,
            parts=Parts(compute=total),
            binding="processor",
            assumptions=("processes share all loops evenly",),
            details={"bound": bound},
        )

    def total(self, times: list[tuple[float, float]], options: Options) -> float:
        if options.overlap == "none":
            return sum(map(sum, times))
        work, data = np.array(times).T.copy()
        return float(sum_of_slower.form(steps=len(times))(work, data))

    def bandwidth(self, query: Query) -> float:
        return share_of_memory(query.machine, query.p)


class InCache(Dram):
    """Data come from each process's own cache, where they fit."""

    def supports(self, query: Query) -> str | None:
        cache = query.machine.part("cache", Cache)
        if cache is None:
            return f"machine {query.machine.name!r} states no [cache]; add capacity and bandwidth"
        size = footprint(query)
        if size > cache.capacity:
            return f"{size:g} bytes a process do not fit into a cache of {cache.capacity:g} bytes"
        return None

    def bandwidth(self, query: Query) -> float:
        return query.machine.need("cache.bandwidth", "a kernel in cache")


def share_of_memory(machine: Machine, p: int) -> float:
    """Return the memory bandwidth of one process where processes fill node after node."""
    whole = machine.need("nodes.memory_bandwidth", "a kernel in memory")
    return whole / min(p, machine.nodes.cores)


def footprint(query: Query) -> float:
    """Return the most bytes that one process touches in a loop."""
    kernel: Kernel = query.workload.content
    return max(loop.footprint for loop in kernel.at(query))


def choose(query: Query) -> str:
    """Return the solver for the query: data come from cache where they fit."""
    in_cache = InCache().supports(query) is None
    return "roofline.cache" if in_cache else "roofline.dram"
