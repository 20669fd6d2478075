"""Receives of whichever message is there first: who takes which, as places and transitions.

Messages that are there stand in line for the next receive. They and receives come to the line when
no request of another kind is left at that time: of those that ask at one time the one built first
is first.
"""

from __future__ import annotations

from collections import defaultdict

import attrs

from parcast_petri.programs.accounting import Inbox, Records
from parcast_petri.programs.net_builder import NetBuilder, timed
from parcast_petri.programs.process import Process

#: A place that receives pass one after another.
_TURN = "receives of any"


@attrs.frozen
class _Offer:
    send: int
    name: str
    available: str  #: the place of a message that is there
    since: int  #: the moment when it is
    late: bool  #: it leaves when it is taken, not before


@attrs.frozen
class _Receive:
    name: str
    before: str  #: the place of its process


def meeting_place(name: str) -> str:
    """Return the place in which a message waits that is taken and leaves only then."""
    return f"met {name}"


def inbox_place(inbox: Inbox) -> str:
    """Return the place in which what is taken arrives."""
    return "got {} tag {}".format(*inbox)


@attrs.define(eq=False)
class Wildcards:
    """Collects messages and receives of each inbox, and builds them when all are known."""

    _offers: dict[Inbox, list[_Offer]] = attrs.field(factory=lambda: defaultdict(list))
    _receives: dict[Inbox, list[_Receive]] = attrs.field(factory=lambda: defaultdict(list))

    def offer(
        self, inbox: Inbox, send: int, name: str, available: str, since: int, *, late: bool
    ) -> None:
        """Note a message that a receive of any may take."""
        self._offers[inbox].append(_Offer(send, name, available, since, late))

    def receive(self, process: Process, tag: int, name: str, overhead: float) -> None:
        """Build a receive of whichever message is first."""
        inbox, since = (process.rank, tag), process.moment
        self._receives[inbox].append(_Receive(name, process.at))
        process.at = f"waiting {name}"
        process.step("recv", name, [inbox_place(inbox)], **timed(overhead))
        process.records.take(inbox, process.rank, since, process.moment)

    def build(self, builder: NetBuilder, records: Records) -> None:
        """Build who takes which message, lower ranks first, after all other requests."""
        for inbox in sorted(self._receives):
            posted = "receive of {} tag {}".format(*inbox)
            for offer in self._offers[inbox]:
                destination = meeting_place(offer.name) if offer.late else inbox_place(inbox)
                choice = builder.transition(
                    f"choose {offer.name}", {offer.available: 1, posted: 1}, {destination: 1},
                    queue=posted,
                )  # fmt: skip
                if offer.late:
                    records.flight[offer.send] = choice
                records.offer(inbox, offer.send, choice, offer.since)
            turn = builder.place(_TURN, 1)
            for receive in self._receives[inbox]:
                waiting = {f"waiting {receive.name}": 1, posted: 1, turn: 1}
                builder.transition(
                    f"post {receive.name}", {receive.before: 1, turn: 1}, waiting,
                    queue=turn,
                )  # fmt: skip
