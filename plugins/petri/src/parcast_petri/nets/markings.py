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
    way: tuple[str, ...] | None = None  #: what fires until nothing is enabled before the end
    waits: tuple[tuple[str, str], ...] = ()  #: who then waits for which place

    @property
    def excluded(self) -> bool:
        """Whether no marking is a halt."""
        return self.complete and self.way is None

    def sentence(self) -> str:
        """Return the same in words."""
        if self.way is not None:
            shown = ", ".join(f"{name!r} for {place!r}" for name, place in self.waits[:5])
            last = ", ".join(map(repr, self.way[-3:]))
            ways = f"after {len(self.way):,} firings, the last {last}, " if last else "at first "
            return (
                f"a deadlock, unless times prevent it: {ways}{shown or 'nothing'} may wait for ever"
            )
        if self.complete:
            return f"no deadlock: none of all {self.markings:,} markings is one"
        return (
            f"of its markings {self.markings:,} were looked at, none of them a deadlock, and there "
            "are more"
        )


def searched(net: Net, each: Collection[str] = ()) -> Search:
    """Return whether a net may halt while a place that nothing takes from lacks a token.

    Delays, priorities and queues are left aside: they keep a net from some of these markings, and
    lead it to no other. ``each`` is that of `halting`.
    """
    takers, ends = _takers(net), _ends(net, each)
    always = [one for one in net.transitions if not one.pre]
    first: Marking = frozenset(item for item in net.initial.items() if item[1])
    found: dict[Marking, tuple[Marking, str] | None] = {first: None}
    todo, places = [first], 0
    while todo:
        state = todo.pop()
        tokens = dict(sorted(state))  # so that every run looks in one order
        asked = {one.name: one for place in tokens for one in takers[place]}
        live = [one for one in (*asked.values(), *always) if _enabled(one, tokens)]
        ended = ends and all(tokens.get(place, 0) >= number for place, number in ends.items())
        if not live and not ended:
            return Search(len(found), complete=False, way=_way(found, state),
                          waits=_waiting([*asked.values()], tokens))  # fmt: skip
        places += len(state) * (1 + len(live))
        for one in live:
            after = _fired(one, tokens)
            if after not in found:
                found[after] = (state, one.name)
                todo.append(after)
        if len(found) > MOST_MARKINGS or places > MOST_PLACES:
            return Search(min(len(found), MOST_MARKINGS), complete=False)
    return Search(len(found), complete=True)


def _takers(net: Net) -> dict[str, list[Transition]]:
    found: dict[str, list[Transition]] = defaultdict(list)
    for one in net.transitions:
        for place in one.pre:
            found[place].append(one)
    return found


def _ends(net: Net, each: Collection[str]) -> dict[str, int]:
    """Return how many tokens the places have at the end that nothing takes from."""
    taken = {place for one in net.transitions for place in one.pre}
    found: dict[str, int] = {}
    for one in net.transitions:
        for place, weight in one.post.items():
            if place not in taken:
                found[place] = found.get(place, 0) + weight if place in each else 1
    return found


def _enabled(one: Transition, tokens: dict[str, int]) -> bool:
    held = all(tokens.get(place, 0) >= weight for place, weight in one.pre.items())
    return held and all(tokens.get(place, 0) < weight for place, weight in one.inhibitor.items())


def _fired(one: Transition, tokens: dict[str, int]) -> Marking:
    after = dict(tokens)
    for arcs, sign in ((one.pre, -1), (one.post, 1)):
        for place, weight in arcs.items():
            after[place] = after.get(place, 0) + sign * weight
    return frozenset(item for item in after.items() if item[1])


def _way(found: dict[Marking, tuple[Marking, str] | None], state: Marking) -> tuple[str, ...]:
    names: list[str] = []
    while (before := found[state]) is not None:
        state, name = before
        names.append(name)
    return tuple(reversed(names))


def _waiting(asked: list[Transition], tokens: dict[str, int]) -> tuple[tuple[str, str], ...]:
    pairs = ((one, [p for p, n in one.pre.items() if tokens.get(p, 0) < n]) for one in asked)
    return tuple((one.name, missing[0]) for one, missing in pairs if missing)
