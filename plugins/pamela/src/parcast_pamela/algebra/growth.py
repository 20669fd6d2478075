"""Whether an expression rises or falls with an index: sound, and never complete."""

from __future__ import annotations

from typing import Protocol

from parcast_pamela.algebra.kernel import Kernel
from parcast_pamela.algebra.polynomials import Atom, Monomial, Polynomial, Symbol


class SignProofs(Protocol):
    """What is certain of signs; whoever proves them may ask for directions in turn."""

    kernel: Kernel

    def nonneg(self, polynomial: Polynomial) -> bool:
        """Return whether an expression is certainly 0 or more."""

    def nonpos(self, polynomial: Polynomial) -> bool:
        """Return whether an expression is certainly 0 or less."""

    def atom_sign(self, atom: Atom) -> bool:
        """Return whether an atom is certainly 0 or more."""


def direction(signs: SignProofs, polynomial: Polynomial, index: Symbol) -> int | None:
    """Return 1 if an expression never falls as an index grows, -1 if it never rises.

    0 means that it does not depend on the index, None that nothing is known.
    """
    if index not in polynomial.free:
        return 0
    directions = {
        _term_direction(signs, monomial, coefficient, index)
        for monomial, coefficient in polynomial.terms
    } - {0}
    if len(directions) == 1 and None not in directions:
        return directions.pop()
    if any(a.kind != "sym" and index in a.free for m, _ in polynomial.terms for a, _ in m):
        return None
    step = signs.kernel.substitute(polynomial, {index: signs.kernel.value(index) + 1}) - polynomial
    if signs.nonneg(step):
        return 1
    return -1 if signs.nonpos(step) else None


def _term_direction(
    signs: SignProofs, monomial: Monomial, coefficient: object, index: Symbol
) -> int | None:
    """Return the direction of a term whose factors are all 0 or more."""
    if not any(index in atom.free for atom, _ in monomial):
        return 0
    total = 0
    moving = [(atom, e) for atom, e in monomial if index in atom.free]
    alone = len(monomial) == 1 and moving[0][1] == 1
    if not alone and not all(signs.atom_sign(atom) for atom, _ in monomial):
        return None
    for atom, exponent in moving:
        atom_direction = _atom_direction(signs, atom, index)
        if atom_direction is None:
            return None
        atom_direction = atom_direction if exponent > 0 else -atom_direction
        if total and atom_direction != total:
            return None
        total = atom_direction
    return total if coefficient > 0 else -total  # type: ignore[operator]


def _atom_direction(signs: SignProofs, atom: Atom, index: Symbol) -> int | None:
    if atom.kind == "sym":
        return 1
    if atom.kind in {"floor", "log2", "log", "exp", "sqrt", "ge0", "poly"}:
        return direction(signs, atom.arguments[0], index)
    if atom.kind == "max":
        directions = {direction(signs, arm, index) for arm in atom.arguments} - {0}
        return directions.pop() if len(directions) == 1 else None
    return None
