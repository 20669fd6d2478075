"""Expressions as people and other programs read them: text, LaTeX and SymPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import attrs

from parcast_pamela.algebra.polynomials import Atom, Monomial, Polynomial, Symbol
from parcast_pamela.algebra.terms import is_turned
from parcast_pamela.language.functions import Exact, size

#: What the negative of an atom is called, that of its negative arguments
_TURNED = {"floor": "ceil", "max": "min"}
#: Names for indices, as far as no parameter has them
_INDICES = "ijkmnqruvw"


@attrs.frozen
class Dialect:
    """How a language writes what an expression consists of."""

    product: Callable[[list[str]], str]
    quotient: Callable[[str, list[str]], str]
    power: Callable[[str, int], str]
    call: Callable[[str, list[str]], str]  #: floor, ceil, max, min, gcd, log2, ...
    bracket: Callable[[str, str], str]  #: [x >= 0], of ``x`` and ``">="`` or ``"=="``
    over: Callable[[str, str, str, str, str], str]  #: kind, index, low, high, body
    item: Callable[[str, list[str]], str]
    group: Callable[[str], str]
    symbol: Callable[[str], str]


def _plain_quotient(top: str, under: list[str]) -> str:
    return f"{top}/{under[0]}" if len(under) == 1 else f"{top}/({'*'.join(under)})"


def _over_text(kind: str, index: str, low: str, high: str, body: str) -> str:
    return f"{'max' if kind in {'top', 'most'} else kind}({index} = {low}..{high}: {body})"


TEXT = Dialect(
    product="*".join,
    quotient=_plain_quotient,
    power=lambda base, exponent: f"{base}^{exponent}",
    call=lambda name, items: (
        f"{name}({', '.join(items)})" if name != "pow" else f"({items[0]})^({items[1]})"
    ),
    bracket=lambda inner, sign: f"[{inner} {sign} 0]",
    over=_over_text,
    item=lambda name, items: f"{name}[{', '.join(items)}]",
    group=lambda inner: f"({inner})",
    symbol=lambda name: name,
)


_GREEK = frozenset(
    {"alpha", "beta", "gamma", "delta", "tau", "theta", "lambda", "mu", "rho", "sigma", "phi"}
)


def _latex_name(name: str) -> str:
    head, _, tail = name.replace(".", "_").partition("_")
    symbol = f"\\{head}" if head in _GREEK else head if len(head) == 1 else f"\\mathit{{{head}}}"
    inner = tail.replace("_", r"\_")
    return f"{symbol}_{{\\mathit{{{inner}}}}}" if tail else symbol


def _latex_call(name: str, items: list[str]) -> str:
    inner = ", ".join(items)
    if name in {"floor", "ceil"}:
        return rf"\left\l{name} {inner} \right\r{name}"
    if name == "sqrt":
        return rf"\sqrt{{{inner}}}"
    if name == "pow":
        return rf"\left({items[0]}\right)^{{{items[1]}}}"
    word = r"\log_2" if name == "log2" else rf"\{name}" if name != "lcm" else r"\mathrm{lcm}"
    return rf"{word}\left({inner}\right)"


def _latex_over(kind: str, index: str, low: str, high: str, body: str) -> str:
    if kind in {"sum", "prod"}:
        return rf"\{kind}_{{{index}={low}}}^{{{high}}} \left({body}\right)"
    return rf"\max_{{{index}={low} \ldots {high}}} \left({body}\right)"


LATEX = Dialect(
    product=r" \, ".join,
    quotient=lambda top, under: rf"\frac{{{top}}}{{{' '.join(under)}}}",
    power=lambda base, exponent: rf"{{{base}}}^{{{exponent}}}",
    call=_latex_call,
    bracket=lambda inner, sign: (
        rf"\left[{inner} {'=' if sign == '==' else chr(92) + 'ge'} 0\right]"
    ),
    over=_latex_over,
    item=lambda name, items: rf"{_latex_name(name)}_{{{', '.join(items)}}}",
    group=lambda inner: rf"\left({inner}\right)",
    symbol=_latex_name,
)

_SYMPY = {"ceil": "ceiling", "max": "Max", "min": "Min", "gcd": "igcd", "lcm": "ilcm"}


def _sympy_call(name: str, items: list[str]) -> str:
    if name == "log2":
        return f"log({items[0]}, 2)"
    if name == "pow":
        return f"({items[0]})**({items[1]})"
    return f"{_SYMPY.get(name, name)}({', '.join(items)})"


def _sympy_over(kind: str, index: str, low: str, high: str, body: str) -> str:
    word = {"sum": "Sum", "prod": "Product"}.get(kind)
    if word:
        return f"{word}({body}, ({index}, {low}, {high}))"
    return f"Function('maximum')({body}, {index}, {low}, {high})"


SYMPY = Dialect(
    product="*".join,
    quotient=_plain_quotient,
    power=lambda base, exponent: f"{base}**{exponent}",
    call=_sympy_call,
    bracket=lambda inner, sign: (
        f"Piecewise((1, {inner} >= 0), (0, True))"
        if sign == ">="
        else f"Piecewise((1, Eq({inner}, 0)), (0, True))"
    ),
    over=_sympy_over,
    item=lambda name, items: f"IndexedBase('{name}')[{', '.join(items)}]",
    group=lambda inner: f"({inner})",
    symbol=lambda name: name,
)


def text(polynomial: Polynomial, dialect: Dialect = TEXT) -> str:
    """Return an expression in a language, as PAMELA writes it by default.

    -floor(-x) is shown as ceil(x), and -max(-x, -y) as min(x, y).
    """
    used = {atom.arguments[0].name for atom in atoms(polynomial) if atom.kind in {"sym", "item"}}
    free = (letter for letter in _more(_INDICES) if letter not in used)
    names: dict[Symbol, str] = {}
    for atom in atoms(polynomial):
        if atom.kind in {"sum", "top", "prod", "most"} and atom.arguments[0] not in names:
            names[atom.arguments[0]] = next(free)
    return _Printer(dialect, names).sum(polynomial)


def _more(letters: str) -> Iterator[str]:
    yield from letters
    number = 1
    while True:
        yield from (f"{letter}{number}" for letter in letters)
        number += 1


def atoms(polynomial: Polynomial) -> Iterator[Atom]:
    """Yield every atom of an expression, those within others after them."""
    seen: set[Any] = set()
    stack = [polynomial]
    while stack:
        for monomial, _ in stack.pop().terms:
            for atom, _ in monomial:
                if atom not in seen:
                    seen.add(atom)
                    yield atom
                    stack += [inner for inner in atom.arguments if isinstance(inner, Polynomial)]


class _Printer:
    def __init__(self, dialect: Dialect, names: dict[Symbol, str]) -> None:
        self.dialect, self.names = dialect, names
        self.texts: dict[Polynomial, str] = {}  # parts stand in a formula many times over

    def sum(self, polynomial: Polynomial) -> str:
        line = self.texts.get(polynomial)
        if line is None:
            line = self.texts[polynomial] = self._sum(polynomial)
        return line

    def _sum(self, polynomial: Polynomial) -> str:
        if not polynomial.terms:
            return "0"
        parts = sorted((self._rank(*term), *self._term(*term)) for term in polynomial.terms)
        parts.sort(key=lambda part: part[1])  # what is added before what is taken away
        line = ""
        for _, negative, part in parts:
            line += f" {'-' if negative else '+'} {part}" if line else f"{'-' * negative}{part}"
        return line

    def _rank(self, monomial: Monomial, coefficient: Exact) -> Any:
        return not monomial, -sum(e for _, e in monomial), len(monomial), str(coefficient)

    def _term(self, monomial: Monomial, coefficient: Exact) -> tuple[bool, str]:
        """Return whether a term is negative, and its absolute value."""
        fraction, negative = Fraction(size(coefficient)), coefficient < 0
        over: list[tuple[Any, str]] = []
        under: list[tuple[Any, str]] = []
        for atom, exponent in monomial:
            flip, base = self._atom(atom)
            negative ^= flip and exponent % 2 == 1
            power = abs(exponent)
            part = base if power == 1 else self.dialect.power(base, power)
            (over if exponent > 0 else under).append((self._place(atom), part))
        top, bottom = ([part for _, part in sorted(parts)] for parts in (over, under))
        if fraction.numerator != 1 or not top:
            top.insert(0, str(fraction.numerator))
        if fraction.denominator != 1:
            bottom.insert(0, str(fraction.denominator))
        product = self.dialect.product(top)
        return negative, self.dialect.quotient(product, bottom) if bottom else product

    def _place(self, atom: Atom) -> tuple[bool, str]:
        return atom.kind != "sym", atom.arguments[0].name if atom.kind == "sym" else ""

    def _atom(self, atom: Atom) -> tuple[bool, str]:
        """Return whether the sign is to be turned, and the atom's text."""
        kind, arguments, dialect = atom.kind, atom.arguments, self.dialect
        if kind == "sym":
            symbol = arguments[0]
            return False, self.names.get(symbol) or dialect.symbol(symbol.name)
        if kind == "item":
            return False, dialect.item(arguments[0].name, list(map(self.sum, arguments[1:])))
        if kind == "poly":
            return False, dialect.group(self.sum(arguments[0]))
        if kind in {"ge0", "eq0"}:
            return False, dialect.bracket(self.sum(arguments[0]), ">=" if kind == "ge0" else "==")
        if kind in {"sum", "prod", "top", "most"}:
            index, *inner = arguments
            return False, dialect.over(kind, self.names[index], *map(self.sum, inner))
        if is_turned(atom):
            word, items = _TURNED[kind], [self.sum(-argument) for argument in arguments]
            return True, dialect.call(word, sorted(items) if word == "min" else items)
        items = list(map(self.sum, arguments))
        return False, dialect.call(kind, sorted(items, key=_short) if kind == "max" else items)


def _short(item: str) -> tuple[int, str]:
    return len(item), item
