r"""Writes the tables of a report in LaTeX, to be read by ``\input``; they need booktabs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from parcast import Results
from parcast_report import content
from parcast_report.choosing import visible
from parcast_report.content import Table

_SPECIAL = re.compile(r"[\\{}$&#%_~^<>|\"]")
_SPELLED = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}",
}  # fmt: skip


def write(results: Results, path: Path) -> None:
    """Write a table of solvers and one of all answers for each workload and machine."""
    lines = [r"% Needs \usepackage{booktabs} and \usepackage[T1]{fontenc}; made with parcast."]
    for case in content.cases(results):
        for table in (content.solvers(case.rows), content.answers(case.rows)):
            lines += ["", *_table(table, case.name)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _table(table: Table, name: str) -> Iterator[str]:
    yield r"\begin{table}"
    yield r"  \centering"
    yield rf"  \caption{{{_text(table.caption)}: {_text(name)}}}"
    yield rf"  \begin{{tabular}}{{{_columns(table)}}}"
    yield r"    \toprule"
    yield rf"    {' & '.join(map(_text, table.header))} \\"
    yield r"    \midrule"
    for row in table.rows:
        yield rf"    {' & '.join(map(_text, row))} \\"
    yield r"    \bottomrule"
    yield r"  \end{tabular}"
    yield r"\end{table}"


def _columns(table: Table) -> str:
    """Return an ``r`` for each column of numbers, an ``l`` for the others."""
    cells = zip(*table.rows, strict=True)
    return "".join(
        "r" if all(not c or c[0] in "-+0123456789" for c in column) else "l" for column in cells
    )


def _text(text: str) -> str:
    line = " ".join(visible(text).split())
    return _SPECIAL.sub(lambda match: _SPELLED.get(match[0], f"\\{match[0]}"), line)
