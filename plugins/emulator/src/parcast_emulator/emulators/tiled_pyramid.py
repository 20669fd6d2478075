"""Pyramids of tiles, such as whole-slide images and cloud-optimized GeoTIFFs, and their viewers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast import InvalidPointError, Whole
from parcast_emulator.blocks import Blocks, Consumers, make_blocks
from parcast_emulator.cluster import Cluster
from parcast_emulator.emulators.declustering import Declustering, deal
from parcast_emulator.emulators.fields import Bytes, Number, Servers, Time, constant
from parcast_emulator.emulators.layout import Layout, Spread, checked_count, layout, whole
from parcast_emulator.workflow import WorkFlow, passing_on

_Numbers = NDArray[np.int64]


@attrs.frozen(kw_only=True)
class TiledPyramid:
    """Views at random places of random levels; each level has half the rows of the one below."""

    images: Number  #: of the same size
    rows: Annotated[int, Whole(1)]  #: of tiles at full resolution
    columns: Annotated[int, Whole(1)]  #: of tiles at full resolution
    levels: Annotated[int, Whole(1)]  #: of resolution
    view_rows: Annotated[int, Whole(1)]  #: of tiles that a viewer sees, where there are so many
    view_columns: Annotated[int, Whole(1)]  #: of tiles that a viewer sees
    views: Number  #: of all viewers, who take turns
    rounds: Number = constant(1)  #: parts that the views come in, each after the last has ended
    size: Bytes  #: of a tile
    compute: Time  #: to decode one
    declustering: Declustering = "round-robin"  #: of the tiles of a level
    servers: Servers = constant(0)  #: nodes that hold the data; 0: all of them

    workflow: ClassVar[WorkFlow] = passing_on("tiled-pyramid", "node with the tile", "viewer")
    notes: ClassVar[tuple[str, ...]] = ("no tile is cached: each view reads all of its tiles",)

    def check(self, values: Mapping[str, float], p: int) -> None:
        """Refuse odd numbers of servers, empty rounds, and what minimax cannot deal."""
        layout(values["servers"], p)
        views, rounds = whole("views", values["views"]), whole("rounds", values["rounds"])
        if rounds > views:
            raise InvalidPointError(f"{rounds} rounds of {views} views leave some empty")
        checked_count(views // rounds * self.view_rows * self.view_columns)
        if self.declustering == "minimax":
            deal("minimax", self.rows, self.columns, 1)

    def shape(self, level: int) -> tuple[int, int]:
        """Return rows and columns of tiles of a level."""
        return -(-self.rows >> level) or 1, -(-self.columns >> level) or 1

    def epochs(
        self, values: Mapping[str, float], cluster: Cluster, random: np.random.Generator
    ) -> Iterator[Blocks]:
        """Return the tiles of the views, view by view."""
        sides, images = layout(values["servers"], len(cluster.speed)), round(values["images"])
        spreads, above = [], 0
        for level in range(self.levels):
            spread = Spread.of(self.declustering, *self.shape(level), sides.disks(cluster))
            spreads.append((spread, above))
            above += spread.height * images
        for part in np.array_split(np.arange(round(values["views"])), round(values["rounds"])):
            levels = random.integers(self.levels, size=len(part))
            image = random.integers(images, size=len(part))
            where = random.random((2, len(part)))
            yield self.tiles(values, cluster, sides, spreads, (part, levels, image, where))

    def tiles(
        self, values: Mapping[str, float], cluster: Cluster, sides: Layout,
        spreads: list[tuple[Spread, int]], views: tuple[np.ndarray, ...],
    ) -> Blocks:  # fmt: skip
        """Return the tiles of some views."""
        part, level, image, where = views
        columns_of_levels = []
        for number, (spread, above) in enumerate(spreads):
            seen = np.flatnonzero(level == number)
            cell = self.visible_cells(number, where[:, seen])
            disk, position = spread.at(image[seen, None], cell)
            view = np.broadcast_to(seen[:, None], cell.shape)
            columns_of_levels.append(
                np.stack([view.ravel(), disk.ravel(), (position + above).ravel()])
            )
        view, disk, position = np.concatenate(columns_of_levels, axis=1)
        order = np.argsort(view, kind="stable")
        viewer = sides.first + part[view[order]] % sides.consumers
        return make_blocks(
            sides.disk(disk[order], cluster),
            position[order] * values["size"],
            values["size"],
            values["compute"],
            Consumers.lists(np.arange(len(order) + 1), viewer),
        )

    def visible_cells(self, level: int, where: np.ndarray) -> _Numbers:
        """Return the cells of a level that views see: a row for each view."""
        rows, columns = self.shape(level)
        height, width = min(rows, self.view_rows), min(columns, self.view_columns)
        row = (where[0] * (rows - height + 1)).astype(np.int64)
        column = (where[1] * (columns - width + 1)).astype(np.int64)
        inside = (np.arange(height)[:, None] * columns + np.arange(width)).ravel()
        cells: _Numbers = (row * columns + column)[:, None] + inside
        return cells

    def closed_form(self, values: Mapping[str, float], p: int) -> None:
        """Return None: how much the viewers see is random."""
        del values, p
