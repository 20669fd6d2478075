"""Letters: messages from their send and their receive on, and which of them wildcards take."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import count

import attrs

from parcast.testing.events.agenda import DECIDE, Agenda, end_of

#: A source, a destination and a tag.
Channel = tuple[int, int, int]


@attrs.define(eq=False)
class Letter:
    """What the k-th send and the k-th receive of a channel share; either may come first."""

    source: int
    target: int
    tag: int
    size: float = 0
    order: int = 0  #: of the send, among the operations of its process
    number: int = 0  #: of the send, among all that are alike
    eager: bool = False  #: its sender goes on
    early: bool = False  #: it leaves before its receive is posted
    by: int | None = None  #: who asks for what it passes, where that is not its source
    sent: bool = False
    posted: bool = False
    left: float = 0  #: when the transfer began
    arrival: float | None = None  #: set when it has arrived

    @property
    def asker(self) -> int:
        """The process that asks for what the letter passes."""
        return self.source if self.by is None else self.by


class Letters:
    """The letters of every channel, in order from both of its sides."""

    def __init__(self) -> None:
        self._letters: dict[tuple[Channel, int], Letter] = {}
        self._sends: dict[Channel, Iterator[int]] = defaultdict(count)
        self._posts: dict[Channel, Iterator[int]] = defaultdict(count)

    def to_send(self, channel: Channel) -> Letter:
        """Return the letter of the next send."""
        return self._next(self._sends, channel)

    def to_receive(self, channel: Channel) -> Letter:
        """Return the letter of the next receive."""
        return self._next(self._posts, channel)

    def _next(self, ordinals: dict[Channel, Iterator[int]], channel: Channel) -> Letter:
        key = (channel, next(ordinals[channel]))
        return self._letters.setdefault(key, Letter(*channel))


class Wildcards:
    """Receives from anybody, and the letters that they may take.

    Parameters
    ----------
    agenda
        Decides them after all else of an instant.
    take
        Hears which letter a rank takes.
    """

    def __init__(self, agenda: Agenda, take: Callable[[int, Letter], None]) -> None:
        self._agenda = agenda
        self._take = take
        #: by destination and tag: when the letter was there, its source, order and number
        self._offers: dict[tuple[int, int], list[tuple[float, int, int, int, Letter]]] = {}
        self._wanting: dict[tuple[int, int], int] = {}  # the order of the receive

    def want(self, rank: int, order: int, tag: int) -> None:
        """Have a rank take a letter with a tag."""
        self._wanting[rank, tag] = order
        self._ask(rank, tag)

    def offer(self, letter: Letter) -> None:
        """Let a wildcard take a letter from now on."""
        offers = self._offers.setdefault((letter.target, letter.tag), [])
        offers.append((self._agenda.now, letter.source, letter.order, letter.number, letter))
        self._ask(letter.target, letter.tag)

    def _ask(self, rank: int, tag: int) -> None:
        """Have a wildcard decided, if there is one and something that it can take."""
        if self._offers.get((rank, tag)) and (rank, tag) in self._wanting:
            order = self._wanting.pop((rank, tag))
            decide = lambda: self._decide(rank, tag)  # noqa: E731
            self._agenda.at(self._agenda.now, DECIDE, rank, order, decide)

    def _decide(self, rank: int, tag: int) -> None:
        offers = self._offers[rank, tag]
        until = end_of(min(time for time, *_ in offers))
        offer = min((offer for offer in offers if offer[0] <= until), key=lambda entry: entry[1:4])
        offers.remove(offer)
        self._take(rank, offer[4])
