"""Units of expressions: what is plainly wrong is refused, what is unknown may be anything."""

from __future__ import annotations

from collections.abc import Mapping

from parcast_pamela.language.errors import ModelError
from parcast_pamela.language.model import Model
from parcast_pamela.language.positions import Position
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
    Process,
    Reduce,
    Sequence,
    Use,
)
from parcast_pamela.language.units import TYPES, Dimension, product, words

#: None is a number that may stand for anything, such as a literal without a unit
MaybeDimension = Dimension | None

_TIME: Dimension = (("time", 1),)
_SAME = {"+", "-", "min", "max", "<", "<=", ">", ">=", "==", "!=", "mod"}
_PLAIN = {"log", "log2", "exp", "gcd", "lcm"}


def check_types(model: Model) -> None:
    """Refuse sums of different dimensions, and uses and delays that are no times.

    Raises
    ------
    ModelError
        With the position and both dimensions.
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
        self.done: set[tuple[str, tuple[MaybeDimension, ...]]] = set()
        self.lets: dict[tuple[str, tuple[MaybeDimension, ...]], MaybeDimension] = {}

    def parameter(self, parameter: Parameter) -> None:
        declared = TYPES[parameter.type]
        default = parameter.default
        values = default.items if isinstance(default, Listing) else (default,)
        for expression in (parameter.low, parameter.high, *values):
            dimension = self.of(expression, {}) if expression is not None else None
            if declared and dimension:
                self._join(
                    declared, dimension, expression.position, f"{parameter.name} is declared as"
                )

    def equation(self, equation: Equation, arguments: tuple[MaybeDimension, ...]) -> None:
        key = equation.name, arguments
        if key not in self.done:
            self.done.add(key)
            self.process(equation.body, dict(zip(equation.formals, arguments, strict=True)))

    def process(self, node: Process, local: Mapping[str, MaybeDimension]) -> None:
        match node:
            case Use() | Delay():
                dimension = self.of(node.time, local)
                if dimension is not None and dimension != _TIME:
                    verb = "use" if isinstance(node, Use) else "delay"
                    raise ModelError(
                        f"{verb} takes a time; this is {words(dimension)}",
                        node.time.position or node.position,
                    )
                for index in getattr(node, "indices", ()):
                    self.of(index, local)
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
                self.process(node.otherwise, local)
            case Call():
                arguments = tuple(self.of(argument, local) for argument in node.arguments)
                if node.name in self.model.equations:
                    self.equation(self.model.equations[node.name], arguments)

    def of(self, node: Expression, local: Mapping[str, MaybeDimension]) -> MaybeDimension:
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

    def _name(self, node: Name, local: Mapping[str, MaybeDimension]) -> MaybeDimension:
        if node.name in local:
            return local[node.name]
        if node.name in self.model.lets:
            return self._let(node.name, ())
        parameter = self.model.parameters.get(node.name)
        return TYPES[parameter.type] or None if parameter else None

    def _let(self, name: str, arguments: tuple[MaybeDimension, ...]) -> MaybeDimension:
        key = name, arguments
        if key not in self.lets:
            let = self.model.lets[name]
            self.lets[key] = self.of(let.body, dict(zip(let.formals, arguments, strict=True)))
        return self.lets[key]

    def _apply(self, node: Apply, local: Mapping[str, MaybeDimension]) -> MaybeDimension:
        dimensions = [self.of(argument, local) for argument in node.arguments]
        name = node.name
        if name in self.model.lets:
            return self._let(name, tuple(dimensions))
        if name == "?:":
            return self._join(dimensions[1], dimensions[2], node.position)
        if name in _SAME:
            joined: MaybeDimension = None
            for dimension in dimensions:
                joined = self._join(joined, dimension, node.position)
            return joined if name in {"+", "-", "min", "max", "mod"} else None
        if name in {"neg", "abs", "floor", "ceil"}:
            return dimensions[0]
        if name == "*":
            return self._product(dimensions)
        if name in {"/", "div"}:
            over, under = dimensions
            if over is None or under is None:
                return over if under is None else None
            return product(over, under, -1) or None
        if name in _PLAIN and any(dimensions):
            raise ModelError(
                f"{name} takes a plain number; this is {words(next(filter(None, dimensions)))}",
                node.position,
            )
        return None

    def _product(self, dimensions: list[MaybeDimension]) -> MaybeDimension:
        stated = [dimension for dimension in dimensions if dimension is not None]
        if not stated:
            return None
        total: Dimension = ()
        for dimension in stated:
            total = product(total, dimension)
        # an unknown factor may be anything, such as a rate kept as a plain number
        return total or None if len(stated) == len(dimensions) or total == _TIME else None

    def _join(
        self,
        left: MaybeDimension,
        right: MaybeDimension,
        position: Position | None,
        subject: str = "",
    ) -> MaybeDimension:
        if left is None or right is None or left == right:
            return left if right is None else right
        problem = (
            f"{subject} {words(left)}, this is {words(right)}"
            if subject
            else (f"{words(left)} and {words(right)} do not add or compare")
        )
        raise ModelError(problem, position)
