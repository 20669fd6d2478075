"""The tree of a model from what lark parses."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import attrs
from lark import Token, Tree, v_args
from lark.exceptions import VisitError
from lark.visitors import Transformer_NonRecursive

from parcast_pamela.language.errors import ModelError
from parcast_pamela.language.positions import Position, Source
from parcast_pamela.language.tree import (
    INFINITE,
    Apply,
    Assume,
    Call,
    Declaration,
    Delay,
    Equation,
    Expression,
    Extern,
    If,
    Import,
    Item,
    Let,
    Listing,
    Loop,
    Multiplicity,
    Name,
    Number,
    Parallel,
    Parameter,
    Process,
    Range,
    Reduce,
    Resource,
    Root,
    Sequence,
    Use,
)
from parcast_pamela.language.units import Dimension, unit


def build(tree: Tree[Token], source: Source) -> tuple[list[Declaration], list[str]]:
    """Return the declarations that a parsed text has, in order, and warnings.

    Raises
    ------
    ModelError
        If something is no part of the language though the grammar takes it.
    """
    builder = _Builder(source)
    try:
        declared: list[Declaration] = builder.transform(tree)
    except VisitError as error:
        raise error.orig_exc from None
    return declared, builder.warnings


@v_args(meta=True)
class _Builder(Transformer_NonRecursive[Token, Any]):
    """Builds the tree; each method is called as the grammar's rule is."""

    def __init__(self, source: Source) -> None:
        super().__init__()
        self.source = source
        self.warnings: list[str] = []

    def position(self, meta: Any) -> Position:
        return Position(self.source, getattr(meta, "line", 1), getattr(meta, "column", 1))

    def start(self, _: Any, items: list[Any]) -> list[Declaration]:
        return [
            declaration
            for item in items
            for declaration in (item if isinstance(item, list) else [item])
        ]

    # declarations

    def import_(self, meta: Any, items: list[Any]) -> Import:
        return Import(items[0][1:-1], items[1], position=self.position(meta))

    def root_(self, meta: Any, items: list[Any]) -> Root:
        return Root(str(items[0]), position=self.position(meta))

    def extern_(self, _: Any, items: list[Any]) -> list[Any]:
        return items

    def sig(self, meta: Any, items: list[Any]) -> Extern:
        formals = tuple(name for name in items[1:] if name is not None)
        return Extern(str(items[0]), formals, position=self.position(meta))

    def param(self, _: Any, items: list[Any]) -> list[Any]:
        return items

    def pspec(self, meta: Any, items: list[Any]) -> Parameter:
        name, dims, kind, domain, default = items
        low, high = domain or (None, None)
        kind = str(kind) if kind else "real"
        return Parameter(name, dims or (), kind, low, high, default, position=self.position(meta))

    def pdims(self, _: Any, items: list[Any]) -> tuple[Range, ...]:
        return tuple(items)

    def range1(self, _: Any, items: list[Any]) -> Range:
        return Range(Number(Fraction(0)), Apply("-", (items[0], Number(Fraction(1)))))

    def range2(self, _: Any, items: list[Any]) -> Range:
        return Range(*items)

    def dom_range(self, _: Any, items: list[Any]) -> tuple[Expression, Expression]:
        return items[0], items[1]

    def dom_min(self, _: Any, items: list[Any]) -> tuple[Expression, None]:
        return items[0], None

    def listing(self, meta: Any, items: list[Any]) -> Listing:
        return Listing(tuple(items), position=self.position(meta))

    def let_(self, meta: Any, items: list[Any]) -> Let:
        position = self.position(meta)
        if isinstance(items[2], Listing):
            raise ModelError("a let is one expression; make a list a parameter", position)
        return Let(str(items[0]), items[1] or (), items[2], position=position)

    def formals(self, _: Any, items: list[Any]) -> tuple[str, ...]:
        return tuple(items)

    def resource(self, _: Any, items: list[Any]) -> list[Any]:
        return items

    def rspec(self, meta: Any, items: list[Any]) -> Resource:
        name, dims, servers = items
        labels = tuple(label for label, _ in dims or ())
        ranges = tuple(span for _, span in dims or ())
        return Resource(str(name), ranges, labels, servers, position=self.position(meta))

    def rdims(self, _: Any, items: list[Any]) -> list[Any]:
        return items

    def rdim(self, meta: Any, items: list[Any]) -> tuple[str | None, Range]:
        label, span = items
        span = span if isinstance(span, Range) else self.range1(meta, [span])
        return (str(label) if label else None), span

    def assume(self, _: Any, items: list[Any]) -> list[Any]:
        return [Assume(condition, position=condition.position) for condition in items]

    def equation(self, meta: Any, items: list[Any]) -> Equation:
        return Equation(str(items[0]), items[1] or (), items[2], position=self.position(meta))

    # processes

    def par(self, meta: Any, items: list[Any]) -> Process:
        if len(items) == 1:
            only: Process = items[0]
            return only
        for part in items:
            if isinstance(part, Sequence) and len(part.parts) > 1 and not self._braced(part):
                self.warnings.append(
                    f"{part.position}: ';' binds tighter than '||'; write braces to make it plain"
                )
        return Parallel(tuple(items), position=self.position(meta))

    def _braced(self, process: Process) -> bool:
        lines = self.source.text.splitlines()
        position = process.position
        assert position
        return lines[position.line - 1][position.column - 1] == "{"

    def seq(self, meta: Any, items: list[Any]) -> Process:
        return items[0] if len(items) == 1 else Sequence(tuple(items), position=self.position(meta))

    def block(self, meta: Any, items: list[Any]) -> Process:
        inner: Process = items[0]
        return attrs.evolve(inner, position=self.position(meta))

    def skip(self, meta: Any, _: Any) -> Sequence:
        return Sequence(position=self.position(meta))

    def use(self, meta: Any, items: list[Any]) -> Use:
        (name, indices), time = items
        return Use(name, indices, time, position=self.position(meta))

    def resref(self, _: Any, items: list[Any]) -> tuple[str, tuple[Any, ...]]:
        return str(items[0]), tuple(index for index in items[1:] if index is not None)

    def delay(self, meta: Any, items: list[Any]) -> Delay:
        return Delay(items[0], position=self.position(meta))

    def if1(self, meta: Any, items: list[Any]) -> If:
        return If(items[0], items[1], Sequence(), position=self.position(meta))

    def if2(self, meta: Any, items: list[Any]) -> If:
        return If(items[0], items[1], items[2], position=self.position(meta))

    def binder(self, _: Any, items: list[Any]) -> list[Any]:
        return items

    def seqr(self, meta: Any, items: list[Any]) -> Loop:
        return self._loop(meta, items, parallel=False)

    def parr(self, meta: Any, items: list[Any]) -> Loop:
        return self._loop(meta, items, parallel=True)

    def _loop(self, meta: Any, items: list[Any], *, parallel: bool) -> Loop:
        index, first, last, step = items[0]
        return Loop(parallel, index, first, last, step, items[1], position=self.position(meta))

    def pcall(self, meta: Any, items: list[Any]) -> Call:
        arguments = tuple(argument for argument in items[1:] if argument is not None)
        return Call(str(items[0]), arguments, position=self.position(meta))

    # expressions

    def number(self, meta: Any, items: list[Any]) -> Number:
        value = Fraction(str(items[0]))
        dimension: Dimension = ()
        if len(str(items[0])) > 400 or abs(value) > 10**300:
            raise ModelError("this number is too large", self.position(meta))
        if items[1]:
            factor, dimension = unit(str(items[1]))
            value *= factor
        return Number(value, dimension, position=self.position(meta))

    def var(self, meta: Any, items: list[Any]) -> Expression:
        return INFINITE if items[0] == "inf" else Name(str(items[0]), position=self.position(meta))

    def index(self, meta: Any, items: list[Any]) -> Item:
        return Item(str(items[0]), tuple(items[1:]), position=self.position(meta))

    def call(self, meta: Any, items: list[Any]) -> Apply:
        return Apply(str(items[0]), tuple(items[1:]), position=self.position(meta))

    def reduce(self, meta: Any, items: list[Any]) -> Reduce:
        name, index, first, last, body = items
        if name not in {"sum", "prod", "max", "min"}:
            raise ModelError(
                f"{str(name)!r} cannot take an index; sum, prod, max and min can",
                self.position(meta),
            )
        return Reduce(str(name), str(index), first, last, body, position=self.position(meta))

    def multof(self, meta: Any, items: list[Any]) -> Multiplicity:
        name, indices = items[0]
        return Multiplicity(name, indices, position=self.position(meta))

    def group(self, _: Any, items: list[Any]) -> Expression:
        expression: Expression = items[0]
        return expression

    def lname(self, _: Any, items: list[Any]) -> str:
        return str(items[0])

    def _operator(self, meta: Any, name: str, items: list[Any]) -> Apply:
        """Return the operation; sums and products are flat, so that long ones are not deep."""
        first = items[0]
        if name in "+*" and isinstance(first, Apply) and first.name == name:
            items = [*first.arguments, *items[1:]]
        return Apply(name, tuple(items), position=self.position(meta))

    def cmp(self, meta: Any, items: list[Any]) -> Expression:
        left, sign, right = items
        return left if sign is None else self._operator(meta, str(sign), [left, right])

    def power(self, meta: Any, items: list[Any]) -> Expression:
        base, sign, exponent = items
        return base if sign is None else self._operator(meta, "^", [base, exponent])

    def or_(self, meta: Any, items: list[Any]) -> Expression:
        return self._joined(meta, "or", items)

    def and_(self, meta: Any, items: list[Any]) -> Expression:
        return self._joined(meta, "and", items)

    def _joined(self, meta: Any, name: str, items: list[Any]) -> Expression:
        joined: Expression = items[0]
        for item in items[1:]:
            joined = self._operator(meta, name, [joined, item])
        return joined


def _operation(name: str) -> Any:
    def build(self: _Builder, meta: Any, items: list[Any]) -> Apply:
        return self._operator(meta, name, items)

    return v_args(meta=True)(build)


for _rule, _name in {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "idiv": "div", "mod": "mod",
    "neg": "neg", "not_": "not", "cond": "?:",
}.items():  # fmt: skip
    setattr(_Builder, _rule, _operation(_name))
