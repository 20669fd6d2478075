"""Pathfinder: all satellite data of a period, read by servers and composed by clients."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar

import attrs
import numpy as np

from parcast import Formula, InvalidPointError, Unit
from parcast_emulator.blocks import Blocks
from parcast_emulator.cluster import Cluster
from parcast_emulator.emulators.fields import Number
from parcast_emulator.emulators.layout import whole
from parcast_emulator.emulators.orbits import Along, Cutting, FitInterval, Orbits, grid
from parcast_emulator.workflow import WorkFlow, passing_on

_NONE = Unit("1")


@attrs.frozen(kw_only=True)
class Pathfinder:
    """All blocks, read by I/O nodes (the first ones) and computed on by their clients."""

    blocks: Number  #: of all I/O nodes
    size: Annotated[Formula, Unit("B", positive=True)]  #: of a block
    compute: Annotated[Formula, Unit("s")]  #: of a block at each of its consumers
    clients: Number  #: compute nodes for each I/O node
    rows: Annotated[Formula, _NONE] = Formula.read(0, _NONE)  #: of the clients' cells; 0: squarest
    cells: Cutting = "equal-area"  #: how the grid is divided among the clients
    declustering: Along = "round-robin"  #: of the blocks to the disks
    orbits: Orbits

    workflow: ClassVar[WorkFlow] = passing_on("pathfinder", "I/O node", "compute nodes it overlaps")

    def check(self, values: Mapping[str, float], p: int) -> None:
        """Refuse a p that is no number of groups of an I/O node and its clients."""
        grid(p - self.servers(values, p), values["rows"])
        whole("blocks", values["blocks"])

    def servers(self, values: Mapping[str, float], p: int) -> int:
        """Return how many nodes do the I/O."""
        servers = p / (values["clients"] + 1)
        if servers != int(servers) or servers == p:
            raise InvalidPointError(
                f"p={p} is no number of groups of an I/O node with {values['clients']:g} clients; "
                f"choose a multiple of {values['clients'] + 1:g}"
            )
        return int(servers)

    def epochs(
        self, values: Mapping[str, float], cluster: Cluster, random: np.random.Generator
    ) -> Iterator[Blocks]:
        """Return all blocks: one epoch."""
        p, count = len(cluster.speed), whole("blocks", values["blocks"])
        servers = self.servers(values, p)
        cells = self.orbits.cells(self.cells, p - servers, values["rows"])
        yield self.orbits.blocks(
            count, cells, cluster, servers, servers, self.declustering, values["size"],
            values["compute"], random,
        )  # fmt: skip

    def fewest_operations(self, values: Mapping[str, float]) -> int:
        """Return those of blocks that are read once, and computed at one consumer each."""
        return 2 * whole("blocks", values["blocks"])

    def closed_form(self, values: Mapping[str, float], p: int) -> float:
        """Return compute · blocks · the part of them that the hottest cell meets."""
        cells = self.orbits.cells(self.cells, p - self.servers(values, p), values["rows"])
        return values["compute"] * values["blocks"] * self.orbits.hottest(cells)

    def fit_interval(self, values: Mapping[str, float], p: int) -> FitInterval | None:
        """Return what the fit of the orbits leaves open."""
        cells = self.orbits.cells(self.cells, p - self.servers(values, p), values["rows"])
        return self.orbits.fit_interval(cells, self.cells)
