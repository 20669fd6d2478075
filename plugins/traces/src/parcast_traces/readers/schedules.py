"""Schedules: graphs of what each rank computes, sends and receives, and what requires what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import attrs
import numpy as np

from parcast.errors import FileError
from parcast_traces.trace.packed_table import free_memory

#: A source or a tag that says any.
ANY = -1

#: What a step of a `Graph` is, by number.
KINDS = ("send", "recv", "calc")
SEND, RECV, CALC = range(3)

#: The columns of a `Graph`, and their types: of its steps, and of what requires what.
STEPS = {"kind": "b", "size": "q", "peer": "q", "tag": "q", "cpu": "i", "nic": "i"}
REQUIREMENTS = {"later": "i", "earlier": "i", "ended": "b"}
MOST_STEPS = (1 << 31) - (1 << 27)  #: of a rank; their numbers have 32 bits

#: Steps that are looked at together.
_PART = 1 << 20
#: What a `Step` takes in memory with what orders it.
_STEP_BYTES = 1000


@attrs.define(slots=True)
class Step:
    """One operation of a rank."""

    kind: str  #: ``send``, ``recv`` or ``calc``; of other graphs also a collective
    size: int  #: bytes, or ns
    peer: int = ANY
    tag: int = 0
    cpu: int = 0
    nic: int = 0
    takes: int = 0  #: ns that a message or a collective took when recorded
    group: str = ""  #: of a collective; of all ranks if it has no name
    ended: list[int] = attrs.field(factory=list)  #: steps that must have ended before
    begun: list[int] = attrs.field(factory=list)  #: steps that must have begun before


@attrs.frozen(eq=False, kw_only=True)
class Graph:
    """The operations of a rank as columns of whole numbers, for as many as memory has room for."""

    kind: Any  #: of each step, a position in `KINDS`
    size: Any  #: bytes, or ns
    peer: Any
    tag: Any
    cpu: Any
    nic: Any
    later: Any  #: of each requirement, the step that requires
    earlier: Any  #: the one that is required
    ended: Any  #: whether that must have ended, not only begun

    @property
    def is_wild(self) -> bool:
        """Whether a step receives from any source or of any tag."""
        return any(
            bool(((self.kind[part] == RECV)
                  & ((self.peer[part] == ANY) | (self.tag[part] == ANY))).any())
            for part in self._parts()
        )  # fmt: skip

    @property
    def has_streams(self) -> bool:
        """Whether more than one stream computes."""
        streams = set[int]()
        for part in self._parts():
            computes = (self.kind[part] == CALC) & (self.size[part] > 0)
            streams.update(np.unique(self.cpu[part][computes]).tolist())
        return len(streams) > 1

    def _parts(self) -> Iterator[slice]:
        return (slice(low, low + _PART) for low in range(0, len(self.kind), _PART))

    def steps(self, where: str) -> list[Step]:
        """Return the operations one by one.

        Raises
        ------
        FileError
            If memory has no room for them.
        """
        needed, free = len(self.kind) * _STEP_BYTES, free_memory()
        if needed > free:
            raise FileError(
                f"{where} has {len(self.kind):,} steps, and computes on several streams or "
                f"receives from any source, so that it takes {needed / 1e9:.1f} GB of memory, and "
                f"{free / 1e9:.1f} GB are free; name the sources and one cpu, or cut it"
            )
        columns = (self.size, self.peer, self.tag, self.cpu, self.nic)
        rows = zip(self.kind.tolist(), *(column.tolist() for column in columns), strict=True)
        steps = [Step(KINDS[kind], *fields) for kind, *fields in rows]
        edges = (self.later.tolist(), self.earlier.tolist(), self.ended.tolist())
        for later, earlier, ended in zip(*edges, strict=True):
            (steps[later].ended if ended else steps[later].begun).append(earlier)
        return steps


@attrs.frozen
class Schedule:
    """The operations of all ranks."""

    where: str
    ranks: tuple[list[Step], ...] = attrs.field(repr=False)
    groups: Mapping[str, list[int]] = attrs.field(factory=dict)  #: the ranks in each
    notes: tuple[str, ...] = ()
