"""Events of a trace one after the other, with ranks, bytes and requests instead of columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np

from parcast_traces.trace.calls import ACCESS, ALL, CODES, ISENDS, KINDS, NAMES, NONBLOCKING, WAIT
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
    ROOM,
    SITE,
    START,
    Events,
    Floats,
    Ints,
    Trace,
)

#: Rows made Python's own at once.
_BLOCK = 1 << 12


@attrs.frozen(kw_only=True)
class Called:
    """One call; peers and roots are ranks of the whole run, ``NONE`` where it has none."""

    row: int
    name: str
    kind: int
    start: float
    end: float
    site: str
    region: str = ""
    to: int = NONE
    tag: int = 0
    size: float = 0.0  #: bytes sent
    source: int = NONE
    source_tag: int = 0
    room: float = float("inf")
    got: float = 0.0  #: bytes of the message that came
    comm: int = 0
    root: int = NONE
    request: int = NONE  #: that it makes or gives up, numbered from 0 within the rank
    completed: tuple[int, ...] = ()

    @property
    def blocking(self) -> str:
        """The name of the blocking form."""
        return self.name[1:] if self.request != NONE and self.name[0] == "i" else self.name


def decoded(trace: Trace, rank: int, got: Floats) -> Iterator[Called]:
    """Yield the calls of a rank; ``got`` is what `received` returns."""
    events, channels = trace.events, trace.channels
    regions = trace.regions or ("",) * len(trace.sites)
    open_: dict[int, int] = {}
    opened = 0
    for row, whole, times in _rows(events, rank):
        kind, name = whole[KIND], NAMES[whole[NAME]]
        fields: dict[str, Any] = {
            "row": row, "name": name, "kind": kind, "start": times[START], "end": times[END],
            "site": trace.sites[whole[SITE]], "region": regions[whole[SITE]],
            "size": times[BYTES], "room": times[ROOM],
        }  # fmt: skip
        if kind >= ALL:
            members = trace.communicators[whole[OUT]]
            fields["comm"] = whole[OUT]
            if whole[FIRST] != NONE:
                fields["root"] = int(members[whole[FIRST]])
        elif kind != WAIT:
            for column, peer, tag, ends in (
                (OUT, "to", "tag", channels.target), (INTO, "source", "source_tag", channels.source)
            ):  # fmt: skip
                if whole[column] != NONE:
                    fields[peer] = int(ends[whole[column]])
                    fields[tag] = int(channels.tag[whole[column]])
                    fields["comm"] = int(channels.communicator[whole[column]])
            fields["got"] = float(got[row])
        if name == "request_free":
            fields["request"] = open_.pop(whole[COUNT] - 1, NONE)
        elif kind == ACCESS or _MAKES_REQUEST[whole[NAME]]:
            open_[whole[COUNT]] = fields["request"] = opened
            opened += 1
        elif kind == WAIT:
            slots = events.slots[whole[FIRST] : whole[FIRST] + whole[COUNT]].tolist()
            fields["completed"] = tuple(open_.pop(slot) for slot in slots)
        yield Called(**fields)


def _rows(events: Events, rank: int) -> Iterator[tuple[int, list[int], list[float]]]:
    """Yield the number of each event of a rank and its columns, read a block at a time."""
    start, stop = events.offsets[rank : rank + 2].tolist()
    for begin in range(start, stop, _BLOCK):
        block = slice(begin, min(begin + _BLOCK, stop))
        columns = zip(events.whole[block].tolist(), events.times[block].tolist(), strict=True)
        for row, (whole, times) in enumerate(columns, begin):
            yield row, whole, times


def makes_request(name: str) -> bool:
    """Return whether a call does not block."""
    late = KINDS[CODES[name]] >= ALL + NONBLOCKING
    return late or name in (*ISENDS, "irecv", "win_expect")


#: By positions in `NAMES`.
_MAKES_REQUEST = tuple(map(makes_request, NAMES))


def pairs(trace: Trace) -> tuple[Any, Any]:
    """Return the events that send, and beside them those that receive their messages."""
    whole = trace.events.whole
    two = whole[:, KIND] < ALL
    probes = whole[:, NAME] == CODES["probe"]
    sends = np.flatnonzero(two & (whole[:, OUT] != NONE) & (whole[:, KIND] != WAIT))
    receives = np.flatnonzero(two & (whole[:, INTO] != NONE) & ~probes & (whole[:, KIND] != WAIT))
    by_send = sends[np.argsort(whole[sends, OUT], kind="stable")]
    by_receive = receives[np.argsort(whole[receives, INTO], kind="stable")]
    return by_send, by_receive


def received(trace: Trace) -> Floats:
    """Return the bytes of the message that each event receives, 0 where it receives none.

    Of a trace that was not checked they are what the receives have room for.
    """
    if not trace.checked:
        room: Floats = trace.events.times[:, ROOM]
        return np.where(np.isfinite(room), room, 0.0)
    sizes = np.zeros(trace.count)
    by_send, by_receive = pairs(trace)
    sizes[by_receive] = trace.events.times[by_send, BYTES]
    return sizes


def contributions(trace: Trace) -> list[Floats]:
    """Return of each communicator the bytes of its collectives: [ordinal, position of the rank]."""
    whole, sizes = trace.events.whole, []
    together = np.flatnonzero(whole[:, KIND] >= ALL)
    for number, members in enumerate(trace.communicators):
        mine = together[whole[together, OUT] == number]
        by_place = mine[np.argsort(whole[mine, INTO], kind="stable")]
        sizes.append(trace.events.times[by_place, BYTES].reshape(len(members), -1).T)
    return sizes


def completions(trace: Trace) -> Ints:
    """Return, for each event, the event that waits for what it began: itself if it blocks."""
    completing, nothing = np.arange(trace.count), np.zeros(trace.count)
    for rank in range(trace.size):
        makes: dict[int, int] = {}
        for call in decoded(trace, rank, nothing):
            if call.request != NONE and call.name != "request_free":
                makes[call.request] = call.row
            for request in call.completed:
                completing[makes[request]] = call.row
    return completing
