"""Running a program on a machine: whose costs, which ports, which disks, and by which engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from parcast import Query, UnsupportedError
from parcast.model import WHOLE_NETWORK, Costs
from parcast.plugins import Kernel
from parcast.program.matching import Matched, matched_program
from parcast.program.reference import SAME_INSTANT
from parcast.program.source import SENDS
from parcast_emulator.cluster import Cluster
from parcast_emulator.compilation import flows_are_cached, ranks_are_cached
from parcast_emulator.engines.usage import Progress, Usage
from parcast_emulator.hardware import Bus, Disk, Nic, disks_of
from parcast_emulator.processes import program as processes
from parcast_emulator.processes.clock import Clock
from parcast_emulator.processes.disks import Disks
from parcast_emulator.processes.node_files import NodeFiles
from parcast_emulator.processes.ports import Ports

if TYPE_CHECKING:
    from parcast_emulator.engines.ranks import engine as compiled
    from parcast_emulator.engines.ranks.folding import Folding

    Run: TypeAlias = processes.Run | compiled.Run


#: Programs of fewer operations are simulated as a whole.
LEAST = 1_000_000


def costs_of(query: Query) -> tuple[Costs, bool]:
    """Return what the machine charges, and whether files lie on the disks of the nodes.

    They do where the machine states the disks of a node and no ``storage.bandwidth``.

    Raises
    ------
    UnsupportedError
        If the machine lacks what the program needs.
    """
    return query.once("emulator: costs", _costs_of)


def _costs_of(query: Query) -> tuple[Costs, bool]:
    unrolled = matched_program(query, pools=True).unrolled
    needs = set(unrolled.needs())
    disk = query.machine.part("disk", Disk)
    on_nodes = "io" in needs and disk is not None and query.machine.storage.bandwidth is None
    if on_nodes:
        if any(block.arguments.get("file") == "shared" for block in unrolled.blocks):
            raise UnsupportedError(
                f"machine {query.machine.name!r} has the disks of its nodes only, and the program "
                "accesses a shared file; state storage.bandwidth"
            )
        disks_of(query, 1)
        needs -= {"io"}
    return Costs.of(query, needs, WHOLE_NETWORK), on_nodes


def why_not_compiled(query: Query) -> str | None:
    """Return None, or what only the processes themselves can follow."""
    if matched_program(query, pools=True).native.pools:
        return "tasks of a pool go to whoever is free"
    nic, bus = query.machine.part("nic", Nic), query.machine.part("bus", Bus)
    if nic is not None and nic.sharing == "fair":
        return "messages share a port (nic.sharing = 'fair')"
    if bus is not None and bus.sharing == "fair" and costs_of(query)[1]:
        return "blocks share a bus (bus.sharing = 'fair')"
    return None


def run(query: Query, polling: float, progress: Progress = lambda _time, _done: None) -> Run:
    """Run the query's program to its end, by the engine that is sooner done; times are the same.

    Few operations are simulated by processes, many by the compiled kernels where they can.
    """
    engine: Callable[[Query, float], Run] = process_run
    if folding(query) is not None:
        engine = compiled_run
    elif why_not_compiled(query) is None:
        fair = costs_of(query)[0].contention == "fair"
        engine = (_FLOWS if fair else _RANKS).form(simulated(query).unrolled.count())
    program_run = engine(query, polling)
    program_run.run(progress)
    return program_run


def folding(query: Query) -> Folding | None:
    """Return which ranks of a large program stand for all; None where the whole is simulated."""

    def fold(query: Query) -> Folding | None:
        unrolled, jobs = matched_program(query, pools=True).unrolled, query.workload.jobs
        costs, on_nodes = costs_of(query)
        alone = not (jobs or on_nodes) and why_not_compiled(query) is None
        if costs.contention != "fair" or unrolled.count() < LEAST or not alone:
            return None
        from parcast_emulator.engines.ranks.folding import folding_of

        return folding_of(unrolled, costs)

    return query.once("emulator: folding", fold)


def simulated(query: Query) -> Matched:
    """Return the program, or those of its ranks that stand for all."""
    part = folding(query)
    return matched_program(query, pools=True) if part is None else part.matched


def utilization(query: Query, seconds: float) -> dict[str, float]:
    """Return how much of the fullest links a run of so many seconds used; none are shared: {}."""
    costs, _ = costs_of(query)
    if costs.contention != "fair":
        return {}
    import numpy as np

    from parcast_network.utilization import link_utilization

    part, columns = folding(query), simulated(query).columns
    messages = np.flatnonzero(columns.among(SENDS))
    sources, targets = columns.rank_of(messages), columns.dst[messages]
    sizes = np.broadcast_to(
        costs.on_wire(sources, targets, columns.amount[messages]), len(messages)
    )
    wiring = costs.wiring() if part is None else part.wiring
    return link_utilization(wiring, sources, targets, sizes, seconds)


def process_run(query: Query, polling: float) -> processes.Run:
    """Return a run in which the process of every rank issues its operations one by one."""
    costs, nodes = _machine(query)
    clock, nic = Clock(SAME_INSTANT), query.machine.part("nic", Nic) or Nic()
    ports = Ports(
        clock, costs.placement.nodes, half=nic.duplex == "half", fair=nic.sharing == "fair"
    )
    files = None
    if nodes is not None:
        disks = Disks(clock, nodes, Usage.of(nodes))
        files = NodeFiles(disks, costs.placement.node.tolist())
    return processes.Run(
        matched_program(query, pools=True).unrolled, costs, clock, ports, files, polling
    )


def compiled_run(query: Query, polling: float) -> compiled.Run:
    """Return a run by the compiled kernels."""
    from parcast_emulator.engines.ranks import engine

    costs, nodes = _machine(query)
    nic, part = query.machine.part("nic", Nic) or Nic(), folding(query)
    return engine.Run(
        simulated(query),
        costs,
        nodes=nodes,
        half=nic.duplex == "half",
        polling=polling,
        wiring=None if part is None else part.wiring,
    )


#: Both engines, by whether messages share links; a step is an operation, 4 to 7 us by processes.
#: To load compiled kernels takes 0.7 s, to compile those of ranks 7 s, and of flows 10 s.
_RANKS = Kernel(
    process_run,
    lambda: compiled_run,
    plain_steps=80_000,
    loaded_steps=500,
    uncached_steps=1_500_000,
    is_cached=ranks_are_cached,
)
# An operation takes 14 us where neighbors exchange, 75 us where all send to all, and the kernel a
# second to load, 10 to 15 to compile: these are between what takes as long of either.
_FLOWS = Kernel(
    process_run,
    lambda: compiled_run,
    plain_steps=25_000,
    loaded_steps=500,
    uncached_steps=700_000,
    is_cached=flows_are_cached,
)


def _machine(query: Query) -> tuple[Costs, Cluster | None]:
    """Return what the machine charges, and the disks of its nodes if files lie there."""
    costs, on_nodes = costs_of(query)
    return costs, disks_of(query, costs.placement.nodes) if on_nodes else None
