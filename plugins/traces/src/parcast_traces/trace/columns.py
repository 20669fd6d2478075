"""A trace as columns, every rank's events in one stretch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from mmap import MADV_DONTNEED, mmap
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast_traces.trace.calls import NAMES
from parcast_traces.trace.packed_table import PackedTable

#: Events that are looked at together.
PART = 1 << 20

#: Where an event has no channel, communicator, root or slot.
NONE = -1

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Shorts = NDArray[np.int32]

#: Columns of `Events.whole`: the kind, a position in `NAMES`, the channels on which it sends and
#: receives, where its completed requests begin in ``slots`` and how many it completes, its site.
#: Of a nonblocking call ``COUNT`` is its own slot, of a ``request_free`` one more. Of a
#: collective ``OUT`` is the communicator, ``INTO`` the rank's position in it, ``FIRST`` the root's.
KIND, NAME, OUT, INTO, FIRST, COUNT, SITE = range(7)

#: Columns of `Events.times`, the amounts in bytes: what it sends (or contributes to a
#: collective), and the most that it receives.
START, END, BYTES, ROOM = range(4)


@attrs.frozen(eq=False, kw_only=True)
class Events:
    """The events of all ranks; event ``i`` of a rank is at ``offsets[rank] + i``."""

    offsets: Ints  #: p + 1 of them
    whole: Shorts | PackedTable  #: [event, column]
    times: Floats | PackedTable  #: [event, column], in ticks of the rank's own clock
    slots: Shorts | PackedTable  #: requests of all waits, by a small number that ranks reuse

    def rank_of(self, event: Any) -> Any:
        """Return the ranks that these events belong to."""
        return np.searchsorted(self.offsets, event, side="right") - 1


@attrs.frozen(eq=False, kw_only=True)
class Channels:
    """Messages with one source, target, tag and communicator keep their order."""

    source: Shorts
    target: Shorts
    tag: Ints
    communicator: Shorts


@attrs.frozen(eq=False)
class Steps:
    """The steps that a run repeats."""

    trace: Trace = attrs.field(repr=False)  #: of these alone, one after another
    seconds: Floats  #: that each took on the rank that took longest


@attrs.frozen(eq=False, kw_only=True)
class Trace:
    """What every rank called and when."""

    where: str  #: the file, as errors name it
    events: Events = attrs.field(repr=False)
    channels: Channels = attrs.field(repr=False)
    communicators: tuple[Shorts, ...] = attrs.field(repr=False)  #: their members
    labels: tuple[str, ...] = attrs.field(repr=False)  #: the names of the communicators
    sites: tuple[str, ...] = attrs.field(repr=False)
    requests: Shorts = attrs.field(repr=False)  #: the most that each rank has open
    regions: tuple[str, ...] = attrs.field(default=(), repr=False)
    """The function or part of the code that each site is in, "" where none is recorded."""
    tick: float | None = None  #: seconds; None: the times have no unit
    comparable: bool = False  #: the clocks of all ranks are one
    timed: bool = True  #: it has times
    checked: bool = True  #: messages have both sides, and collectives all their ranks
    modeled: bool = False  #: times of a machine's model: clocks begin with the run
    notes: tuple[str, ...] = ()
    about: Mapping[str, Any] = attrs.field(factory=dict, repr=False)
    """What its file says of itself, as ``parcast show`` prints it."""
    steps: Steps | None = attrs.field(default=None, repr=False)
    mapped: mmap | None = attrs.field(default=None, repr=False)  #: a file, behind the tables

    @property
    def in_file(self) -> bool:
        """Whether its events are in a file, of which only a part may be in memory."""
        return self.mapped is not None or isinstance(self.events.whole, PackedTable)

    def release(self) -> None:
        """Let go of what was read of a mapped file; it is read again where it is needed."""
        if self.mapped is not None:
            self.mapped.madvise(MADV_DONTNEED)

    def parts(self) -> Iterator[slice]:
        """Yield stretches of events, so that what is made of one has room in memory."""
        for low in range(0, self.count, PART):
            yield slice(low, min(low + PART, self.count))
            self.release()

    @property
    def size(self) -> int:
        """The number of ranks."""
        return len(self.events.offsets) - 1

    @property
    def count(self) -> int:
        """The number of events."""
        return len(self.events.whole)

    @property
    def ends(self) -> Floats:
        """When each rank's last event ended, 0 where it has none."""
        return self._at(self.events.offsets[1:] - 1, END)

    @property
    def begins(self) -> Floats:
        """When each rank's first event started, 0 where it has none."""
        return self._at(self.events.offsets[:-1], START)

    def _at(self, events: Ints, column: int) -> Floats:
        times = np.zeros(self.size)
        present = np.diff(self.events.offsets) > 0
        if not self.in_file:
            times[present] = self.events.times[events[present], column]
            return times
        for rank in np.flatnonzero(present):  # a touch maps megabytes
            times[rank] = self.events.times[events[rank], column]
            self.release()
        return times

    def place(self, event: int) -> str:
        """Return rank and event, as errors name them."""
        rank = int(self.events.rank_of(event))
        return f"rank {rank}, event {event - int(self.events.offsets[rank])}"

    def name(self, event: int) -> str:
        """Return the name of the call."""
        return str(NAMES[self.events.whole[event, NAME]])

    def channel(self, number: int) -> str:
        """Return a channel, as errors name it."""
        of = self.channels
        label = self.labels[of.communicator[number]]
        return (
            f"{of.source[number]} -> {of.target[number]}, tag {of.tag[number]}, "
            f"communicator {label}"
        )
