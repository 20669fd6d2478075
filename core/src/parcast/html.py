"""How values show themselves in a notebook: escaped, plain HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any


def definition(heading: str, name: str, summary: str, data: Mapping[str, Any]) -> str:
    """Return a headed two-column table of ``data``, nested keys joined by dots."""
    rows = "".join(
        f"<tr><th style='text-align:left'>{escape(key)}</th>"
        f"<td style='text-align:left'>{escape(str(value))}</td></tr>"
        for key, value in flatten(data)
    )
    head = f"<p><b>{escape(heading)} {escape(name)}</b> {escape(summary)}</p>"
    return f"{head}<table>{rows}</table>"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return an HTML table."""
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def flatten(data: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """Return every leaf of nested mappings and lists with its key path."""
    leaves: list[tuple[str, Any]] = []
    for key, value in data.items():
        path = f"{prefix}{key}"
        if isinstance(value, Mapping):
            leaves += flatten(value, f"{path}.")
        elif value and _is_tables(value):
            for index, item in enumerate(value):
                leaves += flatten(item, f"{path}[{index}].")
        else:
            leaves.append((path, value))
    return leaves


def _is_tables(value: object) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(item, Mapping) for item in value)
