"""Satellite data as both Titan and Pathfinder read it: rings of blocks, a grid of output cells.

The sensor's swath is cut into blocks along its orbits. In the model they lie on ``rings`` of
equal latitude, one after another; near the poles, where all orbits meet, some of them run all
around. The form and its numbers are fitted to the paper's tables, not taken from it.
"""

from __future__ import annotations

from typing import Annotated, Any

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast import Formula, InvalidPointError, Unit, Whole
from parcast_emulator.blocks import Blocks, Consumers, Short, make_blocks
from parcast_emulator.cluster import Cluster

Degrees = Annotated[float, Unit("1", positive=True)]
Fraction = Annotated[float, Unit("1", most=1.0)]
Number = Annotated[Formula, Unit("1", positive=True)]


@attrs.frozen(kw_only=True)
class Orbits:
    """Where blocks lie on the earth."""

    rings: Annotated[int, Whole(2)]
    latitude: Annotated[float, Unit("1", positive=True, most=90.0)]  #: of the last ring, degrees
    height: Degrees  #: of a block
    width: Annotated[float, Unit("1", positive=True, most=360.0)]  #: of one that is not all around
    full_circle: tuple[Fraction, ...] = ()  #: part of blocks all around, by ring from each pole

    def latitudes(self) -> NDArray[np.float64]:
        """Return the latitude of each ring, in degrees."""
        return np.linspace(-self.latitude, self.latitude, self.rings)

    def around(self) -> NDArray[np.float64]:
        """Return for each ring which part of its blocks is all around."""
        found = np.zeros(self.rings)
        for ring, part in enumerate(self.full_circle[: (self.rings + 1) // 2]):
            found[[ring, -1 - ring]] = part
        return found

    def rows(self, rows: int) -> tuple[Short, Short]:
        """Return for each ring the first row of cells that its blocks meet, and how many."""
        edges = self.latitudes() + np.array([[-0.5], [0.5]]) * self.height
        low, high = np.clip(np.floor((edges + 90) / 180 * rows), 0, rows - 1).astype(np.int16)
        return low, (high - low + 1).astype(np.int16)

    def consumers(
        self, count: int, rows: int, columns: int, first: int, random: np.random.Generator
    ) -> Consumers:
        """Return who owns the cells that each of ``count`` blocks meets."""
        low, height = self.rows(rows)
        ring = np.arange(count, dtype=np.int32) % self.rings
        full = random.random(count, np.float32) < self.around()[ring].astype(np.float32)
        west = random.random(count) * columns
        column = west.astype(np.int16)
        span = np.floor(west + self.width / 360 * columns).astype(np.int16) - column + 1
        span = np.where(full, columns, np.minimum(span, columns)).astype(np.int16)
        column[full] = 0
        return Consumers.rectangles(low[ring], column, height[ring], span, columns, first)

    def hottest(self, rows: int, columns: int) -> float:
        """Return the largest part of all blocks that one cell meets, in the mean."""
        part = self.around()
        part = part + (1 - part) * min(1.0, 1 / columns + self.width / 360)
        low, height = self.rows(rows)
        meets = [(low <= row) & (row < low + height) for row in range(rows)]
        return float(max(part[one].sum() for one in meets)) / self.rings


def grid(cells: int, rows: float) -> tuple[int, int]:
    """Return rows and columns of a grid of cells; 0 rows ask for the squarest, columns >= rows.

    Raises
    ------
    InvalidPointError
        If there is no such grid.
    """
    if rows == 0:
        squarest = max(r for r in range(1, int(cells**0.5) + 1) if cells % r == 0)
        return squarest, cells // squarest
    if rows != int(rows) or cells % int(rows):
        raise InvalidPointError(
            f"{cells} cells make no grid of rows = {rows:g}; choose a divisor, or 0 for the "
            "squarest grid"
        )
    return int(rows), cells // int(rows)


def whole(name: str, value: float) -> int:
    """Return a number of things, rounded to the nearest; at least one.

    Raises
    ------
    InvalidPointError
        If it is less than one, or more than can be counted.
    """
    if not 1 <= value < 2**31:
        raise InvalidPointError(f"{name} = {value:g} here; it must be 1 .. {2**31 - 1}")
    return round(value)


def dealt(count: int, cluster: Cluster, nodes: int, size: float) -> tuple[Any, Any]:
    """Return disk and offset of blocks dealt in turn to nodes, then to the disks of a node."""
    per_node = int(cluster.disks[1])
    block = np.arange(count, dtype=np.int32)
    disk = (block % nodes) * per_node + block // nodes % per_node
    return disk, (block // (nodes * per_node)) * float(size)


def blocks_of(
    count: int, cluster: Cluster, readers: int, size: float, compute: float, consumers: Consumers
) -> Blocks:
    """Return blocks on the disks of the first ``readers`` nodes."""
    return make_blocks(*dealt(count, cluster, readers, size), size, compute, consumers)
