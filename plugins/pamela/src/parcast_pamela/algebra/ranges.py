"""What is taken for granted of parameters: their lower bounds, and points where all of it holds."""

from __future__ import annotations

import math
from fractions import Fraction

from parcast_pamela.algebra.kernel import Kernel
from parcast_pamela.algebra.polynomials import Polynomial, Symbol
from parcast_pamela.algebra.samples import POINTS, Sample
from parcast_pamela.language.functions import Exact

#: Rounding may bring a value of 0 so far below 0.
_SLACK = 1e-9

#: Expressions that are 0 or more
Facts = tuple[Polynomial, ...]


class ParameterRanges:
    """The facts that are stated, and each parameter as its lower bound and a symbol above 0.

    ``origins`` are the symbols that proofs add, in terms of those of the model.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.stated: list[Polynomial] = []
        self.origins: dict[Symbol, Polynomial] = {}
        self._lows: dict[Symbol, Exact] = {}
        self._shifted: dict[Symbol, Polynomial] = {}
        self._unshifted: dict[Symbol, Polynomial] = {}
        self._samples = self._samples_within()

    def assume(self, fact: Polynomial) -> bool:
        """Take an expression to be 0 or more; return whether that is new."""
        if fact in self.stated:
            return False
        self.stated.append(fact)
        line = dict(fact.terms)
        if len(fact.free) == 1 and len(line.keys() - {()}) == 1:
            (symbol,) = fact.free
            slope = line.get(((self.kernel.atom("sym", symbol), 1),), 0)
            if symbol.level == 0 and slope > 0:
                self._raise(symbol, Fraction(-line.get((), 0)) / slope)
        self._samples = self._samples_within()
        return True

    def _raise(self, symbol: Symbol, least: Exact) -> None:
        least = math.ceil(least) if symbol.integer else least
        low = self.low(symbol)
        if low is None or least > low:
            self._lows[symbol] = least
            self._shifted.pop(symbol, None)

    def low(self, symbol: Symbol) -> Exact | None:
        """Return the least value of a parameter, as far as it is a known number."""
        return self._lows.get(symbol, symbol.low)  # type: ignore[no-any-return]

    def is_unsigned(self, symbol: Symbol) -> bool:
        """Return whether a symbol is a parameter of 0 or more."""
        low = self.low(symbol)
        return symbol.level == 0 and low is not None and low >= 0

    def shift(self, polynomial: Polynomial) -> Polynomial:
        """Return an expression of symbols that are 0 or more, added to the lower bounds."""
        values = {}
        for symbol in polynomial.free:
            if symbol.level == 0 and (low := self.low(symbol)):
                if symbol not in self._shifted:
                    above = self.kernel.parameter(
                        f"{symbol.name}-{low}", integer=symbol.integer, low=0
                    )
                    self._shifted[symbol] = self.kernel.value(above) + low
                    self._unshifted[above] = self.kernel.value(symbol) - low
                    self.origins[above] = self.kernel.value(symbol) - low
                values[symbol] = self._shifted[symbol]
        return self.kernel.substitute(polynomial, values) if values else polynomial

    def unshift(self, polynomial: Polynomial) -> Polynomial:
        """Return a shifted expression as it was before."""
        return self.kernel.substitute(polynomial, self._unshifted)

    def refuted(self, polynomial: Polynomial, facts: Facts) -> bool:
        """Return whether an expression is below 0 at a point where all facts hold."""
        return any(
            sample.value(polynomial) < -_SLACK and all(sample.value(fact) >= 0 for fact in facts)
            for sample in self._samples
        )

    def _samples_within(self) -> list[Sample]:
        """Return the points where nothing that is stated is wrong."""
        samples = [Sample(number, self.low, self.origins) for number in range(POINTS)]
        return [
            sample
            for sample in samples
            if not any(sample.value(fact) < -_SLACK for fact in self.stated)
        ]
