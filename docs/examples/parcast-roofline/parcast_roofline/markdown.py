"""Writes results as a Markdown table."""

from __future__ import annotations

from pathlib import Path

from parcast import Results


def write(results: Results, path: Path) -> None:
    """Write the table that a terminal shows."""
    header, rows = results.table()
    lines = [header, ["---"] * len(header), *rows]
    text = "".join("| " + " | ".join(map(_cell, line)) + " |\n" for line in lines)
    path.write_text(text, encoding="utf-8")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
