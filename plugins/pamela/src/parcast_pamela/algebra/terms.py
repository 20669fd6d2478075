"""Taking expressions apart."""

from __future__ import annotations

import math
from collections.abc import Iterable

from parcast_pamela.algebra.polynomials import Atom, Polynomial


def atoms_to_choose(polynomial: Polynomial) -> Iterable[Atom]:
    """Return the factors that a proof replaces by one of a few values."""
    order = {"max": 0, "floor": 1, "ge0": 2, "eq0": 3}
    chosen = {
        atom for monomial, _ in polynomial.terms for atom, _ in monomial if atom.kind in order
    }
    return sorted(chosen, key=lambda atom: (order[atom.kind], -atom.serial))


def split(polynomial: Polynomial, atom: Atom) -> tuple[Polynomial, Polynomial] | None:
    """Return (factor, remainder), neither with the atom as a factor; None where there is no such.

    polynomial = factor * atom + remainder; so the atom stands nowhere to another power than 1.
    """
    kernel = polynomial.kernel
    factor: list[Polynomial] = []
    remainder: list[Polynomial] = []
    for monomial, coefficient in polynomial.terms:
        exponent = next((power for candidate, power in monomial if candidate is atom), 0)
        if exponent not in {0, 1}:
            return None
        others = tuple(pair for pair in monomial if pair[0] is not atom) if exponent else monomial
        (factor if exponent else remainder).append(kernel.monomial(others, coefficient))
    return kernel.total(factor), kernel.total(remainder)


def denominators(polynomial: Polynomial) -> Polynomial:
    """Return the least monomial that clears all fractions of an expression."""
    powers: dict[Atom, int] = {}
    number = 1
    for monomial, coefficient in polynomial.terms:
        number = math.lcm(number, coefficient.denominator)
        for atom, exponent in monomial:
            if exponent < 0:
                powers[atom] = max(powers.get(atom, 0), -exponent)
    ordered = tuple(sorted(powers.items(), key=lambda pair: pair[0].serial))
    return polynomial.kernel.monomial(ordered, number)


def whole_coefficients(polynomial: Polynomial) -> Polynomial:
    """Return an expression of the same sign whose coefficients are whole."""
    number = math.lcm(*(coefficient.denominator for _, coefficient in polynomial.terms))
    return polynomial.kernel.scaled(polynomial, number)


def is_turned(atom: Atom) -> bool:
    """Return whether an atom is written as its negative: ceil(x) for -floor(-x), min for -max."""
    if atom.kind == "floor":
        return _falls(atom.arguments[0])
    return atom.kind == "max" and any(map(_falls, atom.arguments)) and all(
        _falls(arm) or (arm.constant or 1) <= 0 for arm in atom.arguments
    )  # fmt: skip


def _falls(polynomial: Polynomial) -> bool:
    """Return whether an expression has terms that are taken away, and none but numbers added."""
    falling = [
        (coefficient < 0)
        != bool(sum(exponent for atom, exponent in monomial if is_turned(atom)) % 2)
        for monomial, coefficient in polynomial.terms
        if monomial
    ]
    return bool(falling) and all(falling)
