"""What binds at a point: the active arm of every maximum, and exact derivatives of it."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from parcast_pamela.algebra.exact import ExactValues
from parcast_pamela.algebra.polynomials import Atom, Polynomial
from parcast_pamela.compilation.compiler import Compiled
from parcast_pamela.language.functions import ArithmeticRefusedError, Exact, exact

_STEPS = frozenset({"floor", "ge0", "eq0", "gcd", "lcm"})


@attrs.frozen
class Regime:
    """The formula that T^l is near a point, and by how much each parameter moves it.

    ``active`` has every maximum replaced by its largest arm. ``derivatives`` are exact, taken
    where whole steps (floor, brackets) stand still; ``elasticities`` are percent per percent.
    """

    active: Polynomial
    derivatives: Mapping[str, Exact | float]
    elasticities: Mapping[str, float]


def regime(compiled: Compiled, bound: Mapping[str, Any], names: list[str] | None = None) -> Regime:
    """Return the regime of T^l at parameters that are bound (`parcast_pamela.bindings.bind`).

    At a tie the first arm counts, so that derivatives are those on one side.
    """
    values = ExactValues(bound)
    active = active_branch(compiled.bound, values)
    total = values.value(compiled.bound)
    if names is None:
        names = [
            name for name, parameter in compiled.model.parameters.items()
            if parameter.type != "int" and not parameter.dims
        ]  # fmt: skip
    slopes = {name: derivative(compiled.bound, name, values) for name in names}
    shares = {
        name: float(slope * bound[name] / total) if total else 0.0 for name, slope in slopes.items()
    }
    return Regime(active, slopes, shares)


def active_branch(polynomial: Polynomial, values: ExactValues) -> Polynomial:
    """Return an expression with each maximum outside of sums replaced by its largest arm."""
    kernel = polynomial.kernel
    total = kernel.number(0)
    for monomial, coefficient in polynomial.terms:
        part = kernel.number(coefficient)
        for atom, exponent in monomial:
            base = kernel.power(atom, 1)
            if atom.kind == "max" and not any(symbol.level for symbol in atom.free):
                arm = max(atom.arguments, key=values.value)
                base = active_branch(arm, values)
            part = part * base**exponent
        total = total + part
    return total


def derivative(polynomial: Polynomial, name: str, values: ExactValues) -> Exact | float:
    """Return the exact derivative of an expression by a parameter, on its active branch."""
    if not any(symbol.name == name for symbol in polynomial.free):
        return 0
    total: Exact = 0
    for monomial, coefficient in polynomial.terms:
        for position, (atom, exponent) in enumerate(monomial):
            if not any(symbol.name == name for symbol in atom.free):
                continue
            cofactor = polynomial.kernel.monomial(
                tuple(pair for at, pair in enumerate(monomial) if at != position), coefficient
            )
            inner = _atom_derivative(atom, name, values)
            if inner:
                base = values.value(polynomial.kernel.power(atom, 1))
                total += (
                    values.value(cofactor) * exponent * Fraction(base) ** (exponent - 1) * inner
                )
    return exact(total)


def _atom_derivative(atom: Atom, name: str, values: ExactValues) -> Exact:
    kind, arguments = atom.kind, atom.arguments
    if kind == "sym":
        return int(arguments[0].name == name)
    if kind in _STEPS:
        return 0
    if kind == "max":
        return exact(derivative(max(arguments, key=values.value), name, values))
    if kind == "poly":
        return exact(derivative(arguments[0], name, values))
    if kind in {"sum", "top"}:
        return _over(kind, *arguments, name=name, values=values)
    inner = exact(derivative(arguments[0], name, values)) if kind != "item" else 0
    value = float(values.value(arguments[0])) if kind != "item" else 0.0
    if kind == "log2":
        return exact(Fraction(inner) / exact(value * 0.6931471805599453))
    if kind == "log":
        return exact(Fraction(inner) / exact(value))
    if kind == "sqrt":
        return exact(Fraction(inner) / exact(2 * value**0.5))
    if kind == "exp":
        return exact(inner * values.value(atom_value(atom)))
    if kind == "item":
        return 0
    raise ArithmeticRefusedError(f"there is no derivative of {kind} by {name}")


def atom_value(atom: Atom) -> Polynomial:
    """Return an atom as an expression of its own kernel."""
    return atom.arguments[0].kernel.power(atom, 1)  # type: ignore[no-any-return]


def _over(
    kind: str,
    index: Any,
    low: Polynomial,
    high: Polynomial,
    body: Polynomial,
    *,
    name: str,
    values: ExactValues,
) -> Exact:
    span = range(int(values.value(low)), int(values.value(high)) + 1)
    slopes: list[tuple[Exact, Exact]] = []
    for i in span:
        with values.at(index, i):
            slopes.append((values.value(body), exact(derivative(body, name, values))))
    if kind == "sum":
        return exact(sum(slope for _, slope in slopes))
    return max(slopes, key=lambda pair: pair[0])[1] if slopes else 0


def tolerance(compiled: Compiled, bound: Mapping[str, Any], name: str) -> Exact | None:
    """Return up to which value a time parameter may grow before T^l is above its present value.

    None where it may grow without end. T^l never falls as a time grows, and is piecewise linear
    in it, so that each step goes to the next bend along the line.
    """
    before = ExactValues(bound).value(compiled.bound)
    low, high = exact(bound[name]), exact(max(bound[name], Fraction(1, 10**9)) * 2)
    for _ in range(200):
        if ExactValues({**bound, name: high}).value(compiled.bound) > before:
            break
        low, high = high, exact(high * 2)
    else:
        return None
    for _ in range(200):
        at = ExactValues({**bound, name: high})
        value, slope = at.value(compiled.bound), exact(derivative(compiled.bound, name, at))
        if value == before or not slope:
            return high
        following = exact(high - Fraction(value - before) / slope)
        if following <= low:
            return low
        high = following
    return high
