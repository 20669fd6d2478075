"""Expressions written line by line, each common part computed once."""

from __future__ import annotations

import keyword
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from typing import Any

from parcast_pamela.algebra.polynomials import BINDERS, BRACKETS, Atom, Monomial, Polynomial, Symbol
from parcast_pamela.algebra.terms import denominators, is_turned
from parcast_pamela.codegen.products import Pair, replaced
from parcast_pamela.codegen.targets import Target
from parcast_pamela.compilation.compiler import Compiled
from parcast_pamela.language.functions import Exact, size

_STARTS = {"sum": "0", "top": "0", "prod": "1"}


class Writer:
    """Writes expressions; every atom becomes a variable in the outermost loop that it can."""

    def __init__(
        self,
        compiled: Compiled,
        target: Target,
        products: Mapping[Pair, str] | None = None,
        single: Container[Atom] = (),
    ) -> None:
        self.compiled, self.target = compiled, target
        self.scopes: list[tuple[set[Symbol], dict[Any, str], list[str]]] = [(set(), {}, [])]
        self.products, self.single = products or {}, single  # single: atoms that occur once
        self.uses = Counter[Atom]()
        self.terms: list[list[str]] = []  #: factors of the products
        self.levels: dict[str, int] = {}  #: in how many loops variables stand
        self.count = 0
        #: Variables that whole expressions stand in
        self.whole: dict[Polynomial, str] = {}

    def variable_of(self, polynomial: Polynomial) -> str:
        """Return a variable with the value of an expression; a number stays as it is."""
        if polynomial not in self.whole:
            value = self._as_maximum(polynomial) or self.sum(polynomial)
            if value.isidentifier() or polynomial.constant is not None:
                self.whole[polynomial] = value
            else:
                name = self._fresh("t")
                self.lines.append(self.target.assign.format(name=name, value=value))
                self.whole[polynomial] = name
        return self.whole[polynomial]

    def _as_maximum(self, polynomial: Polynomial) -> str:
        """Return m max(x, y) as the maximum of m x and m y if there are variables of both."""
        kernel = polynomial.kernel
        if len(polynomial.terms) != 1:
            return ""
        monomial, coefficient = polynomial.terms[0]
        maxima = [atom for atom, exponent in monomial if atom.kind == "max" and exponent == 1]
        remainder = tuple(pair for pair in monomial if pair[0] not in maxima)
        if len(maxima) != 1 or coefficient < 0 or not all(map(_is_unsigned, remainder)):
            return ""
        factor = kernel.monomial(remainder, coefficient)
        arms = [factor * arm for arm in maxima[0].arguments]
        if not all(arm in self.whole for arm in arms):
            return ""
        names = [self.whole[arm] for arm in arms]
        return reduce(self.target.functions["max"].format, names)

    @property
    def lines(self) -> list[str]:
        """The lines before the values."""
        return self.scopes[0][2]

    def sum(self, polynomial: Polynomial, *, exactly: bool = False) -> str:
        """Return an expression over variables that are written before it.

        ``exactly`` keeps each product in one piece, so that whole quotients are not rounded.
        """
        if not polynomial.terms:
            return self._number(0)
        if polynomial in self.whole and len(self.scopes) == 1:
            return self.whole[polynomial]
        parts = []
        for monomial, coefficient in polynomial.terms:
            turned = sum(exponent for atom, exponent in monomial if is_turned(atom)) % 2
            negative = (coefficient < 0) != bool(turned)
            parts.append((negative, self._term(monomial, size(coefficient), exactly)))
        parts.sort(key=lambda part: part[0])  # what is added before what is taken away
        (negative, first), *others = parts
        first = f"-{first}" if negative else first
        return first + "".join(f" {'-' if minus else '+'} {part}" for minus, part in others)

    def _term(self, monomial: Monomial, coefficient: Exact, exactly: bool) -> str:
        fraction = Fraction(coefficient)
        over = [self._atom(atom) for atom, e in monomial for _ in range(e)]
        under = [self._atom(atom) for atom, e in monomial for _ in range(-e)]
        cases = [self._atom(atom) for atom, _ in monomial if atom.kind in BRACKETS]
        guarded = bool(cases and under)
        if guarded:
            under = [_or_one(under, cases)]
        if fraction.numerator != 1 or not over:
            over.insert(0, self._number(fraction.numerator))
        if fraction.denominator != 1:
            under.insert(0, self._number(fraction.denominator))
        if not exactly and guarded:
            over, _ = self._shared(over, [])
        elif not exactly:
            over, under = self._shared(over, under)
        top = " * ".join(over)
        if not under:
            return top
        return f"{top} / {under[0]}" if len(under) == 1 else f"{top} / ({' * '.join(under)})"

    def _shared(self, over: list[str], under: list[str]) -> tuple[list[str], list[str]]:
        """Return what is above and below the line, with products of two that have a name."""
        factors = [*over, *(f"/ {factor}" for factor in under)]
        self.terms.append(factors)
        for pair, name in self.products.items():
            shorter = replaced(factors, pair, name)
            if len(shorter) < len(factors):
                factors = shorter
                self._name_product(pair, name)
        above = [factor for factor in factors if not factor.startswith("/")]
        below = [factor.removeprefix("/ ") for factor in factors if factor.startswith("/")]
        return above or [self._number(1)], below

    def _name_product(self, pair: Pair, name: str) -> None:
        """Write a product in the outermost loop that has both factors, where it is not yet."""
        level = max(self.levels.get(factor.removeprefix("/ "), 0) for factor in pair)
        _, variables, lines = self.scopes[level]
        if pair in variables:
            return
        above = [factor for factor in pair if not factor.startswith("/")]
        below = [factor for factor in pair if factor.startswith("/")]
        value = " ".join([" * ".join(above) or self._number(1), *below])
        lines.append(self.target.assign.format(name=name, value=value))
        variables[pair] = name
        self.levels[name] = level

    def _number(self, value: int) -> str:
        return f"{value}.0" if self.target.floats or abs(value) >= 2**63 else str(value)

    def _atom(self, atom: Atom) -> str:
        if atom.kind == "sym":
            return identifier(atom.arguments[0].name)
        self.uses[atom] += 1
        for _, variables, _ in self.scopes:
            if atom in variables:
                return variables[atom]
        indices = {symbol for symbol in atom.free if symbol.level}
        level = next(
            level
            for level in range(len(self.scopes))
            if indices <= set().union(*(scope[0] for scope in self.scopes[: level + 1]))
        )
        outer_scopes, self.scopes = self.scopes, self.scopes[: level + 1]
        if atom.kind in BINDERS:
            name = self._over(atom)
        else:
            value = self._value(atom)
            name = self._fresh("x")
            if atom in self.single and len(outer_scopes) == 1:
                return value if value[0].isalpha() else f"({value})"
            self.scopes[-1][2].append(self.target.assign.format(name=name, value=value))
        self.scopes[-1][1][atom] = name
        self.levels[name] = level
        self.scopes = outer_scopes
        return name

    def _fresh(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count}_"

    def _value(self, atom: Atom) -> str:
        """Return an atom, or its negative if it `is_turned`."""
        kind, arguments = atom.kind, atom.arguments
        if is_turned(atom):
            kind = {"floor": "ceil", "max": "min"}[kind]
            arguments = tuple(-argument for argument in arguments)
        functions = self.target.functions
        if kind in {"floor", "ceil"}:
            under = denominators(arguments[0])
            over = arguments[0].kernel.expanded(arguments[0] * under)
            return functions[kind].format(*(self.sum(e, exactly=True) for e in (over, under)))
        if kind == "poly":
            return self.sum(arguments[0])
        if kind == "item":
            return self._item(arguments[0].name, arguments[1:])
        items = [self.sum(argument, exactly=kind in {"ge0", "eq0"}) for argument in arguments]
        text = items[0]
        if len(items) == 1:
            return functions[kind].format(text)
        for item in items[1:]:
            text = functions[kind].format(text, item)
        return text

    def _item(self, name: str, indices: Sequence[Polynomial]) -> str:
        """Return an element of an array that starts at 0; in C its rows follow each other."""
        positions = [
            index - low
            for index, (low, _) in zip(indices, self.compiled.arrays[name], strict=True)
        ]  # fmt: skip
        if self.target.floats:
            position = positions[0]
            for after, (low, high) in zip(
                positions[1:], self.compiled.arrays[name][1:], strict=True
            ):
                position = position * (high - low + 1) + after
            positions = [position]
        array = identifier(name)
        subscripts = [
            self.target.item.format(
                position=self.sum(position, exactly=True), name=array, axis=axis
            )
            for axis, position in enumerate(positions)
        ]
        return self.target.element.format(f"{array}[{self.target.join.join(subscripts)}]")

    def _over(self, atom: Atom) -> str:
        index, low, high, body = atom.arguments
        ends = self.sum(low, exactly=True), self.sum(high, exactly=True)
        name, start = self._fresh("s"), _STARTS.get(atom.kind, self.target.least)
        outer = self.scopes[-1][2]
        outer.append(self.target.assign.format(name=name, value=start))
        loop = {"index": index.name, "low": ends[0], "high": ends[1]}
        self.levels[index.name] = len(self.scopes)
        self.scopes.append(({index}, {}, []))
        value = self.sum(body)
        inner = self.scopes.pop()[2]
        step = {"sum": f"{name} + {value}", "prod": f"{name} * ({value})"}.get(
            atom.kind, self.target.functions["max"].format(name, value)
        )
        inner.append(self.target.step.format(name=name, value=step, **loop))
        outer += [line.format(**loop) for line in self.target.loop]
        outer += [self.target.indent + line for line in inner]
        if self.target.end:
            outer.append(self.target.end)
        return name


def _or_one(factors: Sequence[str], cases: Sequence[str]) -> str:
    """Return a product that is 1 where not all cases hold: it may be 0 there, as they are."""
    product, case = " * ".join(factors), " * ".join(cases)
    return f"({product} * {case} + 1 - {case})"


def _is_unsigned(pair: tuple[Atom, int]) -> bool:
    """Return whether a power is of a parameter that is declared to be 0 or more."""
    atom = pair[0]
    return atom.kind == "sym" and atom.arguments[0].low is not None and atom.arguments[0].low >= 0


#: Words of the languages, and names that the sources use
_RESERVED = frozenset(
    {*keyword.kwlist, "np", "math", "numba", "model", "out", "int", "range", "max", "min",
     "floor", "ceil", "fmax", "fmin", "fmod", "fabs", "exp", "log", "log2", "sqrt", "pow",
     "auto", "case", "char", "const", "default", "do", "double", "enum", "extern", "float", "goto",
     "inline", "long", "register", "restrict", "short", "signed", "sizeof", "static", "struct",
     "switch", "typedef", "union", "unsigned", "void", "volatile"}
)  # fmt: skip


def identifier(name: str) -> str:
    """Return a parameter's name as other languages take it."""
    spelling = name.replace(".", "_")
    return f"{spelling}_" if spelling in _RESERVED else spelling
