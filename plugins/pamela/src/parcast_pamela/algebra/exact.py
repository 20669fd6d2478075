"""Expressions evaluated in exact rational numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from math import floor
from typing import Any

from parcast_pamela.algebra.polynomials import BINDERS, BRACKETS, Atom, Polynomial, Symbol
from parcast_pamela.language.functions import FUNCTIONS, ArithmeticRefusedError, Exact, exact

#: Residual sums of more terms are refused: so many take a quarter of a minute.
MOST_STEPS = 1_000_000


class StepsRefusedError(ArithmeticRefusedError):
    """Sums without a closed form take too many steps."""


class ExactValues:
    """Evaluates expressions at one set of parameters; equal parts are evaluated once."""

    def __init__(self, values: Mapping[str, Any], step_limit: int = MOST_STEPS) -> None:
        self.values, self.step_limit = dict(values), step_limit
        #: The loops under way, each with what is known of this iteration
        self.loops: list[tuple[Symbol, dict[Any, Exact]]] = []
        self.cached: dict[Any, Exact] = {}  # outside of all loops
        self.steps = 0

    def value(self, polynomial: Polynomial) -> Exact:
        """Return the value of an expression.

        Raises
        ------
        ArithmeticRefusedError
            If it has none, or takes more than ``step_limit`` steps, by default a million.
        """
        cache = self._store(polynomial.free) if self.loops else self.cached
        value = cache.get(polynomial)
        if value is None:
            total: Exact = 0
            for monomial, coefficient in polynomial.terms:
                total += self._term(monomial, coefficient)
            value = cache[polynomial] = exact(total)
        return value

    @contextmanager
    def at(self, index: Symbol, position: int) -> Iterator[None]:
        """Give an index a value for a while."""
        with self._loop(index):
            self.values[index.name] = position
            yield

    @contextmanager
    def _loop(self, index: Symbol) -> Iterator[dict[Any, Exact]]:
        """Let an index have values of its own; yield what is known at the present one."""
        before, known = self.values.get(index.name), dict[Any, Exact]()
        self.loops.append((index, known))
        try:
            yield known
        finally:
            self.loops.pop()
            if before is not None:
                self.values[index.name] = before

    def _store(self, free: frozenset[Symbol]) -> dict[Any, Exact]:
        """Return what is known in the innermost loop that something depends on."""
        innermost = self.cached
        for index, cache in self.loops:
            if index in free:
                innermost = cache
        return innermost

    def _term(self, monomial: Any, coefficient: Exact) -> Exact:
        if not monomial:
            return coefficient
        # one quotient of whole numbers, since a product of fractions divides again and again
        top, bottom = coefficient.numerator, coefficient.denominator
        several = len(monomial) > 1
        for atom, _ in monomial if several else ():
            # where a bracket is 0 the others need not have a value
            if atom.kind in BRACKETS and not self._atom(atom):
                return 0
        for atom, exponent in monomial:
            if several and atom.kind in BRACKETS:
                continue
            base = self._atom(atom)
            if exponent == 1:
                top *= base.numerator
                bottom *= base.denominator
            elif exponent > 0:
                top *= base.numerator**exponent
                bottom *= base.denominator**exponent
            elif base:
                top *= base.denominator**-exponent
                bottom *= base.numerator**-exponent
            else:
                raise ArithmeticRefusedError("this divides by zero")
        if bottom == 1:
            return top
        return Fraction(top, bottom) if top % bottom else top // bottom

    def _atom(self, atom: Atom) -> Exact:
        kind, arguments = atom.kind, atom.arguments
        if kind == "sym":
            return self.values[arguments[0].name]  # type: ignore[no-any-return]
        if kind == "ge0":
            return int(self.value(arguments[0]) >= 0)
        if kind == "eq0":
            return int(self.value(arguments[0]) == 0)
        if kind == "floor":
            return floor(self.value(arguments[0]))
        if kind == "max":
            return max(map(self.value, arguments))
        if kind == "poly":
            return self.value(arguments[0])
        if kind == "item":
            indices = tuple(map(self.value, arguments[1:]))
            return self.values[arguments[0].name].at(indices)  # type: ignore[no-any-return]
        if kind in BINDERS:
            cache = self._store(atom.free)
            if atom not in cache:
                cache[atom] = self._over(kind, *arguments)
            return cache[atom]
        return FUNCTIONS["^" if kind == "pow" else kind][0](*map(self.value, arguments))

    def _over(
        self, kind: str, index: Any, low: Polynomial, high: Polynomial, body: Polynomial
    ) -> Exact:
        span = range(int(self.value(low)), int(self.value(high)) + 1)
        self.steps += max(0, int(self.value(high)) - int(self.value(low)) + 1)
        if self.steps > self.step_limit:
            raise StepsRefusedError(
                f"sums without a closed form take more than {self.step_limit:,} steps here"
            )
        values = []
        with self._loop(index) as known:  # entered once, as entering takes longer than most bodies
            for position in span:
                self.values[index.name] = position
                known.clear()
                values.append(self.value(body))
        if kind == "sum":
            return exact(sum(values))
        if kind == "prod":
            return FUNCTIONS["*"][0](*values)
        if not values and kind == "most":
            raise ArithmeticRefusedError("a maximum over an empty range has no value")
        return max(values, default=0)
