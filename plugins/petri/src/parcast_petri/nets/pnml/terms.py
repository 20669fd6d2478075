"""Terms over colors: inscriptions as bags of colors, and conditions, by the values of variables."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from itertools import product
from xml.etree import ElementTree as ET

import attrs

from parcast.errors import FileError
from parcast_petri.nets.pnml.elements import children, local
from parcast_petri.nets.pnml.sorts import DOT, Color, Declarations, Sort, range_of

#: Colors in all bags that are made of inscriptions
MOST_COUNTED = 10_000_000

#: Values of variables by their ids.
Values = Mapping[str, Color]
Bag = dict[Color, int]

_COMPARED: Mapping[str, Callable[[Color, Color], bool]] = {
    "equality": operator.eq, "inequality": operator.ne,
    "lessthan": operator.lt, "lessthanorequal": operator.le,
    "greaterthan": operator.gt, "greaterthanorequal": operator.ge,
    "lt": operator.lt, "leq": operator.le, "gt": operator.gt, "geq": operator.ge,
    "ltp": operator.lt, "gtp": operator.gt,
}  # fmt: skip


@attrs.frozen
class Term:
    """A color, or a bag of them, by the values of variables."""

    bag: Callable[[Values], Bag]
    #: None where it is a bag
    color: Callable[[Values], Color] | None = None
    sort: Sort | None = None


def variables(element: ET.Element) -> set[str]:
    """Return the ids of the variables in a term."""
    return {node.get("refvariable", "") for node in element.iter() if local(node) == "variable"}


def _operands(element: ET.Element) -> list[ET.Element]:
    inner = [list(node) for node in children(element, "subterm")]
    if any(len(nodes) != 1 for nodes in inner):
        raise FileError(f"a <subterm> in <{local(element)}> has no single term")
    return [nodes[0] for nodes in inner]


def _single(color: Callable[[Values], Color], sort: Sort | None) -> Term:
    return Term(lambda values: {color(values): 1}, color, sort)


def _constant(value: Color, sort: Sort | None) -> Term:
    return _single(lambda _: value, sort)


class Reader:
    """Reads terms over what a net declares.

    Raises
    ------
    FileError
        If a term is not known, or names what is not declared; the element is named.
    """

    def __init__(self, declared: Declarations) -> None:
        self.declared = declared
        self.counted = 0
        self._every: dict[Sort, Bag] = {}

    def _count(self, colors: int) -> None:
        """Count colors that are put into bags, and refuse too many."""
        self.counted += colors
        if self.counted > MOST_COUNTED:
            raise FileError(
                f"bags of colors have more than {MOST_COUNTED:,} entries; use a smaller instance"
            )

    def term(self, element: ET.Element) -> Term:
        """Return a term."""
        tag = local(element)
        read = getattr(self, f"_{tag}", None)
        if read is None:
            raise FileError(f"<{tag}> in a term of colors is not read; write it in another way")
        result: Term = read(element)
        return result

    def _variable(self, element: ET.Element) -> Term:
        id_ = element.get("refvariable", "")
        if id_ not in self.declared.variables:
            raise FileError(f"the variable {id_!r} is not declared")
        return _single(lambda values: values[id_], self.declared.variables[id_][1])

    def _useroperator(self, element: ET.Element) -> Term:
        id_ = element.get("declaration", "")
        if id_ not in self.declared.constants and id_ == "dot":  # TAPAAL
            return _constant(0, DOT)
        if id_ not in self.declared.constants:
            raise FileError(f"the constant {id_!r} is not declared")
        constant = self.declared.constants[id_]
        return _constant(constant.color, constant.sort)

    def _dotconstant(self, _element: ET.Element) -> Term:
        return _constant(0, DOT)

    def _booleanconstant(self, element: ET.Element) -> Term:
        return _constant(
            int(element.get("value", "false") == "true"), self.declared.sort_of("bool")
        )

    def _finiteintrangeconstant(self, element: ET.Element) -> Term:
        if len(element) != 1:
            raise FileError("a <finiteintrangeconstant> has no range")
        sort = range_of(element[0], "of a constant")
        value = whole(element.get("value"), "a constant of a range") - sort.start
        if not 0 <= value < sort.size:
            raise FileError(f"the constant {value + sort.start} lies outside of its range")
        return _constant(value, sort)

    def _tuple(self, element: ET.Element) -> Term:
        parts = [self.term(part) for part in _operands(element)]
        if len(parts) == 1:
            return parts[0]
        colors = [part.color for part in parts]
        known = [part.sort for part in parts if part.sort is not None]
        sort = Sort("", 0, parts=tuple(known)) if len(known) == len(parts) else None
        if all(color is not None for color in colors):
            chosen = [color for color in colors if color is not None]
            return _single(lambda values: tuple(color(values) for color in chosen), sort)

        def bag(values: Values) -> Bag:
            result: Bag = {}
            inside = [part.bag(values) for part in parts]
            self._count(math.prod(map(len, inside)))
            for row in product(*(operand.items() for operand in inside)):
                count = 1
                for _, times in row:
                    count *= times
                key = tuple(color for color, _ in row)
                result[key] = result.get(key, 0) + count
            return result

        return Term(bag)

    def _successor(self, element: ET.Element) -> Term:
        return self._stepped(element, 1)

    def _predecessor(self, element: ET.Element) -> Term:
        return self._stepped(element, -1)

    def _stepped(self, element: ET.Element, step: int) -> Term:
        operands = _operands(element)
        if len(operands) != 1:
            raise FileError(f"<{local(element)}> needs one color")
        inner = self.term(operands[0])
        sort = inner.sort
        if sort is None or sort.parts is not None:
            raise FileError(f"<{local(element)}> is of no color of an enumeration")
        size, color, bag = sort.size, inner.color, inner.bag

        def after(value: Color) -> Color:
            assert isinstance(value, int)
            return (value + step) % size

        if color is None:
            return Term(lambda values: {after(c): n for c, n in bag(values).items()}, None, sort)
        return _single(lambda values: after(color(values)), sort)

    def _all(self, element: ET.Element) -> Term:
        if len(element) != 1:
            raise FileError("an <all> has no sort")
        sort = self.declared.sort(element[0])
        if sort not in self._every:
            self._every[sort] = dict.fromkeys(sort.colors(), 1)
        whole_bag = self._every[sort]

        def bag(_: Values) -> Bag:
            self._count(len(whole_bag))
            return dict(whole_bag)

        return Term(bag, None, sort)

    def _empty(self, _element: ET.Element) -> Term:
        return Term(lambda _: {})

    def _numberof(self, element: ET.Element) -> Term:
        return self._scaled(element)

    def _scalarproduct(self, element: ET.Element) -> Term:
        return self._scaled(element)

    def _scaled(self, element: ET.Element) -> Term:
        parts = _operands(element)
        if len(parts) == 2 and local(parts[0]) == "numberconstant":
            count = whole(parts[0].get("value"), "a number of tokens")
        elif len(parts) == 1:
            count, parts = 1, [parts[0], parts[0]]
        else:
            raise FileError(f"<{local(element)}> needs a <numberconstant> and a term")
        inner = self.term(parts[1])
        if count == 1:
            return Term(inner.bag, None, inner.sort)
        return Term(
            lambda values: {color: count * n for color, n in inner.bag(values).items()},
            None,
            inner.sort,
        )

    def _add(self, element: ET.Element) -> Term:
        return self._summed(element, 1)

    def _subtract(self, element: ET.Element) -> Term:
        return self._summed(element, -1)

    def _summed(self, element: ET.Element, sign: int) -> Term:
        parts = [self.term(operand) for operand in _operands(element)]
        bags = [part.bag for part in parts]

        def bag(values: Values) -> Bag:
            result: Bag = {}
            for position, operand in enumerate(bags):
                factor = sign if position else 1
                added = operand(values)
                self._count(len(added))
                for color, count in added.items():
                    result[color] = result.get(color, 0) + factor * count
            if any(count < 0 for count in result.values()):
                raise FileError(
                    "an inscription subtracts more tokens than there are, on which tools differ; "
                    "add a condition"
                )
            return {color: count for color, count in result.items() if count}

        return Term(bag, None, parts[0].sort if parts else None)

    def _partitionelementof(self, element: ET.Element) -> Term:
        id_ = element.get("refpartition", "")
        if id_ not in self.declared.partitions:
            raise FileError(f"the partition {id_!r} is not declared")
        inside = self.declared.partitions[id_].element
        inner = self._color(_operands(element)[0])
        return _single(lambda values: inside.get(inner(values), -1), None)

    def _color(self, element: ET.Element) -> Callable[[Values], Color]:
        color = self.term(element).color
        if color is None:
            raise FileError(f"<{local(element)}> is a bag of colors where one color is compared")
        return color

    def conditions(self, element: ET.Element) -> list[tuple[set[str], Callable[[Values], bool]]]:
        """Return what must hold, each with the variables that it looks at."""
        if local(element) == "and":
            return [each for part in _operands(element) for each in self.conditions(part)]
        return [(variables(element), self._holds(element))]

    def _holds(self, element: ET.Element) -> Callable[[Values], bool]:
        tag, parts = local(element), _operands(element)
        if tag == "booleanconstant":
            value = element.get("value") == "true"
            return lambda _: value
        if tag in ("and", "or"):
            inner = [self._holds(part) for part in parts]
            join = all if tag == "and" else any
            return lambda values: join(operand(values) for operand in inner)
        if tag == "not" and len(parts) == 1:
            (only,) = (self._holds(part) for part in parts)
            return lambda values: not only(values)
        if tag == "imply" and len(parts) == 2:
            cause, effect = (self._holds(part) for part in parts)
            return lambda values: not cause(values) or effect(values)
        if tag in _COMPARED and len(parts) == 2:
            first, second = (self.term(part) for part in parts)
            left, right, compare = self._color(parts[0]), self._color(parts[1]), _COMPARED[tag]
            _check_alike(first, second, tag)
            shift = (first.sort.start if first.sort else 0) - (
                second.sort.start if second.sort else 0
            )
            if shift:
                return lambda values: compare(left(values) + shift, right(values))  # type: ignore[operator]
            return lambda values: compare(left(values), right(values))
        raise FileError(f"<{tag}> in a condition of colors is not read; write it in another way")


def _check_alike(first: Term, second: Term, tag: str) -> None:
    sort, other = first.sort, second.sort
    if sort is None or other is None or sort == other or sort.parts or other.parts:
        return
    if sort.labels or other.labels:
        raise FileError(
            f"<{tag}> compares colors of the sorts {sort.name!r} and {other.name!r}; use one sort"
        )


def whole(text: str | None, role: str) -> int:
    """Return a whole number of 0 or more that digits spell."""
    if text is None or not text.strip().isdecimal() or len(text) > 18:
        raise FileError(f"{role} is {(text or '')[:20]!r}; give a whole number, 0 or more")
    return int(text)
