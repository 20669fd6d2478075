"""Checkpoints: all processes write their parts of a state at once."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import attrs
import numpy as np

from parcast_emulator.blocks import Blocks, Consumers, make_blocks
from parcast_emulator.cluster import Cluster
from parcast_emulator.emulators.fields import Bytes, Number, Servers, Time, constant
from parcast_emulator.emulators.layout import checked_count, layout, whole
from parcast_emulator.workflow import Dependency, Step, WorkFlow


@attrs.frozen(kw_only=True)
class Checkpoint:
    """A state in equal parts, written by all consumers; they meet after each checkpoint.

    A write is simulated as a read in a mirror: from the disk over its bus and both ports to the
    process. Time running backwards, each such schedule is one of the writes, and as long.
    """

    size: Bytes  #: of the whole state
    block: Bytes  #: of a write, at most
    checkpoints: Number = constant(1)  #: how many are written
    compute: Time = constant(0, "s")  #: to make a block of the state ready
    servers: Servers = constant(0)  #: nodes that hold the data; 0: all of them

    writes: ClassVar[bool] = True
    workflow: ClassVar[WorkFlow] = WorkFlow(
        "checkpoint",
        (
            Step("make ready", "compute", "process"),
            Step("send", "send", "process"),
            Step("receive", "receive", "node with the disk"),
            Step("write", "write", "node with the disk"),
        ),
        (
            Dependency("make ready", "send"),
            Dependency("send", "receive", remote=True),
            Dependency("receive", "write"),
        ),
    )
    notes: ClassVar[tuple[str, ...]] = (
        "writes are simulated as reads in reverse time, which take exactly as long",
    )

    def check(self, values: Mapping[str, float], p: int) -> None:
        """Refuse odd numbers of servers and more blocks than there is room for."""
        consumers = layout(values["servers"], p).consumers
        checked_count(self.parts(values, consumers) * consumers)
        whole("checkpoints", values["checkpoints"])

    def parts(self, values: Mapping[str, float], consumers: int) -> int:
        """Return how many blocks each process writes."""
        return whole("blocks of a process", math.ceil(values["size"] / consumers / values["block"]))

    def epochs(
        self, values: Mapping[str, float], cluster: Cluster, random: np.random.Generator
    ) -> Iterator[Blocks]:
        """Return the blocks of each checkpoint: all ranks' first ones, then their second ones."""
        del random
        sides = layout(values["servers"], len(cluster.speed))
        parts = self.parts(values, sides.consumers)
        rank = np.tile(np.arange(sides.consumers), parts)
        turn = np.repeat(np.arange(parts), sides.consumers)
        disk: Any
        if sides.first:
            block, disks = rank * parts + turn, sides.disks(cluster)
            disk, position = sides.disk(block % disks, cluster), block // disks
        else:
            per_node = int(cluster.disks[1])
            disk, position = rank * per_node + turn % per_node, turn // per_node
        size = values["size"] / sides.consumers / parts
        consumers = Consumers.lists(np.arange(len(rank) + 1), sides.first + rank)
        for number in range(whole("checkpoints", values["checkpoints"])):
            offset = (number * (int(position.max()) + 1) + position) * size
            yield make_blocks(disk, offset, size, values["compute"], consumers)

    def closed_form(self, values: Mapping[str, float], p: int) -> None:
        """Return None: processors have next to nothing to do."""
        del values, p
