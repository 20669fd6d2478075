"""What a machine needs at least for amounts that stand beside times: the physical limit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from parcast.errors import FileError, ParcastError
from parcast_scaling.curves import Bound
from parcast_scaling.mechanisms import Floats
from parcast_scaling.reading import Times
from parcast_scaling.terms import choose

if TYPE_CHECKING:
    from parcast import Registry

#: Measured times may lie so far under what the machine needs: its numbers have errors, too.
_TOLERANCE = 0.9


def machine_bound(registry: Registry, times: Times, machine: str | None) -> Bound | None:
    """Return the least time of a process on a machine, from its amounts as formulas of p.

    Operations at the processor's rate, and messages and bytes at the network's, may go on at once:
    the larger of both is a bound.

    Raises
    ------
    ParcastError
        If there is no column of amounts, and the machine does not say whose network it has.
    FileError
        If amounts have no formula, or a measured time is less than the machine needs.
    """
    if machine is None:
        return None
    on = registry.machine(machine)
    if not times.amounts and on.network.cloud is not None:
        return None
    if not times.amounts:
        raise ParcastError(
            f"--on {machine}: it does not state network.cloud, whose network it is, and "
            f"{times.where} has no amounts, of which a machine tells the least time; state it, add "
            "columns such as flops, messages and bytes of a process, or leave out --on"
        )
    formulas = {name: _formula(times, name) for name in times.amounts[0]}

    def bound(p: Floats, n: Floats) -> Floats:  # noqa: ARG001
        zero = np.zeros_like(p)
        amounts = {name: np.array([formula(x) for x in p]) for name, formula in formulas.items()}
        compute, sent = zero, zero
        if "flops" in amounts:
            compute = amounts["flops"] / on.need("processor.rate", "operations")
        if "messages" in amounts:
            sent = sent + amounts["messages"] * on.need("network.startup", "messages")
        if "bytes" in amounts:
            sent = sent + amounts["bytes"] / on.need("network.bandwidth", "bytes")
        return np.where(p > 1, np.maximum(compute, sent), compute)

    for run in times.runs:
        least = float(bound(np.array([run.p]), np.array([run.n]))[0])
        if run.seconds < _TOLERANCE * least:
            raise FileError(
                f"{run.place}: {run.seconds:g} s at p={run.p:g} is less than the {least:.4g} s "
                f"of its amounts on {machine}; correct the amounts, the unit or the machine"
            )
    return bound


def _formula(times: Times, name: str) -> Callable[[float], float]:
    values: dict[float, list[float]] = defaultdict(list)
    for run, amounts in zip(times.runs, times.amounts, strict=True):
        values[run.p].append(amounts[name])
    p = np.array(sorted(values))
    middles = np.array([median(values[size]) for size in p])
    if not middles.any():
        return lambda _: 0.0
    chosen, _ = choose(p, middles, 64 * float(p.max()))
    if chosen is None:
        raise FileError(f"{times.where}: no formula of p gives column {name}; give more sizes")
    return chosen
