"""A few points to try a claim at before a proof of it is searched for.

A claim that fails at a point cannot be proven. Rounding may reject a true claim, which costs a
simplification and is never wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from parcast_pamela.algebra.polynomials import Atom, Polynomial, Symbol
from parcast_pamela.language.functions import Exact

_NAN = math.nan
_SLACK = 1e-9
#: Sums of more terms are not tried.
_MOST_TERMS = 12

_FUNCTIONS: dict[str, Callable[..., float]] = {
    "log2": lambda x: math.log2(x) if x > 0 else _NAN,
    "log": lambda x: math.log(x) if x > 0 else _NAN,
    "exp": lambda x: math.exp(min(x, 300.0)),
    "sqrt": lambda x: math.sqrt(x) if x >= 0 else _NAN,
    "gcd": lambda a, b: float(math.gcd(round(a), round(b))),
    "lcm": lambda a, b: float(math.lcm(round(a), round(b))),
    "max": max,
    "floor": lambda x: float(math.floor(x + _SLACK)),
    "ge0": lambda x: float(x >= -_SLACK),
    "eq0": lambda x: float(abs(x) <= _SLACK),
    "poly": lambda x: x,
}


class Sample:
    """One value for every symbol, kept as expressions are evaluated."""

    def __init__(
        self,
        number: int,
        low: Callable[[Symbol], Exact | None],
        origins: Mapping[Symbol, Polynomial],
    ) -> None:
        self.number, self.low, self.origins = number, low, origins
        self.symbols: dict[Symbol, float] = {}
        self.cached: dict[Polynomial, float] = {}
        self.atoms: dict[Atom, float] = {}
        self._count = 0

    def value(self, polynomial: Polynomial) -> float:
        """Return the value, or nan where there is none or it is not tried."""
        value = self.cached.get(polynomial)
        if value is None:
            try:
                value = self._value(polynomial)
            except (ValueError, OverflowError, ZeroDivisionError):
                value = _NAN
            self.cached[polynomial] = value
        return value

    def _value(self, polynomial: Polynomial) -> float:
        total = 0.0
        for monomial, coefficient in polynomial.terms:
            product = float(coefficient)
            for atom, exponent in monomial:
                value = self.atoms.get(atom)
                if value is None:
                    value = self.atoms[atom] = self._atom(atom)
                product *= value if exponent == 1 else value**exponent
            total += product
        return total

    def _atom(self, atom: Atom) -> float:
        kind = atom.kind
        if kind == "sym":
            return self._symbol(atom.arguments[0])
        if kind == "item":
            return 1.0 + (7 * len(self.cached) + atom.serial) % 5
        if kind in {"sum", "top"}:
            return self._over(kind, *atom.arguments)
        if kind not in _FUNCTIONS:
            return _NAN
        values = [self.value(argument) for argument in atom.arguments]
        return _NAN if any(map(math.isnan, values)) else _FUNCTIONS[kind](*values)

    def _symbol(self, symbol: Symbol) -> float:
        if symbol not in self.symbols:
            if symbol in self.origins:
                self.symbols[symbol] = self.value(self.origins[symbol])
            elif symbol.level:
                self.symbols[symbol] = self._index(symbol)
            else:
                self.symbols[symbol] = self._parameter(symbol)
        return self.symbols[symbol]

    def _parameter(self, symbol: Symbol) -> float:
        self._count += 1
        low = self.low(symbol)
        step = (_STEPS[self.number] * self._count + 3 * self.number) % 11
        if self.number == 0:
            step = 0
        above = float(step) if symbol.integer else step * 0.37 + (0.11 if self.number else 0.0)
        return above - 4.0 if low is None else float(low) + above

    def _index(self, symbol: Symbol) -> float:
        low, high = self.value(symbol.low), self.value(symbol.high)
        if not low <= high:
            return _NAN
        if self.number % 3 == 0:
            return low
        return high if self.number % 3 == 1 else low + (high - low) // 2

    def _over(
        self, kind: str, index: Symbol, low: Polynomial, high: Polynomial, body: Polynomial
    ) -> float:
        first, last = self.value(low), self.value(high)
        if math.isnan(first) or math.isnan(last) or last - first > _MOST_TERMS:
            return _NAN
        inner = Sample(self.number, self.low, self.origins)
        inner.symbols = self.symbols.copy()
        inner._count = self._count + 1
        values = []
        for i in range(round(first), round(last) + 1):
            inner.symbols[index], inner.cached, inner.atoms = float(i), {}, {}
            values.append(inner.value(body))
        if any(map(math.isnan, values)):
            return _NAN
        return sum(values) if kind == "sum" else max(values, default=0.0)


_STEPS = (0, 1, 3, 5, 7, 9)
#: How many points are tried
POINTS = len(_STEPS)
