"""The markings of a net, one by one: whether any of them is a halt before the end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection

import attrs

from parcast_petri.nets.net import Net, Transition

#: So many markings are looked at, and so many marked places on the way: some seconds' worth.
MOST_MARKINGS = 50_000
MOST_PLACES = 6_000_000
Marking = frozenset[tuple[str, int]]


@attrs.frozen
class Search:
    """What was looked at, in any order of firings, and the halt that was found."""

    markings: int
    complete: bool  #: these are all that there are
    firing_sequence: tuple[str, ...] | None = (
        None  #: what fires until nothing is enabled before the end
    )
    waits: tuple[tuple[str, str], ...] = ()  #: who then waits for which place

    @property
    def excluded(self) -> bool:
        """Whether no marking is a halt."""
        return self.complete and self.firing_sequence is None

    def sentence(self) -> str:
        """Return the same in words."""
        if self.firing_sequence is not None:
            pairs = ", ".join(f"{name!r} for {place!r}" for name, place in self.waits[:5])
            last = ", ".join(map(repr, self.firing_sequence[-3:]))
            ways = (
                f"after {len(self.firing_sequence):,} firings, the last {last}, "
                if last
                else "at first "
            )
            waiting = f"{pairs} may wait for ever" if pairs else "nothing can fire any more"
            return f"a deadlock, unless times prevent it: {ways}{waiting}"
        if self.complete:
            return f"no deadlock: none of all {self.markings:,} markings is one"
        return (
            f"{self.markings:,} markings were explored, none of them a deadlock, and there are more"
        )


def search_markings(net: Net, joins: Collection[str] = ()) -> Search:
    """Return whether a net may halt while a place that nothing takes from lacks a token.

    Delays, priorities and queues are left aside: they keep a net from some of these markings, and
    lead it to no other. ``joins`` are that of `halting`.
    """
    takers, ends = _takers(net), _ends(net, joins)
    always = [transition for transition in net.transitions if not transition.pre]
    first: Marking = frozenset(item for item in net.initial.items() if item[1])
    parents: dict[Marking, tuple[Marking, str] | None] = {first: None}
    todo, places = [first], 0
    while todo:
        state = todo.pop()
        tokens = dict(sorted(state))  # so that every run looks in one order
        candidates = {t.name: t for place in tokens for t in takers[place]}
        live = [t for t in (*candidates.values(), *always) if _enabled(t, tokens)]
        ended = ends and all(tokens.get(place, 0) >= number for place, number in ends.items())
        if not live and not ended:
            sequence = _firing_sequence(parents, state)
            waits = _waiting([*candidates.values()], tokens)
            return Search(len(parents), complete=False, firing_sequence=sequence, waits=waits)
        places += len(state) * (1 + len(live))
        for transition in live:
            after = _fired(transition, tokens)
            if after not in parents:
                parents[after] = (state, transition.name)
                todo.append(after)
        if len(parents) > MOST_MARKINGS or places > MOST_PLACES:
            return Search(min(len(parents), MOST_MARKINGS), complete=False)
    return Search(len(parents), complete=True)


def _takers(net: Net) -> dict[str, list[Transition]]:
    takers: dict[str, list[Transition]] = defaultdict(list)
    for transition in net.transitions:
        for place in transition.pre:
            takers[place].append(transition)
    return takers


def _ends(net: Net, joins: Collection[str]) -> dict[str, int]:
    """Return how many tokens the places have at the end that nothing takes from."""
    inputs = net.inputs()
    ends: dict[str, int] = {}
    for transition in net.transitions:
        for place, weight in transition.post.items():
            if place not in inputs:
                ends[place] = ends.get(place, 0) + weight if place in joins else 1
    return ends


def _enabled(transition: Transition, tokens: dict[str, int]) -> bool:
    supplied = all(tokens.get(place, 0) >= weight for place, weight in transition.pre.items())
    return supplied and all(
        tokens.get(place, 0) < weight for place, weight in transition.inhibitor.items()
    )


def _fired(transition: Transition, tokens: dict[str, int]) -> Marking:
    after = dict(tokens)
    for arcs, sign in ((transition.pre, -1), (transition.post, 1)):
        for place, weight in arcs.items():
            after[place] = after.get(place, 0) + sign * weight
    return frozenset(item for item in after.items() if item[1])


def _firing_sequence(
    parents: dict[Marking, tuple[Marking, str] | None], state: Marking
) -> tuple[str, ...]:
    names: list[str] = []
    while (before := parents[state]) is not None:
        state, name = before
        names.append(name)
    return tuple(reversed(names))


def _waiting(candidates: list[Transition], tokens: dict[str, int]) -> tuple[tuple[str, str], ...]:
    pairs = (
        (transition, [p for p, n in transition.pre.items() if tokens.get(p, 0) < n])
        for transition in candidates
    )
    return tuple((transition.name, missing[0]) for transition, missing in pairs if missing)
