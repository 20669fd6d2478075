"""Satellite data as both Titan and Pathfinder read it: rings of blocks, a grid of output cells.

The sensor's swath is cut into blocks along its orbits. In the model they lie on ``rings`` of
equal latitude, one after another; near the poles, where all orbits meet, some of them run all
around. The form and its numbers are fitted to the paper's tables, not taken from it.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Annotated, Any, Literal, TypeAlias

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast import InvalidPointError, Unit, Whole
from parcast_emulator.blocks import Blocks, Consumers, Short, make_blocks
from parcast_emulator.cluster import Cluster
from parcast_emulator.emulators.declustering import hilbert

Degrees = Annotated[float, Unit("1", positive=True)]
Fraction = Annotated[float, Unit("1", most=1.0)]


#: How the earth is cut into the cells of the output.
Cutting: TypeAlias = Literal["equal-area", "load-balanced"]

#: In which order blocks are dealt to disks: as they come, or along a Hilbert curve.
Along: TypeAlias = Literal["round-robin", "hilbert"]

#: Places along a ring that the curve goes through.
_MERIDIANS = 64


@attrs.frozen(eq=False)
class Cells:
    """A grid of cells: for each ring the first row that its blocks meet, and how many."""

    rows: int
    columns: float  #: a fraction only where a part of the blocks is asked, not which
    low: Short
    height: Short


@attrs.frozen
class FitInterval:
    """What a fit leaves open: time over the time answered, and what is to be said."""

    least: float
    most: float
    note: str


@attrs.frozen(kw_only=True)
class Orbits:
    """Where blocks lie on the earth."""

    rings: Annotated[int, Whole(2)]  #: of blocks, from pole to pole
    latitude: Annotated[float, Unit("1", positive=True, most=90.0)]  #: of the last ring, degrees
    height: Degrees  #: of a block
    width: Annotated[float, Unit("1", positive=True, most=360.0)]  #: of one that is not all around
    full_circle: tuple[Fraction, ...] = ()  #: part of blocks all around, by ring from each pole
    fitted_rows: tuple[Annotated[int, Whole(1)], ...] = ()  #: of the grids that this was fitted on
    fitted_error: Fraction = 0.0  #: of time there, at most

    def latitudes(self) -> NDArray[np.float64]:
        """Return the latitude of each ring, in degrees."""
        return np.linspace(-self.latitude, self.latitude, self.rings)

    def around(self) -> NDArray[np.float64]:
        """Return for each ring which part of its blocks is all around."""
        shares = np.zeros(self.rings)
        for ring, part in enumerate(self.full_circle[: (self.rings + 1) // 2]):
            shares[[ring, -1 - ring]] = part
        return shares

    def cells(self, how: Cutting, count: int, rows: float) -> Cells:
        """Return a grid of ``count`` cells; 0 rows leave their number open.

        ``equal-area``: rows of equal height. ``load-balanced``: rows between rings, and as many
        of them as give the hottest cell least; no cut through a ring makes its blocks fewer.
        """
        if how == "equal-area":
            return self._equal_area(*grid(count, rows))
        numbers = [grid(count, rows)[0]] if rows else range(1, min(count, self.rings) + 1)
        grids = [self._balanced(r, count // r) for r in numbers if count % r == 0]
        return min(grids, key=self.hottest)

    def _equal_area(self, rows: int, columns: float) -> Cells:
        edges = self.latitudes() + np.array([[-0.5], [0.5]]) * self.height
        low, high = np.clip(np.floor((edges + 90) / 180 * rows), 0, rows - 1).astype(np.int16)
        return Cells(rows, columns, low, (high - low + 1).astype(np.int16))

    def _balanced(self, rows: int, columns: int) -> Cells:
        low = group_loads(self.met_share(columns).tolist(), rows).astype(np.int16)
        return Cells(rows, columns, low, np.ones_like(low))

    def met_share(self, columns: float) -> NDArray[np.float64]:
        """Return for each ring which part of its blocks one of so many cells meets."""
        part = self.around()
        shares: NDArray[np.float64] = part + (1 - part) * min(1.0, 1 / columns + self.width / 360)
        return shares

    def hottest(self, cells: Cells) -> float:
        """Return the largest part of all blocks that one cell meets, in the mean."""
        part = self.met_share(cells.columns)
        meets = [(cells.low <= row) & (row < cells.low + cells.height) for row in range(cells.rows)]
        return float(max(part[met_rings].sum() for met_rings in meets)) / self.rings

    def fit_interval(self, cells: Cells, how: Cutting) -> FitInterval | None:
        """Return how far the time may be off by what the fit leaves open; None: nothing is fitted.

        Which rings a row of cells meets jumps with the number of rows. The fit knows some numbers
        of rows; between two of them, what a grid of any number from one to the other would give
        is as well founded.
        """
        if not self.fitted_rows:
            return None
        error = self.fitted_error
        if how != "equal-area" or cells.rows in self.fitted_rows:
            note = f"the orbits are fitted: the interval is the fit's largest error, {error:.1%}"
            return FitInterval(1 - error, 1 + error, note)
        first = max((rows for rows in self.fitted_rows if rows < cells.rows), default=cells.rows)
        last = min((rows for rows in self.fitted_rows if rows > cells.rows), default=cells.rows)
        count, present = cells.rows * cells.columns, self.hottest(cells)
        shares = [
            self.hottest(self._equal_area(rows, count / rows)) / present
            for rows in range(first, last + 1)
        ]
        note = (
            f"the orbits are fitted, and not on grids of {cells.rows} rows such as this one of "
            f"{cells.rows} x {cells.columns} cells: time jumps from grid to grid; the interval has "
            f"those of {first} to {last} rows, and the fit's {error:.1%}"
        )
        return FitInterval((1 - error) * min(shares), (1 + error) * max(shares), note)

    def blocks(
        self, count: int, cells: Cells, cluster: Cluster, readers: int, first: int,
        declustering: Along, size: float, compute: float, random: np.random.Generator,
    ) -> Blocks:  # fmt: skip
        """Return blocks on the disks of the first ``readers`` nodes.

        Cells belong to the nodes from ``first`` on.
        """
        columns = int(cells.columns)
        ring = np.arange(count, dtype=np.int32) % self.rings
        full = random.random(count, np.float32) < self.around()[ring].astype(np.float32)
        west = random.random(count) * columns
        column = west.astype(np.int16)
        span = np.floor(west + self.width / 360 * columns).astype(np.int16) - column + 1
        span = np.where(full, columns, np.minimum(span, columns)).astype(np.int16)
        number = np.arange(count, dtype=np.int32)
        if declustering == "hilbert":
            position = hilbert(self.rings, _MERIDIANS).astype(np.int32)
            west *= _MERIDIANS / columns
            number[np.argsort(position[ring * _MERIDIANS + west.astype(np.int32)])] = number.copy()
        column[full] = 0
        consumers = Consumers.rectangles(
            cells.low[ring], column, cells.height[ring], span, columns, first
        )
        return make_blocks(*deal_to_disks(number, cluster, readers, size), size, compute, consumers)


def group_loads(loads: list[float], groups: int) -> NDArray[np.int64]:
    """Return the group of each load, neighbors together, so that the heaviest group is least."""
    sums = sorted({
        sum(loads[low:high]) for low in range(len(loads)) for high in range(low + 1, len(loads) + 1)
    })  # fmt: skip
    least = bisect_left(sums, True, key=lambda limit: _fill_groups(loads, limit)[-1] < groups)
    return np.array(_fill_groups(loads, sums[least]))


def _fill_groups(loads: list[float], limit: float) -> list[int]:
    """Return the group of each load where groups are filled one after another."""
    if max(loads) > limit:
        return [len(loads)] * len(loads)
    group_of, group, total = [], 0, 0.0
    for load in loads:
        total += load
        if total > limit * (1 + 1e-12):  # sums in another order round otherwise
            group, total = group + 1, load
        group_of.append(group)
    return group_of


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


def deal_to_disks(block: Any, cluster: Cluster, nodes: int, size: float) -> tuple[Any, Any]:
    """Return disk and offset of blocks dealt in turn to nodes, then to the disks of a node."""
    per_node = int(cluster.disks[1])
    disk = (block % nodes) * per_node + block // nodes % per_node
    return disk, (block // (nodes * per_node)) * float(size)
