"""The tightly coupled engine: epochs of blocks, each by the processes of all nodes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from parcast_emulator.blocks import Blocks
from parcast_emulator.cluster import Cluster
from parcast_emulator.coupling import Coupling
from parcast_emulator.engines.usage import Progress, Record, Usage
from parcast_emulator.processes.application import Application
from parcast_emulator.processes.clock import Clock
from parcast_emulator.processes.disks import Disks
from parcast_emulator.processes.lines import Line
from parcast_emulator.processes.ports import Ports


class TightlyCoupled:
    """Processes that issue one call after another; plain Python, for machines of some size."""

    def __init__(self, cluster: Cluster, coupling: Coupling) -> None:
        self.cluster, self.coupling = cluster, coupling
        self.usage = Usage.of(cluster)
        self.clock = Clock()
        hardware, nodes = cluster.hardware, len(cluster.speed)
        self.disks = Disks(self.clock, cluster, self.usage)
        self.ports = Ports(self.clock, nodes, half=hardware.half_duplex, fair=hardware.fair_ports)
        self.processors = [Line(self.clock) for _ in range(nodes)]

    def epoch(self, blocks: Blocks, start: float, record: Record, progress: Progress) -> float:
        """Simulate an epoch that all nodes begin at ``start``; return when it has ended."""
        self.clock.now = start
        return max(self._run(blocks, [0] * len(blocks.disk), 1, record, progress))

    def own_epochs(
        self, epochs: Sequence[Blocks], blocks: Blocks, record: Record, progress: Progress
    ) -> list[float]:
        """Simulate epochs that each node begins when its own operations of the last have ended.

        ``blocks`` are those of all epochs, joined. Return when the last node ends each epoch.
        """
        epoch_of = np.repeat(
            np.arange(len(epochs)), [len(blocks_of_epoch.disk) for blocks_of_epoch in epochs]
        )
        return self._run(blocks, epoch_of.tolist(), len(epochs), record, progress)

    def _run(
        self, blocks: Blocks, epoch_of: list[int], epochs: int, record: Record, progress: Progress
    ) -> list[float]:
        application = Application(
            self.disks, self.ports, self.processors, self.coupling, blocks, epoch_of, epochs, record
        )
        application.begin()
        self.clock.run(progress)
        self._count()
        return application.ends

    def _count(self) -> None:
        """Put what the lines have served until now into the usage."""
        lines = {"bus": self.disks.buses, "cpu": self.processors, "send": self.ports.out}
        if self.ports.into is not self.ports.out:
            lines["receive"] = self.ports.into
        for name, listed in lines.items():
            columns = [(line.busy, line.waited, line.served) for line in listed]
            getattr(self.usage, name)[:] = np.array(columns).reshape(-1, 3).T
