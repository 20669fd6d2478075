"""Clocks put on one, and what calls then are seen to cost, from the trace alone.

All members leave a collective that waits for all at about one time: a line through these ends says
how a rank's clock stands to that of rank 0. On one clock messages are seen to arrive: the shortest
is the latency, and calls whose partner has long done its part take what they cost themselves.
"""

from __future__ import annotations

import attrs
import numpy as np

from parcast_perturb.perturbation import Recorded
from parcast_traces.trace.calls import ALL, FROM_ROOT, RECV, SENDRECV, TO_ROOT
from parcast_traces.trace.columns import (
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

#: Larger traces stay in their file.
_MOST = 20_000_000


@attrs.frozen(kw_only=True)
class OneClock:
    """A trace whose times of all ranks can be compared."""

    trace: Trace
    meetings: int = 0  #: collectives that its clocks are taken from; 0: they were one before
    spread: float = 0.0  #: how far the ends of a collective still differ, a standard deviation


def on_one_clock(trace: Trace) -> OneClock | None:
    """Return the trace on the clock of rank 0; None where no collectives of all ranks tell."""
    if trace.comparable or trace.modeled:
        return OneClock(trace=trace)
    if trace.count > _MOST or not trace.timed:
        return None
    rows = meetings(trace)
    if rows is None or len(rows) < 2:
        return None
    times = trace.events.times.copy()
    ends = times[rows, END]
    spreads = []
    for rank in range(1, trace.size):
        slope, shift, spread = _line(ends[:, rank], ends[:, 0])
        mine = slice(trace.events.offsets[rank], trace.events.offsets[rank + 1])
        times[mine, START] = slope * times[mine, START] + shift
        times[mine, END] = slope * times[mine, END] + shift
        spreads.append(spread)
    events = attrs.evolve(trace.events, times=times)
    moved = attrs.evolve(trace, events=events, comparable=True)
    return OneClock(trace=moved, meetings=len(rows), spread=max(spreads, default=0.0))


def meetings(trace: Trace) -> Ints | None:
    """Return the events of the collectives that all ranks leave together: [turn, rank]."""
    whole = trace.events.whole
    everybody = np.array([len(members) == trace.size for members in trace.communicators])
    rows = np.flatnonzero(whole[:, KIND] == ALL)
    rows = rows[everybody[whole[rows, OUT]]]
    if not len(rows) or trace.size < 2:
        return None
    # the k-th call of a communicator is the same one on all ranks
    order = rows[np.lexsort((rows, whole[rows, OUT]))]
    ranks = np.searchsorted(trace.events.offsets, order, side="right") - 1
    columns = [order[ranks == rank] for rank in range(trace.size)]
    if len({len(column) for column in columns}) > 1:
        return None
    table: Ints = np.stack(columns, axis=1)
    return table[np.argsort(table[:, 0])]


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
        residue = y - drift * x - shift
        keep = np.abs(residue - np.median(residue)) <= 3 * np.std(residue) + 1e-12
    return 1 + drift, shift - drift * origin, float(np.std(residue[keep]))


def recorded_costs(trace: Trace, recorded: Recorded) -> Recorded:
    """Return what is known of the machine, what is not stated being read off one clock."""
    send, receive = _messages(trace)
    times = trace.events.times
    latency = recorded.latency
    if latency is None:
        flights = times[receive, END] - times[send, START]
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
