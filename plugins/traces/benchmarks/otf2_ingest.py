"""Reading an OTF2 archive into a trace, against the `otf2` package's own reader of the same events.

The archive is a torus of 4 x 4 ranks: each iteration four receives and four sends are posted and
waited for, and a sum taken. Both are charged CPU seconds of one core; the package's reader only
makes its events, ours also matches requests, channels and calls, and checks them.

    python otf2_ingest.py [iterations]
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import otf2

from parcast_traces.readers import read_trace

SIDE, BYTES = 4, 1024


def neighbors(rank: int) -> list[int]:
    """Return the ranks to the right, left, below and above."""
    x, y = rank % SIDE, rank // SIDE
    steps = ((1, 0), (-1, 0), (0, 1), (0, -1))
    return [(x + dx) % SIDE + SIDE * ((y + dy) % SIDE) for dx, dy in steps]


class Writer:
    """Writes the records of one rank."""

    def __init__(self, archive: otf2.writer.Writer, location: object, regions: dict) -> None:
        self.writer, self.regions = archive.event_writer_from_location(location), regions
        self.clock = 0
        self.requests = 0

    def call(self, name: str, *records: tuple) -> None:
        """Write a region with records in it."""
        self.writer.enter(self.clock, self.regions[name])
        for word, arguments in records:
            getattr(self.writer, word)(self.clock, *arguments)
        self.clock += 10
        self.writer.leave(self.clock, self.regions[name])

    def iteration(self, comm: object, peers: list[int]) -> None:
        """Write an exchange with all neighbors, and a sum."""
        first = self.requests
        self.requests += 8
        for number in range(4):
            self.call("MPI_Irecv", ("mpi_irecv_request", (first + number,)))
        for number, peer in enumerate(peers):
            self.call("MPI_Isend", ("mpi_isend", (peer, comm, number, BYTES, first + 4 + number)))
        got = [("mpi_irecv", (peer, comm, number ^ 1, BYTES, first + number))
               for number, peer in enumerate(peers)]  # fmt: skip
        sent = [("mpi_isend_complete", (first + 4 + number,)) for number in range(4)]
        self.call("MPI_Waitall", *got, *sent)
        end = (otf2.CollectiveOp.ALLREDUCE, comm, 2**32 - 1, 8, 8)
        self.call("MPI_Allreduce", ("mpi_collective_begin", ()), ("mpi_collective_end", end))


def write(folder: Path, iterations: int) -> Path:
    """Write the archive."""
    with otf2.writer.open(str(folder), timer_resolution=10**9) as archive:
        define, mpi = archive.definitions, otf2.Paradigm.MPI
        node = define.system_tree_node("node")
        locations = [
            define.location("thread", group=define.location_group(str(rank),
                                                                  system_tree_parent=node))
            for rank in range(SIDE**2)
        ]  # fmt: skip
        kinds = otf2.GroupType
        define.group("ranks", kinds.COMM_LOCATIONS, paradigm=mpi, members=locations)
        group = define.group("all", kinds.COMM_GROUP, paradigm=mpi, members=locations)
        comm = define.comm("world", group)
        names = ("MPI_Irecv", "MPI_Isend", "MPI_Waitall", "MPI_Allreduce")
        regions = {name: define.region(name, paradigm=mpi) for name in names}
        for rank, location in enumerate(locations):
            writer = Writer(archive, location, regions)
            for _ in range(iterations):
                writer.iteration(comm, neighbors(rank))
    return folder / "traces.otf2"


def main() -> None:
    """Print the ratio."""
    iterations = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with tempfile.TemporaryDirectory() as name:
        path = write(Path(name) / "archive", iterations)
        small = write(Path(name) / "small", 1)
        read_trace(small)  # compiles
        start = time.process_time()
        with otf2.reader.open(str(path)) as archive:
            records = sum(1 for _ in archive.events)
        theirs = time.process_time() - start
        start = time.process_time()
        trace = read_trace(path)
        ours = time.process_time() - start
    print(f"{records:,} records of {trace.size} ranks, {trace.count:,} calls")
    print(f"otf2 package {records / theirs / 1e6:.2f} M records/s, ours {records / ours / 1e6:.2f}")
    print(f"the package takes {theirs / ours:.1f} times the CPU time")


if __name__ == "__main__":
    main()
