"""Shuffle: every partition of every map's output goes to the node that reduces it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar

import attrs
import numpy as np

from parcast import Formula, Unit
from parcast_emulator.blocks import Blocks, Consumers, Floats, make_blocks
from parcast_emulator.cluster import Cluster
from parcast_emulator.emulators.declustering import Partitioning, deal
from parcast_emulator.emulators.fields import Bytes, Number, Servers, Time, constant
from parcast_emulator.emulators.layout import checked_count, layout, whole
from parcast_emulator.workflow import WorkFlow, passing_on


@attrs.frozen(kw_only=True)
class Shuffle:
    """The matrix of maps and partitions; a partition's share of the data may be skewed."""

    maps: Number  #: tasks whose output is on disk
    partitions: Number  #: of the output of each map
    size: Bytes  #: of all data
    compute: Time  #: to reduce all data on one node
    skew: Annotated[Formula, Unit("1")] = constant(0)  #: share of the k-th partition: 1 / k^skew
    partitioning: Partitioning = "round-robin"  #: of the partitions to the nodes
    servers: Servers = constant(0)  #: nodes that hold the data; 0: all of them

    workflow: ClassVar[WorkFlow] = passing_on("shuffle", "node of the map", "node of the partition")

    def check(self, values: Mapping[str, float], p: int) -> None:
        """Refuse odd numbers of servers and more blocks than there is room for."""
        layout(values["servers"], p)
        checked_count(whole("maps", values["maps"]) * whole("partitions", values["partitions"]))

    def shares(self, values: Mapping[str, float]) -> Floats:
        """Return the part of all data that each partition has."""
        weights = np.arange(1.0, round(values["partitions"]) + 1) ** -values["skew"]
        share_of: Floats = weights / weights.sum()
        return share_of

    def epochs(
        self, values: Mapping[str, float], cluster: Cluster, random: np.random.Generator
    ) -> Iterator[Blocks]:
        """Return all blocks, a map after another; each map begins with another partition."""
        del random
        sides, shares = layout(values["servers"], len(cluster.speed)), self.shares(values)
        maps, partitions = round(values["maps"]), len(shares)
        owner = deal(self.partitioning, 1, partitions, sides.consumers, shares)
        # the first maps of all disks before their second ones, as all disks begin at once
        task = np.repeat(np.arange(maps), partitions)
        partition = (np.tile(np.arange(partitions), maps) + task) % partitions
        before = np.concatenate([[0.0], np.cumsum(shares)])
        turn, disks = task // sides.disks(cluster), sides.disks(cluster)
        share = shares[partition] / maps
        yield make_blocks(
            sides.disk(task % disks, cluster),
            (turn + before[partition]) * values["size"] / maps,
            share * values["size"],
            share * values["compute"],
            Consumers.lists(np.arange(len(task) + 1), sides.first + owner[partition]),
        )

    def closed_form(self, values: Mapping[str, float], p: int) -> float:
        """Return the time of the node that reduces most."""
        sides, shares = layout(values["servers"], p), self.shares(values)
        owner = deal(self.partitioning, 1, len(shares), sides.consumers, shares)
        return float(np.bincount(owner, shares).max()) * values["compute"]
