"""Quantities: units, formulas, distributions, ranges of numbers and what repeated runs estimate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parcast.startup import lazily

if TYPE_CHECKING:
    from parcast.quantities.distributions import LAWS, Distribution
    from parcast.quantities.expressions import (
        BINARY,
        Call,
        Expr,
        Name,
        Num,
        Value,
        describe,
        evaluate,
        from_ast,
        names_in,
        parse,
        spell,
    )
    from parcast.quantities.formulas import (
        Formula,
        Unit,
        Whole,
        is_quantity,
        parse_quantity,
        to_base,
    )
    from parcast.quantities.lines import Line, cut, fit_line, memoized
    from parcast.quantities.ranges import parse_numbers
    from parcast.quantities.replications import (
        Estimate,
        Replications,
        generator,
        paired,
        replicate,
        student_t,
    )
    from parcast.quantities.rows import distinct_rows
    from parcast.quantities.units import UNITS, format_seconds, is_number, unit_factor
else:
    __getattr__ = lazily(__name__)

__all__ = [
    "BINARY",
    "LAWS",
    "UNITS",
    "Call",
    "Distribution",
    "Estimate",
    "Expr",
    "Formula",
    "Line",
    "Name",
    "Num",
    "Replications",
    "Unit",
    "Value",
    "Whole",
    "cut",
    "describe",
    "distinct_rows",
    "evaluate",
    "fit_line",
    "format_seconds",
    "from_ast",
    "generator",
    "is_number",
    "is_quantity",
    "memoized",
    "names_in",
    "paired",
    "parse",
    "parse_numbers",
    "parse_quantity",
    "replicate",
    "spell",
    "student_t",
    "to_base",
    "unit_factor",
]
