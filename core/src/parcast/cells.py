"""Cells of tables that spreadsheets open: text that they would run as a formula is only shown."""

from __future__ import annotations

import re
from typing import Any

_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_DEFUSED = re.compile(r"'+[=+\-@\t\r]")


def defused(value: Any) -> Any:
    """Return a cell's value, text with an apostrophe before it where it begins like a formula.

    Numbers, and text that is one, stay as they are; `meant` gives back the text.
    """
    if not isinstance(value, str) or not _FORMULA.match(value) or _is_number(value):
        return value
    return f"'{value}"


def meant(cell: str) -> str:
    """Return the text that `defused` made a cell of; any other as it is."""
    return cell[1:] if _DEFUSED.match(cell) else cell


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text.strip() == text
