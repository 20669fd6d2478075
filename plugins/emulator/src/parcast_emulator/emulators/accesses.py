"""Reads and writes that a tool recorded of a job, on the disks of another storage."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast import Formula, InvalidPointError, Query, Unit, Whole
from parcast.model import Count
from parcast_emulator.blocks import Blocks, Consumers, make_blocks
from parcast_emulator.cluster import Cluster
from parcast_emulator.emulators.fields import Bytes, Servers, constant
from parcast_emulator.emulators.layout import Layout, checked_count, layout
from parcast_emulator.workflow import WorkFlow, passing_on

_Wholes = tuple[Annotated[int, Whole(0)], ...]
_Integers = NDArray[np.int64]

#: Positions in files up to here are whole numbers as floats, too.
_FARTHEST = 2.0**53


@attrs.frozen(kw_only=True, eq=False)
class Accesses:
    """Accesses of the ranks of a job to its files: lists of one length, an entry for each series.

    A series is ``count`` accesses of ``size`` bytes, one after another in their file. Files are cut
    into stripes that go round all disks.
    """

    processes: Count  #: ranks of the job; consumers have them in blocks
    rank: _Wholes  #: of each series
    file: _Wholes  #: of each series, from 0
    offset: _Wholes  #: of a series' first access, in bytes
    size: _Wholes  #: of each of its accesses, in bytes
    count: _Wholes  #: how many accesses a series has
    write: tuple[bool, ...]  #: whether they are writes
    stripe: Bytes = constant(2**20, "B")  #: of a file on one disk
    reads: Annotated[Formula, Unit("1", most=1.0)] = constant(1)  #: 0: reads are left out
    writes: Annotated[Formula, Unit("1", most=1.0)] = constant(1)  #: 0: writes are left out
    servers: Servers = constant(0)  #: nodes that hold the data; 0: all of them
    recorded: str = ""  #: what is to be said beside each answer

    workflow: ClassVar[WorkFlow] = passing_on("accesses", "node with the file", "rank")
    notes: ClassVar[tuple[str, ...]] = (
        (
            "every rank has all its accesses under way at once, reads first, and writes after all "
            "reads; a write is simulated as a read in reverse time, which takes exactly as long"
        ),
        "files lie in stripes round all disks, each beginning on the next one",
    )

    @property
    def remarks(self) -> tuple[str, ...]:
        """What rows say of the recording."""
        return (self.recorded,) if self.recorded else ()

    def writing(self, query: Query) -> bool | None:
        """Tell whether all accesses are writes; None where some are and some are not."""
        directions = {write for write, _ in self._parts(_switches(self, query))}
        return directions.pop() if len(directions) == 1 else None if directions else False

    def check(self, values: Mapping[str, float], p: int) -> None:
        """Refuse lists of several lengths, no access at all, and more than there is room for."""
        layout(values["servers"], p)
        lists = ("rank", "file", "offset", "size", "count", "write")
        lengths = {len(getattr(self, name)) for name in lists}
        if len(lengths) > 1:
            raise InvalidPointError("rank, file, offset, size, count and write must be as long")
        parts = list(self._parts(values))
        if not parts:
            raise InvalidPointError("the job has no access that is left; set reads or writes to 1")
        if int(max(self.rank)) >= self.processes:
            raise InvalidPointError(f"rank {max(self.rank)} of {self.processes} processes")
        for _, series in parts:
            columns = self._columns(series)
            size = columns["size"].astype(np.float64)
            ends = columns["offset"] + columns["count"] * size
            if ends.max() > _FARTHEST:
                raise InvalidPointError(f"a file reaches to {ends.max():g} bytes; 2**53 is most")
            checked_count(int((columns["count"] * (size / _stripe(values) + 2.0)).sum()))

    def epochs(
        self, values: Mapping[str, float], cluster: Cluster, random: np.random.Generator
    ) -> Iterator[Blocks]:
        """Return all reads, and then all writes: each rank's first access, then its second."""
        del random
        sides = layout(values["servers"], len(cluster.speed))
        for _, series in self._parts(values):
            columns = self._columns(series)
            yield self._epoch(_cut(columns, _stripe(values)), values, sides, cluster)

    def closed_form(self, values: Mapping[str, float], p: int) -> None:
        """Return None: processors have nothing to do."""
        del values, p

    def _parts(self, values: Mapping[str, float]) -> Iterator[tuple[bool, Any]]:
        """Yield whether accesses are writes, and which series these are: of reads, of writes."""
        write = np.asarray(self.write, bool)
        moving = np.asarray(self.count, np.int64) * np.asarray(self.size, np.float64) > 0
        for direction, name in ((False, "reads"), (True, "writes")):
            series = np.flatnonzero((write == direction) & moving)
            if len(series) and values[name]:
                yield direction, series

    def _columns(self, series: Any) -> dict[str, _Integers]:
        names = ("rank", "file", "offset", "size", "count")
        return {name: np.asarray(getattr(self, name), np.int64)[series] for name in names}

    def _epoch(
        self, pieces: dict[str, Any], values: Mapping[str, float], sides: Layout, cluster: Cluster
    ) -> Blocks:
        order = np.argsort(pieces["rank"], kind="stable")
        rank = pieces["rank"][order]
        turn = np.arange(len(rank)) - np.searchsorted(rank, rank)
        order = order[np.argsort(turn, kind="stable")]
        disks, stripe = sides.disks(cluster), _stripe(values)
        number = pieces["file"][order] + pieces["stripe"][order]
        position = _positions(pieces["file"], pieces["stripe"], disks)
        consumer = sides.first + pieces["rank"][order] * sides.consumers // self.processes
        return make_blocks(
            sides.disk(number % disks, cluster),
            position[order] * stripe + pieces["within"][order],
            pieces["size"][order],
            0.0,
            Consumers.lists(np.arange(len(order) + 1), consumer),
        )


def _switches(accesses: Accesses, query: Query) -> dict[str, float]:
    return {name: query.number(accesses, name) for name in ("reads", "writes")}


def _stripe(values: Mapping[str, float]) -> float:
    """Return the bytes of a stripe: a whole number, as positions in files are."""
    return max(math.floor(values["stripe"]), 1.0)


def _positions(file: Any, number: Any, disks: int) -> Any:
    """Return where on its disk each stripe lies, in stripes: files one after another."""
    rows = np.zeros(int(file.max()) + 2, np.int64)
    np.maximum.at(rows, file + 1, number // disks + 1)
    return np.cumsum(rows)[file] + number // disks


def _cut(columns: Mapping[str, _Integers], stripe: float) -> dict[str, Any]:
    """Return the accesses of all series as pieces that lie in one stripe each."""
    of = np.repeat(np.arange(len(columns["count"])), columns["count"])
    nth = np.arange(len(of)) - np.repeat(
        np.cumsum(columns["count"]) - columns["count"], columns["count"]
    )
    begin = columns["offset"][of] + nth * columns["size"][of]
    end = begin + columns["size"][of]
    first, last = begin // stripe, np.ceil(end / stripe)
    counts = (last - first).astype(np.int64)
    access = np.repeat(np.arange(len(of)), counts)
    piece = first[access] + (np.arange(len(access)) - np.repeat(np.cumsum(counts) - counts, counts))
    low = np.maximum(begin[access], piece * stripe)
    high = np.minimum(end[access], (piece + 1) * stripe)
    return {
        "rank": columns["rank"][of][access],
        "file": columns["file"][of][access],
        "stripe": piece.astype(np.int64),
        "within": low - piece * stripe,
        "size": high - low,
    }
