"""Traces of Paraver (``.prv``), as Extrae's merger writes them.

Events of MPI's types (50000001 to 50000005) begin and end calls; communications, which the merger
has matched, say by their times which calls sent, posted, received and waited. States say nothing
more and are passed over. Not recorded, and so refused or noted: which wait completes a send, the
communicator of a message, whom a call that makes a communicator waits for, whose message a probe
saw, what completes a collective that does not block, one-sided communication. What has no
communication counts as with MPI_PROC_NULL where every rank comes to its end, and a note says so.
The region of a call is who called it, as Extrae tells with its callers, or else the user function
around it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from parcast.errors import UnsupportedError
from parcast_traces.errors import TraceError
from parcast_traces.readers.paraver import calls as c
from parcast_traces.readers.paraver.calls import Call, Message
from parcast_traces.readers.paraver.matching import Matching
from parcast_traces.readers.paraver.records import Records, read_records
from parcast_traces.trace.calls import ALL, CALLS, ISENDS, ROOTED
from parcast_traces.trace.columns import Trace
from parcast_traces.trace.rank_recorder import RankRecorder
from parcast_traces.trace.recording import Recording, unread


def read(path: Path) -> Trace:
    """Return the trace in a file.

    Raises
    ------
    FileError
        If it is none of Paraver, or cut off.
    TraceError
        If no run can have left it.
    UnsupportedError
        If there are calls of which it does not tell enough.
    """
    records = read_records(path)
    notes = list(_notes(records))
    recording = Recording(records.size, str(path))
    matching = Matching(records, recording.names)
    names = _names(records)
    for number, members in records.members.items():
        recording.communicator(names[number], members)
    length = max(0, records.length - records.origin)
    freed, alone, after = 0, 0, 0
    for recorder in recording.ranks:
        writer, end = _Writer(records, recorder, names), None
        for calls in matching.attached(recorder.rank):
            for call in _shifted(calls, records.origin):
                writer.write(call)
                end = call.end
        if end is None:
            recorder.compute(0.0, float(length))
        else:
            after += max(0, length - end)
        alone, freed = alone + writer.alone, freed + writer.freed
    matching.check_order()
    notes += unread(after * records.tick)
    if freed:
        notes.append(f"which wait completes a send is not recorded: {freed:,} sends are freed as "
                     "they begin, and waits take as long for them as recorded")  # fmt: skip
    if alone:
        notes.append(
            f"{alone:,} sends and receives have no communication in the file: they count as "
            "with MPI_PROC_NULL, as every rank comes to MPI_Finalize"
        )
    return recording.trace(tick=records.tick, notes=tuple(notes))


def _names(records: Records) -> Mapping[int, int | str]:
    """Return how the recording names communicators: 0 is the first that all ranks are in."""
    all_ranks = list(range(records.size))
    world = next((number for number, ranks in records.members.items() if ranks == all_ranks), None)
    return {number: 0 if number == world else f"number {number}" for number in records.members}


def _notes(records: Records) -> Iterator[str]:
    if records.applications > 1:
        yield (f"of {records.applications} applications only number {records.application} calls "
               "MPI; what is of the others is left out")  # fmt: skip
    if not records.called:
        yield "its one rank calls no MPI: it computes from the beginning to the end, on all threads"
    if count := sum(len(threads) > 1 for threads in records.threads):
        yield (f"of {count} ranks several threads call MPI, one after the other; they are merged "
               "into their rank")  # fmt: skip
    making = [tally.making for tally in records.kept.ranks]
    for rank, calls in enumerate(making):
        if calls != making[0]:
            raise UnsupportedError(
                f"{records.path}: ranks 0 and {rank} make communicators by different calls, and "
                "Paraver does not record whom these wait for"
            )
    if making[0]:
        yield f"{len(making[0])} calls that make communicators count as calls of all ranks"


def _shifted(calls: Sequence[Call], origin: int) -> Sequence[Call]:
    """Let time begin with the first call, as a file's begins before MPI does."""
    for call in calls:
        call.start, call.end = call.start - origin, call.end - origin
    return calls


class _Writer:
    """Records the calls of one rank."""

    def __init__(
        self, records: Records, recorder: RankRecorder, names: Mapping[int, int | str]
    ) -> None:
        self.records, self.recorder, self.names = records, recorder, names
        self.collectives = Counter[int]()  #: of each communicator
        self.freed = 0  #: sends of which nothing says when they complete
        self.alone = 0  #: sends and receives that the file has no communication for

    def write(self, call: Call) -> None:
        """Record a call: an event for each message of it, and one for what it waits for."""
        self.recorder.region, self.recorder.line = call.region, call.at
        if call.comm is not None or call.name in c.MAKING.values():
            self._together(call)
        elif call.name == "sendrecv":
            self._exchange(call)
        else:
            self._parts(call)

    def _together(self, call: Call) -> None:
        if call.comm is not None and call.comm not in self.records.members:
            raise self._error(call, f"the file does not record who is in communicator {call.comm}")
        comm = 0 if call.comm is None else self.names[call.comm]
        root = None
        if call.comm is not None:
            root = self.records.kept.root(call.comm, self.collectives[call.comm])
            self.collectives[call.comm] += 1
        if call.name in ROOTED and root is None:
            raise self._error(call, "no rank says that it is the root")
        root = root if call.name in ROOTED else None
        self.recorder.collective(call.name, call.start, call.end, call.size, comm, root)

    def _parts(self, call: Call) -> None:
        """Record what is no collective; all messages of a call but its last take no time."""
        parts = len(call.sends) + len(call.posts)
        if not parts and (call.name in c.SENDING or call.name in c.POSTING):
            self._count_unmatched(call, "send" if call.name in c.SENDING else "recv")
        for message in call.sends:
            parts -= 1
            self._send(call, message, call.start if parts else call.end)
        for message in call.posts:
            parts -= 1
            self._receive(call, message, call.start if parts else call.end)
        if call.name in c.WAITING and call.completes:
            requests = [("receive", message.number) for message in call.completes]
            self.recorder.wait(call.name, call.start, call.end, requests)
        elif not call.sends and not call.posts:
            self._alone(call)

    def _send(self, call: Call, message: Message, end: int) -> None:
        blocks = call.name in c.BLOCKING
        name = call.name if call.name in ISENDS else "isend"
        if blocks:
            name = "send" if call.name == "sendrecv" else call.name
        self.recorder.send(name, call.start, end, message.peer, message.size, message.tag,
                           request=None if blocks else message.number)  # fmt: skip
        if not blocks:
            self.recorder.free(end, end, message.number)
            self.freed += 1

    def _receive(self, call: Call, message: Message, end: int) -> None:
        blocks = call.name in c.BLOCKING
        self.recorder.receive(
            "recv" if blocks else "irecv", call.start, end, message.peer, message.tag,
            room=message.size, request=None if blocks else ("receive", message.number),
        )  # fmt: skip

    def _exchange(self, call: Call) -> None:
        for have, side in ((call.sends, "send"), (call.posts, "recv")):
            if not have:
                self._count_unmatched(call, side)
        if not call.sends and not call.posts:
            self._alone(call)
        elif not call.posts:
            self._send(call, call.sends[0], call.end)
        elif not call.sends:
            self._receive(call, call.posts[0], call.end)
        else:
            sent, got = call.sends[0], call.posts[0]
            self.recorder.exchange(call.start, call.end, sent.peer, sent.size, sent.tag, got.peer,
                                   got.tag, room=got.size)  # fmt: skip

    def _alone(self, call: Call) -> None:
        """Record a call that waits for nobody, or for nobody that is known."""
        if call.name in CALLS and CALLS[call.name] >= ALL:
            raise self._error(call, "the file does not record its communicator")
        is_local = call.name in ("init", "finalize", "iprobe")
        self.recorder.local(call.name if is_local else "call", call.start, call.end, site=call.name)

    def _error(self, call: Call, sentence: str) -> UnsupportedError:
        return UnsupportedError(f"{self.records.path}:{call.line}: {self.recorder.place} "
                                f"({call.name}): {sentence}")  # fmt: skip

    def _count_unmatched(self, call: Call, side: str) -> None:
        """Count a send or a receive without communication, which MPI_PROC_NULL has none of."""
        if not self.records.ended:
            raise TraceError(
                f"unmatched_{side}",
                f"line {call.line}: {self.recorder.place} ({call.name}): the file has no "
                "communication for it: it was with MPI_PROC_NULL, or the file is cut off, as not "
                "every rank comes to MPI_Finalize",
                str(self.records.path),
            )
        self.alone += 1
