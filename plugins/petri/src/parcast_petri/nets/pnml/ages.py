"""Ages of tokens as TAPAAL writes them: kept where each token leaves its place at one age.

A place with the invariant ``<= d`` whose tokens one transition takes, alone, from the age d on, is
a delay of d with a server for each token. Other ages let a net choose when to go on, which is no
single time and no law.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any
from xml.etree import ElementTree as ET

import attrs

from parcast.errors import FileError
from parcast_petri.nets.pnml.elements import label

_INTERVAL = re.compile(r"([\[(])([^,]+),([^,\])]+)([\])])(?::\d+)?")
_INVARIANT = re.compile(r"(<=?)(.+)")
_ENDLESS = {"inf", "infinity"}


@attrs.frozen
class Interval:
    """The ages at which an arc takes tokens."""

    text: str
    least: Fraction
    most: Fraction | None  #: None: any
    closed: tuple[bool, bool]  #: whether ``least`` and ``most`` belong to it


@attrs.define
class Ages:
    """What a file says of the ages of its tokens."""

    constants: Mapping[str, str]
    invariants: dict[str, str] = attrs.field(factory=dict)  #: by place
    guards: dict[tuple[str, str], Interval] = attrs.field(factory=dict)  #: by place, transition
    transported: set[str] = attrs.field(factory=set)  #: places where tokens keep their ages

    def add_place(self, place: ET.Element, name: str) -> None:
        """Note the invariant of a place."""
        text = re.sub(r"\s", "", place.get("invariant", ""))
        if text not in ("", "<inf", "&lt;inf"):
            self.invariants[name] = text

    def add_arc(self, arc: ET.Element, key: str, place: str, transition: str, role: str) -> None:
        """Note the ages that an arc takes, or that it keeps."""
        if key == "post":
            if (label(arc, "arctype") or arc.get("type")) == "transport":
                self.transported.add(place)
            return
        text = re.sub(r"\s", "", label(arc, "inscription") or arc.get("inscription") or "")
        if not text.startswith(("[", "(")):
            return
        parts = _INTERVAL.fullmatch(text)
        if parts is None:
            raise FileError(f"{role} is {text!r}; an interval of ages is as [2,5)")
        interval = Interval(
            text.partition(":")[0],
            self._number(parts[2], role),
            None if parts[3] in _ENDLESS else self._number(parts[3], role),
            (parts[1] == "[", parts[4] == "]"),
        )
        if interval.most is not None and (
            interval.most < interval.least
            or (interval.most == interval.least and interval.closed != (True, True))
        ):
            raise FileError(f"{role} is {text!r}, which no age is in; mend it")
        if interval.least or interval.most is not None or not interval.closed[0]:
            if key == "inhibitor":
                raise FileError(f"{role} is {text!r}, ages that inhibit, which would be lost")
            self.guards[place, transition] = interval

    def refuse(self) -> None:
        """Refuse ages, which tokens of colors have of their own."""
        for place in self.invariants:
            raise FileError(f"place {place!r} has an invariant of ages, which would be lost")
        for (place, _), guard in self.guards.items():
            raise FileError(
                f"tokens of place {place!r} are taken at ages {guard.text}, which would be lost"
            )

    def set_delays(self, transitions: Mapping[str, dict[str, Any]]) -> bool:
        """Set the delays that ages are; tell whether there are any.

        Raises
        ------
        FileError
            If tokens may leave their place at more than one age, or may have to and cannot.
        """
        aged = list(dict.fromkeys([*self.invariants, *(place for place, _ in self.guards)]))
        for place in aged:
            takers = [t for t in transitions.values() if place in t.get("pre", {})]
            self._check_takers(place, takers)
            (taker,) = takers
            age = self._age(place, taker["name"])
            if age:
                taker["delay"] = str(age)
                taker["servers"] = "infinite"
        return bool(aged)

    def _check_takers(self, place: str, takers: Sequence[Mapping[str, Any]]) -> None:
        if len(takers) != 1:
            raise FileError(
                f"place {place!r} has tokens with ages and {len(takers)} transitions take them; "
                "known is one that takes them at one age"
            )
        (taker,) = takers
        if len(taker["pre"]) != 1 or taker["pre"][place] != 1 or taker.get("inhibitor"):
            raise FileError(
                f"tokens of place {place!r} have ages, and transition {taker['name']!r} waits for "
                "more than one of them, so that the age at which it fires is not known"
            )
        if taker.keys() & {"delay", "kind"}:
            raise FileError(
                f"transition {taker['name']!r} has a time of its own, and tokens of place "
                f"{place!r} have ages; keep one"
            )
        if place in self.transported:
            raise FileError(f"a transport arc keeps the ages of tokens to place {place!r}, where "
                            "they count; they would be lost")  # fmt: skip

    def _age(self, place: str, transition: str) -> Fraction:
        """Return the one age at which tokens leave a place."""
        guard = self.guards.get(
            (place, transition), Interval("[0,inf)", Fraction(0), None, (True, False))
        )
        stated = self.invariants.get(place)
        parts = None if stated is None else _INVARIANT.fullmatch(stated.replace("&lt;", "<"))
        if stated is None or parts is None:
            raise FileError(
                f"tokens of place {place!r} are taken at ages {guard.text} and need not be taken "
                "at all, which is no single time; add an invariant"
            )
        most = self._number(parts[2], f"the invariant of place {place!r}")
        if parts[1] != "<=" or not guard.closed[0] or guard.least != most:
            raise FileError(
                f"tokens of place {place!r} leave it at ages {guard.text} with the invariant "
                f"{stated!r}, which is no single time and no law; make it a point"
            )
        return most

    def _number(self, text: str, role: str) -> Fraction:
        try:
            return Fraction(self.constants.get(text, text))
        except (ValueError, ZeroDivisionError):
            raise FileError(f"{role}: {text!r} is no number and no constant of the file") from None
