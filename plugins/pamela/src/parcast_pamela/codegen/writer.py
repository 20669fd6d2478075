"""Expressions written line by line, each common part computed once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from fractions import Fraction
from typing import Any

from parcast_pamela.algebra.polynomials import BINDERS, Atom, Monomial, Polynomial, Symbol
from parcast_pamela.algebra.terms import denominators
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
        self.terms: list[list[str]] = []  #: factors of the products outside of loops
        self.count = 0

    @property
    def lines(self) -> list[str]:
        """The lines before the values."""
        return self.scopes[0][2]

    def sum(self, one: Polynomial, *, exactly: bool = False) -> str:
        """Return an expression over variables that are written before it.

        ``exactly`` keeps each product in one piece, so that whole quotients are not rounded.
        """
        shown = ""
        if not one.terms:
            return self._number(0)
        for monomial, coefficient in one.terms:
            part = self._term(monomial, size(coefficient), exactly)
            if shown:
                shown += f" {'-' if coefficient < 0 else '+'} {part}"
            else:
                shown = f"-{part}" if coefficient < 0 else part
        return shown

    def _term(self, monomial: Monomial, coefficient: Exact, exactly: bool) -> str:
        fraction = Fraction(coefficient)
        over = [self._atom(atom) for atom, e in monomial for _ in range(e)]
        under = [self._atom(atom) for atom, e in monomial for _ in range(-e)]
        if fraction.numerator != 1 or not over:
            over.insert(0, self._number(fraction.numerator))
        if fraction.denominator != 1:
            under.insert(0, self._number(fraction.denominator))
        if not exactly and len(self.scopes) == 1:
            over, under = self._shared(over, under)
        top = " * ".join(over)
        if not under:
            return top
        return f"{top} / {under[0]}" if len(under) == 1 else f"{top} / ({' * '.join(under)})"

    def _shared(self, over: list[str], under: list[str]) -> tuple[list[str], list[str]]:
        """Return what is above and below the line, with products of two that have a name."""
        factors = [*over, *(f"/ {one}" for one in under)]
        self.terms.append(factors)
        for pair, name in self.products.items():
            shorter = replaced(factors, pair, name)
            if len(shorter) < len(factors):
                factors = shorter
                self._name_product(pair, name)
        above = [one for one in factors if not one.startswith("/")]
        below = [one.removeprefix("/ ") for one in factors if one.startswith("/")]
        return above or [self._number(1)], below

    def _name_product(self, pair: Pair, name: str) -> None:
        if pair in self.scopes[0][1]:
            return
        above = [one for one in pair if not one.startswith("/")]
        below = [one for one in pair if one.startswith("/")]
        value = " ".join([" * ".join(above) or self._number(1), *below])
        self.lines.append(self.target.assign.format(name=name, value=value))
        self.scopes[0][1][pair] = name

    def _number(self, value: int) -> str:
        return f"{value}.0" if self.target.floats or abs(value) >= 2**63 else str(value)

    def _atom(self, atom: Atom) -> str:
        if atom.kind == "sym":
            return identifier(atom.arguments[0].name)
        self.uses[atom] += 1
        for _, known, _ in self.scopes:
            if atom in known:
                return known[atom]
        indices = {symbol for symbol in atom.free if symbol.level}
        level = next(
            level
            for level in range(len(self.scopes))
            if indices <= set().union(*(scope[0] for scope in self.scopes[: level + 1]))
        )
        kept, self.scopes = self.scopes, self.scopes[: level + 1]
        if atom.kind in BINDERS:
            name = self._over(atom)
        else:
            value = self._value(atom)
            name = self._fresh("x")
            if atom in self.single and len(kept) == 1:
                return value if value[0].isalpha() else f"({value})"
            self.scopes[-1][2].append(self.target.assign.format(name=name, value=value))
        self.scopes[-1][1][atom] = name
        self.scopes = kept
        return name

    def _fresh(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count}_"

    def _value(self, atom: Atom) -> str:
        kind, arguments = atom.kind, atom.arguments
        functions = self.target.functions
        if kind == "floor":
            under = denominators(arguments[0].kernel, arguments[0])
            over = arguments[0].kernel.expanded(arguments[0] * under)
            return functions["floor"].format(*(self.sum(e, exactly=True) for e in (over, under)))
        if kind == "poly":
            return self.sum(arguments[0])
        if kind == "item":
            return self._item(arguments[0].name, arguments[1:])
        items = [self.sum(one, exactly=kind in {"ge0", "eq0"}) for one in arguments]
        shown = items[0]
        if len(items) == 1:
            return functions[kind].format(shown)
        for other in items[1:]:
            shown = functions[kind].format(shown, other)
        return shown

    def _item(self, name: str, indices: Sequence[Polynomial]) -> str:
        """Return an element of an array that starts at 0; in C its rows follow each other."""
        places = [
            index - low
            for index, (low, _) in zip(indices, self.compiled.arrays[name], strict=True)
        ]  # fmt: skip
        if self.target.floats:
            place = places[0]
            for after, (low, high) in zip(places[1:], self.compiled.arrays[name][1:], strict=True):
                place = place * (high - low + 1) + after
            places = [place]
        own = identifier(name)
        shown = [
            self.target.item.format(place=self.sum(place, exactly=True), name=own, axis=axis)
            for axis, place in enumerate(places)
        ]
        return f"{own}[{self.target.join.join(shown)}]"

    def _over(self, atom: Atom) -> str:
        index, low, high, body = atom.arguments
        ends = self.sum(low, exactly=True), self.sum(high, exactly=True)
        name, start = self._fresh("s"), _STARTS.get(atom.kind, self.target.least)
        outer = self.scopes[-1][2]
        outer.append(self.target.assign.format(name=name, value=start))
        loop = {"index": index.name, "low": ends[0], "high": ends[1]}
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


def identifier(name: str) -> str:
    """Return a parameter's name as other languages take it."""
    return name.replace(".", "_")
