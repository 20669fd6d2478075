"""Colors of tokens: the sorts, constants and variables that a high-level net declares."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import product
from xml.etree import ElementTree as ET

import attrs

from parcast.errors import FileError
from parcast_petri.nets.pnml.elements import child, children, local

#: A color: its place in its sort, or those of its parts.
Color = int | tuple["Color", ...]

#: Colors of one sort, beyond which its places are too many.
MOST_COLORS = 100_000


@attrs.frozen
class Sort:
    """Finitely many colors: with labels in order, or the products of others."""

    name: str
    size: int
    #: A label for each color; () where they are numbers from ``start``
    labels: tuple[str, ...] = ()
    parts: tuple[Sort, ...] | None = None
    start: int = 0

    def colors(self) -> Iterator[Color]:
        """Yield every color, in order.

        Raises
        ------
        FileError
            If they are more than `MOST_COLORS`.
        """
        if self.size > MOST_COLORS:
            raise FileError(
                f"the sort {self.name!r} has {self.size:,} colors, and {MOST_COLORS:,} are the "
                "most that are unfolded; use a smaller instance"
            )
        if self.parts is None:
            yield from range(self.size)
        else:
            yield from product(*(part.colors() for part in self.parts))

    def label(self, color: Color) -> str:
        """Return how a color is written."""
        if isinstance(color, tuple):
            return ",".join(p.label(c) for p, c in zip(self.parts or (), color, strict=True))
        return self.labels[color] if self.labels else str(self.start + color)


_DECLARED = ("namedsort", "partition", "variabledecl", "namedoperator", "arbitraryoperator",
             "arbitrarysort")  # fmt: skip
DOT = Sort("dot", 1, ("dot",))
_BUILT_IN = {"dot": DOT, "bool": Sort("bool", 2, ("false", "true"))}


@attrs.frozen
class Constant:
    """A color that has a name."""

    sort: Sort
    color: Color


@attrs.frozen
class Partition:
    """Which of its elements each color of a sort is in."""

    sort: Sort
    element: Mapping[Color, int]


class Declarations:
    """What a net declares, by id.

    Raises
    ------
    FileError
        If a sort is not finite or not known, or an id is declared twice.
    """

    def __init__(self, net: ET.Element) -> None:
        self.elements: dict[str, ET.Element] = {}
        self.sorts: dict[str, Sort] = {}
        self.constants: dict[str, Constant] = {}
        self.variables: dict[str, tuple[str, Sort]] = {}
        self.partitions: dict[str, Partition] = {}
        self._open: set[str] = set()
        for element in (node for outer in net.iter() if local(outer) == "declaration"
                    for node in outer.iter() if local(node) in _DECLARED):  # fmt: skip
            id_ = element.get("id", "")
            if id_ in self.elements:
                raise FileError(f"there are two declarations of id {id_!r}")
            self.elements[id_] = element
        for id_, element in self.elements.items():
            match local(element):
                case "namedsort":
                    self.sort_of(id_)
                case "partition":
                    self._partition(id_, element)
                case "variabledecl":
                    self.variables[id_] = (element.get("name") or id_, self._only(element))
                case "namedoperator" | "arbitraryoperator" | "arbitrarysort" as tag:
                    raise FileError(f"<{tag}> {id_!r} is not read; write it out where it is used")

    def sort_of(self, id_: str) -> Sort:
        """Return a declared sort."""
        if id_ in self.sorts:
            return self.sorts[id_]
        element = self.elements.get(id_)
        if element is None or local(element) not in ("namedsort", "partition"):
            if id_ in _BUILT_IN:
                return _BUILT_IN[id_]
            raise FileError(f"the sort {id_!r} is not declared; declare it")
        if id_ in self._open:
            raise FileError(f"the sort {id_!r} is made of itself")
        self._open.add(id_)
        sort = self._only(element)
        self._open.discard(id_)
        self.sorts[id_] = sort
        return sort

    def _only(self, owner: ET.Element) -> Sort:
        inside = [node for node in owner if local(node) != "partitionelement"]
        if not inside:
            raise FileError(f"{local(owner)} {owner.get('id')!r} has no sort")
        return self.sort(inside[0], owner.get("id") or "")

    def sort(self, element: ET.Element, name: str = "") -> Sort:
        """Return the sort that an element says."""
        match local(element):
            case "usersort":
                return self.sort_of(element.get("declaration", ""))
            case "dot" | "bool" as word:
                return _BUILT_IN[word]
            case "cyclicenumeration" | "finiteenumeration":
                return self._enumeration(element, name)
            case "finiteintrange":
                return range_of(element, name)
            case "productsort":
                parts = tuple(self.sort(part, name) for part in element)
                if len(parts) == 1:
                    return parts[0]
                return Sort(name, math.prod(part.size for part in parts), parts=parts)
            case other:
                raise FileError(
                    f"the sort {name!r} is <{other}>, which is not finite or not known; finite and "
                    "cyclic enumerations, ranges, products and dots are read"
                )

    def _enumeration(self, element: ET.Element, name: str) -> Sort:
        named = list(children(element, "feconstant"))
        labels = [node.get("name") or node.get("id") or "" for node in named]
        if len(set(labels)) != len(labels):
            labels = [node.get("id") or "" for node in named]
        sort = Sort(name, len(named), tuple(labels))
        for index, node in enumerate(named):
            id_ = node.get("id", "")
            if id_ in self.constants:
                raise FileError(f"there are two constants of id {id_!r}")
            self.constants[id_] = Constant(sort, index)
        return sort

    def _partition(self, id_: str, element: ET.Element) -> None:
        sort, inside = self._only(element), {}
        for index, part in enumerate(children(element, "partitionelement")):
            names = Sort(id_, index + 1)
            self.constants[part.get("id", "")] = Constant(names, index)
            for node in part.iter():
                if local(node) == "useroperator":
                    constant = self.constants.get(node.get("declaration", ""))
                    if constant is None:
                        raise FileError(f"the partition {id_!r} has an element that is no constant")
                    inside[constant.color] = index
        self.partitions[id_] = Partition(sort, inside)


def range_of(element: ET.Element, name: str = "") -> Sort:
    """Return a range of whole numbers."""
    try:
        start, end = (int(element.get(key, "")) for key in ("start", "end"))
    except ValueError:
        raise FileError(f"the range {name!r} needs whole numbers, start and end") from None
    if end < start:
        raise FileError(f"the range {name!r} ends before it starts; exchange {start} and {end}")
    return Sort(name, end - start + 1, start=start)


def structure(element: ET.Element | None) -> ET.Element | None:
    """Return what stands in an element's <structure>, None where there is none."""
    inside = None if element is None else child(element, "structure")
    return None if inside is None or len(inside) == 0 else inside[0]
