"""Throughput: how many cells, samples or tokens a run finishes in a second."""

from __future__ import annotations

import math
import re

import attrs

from parcast.errors import FormulaError
from parcast.model.query import Query
from parcast.quantities.expressions import Expr, evaluate, parse

#: What is counted where nobody names it.
ITEMS = "items"

_NAMED = re.compile(r"\s*([^=<>!]*?)\s*=(?!=)(.*)")


@attrs.frozen
class Items:
    """What a run works through, as a formula of p, d and the workload's parameters."""

    name: str
    text: str
    formula: Expr

    @classmethod
    def read(cls, text: str) -> Items:
        """Return what ``cells = n * n * steps`` says, or ``n * n`` of unnamed items.

        Raises
        ------
        FormulaError
            If it is no formula.
        """
        named = _NAMED.fullmatch(text)
        name, formula = named.groups() if named else (ITEMS, text)
        if not name:
            raise FormulaError(f"{text!r} names nothing before '='; write 'cells = n * n'")
        try:
            return cls(name, formula.strip(), parse(formula))
        except FormulaError as error:
            raise FormulaError(f"{text!r}: {error}; write 'cells = n * n'") from None

    def count(self, query: Query) -> float:
        """Return how many there are at a query.

        Raises
        ------
        FormulaError
            If there is no such number, or it is none that can be counted.
        """
        try:
            items = float(evaluate(self.formula, query.values))
        except FormulaError as error:
            place = f"workload {query.workload.name!r} at p={query.p}, d={query.d}"
            raise FormulaError(f"{self.name} = {self.text} for {place}: {error}") from None
        if not 0 < items < math.inf:
            raise FormulaError(
                f"{self.name} = {self.text} is {items:g} at p={query.p}, d={query.d}; give a "
                "number above 0"
            )
        return items
