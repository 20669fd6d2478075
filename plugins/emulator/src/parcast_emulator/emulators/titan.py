"""Titan: a shared-nothing database of satellite images, every node reading and computing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar

import attrs
import numpy as np

from parcast import Formula, Unit
from parcast_emulator.blocks import Blocks
from parcast_emulator.cluster import Cluster
from parcast_emulator.emulators.fields import Number
from parcast_emulator.emulators.layout import whole
from parcast_emulator.emulators.orbits import Along, Cutting, FitInterval, Orbits, grid
from parcast_emulator.workflow import Dependency, Step, WorkFlow

_NONE = Unit("1")


@attrs.frozen(kw_only=True)
class Titan:
    """A query over the whole world."""

    blocks: Number  #: of all nodes
    size: Annotated[Formula, Unit("B", positive=True)]  #: of a block
    compute: Annotated[Formula, Unit("s")]  #: of a block at each of its consumers
    rows: Annotated[Formula, _NONE] = Formula.read(0, _NONE)  #: of cells; 0: squarest grid
    cells: Cutting = "equal-area"  #: how the grid is divided among the nodes
    declustering: Along = "round-robin"  #: of the blocks to the disks
    orbits: Orbits

    workflow: ClassVar[WorkFlow] = WorkFlow(
        "titan",
        (
            Step("read", "read", "node with the block"),
            Step("send", "send", "node with the block"),
            Step("compute own", "compute", "node with the block"),
            Step("receive", "receive", "other nodes it overlaps"),
            Step("compute", "compute", "other nodes it overlaps"),
        ),
        (
            Dependency("read", "send"),
            Dependency("read", "compute own"),
            Dependency("send", "receive", remote=True),
            Dependency("receive", "compute"),
        ),
    )

    def check(self, values: Mapping[str, float], p: int) -> None:
        """Refuse a p that makes no grid, and numbers of blocks below one."""
        grid(p, values["rows"])
        whole("blocks", values["blocks"])

    def epochs(
        self, values: Mapping[str, float], cluster: Cluster, random: np.random.Generator
    ) -> Iterator[Blocks]:
        """Return the blocks of the query: one epoch."""
        p, count = len(cluster.speed), whole("blocks", values["blocks"])
        cells = self.orbits.cells(self.cells, p, values["rows"])
        yield self.orbits.blocks(
            count,
            cells,
            cluster,
            p,
            0,
            self.declustering,
            values["size"],
            values["compute"],
            random,
        )

    def fewest_operations(self, values: Mapping[str, float]) -> int:
        """Return those of blocks that are read once, and computed at one consumer each."""
        return 2 * whole("blocks", values["blocks"])

    def closed_form(self, values: Mapping[str, float], p: int) -> float:
        """Return compute · blocks · the part of them that the hottest cell meets."""
        cells = self.orbits.cells(self.cells, p, values["rows"])
        return values["compute"] * values["blocks"] * self.orbits.hottest(cells)

    def fit_interval(self, values: Mapping[str, float], p: int) -> FitInterval | None:
        """Return what the fit of the orbits leaves open."""
        cells = self.orbits.cells(self.cells, p, values["rows"])
        return self.orbits.fit_interval(cells, self.cells)
