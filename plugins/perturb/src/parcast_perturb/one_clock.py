"""Clocks put on one, and what calls then are seen to cost, from the trace alone.

All members leave a collective that waits for all at about one time: a line through these ends says
how a rank's clock stands to that of rank 0. Without such collectives messages bound it. On one
clock messages are seen to arrive: the shortest
is the latency, and calls whose partner has long done its part take what they cost themselves.
"""

from __future__ import annotations

import attrs
import numpy as np

from parcast_perturb.perturbation import Recorded
from parcast_traces.trace.calls import (
    ALL,
    EXSCAN,
    FROM_ROOT,
    IESEND,
    IRECV,
    ISEND,
    ISSEND,
    NONBLOCKING,
    RECV,
    SENDRECV,
    TO_ROOT,
    WAIT,
)
from parcast_traces.trace.columns import (
    COUNT,
    END,
    FIRST,
    INTO,
    KIND,
    NONE,
    OUT,
    START,
    Floats,
    Ints,
    Trace,
)

#: Of what calls cost that wait for nobody, the share that is not above the estimate.
_LEVEL = 0.9

#: Messages that a call begins.
_BEGIN = (ISEND, ISSEND, IESEND, IRECV)

#: Clocks of computers do not drift by more; a steeper line through few ends is noise.
_DRIFT = 1e-3

#: Larger traces stay in their file.
_MOST = 20_000_000


@attrs.frozen(kw_only=True)
class OneClock:
    """A trace whose times of all ranks can be compared."""

    trace: Trace
    meetings: int = 0  #: collectives that its clocks are taken from
    messages: int = 0  #: or messages; neither where the clocks were one before
    spread: float = 0.0
    """How far the ends of a collective still differ, a standard deviation; or the most that a clock
    may be off by messages.
    """


def on_one_clock(trace: Trace) -> OneClock | None:
    """Return the trace on the clock of rank 0; None where neither collectives nor messages tell."""
    if trace.comparable or trace.modeled:
        return OneClock(trace=trace)
    if trace.count > _MOST or not trace.timed:
        return None
    seen = meetings(trace)
    if seen is None:
        return _by_messages(trace)
    low, high = seen
    lines, spreads = [(1.0, 0.0)], []
    for rank in range(1, trace.size):
        width = high[:, rank] - low[:, rank] + high[:, 0] - low[:, 0]
        sure = width <= np.sort(width)[min(len(width) - 1, max(2, len(width) // 4))]
        middle = (low + high)[sure] / 2
        slope, shift, spread = _line(middle[:, rank], middle[:, 0])
        lines.append((slope, shift))
        spreads.append(spread)
    return OneClock(
        trace=_moved(trace, np.array(lines)), meetings=len(low), spread=max(spreads, default=0.0)
    )


def _moved(trace: Trace, lines: Floats) -> Trace:
    """Return the trace with the times of each rank on a line: slope and shift, [rank, both]."""
    times = trace.events.times.copy()
    slope, shift = np.repeat(lines, np.diff(trace.events.offsets), axis=0).T[:, :, None]
    times[:, [START, END]] = slope * times[:, [START, END]] + shift
    return attrs.evolve(trace, events=attrs.evolve(trace.events, times=times), comparable=True)


def _by_messages(trace: Trace) -> OneClock | None:
    """Return the trace on the clock of rank 0 by its messages, none of which ends before it begins.

    Each bounds how far one clock is ahead of another; along paths of messages to a rank and back
    the bounds add up, and the middle between the tightest ones is taken (Lundelius and Lynch 1984).
    """
    send, receive = _messages(trace)
    if not len(send):
        return None
    times, ranks = trace.events.times, trace.events.rank_of
    flights = times[_completions(trace)[receive], END] - times[send, START]
    size, limit = trace.size, np.inf
    pair, which = np.unique(ranks(send) * size + ranks(receive), return_inverse=True)
    least = np.full(len(pair), limit)
    np.minimum.at(least, which.reshape(-1), flights)
    source, target = np.divmod(pair, size)
    ahead, behind = _shortest(source, target, least, size), _shortest(target, source, least, size)
    if ahead is None or behind is None:
        return None
    shift = (behind - ahead) / 2
    lines = np.stack([np.ones(size), shift], axis=1)
    spread = float((ahead + behind).max() / 2)
    return OneClock(trace=_moved(trace, lines), messages=len(send), spread=spread)


def _shortest(source: Ints, target: Ints, length: Floats, size: int) -> Floats | None:
    """Return the shortest way from rank 0 to each; None if there is none, or always a shorter."""
    distance = np.full(size, np.inf)
    distance[0] = 0.0
    for _ in range(size):
        before = distance.copy()
        np.minimum.at(distance, target, before[source] + length)
        if np.array_equal(before, distance):
            return distance if np.isfinite(distance).all() else None
    return None


def meetings(trace: Trace) -> tuple[Floats, Floats] | None:
    """Return between which times each rank saw collectives of all be done: two of [turn, rank].

    One that blocks, or that is waited for, is done when its call ends; one whose wait finds it done
    was done at some time since it began. None where there are not two of them.
    """
    whole, times = trace.events.whole, trace.events.times
    everybody = np.array([len(members) == trace.size for members in trace.communicators])
    rows = np.flatnonzero((whole[:, KIND] == ALL) | (whole[:, KIND] == ALL + NONBLOCKING))
    rows = rows[everybody[whole[rows, OUT]]]
    if trace.size < 2 or len(rows) < 2 * trace.size:
        return None
    order = rows[np.lexsort((rows, whole[rows, OUT]))]  # the k-th call of each is the same one
    ranks = np.searchsorted(trace.events.offsets, order, side="right") - 1
    if np.ptp(np.bincount(ranks, minlength=trace.size)):
        return None
    table = order[np.argsort(ranks, kind="stable")].reshape(trace.size, -1).T
    done = _completions(trace)[table]
    begun = whole[table, KIND] > EXSCAN
    waited = ~begun | (times[done, END] > times[done, START])
    high = times[done, END]
    return np.where(waited, high, times[table, START]), high


def _completions(trace: Trace) -> Ints:
    """Return the event that completes each: itself, or the wait for what a call began."""
    whole, slots = trace.events.whole, trace.events.slots
    completes = np.arange(trace.count)
    begun = np.flatnonzero((whole[:, KIND] > EXSCAN) | np.isin(whole[:, KIND], _BEGIN))
    waits = np.flatnonzero(whole[:, KIND] == WAIT)
    counts = whole[waits, COUNT].astype(np.int64)
    first = np.repeat(whole[waits, FIRST] - (np.cumsum(counts) - counts), counts)
    slot = slots[first + np.arange(len(first))]
    events = np.concatenate([begun, np.repeat(waits, counts)])
    slot = np.concatenate([whole[begun, COUNT], slot])
    ranks = np.searchsorted(trace.events.offsets, events, side="right") - 1
    order = np.lexsort((events, slot, ranks))
    following = events[order[1:]]
    opens = order[:-1] < len(begun)
    completes[events[order[:-1][opens]]] = following[opens]
    return completes


def _line(theirs: Floats, ours: Floats) -> tuple[float, float, float]:
    """Return slope and shift from their clock to ours, and how far points are off the line.

    What is far off the first line does not count for the second one.
    """
    origin = float(theirs[0])
    x, y = theirs - origin, ours - theirs
    keep = np.ones(len(x), bool)
    drift, shift = 0.0, float(np.median(y))
    for _ in range(2):
        if keep.sum() >= 3 and np.ptp(x[keep]) > 0:
            drift, shift = (float(value) for value in np.polyfit(x[keep], y[keep], 1))
        if abs(drift) > _DRIFT:
            drift, shift = 0.0, float(np.median(y[keep]))
        residue = y - drift * x - shift
        keep = np.abs(residue - np.median(residue)) <= 3 * np.std(residue) + 1e-12
    return 1 + drift, shift - drift * origin, float(np.std(residue[keep]))


def recorded_costs(trace: Trace, recorded: Recorded) -> Recorded:
    """Return what is known of the machine, what is not stated being read off one clock."""
    send, receive = _messages(trace)
    times = trace.events.times
    latency = recorded.latency
    if latency is None:
        flights = times[_completions(trace)[receive], END] - times[send, START]
        latency = max(0.0, float(flights.min(initial=np.inf))) if len(flights) else 0.0
    overhead = recorded.overhead
    if overhead == 0.0 and recorded.overhead_receive is None:
        blocking = trace.events.whole[receive, KIND] == RECV
        late = receive[blocking & (times[receive, START] >= times[send, END])]
        rows = np.concatenate([late, _late_with_root(trace)])
        costs = times[rows, END] - times[rows, START]
        overhead = float(np.quantile(costs, _LEVEL)) if len(costs) else 0.0
    return attrs.evolve(recorded, latency=latency, overhead=overhead)


def _messages(trace: Trace) -> tuple[Ints, Ints]:
    """Return the events that send and that receive each message."""
    whole = trace.events.whole
    point = whole[:, KIND] <= SENDRECV
    sides = []
    for column in (OUT, INTO):
        rows = np.flatnonzero(point & (whole[:, column] != NONE))
        sides.append(rows[np.lexsort((rows, whole[rows, column]))])
    sent, received = sides
    if not np.array_equal(whole[sent, OUT], whole[received, INTO]):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    return sent, received


def _late_with_root(trace: Trace) -> Ints:
    """Return the calls of collectives with a root that came when nothing was to be waited for."""
    whole, times = trace.events.whole, trace.events.times
    late: list[Ints] = [np.empty(0, np.int64)]
    rooted = np.flatnonzero((whole[:, KIND] == FROM_ROOT) | (whole[:, KIND] == TO_ROOT))
    for communicator in np.unique(whole[rooted, OUT]):
        rows = np.flatnonzero((whole[:, KIND] >= ALL) & (whole[:, OUT] == communicator))
        size = len(trace.communicators[communicator])
        if size < 2 or len(rows) % size:
            continue
        order = rows[np.lexsort((rows, whole[rows, INTO]))]
        table = order.reshape(size, -1).T  # [turn, position]
        kinds = whole[table[:, 0], KIND]
        for kind in (FROM_ROOT, TO_ROOT):
            turns = table[kinds == kind]
            if not len(turns):
                continue
            root = whole[turns[:, 0], FIRST][:, None] == np.arange(size)
            awaited = root if kind == FROM_ROOT else ~root
            ready = np.where(awaited, times[turns, END], -np.inf).max(axis=1)[:, None]
            late.append(turns[~awaited & (times[turns, START] >= ready)])
    return np.concatenate(late)
