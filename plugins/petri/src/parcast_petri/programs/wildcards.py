"""Receives of whichever message is there first: who takes which, as places and transitions.

Messages that are there stand in line for the next receive. They and receives come to the line when
no request of another kind is left at that time: of those that ask at one time the one built first
is first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from operator import attrgetter

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
    taken: str  #: its place once it is taken
    leaves: bool  #: it leaves when it is taken, not before


@attrs.frozen
class _Choice:
    inbox: Inbox
    send: int
    name: str
    together: Mapping[str, int]  #: the places of the message and of its receive
    taken: Mapping[str, int]
    leaves: bool  #: it leaves when it is taken, not before


@attrs.frozen
class _Receive:
    name: str
    before: str  #: the place of its process


def meeting_place(name: str) -> str:
    """Return the place in which a message waits that is taken and leaves only then."""
    return f"met {name}"


@attrs.define(eq=False)
class Wildcards:
    """Collects messages and receives of each inbox, and builds them when all are known."""

    _offers: dict[Inbox, list[_Offer]] = attrs.field(factory=lambda: defaultdict(list))
    _receives: dict[Inbox, list[_Receive]] = attrs.field(factory=lambda: defaultdict(list))
    _choices: list[_Choice] = attrs.field(factory=list)
    #: of each inbox what receiving may take, in seconds, and where it then is
    _places: dict[Inbox, dict[float, str]] = attrs.field(factory=lambda: defaultdict(dict))

    def expect(self, inbox: Inbox, receiving: float) -> None:
        """Note what receiving some message takes, in seconds, before any is built."""
        places, name = self._places[inbox], "got {} tag {}".format(*inbox)
        places.setdefault(receiving, f"{name} as {len(places)}" if places else name)

    def place(self, inbox: Inbox, receiving: float) -> str:
        """Return the place in which what is taken arrives, by what receiving it takes."""
        return self._places[inbox][receiving]

    def offer(
        self, inbox: Inbox, send: int, name: str, available: str, since: int, taken: str, *,
        leaves: bool,
    ) -> None:  # fmt: skip
        """Note a message that a receive of any may take."""
        self._offers[inbox].append(_Offer(send, name, available, since, taken, leaves))

    def choose(
        self, inbox: Inbox, send: int, name: str, together: Mapping[str, int],
        taken: Mapping[str, int], *, leaves: bool,
    ) -> None:  # fmt: skip
        """Note a message that a receive of any takes, as is known before the net is built."""
        self._choices.append(_Choice(inbox, send, name, together, taken, leaves))

    def receive(self, process: Process, tag: int, name: str) -> None:
        """Build a receive of whichever message is first."""
        inbox, since = (process.rank, tag), process.moment
        self._receives[inbox].append(_Receive(name, process.at))
        process.at = f"waiting {name}"
        places = self._places[inbox]
        if len(places) > 1:
            _take(process, name, places)
        else:
            ((overhead, place),) = places.items()
            process.step("recv", name, [place], **timed(overhead))
        process.records.take(inbox, process.rank, since, process.moment)

    def build(self, builder: NetBuilder, records: Records) -> None:
        """Build who takes which message, lower ranks first, after all other requests."""
        for choice in sorted(self._choices, key=attrgetter("inbox", "send")):
            turn = builder.place(_TURN, 1)
            moment = builder.transition(
                f"choose {choice.name}", {**choice.together, turn: 1}, {**choice.taken, turn: 1},
                queue=turn,
            )  # fmt: skip
            if choice.leaves:
                records.flight[choice.send] = moment
        for inbox in sorted(self._receives):
            posted = "receive of {} tag {}".format(*inbox)
            for offer in self._offers[inbox]:
                moment = builder.transition(
                    f"choose {offer.name}", {offer.available: 1, posted: 1}, {offer.taken: 1},
                    queue=posted,
                )  # fmt: skip
                if offer.leaves:
                    records.flight[offer.send] = moment
                records.offer(inbox, offer.send, moment, offer.since)
            turn = builder.place(_TURN, 1)
            for receive in self._receives[inbox]:
                waiting = {f"waiting {receive.name}": 1, posted: 1, turn: 1}
                builder.transition(
                    f"post {receive.name}", {receive.before: 1, turn: 1}, waiting,
                    queue=turn,
                )  # fmt: skip


def _take(process: Process, name: str, places: Mapping[float, str]) -> None:
    """Build a receive of messages of several sizes, whichever of them is there."""
    taken = f"taken {name}"
    for number, (overhead, place) in enumerate(places.items()):
        process.builder.transition(
            f"take {name} as {number}", {process.at: 1, place: 1}, {taken: 1}, **timed(overhead)
        )
    process.at = taken
    process.step("recv", name)
