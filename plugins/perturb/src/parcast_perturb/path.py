"""The critical path: what decided the latest end, back to the start, and what it is made of.

The makespan is a maximum of sums, so how often an addition stands on the path is exactly the
derivative of the makespan with respect to it, at this perturbation and where only one path
is the longest.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

import attrs
import numpy as np

from parcast_perturb.propagation.state import (
    BY_BOTH,
    BY_COMING,
    BY_END,
    BY_ITSELF,
    BY_MESSAGE,
    BY_POST,
    CAUSES,
)
from parcast_traces.trace.calls import EXPECT, LOCAL, NOTICE, SEND, SENDRECV, SSEND, WAIT
from parcast_traces.trace.columns import (
    BYTES,
    END,
    INTO,
    KIND,
    NAME,
    OUT,
    ROOM,
    SITE,
    START,
    Ints,
    Trace,
)


@attrs.frozen
class Path:
    """What of each addition the latest end contains, in the first replication."""

    rank: int  #: that ends last
    messages: int  #: d time / d latency
    bytes: float  #: d time / d per-byte
    calls: Mapping[int, int]  #: d time / d noise of each rank
    gaps: Mapping[int, int]  #: d time / d compute of each rank
    sites: Mapping[str, Mapping[str, float]]
    """The same of each call site: ``events``, ``latencies``, ``bytes``, ``calls``, ``gaps``.

    Of a message they are its sender's, of a gap those of the call after it.
    """
    hops: int  #: how often it goes from one rank to another


def critical_path(trace: Trace, cause: Ints, rank: int) -> Path:
    """Return the path to the last end of a rank.

    Parameters
    ----------
    trace
        What ran.
    cause
        As `propagate` returns it.
    rank
        The one that ends last.
    """
    walk = _Walk(trace, cause)
    row = int(trace.events.offsets[rank + 1]) - 1
    at_end = row >= int(trace.events.offsets[rank])
    while at_end:
        row, at_end = walk.end(row)
    return Path(
        rank=rank,
        messages=walk.messages,
        bytes=walk.bytes,
        calls=dict(walk.calls),
        gaps=dict(walk.gaps),
        sites={site: dict(counts) for site, counts in walk.sites.items()},
        hops=walk.hops,
    )


class _Walk:
    def __init__(self, trace: Trace, cause: Ints) -> None:
        self.trace, self.cause = trace, cause
        self.whole, self.times = trace.events.whole, trace.events.times
        self.starts = set(trace.events.offsets[:-1].tolist())
        self.ranks = np.repeat(np.arange(trace.size), np.diff(trace.events.offsets))
        self.messages, self.bytes, self.hops = 0, 0.0, 0
        self.calls, self.gaps = Counter[int](), Counter[int]()
        self.sites = defaultdict[str, defaultdict[str, float]](lambda: defaultdict(float))

    def end(self, row: int) -> tuple[int, bool]:
        """Go from an event's end to the end before; return it, and whether there is one."""
        self._site(row)["events"] += 1
        cause, reason = divmod(int(self.cause[row]), CAUSES)
        self.hops += bool(self.ranks[cause] != self.ranks[row])
        if reason == BY_ITSELF:
            self._add_calls(row, self._is_call(row))
            return self.start(row)
        if reason == BY_COMING:
            stages = self._stages(cause)
            self._add_calls(cause, stages)
            self._add_messages(cause, stages, float(self.times[cause, BYTES]))
            self._add_calls(row, bool(self.whole[row, KIND] == WAIT))
            return self.start(cause)
        self._add_calls(row, self._noisy(row, cause, reason))
        self._add_messages(cause, 2 if reason == BY_BOTH else 1, 0.0)
        exchanges = bool(self.whole[cause, KIND] == SENDRECV)  # its receive follows its own noise
        if reason == BY_END and not exchanges:
            return cause, True
        if reason == BY_END:
            self._add_calls(cause, 1)
            return self.start(cause)
        self._add_messages(cause, 0, float(self.times[cause, ROOM if reason == BY_POST else BYTES]))
        if reason in (BY_MESSAGE, BY_BOTH) or exchanges:
            self._add_calls(cause, self._is_call(cause))
        return self.start(cause)

    def _site(self, row: int) -> dict[str, float]:
        return self.sites[self.trace.sites[self.whole[row, SITE]]]

    def _add_calls(self, row: int, count: int) -> None:
        """Count noise of calls."""
        if count:
            self.calls[int(self.ranks[row])] += count
            self._site(row)["calls"] += count

    def _add_messages(self, row: int, count: int, carried: float) -> None:
        """Count latencies, and bytes of a message."""
        self.messages += count
        self.bytes += carried
        self._site(row)["latencies"] += count
        self._site(row)["bytes"] += carried

    def _is_call(self, row: int) -> bool:
        """Return whether an event is a call, and no part of one or mark of a modeled run."""
        mark = self.trace.modeled and self.whole[row, KIND] == LOCAL
        return bool(self.whole[row, NAME] < NOTICE and not mark)

    def _noisy(self, row: int, cause: int, reason: int) -> bool:
        """Return whether the noise of the call comes after what it waited for."""
        kind = self.whole[row, KIND]
        if kind == WAIT:
            return True
        arrives = self.whole[cause, OUT] == self.whole[row, INTO]
        return bool(kind not in (SEND, SSEND) and reason in (BY_MESSAGE, BY_POST) and arrives)

    def _stages(self, row: int) -> int:
        members = len(self.trace.communicators[int(self.whole[row, OUT])])
        return max(0, members - 1).bit_length()

    def start(self, row: int) -> tuple[int, bool]:
        """Go from an event's start to the end before it."""
        first = row in self.starts
        if self._computed(row, first):
            self.gaps[int(self.ranks[row])] += 1
            self._site(row)["gaps"] += 1
        return (row, False) if first else (row - 1, True)

    def _computed(self, row: int, first: bool) -> bool:
        """Return whether a rank computed before an event, so that noise is added there."""
        if first:
            return bool(self.trace.modeled and self.times[row, START] > 0)
        inside = self.whole[row, NAME] == NOTICE or self.whole[row - 1, NAME] == EXPECT
        return bool(not inside and self.times[row, START] > self.times[row - 1, END])
