"""Arrays in chunks, as dask reads them from zarr: mapped and reduced to other chunks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast import Formula, Unit
from parcast_emulator.blocks import Blocks, Consumers, make_blocks
from parcast_emulator.cluster import Cluster
from parcast_emulator.emulators.declustering import Declustering, Partitioning, deal
from parcast_emulator.emulators.fields import Bytes, Number, Servers, Time, constant
from parcast_emulator.emulators.layout import Spread, checked_count, layout, whole
from parcast_emulator.workflow import WorkFlow, passing_on


@attrs.frozen(kw_only=True)
class ChunkedArray:
    """Chunks of a plane; each goes whole to the owners of all cells of the output that it meets."""

    rows: Number  #: of chunks
    columns: Number  #: of chunks
    size: Bytes  #: of a chunk
    output_rows: Number  #: of cells of the output
    output_columns: Number  #: of cells of the output
    overlap: Annotated[Formula, Unit("1")] = constant(0)  #: chunks that a cell reaches beyond it
    compute: Time  #: of an owner on a chunk
    task: Time = constant(0, "s")  #: and what the scheduler takes for it
    declustering: Declustering = "round-robin"  #: of the chunks
    partitioning: Partitioning = "round-robin"  #: of the cells
    servers: Servers = constant(0)  #: nodes that hold the data; 0: all of them

    workflow: ClassVar[WorkFlow] = passing_on(
        "chunked-array", "node with the chunk", "owners of cells it meets"
    )

    def check(self, values: Mapping[str, float], p: int) -> None:
        """Refuse odd numbers of servers, more chunks than fit, and what minimax cannot deal."""
        sides = layout(values["servers"], p)
        rows, columns = whole("rows", values["rows"]), whole("columns", values["columns"])
        checked_count(rows * columns)
        if self.declustering == "minimax":
            deal("minimax", rows, columns, 1)
        self.owners(values, sides.consumers)

    def met_cells(self, values: Mapping[str, float], axis: str) -> tuple[NDArray[np.int64], ...]:
        """Return for each row (or column) of chunks the first cells it meets, and how many."""
        chunks, cells = round(values[axis]), whole("cells", values[f"output_{axis}"])
        at, reach = np.arange(chunks), values["overlap"]
        low = np.floor((at - reach) / chunks * cells + 1e-9)
        high = np.ceil((at + 1 + reach) / chunks * cells - 1e-9)
        first = np.clip(low, 0, cells - 1).astype(np.int64)
        return first, np.clip(high, first + 1, cells).astype(np.int64) - first

    def owners(self, values: Mapping[str, float], nodes: int) -> NDArray[np.int64]:
        """Return the owner of each cell; the load of a cell is the number of chunks it meets."""
        loads = []
        for axis in ("rows", "columns"):
            first, count = self.met_cells(values, axis)
            cells = round(values[f"output_{axis}"])
            ends = np.bincount(first, minlength=cells + 1)
            ends -= np.bincount(first + count, minlength=cells + 1)
            loads.append(np.cumsum(ends)[:cells])
        rows, columns = len(loads[0]), len(loads[1])
        return deal(self.partitioning, rows, columns, nodes, np.outer(*loads).ravel())

    def epochs(
        self, values: Mapping[str, float], cluster: Cluster, random: np.random.Generator
    ) -> Iterator[Blocks]:
        """Return all chunks, row by row."""
        del random
        sides = layout(values["servers"], len(cluster.speed))
        rows, columns = round(values["rows"]), round(values["columns"])
        spread = Spread.of(self.declustering, rows, columns, sides.disks(cluster))
        number, position = spread.at(0, np.arange(rows * columns))
        yield make_blocks(
            sides.disk(number, cluster),
            position * values["size"],
            values["size"],
            values["compute"] + values["task"],
            self.consumers(values, self.owners(values, sides.consumers) + sides.first),
        )

    def consumers(self, values: Mapping[str, float], owners: NDArray[np.int64]) -> Consumers:
        """Return for each chunk the owners of the cells it meets, each of them once."""
        (row, height), (column, width) = (
            self.met_cells(values, "rows"),
            self.met_cells(values, "columns"),
        )
        cells = Consumers.rectangles(
            np.repeat(row, len(column)), np.tile(column, len(row)), np.repeat(height, len(width)),
            np.tile(width, len(height)), round(values["output_columns"]),
        ).as_lists()  # fmt: skip
        count = len(cells.start) - 1
        chunk, owner = np.repeat(np.arange(count), np.diff(cells.start)), owners[cells.nodes]
        _, first = np.unique(chunk * (int(owners.max()) + 1) + owner, return_index=True)
        unique = np.sort(first)
        start = np.concatenate([[0], np.cumsum(np.bincount(chunk[unique], minlength=count))])
        return Consumers.lists(start, owner[unique])

    def closed_form(self, values: Mapping[str, float], p: int) -> float:
        """Return the time of the owner that computes on most chunks."""
        owners = self.owners(values, layout(values["servers"], p).consumers)
        hottest = np.bincount(self.consumers(values, owners).nodes).max()
        return float(hottest) * (values["compute"] + values["task"])
