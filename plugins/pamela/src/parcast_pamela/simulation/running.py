"""Runs of a simulation, compiled by numba on first use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from parcast.plugins import Kernel, compile_kernel, is_cached
from parcast.quantities import generator
from parcast_pamela.simulation import kernel
from parcast_pamela.simulation.program import Simulation

POLICIES: Mapping[str, int] = {"fifo": kernel.FIFO, "lifo": kernel.LIFO, "random": kernel.RANDOM}


@attrs.frozen
class Run:
    """When the whole ended, and the busy time of each resource's servers together, in seconds."""

    time: float
    busy: Mapping[str, float]


def run(
    simulation: Simulation,
    arbitration: str = "fifo",
    seed: int = 0,
    replication: int = 0,
    *,
    compiled: bool | None = None,
) -> Run:
    """Run a simulation once.

    Parameters
    ----------
    simulation
        From `parcast_pamela.simulation.program.unfold`.
    arbitration
        ``fifo``, ``lifo`` or ``random``: whom a server takes next.
    seed, replication
        Which random numbers are drawn, if any.
    compiled
        Whether numba's form runs, or the plain one, which gives the same; None: that which is
        sooner done.
    """
    columns: list[Any] = [
        np.array(simulation.kind, dtype=np.int64),
        np.array(simulation.first, dtype=np.int64),
        np.array(simulation.count, dtype=np.int64),
        np.array(simulation.time, dtype=np.float64),
        np.array(simulation.children or [0], dtype=np.int64),
        np.array(simulation.servers, dtype=np.int64),
    ]
    if compiled is None:
        compiled = _KERNEL.worth_compiling(simulation.events)
    loop: Callable[..., Any] = _KERNEL.compiled if compiled else kernel.run
    draw = generator(seed, replication)
    time, busy = loop(*columns, POLICIES[arbitration], draw)
    return Run(float(time), dict(zip(simulation.resources, map(float, busy), strict=True)))


#: Both forms; a step is an event, some 10 us in plain Python.
_KERNEL = Kernel(
    kernel.run,
    partial(compile_kernel, kernel.run, "parcast-pamela"),
    plain_steps=50_000,
    uncached_steps=300_000,
    is_cached=partial(is_cached, "kernel.run", "parcast-pamela", (Path(kernel.__file__),)),
)
