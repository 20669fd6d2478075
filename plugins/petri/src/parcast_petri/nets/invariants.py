"""What holds of a net whatever its times: invariants, bounds, and deadlocks of its structure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from math import gcd
from typing import Any

import attrs

from parcast_petri.nets.markings import Search, searched
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
        found: dict[str, int] = {}
        for invariant in self.place_invariants or ():
            total = sum(self.net.initial.get(place, 0) * n for place, n in invariant.items())
            for place, weight in invariant.items():
                found[place] = min(found.get(place, total // weight), total // weight)
        return found

    @property
    def unbounded(self) -> tuple[str, ...]:
        """The places that no invariant bounds."""
        return tuple(place for place in self.net.places if place not in self.bounds)

    @property
    def unfed(self) -> tuple[str, ...]:
        """The transitions that can never fire: they need tokens that nobody ever gives."""
        empty = set(self.siphon)
        return tuple(one.name for one in self.net.transitions if empty.intersection(one.pre))

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
            "never_fire": list(self.unfed),
            "deadlock_excluded": (self.search or self.halting).excluded,
            "markings": self.search.markings if self.search else None,
            "halts_after": self.search.way if self.search else None,
            "may_wait": [list(pair) for pair in (self.search or self.halting).waits],
        }

    def report(self) -> str:
        """Return the same for people."""
        lines = [(f"{self.net.name}: {len(self.net.places)} places, "
                 f"{len(self.net.transitions)} transitions")]  # fmt: skip
        listed = {
            "places keep": self.place_invariants,
            "transitions repeat": self.transition_invariants,
        }
        for word, found in listed.items():
            if found is None:
                large = len(self.net.places) + len(self.net.transitions) > _MOST_NODES
                why = f"a net of more than {_MOST_NODES:,} places and transitions"
                lines.append(f"{word}: not looked for in {why}" if large else
                             f"{word}: too many invariants to list")  # fmt: skip
                continue
            lines.append(f"{word}: {len(found)} invariant{'s' * (len(found) != 1)}")
            lines += [f"  {_sum(one)}" for one in found[:10]]
            lines += [f"  and {len(found) - 10} more"] * (len(found) > 10)
        if self.place_invariants is not None:
            some = ", ".join(self.unbounded[:5]) + " and others" * (len(self.unbounded) > 5)
            lines.append(f"not bounded by invariants: {some}" if some else "bounded")
        names = ", ".join(map(repr, self.unfed[:5])) + " and others" * (len(self.unfed) > 5)
        lines.append(f"can never fire: {names}" if names else "every transition may get its tokens")
        lines.append(self._deadlock())
        return "\n".join(lines)

    def _deadlock(self) -> str:
        """Return in words whether it may come to a halt, and what was looked at."""
        if self.search is None:
            return self.halting.sentence()
        if self.search.complete or self.search.way is not None:
            return self.search.sentence()
        takers = Counter(place for one in self.net.transitions for place in one.pre)
        several = next((place for place, count in takers.items() if count > 1), None)
        open_ = f"who takes the token in {several!r}, as several may, is open to them; "
        why = open_ if several is not None and self.halting.excluded is False else ""
        return f"{self.halting.sentence()}; {why}{self.search.sentence()}"


def _sum(invariant: dict[str, int]) -> str:
    terms = [name if n == 1 else f"{n} {name}" for name, n in invariant.items()]
    return " + ".join(terms[:8]) + (f" + {len(terms) - 8} more" if len(terms) > 8 else "")


def prove(net: Net, each: Collection[str] = ()) -> Proof:
    """Return what the structure of a net proves, in exact integers (see `halting`)."""
    index = {place: number for number, place in enumerate(net.places)}
    by_transition: list[Row] = []
    by_place: list[Row] = [{} for _ in net.places]
    for number, one in enumerate(net.transitions):
        change = {index[p]: one.post.get(p, 0) - one.pre.get(p, 0) for p in {**one.pre, **one.post}}
        row = {place: by for place, by in change.items() if by}
        by_transition.append(row)
        for place, by in row.items():
            by_place[place][number] = by
    structure = halting(net, each)
    return Proof(
        net,
        _named(invariants(by_place, len(net.transitions)), net.places),
        _named(invariants(by_transition, len(net.places)), [one.name for one in net.transitions]),
        _empty_siphon(net),
        structure,
        None if structure.excluded else searched(net, each),
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
        column = min(left, key=lambda one: _work(state, one))
        left.remove(column)
        state = _eliminated(state, column)
        if len(state) > _MOST_ROWS:
            return None
    supports = [frozenset(made) for _, made in state]
    return [
        made
        for (_, made), support in zip(state, supports, strict=True)
        if not any(other < support for other in supports)
    ]


_State = list[tuple[Row, Row]]


def _work(state: _State, column: int) -> int:
    plus = sum(row.get(column, 0) > 0 for row, _ in state)
    minus = sum(row.get(column, 0) < 0 for row, _ in state)
    return plus * minus - plus - minus


def _eliminated(state: _State, column: int) -> _State:
    kept = [one for one in state if not one[0].get(column)]
    plus = [one for one in state if one[0].get(column, 0) > 0]
    minus = [one for one in state if one[0].get(column, 0) < 0]
    made = []
    for up, of_up in plus:
        for down, of_down in minus:
            a, b = -down[column], up[column]
            row, of = _added(up, a, down, b), _added(of_up, a, of_down, b)
            divisor = gcd(*row.values(), *of.values())
            made.append(({k: v // divisor for k, v in row.items()},
                         {k: v // divisor for k, v in of.items()}))  # fmt: skip
    supports = [frozenset(of) for _, of in kept]
    for one in sorted(made, key=lambda one: len(one[1])):
        support = frozenset(one[1])
        if len(supports) > _MOST_ROWS:
            break
        if not any(other <= support for other in supports):
            kept.append(one)
            supports.append(support)
    return kept


def _added(one: Row, a: int, other: Row, b: int) -> Row:
    total = {key: a * value for key, value in one.items()}
    for key, value in other.items():
        total[key] = total.get(key, 0) + b * value
    return {key: value for key, value in total.items() if value}


def _empty_siphon(net: Net) -> tuple[str, ...]:
    """Return the places that have no token and can never get one."""
    empty = {place for place in net.places if not net.initial.get(place)}
    changed = True
    while changed:
        changed = False
        for one in net.transitions:
            if empty.isdisjoint(one.pre) and not empty.isdisjoint(one.post):
                empty -= one.post.keys()
                changed = True
    return tuple(place for place in net.places if place in empty)
