"""Units of expressions: what is plainly wrong is refused, what is unknown may be anything."""

from __future__ import annotations

from collections.abc import Mapping

from parcast_pamela.errors import ModelError
from parcast_pamela.language.model import Model
from parcast_pamela.language.tree import (
    Apply,
    Call,
    Delay,
    Equation,
    Expression,
    If,
    Item,
    Listing,
    Loop,
    Multiplicity,
    Name,
    Number,
    Parallel,
    Parameter,
    Place,
    Process,
    Reduce,
    Sequence,
    Use,
)
from parcast_pamela.language.units import TYPES, Dimension, product, words

#: None is a number that may stand for anything, such as a literal without a unit
Known = Dimension | None

_TIME: Dimension = (("time", 1),)
_SAME = {"+", "-", "min", "max", "<", "<=", ">", ">=", "==", "!=", "mod"}
_PLAIN = {"log", "log2", "exp", "gcd", "lcm"}


def check_types(model: Model) -> None:
    """Refuse sums of different dimensions, and uses and delays that are no times.

    Raises
    ------
    ModelError
        With the place and both dimensions.
    """
    checker = _Checker(model)
    for parameter in model.parameters.values():
        checker.parameter(parameter)
    for assumption in model.assumptions:
        checker.of(assumption.condition, {})
    checker.equation(model.equations[model.root], ())


class _Checker:
    def __init__(self, model: Model) -> None:
        self.model = model
        self.done: set[tuple[str, tuple[Known, ...]]] = set()
        self.lets: dict[tuple[str, tuple[Known, ...]], Known] = {}

    def parameter(self, parameter: Parameter) -> None:
        wanted = TYPES[parameter.type]
        default = parameter.default
        values = default.items if isinstance(default, Listing) else (default,)
        for one in (parameter.low, parameter.high, *values):
            found = self.of(one, {}) if one is not None else None
            if wanted and found:
                self._join(wanted, found, one.place, f"{parameter.name} is declared as")

    def equation(self, equation: Equation, arguments: tuple[Known, ...]) -> None:
        key = equation.name, arguments
        if key not in self.done:
            self.done.add(key)
            self.process(equation.body, dict(zip(equation.formals, arguments, strict=True)))

    def process(self, node: Process, local: Mapping[str, Known]) -> None:
        match node:
            case Use() | Delay():
                found = self.of(node.time, local)
                if found is not None and found != _TIME:
                    verb = "use" if isinstance(node, Use) else "delay"
                    raise ModelError(
                        f"{verb} takes a time; this is {words(found)}",
                        node.time.place or node.place,
                    )
                for one in getattr(node, "indices", ()):
                    self.of(one, local)
            case Sequence() | Parallel():
                for part in node.parts:
                    self.process(part, local)
            case Loop():
                self.of(node.first, local)
                self.of(node.last, local)
                self.process(node.body, {**local, node.index: None})
            case If():
                self.of(node.condition, local)
                self.process(node.then, local)
                self.process(node.other, local)
            case Call():
                arguments = tuple(self.of(one, local) for one in node.arguments)
                if node.name in self.model.equations:
                    self.equation(self.model.equations[node.name], arguments)

    def of(self, node: Expression, local: Mapping[str, Known]) -> Known:
        """Return the dimension of an expression."""
        match node:
            case Number():
                return node.dimension or None
            case Name():
                return self._name(node, local)
            case Item():
                return TYPES[self.model.parameters[node.name].type]
            case Multiplicity():
                return None
            case Reduce():
                return self.of(node.body, {**local, node.index: None})
            case Apply():
                return self._apply(node, local)

    def _name(self, node: Name, local: Mapping[str, Known]) -> Known:
        if node.name in local:
            return local[node.name]
        if node.name in self.model.lets:
            return self._let(node.name, ())
        found = self.model.parameters.get(node.name)
        return TYPES[found.type] or None if found else None

    def _let(self, name: str, arguments: tuple[Known, ...]) -> Known:
        key = name, arguments
        if key not in self.lets:
            let = self.model.lets[name]
            self.lets[key] = self.of(let.body, dict(zip(let.formals, arguments, strict=True)))
        return self.lets[key]

    def _apply(self, node: Apply, local: Mapping[str, Known]) -> Known:
        found = [self.of(one, local) for one in node.arguments]
        name = node.name
        if name in self.model.lets:
            return self._let(name, tuple(found))
        if name == "?:":
            return self._join(found[1], found[2], node.place)
        if name in _SAME:
            joined: Known = None
            for one in found:
                joined = self._join(joined, one, node.place)
            return joined if name in {"+", "-", "min", "max", "mod"} else None
        if name in {"neg", "abs", "floor", "ceil"}:
            return found[0]
        if name == "*":
            return self._product(found)
        if name in {"/", "div"}:
            over, under = found
            if over is None or under is None:
                return over if under is None else None
            return product(over, under, -1) or None
        if name in _PLAIN and any(found):
            raise ModelError(
                f"{name} takes a plain number; this is {words(next(filter(None, found)))}",
                node.place,
            )
        return None

    def _product(self, found: list[Known]) -> Known:
        known = [one for one in found if one is not None]
        if not known:
            return None
        total: Dimension = ()
        for one in known:
            total = product(total, one)
        # an unknown factor may be anything, such as a rate kept as a plain number
        return total or None if len(known) == len(found) or total == _TIME else None

    def _join(self, one: Known, other: Known, place: Place | None, what: str = "") -> Known:
        if one is None or other is None or one == other:
            return one if other is None else other
        said = (
            f"{what} {words(one)}, this is {words(other)}"
            if what
            else (f"{words(one)} and {words(other)} do not add or compare")
        )
        raise ModelError(said, place)
