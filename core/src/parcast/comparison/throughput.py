"""Throughput: how many cells, samples or tokens a run finishes in a second."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

import attrs

from parcast.errors import FormulaError
from parcast.model.query import Query
from parcast.model.workload import Job
from parcast.quantities.expressions import Expr, Value, evaluate, parse
from parcast.results.row import Row

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
        assignment = _NAMED.fullmatch(text)
        name, formula = assignment.groups() if assignment else (ITEMS, text)
        if not name:
            raise FormulaError(f"{text!r} names nothing before '='; write 'cells = n * n'")
        try:
            return cls(name, formula.strip(), parse(formula))
        except FormulaError as error:
            raise FormulaError(f"{text!r}: {error}; write 'cells = n * n'") from None

    def count(self, query: Query) -> float:
        """Return how many there are at a query; of several jobs those of each, with its own p.

        Raises
        ------
        FormulaError
            If there is no such number, or it is none that can be counted.
        """
        if jobs := query.workload.jobs:
            return sum(self._number(job.name, _values(job, query)) for job in jobs)
        return self._number(query.workload.name, query.values)

    def _number(self, workload: str, values: Mapping[str, Value]) -> float:
        place = f"p={values['p']}, d={values['d']}"
        try:
            items = float(evaluate(self.formula, values))
        except FormulaError as error:
            where = f"workload {workload!r} at {place}"
            raise FormulaError(f"{self.name} = {self.text} for {where}: {error}") from None
        if not 0 < items < math.inf:
            raise FormulaError(
                f"{self.name} = {self.text} is {items:g} at {place}; give a number above 0"
            )
        return items


def with_throughput(items: Items, counts: Sequence[float], rows: Sequence[Row]) -> tuple[Row, ...]:
    """Return rows whose details say how many items they finish in a second."""
    return tuple(
        attrs.evolve(
            row,
            details={
                **row.details,
                "throughput": {"items": items.name, "per_second": count / row.time},
            },
        )
        if row.time
        else row
        for row, count in zip(rows, counts, strict=True)
    )


def _values(job: Job, query: Query) -> Mapping[str, Value]:
    """Return what a formula sees of one job."""
    parameters = {name: query.values[f"{job.name}.{name}"] for name in job.workload.parameters}
    return {**parameters, "p": job.processes or 0, "d": query.d}
