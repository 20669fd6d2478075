"""What one phase demands of one machine: the parameters of the paper's queuing networks."""

from __future__ import annotations

import math
from typing import Any, Literal

import attrs

from parcast import InvalidPointError, Query, SolveError
from parcast.model import WHOLE_NETWORK, Phases, PhaseValues, Traffic, check_network
from parcast.quantities import Distribution
from parcast_spmd.models.buffering import accesses, exchange
from parcast_spmd.models.heterogeneous_processes import Uneven, common_speed, placement_of
from parcast_spmd.models.order_statistics import mean_maximum
from parcast_spmd.options import Options

#: The models: synchronous I/O, asynchronous at one I/O node, asynchronous in clusters.
Model = Literal["sio", "bus", "clu"]


@attrs.frozen(kw_only=True, slots=False)  # made twice as fast without slots
class Demands:
    """One phase at one p and d; times in seconds."""

    model: Model
    cycles: float
    bursts: float  #: n_io, per cycle
    groups: int  #: P = p / c, the jobs of the network
    disks: int
    compute: float  #: mean CPU time of a process in a burst
    joining: float  #: (h(c) - 1) times that: waiting for the slowest of the group
    free: float  #: startup and contention-free transfer of a burst
    shared: float  #: transfer that queues for the network: x, in a burst
    io: float  #: service of one I/O burst: of all (sio), else of one group
    distribution: Distribution  #: of a computation, of mean 1
    members: int = 1  #: c, processes in a group
    level: float = 0.0  #: w
    link: str = ""  #: whose load w is of; none where the machine states w
    fair: bool = False  #: whether all who send share the network, rather than wait in line
    uneven: Uneven | None = None  #: where processes differ, or share processors
    options: Any  #: of the solver that asks
    seed: tuple[int, ...] = (0, 0)  #: the query's, and which phase it is

    @property
    def delay(self) -> float:
        """Return z of equation 15, per burst."""
        return self.compute + self.joining + self.free

    @property
    def variance(self) -> float:
        """Return the variance of a computation whose mean is 1."""
        return self.distribution.variance

    @property
    def constant(self) -> bool:
        """Whether bursts do not vary."""
        return self.variance == 0

    @property
    def sharing(self) -> int:
        """Return how many groups share a disk of asynchronous I/O."""
        return self.groups if self.model == "bus" else self.groups // self.disks


#: w of the words for contention that have one.
LEVELS = {"none": 0.0, "bus": 1.0}


def contention_level(query: Query) -> float | None:
    """Return w, the part of a transfer that queues; None where the machine does not state it.

    The words that have a level, ``none`` and ``bus``, come first, as every family has them.
    """
    network = query.machine.network
    if network.contention in LEVELS:
        return LEVELS[network.contention]
    if network.contention_level is not None:
        return network.contention_level
    if network.saturation is not None:
        level = query.machine.need("network.bandwidth", "its saturation") / network.saturation
        return min(1.0, level)
    return None


def shares_links(query: Query) -> bool:
    """Whether the machine says which links messages share, so that w follows from them."""
    return query.machine.network.contention in {"fair", "endpoint"}


def not_used(query: Query) -> tuple[str, ...]:
    """Return a note on each word of the machine's network that another one takes the place of."""
    network = query.machine.network
    if network.contention not in LEVELS:
        return ()
    stated = {
        "network.contention_level": network.contention_level,
        "network.saturation": network.saturation,
    }
    unused = [name for name, value in stated.items() if value is not None]
    if not unused or not query.workload.content.uses(query)["messages"]:
        return ()
    return tuple(f"network.contention is stated, so {name} is not used" for name in unused)


def check_machine(query: Query) -> None:
    """Refuse what the models cannot express: contradictions, processes without a core."""
    if query.machine.derives_traffic and query.workload.content.uses(query)["messages"]:
        check_network(query.machine, WHOLE_NETWORK)
    if not query.processes_alike:
        placement_of(query)


def model_of(phase: PhaseValues, query: Query) -> Model:
    """Return the model that the phase's I/O and the machine's layout ask for."""
    if phase.io == "sync":
        return "sio"
    return "bus" if query.machine.storage.layout == "bus" else "clu"


def demands(query: Query, level: float | None, options: Options) -> tuple[Demands, ...]:
    """Return every phase's demands at contention level ``level``; at that of its links if None.

    Raises
    ------
    UnsupportedError
        If the machine does not state a number that the workload needs.
    InvalidPointError
        If a phase has no meaning at this p and d.
    """
    content: Phases = query.workload.content
    phases = content.at(query)
    return tuple(
        _demands(phase, query, level, options, index) for index, phase in enumerate(phases)
    )


def _demands(
    phase: PhaseValues, query: Query, stated: float | None, options: Options, index: int
) -> Demands:
    compute, uneven = _computation(phase, query)
    traffic = _traffic(phase, query)
    fixed, transfer = _messages(phase, query) if traffic is None else _times(traffic)
    level = (traffic.level if traffic else 0.0) if stated is None else stated
    groups = query.p // phase.group
    passages = phase.group if options.passages == "each" else 1
    joining = 0.0
    if phase.group > 1 and not uneven:  # among unequal ones it is part of what a simulation finds
        joining = (mean_maximum(phase.distribution, phase.group) - 1.0) * compute
    model = model_of(phase, query)
    return Demands(
        model=model,
        cycles=phase.cycles,
        bursts=phase.bursts,
        groups=groups,
        # Groups that visit no disk are one class, which clusters do not tell apart
        disks=query.d if phase.io_bytes or model != "clu" else 1,
        compute=compute,
        joining=joining,
        free=fixed + (1.0 - level) * transfer,
        shared=level * transfer * passages,
        io=_io(phase, query, model, groups, stated),
        distribution=phase.distribution,
        members=phase.group,
        level=level,
        link=traffic.fullest if traffic and stated is None else "",
        fair=query.machine.network.contention == "fair",
        uneven=uneven,
        options=options,
        seed=(query.seed, index),
    )


def _computation(phase: PhaseValues, query: Query) -> tuple[float, Uneven | None]:
    """Return the seconds of a process in a burst, and what they are where processes differ.

    A burst that moves bytes from and to memory takes as long as the slowest of its operations,
    the memory of its node and what one core can draw, as in every program (`Costs.compute`).
    """
    work, moved = phase.parallel / query.p + phase.serial, phase.memory_bytes / query.p
    if not work and not moved:
        return 0.0, None
    compute = work / query.machine.need("processor.rate", "a workload with computation")
    if math.isinf(compute):
        raise SolveError("the computation takes for ever; check the unit of processor.rate")
    nodes = query.machine.nodes
    if moved and (nodes.memory_bandwidth or nodes.core_bandwidth):
        return Uneven.of_memory(work, moved, phase.group, query)
    if not compute:
        return 0.0, None
    placement = None if query.processes_alike else placement_of(query)
    if placement is None:
        return compute, None
    if speed := common_speed(placement, query):
        return compute / speed, None
    uneven = Uneven.of(placement, compute, phase.group, query)
    return uneven.mean, uneven


def _traffic(phase: PhaseValues, query: Query) -> Traffic | None:
    """Return what a burst's messages take; None where ``network.startup`` and ``bandwidth`` say it.

    A program that became the phase knows its messages.
    """
    if phase.traffic is not None or not (phase.messages or phase.bytes):
        return phase.traffic
    if not query.machine.derives_traffic:
        return None
    from parcast_spmd.models.traffic import traffic_of_phase

    return traffic_of_phase(phase, query)


def _messages(phase: PhaseValues, query: Query) -> tuple[float, float]:
    """Return fixed and transfer time of one burst; who pays for a message makes no difference."""
    network = query.machine.network
    fixed = transfer = 0.0
    if phase.messages:
        receive = network.overhead_receive
        overheads = network.overhead + (network.overhead if receive is None else receive)
        startup = query.machine.need("network.startup", "a workload with messages")
        fixed = phase.messages * (startup + overheads)
    if phase.bytes:
        bandwidth = query.machine.need("network.bandwidth", "a workload that sends bytes")
        fixed += phase.bytes * network.overhead_per_byte
        transfer = phase.bytes / bandwidth
    return fixed, transfer


def _times(traffic: Traffic) -> tuple[float, float]:
    return traffic.fixed, traffic.transfer


def _io(phase: PhaseValues, query: Query, model: Model, groups: int, level: float | None) -> float:
    """Return the service time of equation 14; with aggregators of as many accesses as these are."""
    if not phase.io_bytes:
        return 0.0
    startup = query.machine.storage.startup
    transfer = phase.io_bytes / query.machine.need("storage.bandwidth", "a workload with I/O")
    if model == "sio":
        if query.machine.storage.aggregators is None:
            return startup + transfer / query.d
        moving = exchange(phase.io_bytes, query, level)
        return accesses(query) * startup + transfer / query.d + moving
    if model == "bus":
        return startup + transfer / query.d / groups
    if groups % query.d:
        step = query.d * query.p // groups
        advice = "ask p=1 with d=1" if query.p == 1 else f"choose p among the multiples of {step}"
        raise InvalidPointError(
            f"d={query.d} disks do not divide the synchronization groups of workload "
            f"{query.workload.name!r} at p={query.p}: {groups}; {advice}"
        )
    return startup + transfer / groups
