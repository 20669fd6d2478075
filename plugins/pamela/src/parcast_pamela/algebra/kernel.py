"""Hash-consed polynomials over atoms: two expressions are equal if and only if they are one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from parcast_pamela.algebra.polynomials import (
    BINDERS,
    BRACKETS,
    Atom,
    Monomial,
    Polynomial,
    Symbol,
)
from parcast_pamela.errors import TooLargeError
from parcast_pamela.language.functions import Exact

#: Products of sums of more terms are refused.
MOST_PRODUCTS = 100_000


class Kernel:
    """Makes atoms and polynomials, each once.

    `number`, `power`, `monomial`, `add`, `total`, `scaled`, `multiply` and `inverse` do the
    arithmetic; another kernel, such as one of SymPy, has its own.
    """

    def __init__(self) -> None:
        self._atoms: dict[Any, Atom] = {}
        self._polynomials: dict[Any, Polynomial] = {}
        self._orders: dict[Monomial, list[tuple[int, int]]] = {}
        self._numbers: dict[Exact, Polynomial] = {}
        self._indices: dict[Any, Symbol] = {}
        self._symbols: dict[str, Symbol] = {}
        self._substituted: dict[Any, Polynomial] = {}
        self._fresh = 0

    def of(self, value: Polynomial | Exact) -> Polynomial:
        """Return a number as an expression, and an expression as it is."""
        return value if isinstance(value, Polynomial) else self.number(value)

    def number(self, value: Exact) -> Polynomial:
        """Return a constant."""
        found = self._numbers.get(value)
        if found is None:
            terms = (((), _whole(value)),) if value else ()
            found = self._numbers[value] = self._made(terms, frozenset())
        return found

    def parameter(
        self, name: str, *, integer: bool = False, low: Any = None, positive: bool = False
    ) -> Symbol:
        """Return the parameter of a name; what is known of it counts the first time."""
        if name not in self._symbols:
            self._symbols[name] = Symbol(name, integer, low, positive=positive)
        return self._symbols[name]

    def index(self, low: Polynomial, high: Polynomial, avoiding: Iterable[Symbol] = ()) -> Symbol:
        """Return an index over a range that is none of ``avoiding``."""
        level = 1 + max((one.level for one in (*low.free, *high.free, *avoiding)), default=0)
        key = low, high, level
        if key not in self._indices:
            self._fresh += 1
            self._indices[key] = Symbol(
                f"{_LETTERS[level % 6]}{self._fresh}", True, low, high, level
            )
        return self._indices[key]

    def value(self, symbol: Symbol) -> Polynomial:
        """Return a symbol as an expression."""
        return self.power(self.atom("sym", symbol), 1)

    def atom(self, kind: str, *arguments: Any) -> Atom:
        """Return the atom of a kind and its arguments."""
        key = kind, arguments
        found = self._atoms.get(key)
        if found is None:
            free: set[Symbol] = {arguments[0]} if kind == "sym" else set()
            for one in arguments:
                if isinstance(one, Polynomial):
                    free |= one.free
            if kind in BINDERS:
                free.discard(arguments[0])
            found = self._atoms[key] = Atom(kind, arguments, len(self._atoms), frozenset(free))
        return found

    def power(self, atom: Atom, exponent: int) -> Polynomial:
        """Return an atom to a power."""
        return self._made(((((atom, exponent),), 1),), atom.free)

    def call(self, kind: str, *arguments: Any) -> Polynomial:
        """Return an atom as an expression."""
        return self.power(self.atom(kind, *arguments), 1)

    def monomial(self, monomial: Monomial, coefficient: Exact = 1) -> Polynomial:
        """Return a monomial as an expression."""
        return self._from({monomial: coefficient})

    def add(self, one: Polynomial, other: Polynomial) -> Polynomial:
        """Return the sum."""
        if not one.terms:
            return other
        if not other.terms:
            return one
        if len(one.terms) < len(other.terms):
            one, other = other, one
        return self._sum(one, other, 1)

    def subtract(self, one: Polynomial, other: Polynomial) -> Polynomial:
        """Return the difference."""
        return self._sum(one, other, -1) if other.terms else one

    def _sum(self, one: Polynomial, other: Polynomial, sign: int) -> Polynomial:
        terms = dict(one.terms)
        for monomial, coefficient in other.terms:
            total = terms.get(monomial, 0) + sign * coefficient
            if total:
                terms[monomial] = _whole(total)
            else:
                del terms[monomial]
        return self._from(terms)

    def total(self, items: Iterable[Polynomial]) -> Polynomial:
        """Return the sum of several."""
        terms: dict[Monomial, Exact] = {}
        for one in items:
            for monomial, coefficient in one.terms:
                terms[monomial] = terms.get(monomial, 0) + coefficient
        return self._from({key: _whole(value) for key, value in terms.items() if value})

    def scaled(self, one: Polynomial, factor: Exact) -> Polynomial:
        """Return an expression times a number."""
        if factor == 1:
            return one
        if not factor:
            return self.number(0)
        terms = tuple((monomial, _whole(value * factor)) for monomial, value in one.terms)
        return self._made(terms, one.free)

    def multiply(self, one: Polynomial, other: Polynomial) -> Polynomial:
        """Return the product, expanded."""
        for first, second in ((one, other), (other, one)):
            if (factor := first.constant) is not None:
                return self.scaled(second, factor)
        if len(one.terms) * len(other.terms) > MOST_PRODUCTS:
            raise TooLargeError(
                "the formula becomes too large; let a parameter stand for a part of it"
            )
        terms: dict[Monomial, Exact] = {}
        for left, a in one.terms:
            for right, b in other.terms:
                monomial = _joined(left, right)
                terms[monomial] = terms.get(monomial, 0) + a * b
        return self._from({key: _whole(value) for key, value in terms.items() if value})

    def inverse(self, one: Polynomial) -> Polynomial:
        """Return 1 / expression, which must not be 0; so 1 / bracket is the bracket, being 1."""
        if len(one.terms) == 1:
            monomial, coefficient = one.terms[0]
            inverted = tuple((a, e if a.kind in BRACKETS else -e) for a, e in monomial)
            return self._from({inverted: _whole(Fraction(1) / coefficient)})
        if not one.terms:
            raise ZeroDivisionError
        leading = one.terms[0][1]
        scaled = self.scaled(one, Fraction(1) / leading)
        return self.scaled(self.power(self.atom("poly", scaled), -1), Fraction(1) / leading)

    def expanded(self, one: Polynomial) -> Polynomial:
        """Return an expression with every sum that stands as a factor multiplied out."""
        if not any(a.kind == "poly" and e > 0 for m, _ in one.terms for a, e in m):
            return one
        parts = []
        for monomial, coefficient in one.terms:
            kept = tuple(pair for pair in monomial if pair[0].kind != "poly" or pair[1] < 0)
            part = self.monomial(kept, coefficient)
            for atom, exponent in monomial:
                if atom.kind == "poly" and exponent > 0:
                    part = part * atom.arguments[0] ** exponent
            parts.append(part)
        return self.expanded(self.total(parts))

    def substitute(self, one: Polynomial, values: Mapping[Symbol, Polynomial]) -> Polynomial:
        """Return an expression with symbols replaced, simplified no further."""
        return self.rebuilt(one, values, self.call)

    def rebuilt(
        self, one: Polynomial, values: Mapping[Symbol, Polynomial], make: Any
    ) -> Polynomial:
        """Return an expression with symbols replaced, each changed atom made by ``make``."""
        if one.free.isdisjoint(values):
            return one
        key = one, tuple(sorted(((s.name, id(s), e) for s, e in values.items() if s in one.free),
                                key=lambda item: item[:2])), make  # fmt: skip
        found = self._substituted.get(key)
        if found is None:
            parts = [self._substitute_term(*term, values, make) for term in one.terms]
            found = self._substituted[key] = self.total(parts)
        return found

    def _substitute_term(
        self,
        monomial: Monomial,
        coefficient: Exact,
        values: Mapping[Symbol, Polynomial],
        make: Any,
    ) -> Polynomial:
        moved = [pair for pair in monomial if not pair[0].free.isdisjoint(values)]
        if not moved:
            return self.monomial(monomial, coefficient)
        kept = tuple(pair for pair in monomial if pair[0].free.isdisjoint(values))
        result = self.monomial(kept, coefficient)
        # a bracket that becomes 0 stands for what is never reached, which may divide by 0
        for atom, exponent in sorted(moved, key=lambda pair: pair[1] < 0):
            if not result.terms:
                break
            result = result * self._substitute_atom(atom, values, make) ** exponent
        return result

    def _substitute_atom(
        self, atom: Atom, values: Mapping[Symbol, Polynomial], make: Any
    ) -> Polynomial:
        if atom.kind == "sym":
            return values[atom.arguments[0]]
        if atom.kind == "poly":
            return self.rebuilt(atom.arguments[0], values, make)
        if atom.kind not in BINDERS:
            arguments = (
                self.rebuilt(one, values, make) if isinstance(one, Polynomial) else one
                for one in atom.arguments
            )
            return make(atom.kind, *arguments)  # type: ignore[no-any-return]
        index, low, high, body = atom.arguments
        low, high = self.rebuilt(low, values, make), self.rebuilt(high, values, make)
        free = [symbol for one in values.values() for symbol in one.free]
        # what comes in may be named as what is bound here is, the ranges being equal
        new = self.index(low, high, [*free, *(s for s in body.free if s is not index)])
        inner = {s: e for s, e in values.items() if s is not index} | {index: self.value(new)}
        return make(atom.kind, new, low, high, self.rebuilt(body, inner, make))  # type: ignore[no-any-return]

    def _from(self, terms: Mapping[Monomial, Exact]) -> Polynomial:
        if len(terms) < 2:
            return self._made(tuple(terms.items()))
        key = frozenset(terms.items())
        found = self._polynomials.get(key)
        if found is None:
            ordered = tuple(sorted(terms.items(), key=self._order))
            found = self._polynomials[key] = Polynomial(self, ordered, _free(ordered))
        return found

    def _order(self, term: tuple[Monomial, Exact]) -> list[tuple[int, int]]:
        found = self._orders.get(term[0])
        if found is None:
            found = self._orders[term[0]] = [(atom.serial, exponent) for atom, exponent in term[0]]
        return found

    def _made(
        self,
        terms: tuple[tuple[Monomial, Exact], ...],
        free: frozenset[Symbol] | None = None,
    ) -> Polynomial:
        """Return the polynomial of terms that are in order."""
        key = terms if len(terms) < 2 else frozenset(terms)
        found = self._polynomials.get(key)
        if found is None:
            found = Polynomial(self, terms, _free(terms) if free is None else free)
            self._polynomials[key] = found
        return found


def _free(terms: tuple[tuple[Monomial, Exact], ...]) -> frozenset[Symbol]:
    atoms = {atom for monomial, _ in terms for atom, _ in monomial}
    return frozenset().union(*[atom.free for atom in atoms])


_LETTERS = "ijklmn"


def _whole(value: Exact) -> Exact:
    return value if type(value) is int or value.denominator != 1 else int(value)


def _joined(left: Monomial, right: Monomial) -> Monomial:
    """Return the product of two monomials; brackets are their own squares."""
    if not left or not right:
        return left or right
    if left[-1][0].serial < right[0][0].serial:
        return left + right
    if right[-1][0].serial < left[0][0].serial:
        return right + left
    powers = dict(left)
    for atom, exponent in right:
        total = powers.get(atom, 0) + exponent
        if atom.kind in BRACKETS:
            total = 1  # neither exponent is below 0: see `inverse`
        if total:
            powers[atom] = total
        else:
            del powers[atom]
    return tuple(sorted(powers.items(), key=_serial))


def _serial(pair: tuple[Atom, int]) -> int:
    return pair[0].serial
