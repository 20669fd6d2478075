"""What the moments of a program's run say: how long it took, and what the time went into."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast.program.reference import SAME_INSTANT, by_arrival, end_of_instant

_PARTS = ("compute", "communication", "io", "synchronization")
_CODE = {name: code for code, name in enumerate(_PARTS)}
_COMMUNICATION, _SYNCHRONIZATION = _CODE["communication"], _CODE["synchronization"]

Times = NDArray[np.float64]
Inbox = tuple[int, int]  #: a rank and a tag of messages that receives of any take


@attrs.define(eq=False)
class Records:
    """Which moments bound what each process does; a moment is when a transition fires.

    A wait is noted with the sends of its messages, or with the moment that ends it and a send;
    where receiving takes time after it, with the moment when that is over.
    """

    ends: list[int] = attrs.field(factory=list)  #: by rank
    starts: list[int] = attrs.field(factory=list)
    flight: dict[int, int] = attrs.field(factory=dict)  #: by send, when its transfer begins
    arrival: dict[int, int] = attrs.field(factory=dict)
    _busy: list[tuple[int, int, int, int]] = attrs.field(factory=list)
    _waits: list[tuple[int, int, int | None, list[tuple[int | None, int]]]] = attrs.field(
        factory=list
    )
    _takings: list[tuple[int, int, list[tuple[int, float]]]] = attrs.field(factory=list)
    _receives: dict[Inbox, list[tuple[int, int, int]]] = attrs.field(
        factory=lambda: defaultdict(list)
    )
    #: rank, part, since and until of all that is noted as busy, and waits, where they are known
    busy_columns: tuple[NDArray[Any], ...] | None = None
    wait_columns: tuple[NDArray[np.int64], ...] | None = None
    _offers: dict[Inbox, list[tuple[int, int, int]]] = attrs.field(
        factory=lambda: defaultdict(list)
    )

    def busy(self, rank: int, part: str, since: int, until: int) -> None:
        """Note what a process does from one moment to another."""
        self._busy.append((rank, _CODE[part], since, until))

    def wait(
        self, rank: int, since: int, ends: Sequence[tuple[int | None, int]], until: int | None
    ) -> None:
        """Note a wait: each message's moment (None: its arrival) and its send."""
        self._waits.append((rank, since, until, list(ends)))

    def takings(self, rank: int, since: int, messages: Sequence[tuple[int, float]]) -> None:
        """Note a wait that takes one message after another: its send, and the seconds for it."""
        self._takings.append((rank, since, list(messages)))

    def offer(self, inbox: Inbox, send: int, choice: int, available: int) -> None:
        """Note when a message that a receive of any may take is taken, and is there."""
        self._offers[inbox].append((choice, available, send))

    def take(self, inbox: Inbox, rank: int, since: int, until: int) -> None:
        """Note a receive of whichever message is first."""
        self._receives[inbox].append((rank, since, until))

    def read(self, fired: Sequence[float]) -> Account:
        """Return the account of a run from when each transition fired."""
        times = np.append(np.asarray(fired, float), 0.0)  # and the outset
        start = max((float(times[moment]) for moment in self.starts), default=0.0)
        ends = times[self.ends]
        spent = np.zeros((len(self.ends), len(_PARTS)))
        ledger = _Ledger(spent, start)
        if self.busy_columns is None:
            self.busy_columns = tuple(np.array(self._busy, np.int64).reshape(-1, 4).T)
        rank, part, since, until = self.busy_columns
        ledger.charge(rank, part, times[since], times[until])
        self._charge_waits(times, ledger)
        self._charge_takings(times, ledger)
        for inbox, receives in self._receives.items():
            self._charge_wild(inbox, receives, times, ledger)
        last = float(ends.max())
        everyone = np.arange(len(ends))
        ledger.charge(everyone, _SYNCHRONIZATION, ends, np.full(len(ends), last))
        return Account(last - start, start, ends, spent)

    def _charge_waits(self, times: Times, ledger: _Ledger) -> None:
        if self.wait_columns is None:
            self.wait_columns = self._waits_as_arrays()
        rank, since, until, owner, ending, leaving = self.wait_columns
        begun = times[since]
        left = begun.copy()
        ends, flights = times[ending], times[leaving]
        awaited = np.full(len(begun), -np.inf)
        np.maximum.at(awaited, owner, ends)
        last = ends * (1.0 + SAME_INSTANT) >= awaited[owner]  # those that end at that instant
        left[owner] = np.inf
        np.minimum.at(left, owner[last], flights[last])
        ended = np.maximum(begun, awaited)
        gone = np.minimum(np.maximum(begun, left), ended)
        ledger.charge(rank, _SYNCHRONIZATION, begun, gone)
        ledger.charge(rank, _COMMUNICATION, gone, ended)
        after = until >= 0
        ledger.charge(rank[after], _COMMUNICATION, ended[after], times[until[after]])

    def _charge_takings(self, times: Times, ledger: _Ledger) -> None:
        """Charge waits that take messages as they arrive, of one instant that which left first."""
        charges: list[tuple[int, int, float, float]] = []
        for rank, since, messages in self._takings:
            now = float(times[since])
            ends = [
                (float(times[self.arrival[send]]), float(times[self.flight[send]]), seconds)
                for send, seconds in messages
            ]
            for arrival, flight, seconds in by_arrival(ends):
                ended = max(now, arrival)
                gone = min(max(now, flight), ended)
                charges.append((rank, _SYNCHRONIZATION, now, gone))
                now = ended + seconds
                charges.append((rank, _COMMUNICATION, gone, now))
        if charges:
            ranks, parts, begun, done = map(np.array, zip(*charges, strict=True))
            ledger.charge(ranks, parts, begun, done)

    def _waits_as_arrays(self) -> tuple[NDArray[np.int64], ...]:
        """Return rank, since, until (-1: none) by wait; owner, end and flight by message."""
        waits = np.array(
            [
                (rank, since, -1 if until is None else until)
                for rank, since, until, _ in self._waits
            ],
            np.int64,
        ).reshape(-1, 3)
        messages = np.array(
            [
                (owner, self.arrival[send] if moment is None else moment, self.flight[send])
                for owner, (*_, awaited) in enumerate(self._waits)
                for moment, send in awaited
            ],
            np.int64,
        ).reshape(-1, 3)
        return (*waits.T, *messages.T)

    def _charge_wild(
        self, inbox: Inbox, receives: Sequence[tuple[int, int, int]], times: Times, ledger: _Ledger
    ) -> None:
        offers = [(times[choice], times[at], send) for choice, at, send in self._offers[inbox]]
        for (rank, since, until), send in zip(receives, _in_order(offers), strict=True):
            begun = times[since]
            ended = max(begun, times[self.arrival[send]])
            ledger.wait(rank, begun, ended, times[self.flight[send]])
            ledger.charge(rank, _COMMUNICATION, ended, times[until])


@attrs.frozen(eq=False)
class Account:
    """How long a run took, and what each process spent its time on; in seconds."""

    time: float
    start: float
    ends: Times
    spent: NDArray[np.float64]  #: by rank: compute, communication, io, synchronization


def _in_order(offers: Sequence[tuple[float, float, int]]) -> list[int]:
    """Return sends as they are taken: by when that is, the instant when they are there, and rank.

    Each is given with the first two, in seconds.
    """
    order: list[tuple[int, int]] = []
    group, now, until = 0, -1.0, -1.0
    for choice, available, send in sorted(offers):
        if choice > now or available > until:
            group, now, until = group + 1, choice, end_of_instant(available)
        order.append((group, send))
    return [send for _, send in sorted(order)]


@attrs.frozen(eq=False)
class _Ledger:
    """Sums up, without what lies before the start."""

    spent: NDArray[np.float64]
    start: float

    def charge(self, rank: Any, part: Any, since: Any, until: Any) -> None:
        span = np.maximum(until, self.start) - np.maximum(since, self.start)
        np.add.at(self.spent, (rank, part), span)

    def wait(self, rank: int, since: float, until: float, left: float) -> None:
        gone = min(max(since, left), until)
        self.charge(rank, _SYNCHRONIZATION, since, gone)
        self.charge(rank, _COMMUNICATION, gone, until)
