"""Expressions as values: symbols, atoms, monomials, and polynomials over them.

An expression is a sum of monomials with exact rational coefficients; a monomial is a product of
atoms with whole exponents, negative ones included. Everything else is an atom: a symbol, an
element of an array, ``floor``, ``max``, an Iverson bracket, a sum that has no closed form.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

import attrs

from parcast_pamela.language.functions import Exact

#: Kinds of atoms whose first argument is an index that is bound in the last
BINDERS = frozenset({"sum", "top", "prod", "most"})
#: Kinds of atoms that are 0 or 1
BRACKETS = frozenset({"ge0", "eq0"})


@attrs.frozen(eq=False)
class Symbol:
    """A parameter or an index, with what is known of it.

    ``low`` and ``high`` of an index are its range, which holds wherever the index occurs.
    """

    name: str
    integer: bool = False
    low: Any = None
    high: Any = None
    level: int = 0  #: of an index: 1 more than that of any index its range depends on
    positive: bool = False  #: a parameter above 0, whatever ``low`` is


class Atom:
    """An indivisible factor; ``arguments`` are expressions, symbols or names."""

    __slots__ = ("arguments", "free", "kind", "serial")

    def __init__(
        self, kind: str, arguments: tuple[Any, ...], serial: int, free: frozenset[Symbol]
    ) -> None:
        self.kind, self.arguments, self.serial, self.free = kind, arguments, serial, free

    def __repr__(self) -> str:
        return f"{self.kind}{self.arguments}"


Monomial = tuple[tuple[Atom, int], ...]


def monomial_product(left: Monomial, right: Monomial) -> Monomial:
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
            total = 1  # neither exponent is below 0: see `Kernel.inverse`
        if total:
            powers[atom] = total
        else:
            del powers[atom]
    return tuple(sorted(powers.items(), key=_serial))


def _serial(pair: tuple[Atom, int]) -> int:
    return pair[0].serial


class Arithmetic(Protocol):
    """What a polynomial takes of the kernel that made it."""

    def of(self, value: Polynomial | Exact) -> Polynomial:
        """Return a number as a polynomial, and a polynomial as it is."""

    def number(self, value: Exact) -> Polynomial:
        """Return a constant."""

    def monomial(self, monomial: Monomial, coefficient: Exact = 1) -> Polynomial:
        """Return a monomial as a polynomial."""

    def power(self, atom: Atom, exponent: int) -> Polynomial:
        """Return an atom to a power."""

    def total(self, items: Iterable[Polynomial]) -> Polynomial:
        """Return the sum of several."""

    def add(self, left: Polynomial, right: Polynomial) -> Polynomial:
        """Return the sum."""

    def subtract(self, left: Polynomial, right: Polynomial) -> Polynomial:
        """Return the difference."""

    def scaled(self, polynomial: Polynomial, factor: Exact) -> Polynomial:
        """Return a polynomial times a number."""

    def multiply(self, left: Polynomial, right: Polynomial) -> Polynomial:
        """Return the product, expanded."""

    def inverse(self, polynomial: Polynomial) -> Polynomial:
        """Return 1 / polynomial, which must not be 0."""

    def expanded(self, polynomial: Polynomial) -> Polynomial:
        """Return a polynomial with every sum that stands as a factor multiplied out."""

    def text(self, polynomial: Polynomial) -> str:
        """Return a polynomial as PAMELA writes it."""


class Polynomial:
    """A sum of monomials, made by its kernel alone."""

    __slots__ = ("free", "kernel", "terms")

    def __init__(
        self, kernel: Arithmetic, terms: tuple[tuple[Monomial, Exact], ...], free: frozenset[Symbol]
    ) -> None:
        self.kernel, self.terms, self.free = kernel, terms, free

    def __add__(self, other: Polynomial | Exact) -> Polynomial:
        return self.kernel.add(self, self.kernel.of(other))

    __radd__ = __add__

    def __sub__(self, other: Polynomial | Exact) -> Polynomial:
        return self.kernel.subtract(self, self.kernel.of(other))

    def __rsub__(self, other: Exact) -> Polynomial:
        return self.kernel.subtract(self.kernel.of(other), self)

    def __neg__(self) -> Polynomial:
        return self.kernel.scaled(self, -1)

    def __mul__(self, other: Polynomial | Exact) -> Polynomial:
        return self.kernel.multiply(self, self.kernel.of(other))

    __rmul__ = __mul__

    def __truediv__(self, other: Polynomial | Exact) -> Polynomial:
        return self.kernel.multiply(self, self.kernel.inverse(self.kernel.of(other)))

    def __pow__(self, exponent: int) -> Polynomial:
        if exponent == 0:
            return self.kernel.number(1)
        result = base = self if exponent > 0 else self.kernel.inverse(self)
        for _ in range(abs(exponent) - 1):
            result = self.kernel.multiply(result, base)
        return result

    @property
    def constant(self) -> Exact | None:
        """The value of a number, or None."""
        if not self.terms:
            return 0
        if len(self.terms) == 1 and not self.terms[0][0]:
            return self.terms[0][1]
        return None

    def __repr__(self) -> str:
        return self.kernel.text(self)
