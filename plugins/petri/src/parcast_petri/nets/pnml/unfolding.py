"""High-level nets of finitely many colors as place/transition nets: a place for each color."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from xml.etree import ElementTree as ET

import attrs

from parcast.errors import FileError
from parcast_petri.nets.pnml.elements import child, is_arc, label, local
from parcast_petri.nets.pnml.sorts import DOT, Color, Declarations, Sort, structure
from parcast_petri.nets.pnml.terms import Reader, Term, Values, variables

#: Places, transitions and arcs of an unfolded net, and values of variables that are tried.
MOST_PLACES = 200_000
MOST_TRANSITIONS = 200_000
MOST_ARCS = 2_000_000
MOST_TRIED = 1_000_000

_Arcs = dict[str, dict[str, int]]


@attrs.frozen
class Arc:
    """An arc of a transition: what of it, at which place, and how many of which colors."""

    role: str  #: pre, post or inhibitor
    place: str
    term: Term
    names: set[str]


def is_colored(net: ET.Element) -> bool:
    """Whether tokens have colors: a place has a sort that is not ``dot``."""
    for place in net.iter():
        if local(place) != "place":
            continue
        sort = structure(child(place, "type"))
        if sort is not None and local(sort) != "dot" and sort.get("declaration") != "dot":
            return True
        marking = structure(child(place, "hlinitialMarking"))
        if marking is not None and any(local(node) == "all" for node in marking.iter()):
            return True
    return any(
        is_arc(arc)
        and (inscribed := structure(child(arc, "hlinscription"))) is not None
        and bool(variables(inscribed))
        for arc in net.iter()
    )


class Unfolding:
    """Places and transitions of a net whose tokens have colors.

    Raises
    ------
    FileError
        If a term is not known, or the net would be larger than the bounds above.
    """

    def __init__(self, declaring: ET.Element) -> None:
        self.declared = Declarations(declaring)
        self.reader = Reader(self.declared)
        self.sorts: dict[str, Sort] = {}
        self.names: dict[str, dict[Color, str]] = {}
        self.places: dict[str, int] = {}
        self.arcs = self.tried = 0

    def add_place(self, place: ET.Element, name: str) -> None:
        """Add a place for each color of a place's sort, with its tokens."""
        element = structure(child(place, "type"))
        if element is None and label(place, "type") not in (None, "dot"):
            raise FileError(f"place {name!r} says its sort as text only; export its structure")
        sort = DOT if element is None else self.declared.sort(element, f"of place {name!r}")
        if len(self.places) + sort.size > MOST_PLACES:
            raise FileError(
                f"place {name!r} has {sort.size:,} colors, and all places together more than "
                f"{MOST_PLACES:,}; use a smaller instance"
            )
        self.sorts[name] = sort
        labels = {color: sort.label(color) for color in sort.colors()}
        self.names[name] = (
            {0: name}
            if sort.parts is None and sort.size == 1 and sort.labels == DOT.labels
            else {color: f"{name}({text})" for color, text in labels.items()}
        )
        tokens = self._marking(place, name)
        for color, full in self.names[name].items():
            if full in self.places:
                raise FileError(f"two colors of place {name!r} are both called {full!r}")
            self.places[full] = tokens.pop(color, 0)
        if tokens:
            raise FileError(f"place {name!r} has tokens that are not of its sort {sort.name!r}")

    def _marking(self, place: ET.Element, name: str) -> dict[Color, int]:
        marking = child(place, "hlinitialMarking")
        element = structure(marking)
        if element is not None:
            try:
                return dict(self.reader.term(element).bag({}))
            except KeyError as error:
                raise FileError(f"the marking of place {name!r} has a variable {error}") from None
        text = label(place, "initialMarking") or place.get("initialMarking") or "0"
        if marking is not None or not text.isdecimal() or (
            int(text) and self.sorts[name].size != 1
        ):  # fmt: skip
            raise FileError(f"place {name!r} says no colors of its tokens; export their structure")
        return {0: int(text)} if int(text) else {}

    def arc(self, element: ET.Element, role: str, place: str, weight: Callable[[], int]) -> Arc:
        """Return an arc of a transition; ``weight`` reads one without colors."""
        inscribed = structure(child(element, "hlinscription"))
        if inscribed is not None:
            return Arc(role, place, self.reader.term(inscribed), variables(inscribed))
        if self.sorts[place].size != 1:
            raise FileError(
                f"the arc {element.get('id')!r} says no colors of the tokens of {place!r}; export "
                "its structure"
            )
        (color,), count = self.names[place], weight()
        return Arc(role, place, Term(lambda _: {color: count}), set())

    def instances(
        self, transition: ET.Element, name: str, arcs: Sequence[Arc]
    ) -> Iterator[tuple[str, _Arcs]]:
        """Yield the name and the arcs of a transition for all values of its variables."""
        condition = structure(child(transition, "condition"))
        conditions = [] if condition is None else self.reader.conditions(condition)
        names = set().union(*(arc.names for arc in arcs), *(used for used, _ in conditions))
        unknown = sorted(names - set(self.declared.variables))
        if unknown:
            raise FileError(f"transition {name!r} has an undeclared variable {unknown[0]!r}")
        order = [id_ for id_ in self.declared.variables if id_ in names]
        for values in self._values(order, conditions, name):
            result: _Arcs = {"pre": {}, "post": {}, "inhibitor": {}}
            for arc in arcs:
                self._connect(arc, values, result, name)
            text = ",".join(
                f"{self.declared.variables[id_][0]}={self.declared.variables[id_][1].label(color)}"
                for id_, color in values.items()
            )
            self.arcs += sum(map(len, result.values()))
            if self.arcs > MOST_ARCS:
                raise FileError(f"the unfolded net has more than {MOST_ARCS:,} arcs; use a smaller "
                                "instance")  # fmt: skip
            yield f"{name}({text})" if text else name, result

    def _connect(self, arc: Arc, values: Values, result: _Arcs, name: str) -> None:
        ends, places = result[arc.role], self.names[arc.place]
        try:
            bag = arc.term.bag(values)
        except FileError as error:
            raise FileError(f"transition {name!r}, place {arc.place!r}: {error}") from None
        for color, count in bag.items():
            if color not in places:
                raise FileError(
                    f"an arc of transition {name!r} has a color that is not of the sort of place "
                    f"{arc.place!r}"
                )
            full = places[color]
            if arc.role == "inhibitor":
                ends[full] = min(count, ends.get(full, count))
            elif count:
                ends[full] = ends.get(full, 0) + count

    def _values(
        self, order: list[str], conditions: list[tuple[set[str], Callable[[Values], bool]]],
        name: str,
    ) -> Iterator[Values]:  # fmt: skip
        """Yield the values of variables for which the conditions hold, each tested early."""
        tests: list[list[Callable[[Values], bool]]] = [[] for _ in range(len(order) + 1)]
        for used, holds in conditions:
            tests[max((order.index(id_) + 1 for id_ in used), default=0)].append(holds)
        values: dict[str, Color] = {}
        if not all(test(values) for test in tests[0]):
            return

        def chosen(depth: int) -> Iterator[Values]:
            if depth == len(order):
                yield dict(values)
                return
            for color in self.declared.variables[order[depth]][1].colors():
                self.tried += 1
                if self.tried > MOST_TRIED:
                    raise FileError(
                        f"transition {name!r} has too many values of its variables: more than "
                        f"{MOST_TRIED:,} are tried; use a smaller instance"
                    )
                values[order[depth]] = color
                if all(test(values) for test in tests[depth + 1]):
                    yield from chosen(depth + 1)
            values.pop(order[depth], None)

        yield from chosen(0)


def check_transitions(count: int) -> None:
    """Refuse a net that grows too large."""
    if count > MOST_TRANSITIONS:
        raise FileError(
            f"the unfolded net has more than {MOST_TRANSITIONS:,} transitions; use a smaller "
            "instance"
        )
