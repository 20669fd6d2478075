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
    monomial_product,
)
from parcast_pamela.algebra.printing import text
from parcast_pamela.language.errors import TooLargeError
from parcast_pamela.language.functions import Exact

#: Products of sums of more terms are refused.
MOST_PRODUCTS = 100_000

#: Terms of all formulas of a model that are held, some 1 kB each; a model of more is refused.
MOST_TERMS = 2_000_000


class Kernel:
    """Makes atoms and polynomials, each once; the `Arithmetic` of polynomials.

    Another kernel, such as one of SymPy, has arithmetic of its own.
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
        self._terms = 0  #: of all polynomials

    def of(self, value: Polynomial | Exact) -> Polynomial:
        """Return a number as an expression, and an expression as it is."""
        return value if isinstance(value, Polynomial) else self.number(value)

    def number(self, value: Exact) -> Polynomial:
        """Return a constant."""
        polynomial = self._numbers.get(value)
        if polynomial is None:
            terms = (((), _whole(value)),) if value else ()
            polynomial = self._numbers[value] = self._from_ordered(terms, frozenset())
        return polynomial

    def parameter(
        self, name: str, *, integer: bool = False, low: Any = None, positive: bool = False
    ) -> Symbol:
        """Return the parameter of a name; what is known of it counts the first time."""
        if name not in self._symbols:
            self._symbols[name] = Symbol(name, integer, low, positive=positive)
        return self._symbols[name]

    def index(self, low: Polynomial, high: Polynomial, avoiding: Iterable[Symbol] = ()) -> Symbol:
        """Return an index over a range that is none of ``avoiding``."""
        level = 1 + max((symbol.level for symbol in (*low.free, *high.free, *avoiding)), default=0)
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
        atom = self._atoms.get(key)
        if atom is None:
            free: set[Symbol] = {arguments[0]} if kind == "sym" else set()
            for argument in arguments:
                if isinstance(argument, Polynomial):
                    free |= argument.free
            if kind in BINDERS:
                free.discard(arguments[0])
            atom = self._atoms[key] = Atom(kind, arguments, len(self._atoms), frozenset(free))
        return atom

    def power(self, atom: Atom, exponent: int) -> Polynomial:
        """Return an atom to a power."""
        return self._from_ordered(((((atom, exponent),), 1),), atom.free)

    def call(self, kind: str, *arguments: Any) -> Polynomial:
        """Return an atom as an expression."""
        return self.power(self.atom(kind, *arguments), 1)

    def monomial(self, monomial: Monomial, coefficient: Exact = 1) -> Polynomial:
        """Return a monomial as an expression."""
        return self._from_terms({monomial: coefficient})

    def add(self, left: Polynomial, right: Polynomial) -> Polynomial:
        """Return the sum."""
        if not left.terms:
            return right
        if not right.terms:
            return left
        if len(left.terms) < len(right.terms):
            left, right = right, left
        return self._sum(left, right, 1)

    def subtract(self, left: Polynomial, right: Polynomial) -> Polynomial:
        """Return the difference."""
        return self._sum(left, right, -1) if right.terms else left

    def _sum(self, left: Polynomial, right: Polynomial, sign: int) -> Polynomial:
        terms = dict(left.terms)
        for monomial, coefficient in right.terms:
            total = terms.get(monomial, 0) + sign * coefficient
            if total:
                terms[monomial] = _whole(total)
            else:
                del terms[monomial]
        return self._from_terms(terms)

    def total(self, items: Iterable[Polynomial]) -> Polynomial:
        """Return the sum of several."""
        terms: dict[Monomial, Exact] = {}
        for polynomial in items:
            for monomial, coefficient in polynomial.terms:
                terms[monomial] = terms.get(monomial, 0) + coefficient
        return self._from_terms({key: _whole(value) for key, value in terms.items() if value})

    def scaled(self, polynomial: Polynomial, factor: Exact) -> Polynomial:
        """Return an expression times a number."""
        if factor == 1:
            return polynomial
        if not factor:
            return self.number(0)
        terms = tuple((monomial, _whole(value * factor)) for monomial, value in polynomial.terms)
        return self._from_ordered(terms, polynomial.free)

    def multiply(self, left: Polynomial, right: Polynomial) -> Polynomial:
        """Return the product, expanded."""
        for first, second in ((left, right), (right, left)):
            if (factor := first.constant) is not None:
                return self.scaled(second, factor)
        if len(left.terms) * len(right.terms) > MOST_PRODUCTS:
            raise _too_large()
        terms: dict[Monomial, Exact] = {}
        for left_monomial, a in left.terms:
            for right_monomial, b in right.terms:
                monomial = monomial_product(left_monomial, right_monomial)
                terms[monomial] = terms.get(monomial, 0) + a * b
        return self._from_terms({key: _whole(value) for key, value in terms.items() if value})

    def inverse(self, one: Polynomial) -> Polynomial:
        """Return 1 / expression, which must not be 0; so 1 / bracket is the bracket, being 1."""
        if len(one.terms) == 1:
            monomial, coefficient = one.terms[0]
            inverted = tuple((a, e if a.kind in BRACKETS else -e) for a, e in monomial)
            return self._from_terms({inverted: _whole(Fraction(1) / coefficient)})
        if not one.terms:
            raise ZeroDivisionError
        leading = one.terms[0][1]
        scaled = self.scaled(one, Fraction(1) / leading)
        return self.scaled(self.power(self.atom("poly", scaled), -1), Fraction(1) / leading)

    def expanded(self, polynomial: Polynomial) -> Polynomial:
        """Return an expression with every sum that stands as a factor multiplied out."""
        if not any(a.kind == "poly" and e > 0 for m, _ in polynomial.terms for a, e in m):
            return polynomial
        parts = []
        for monomial, coefficient in polynomial.terms:
            remaining = tuple(pair for pair in monomial if pair[0].kind != "poly" or pair[1] < 0)
            part = self.monomial(remaining, coefficient)
            for atom, exponent in monomial:
                if atom.kind == "poly" and exponent > 0:
                    part = part * atom.arguments[0] ** exponent
            parts.append(part)
        return self.expanded(self.total(parts))

    def text(self, polynomial: Polynomial) -> str:
        """Return a polynomial as PAMELA writes it."""
        return text(polynomial)

    def substitute(self, polynomial: Polynomial, values: Mapping[Symbol, Polynomial]) -> Polynomial:
        """Return an expression with symbols replaced, simplified no further."""
        return self.rebuilt(polynomial, values, self.call)

    def rebuilt(
        self, polynomial: Polynomial, values: Mapping[Symbol, Polynomial], make: Any
    ) -> Polynomial:
        """Return an expression with symbols replaced, each changed atom made by ``make``."""
        if polynomial.free.isdisjoint(values):
            return polynomial
        replaced = ((s.name, id(s), e) for s, e in values.items() if s in polynomial.free)
        key = polynomial, tuple(sorted(replaced, key=lambda item: item[:2])), make
        result = self._substituted.get(key)
        if result is None:
            parts = [self._substitute_term(*term, values, make) for term in polynomial.terms]
            result = self._substituted[key] = self.total(parts)
        return result

    def _substitute_term(
        self, monomial: Monomial, coefficient: Exact, values: Mapping[Symbol, Polynomial], make: Any
    ) -> Polynomial:
        moved = [pair for pair in monomial if not pair[0].free.isdisjoint(values)]
        if not moved:
            return self.monomial(monomial, coefficient)
        unchanged = tuple(pair for pair in monomial if pair[0].free.isdisjoint(values))
        result = self.monomial(unchanged, coefficient)
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
                self.rebuilt(argument, values, make)
                if isinstance(argument, Polynomial)
                else argument
                for argument in atom.arguments
            )
            return make(atom.kind, *arguments)  # type: ignore[no-any-return]
        index, low, high, body = atom.arguments
        low, high = self.rebuilt(low, values, make), self.rebuilt(high, values, make)
        free = [symbol for value in values.values() for symbol in value.free]
        # what comes in may be named as what is bound here is, the ranges being equal
        new = self.index(low, high, [*free, *(s for s in body.free if s is not index)])
        inner = {s: e for s, e in values.items() if s is not index} | {index: self.value(new)}
        return make(atom.kind, new, low, high, self.rebuilt(body, inner, make))  # type: ignore[no-any-return]

    def _from_terms(self, terms: Mapping[Monomial, Exact]) -> Polynomial:
        if len(terms) < 2:
            return self._from_ordered(tuple(terms.items()))
        key = frozenset(terms.items())
        polynomial = self._polynomials.get(key)
        if polynomial is None:
            ordered = tuple(sorted(terms.items(), key=self._order))
            polynomial = self._polynomials[key] = self._held(ordered, _free(ordered))
        return polynomial

    def _order(self, term: tuple[Monomial, Exact]) -> list[tuple[int, int]]:
        order = self._orders.get(term[0])
        if order is None:
            order = self._orders[term[0]] = [(atom.serial, exponent) for atom, exponent in term[0]]
        return order

    def _from_ordered(
        self, terms: tuple[tuple[Monomial, Exact], ...], free: frozenset[Symbol] | None = None
    ) -> Polynomial:
        """Return the polynomial of terms that are in order."""
        key = terms if len(terms) < 2 else frozenset(terms)
        polynomial = self._polynomials.get(key)
        if polynomial is None:
            polynomial = self._held(terms, _free(terms) if free is None else free)
            self._polynomials[key] = polynomial
        return polynomial

    def _held(
        self, terms: tuple[tuple[Monomial, Exact], ...], free: frozenset[Symbol]
    ) -> Polynomial:
        """Return a new polynomial, if there is room for it."""
        self._terms += len(terms)
        if self._terms > MOST_TERMS:
            raise _too_large()
        return Polynomial(self, terms, free)


def _too_large() -> TooLargeError:
    return TooLargeError("the formula becomes too large; let a parameter stand for a part of it")


def _free(terms: tuple[tuple[Monomial, Exact], ...]) -> frozenset[Symbol]:
    atoms = {atom for monomial, _ in terms for atom, _ in monomial}
    return frozenset().union(*[atom.free for atom in atoms])


_LETTERS = "ijklmn"


def _whole(value: Exact) -> Exact:
    return value if type(value) is int or value.denominator != 1 else int(value)
