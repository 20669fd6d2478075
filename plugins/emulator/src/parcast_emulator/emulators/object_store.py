"""Reading an object store: clients get ranges of objects from servers with many connections."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import ClassVar

import attrs
import numpy as np

from parcast import InvalidPointError
from parcast_emulator.blocks import Blocks, Consumers, make_blocks
from parcast_emulator.cluster import Cluster
from parcast_emulator.emulators.fields import Bytes, Number, Servers, Time, constant
from parcast_emulator.emulators.layout import checked_count, layout, whole
from parcast_emulator.workflow import WorkFlow, passing_on


@attrs.frozen(kw_only=True)
class ObjectStore:
    """All objects once; a disk of a server is a prefix: connections, and a rate of requests."""

    objects: Number  #: how many are read
    size: Bytes  #: of an object
    range: Bytes  #: of a request, at most
    compute: Time = constant(0, "s")  #: of a client on what one request brings
    servers: Servers  #: nodes that hold the data

    workflow: ClassVar[WorkFlow] = passing_on("object-store", "store", "client")
    notes: ClassVar[tuple[str, ...]] = (
        "connections belong to a prefix of the store (disk.channels), not to a client",
    )

    def check(self, values: Mapping[str, float], p: int) -> None:
        """Refuse odd numbers of servers and more requests than there is room for."""
        if values["servers"] == 0:
            raise InvalidPointError("servers = 0 here; an object store is on nodes of its own")
        layout(values["servers"], p)
        checked_count(whole("objects", values["objects"]) * self.ranges(values))

    def ranges(self, values: Mapping[str, float]) -> int:
        """Return the number of requests for an object."""
        return whole("ranges of an object", math.ceil(values["size"] / values["range"]))

    def epochs(
        self, values: Mapping[str, float], cluster: Cluster, random: np.random.Generator
    ) -> Iterator[Blocks]:
        """Return all requests: the clients' first objects, range by range, then their next."""
        del random
        sides, ranges = layout(values["servers"], len(cluster.speed)), self.ranges(values)
        objects, disks = round(values["objects"]), sides.disks(cluster)
        number = np.arange(objects * ranges)
        group = number // (sides.consumers * ranges)
        width = np.minimum(sides.consumers, objects - group * sides.consumers)
        within = number - group * sides.consumers * ranges
        client, part = within % width, within // width
        of = group * sides.consumers + client
        size = values["size"] / ranges
        yield make_blocks(
            sides.disk(of % disks, cluster),
            (of // disks * ranges + part) * size,
            size,
            values["compute"],
            Consumers.lists(np.arange(len(number) + 1), sides.first + client),
        )

    def closed_form(self, values: Mapping[str, float], p: int) -> float:
        """Return the computation of the client with most objects."""
        clients = layout(values["servers"], p).consumers
        objects = math.ceil(round(values["objects"]) / clients)
        return objects * self.ranges(values) * values["compute"]
