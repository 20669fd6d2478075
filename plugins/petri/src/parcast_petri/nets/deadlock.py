"""Why a net ended: run out, or in a deadlock, with the cyclic wait."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import attrs

from parcast_petri.nets.net import Net, Transition


@attrs.frozen(slots=False)
class Ending:
    """A net with a marking in which nothing is enabled.

    A transition is *starved* where an input place can never fill again because all that could
    fill it are starved; a run that has done all its work ends so. One that has some of its tokens
    and is not starved waits, at the end of a chain of others, for itself: a deadlock.
    """

    net: Net
    marking: Mapping[str, int]

    @cached_property
    def _producers(self) -> dict[str, list[str]]:
        producers: dict[str, list[str]] = {place: [] for place in self.net.places}
        for transition in self.net.transitions:
            for place in transition.post:
                producers[place].append(transition.name)
        return producers

    def missing(self, transition: Transition) -> list[str]:
        """Return the input places in which a transition lacks tokens."""
        return [p for p, weight in transition.pre.items() if self.marking.get(p, 0) < weight]

    @cached_property
    def starved(self) -> frozenset[str]:
        """The transitions that wait for what nobody is left to give."""
        starved: set[str] = set()
        grew = True
        while grew:
            grew = False
            for transition in self.net.transitions:
                if transition.name not in starved and self._starves(transition, starved):
                    starved.add(transition.name)
                    grew = True
        return frozenset(starved)

    def _starves(self, transition: Transition, starved: set[str]) -> bool:
        return any(starved.issuperset(self._producers[place]) for place in self.missing(transition))

    @cached_property
    def blocked(self) -> tuple[str, ...]:
        """The transitions that have some of their tokens and wait in a circle for the others."""
        return tuple(
            transition.name
            for transition in self.net.transitions
            if transition.name not in self.starved
            and self.missing(transition)
            and any(self.marking.get(place, 0) for place in transition.pre)
        )

    @cached_property
    def cycle(self) -> tuple[tuple[str, str], ...]:
        """A cyclic wait: transitions, each with the place that it waits for the next to fill."""
        if not self.blocked:
            return ()
        by_name = {transition.name: transition for transition in self.net.transitions}
        path: list[tuple[str, str]] = []
        seen: dict[str, int] = {}
        name = self.blocked[0]
        while name not in seen:
            seen[name] = len(path)
            lacking = self.missing(by_name[name])
            if not lacking:  # held back by an inhibitor only
                return ()
            path.append((name, lacking[0]))
            name = next(
                producer for producer in self._producers[lacking[0]] if producer not in self.starved
            )
        return tuple(path[seen[name] :])

    def sentence(self) -> str:
        """Return the deadlock in words, or nothing where there is none."""
        if not self.blocked:
            return ""
        names = ", ".join(map(repr, self.blocked[:5])) + " and others" * (len(self.blocked) > 5)
        ring = ", ".join(f"{name!r} for {place!r}" for name, place in self.cycle)
        waits = f"; they wait in a circle, {ring}" if ring else ""
        return f"deadlock: {names} have some of their tokens and can never get the others{waits}"
