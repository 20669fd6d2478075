"""What no run can have left: times backwards, messages without partner, broken collectives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from parcast_traces.errors import TraceError
from parcast_traces.trace.calls import ALL, NAMES, PROBE
from parcast_traces.trace.columns import (
    BYTES,
    END,
    FIRST,
    INTO,
    KIND,
    NAME,
    NONE,
    OUT,
    PART,
    ROOM,
    START,
    Ints,
    Trace,
)
from parcast_traces.trace.tallies import doubtful_channels, doubtful_communicators


def check(trace: Trace) -> None:
    """Refuse a trace whose events cannot have happened; waiting in a ring is found later.

    Raises
    ------
    TraceError
        Naming the first wrong event.
    """
    if trace.timed:
        for part in trace.parts():
            _times(trace, max(part.start - 1, 0), part.stop)
    if trace.count <= PART:
        _collectives(trace, np.arange(trace.count))
        _messages(trace, np.arange(trace.count))
        return
    for communicator in doubtful_communicators(trace):
        _collectives(trace, _rows(trace, (OUT,), [communicator]))
    for channels in filter(len, doubtful_channels(trace)):
        _messages(trace, _rows(trace, (OUT, INTO), channels))


def _rows(trace: Trace, columns: Sequence[int], numbers: Any) -> Ints:
    """Return the events that have one of the numbers in one of the columns."""
    whole = trace.events.whole
    rows = (np.flatnonzero(np.isin(whole[part][:, columns], numbers).any(1)) + part.start
            for part in trace.parts())  # fmt: skip
    return np.concatenate([np.empty(0, np.int64), *rows])


def _times(trace: Trace, low: int, high: int) -> None:
    events = trace.events
    start, end = events.times[low:high, START], events.times[low:high, END]
    if len(wrong := np.flatnonzero(end < start)):
        event = int(wrong[0])
        raise _error(trace, "negative_duration", low + event,
                     f"it ends at {end[event]:.15g}, before it starts at "
                     f"{start[event]:.15g}")  # fmt: skip
    earlier = start[1:] < end[:-1]
    begins = events.offsets[1:-1]
    begins = begins[(begins > low) & (begins < high)]
    earlier[begins - low - 1] = False  # another rank's event
    if len(wrong := np.flatnonzero(earlier)):
        event = int(wrong[0]) + 1
        raise _error(trace, "time_backwards", low + event,
                     f"it starts at {start[event]:.15g}, before the event ahead of it "
                     f"ends at {end[event - 1]:.15g}")  # fmt: skip


def _messages(trace: Trace, rows: Ints) -> None:
    """Count and measure the messages of every channel that some events have."""
    whole, times = trace.events.whole, trace.events.times
    two = rows[(whole[rows, KIND] < ALL) & (whole[rows, KIND] != PROBE)]
    out, into = whole[:, OUT], whole[:, INTO]
    sends, receives = two[out[two] != NONE], two[into[two] != NONE]
    count = len(trace.channels.source)
    sent, got = (np.bincount(channel, minlength=count)
                 for channel in (out[sends], into[receives]))  # fmt: skip
    for name, larger, smaller in (("unmatched_send", sent, got), ("unmatched_recv", got, sent)):
        if len(wrong := np.flatnonzero(larger > smaller)):
            raise _unmatched(trace, name, int(wrong[0]), sends, receives, (sent, got))
    # the k-th send and the k-th receive of a channel are one message
    by_send = sends[np.argsort(out[sends], kind="stable")]
    by_receive = receives[np.argsort(into[receives], kind="stable")]
    if len(wrong := np.flatnonzero(times[by_send, BYTES] > times[by_receive, ROOM])):
        send, event = int(by_send[wrong[0]]), int(by_receive[wrong[0]])
        raise _error(trace, "truncation", event,
                     f"it takes {times[event, ROOM]:.15g} bytes, and {trace.place(send)} "
                     f"({trace.name(send)}) sends {times[send, BYTES]:.15g}")  # fmt: skip


def _unmatched(
    trace: Trace, name: str, channel: int, sends: Any, receives: Any, counts: Sequence[Any]
) -> TraceError:
    side, column = (
        (sends, trace.events.whole[:, OUT])
        if name == "unmatched_send"
        else (receives, trace.events.whole[:, INTO])
    )
    mine = side[column[side] == channel]
    sent, got = (int(count[channel]) for count in counts)
    event = int(mine[min(sent, got)])
    verb = "sends" if name == "unmatched_send" else "receives"
    return _error(trace, name, event,
                  f"on {trace.channel(channel)} there are {sent} sends and {got} receives, so this "
                  f"one {verb} what nobody {'receives' if verb == 'sends' else 'sends'}; is a "
                  "rank's file missing or cut off?")  # fmt: skip


def _collectives(trace: Trace, rows: Ints) -> None:
    """Compare the n-th collective of a communicator over its members, where it is in some rows."""
    whole = trace.events.whole
    rows = rows[whole[rows, KIND] >= ALL]
    order = np.lexsort((rows, whole[rows, INTO], whole[rows, OUT]))
    rows = rows[order]
    comms, positions = whole[rows, OUT], whole[rows, INTO]
    for number in np.unique(comms).tolist():
        low, high = np.searchsorted(comms, [number, number + 1])
        mine, size = rows[low:high], len(trace.communicators[number])
        counts = np.bincount(positions[low:high], minlength=size)
        starts = np.cumsum(counts) - counts
        least = int(counts.min())
        table = mine[starts[:, None] + np.arange(least)[None, :]]  # member by ordinal
        _check_same(trace, number, table, whole[:, NAME], "collective_mismatch", "calls")
        _check_same(trace, number, table, whole[:, FIRST], "root_mismatch", "names a root for")
        if counts.max() > least:
            longest, shortest = int(counts.argmax()), int(counts.argmin())
            members = trace.communicators[number]
            event = int(mine[starts[longest] + least])
            raise _error(trace, "collective_incomplete", event,
                         f"collective {least} of communicator {trace.labels[number]} is called "
                         f"here, and rank {members[shortest]} never calls it")  # fmt: skip


def _check_same(trace: Trace, number: int, table: Any, column: Any, name: str, verb: str) -> None:
    values = column[table]
    wrong = np.argwhere(values != values[:1])
    if not len(wrong):
        return
    member, ordinal = wrong[np.lexsort((wrong[:, 0], wrong[:, 1]))[0]].tolist()
    event, reference = int(table[member, ordinal]), int(table[0, ordinal])
    members = trace.communicators[number]
    if name == "root_mismatch":
        value, expected = (int(members[values[row, ordinal]]) for row in (member, 0))
        difference = (
            f"{trace.name(event)} has root {value}, and that of {trace.place(reference)} has "
            f"{expected}"
        )
    else:
        value, expected = (NAMES[values[row, ordinal]] for row in (member, 0))
        difference = f"it {verb} {value}, and {trace.place(reference)} {verb} {expected}"
    which = f"collective {ordinal} of communicator {trace.labels[number]}"
    raise _error(trace, name, event, f"{difference}: {which}")


def _error(trace: Trace, name: str, event: int, sentence: str) -> TraceError:
    return TraceError(name, f"{trace.place(event)} ({trace.name(event)}): {sentence}", trace.where)
