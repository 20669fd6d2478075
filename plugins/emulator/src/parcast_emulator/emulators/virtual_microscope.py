"""The Virtual Microscope: many clients look at parts of slides; no node sends to another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar

import attrs
import numpy as np

from parcast import Formula, InvalidPointError, Unit, Whole
from parcast_emulator.blocks import Blocks, Consumers, make_blocks
from parcast_emulator.cluster import Cluster
from parcast_emulator.emulators.declustering import Declustering, deal
from parcast_emulator.emulators.fields import Number
from parcast_emulator.emulators.layout import Spread, layout, whole
from parcast_emulator.workflow import Dependency, Step, WorkFlow


@attrs.frozen(kw_only=True)
class VirtualMicroscope:
    """Random queries, some of them at a time: those of an epoch."""

    blocks: Number  #: of all slides and focal planes
    plane_rows: Annotated[int, Whole(1)]  #: of blocks in a focal plane
    plane_columns: Annotated[int, Whole(1)]  #: of blocks in a focal plane
    query_rows: Annotated[int, Whole(1)]  #: of blocks in a query
    query_columns: Annotated[int, Whole(1)]  #: of blocks in a query
    queries: Number  #: of all clients
    epochs_number: Number  #: parts that the queries come in, each after the last has ended
    size: Annotated[Formula, Unit("B", positive=True)]  #: of a block
    compute: Annotated[Formula, Unit("s")]  #: of a block
    declustering: Declustering = "round-robin"  #: of the blocks of a plane

    notes: ClassVar[tuple[str, ...]] = (
        "what is sent to clients outside the machine is not simulated",
    )
    workflow: ClassVar[WorkFlow] = WorkFlow(
        "virtual-microscope",
        (
            Step("read", "read", "node with the block"),
            Step("compute", "compute", "node with the block"),
        ),
        (Dependency("read", "compute"),),
    )

    def check(self, values: Mapping[str, float], p: int) -> None:
        """Refuse queries larger than a plane, and more epochs than queries."""
        del p
        if self.query_rows > self.plane_rows or self.query_columns > self.plane_columns:
            raise InvalidPointError(
                f"a query of {self.query_rows} x {self.query_columns} blocks does not fit in a "
                f"plane of {self.plane_rows} x {self.plane_columns}"
            )
        if self.declustering == "minimax":
            deal("minimax", self.plane_rows, self.plane_columns, 1)
        queries, epochs = whole("queries", values["queries"]), values["epochs_number"]
        if whole("epochs_number", epochs) > queries:
            raise InvalidPointError(f"{epochs:g} epochs of {queries} queries leave some empty")
        if values["blocks"] < self.plane_rows * self.plane_columns:
            raise InvalidPointError(
                f"blocks = {values['blocks']:g} here, less than one plane of "
                f"{self.plane_rows} x {self.plane_columns}"
            )

    def epochs(
        self, values: Mapping[str, float], cluster: Cluster, random: np.random.Generator
    ) -> Iterator[Blocks]:
        """Return the blocks of the queries; those of one epoch lie query by query."""
        queries = whole("queries", values["queries"])
        planes = int(values["blocks"]) // (self.plane_rows * self.plane_columns)
        for part in np.array_split(np.arange(queries), whole("epochs", values["epochs_number"])):
            plane = random.integers(planes, size=len(part))
            row = random.integers(self.plane_rows - self.query_rows + 1, size=len(part))
            column = random.integers(self.plane_columns - self.query_columns + 1, size=len(part))
            corner = (plane * self.plane_rows + row) * self.plane_columns + column
            rows = np.arange(self.query_rows)[:, None] * self.plane_columns
            inside = (rows + np.arange(self.query_columns)).ravel()
            yield self.read((corner[:, None] + inside).ravel(), values, cluster)

    def read(self, block: np.ndarray, values: Mapping[str, float], cluster: Cluster) -> Blocks:
        """Return blocks by their numbers."""
        sides = layout(0, len(cluster.speed))
        disks, cells = sides.disks(cluster), self.plane_rows * self.plane_columns
        if self.declustering == "round-robin":  # from plane to plane
            number, position = block % disks, block // disks
        else:
            spread = Spread.of(self.declustering, self.plane_rows, self.plane_columns, disks)
            number, position = spread.at(block // cells, block % cells)
        disk = sides.disk(number, cluster)
        local = Consumers.lists(np.arange(len(block) + 1), cluster.node_of[disk])
        return make_blocks(
            disk, position * values["size"], values["size"], values["compute"], local
        )

    def closed_form(self, values: Mapping[str, float], p: int) -> None:
        """Return None: the busiest of random disks has no formula here."""
        del values, p
