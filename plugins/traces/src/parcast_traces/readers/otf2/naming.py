"""What the numbers of an archive's definitions mean: regions, communicators, operations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from parcast.errors import FileError, UnsupportedError
from parcast_traces.readers.otf2 import walking as c
from parcast_traces.trace.calls import ALL, CALLS, CODES, NAMES, ROOTED, SENDS, WAIT
from parcast_traces.trace.columns import NONE, Ints
from parcast_traces.trace.names import Names
from parcast_traces.trace.rank_recorder import RankRecorder

#: Collective operations by OTF2's number; those that make or free handles wait for all.
_OPERATIONS = (
    "barrier", "bcast", "gather", "gatherv", "scatter", "scatterv", "allgather", "allgatherv",
    "alltoall", "alltoallv", "alltoallw", "allreduce", "reduce", "reduce_scatter", "scan",
    "exscan", "reduce_scatter_block", "comm_dup", "barrier", "barrier", "barrier", "comm_dup",
    "barrier",
)  # fmt: skip
#: A greater number is of a file that was changed; a table of all regions is made.
_MOST_REGIONS = 1 << 22

_LOCAL = {"MPI_Init": "init", "MPI_Init_thread": "init", "MPI_Finalize": "finalize",
          "MPI_Iprobe": "iprobe"}  # fmt: skip
#: Calls that make a communicator, for which OTF2 has one operation.
_MAKES = _OPERATIONS.index("comm_dup")
_MAKING = frozenset({"comm_split", "comm_create"})


def word(value: Any) -> str:
    """Return the name of one of the package's enumerated values, "" if it has none."""
    try:
        return str(value).rpartition(".")[2]
    except KeyError:
        return ""


class Naming:
    """Definitions as tables, from the library's numbers to a run's."""

    def __init__(self, definitions: Any, names: Names, threads: Mapping[int, list[Any]]) -> None:
        self.regions: dict[int, str] = {
            region._ref: str(region.name)  # noqa: SLF001 - the number that records have
            for region in definitions.regions
        }
        count = max(self.regions, default=0) + 1
        if count > _MOST_REGIONS:
            raise FileError(f"{names.where}: a region has number {count - 1}, and archives "
                            f"have up to {_MOST_REGIONS:,} regions")  # fmt: skip
        self.kinds = np.full(count, c.UNDEFINED, np.int8)
        self.codes = np.zeros((count, 5), np.int64)  #: plain, sending, nonblocking, waiting, making
        for number, name in self.regions.items():
            self.kinds[number] = c.CALLED if name.startswith("MPI_") else c.OTHER
            self.codes[number] = _codes(name)
        ranks = {location: rank for rank, all_ in threads.items() for location in all_}
        self.members: dict[int, Ints | None] = {}
        self.numbers: dict[int, int] = {}
        for comm in definitions.comms:
            self._communicator(comm, names, ranks)
        self._sites: dict[tuple[int, int], int] = {}

    def _communicator(self, comm: Any, names: Names, ranks: Mapping[Any, int]) -> None:
        number, group = comm._ref, comm.group  # noqa: SLF001
        kinds = (word(getattr(group, name, None)) for name in ("group_type", "paradigm"))
        if tuple(kinds) != ("COMM_GROUP", "MPI"):  # of one rank alone, whoever asks
            self.members[number] = None
            return
        members = [ranks.get(location, NONE) for location in group.members]
        if NONE in members:
            raise FileError(f"{names.where}: communicator {number} has a member that is no "
                            "location of a rank")  # fmt: skip
        self.members[number] = np.array(members, np.int64)
        names.communicator(f"number {number}", members)
        self.numbers[number] = len(names.members) - 1

    def names(self, table: Ints) -> Ints:
        """Return the calls, as positions in `NAMES`."""
        does, codes = table[:, c.DOES], self.codes[table[:, c.REGION]]
        calls = np.where(table[:, c.COMPLETED] > 0, codes[:, 3], codes[:, 0])
        calls = np.where(does == c.SENDS, codes[:, 1], calls)
        calls = np.where(does == c.ISENDS, codes[:, 2], calls)
        for bit, name in ((c.RECEIVES, "recv"), (c.PROBES, "probe"), (c.POSTS, "irecv"),
                          (c.SENDS | c.RECEIVES, "sendrecv")):  # fmt: skip
            calls[does == bit] = CODES[name]
        for bit, before in ((c.TOGETHER, ""), (c.LATER, "i")):
            mine = np.flatnonzero(does == bit)
            for number in np.unique(table[mine, c.OUT_TAG]).tolist():
                name = _OPERATIONS[number] if number < len(_OPERATIONS) else "?"
                if before + name not in CALLS:
                    raise UnsupportedError(f"collective operation {number} is not modeled")
                calls[mine[table[mine, c.OUT_TAG] == number]] = CODES[before + name]
        makes_handles = (does == c.TOGETHER) & (table[:, c.OUT_TAG] == _MAKES)
        return np.where(makes_handles, codes[:, 4], calls)

    def peers(
        self, recorder: RankRecorder, comms: Ints, positions: Ints, mine: Any, call: Ints
    ) -> tuple[Ints, Ints]:
        """Return the run's communicators, and ranks of the whole for positions in them.

        A communicator of one rank is that rank's own: number 0 for messages, ``NONE`` for
        collectives.
        """
        numbers, ranks = np.zeros(len(comms), np.int64), np.full(len(comms), NONE, np.int64)
        together = np.array(list(CALLS.values()))[call] >= ALL
        rooted = np.array([name in ROOTED for name in NAMES])[call]
        for comm in np.unique(comms[mine]).tolist():
            at = np.flatnonzero(mine & (comms == comm))
            if comm not in self.members:
                raise FileError(
                    f"{recorder.names.where}: rank {recorder.rank}, event {int(at[0])}: there "
                    f"is no communicator {comm}"
                )
            members = self.members[comm]
            if members is None:
                numbers[at] = np.where(together[at], NONE, 0)
                ranks[at] = recorder.rank
                continue
            numbers[at] = self.numbers[comm]
            with_peer = at[~together[at] | rooted[at]]
            wrong = with_peer[(positions[with_peer] < 0) | (positions[with_peer] >= len(members))]
            if len(wrong):
                raise FileError(
                    f"{recorder.names.where}: rank {recorder.rank}, event {int(wrong[0])}: "
                    f"the peer is {int(positions[wrong[0]])}, and the communicator has "
                    f"{len(members)} members"
                )
            ranks[with_peer] = members[positions[with_peer]]
        return numbers, ranks

    def sites(self, recorder: RankRecorder, table: Ints) -> Ints:
        """Return the number of each call's site: its name and the region around it."""
        wide = len(self.codes) + 1
        keys, inverse = np.unique(
            table[:, c.REGION] * wide + table[:, c.PARENT] + 1, return_inverse=True
        )
        numbers = []
        for key in keys.tolist():
            region, parent = divmod(key, wide)
            around = self.regions[parent - 1] if parent else ""
            numbers.append(recorder.names.site(self.regions[region], around))
        sites: Ints = np.array(numbers, np.int64)[inverse.reshape(-1)]
        return sites


def _codes(region: str) -> tuple[int, int, int, int, int]:
    name = region.removeprefix("MPI_").lower()
    nonblocking = name.startswith("i") and name[1:] in SENDS
    waiting = name if CALLS.get(name) == WAIT else "waitall"
    return (
        CODES[_LOCAL.get(region, name if CALLS.get(name) == WAIT else "call")],
        CODES[name if name in SENDS else "send"],
        CODES[name if nonblocking else "isend"],
        CODES[waiting],
        CODES[name if name in _MAKING else "comm_dup"],
    )
