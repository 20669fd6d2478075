"""A net under construction: places and transitions as they come up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from parcast_petri.nets.net import Link, Net, Transition

#: The moment at which a run begins; every other moment is the index of a transition.
OUTSET = -1


@attrs.define(eq=False)
class NetBuilder:
    """Places and transitions so far; a moment is when a transition fires."""

    places: dict[str, int] = attrs.field(factory=dict)  #: with their tokens at first
    transitions: list[Transition] = attrs.field(factory=list)
    links: list[Link] = attrs.field(factory=list)
    outset: list[str] = attrs.field(factory=list)  #: places whose token comes at the outset

    def place(self, name: str, tokens: int = 0) -> str:
        """Add a place, unless it is there, and return its name."""
        self.places.setdefault(name, tokens)
        return name

    def transition(
        self, name: str, pre: Mapping[str, int], post: Mapping[str, int], **fields: Any
    ) -> int:
        """Add a transition and the places that it names; return its moment."""
        places = self.places
        for arcs in (pre, post):
            for place in arcs:
                if place not in places:
                    places[place] = 0
        self.transitions.append(Transition(name=name, pre=pre, post=post, **fields))
        return len(self.transitions) - 1

    def give(self, moment: int, place: str) -> None:
        """Let one more token come up at a moment, in a new place."""
        self.place(place, int(moment == OUTSET))
        if moment == OUTSET:
            self.outset.append(place)
            return
        post = self.transitions[moment].post
        assert isinstance(post, dict)
        post[place] = 1

    def net(self, name: str, same: float = 0.0) -> Net:
        """Return the net so far; ``same`` as in `Net`."""
        initial = {place: tokens for place, tokens in self.places.items() if tokens}
        return Net(
            name=name,
            places=tuple(self.places),
            transitions=tuple(self.transitions),
            initial=initial,
            links=tuple(self.links),
            same=same,
        )


def timed(seconds: float) -> dict[str, Any]:
    """Return the delay of a transition; one that takes no time is immediate."""
    return {"delay": seconds} if seconds else {}
