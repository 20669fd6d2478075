"""Compare the feed-forward engine with SimPy on the same model, in one run.

uv run --with simpy python benchmarks/against_simpy.py [processes] [blocks of each]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Generator
from typing import Any

import numpy as np
import simpy

from parcast import Query, Registry
from parcast_emulator.blocks import Blocks
from parcast_emulator.cluster import Cluster
from parcast_emulator.engines.servers import Servers
from parcast_emulator.engines.service import access
from parcast_emulator.hardware import cluster_of
from parcast_emulator.simulation import simulate


class Machine:
    """Disks, buses, ports and processors as SimPy resources, a process for each message."""

    def __init__(self, cluster: Cluster, blocks: Blocks) -> None:
        self.env = simpy.Environment()
        self.cluster, self.hardware = cluster, cluster.hardware
        lists = blocks.consumers.as_lists()
        self.start, self.nodes = lists.start.tolist(), lists.nodes.tolist()
        self.size, self.compute = float(blocks.size[0]), float(blocks.compute[0])
        nodes = len(cluster.speed)
        self.bus, self.out, self.into, self.cpu = (
            [simpy.Resource(self.env) for _ in range(count)]
            for count in (int(cluster.buses[-1]), nodes, nodes, nodes)
        )
        for disk in range(len(cluster.node_of)):
            self.env.process(self.read(disk, np.flatnonzero(blocks.disk == disk), blocks.offset))

    def read(self, disk: int, own: np.ndarray, offset: np.ndarray) -> Generator[Any]:
        """Read a disk's blocks one after another; its formula is the engine's."""
        servers, serve = Servers.of(self.cluster), getattr(access, "py_func", access)
        node, bus = int(self.cluster.node_of[disk]), self.bus[int(self.cluster.bus_of[disk])]
        for block in own.tolist():
            at = float(offset[block])
            _, end, _ = serve(self.cluster, servers, disk, self.env.now, at, self.size)
            yield self.env.timeout(float(end) - self.env.now)
            self.env.process(self.carry(block, node, bus))

    def carry(self, block: int, node: int, bus: simpy.Resource) -> Generator[Any]:
        """Carry a block to memory, and pass it on."""
        with bus.request() as request:
            yield request
            yield self.env.timeout(
                self.hardware.bus_latency + self.size / self.hardware.bus_bandwidth
            )
        for consumer in self.nodes[self.start[block] : self.start[block + 1]]:
            if consumer == node:
                self.env.process(self.work(consumer))
            else:
                self.env.process(self.send(node, consumer))

    def send(self, node: int, consumer: int) -> Generator[Any]:
        """Send a block to a consumer; its head goes before it."""
        with self.out[node].request() as request:
            yield request
            self.env.process(self.receive(consumer))
            yield self.env.timeout(self.size / self.hardware.bandwidth)

    def receive(self, consumer: int) -> Generator[Any]:
        """Receive a block, and compute on it."""
        yield self.env.timeout(self.hardware.latency)
        with self.into[consumer].request() as request:
            yield request
            yield self.env.timeout(self.size / self.hardware.bandwidth)
        self.env.process(self.work(consumer))

    def work(self, consumer: int) -> Generator[Any]:
        """Compute."""
        with self.cpu[consumer].request() as request:
            yield request
            yield self.env.timeout(self.compute)


def main(p: int, per_node: int) -> None:
    """Print both times, their ratio, and both answers."""
    registry = Registry()
    query = Query(
        workload=registry.workload("titan"),
        machine=registry.machine("table3-machine"),
        p=p,
        d=4,
        parameters={"per_node": per_node},
    )
    cluster = cluster_of(query)
    (blocks,) = query.workload.content.epochs(query, cluster)
    simulate(cluster, [blocks])  # compiles
    begun = time.process_time()
    outcome = simulate(cluster, [blocks])
    ours = time.process_time() - begun
    print(f"feed-forward  {ours:8.2f} CPU s, makespan {outcome.time:.9f} s", flush=True)
    begun = time.process_time()
    machine = Machine(cluster, blocks)
    machine.env.run()
    theirs = time.process_time() - begun
    print(f"SimPy {simpy.__version__}   {theirs:8.2f} CPU s, makespan {machine.env.now:.9f} s")
    print(f"ratio         {theirs / ours:8.0f}")
    assert abs(machine.env.now - outcome.time) <= 1e-9 * outcome.time


if __name__ == "__main__":
    main(*(int(one) for one in sys.argv[1:3]), *(256, 1723)[len(sys.argv) - 1 :])
