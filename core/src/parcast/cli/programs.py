"""What ``parcast show PROGRAM -p 4`` prints: operations and bytes, by line and by rank."""

from __future__ import annotations

import ast
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast.cli.output import print_table, print_text, short_number
from parcast.model.query import Query
from parcast.program import Program, Unrolled
from parcast.program.summary import SiteTally, Tally, tally, tally_sites

#: With more ranks than this, their least, mean and most are shown.
MOST_RANKS = 16

_UNITS = {"compute": "FLOP", "elapse": "s"}


def described(query: Query) -> dict[str, Any]:
    """Return the operations of a ``program`` query as JSON values."""
    unrolled = query.workload.content.at(query)
    totals = tally(unrolled)
    return {
        "p": query.p,
        "parameters": {**query.workload.parameters, **query.parameters},
        "operations": unrolled.count(),
        "sites": [_site(unrolled, site_tally) for site_tally in tally_sites(unrolled)],
        "ranks": {f.name: getattr(totals, f.name).tolist() for f in attrs.fields(Tally)},
    }


def _site(unrolled: Unrolled, site_tally: SiteTally) -> dict[str, Any]:
    site = unrolled.sites[site_tally.site]
    amount = list(site_tally.amount) if site_tally.amount else None
    return {
        "line": site.line,
        "operation": site.name,
        "ranks": len(site_tally.ranks),
        "times": list(site_tally.times),
        "amount": amount,
    }


def print_program(query: Query) -> None:
    """Print the operations of a ``program`` query: by line of its text, then by rank."""
    program: Program = query.workload.content
    unrolled = program.at(query)
    source = program.tree.source if program.tree else ""
    count = unrolled.count()
    plural = "" if count == 1 else "s"
    values = "".join(f", {name}={value}" for name, value in query.parameters.items())
    print_text(f"at p={query.p}{values}: {count:,} operation{plural} on all processes")
    print()
    calls: dict[Any, str] = {
        (node.value.lineno, node.value.col_offset): ast.unparse(node)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Expr | ast.Assign)
    }
    rows = []
    for site_tally in tally_sites(unrolled):
        site = unrolled.sites[site_tally.site]
        text = calls.get((site.line, site.col), site.name)
        unit = _UNITS.get(site.name, "B")
        amount = f"{_span(*site_tally.amount)} {unit}" if site_tally.amount else ""
        rows.append(
            [str(site.line or ""), text, _ranks(site_tally.ranks), _span(*site_tally.times), amount]
        )
    print_table(("line", "operation", "ranks", "times of each", "amount of each"), rows)
    print()
    _print_ranks(tally(unrolled))


def _print_ranks(totals: Tally) -> None:
    columns = {
        f.name: getattr(totals, f.name)
        for f in attrs.fields(Tally)
        if getattr(totals, f.name).any()
    }
    columns["operations"] = totals.operations
    ordered = [f.name for f in attrs.fields(Tally) if f.name in columns]
    heads = [_HEADS.get(name, name) for name in ordered]
    size = len(totals.operations)
    if size <= MOST_RANKS:
        rows = [
            [str(r), *(short_number(columns[name][r]) for name in ordered)] for r in range(size)
        ]
    else:
        rows = [
            [word, *(short_number(getattr(columns[name], way)()) for name in ordered)]
            for word, way in (("least", "min"), ("mean", "mean"), ("most", "max"))
        ]
    print_table(("rank", *heads), rows)


_HEADS = {
    "flops": "FLOP",
    "seconds": "elapse s",
    "sent": "B sent",
    "shared": "B in collectives",
    "accessed": "B of files",
}


def _span(least: float, largest: float) -> str:
    if least == largest:
        return short_number(least)
    return f"{short_number(least)} .. {short_number(largest)}"


def _ranks(ranks: NDArray[np.int64]) -> str:
    """Return ranks as people write them: ``0..3``, ``0, 2``, or how many."""
    first, last = int(ranks[0]), int(ranks[-1])
    if len(ranks) == 1:
        return str(first)
    if last - first == len(ranks) - 1:
        return f"{first}..{last}"
    return ", ".join(map(str, ranks.tolist())) if len(ranks) <= 4 else f"{len(ranks)} of them"
