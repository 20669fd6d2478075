"""Writes results as an AsciiDoc table."""

from __future__ import annotations

from pathlib import Path

from parcast import Results


def write(results: Results, path: Path) -> None:
    """Write the table that a terminal shows."""
    header, rows = results.table()
    lines = ["[%header]", "|===", *(_line(row) for row in (header, *rows)), "|==="]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _line(cells: list[str]) -> str:
    return " ".join("| " + cell.replace("|", "\\|") for cell in cells)
