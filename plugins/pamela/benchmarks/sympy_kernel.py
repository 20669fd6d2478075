"""The kernel's arithmetic by SymPy: slow, and independent of ours, to check the rules with."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import sympy

from parcast_pamela.algebra.kernel import Kernel
from parcast_pamela.algebra.polynomials import BRACKETS, Atom, Monomial, Polynomial
from parcast_pamela.language.functions import Exact


class SympyKernel(Kernel):
    """Polynomials as SymPy's expressions, each atom a symbol of its own."""

    def __init__(self) -> None:
        super().__init__()
        self._symbol_of: dict[Atom, sympy.Symbol] = {}
        self._atom_of: dict[Any, Atom] = {}
        self._form: dict[Polynomial, Any] = {}
        self._shown: dict[Any, Polynomial] = {}

    def number(self, value: Exact) -> Polynomial:
        """Return a constant."""
        return self._read(_rational(value))

    def power(self, atom: Atom, exponent: int) -> Polynomial:
        """Return an atom to a power."""
        return self.monomial(((atom, exponent),))

    def monomial(self, monomial: Monomial, coefficient: Exact = 1) -> Polynomial:
        """Return a monomial as an expression."""
        factors = [self._symbol(atom) ** exponent for atom, exponent in monomial]
        return self._read(sympy.Mul(_rational(coefficient), *factors))

    def add(self, left: Polynomial, right: Polynomial) -> Polynomial:
        """Return the sum."""
        return self._read(self._form[left] + self._form[right])

    def subtract(self, left: Polynomial, right: Polynomial) -> Polynomial:
        """Return the difference."""
        return self._read(self._form[left] - self._form[right])

    def total(self, items: Iterable[Polynomial]) -> Polynomial:
        """Return the sum of several."""
        return self._read(sympy.Add(*(self._form[polynomial] for polynomial in items)))

    def scaled(self, polynomial: Polynomial, factor: Exact) -> Polynomial:
        """Return an expression times a number."""
        return self._read(sympy.expand(self._form[polynomial] * _rational(factor)))

    def multiply(self, left: Polynomial, right: Polynomial) -> Polynomial:
        """Return the product, expanded; brackets are their own squares."""
        product = sympy.expand(self._form[left] * self._form[right])
        squares = {
            power: power.base
            for power in product.atoms(sympy.Pow)
            if power.base in self._atom_of and self._atom_of[power.base].kind in BRACKETS
        }
        return self._read(product.xreplace(squares))

    def inverse(self, polynomial: Polynomial) -> Polynomial:
        """Return 1 / expression, which must not be 0; so 1 / bracket is the bracket, being 1."""
        if not polynomial.terms:
            raise ZeroDivisionError
        if len(polynomial.terms) == 1:
            monomial, coefficient = polynomial.terms[0]
            inverted = tuple((a, e if a.kind in BRACKETS else -e) for a, e in monomial)
            return self.monomial(inverted, Fraction(1) / coefficient)
        leading = Fraction(1) / polynomial.terms[0][1]
        atom = self.atom("poly", self.scaled(polynomial, leading))
        return self.scaled(self.power(atom, -1), leading)

    def _symbol(self, atom: Atom) -> Any:
        if atom not in self._symbol_of:
            symbol = sympy.Symbol(f"x{atom.serial}")
            self._symbol_of[atom], self._atom_of[symbol] = symbol, atom
        return self._symbol_of[atom]

    def _read(self, form: Any) -> Polynomial:
        """Return the polynomial that an expanded expression is."""
        if form not in self._shown:
            terms = [self._term(term) for term in sympy.Add.make_args(form) if term != 0]
            ordered = tuple(sorted(terms, key=self._order))
            free = frozenset[Any]().union(
                *(atom.free for monomial, _ in ordered for atom, _ in monomial)
            )
            polynomial = self._shown[form] = Polynomial(self, ordered, free)
            self._form[polynomial] = form
        return self._shown[form]

    def _term(self, term: Any) -> tuple[Monomial, Exact]:
        number, product = term.as_coeff_Mul()
        factors = (factor.as_base_exp() for factor in sympy.Mul.make_args(product) if factor != 1)
        powers = [(self._atom_of[base], int(exponent)) for base, exponent in factors]
        value = Fraction(int(number.p), int(number.q))
        coefficient = int(value) if value.denominator == 1 else value
        return tuple(sorted(powers, key=lambda pair: pair[0].serial)), coefficient


def _rational(value: Exact) -> Any:
    return sympy.Rational(value.numerator, value.denominator)
