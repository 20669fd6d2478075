"""What an expression is of an index: linear, or a multiple of the floor of a linear one."""

from __future__ import annotations

import attrs

from parcast_pamela.algebra.polynomials import Atom, Polynomial, Symbol
from parcast_pamela.algebra.rules import Rules
from parcast_pamela.algebra.terms import split


@attrs.frozen
class Linear:
    """factor * index + offset, neither of them depending on the index."""

    factor: Polynomial
    offset: Polynomial


@attrs.frozen
class Block:
    """(sign * index + offset) / size up to less than 1 / size.

    ``size`` is certainly whole and positive, ``offset`` whole.
    """

    sign: int
    offset: Polynomial
    size: Polynomial

    def ends(self, low: Polynomial, high: Polynomial) -> tuple[Polynomial, Polynomial]:
        """Return the ends of sign * index + offset for an index from ``low`` to ``high``."""
        if self.sign > 0:
            return low + self.offset, high + self.offset
        return self.offset - high, self.offset - low

    def indices(self, first: Polynomial, last: Polynomial) -> tuple[Polynomial, Polynomial]:
        """Return the ends of the index for sign * index + offset from ``first`` to ``last``."""
        if self.sign > 0:
            return first - self.offset, last - self.offset
        return self.offset - last, self.offset - first


@attrs.frozen
class FloorForm:
    """factor * floor(block) + remainder, only the block depending on the index."""

    factor: Polynomial
    remainder: Polynomial
    block: Block


class IndexForms:
    """Recognizes how expressions depend on an index; None is any other way."""

    def __init__(self, rules: Rules) -> None:
        self.rules, self.kernel, self.signs = rules, rules.kernel, rules.signs

    def linear(self, polynomial: Polynomial, index: Symbol) -> Linear | None:
        """Return an expression as a linear one of the index."""
        parts = split(polynomial, self.kernel.atom("sym", index))
        if parts is None or any(index in part.free for part in parts):
            return None
        return Linear(*parts)

    def block(self, inner: Polynomial, index: Symbol) -> Block | None:
        """Return an expression as one whose floor is that of a block."""
        line = self.linear(inner, index)
        if line is None or len(line.factor.terms) != 1:
            return None
        sign = 1 if line.factor.terms[0][1] > 0 else -1
        size = self.kernel.inverse(sign * line.factor)
        if not self.signs.integer(size) or not self.signs.nonneg(size - 1):
            return None
        return Block(sign, self.rules.floor(self.kernel.expanded(line.offset * size)), size)

    def floor_term(
        self, polynomial: Polynomial, index: Symbol
    ) -> tuple[Atom, Polynomial, Polynomial] | None:
        """Return (floor, f, remainder), an expression f floor + remainder.

        It is the only floor of the index, which the others may depend on otherwise.
        """
        floors = {
            atom for monomial, _ in polynomial.terms for atom, _ in monomial
            if atom.kind == "floor" and index in atom.free
        }  # fmt: skip
        if len(floors) != 1:
            return None
        (atom,) = floors
        parts = split(polynomial, atom)
        return None if parts is None else (atom, *parts)

    def floor_form(self, polynomial: Polynomial, index: Symbol) -> FloorForm | None:
        """Return an expression as a multiple of the floor of a block."""
        term = self.floor_term(polynomial, index)
        if term is None:
            return None
        atom, factor, remainder = term
        if index in factor.free | remainder.free:
            return None
        block = self.block(atom.arguments[0], index)
        return None if block is None else FloorForm(factor, remainder, block)

    def index_over(
        self, index: Symbol, low: Polynomial, high: Polynomial, *bodies: Polynomial
    ) -> Symbol:
        """Return an index over another range that occurs in none of the bodies.

        A body may hold indices of any level besides ``index``, and one of the same range and
        level would be the same symbol.
        """
        return self.kernel.index(low, high, [index, *(s for body in bodies for s in body.free)])
