"""A recorded run as a program: its calls and what was computed between them, without waiting."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import attrs
import numpy as np

from parcast import Query, UnsupportedError, Workload
from parcast.model import place
from parcast.program import Program, Site
from parcast.program.matching import CODE
from parcast.program.matching import NONE as NO_RANK
from parcast.quantities import format_seconds
from parcast_traces.folding import Table, folded
from parcast_traces.gaps import gaps_of, recorded_gaps, slept, tick_of
from parcast_traces.trace.calls import (
    ACCESS,
    ALL,
    CODES,
    IRECV,
    ISEND,
    NAMES,
    NONBLOCKING,
    SEND,
    WAIT,
)
from parcast_traces.trace.columns import (
    BYTES,
    COUNT,
    END,
    FIRST,
    INTO,
    KIND,
    NAME,
    NONE,
    OUT,
    SITE,
    START,
    Floats,
    Ints,
    Trace,
)
from parcast_traces.trace.limits import OF_RECORDED, OF_WORK
from parcast_traces.workload import Traced

_NOTE = (
    "a recorded run: computation takes as long as recorded on any machine, and waiting and the "
    "cost of calls are the machine's"
)

_OF_WORK = "a trace of work: computation takes as long as this machine needs for it"

_SAME = frozenset(["send", "isend", "recv", "irecv", "sendrecv"])
_SAME |= {"barrier", "bcast", "reduce", "gather", "scatter", "allreduce", "allgather"}
_SAME |= {"alltoall", "reduce_scatter", "scan", "gatherv", "scatterv", "allgatherv", "alltoallv"}
_ALIKE: Mapping[str, str] = {
    "rsend": "send", "irsend": "isend", "alltoallw": "alltoallv",
    "reduce_scatter_block": "reduce_scatter", "comm_split": "barrier", "comm_dup": "barrier",
    "comm_create": "barrier",
}  # fmt: skip
_WAITS = frozenset(["wait", "waitall", "waitany", "waitsome", "test", "testall", "testany"])
_NOTHING = frozenset(["init", "finalize", "call", "iprobe", "request_free", "sleep"])
#: What a rank does by itself inside these takes as long as recorded.
_BUSY = ("call", "iprobe", "request_free")

_TO_EACH = ("alltoallv", "alltoallw", "ialltoallv", "ialltoallw")

#: In which order what stands at one row comes: the gap before it, the time inside it, a start,
#: collectives that are waited for there, waits and other calls.
_TURNS = (0, 1, 2, 3, 4, 4)
_LATE, _CALL = 3, 4

#: What stands for calls that are no operation of the language.
_REFUSED, _SKIPPED, _WAITING = -3, -2, -1


def _operation(name: str) -> int:
    """Return the code of the operation that a call is, or what stands for it."""
    if name in _NOTHING:
        return _SKIPPED
    if name in _WAITS:
        return _WAITING
    same = _ALIKE.get(name, name)
    return CODE[same] if same in _SAME else _REFUSED


_OPERATIONS = np.array([_operation(name) for name in NAMES])
#: The operation that a nonblocking collective is where it is waited for.
_LATER = np.array([_operation(name[1:]) if name[:1] == "i" else _REFUSED for name in NAMES])


def program(workload: Workload, query: Query) -> tuple[Workload, tuple[str, ...]]:
    """Return a recorded run as a ``program`` at its own number of processes.

    Raises
    ------
    UnsupportedError
        If the trace is too long, its times have no unit, or the language has no such call.
    """
    content: Traced = workload.content
    content.check(query)
    trace = content.trace
    (OF_RECORDED if trace.timed else OF_WORK).check(trace.where, trace.count)
    recorded = trace.timed and content.added is None
    gaps = recorded_gaps(trace) if recorded else gaps_of(trace)
    gaps, inside = gaps * (tick_of(trace) if trace.timed else trace.tick or 1.0), _inside(trace)
    offsets = trace.events.offsets
    if not trace.timed and trace.tick is not None:  # work at speed 1, in seconds
        gaps = gaps / np.repeat(place(query).speed, np.diff(offsets))
    starts = np.array([], np.int64) if content.starts is None else content.starts
    table, later = _table(trace, gaps, inside, starts, _pace(query))
    sites = tuple(Site(name) for name in trace.sites)
    members = [group.tolist() for group in trace.communicators]
    converted = Program(None, folded(table, sites, trace.where, members))
    note = _NOTE if trace.timed else _OF_WORK
    notes = (note, *trace.notes, *_approximation_notes(trace, inside), *_overlap_notes(later))
    return attrs.evolve(workload, kind="program", content=converted), notes


def _inside(trace: Trace) -> Floats:
    """Return the seconds of calls that meet no other rank, and of sleeps; 0 for all others."""
    if not trace.timed:
        return slept(trace)
    busy = np.isin(trace.events.whole[:, NAME], [CODES[name] for name in _BUSY])
    times = trace.events.times
    seconds: Floats = np.where(busy, times[:, END] - times[:, START], 0.0) * (trace.tick or 1.0)
    return seconds


def _approximation_notes(trace: Trace, inside: Floats) -> Iterator[str]:
    """Yield notes on calls of which a trace has less than a program needs."""
    if trace.timed and (count := int(np.count_nonzero(inside))):
        spent = format_seconds(float(inside.sum()))
        yield (
            f"{count:,} calls that are not modeled, {spent} of all ranks together, take "
            "as long as recorded on any machine"
        )
    names = trace.events.whole[:, NAME]
    if count := int(np.isin(names, [CODES[name] for name in _TO_EACH]).sum()):
        yield (
            f"{count:,} calls of alltoallv send to each other rank the mean of what their rank "
            "sends, as a trace has one number for a call: imbalance between receivers is lost"
        )


def _overlap_notes(later: tuple[int, str]) -> Iterator[str]:
    """Yield the note on nonblocking collectives."""
    count, place = later
    if count:
        yield (
            f"{count:,} nonblocking collectives are timed where they are {place}; what is computed "
            "beside them goes on between their messages, in turns: times may be too high"
        )


def _table(
    trace: Trace, gaps: Floats, inside: Floats, starts: Ints, pace: tuple[float, float]
) -> tuple[Table, tuple[int, str]]:
    """Return the operations, how many were nonblocking collectives, and where these are now."""
    whole = trace.events.whole
    op = _OPERATIONS[whole[:, NAME]]
    waits, opened = _requests(trace)
    posted = whole[:, KIND] >= ALL + NONBLOCKING
    _refuse(trace, op, posted, opened)
    together = posted[opened]
    completes = np.bincount(waits[~together], minlength=trace.count) > 0
    early = _may_block(trace, waits[together], opened[together])
    empty = (whole[:, COUNT] == 0) & (whole[:, NAME] == NAMES.index("waitall"))
    parts = (  # row of the call that it stands at, row of the call that it is, operation
        _part(np.flatnonzero(gaps > 0), CODE["compute" if trace.tick is None else "elapse"]),
        _part(np.flatnonzero(inside > 0), CODE["elapse"]),
        _part(starts, CODE["start"]),
        (
            opened[together] if early else waits[together],
            opened[together],
            _LATER[whole[opened[together], NAME]],
        ),
        _part(np.flatnonzero((op == _WAITING) & (completes | empty)), CODE["waitall"]),
        _part(rows := np.flatnonzero((op >= 0) & ~posted), op[rows]),
    )
    at, row, code = (np.concatenate(column) for column in zip(*parts, strict=True))
    turn = np.repeat(_TURNS, [len(part[0]) for part in parts])
    order = np.lexsort((row, turn, at))
    at, row, code, turn = at[order], row[order], code[order], turn[order]
    place_of = np.empty(trace.count, np.int64)
    place_of[row[turn == _CALL]] = np.flatnonzero(turn == _CALL)
    return Table(
        offsets=np.searchsorted(at, trace.events.offsets),
        op=code,
        site=whole[row, SITE].astype(np.int64),
        amount=np.select(
            [turn == _TURNS[0], turn == _TURNS[1]],
            [gaps[row], inside[row]],
            trace.events.times[row, BYTES],
        ),
        beside=_beside(trace, (at, row, turn), waits[together], opened[together], early=early),
        pace=pace,
        wait=place_of[waits[~together]],
        request=place_of[opened[~together]],
        **_ends(trace, row, turn >= _LATE),
    ), (int(together.sum()), "begun" if early else "waited for")


def _beside(
    trace: Trace, table: tuple[Ints, Ints, Ints], waits: Ints, opened: Ints, *, early: bool
) -> Ints:
    """Return which gaps are beside the collective next to them, before it (-1) or after it (1).

    That is a gap between where a collective is begun and where it is waited for.
    """
    at, row, turn = table
    beside = np.zeros(len(at), np.int64)
    if trace.tick is None or not len(waits):
        return beside
    until = np.full(trace.count, -1)
    until[opened] = waits
    gap = turn == _TURNS[0]
    own = np.arange(len(at))
    if early:  # the collective stands before
        near = np.maximum.accumulate(np.where(gap, -1, own))
    else:
        near = np.minimum.accumulate(np.where(gap, len(at), own)[::-1])[::-1]
    rank = trace.events.rank_of(at)
    lanes = np.flatnonzero(gap & (near >= 0) & (near < len(at)))
    mates = near[lanes]
    between = (row[mates] < at[lanes]) & (at[lanes] <= until[row[mates]])
    fits = between & (turn[mates] == _LATE) & (rank[mates] == rank[lanes])
    beside[lanes[fits]] = -1 if early else 1
    return beside


def _pace(query: Query) -> tuple[float, float]:
    """Return the seconds of a message by itself, and of each of its bytes."""
    network = query.machine.network
    return network.startup or 0.0, 1 / network.bandwidth if network.bandwidth else 0.0


def _may_block(trace: Trace, waits: Ints, opened: Ints) -> bool:
    """Tell whether all nonblocking collectives may block where they begin.

    They may if no rank meets another between their beginning and their wait but in others of
    them, and all are of one communicator: then every rank comes to them in one order.
    """
    whole = trace.events.whole
    kind = whole[:, KIND]
    meets = ((kind >= SEND) & (kind < ALL + NONBLOCKING) & (kind != WAIT)) | (kind == ACCESS)
    met = np.concatenate([[0], np.cumsum(meets)])
    alone = bool((met[waits] == met[opened + 1]).all())
    return alone and len(np.unique(whole[opened, OUT])) <= 1


def _part(rows: Ints, code: Any) -> tuple[Ints, Ints, Ints]:
    return rows, rows, np.broadcast_to(np.int64(code), rows.shape)


def _requests(trace: Trace) -> tuple[Ints, Ints]:
    """Return each wait, rising, once for each request, and the call that opened it."""
    whole, count = trace.events.whole, trace.count
    kind = whole[:, KIND]
    nonblocking = ((kind >= ISEND) & (kind < ISEND + 3)) | (kind == IRECV)
    nonblocking |= kind >= ALL + NONBLOCKING
    opens = np.flatnonzero(nonblocking)
    waits = np.flatnonzero((_OPERATIONS[whole[:, NAME]] == _WAITING) & (kind == WAIT))
    counts = whole[waits, COUNT].astype(np.int64)
    inside = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    slots = trace.events.slots[np.repeat(whole[waits, FIRST], counts) + inside]
    waits = np.repeat(waits, counts)
    width = int(trace.requests.max(initial=0)) + 1
    rank_of = trace.events.rank_of
    keys = (rank_of(opens) * width + whole[opens, COUNT]) * (count + 1) + opens
    order = np.argsort(keys)
    wanted = (rank_of(waits) * width + slots) * (count + 1) + waits  # the latest one before
    return waits, opens[order][np.searchsorted(keys[order], wanted) - 1]


def _refuse(trace: Trace, op: Ints, posted: Any, opened: Ints) -> None:
    """Refuse calls that the language of programs does not have."""
    whole = trace.events.whole
    wrong = np.where(posted, _LATER[whole[:, NAME]], op) == _REFUSED
    if wrong.any():
        row = int(np.argmax(wrong))
        raise UnsupportedError(
            f"{trace.place(row)} ({trace.name(row)}): the language of programs has no such call"
        )
    unwaited = posted.copy()
    unwaited[opened] = False
    if unwaited.any():
        row = int(np.argmax(unwaited))
        raise UnsupportedError(
            f"{trace.place(row)} ({trace.name(row)}): nothing waits for it, and a program runs it "
            "where it is waited for"
        )


def _ends(trace: Trace, row: Ints, calls: Any) -> dict[str, Ints]:
    """Return peers, tags, roots and communicators of operations that are calls."""
    kind, channels = trace.events.whole[row, KIND], trace.channels
    out, into, first = (trace.events.whole[row, column].astype(np.int64) for column in
                        (OUT, INTO, FIRST))  # fmt: skip
    grouped = calls & (kind >= ALL)
    sends, receives = (calls & ~grouped & (channel != NONE) for channel in (out, into))
    columns = {name: np.full(len(row), NO_RANK) for name in ("dst", "src", "group")}
    columns |= {name: np.zeros(len(row), np.int64) for name in ("tag", "root")}
    columns["dst"][sends] = channels.target[out[sends]]
    columns["src"][receives] = channels.source[into[receives]]
    tag = _tags(trace)
    both = np.flatnonzero(sends & receives)
    for event in row[both[tag[out[both]] != tag[into[both]]]].tolist():
        raise UnsupportedError(
            f"{trace.place(event)} (sendrecv): it sends and receives with two tags, and a "
            "program's has one"
        )
    columns["tag"][receives] = tag[into[receives]]
    columns["tag"][sends] = tag[out[sends]]
    for number, members in enumerate(trace.communicators):
        mine = grouped & (out == number)
        position = np.argsort(np.argsort(members))  # roots count in the order of ranks
        columns["root"][mine] = position[np.clip(first[mine], 0, None)]
        if len(members) < trace.size:
            columns["group"][mine] = number
    return columns


def _tags(trace: Trace) -> Ints:
    """Return a tag of its own for each tag and communicator; collectives have some below 0."""
    tag = trace.channels.tag - min(0, int(trace.channels.tag.min(initial=0)))
    tags: Ints = tag * len(trace.communicators) + trace.channels.communicator
    return tags
