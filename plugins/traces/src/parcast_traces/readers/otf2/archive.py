"""An archive's ranks: the calls of all threads of each, in order, as columns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from parcast.errors import FileError, UnsupportedError, shorten
from parcast_traces.errors import TraceError
from parcast_traces.readers.otf2 import walking as c
from parcast_traces.readers.otf2.calls import Calls
from parcast_traces.readers.otf2.naming import Naming, word
from parcast_traces.readers.otf2.records import Library
from parcast_traces.trace.bulk import Bulk, record
from parcast_traces.trace.calls import CODES
from parcast_traces.trace.columns import NONE, Ints, Trace
from parcast_traces.trace.rank_recorder import RankRecorder
from parcast_traces.trace.recording import Recording, unread

_STOPPED: Mapping[int, str] = {
    c.ONE_SIDED: "a record of one-sided communication, which is not read from OTF2",
    c.MATCHED: "a record of a matched receive (MPI_Mrecv), which is not read from OTF2",
    c.TOO_DEEP: f"more than {c.MOST_DEPTH:,} regions inside each other",
}


class Archive:
    """An open archive."""

    def __init__(self, archive: Any, where: str) -> None:
        self.archive, self.where = archive, where
        self.notes: dict[str, int] = defaultdict(int)
        self.threads = self._threads()
        self.spans: dict[int, tuple[int, int]] = {}  #: of each rank that has any record

    def _threads(self) -> dict[int, list[Any]]:
        """Return the locations of each rank, ranks in the order of the MPI locations."""
        definitions, ranks = self.archive.definitions, dict[Any, int]()
        for group in definitions.groups:
            if (word(group.group_type), word(group.paradigm)) == ("COMM_LOCATIONS", "MPI"):
                for location in group.members:
                    ranks.setdefault(location.group, len(ranks))
        threads: dict[int, list[Any]] = defaultdict(list)
        for candidate in definitions.locations:
            if word(candidate.type) == "CPU_THREAD":
                threads[ranks.setdefault(candidate.group, len(ranks))].append(candidate)
            else:
                self.notes["others"] += word(candidate.type) != "METRIC"
        return {rank: threads[rank] for rank in range(len(ranks))}

    def trace(self) -> Trace:
        """Return what all ranks did.

        Raises
        ------
        FileError
            If the archive says that its clock does not tick.
        """
        if not (ticks := int(self.archive.timer_resolution)):
            raise FileError(f"{self.where}: its clock has 0 ticks a second; record it again")
        recording = Recording(len(self.threads), self.where)
        naming = Naming(self.archive.definitions, recording.names, self.threads)
        self._open()
        library = Library()
        origin, calls_of_ranks = self._ranks(library, naming)
        after = 0
        for recorder, (table, completions) in zip(recording.ranks, calls_of_ranks, strict=True):
            first, last = self.spans.get(recorder.rank, (origin, origin))
            if len(table):
                _Rank(recorder, naming, self.notes).record(table, completions, origin)
                after += max(0, last - int(table[-1, c.END]))
            else:
                recorder.compute(float(first - origin), float(last - origin))
        tick = 1.0 / ticks
        return recording.trace(tick=tick, notes=(*self._notes(), *unread(after * tick)))

    def _open(self) -> None:
        """Select all threads and read their own definitions, which number records anew."""
        import _otf2

        handle, threads = (
            self.archive.handle,
            [thread for v in self.threads.values() for thread in v],
        )
        for thread in threads:
            _otf2.Reader_SelectLocation(handle, thread._ref)  # noqa: SLF001 - the C library's number
        try:
            _otf2.Reader_OpenDefFiles(handle)
        except _otf2.Error:  # archives may have none
            pass
        else:
            for thread in threads:
                reader = _otf2.Reader_GetDefReader(handle, thread._ref)  # noqa: SLF001
                if reader:
                    _otf2.Reader_ReadAllLocalDefinitions(handle, reader)
                    _otf2.Reader_CloseDefReader(handle, reader)
            _otf2.Reader_CloseDefFiles(handle)
        _otf2.Reader_OpenEvtFiles(handle)

    def _ranks(self, library: Library, naming: Naming) -> tuple[int, Iterator[tuple[Ints, Ints]]]:
        """Return when the archive begins, and what each rank did.

        Where the archive does not say when it begins, all ranks are read first.
        """
        calls_of_ranks = (self._rank(library, naming, rank) for rank in self.threads)
        origin = int(self.archive.definitions.clock_properties.global_offset)
        if origin:
            return origin, calls_of_ranks
        loaded = list(calls_of_ranks)
        firsts = [int(table[0, c.START]) for table, _ in loaded if len(table)]
        firsts = firsts or [first for first, _ in self.spans.values()]
        return min(firsts, default=0), iter(loaded)

    def _rank(self, library: Library, naming: Naming, rank: int) -> tuple[Ints, Ints]:
        """Return the calls of all threads of a rank in order, and what they complete."""
        tables, completion_tables, before = [], [], 0
        silent = 0
        for location in self.threads[rank]:
            calls = self._calls(library, naming, rank, location)
            table, completions = calls.whole()
            if calls.span:
                first, last = self.spans.get(rank, calls.span)
                self.spans[rank] = min(first, calls.span[0]), max(last, calls.span[1])
            if calls.open >= 0:
                raise TraceError(
                    "never_left",
                    f"rank {rank}, event {before + len(table)}: "
                    f"{naming.regions[calls.open]} is never left: the run ends inside it",
                    self.where,
                )
            tables.append(table)
            by = np.repeat(np.arange(len(table)), table[:, c.COMPLETED]) + before
            completion_tables.append(np.column_stack([completions, by]))
            before += len(table)
            silent += not len(table)
        self.notes["silent"] += silent
        self.notes["folded"] += len(tables) - silent > 1
        return self._merge_threads(
            rank, np.concatenate(tables), np.concatenate(completion_tables), len(tables) > 1
        )

    def _calls(self, library: Library, naming: Naming, rank: int, location: Any) -> Calls:
        """Return the calls of one thread."""
        from _otf2.ErrorCodes import Error

        calls = Calls(naming.kinds)
        try:
            for rows in library.rows(self.archive, location, self._events_of(location)):
                if reason := calls.take(rows):
                    raise self._walk_error(reason, rank, rows[int(calls.state[c.AT])])
        except (Error, EOFError) as error:
            raise FileError(
                f"{self.where}: rank {rank}, after event {len(calls.whole()[0])}: what was "
                f"recorded is cut off or changed ({shorten(error)})"
            ) from None
        return calls

    def _events_of(self, location: Any) -> Path:
        """Return the file that holds a location's records."""
        return Path(self.where).with_suffix("") / f"{location._ref}.evt"  # noqa: SLF001

    def _merge_threads(
        self, rank: int, table: Ints, completions: Ints, several: bool
    ) -> tuple[Ints, Ints]:
        """Put the calls of several threads in one order."""
        if not several:
            return table, completions
        order = np.argsort(table[:, c.START], kind="stable")
        table = table[order]
        over = np.flatnonzero(table[1:, c.START] < table[:-1, c.END])
        if len(over):
            raise UnsupportedError(
                f"{self.where}: rank {rank}, event {int(over[0]) + 1}: two threads of the rank "
                "call MPI at one time, and a rank of a message graph has one order"
            )
        positions = np.empty(len(order), np.int64)
        positions[order] = np.arange(len(order))
        completions[:, c.PARTS] = positions[completions[:, c.PARTS]]
        return table, completions[np.argsort(completions[:, c.PARTS], kind="stable")]

    def _walk_error(self, reason: int, rank: int, row: Ints) -> Exception:
        if reason == c.UNKNOWN:
            return FileError(f"{self.where}: rank {rank} enters region {int(row[2])} at time "
                             f"{int(row[1])}, and no region has this number")  # fmt: skip
        if reason == c.OUTSIDE:
            return FileError(f"{self.where}: rank {rank} has an MPI record outside any MPI call, "
                             f"at time {int(row[1])}")  # fmt: skip
        return UnsupportedError(f"{self.where}: rank {rank} has {_STOPPED[reason]}, at time "
                                f"{int(row[1])}")  # fmt: skip

    def _notes(self) -> Iterator[str]:
        if count := self.notes["others"]:
            yield f"{count} locations that are no threads of a processor are left out"
        if count := self.notes["silent"]:
            yield f"{count} threads that do not call MPI are part of their ranks' computation"
        if count := self.notes["folded"]:
            yield (
                f"of {count} ranks several threads call MPI, one after the other; they are merged "
                "into their rank"
            )
        if count := self.notes["freed"]:
            yield f"{count} sends are never waited for; they are freed when their rank ends"


class _Rank:
    """Puts the calls of one rank into a recording."""

    def __init__(self, recorder: RankRecorder, naming: Naming, notes: dict[str, int]) -> None:
        self.recorder, self.naming, self.notes = recorder, naming, notes

    def record(self, table: Ints, completions: Ints, origin: int) -> None:
        """Record calls and what they complete."""
        table, completions = self._without_cancelled(table, completions)
        mate = _mates(table, completions)
        self._fill_posted(table, completions, mate)
        table, completions = self._with_freed(table, completions, mate)
        naming = self.naming
        does = table[:, c.DOES]
        call = naming.names(table)
        out = (does & (c.SENDS | c.ISENDS | c.TOGETHER | c.LATER)) != 0
        into = (does & (c.RECEIVES | c.PROBES | c.POSTS)) != 0
        comm, to = naming.peers(self.recorder, table[:, c.OUT_COMM], table[:, c.TO], out, call)
        source_comm, source = naming.peers(
            self.recorder, table[:, c.IN_COMM], table[:, c.FROM], into, call
        )
        asks = (does & (c.ISENDS | c.POSTS | c.LATER)) != 0
        alone = (does & (c.TOGETHER | c.LATER) != 0) & (comm == NONE)
        call[alone] = CODES["call"]  # a collective of this rank alone, which meets nobody
        comm[alone], to[alone], out = 0, NONE, out & ~alone
        completions = np.delete(
            completions, _mates(table, completions)[alone & (does == c.LATER)], axis=0
        )
        call[_is_freed(table)] = CODES["request_free"]
        record(self.recorder, Bulk(
            call=call, start=(table[:, c.START] - origin).astype(float),
            end=(table[:, c.END] - origin).astype(float),
            to=to, tag=table[:, c.OUT_TAG], size=np.where(out, table[:, c.OUT_BYTES], 0.0),
            source=source, source_tag=table[:, c.IN_TAG],
            room=np.where(into & (does != c.PROBES), table[:, c.IN_BYTES], np.inf),
            comm=np.where(out, comm, np.where(into, source_comm, 0)),
            request=np.where(asks & ~alone, table[:, c.REQUEST], NONE),
            site=naming.sites(self.recorder, table), completed=completions[:, c.ASKED],
            by=completions[:, c.PARTS],
        ))  # fmt: skip

    def _without_cancelled(self, table: Ints, completions: Ints) -> tuple[Ints, Ints]:
        """Leave out requests that were cancelled: there is no message behind them."""
        gone = np.flatnonzero(completions[:, c.HOW] == c.UNDONE)
        if not len(gone):
            return table, completions
        table, mate = table.copy(), _mates(table, completions)
        table[np.flatnonzero(np.isin(mate, gone)), c.DOES] = 0
        return table, np.delete(completions, gone, axis=0)

    def _fill_posted(self, table: Ints, completions: Ints, mate: Ints) -> None:
        """Give posted receives, and collectives, what is known at their completion."""
        for bit, first in ((c.POSTS, c.FROM), (c.LATER, c.TO)):
            mine = np.flatnonzero((table[:, c.DOES] & bit) != 0)
            if len(lost := mine[mate[mine] == NONE]):
                raise UnsupportedError(
                    f"{self.recorder.names.where}: rank {self.recorder.rank}, event "
                    f"{int(lost[0])}: a request never completes, so nothing says of whom it was"
                )
            parts = completions[mate[mine]][:, [c.PEER, c.COMM, c.TAG, c.BYTES]]
            if bit == c.LATER:  # operation, communicator, root, bytes
                parts = parts[:, [2, 1, 0, 3]]
            table[mine, first : first + 4] = parts

    def _with_freed(self, table: Ints, completions: Ints, mate: Ints) -> tuple[Ints, Ints]:
        """Give up sends that nobody waits for, at the end of the rank."""
        asks = (table[:, c.DOES] & c.ISENDS) != 0
        lost = np.flatnonzero(asks & (mate == NONE))
        if not len(lost):
            return table, completions
        self.notes["freed"] += len(lost)
        rows = np.zeros((len(lost), c.COLUMNS), np.int64)
        rows[:, [c.START, c.END]] = table[-1, c.END]
        rows[:, [c.REGION, c.PARENT]] = table[lost][:, [c.REGION, c.PARENT]]
        rows[:, c.COMPLETED] = NONE
        freed = np.zeros((len(lost), completions.shape[1]), np.int64)
        freed[:, c.ASKED] = table[lost, c.REQUEST]
        freed[:, c.PARTS] = len(table) + np.arange(len(lost))
        return np.concatenate([table, rows]), np.concatenate([completions, freed])


def _is_freed(table: Ints) -> Any:
    return table[:, c.COMPLETED] == NONE


def _mates(table: Ints, completions: Ints) -> Ints:
    """Return the row in ``completions`` of each call that makes a request."""
    asks = np.flatnonzero((table[:, c.DOES] & (c.ISENDS | c.POSTS | c.LATER)) != 0)
    names = np.concatenate([table[asks, c.REQUEST], completions[:, c.ASKED]])
    events = np.concatenate([asks, completions[:, c.PARTS]])
    order = np.lexsort((np.arange(len(names)), events, names))
    mates = np.full(len(table), NONE, np.int64)
    first, second = order[:-1], order[1:]
    pair = (first < len(asks)) & (second >= len(asks)) & (names[first] == names[second])
    mates[asks[first[pair]]] = second[pair] - len(asks)
    return mates
