"""Running a program on a machine: whose costs, which ports and which disks."""

from __future__ import annotations

from parcast import Query, UnsupportedError
from parcast.costs import Costs
from parcast.program import Unrolled
from parcast.program.ready import matched
from parcast_emulator.engines.usage import Usage
from parcast_emulator.hardware import Disk, Nic, disks_of
from parcast_emulator.processes.clock import Clock
from parcast_emulator.processes.disks import Disks
from parcast_emulator.processes.node_files import NodeFiles
from parcast_emulator.processes.ports import Ports
from parcast_emulator.processes.program import Run


def costs_of(query: Query) -> tuple[Costs, bool]:
    """Return what the machine charges, and whether files lie on the disks of the nodes.

    They do where the machine states the disks of a node and no ``storage.bandwidth``.

    Raises
    ------
    UnsupportedError
        If the machine lacks what the program needs.
    """
    unrolled = matched(query).unrolled
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
    return Costs.of(query, needs), on_nodes


def run(query: Query, unrolled: Unrolled, polling: float) -> tuple[Run, bool]:
    """Run the query's program to its end; tell also whether files lie on the nodes' disks."""
    costs, on_nodes = costs_of(query)
    clock, nodes = Clock(), costs.placement.nodes
    nic = query.machine.part("nic", Nic) or Nic()
    ports = Ports(clock, nodes, half=nic.duplex == "half", fair=nic.sharing == "fair")
    files = None
    if on_nodes:
        cluster = disks_of(query, nodes)
        files = NodeFiles(Disks(clock, cluster, Usage.of(cluster)), costs.placement.node.tolist())
    done = Run(unrolled, costs, clock, ports, files, polling)
    done.run()
    return done, on_nodes
