"""What a trace in a file may have wrong, by one look at each event.

Of each channel the messages are counted, and the largest and the smallest room for one are kept,
and a sum over their sizes and over the rooms that depends on the order. Where these leave no doubt,
every message has its receive, with room for it; the same way all ranks call the same collectives.
What is in doubt is looked at again, message by message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from parcast_traces.trace.calls import ALL, PROBE
from parcast_traces.trace.columns import (
    BYTES,
    FIRST,
    INTO,
    KIND,
    NAME,
    NONE,
    OUT,
    ROOM,
    Ints,
    Trace,
)
from parcast_traces.trace.roomy import PART, Roomy

#: Messages that are looked at together.
_MOST_MESSAGES = 1 << 22

#: Odd numbers of 64 bits without a pattern.
_MIX = tuple(np.array([0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB], np.uint64))


class Tally:
    """How many values each of some sequences has, and a sum that their order decides.

    Sequences beyond those that it begins with are added as they come.
    """

    def __init__(self, sequences: int) -> None:
        self._counts, self._sums = Roomy(sequences, np.int64), Roomy(sequences, np.uint64)

    @property
    def counts(self) -> Ints:
        """How many values each sequence has."""
        return self._counts.values

    @property
    def sums(self) -> Any:
        """The sum of each sequence, of 64 bits without sign."""
        return self._sums.values

    def release(self) -> None:
        """Let go of what is in memory of a file."""
        self._counts.release()
        self._sums.release()

    def add(self, sequences: Ints, values: Any) -> None:
        """Add values, each of 64 bits, to the ends of their sequences."""
        if not len(sequences):
            return
        beyond = int(sequences.max()) + 1 - len(self.counts)
        if beyond > 0:
            longer = beyond + 2 * len(self.counts)
            self._counts, self._sums = self._counts.grown(longer), self._sums.grown(longer)
        order = np.argsort(sequences, kind="stable")
        grouped = sequences[order]
        begins = np.flatnonzero(np.diff(grouped, prepend=-1))
        lengths = np.diff(begins, append=len(grouped))
        which = grouped[begins]
        ordinals = np.arange(len(grouped)) + np.repeat(self.counts[which] - begins, lengths)
        mixed = values[order].view(np.uint64) ^ ordinals.astype(np.uint64) * _MIX[0]
        for factor in _MIX[1:]:
            mixed = (mixed ^ (mixed >> np.uint64(30))) * factor
        self.sums[which] += np.add.reduceat(mixed, begins)
        self.counts[which] += lengths


def doubtful_channels(trace: Trace) -> Iterator[Ints]:
    """Yield channels whose messages and receives may not fit each other, a few at a time.

    Those of which there are more of one than of the other come first.
    """
    whole, times, count = trace.events.whole, trace.events.times, len(trace.channels.source)
    sent, received = Tally(count), Tally(count)
    largest, least = Roomy(count, np.float64), Roomy(count, np.float64, np.inf)
    for part in trace.parts():
        rows = np.array(whole[part])
        two = (rows[:, KIND] < ALL) & (rows[:, KIND] != PROBE)
        sides = ((OUT, BYTES, sent, np.maximum, largest), (INTO, ROOM, received, np.minimum, least))
        for column, amount, tally, further, extreme in sides:
            mine = two & (rows[:, column] != NONE)
            channels, amounts = rows[mine, column], times[part, amount][mine]
            tally.add(channels, amounts)
            further.at(extreme.values, channels, amounts)
            tally.release()
            extreme.release()
    columns = (sent, received, largest, least)
    for larger, smaller in ((sent, received), (received, sent)):
        more = _where(count, columns, lambda some: larger.counts[some] > smaller.counts[some])  # noqa: B023
        yield next(more, np.empty(0, np.int64))[:1]

    def are_unlike(some: slice) -> Any:
        rooms = largest.values[some] > least.values[some]
        return rooms & (sent.sums[some] != received.sums[some])

    for unlike in _where(count, columns, are_unlike):
        groups = np.cumsum(sent.counts[unlike]) // _MOST_MESSAGES
        yield from np.split(unlike, np.flatnonzero(np.diff(groups)) + 1)


def _where(
    count: int, columns: Sequence[Tally | Roomy], test: Callable[[slice], Any]
) -> Iterator[Ints]:
    """Yield the numbers that pass a test of columns, those of a part of them at a time."""
    for low in range(0, count, PART):
        chosen = np.flatnonzero(test(slice(low, min(low + PART, count))))
        for column in columns:
            column.release()
        if len(chosen):
            yield chosen + low


def doubtful_communicators(trace: Trace) -> Ints:
    """Return the communicators whose members may not call the same collectives."""
    whole = trace.events.whole
    sizes = np.array([len(members) for members in trace.communicators])
    begins = np.cumsum(sizes) - sizes
    tally = Tally(int(sizes.sum()))
    for part in trace.parts():
        rows = np.array(whole[part])
        rows = rows[rows[:, KIND] >= ALL].astype(np.int64)
        tally.add(begins[rows[:, OUT]] + rows[:, INTO], rows[:, NAME] << 32 | rows[:, FIRST] + 1)
    filled = np.flatnonzero(sizes)
    differ = np.zeros(len(sizes), bool)
    for values in (tally.counts, tally.sums):
        least, most = (bound.reduceat(values, begins[filled]) for bound in (np.minimum, np.maximum))
        differ[filled] |= least != most
    return np.flatnonzero(differ)
