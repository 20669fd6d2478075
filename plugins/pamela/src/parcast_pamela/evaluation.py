"""Expressions of the language, evaluated one by one in exact rational numbers."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from parcast_pamela.language.arrays import Bound
from parcast_pamela.language.errors import ModelValueError
from parcast_pamela.language.functions import FUNCTIONS, ArithmeticRefusedError, Exact, exact
from parcast_pamela.language.model import Model
from parcast_pamela.language.positions import Position
from parcast_pamela.language.tree import (
    INFINITE,
    Apply,
    Expression,
    Item,
    Multiplicity,
    Name,
    Number,
    Reduce,
    walk,
)

#: Loops and sums of more steps are refused.
MOST_STEPS = 20_000_000
#: Lets within lets deeper than this have no end.
DEEPEST_CALLS = 60
#: So many values of lets are cached.
_MOST_CACHED = 1000

Local = Mapping[str, Exact]


class Evaluator:
    """Evaluates expressions of a model at one set of parameters."""

    def __init__(
        self, model: Model, bound: Mapping[str, Bound], step_limit: int = MOST_STEPS
    ) -> None:
        self.model, self.bound, self.step_limit = model, bound, step_limit
        self.steps = 0
        self.calls = 0
        self._random: dict[int, bool] = {}
        self._lets: dict[tuple[Any, ...], Any] = {}

    def value(self, node: Expression, local: Local) -> Exact:
        """Return the value of an expression; ``local`` holds formals and indices.

        Raises
        ------
        ModelValueError
            If it has none, with the position.
        """
        try:
            return self._value(node, local)
        except ArithmeticRefusedError as error:
            raise ModelValueError(str(error), node.position) from None

    def probability(self, node: Expression, local: Local) -> Exact:
        """Return how likely a condition is true: 0 or 1, unless it has ``bern`` in it."""
        if isinstance(node, Apply):
            arguments = node.arguments
            if node.name == "bern":
                chance = self.value(arguments[0], local)
                if not 0 <= chance <= 1:
                    raise ModelValueError(
                        f"bern({float(chance):g}) must be from 0 to 1", node.position
                    )
                return chance
            if node.name == "not":
                return exact(1 - self.probability(arguments[0], local))
            if node.name in {"and", "or"}:
                first = self.probability(arguments[0], local)
                if first == (node.name == "or"):  # decided: the rest need not have a value
                    return first
                second = self.probability(arguments[1], local)
                both = exact(Fraction(first) * second)
                return both if node.name == "and" else exact(first + second - both)
            if node.name == "?:":
                chosen = self.probability(arguments[0], local)
                yes = self.probability(arguments[1], local) if chosen else 0
                no = self.probability(arguments[2], local) if chosen != 1 else 0
                return exact(Fraction(chosen) * yes + (1 - Fraction(chosen)) * no)
            if node.name in self.model.lets:
                return self._let(node, local, self.probability)
        if isinstance(node, Name) and node.name not in local and node.name in self.model.lets:
            return self._let(node, local, self.probability)
        return int(self.value(node, local) != 0)

    def certain(self, node: Expression, local: Local) -> tuple[bool, bool]:
        """Return whether a condition is false, and true, however its ``bern`` turn out."""
        if isinstance(node, Apply):
            arguments = node.arguments
            if node.name == "bern":
                return False, False
            if node.name == "not":
                never, always = self.certain(arguments[0], local)
                return always, never
            if node.name in {"and", "or"}:
                never, always = self.certain(arguments[0], local)
                if (never, always)[node.name == "or"]:  # decided: as in `probability`
                    return never, always
                second = self.certain(arguments[1], local)
                pairs = (never and second[0], always and second[1])
                either = (never or second[0], always or second[1])
                return (either[0], pairs[1]) if node.name == "and" else (pairs[0], either[1])
        if not self.random(node):
            true = bool(self.value(node, local))
            return not true, true
        if isinstance(node, Apply) and node.name == "?:":
            never, always = self.certain(node.arguments[0], local)
            if never or always:
                return self.certain(node.arguments[1 if always else 2], local)
            yes, no = (self.certain(argument, local) for argument in node.arguments[1:])
            return yes[0] and no[0], yes[1] and no[1]
        certainty: tuple[bool, bool] = self._let(node, local, self.certain)  # type: ignore[arg-type, assignment]
        return certainty

    def random(self, node: Expression) -> bool:
        """Return whether ``bern`` stands in an expression, or in a let that it uses."""
        if id(node) not in self._random:
            self._random[id(node)] = False  # a let that calls itself is found elsewhere
            self._random[id(node)] = any(
                (isinstance(inner, Apply) and inner.name == "bern")
                or (
                    isinstance(inner, Apply | Name)
                    and inner.name in self.model.lets
                    and self.random(self.model.lets[inner.name].body)
                )
                for inner in walk(node)
            )
        return self._random[id(node)]

    def whole(self, node: Expression, local: Local, label: str) -> int:
        """Return a whole number, or say that what has this label is none."""
        value = self.value(node, local)
        if value.denominator != 1:
            raise ModelValueError(f"{label} is {float(value):g}, not a whole number", node.position)
        return int(value)

    def _value(self, node: Expression, local: Local) -> Exact:
        match node:
            case Number():
                return exact(node.value)
            case Name():
                return self._name(node, local)
            case Item():
                array = self.bound[node.name]
                indices = tuple(self._value(index, local) for index in node.indices)
                element: Exact = array.at(indices)  # type: ignore[union-attr]
                return element
            case Multiplicity():
                return self.servers(node.resource, node.indices, local, node.position)
            case Reduce():
                return self._reduced(node, local)
            case Apply():
                return self._applied(node, local)

    def _name(self, node: Name, local: Local) -> Exact:
        if node.name in local:
            return local[node.name]
        if node.name in self.model.lets:
            return self._let(node, local, self.value)
        if node is INFINITE or node.name == "inf":
            raise ModelValueError("inf can only be a multiplicity", node.position)
        value = self.bound[node.name]
        if not isinstance(value, int | Fraction):
            raise ModelValueError(f"{node.name} is an array; give an index", node.position)
        return value

    def _let(self, node: Apply | Name, local: Local, evaluate: Any) -> Exact:
        let = self.model.lets[node.name]
        arguments = node.arguments if isinstance(node, Apply) else ()
        values = [self.value(argument, local) for argument in arguments]
        key = evaluate, node.name, *values
        if key in self._lets:
            return self._lets[key]  # type: ignore[no-any-return]
        if self.calls >= DEEPEST_CALLS:
            raise ModelValueError(f"{node.name!r} calls itself without end", node.position)
        self.calls += 1
        try:
            value: Exact = evaluate(let.body, dict(zip(let.formals, values, strict=True)))
        finally:
            self.calls -= 1
        if len(self._lets) >= _MOST_CACHED:
            self._lets.clear()
        self._lets[key] = value
        return value

    def _applied(self, node: Apply, local: Local) -> Exact:
        if node.name in self.model.lets:
            return self._let(node, local, self.value)
        if node.name == "?:":
            chosen = node.arguments[1 if self.value(node.arguments[0], local) else 2]
            return self.value(chosen, local)
        if node.name in {"and", "or", "not"}:
            for argument in node.arguments:
                if bool(self.value(argument, local)) == (node.name != "and"):
                    return int(node.name == "or")
            return int(node.name != "or")
        if node.name == "bern":
            raise ModelValueError(
                "bern(p) has no value of its own; use it in the condition of an if", node.position
            )
        values = [self.value(argument, local) for argument in node.arguments]
        try:
            return FUNCTIONS[node.name][0](*values)
        except ArithmeticRefusedError as error:
            raise ModelValueError(str(error), node.position) from None

    def _reduced(self, node: Reduce, local: Local) -> Exact:
        values = [
            self.value(node.body, {**local, node.index: index})
            for index in self.range(node.first, node.last, None, local, node.position)
        ]
        if node.name == "sum":
            return exact(sum(values))
        if node.name == "prod":
            return FUNCTIONS["*"][0](*values)
        if not values:
            raise ModelValueError(f"{node.name} over an empty range has no value", node.position)
        return max(values) if node.name == "max" else min(values)

    def range(
        self,
        first: Expression,
        last: Expression,
        step: Expression | None,
        local: Local,
        position: Position | None,
    ) -> range:
        """Return the whole numbers of a range: those in [first, last], by steps."""
        start, stop = self.value(first, local), self.value(last, local)
        by = 1 if step is None else self.whole(step, local, "the step")
        if by < 1:
            raise ModelValueError(f"the step is {by}; it must be 1 or more", position)
        start, stop = -((-start) // 1), stop // 1
        span = range(int(start), int(stop) + 1, by)
        self.spend(max(0, (int(stop) - int(start)) // by + 1), position)
        return span

    def spend(self, steps: int, position: Position | None) -> None:
        """Count steps, and refuse to take too many."""
        self.steps += steps
        if self.steps > self.step_limit:
            raise ModelValueError(
                f"enumerating takes more than {self.step_limit:,} steps; pamela.bound has a "
                "formula for most models",
                position,
            )

    def servers(
        self, name: str, indices: tuple[Expression, ...], local: Local, position: Position | None
    ) -> Exact:
        """Return how many servers a resource has at these indices; 0 stands for no limit."""
        resource = self.model.resources[name]
        if resource.servers is None:
            return 1
        if resource.servers is INFINITE:
            return 0
        values = [self.value(index, local) for index in indices]
        labels = {
            label: value
            for label, value in zip(resource.labels, values, strict=False)
            if label is not None
        }
        count = self.whole(resource.servers, labels, f"the multiplicity of {name}")
        if count < 1:
            raise ModelValueError(
                f"the multiplicity of {name} is {count}; it must be 1 or more", position
            )
        return count

    def instance(
        self, name: str, indices: tuple[Expression, ...], local: Local, position: Position | None
    ) -> tuple[int, ...]:
        """Return the indices of a resource as whole numbers within its ranges."""
        resource, numbers = self.model.resources[name], []
        for node, span in zip(indices, resource.dims, strict=True):
            index = self.whole(node, local, f"the index of {name}")
            low, high = self.value(span.first, {}), self.value(span.last, {})
            if not low <= index <= high:
                raise ModelValueError(
                    f"the index {index} of {name} is not in {low}..{high}",
                    position or node.position,
                )
            numbers.append(index)
        return tuple(numbers)
