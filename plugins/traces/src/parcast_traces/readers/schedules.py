"""Schedules: graphs of what each rank computes, sends and receives, and what requires what."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

#: A source or a tag that says any.
ANY = -1


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


@attrs.frozen
class Schedule:
    """The operations of all ranks."""

    where: str
    ranks: tuple[list[Step], ...] = attrs.field(repr=False)
    groups: Mapping[str, list[int]] = attrs.field(factory=dict)  #: the ranks in each
    notes: tuple[str, ...] = ()
