"""Expressions as text."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from parcast_pamela.language.functions import Exact

if TYPE_CHECKING:
    from parcast_pamela.algebra.kernel import Atom, Monomial, Polynomial


def text(one: Polynomial) -> str:
    """Return an expression as PAMELA writes it, brackets as ``[x >= 0]``."""
    if not one.terms:
        return "0"
    ordered = sorted(one.terms, key=_rank)
    shown = ""
    for monomial, coefficient in ordered:
        part = _term(monomial, abs(coefficient))
        sign = "-" if coefficient < 0 else "+"
        shown += f" {sign} {part}" if shown else (f"-{part}" if coefficient < 0 else part)
    return shown


def _rank(term: tuple[Monomial, Exact]) -> Any:
    monomial, coefficient = term
    return not monomial, coefficient < 0, -sum(e for _, e in monomial), _term(monomial, 1)


def _term(monomial: Monomial, coefficient: Exact) -> str:
    fraction = Fraction(coefficient)
    over = [_power(atom, e) for atom, e in monomial if e > 0]
    under = [_power(atom, -e) for atom, e in monomial if e < 0]
    if fraction.numerator != 1 or not over:
        over.insert(0, str(fraction.numerator))
    if fraction.denominator != 1:
        under.insert(0, str(fraction.denominator))
    top = "*".join(sorted(over, key=_numbers_first))
    if not under:
        return top
    return f"{top}/{under[0]}" if len(under) == 1 else f"{top}/({'*'.join(under)})"


def _numbers_first(part: str) -> tuple[bool, bool, str]:
    return not part[0].isdigit(), "(" in part, part


def _power(atom: Atom, exponent: int) -> str:
    base = atom_text(atom)
    return base if exponent == 1 else f"{base}^{exponent}"


def atom_text(atom: Atom) -> str:
    """Return an atom as text."""
    arguments, kind = atom.arguments, atom.kind
    if kind == "sym":
        name: str = arguments[0].name
        return name
    if kind == "item":
        return f"{arguments[0].name}[{', '.join(map(text, arguments[1:]))}]"
    if kind == "poly":
        return f"({text(arguments[0])})"
    if kind == "ge0":
        return f"[{text(arguments[0])} >= 0]"
    if kind == "eq0":
        return f"[{text(arguments[0])} == 0]"
    if kind in {"sum", "prod", "top", "most"}:
        index, low, high, body = arguments
        name = {"top": "max", "most": "max"}.get(kind, kind)
        return f"{name}({index.name}={text(low)}..{text(high)}: {text(body)})"
    if kind == "pow":
        return f"({text(arguments[0])})^({text(arguments[1])})"
    return f"{kind}({', '.join(sorted(map(text, arguments)) if kind == 'max' else map(text, arguments))})"
