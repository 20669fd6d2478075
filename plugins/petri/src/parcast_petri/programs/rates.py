"""How fast the bytes of a message drain: the least share that its links leave it."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from parcast_petri.nets.net import Link as NetLink
from parcast_petri.nets.net import Tokens
from parcast_petri.programs.networks import Wires

_MOST_TERMS = 50  #: of a plain sum, each of which nests a formula by one level; it may nest 100


@attrs.frozen
class Link:
    """What messages share: a bus, a port in one direction or both, or a backbone."""

    name: str
    capacity: float  #: relative to the bandwidth of one message
    loads: tuple[str, ...]  #: which count the messages on it


@attrs.define(eq=False)
class Rates:
    """The links of one network, and the speeds of messages on them.

    ``others`` counts what of other traffic is on each link, and ``reserved`` says what share of it
    is taken off the top; both are arithmetic of tokens.
    """

    wires: Wires
    pairs: frozenset[tuple[int, int]]  #: nodes between which messages go on this network
    others: dict[str, str] = attrs.field(factory=dict)
    reserved: dict[str, str] = attrs.field(factory=dict)
    waiting: bool = False  #: whether messages that wait for their turn count too
    fair: bool = False  #: max-min, not the least of equal shares
    _speeds: dict[tuple[int, int], Tokens] = attrs.field(factory=dict)

    def load(self, src: int, dst: int) -> str:
        """Return the name that counts the messages between two nodes."""
        if self.wires.contention == "bus":
            return self.wires.name("bus")
        return f"{self.wires.name('flow')}_{src}_{dst}"

    def queued(self, src: int, dst: int) -> str:
        """Return the place of messages between two nodes that wait for their turn."""
        return f"queued_{self.load(src, dst)}"

    def all_links(self) -> Iterable[Link]:
        """Yield every link that a message may take, once."""
        seen: dict[str, Link] = {}
        for src, dst in sorted(self.pairs):
            for link in self.links(src, dst):
                seen.setdefault(link.name, link)
        return seen.values()

    def links(self, src: int, dst: int) -> list[Link]:
        """Return the links on the way from node to node."""
        wires = self.wires
        if wires.contention == "bus":
            return [Link(wires.name("bus"), 1.0, (self.load(src, dst),))]
        pairs = sorted(self.pairs)
        if wires.duplex == "half":
            ends = [
                (f"port_{node}", [pair for pair in pairs if node in pair]) for node in (src, dst)
            ]
        else:
            ends = [
                (f"out_{src}", [pair for pair in pairs if pair[0] == src]),
                (f"into_{dst}", [pair for pair in pairs if pair[1] == dst]),
            ]
        links = [Link(wires.name(name), 1.0, self._loads(link_pairs)) for name, link_pairs in ends]
        if wires.backbone is not None:
            links.append(Link(wires.name("backbone"), wires.backbone, self._loads(pairs)))
        return links

    def _loads(self, pairs: Iterable[tuple[int, int]]) -> tuple[str, ...]:
        return tuple(self.load(*pair) for pair in pairs)

    def count(self, link: Link) -> str:
        """Return how many messages are on a link, as arithmetic of tokens."""
        waiting = tuple(f"queued_{load}" for load in link.loads) if self.waiting else ()
        return _sum((*link.loads, *waiting, *self._other(link)))

    def speed(self, src: int, dst: int) -> Tokens:
        """Return the speed of a message, relative to one alone: its least share of a link."""
        if (src, dst) not in self._speeds:
            fair = Tokens.fair(self.load(src, dst))
            equal = self._share(self.links(src, dst))
            self._speeds[src, dst] = fair if self.fair else Tokens.read(equal)
        return self._speeds[src, dst]

    def other_speed(self, link: Link) -> Tokens:
        """Return the speed of a message of others, which is on one link alone."""
        if self.fair:
            return Tokens.fair(self.others[link.name])
        return Tokens.read(self._share([link]))

    def net_links(self) -> list[NetLink]:
        """Return the links as a net has them, for max-min shares."""
        if not self.fair:
            return []
        return [
            NetLink(Tokens.read(self._left(link)), (*link.loads, *self._other(link)))
            for link in self.all_links()
        ]

    def _other(self, link: Link) -> tuple[str, ...]:
        return (self.others[link.name],) if link.name in self.others else ()

    def _share(self, links: list[Link]) -> str:
        if not self.reserved and all(link.capacity == 1 for link in links):
            return f"1/max(1, {', '.join(map(self.count, links))})"
        shares = (f"{self._left(link)}/max(1, {self.count(link)})" for link in links)
        return f"min(1, {', '.join(shares)})"

    def _left(self, link: Link) -> str:
        share = self.reserved.get(link.name)
        return repr(link.capacity) if share is None else f"{link.capacity!r}*(1 - {share})"


def _sum(places: tuple[str, ...]) -> str:
    """Return the sum of places as arithmetic, nested less deeply than formulas may be."""
    if len(places) <= _MOST_TERMS:
        return " + ".join(places)
    half = len(places) // 2
    return f"({_sum(places[:half])}) + ({_sum(places[half:])})"
