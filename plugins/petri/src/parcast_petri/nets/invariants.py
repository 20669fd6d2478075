"""What holds of a net whatever its times: invariants, bounds, and deadlocks of its structure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from math import gcd
from typing import Any

import attrs

from parcast_petri.nets.markings import Search, search_markings
from parcast_petri.nets.net import Net
from parcast_petri.nets.siphons import Halting, halting

#: Invariants of larger nets are not looked for; beyond so many on the way the search is given up.
_MOST_NODES, _MOST_ROWS = 600, 3000
Row = dict[int, int]


@attrs.frozen
class Proof:
    """What was found."""

    net: Net
    place_invariants: tuple[dict[str, int], ...] | None  #: None: not known
    transition_invariants: tuple[dict[str, int], ...] | None
    siphon: tuple[str, ...]  #: the largest set of places that stays empty once it is
    halting: Halting  #: whether it may come to a halt before its end
    search: Search | None  #: of its markings, where that leaves it open

    @property
    def bounds(self) -> dict[str, int]:
        """How many tokens a place may have at most, where an invariant says so."""
        bounds: dict[str, int] = {}
        for invariant in self.place_invariants or ():
            total = sum(self.net.initial.get(place, 0) * n for place, n in invariant.items())
            for place, weight in invariant.items():
                bounds[place] = min(bounds.get(place, total // weight), total // weight)
        return bounds

    @property
    def unbounded(self) -> tuple[str, ...]:
        """The places that no invariant bounds."""
        return tuple(place for place in self.net.places if place not in self.bounds)

    @property
    def dead_transitions(self) -> tuple[str, ...]:
        """The transitions that can never fire: they need tokens that nobody ever gives."""
        empty = set(self.siphon)
        return tuple(
            transition.name
            for transition in self.net.transitions
            if empty.intersection(transition.pre)
        )

    def as_json(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        return {
            "net": self.net.name,
            "places": len(self.net.places),
            "transitions": len(self.net.transitions),
            "place_invariants": self.place_invariants,
            "transition_invariants": self.transition_invariants,
            "bounded": not self.unbounded if self.place_invariants is not None else None,
            "bounds": self.bounds,
            "unbounded": list(self.unbounded),
            "never_fire": list(self.dead_transitions),
            "deadlock_excluded": (self.search or self.halting).excluded,
            "markings": self.search.markings if self.search else None,
            "halts_after": self.search.firing_sequence if self.search else None,
            "may_wait": [list(pair) for pair in (self.search or self.halting).waits],
        }

    def report(self) -> str:
        """Return the same for people."""
        lines = [(f"{self.net.name}: {len(self.net.places)} places, "
                 f"{len(self.net.transitions)} transitions")]  # fmt: skip
        sections = {
            "place invariants": self.place_invariants,
            "transition invariants": self.transition_invariants,
        }
        for word, rows in sections.items():
            if rows is None:
                large = len(self.net.places) + len(self.net.transitions) > _MOST_NODES
                why = f"a net of more than {_MOST_NODES:,} places and transitions"
                lines.append(f"{word}: not computed for {why}" if large else
                             f"{word}: too many to list")  # fmt: skip
                continue
            lines.append(f"{word}: {len(rows)}")
            lines += [f"  {_sum(invariant)}" for invariant in rows[:10]]
            lines += [f"  and {len(rows) - 10} more"] * (len(rows) > 10)
        if self.place_invariants is not None:
            unbounded = ", ".join(self.unbounded[:5]) + " and others" * (len(self.unbounded) > 5)
            lines.append(f"not bounded by invariants: {unbounded}" if unbounded else "bounded")
        names = ", ".join(map(repr, self.dead_transitions[:5])) + " and others" * (
            len(self.dead_transitions) > 5
        )
        lines.append(f"can never fire: {names}" if names else "no transition is found dead")
        lines.append(self._deadlock())
        return "\n".join(lines)

    def _deadlock(self) -> str:
        """Return in words whether it may come to a halt, and what was looked at."""
        if self.search is None:
            return self.halting.sentence()
        if self.search.complete or self.search.firing_sequence is not None:
            return self.search.sentence()
        takers = Counter(place for transition in self.net.transitions for place in transition.pre)
        shared = next((place for place, count in takers.items() if count > 1), None)
        choice = f"they leave open which transition takes the token in {shared!r}; "
        why = choice if shared is not None and self.halting.excluded is False else ""
        return f"{self.halting.sentence()}; {why}{self.search.sentence()}"


def _sum(invariant: dict[str, int]) -> str:
    terms = [name if n == 1 else f"{n} {name}" for name, n in invariant.items()]
    return " + ".join(terms[:8]) + (f" + {len(terms) - 8} more" if len(terms) > 8 else "")


def prove(net: Net, joins: Collection[str] = ()) -> Proof:
    """Return what the structure of a net proves, in exact integers (see `halting`)."""
    index = {place: number for number, place in enumerate(net.places)}
    by_transition: list[Row] = []
    by_place: list[Row] = [{} for _ in net.places]
    for number, transition in enumerate(net.transitions):
        row = {index[place]: by for place, by in transition.change().items()}
        by_transition.append(row)
        for place, by in row.items():
            by_place[place][number] = by
    structure = halting(net, joins)
    return Proof(
        net,
        _named(invariants(by_place, len(net.transitions)), net.places),
        _named(invariants(by_transition, len(net.places)), [t.name for t in net.transitions]),
        _empty_siphon(net),
        structure,
        None if structure.excluded else search_markings(net, joins),
    )


def _named(rows: list[Row] | None, names: Sequence[str]) -> tuple[dict[str, int], ...] | None:
    if rows is None:
        return None
    return tuple({names[at]: n for at, n in sorted(row.items())} for row in rows)


def invariants(rows: Sequence[Row], columns: int) -> list[Row] | None:
    """Return the minimal non-negative combinations of rows that are 0 in every column.

    By Farkas' elimination (Martinez & Silva, 1982); None where there are too many on the way, or
    too many rows and columns at first.
    """
    if len(rows) + columns > _MOST_NODES:
        return None
    state = [(dict(row), {number: 1}) for number, row in enumerate(rows)]
    left = set(range(columns))
    while left:
        column = min(left, key=lambda candidate: _work(state, candidate))
        left.remove(column)
        state = _eliminated(state, column)
        if len(state) > _MOST_ROWS:
            return None
    supports = [frozenset(combination) for _, combination in state]
    return [
        combination
        for (_, combination), support in zip(state, supports, strict=True)
        if not any(smaller < support for smaller in supports)
    ]


_State = list[tuple[Row, Row]]


def _work(state: _State, column: int) -> int:
    plus = sum(row.get(column, 0) > 0 for row, _ in state)
    minus = sum(row.get(column, 0) < 0 for row, _ in state)
    return plus * minus - plus - minus


def _eliminated(state: _State, column: int) -> _State:
    remaining = [entry for entry in state if not entry[0].get(column)]
    plus = [entry for entry in state if entry[0].get(column, 0) > 0]
    minus = [entry for entry in state if entry[0].get(column, 0) < 0]
    combined = []
    for up, of_up in plus:
        for down, of_down in minus:
            a, b = -down[column], up[column]
            row, of = _added(up, a, down, b), _added(of_up, a, of_down, b)
            divisor = gcd(*row.values(), *of.values())
            combined.append(({k: v // divisor for k, v in row.items()},
                         {k: v // divisor for k, v in of.items()}))  # fmt: skip
    supports = [frozenset(of) for _, of in remaining]
    for entry in sorted(combined, key=lambda entry: len(entry[1])):
        support = frozenset(entry[1])
        if len(supports) > _MOST_ROWS:
            break
        if not any(smaller <= support for smaller in supports):
            remaining.append(entry)
            supports.append(support)
    return remaining


def _added(left: Row, a: int, right: Row, b: int) -> Row:
    total = {key: a * value for key, value in left.items()}
    for key, value in right.items():
        total[key] = total.get(key, 0) + b * value
    return {key: value for key, value in total.items() if value}


def _empty_siphon(net: Net) -> tuple[str, ...]:
    """Return the places that have no token and can never get one."""
    empty = {place for place in net.places if not net.initial.get(place)}
    changed = True
    while changed:
        changed = False
        for transition in net.transitions:
            if empty.isdisjoint(transition.pre) and not empty.isdisjoint(transition.post):
                empty -= transition.post.keys()
                changed = True
    return tuple(place for place in net.places if place in empty)
