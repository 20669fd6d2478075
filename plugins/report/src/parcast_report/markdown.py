"""Writes a report as Markdown: question, answers, tables, remarks and provenance."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from parcast import Results
from parcast_report import content
from parcast_report.choosing import visible
from parcast_report.content import Case, Table

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~$&!])")


def write(results: Results, path: Path) -> None:
    """Write the report, in CommonMark with the tables of GitHub."""
    path.write_text("\n".join(_lines(results)) + "\n", encoding="utf-8")


def _lines(results: Results) -> Iterator[str]:
    yield from _overview(results)
    for case in content.cases(results):
        yield from _case(case)
    yield "## Provenance"
    yield ""
    for name, text in content.facts(results):
        yield f"- {name}: {_text(text)}"


def _overview(results: Results) -> Iterator[str]:
    """Yield what is best, and machines beside each other."""
    best, machines = results.best(), content.machines(results)
    if best or machines:
        yield "# Overview"
        yield ""
    for sentence in best:
        yield f"- {_text(sentence)}"
    if machines:
        yield from _table(machines)
    if best or machines:
        yield ""


def _case(case: Case) -> Iterator[str]:
    yield f"# {_text(case.name)}"
    yield ""
    yield _text(case.question)
    yield ""
    for sentence in case.answers:
        yield f"- {_text(sentence)}"
    for table in (content.solvers(case.rows), content.answers(content.answered(case.rows))):
        yield from _table(table) if table.rows else ()
    yield ""
    for kind, remarks in content.remarks(case.rows).items():
        yield f"## {kind}"
        yield ""
        for remark in remarks:
            points = f" ({remark.points})" if remark.points else ""
            yield f"- **{_text(remark.solver)}**: {_text(remark.text + points)}"
        yield ""


def _table(table: Table) -> Iterator[str]:
    yield ""
    yield f"**{table.caption}**"
    yield ""
    for line in (table.header, ["---"] * len(table.header)):
        yield f"| {' | '.join(line)} |"
    for row in table.rows:
        yield f"| {' | '.join(map(_text, row))} |"


def _text(text: str) -> str:
    """Return text on one line that no reader takes for markup."""
    return _SPECIAL.sub(r"\\\1", " ".join(visible(text).split()))
