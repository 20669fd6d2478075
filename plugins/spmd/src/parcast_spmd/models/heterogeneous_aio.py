"""Asynchronous I/O of processes that differ: exact networks, one for each who is left.

All processes do the same cycles, and the faster ones end first. While a set of classes is at
work their steady state is that of a closed network with a class for each kind of process: the
network, the disks, and shared processors, are its queues. The class that ends first at those
rates leaves, and the network without it goes on, as equation 16 has it for jobs that leave one
by one. Each network is solved exactly where its structure allows; `parcast_spmd.mva.choice` says.
"""

from __future__ import annotations

from collections import Counter

import attrs
import numpy as np

from parcast import UnsupportedError
from parcast_spmd.models.demands import Demands
from parcast_spmd.models.phase_answer import Answer, answer
from parcast_spmd.mva.choice import solve
from parcast_spmd.mva.closed_network import ClosedNetwork, JobClass, Station


@attrs.frozen
class _Kind:
    """Groups that are alike."""

    compute: float  #: in a burst
    disk: int
    node: int  #: -1: processors of its own


@attrs.frozen
class _Spent:
    """Seconds of one job and cycle, or sums of them."""

    network: float = 0.0
    disk: float = 0.0
    crowd: float = 0.0

    def plus(self, addend: _Spent, times: float) -> _Spent:
        """Return this and ``times`` the other."""
        ours, theirs = attrs.astuple(self), attrs.astuple(addend)
        return _Spent(*(a + times * b for a, b in zip(ours, theirs, strict=True)))


def solve_uneven(phase: Demands) -> Answer:
    """Return the answer of a phase whose processes differ or share processors.

    Raises
    ------
    UnsupportedError
        If processes of unequal speed synchronize in groups, or share the cores of a node of
        several.
    """
    kinds = _kinds(phase)
    left = dict.fromkeys(kinds, 1.0)  # share of the cycles
    spent = dict.fromkeys(kinds, _Spent())
    time, exact = 0.0, True
    while left:
        rates, exactly = _rates(phase, {kind: kinds[kind] for kind in left})
        exact = exact and exactly
        ends = {kind: left[kind] / rate for kind, (rate, _) in rates.items()}
        first = min(ends.values())
        time += first
        for kind, (rate, per_cycle) in rates.items():
            spent[kind] = spent[kind].plus(per_cycle, first * rate)
            left[kind] -= first * rate
        left = {kind: share for kind, share in left.items() if ends[kind] > first * (1 + 1e-12)}
    mean = _Spent()
    for kind, count in kinds.items():
        mean = mean.plus(spent[kind], count / phase.groups)
    busy = phase.bursts * phase.delay + sum(attrs.astuple(mean))
    return answer(
        phase,
        "unequal" if exact else "unequal-approximate",
        queuing=mean.network,
        io=mean.disk,
        crowd=mean.crowd,
        waiting=max(0.0, time - busy),
    )


def _kinds(phase: Demands) -> Counter[_Kind]:
    """Return how many groups there are of each kind."""
    uneven = phase.uneven
    assert uneven is not None
    if phase.members > 1:
        raise UnsupportedError(
            f"groups of c={phase.members} among processes of unequal speed have no network here; "
            "use spmd.sim"
        )
    if uneven.crowded and uneven.cores.max() > 1:
        raise UnsupportedError(
            f"processes share nodes of {uneven.cores.max()} cores, which is no product-form queue "
            "here; use spmd.sim"
        )
    computes = uneven.pace[:, 0].tolist()
    disks = (np.arange(phase.groups) // phase.sharing).tolist()
    return Counter(map(_Kind, computes, disks, uneven.nodes.tolist()))


def _rates(
    phase: Demands, kinds: dict[_Kind, int]
) -> tuple[dict[_Kind, tuple[float, _Spent]], bool]:
    """Return each kind's cycles per second and job, what it spends in one, and if exactly."""
    order, n = list(kinds), phase.bursts

    def station(name: str, demand: list[float]) -> Station:
        return Station(name=name, type="queue", demand=tuple(demand))

    free = [n * (phase.free + (kind.compute if kind.node < 0 else 0.0)) for kind in order]
    stations = [
        Station(name="delay", type="delay", demand=tuple(free)),
        station("network", [n * phase.shared] * len(order)),
    ]
    for disk in sorted({kind.disk for kind in order}):
        accesses = [phase.io * (kind.disk == disk) for kind in order]
        stations.append(station(f"disk {disk}", accesses))
    for node in sorted({kind.node for kind in order if kind.node >= 0}):
        on_it = [n * kind.compute * (kind.node == node) for kind in order]
        stations.append(station(f"node {node}", on_it))
    classes = tuple(JobClass(name=f"{i}", population=kinds[k]) for i, k in enumerate(order))
    method = "auto" if phase.options.method == "exact" else phase.options.method
    solution = solve(ClosedNetwork(stations=tuple(stations), classes=classes), method)
    rates: dict[_Kind, tuple[float, _Spent]] = {}
    for r, kind in enumerate(order):
        at_node = (
            solution.response[f"node {kind.node}"][r] - n * kind.compute if kind.node >= 0 else 0.0
        )
        per_cycle = _Spent(
            solution.response["network"][r], solution.response[f"disk {kind.disk}"][r], at_node
        )
        rates[kind] = (solution.throughput[r] / kinds[kind], per_cycle)
    return rates, solution.exact
