"""Parameters as symbols, and what declarations and assumptions say of them."""

from __future__ import annotations

from collections.abc import Callable

from parcast_pamela.algebra.polynomials import Polynomial, Symbol
from parcast_pamela.compilation.algebra import Algebra
from parcast_pamela.language.functions import Exact
from parcast_pamela.language.model import Model
from parcast_pamela.language.tree import Apply, Expression, Name, Number, Parameter

_WHOLE = frozenset({"int", "bool"})
_UNSIGNED = frozenset({"time", "bytes", "flop", "rate", "prob", "bool"})


class Parameters:
    """The symbols of a model's parameters.

    Where the model assumes N mod P == 0, N is P times a whole number, so that N / P is whole;
    `restored` turns this back.
    """

    def __init__(self, model: Model, algebra: Algebra) -> None:
        self.model, self.algebra = model, algebra
        self.kernel = algebra.kernel
        self.symbols: dict[str, Symbol] = {}
        self.values: dict[str, Polynomial] = {}
        self.quotients: dict[Symbol, Polynomial] = {}
        for name, parameter in model.parameters.items():
            self.symbols[name] = self.kernel.parameter(
                name,
                integer=parameter.type in _WHOLE,
                low=_low(parameter),
                positive=parameter.type == "rate",
            )
            if not parameter.dims:
                self.values[name] = self.kernel.value(self.symbols[name])
        for assumption in model.assumptions:
            self._divide(assumption.condition)

    def _divide(self, condition: Expression) -> None:
        """Take N mod P == 0 as N = P Q."""
        match condition:
            case Apply(
                name="==", arguments=(Apply(name="mod", arguments=(over, under)), Number(value=0))
            ):
                pass
            case Apply(name="and", arguments=arguments):
                for argument in arguments:
                    self._divide(argument)
                return
            case _:
                return
        if not (isinstance(over, Name) and isinstance(under, Name)):
            return
        n, p = over.name, under.name
        size = self._divisor(p)
        if n == p or size is None or not self._plain(n):
            return
        symbol = self.symbols[n]
        if symbol in {s for value in self.quotients.values() for s in value.free}:
            return  # it divides another parameter
        least = symbol.low
        low = None if least is None or least < 0 else min(1, least)
        quotient = self.kernel.parameter(f"{n}/{p}", integer=True, low=low)
        ratio = self.values[n] / size
        self.values[n] = self.kernel.value(quotient) * size
        self.quotients[quotient] = ratio

    def _plain(self, name: str) -> bool:
        """Return whether a name is a whole parameter that stands for itself alone."""
        if name not in self.values or not self.symbols[name].integer:
            return False
        return self.values[name] is self.kernel.value(self.symbols[name])

    def _divisor(self, name: str) -> Polynomial | None:
        """Return a whole parameter, or a constant, that is certainly 1 or more, else None."""
        constant = self.model.lets.get(name)
        if constant is not None and isinstance(constant.body, Number):
            number = constant.body.value
            return self.kernel.number(number) if number >= 1 == number.denominator else None
        if not self._plain(name):
            return None
        low = self.symbols[name].low
        return self.values[name] if low is not None and low >= 1 else None

    def assume(self, lower: Callable[[Expression], Polynomial]) -> None:
        """Take as facts what declarations and assumptions say."""
        signs = self.algebra.signs
        for name, parameter in self.model.parameters.items():
            if parameter.dims:
                continue
            value, low = self.values[name], self.symbols[name].low
            if parameter.low is not None and low is None:
                signs.assume(value - lower(parameter.low))
            elif low is not None and value is not self.kernel.value(self.symbols[name]):
                signs.assume(value - low)
            if parameter.high is not None:
                signs.assume(lower(parameter.high) - value)
            elif parameter.type in {"prob", "bool"}:
                signs.assume(1 - value)
        for assumption in self.model.assumptions:
            self._fact(assumption.condition, lower)

    def _fact(self, condition: Expression, lower: Callable[[Expression], Polynomial]) -> None:
        if not isinstance(condition, Apply):
            return
        signs = self.algebra.signs
        if condition.name == "and":
            for argument in condition.arguments:
                self._fact(argument, lower)
        elif condition.name in {"<", "<=", ">", ">=", "=="}:
            left, right = (lower(argument) for argument in condition.arguments)
            difference = right - left if condition.name in {"<", "<="} else left - right
            strict = condition.name in {"<", ">"} and signs.integer(difference)
            signs.assume(difference - 1 if strict else difference)
            if condition.name == "==":
                signs.assume(-difference)

    def restored(self, polynomial: Polynomial) -> Polynomial:
        """Return an expression in the model's own parameters."""
        return self.kernel.substitute(polynomial, self.quotients)


def _low(parameter: Parameter) -> Exact | None:
    """Return the least value of a parameter where it is a plain number, else None."""
    least: Exact | None = 0 if parameter.type in _UNSIGNED else None
    if isinstance(parameter.low, Number):
        value = parameter.low.value
        stated: Exact = int(value) if value.denominator == 1 else value
        return stated if least is None else max(least, stated)
    return least
