"""The disks and buses of all nodes, as processes call for them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from parcast_emulator.cluster import Cluster
from parcast_emulator.engines.servers import Servers
from parcast_emulator.engines.usage import BUSY, SERVED, WAITED, Usage
from parcast_emulator.processes.clock import RUN, SERVE, Clock
from parcast_emulator.processes.lines import FairLine, Line

#: What orders requests of one time: earlier stages of a block's way first.
BUS, OUT, INTO, CPU = range(4)


class Disks:
    """Accesses in the order of their calls, each then carried over its disk's bus."""

    def __init__(self, clock: Clock, cluster: Cluster, usage: Usage) -> None:
        # numba takes longer to load than most runs without disks
        from parcast_emulator.engines.service import access

        self._access = getattr(access, "py_func", access)  # the kernel's own formula
        self.clock, self.cluster, self.usage = clock, cluster, usage
        self.servers = Servers.of(cluster)
        kind = FairLine if cluster.hardware.fair_bus else Line
        self.buses: list[Line] = [kind(clock) for _ in range(int(cluster.buses[-1]))]

    def access(
        self, disk: int, offset: float, size: float, finish: Callable[..., Any]
    ) -> tuple[float, float]:
        """Read or write; return when the disk begins and ends it.

        In the end ``finish`` is called with when its bus began and ended it.
        """
        now, used = self.clock.now, self.usage.disk
        start, end, _ = self._access(self.cluster, self.servers, disk, now, offset, size)
        used[BUSY, disk] += end - start
        used[WAITED, disk] += start - now
        used[SERVED, disk] += 1
        key = (BUS, int(disk))
        self.clock.at(end, SERVE, key, lambda: self._carry(disk, size, finish))
        return float(start), float(end)

    def _carry(self, disk: int, size: float, finish: Callable[..., Any]) -> None:
        hardware, clock = self.cluster.hardware, self.clock
        bus = self.buses[self.cluster.bus_of[disk]]
        seconds = hardware.bus_latency + size / hardware.bus_bandwidth
        if not hardware.cut_through:
            served: list[float] = []
            ended = partial(_ended, clock, served, finish)
            served.append(bus.serve((BUS, int(disk)), seconds, ended))
            return
        end = max(bus.free + seconds, clock.now)
        bus.busy, bus.served = bus.busy + seconds, bus.served + 1
        bus.waited += max(end - seconds - clock.now, 0.0)
        bus.free = end
        clock.at(end, RUN, (), lambda: finish(end - seconds, end))


def _ended(clock: Clock, served: list[float], finish: Callable[..., Any]) -> None:
    finish(served[0], clock.now)
