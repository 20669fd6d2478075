"""Whether a net can come to a halt before its end, by its structure: siphons and traps.

Where nothing is enabled, the empty places are a siphon with an input of every transition, and they
hold no trap that had a token at first, as a trap never loses its last one (Commoner, 1972; Murata,
1989, section V). `halting` reasons about that siphon until it is found impossible.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection

import attrs

from parcast_petri.nets.net import Net, Transition

#: Larger nets are not looked at; in those beyond ``_FEW`` places not every place is tried.
_MOST_TRANSITIONS, _FEW = 20_000, 1000


@attrs.frozen
class Halting:
    """What is known of markings in which a net halts before its end."""

    excluded: bool | None  #: None: it was not asked, for this reason
    reason: str = ""
    #: Where it is not excluded, who may wait for which place
    waits: tuple[tuple[str, str], ...] = ()

    def sentence(self) -> str:
        """Return the same in words."""
        if self.excluded is None:
            return f"siphons and traps do not apply, because of {self.reason}"
        if self.excluded:
            return "no deadlock: no siphon can run dry before the end"
        pairs = ", ".join(f"{name!r} for {place!r}" for name, place in self.waits[:5])
        ellipsis = " and others" * (len(self.waits) > 5)
        waiting = f": {pairs}{ellipsis} may wait for ever" if pairs else ""
        return f"a deadlock is not excluded by siphons and traps{waiting}"


def halting(net: Net, joins: Collection[str] = ()) -> Halting:
    """Return whether a net may halt while a place that nothing takes from has no token.

    Parameters
    ----------
    net
        The net.
    joins
        Places that are to get a token from every transition that feeds them.
    """
    arcs = [
        weight
        for transition in net.transitions
        for weight in (*transition.pre.values(), *transition.post.values())
    ]
    if any(weight > 1 for weight in arcs):
        return Halting(None, "arcs of weight 2 and more")
    if any(transition.inhibitor for transition in net.transitions):
        return Halting(None, "inhibitor arcs")
    if any(not transition.pre for transition in net.transitions):
        return Halting(excluded=True)
    if len(net.transitions) > _MOST_TRANSITIONS:
        return Halting(None, f"{len(net.transitions):,} transitions are too many")
    return _Siphon(net, frozenset(joins)).conclude()


class _Siphon:
    """The empty places of a halt: those that are surely among them, and those that are not."""

    def __init__(self, net: Net, joins: frozenset[str]) -> None:
        self.names = [transition.name for transition in net.transitions]
        self.pre = [{*transition.pre} for transition in net.transitions]
        self.post = [_apart(transition, joins) for transition in net.transitions]
        inputs = net.inputs()
        ends = {place for post in self.post for place in post} - inputs
        if ends:  # the end goes on for ever, so that it is no halt
            self.names.append("")
            self.pre.append(ends)
            self.post.append(ends)
        self.takers, self.givers = defaultdict(list), defaultdict(list)
        for at, (pre, post) in enumerate(zip(self.pre, self.post, strict=True)):
            for place in pre:
                self.takers[place].append(at)
            for place in post:
                self.givers[place].append(at)
        self.within: set[str] = set()
        self.outside: set[str] = set()
        #: In no trap of empty places
        self.loose = {place for place, tokens in net.initial.items() if tokens}
        self.passed: set[int] = set()
        small = len(self.takers) <= _FEW
        self.tried = [*self.takers] if small else [*self.loose & inputs, *ends]

    def conclude(self) -> Halting:
        while True:
            if self._impossible():
                return Halting(excluded=True)
            excluded = {
                place
                for place in self.tried
                if place not in self.within | self.outside
                and self._trap({*self.within, place}) & self.loose
            }
            if not excluded:
                return Halting(excluded=False, waits=self._waits())
            self.outside |= excluded

    def _impossible(self) -> bool:
        """Draw conclusions; tell whether they contradict each other."""
        grew = True
        while grew:
            grew = False
            for at, pre in enumerate(self.pre):
                left = pre - self.outside
                if not left:
                    return True
                if len(left) == 1 and not left <= self.within:
                    self.within |= left
                    grew = True
                loose = all(place in self.loose and len(self.takers[place]) == 1 for place in left)
                if at not in self.passed and loose:
                    self.passed.add(at)
                    self.loose |= self.post[at]
                    grew = True
        return bool(self._trap(self.within) & self.loose)

    def _trap(self, places: set[str]) -> set[str]:
        """Return the largest trap in some places."""
        trap = set(places)
        takers = {at for place in trap for at in self.takers[place]}
        outputs_in_trap = {at: len(self.post[at] & trap) for at in takers}
        dry = [at for at, number in outputs_in_trap.items() if not number]
        while dry:
            for place in self.pre[dry.pop()] & trap:
                trap.remove(place)
                for at in self.givers[place]:
                    if at in outputs_in_trap:
                        outputs_in_trap[at] -= 1
                        if not outputs_in_trap[at]:
                            dry.append(at)
        return trap

    def _waits(self) -> tuple[tuple[str, str], ...]:
        waits = []
        for name, pre in zip(self.names, self.pre, strict=True):
            missing = sorted(pre - self.loose)
            if name and missing and pre & self.loose:
                waits.append((name, missing[0]))
        return tuple(waits)


def _apart(transition: Transition, joins: frozenset[str]) -> set[str]:
    """Return what a transition gives tokens to, some places apart from those of others."""
    return {
        f"{place} of {transition.name}" if place in joins else place for place in transition.post
    }
