"""The text of measurements: tables by commas, semicolons or tabs."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence

from parcast.cells import meant
from parcast.errors import FileError, shorten
from parcast.files.extrap import Raw


def read_csv(text: str, where: str) -> Iterator[Raw]:
    """Read a table by commas, semicolons or tabs, with the names of the columns first."""
    lines = [(n, line) for n, line in enumerate(text.splitlines(), 1) if line.strip()]
    lines = [(n, line) for n, line in lines if not line.lstrip().startswith("#")]
    if not lines:
        return
    delimiter = max(",;\t", key=lines[0][1].count)
    table = csv.reader((line + "\n" for _, line in lines), delimiter=delimiter)
    heads: list[str] = []
    try:
        for cells in table:
            values = [meant(cell.strip()) for cell in cells]
            position = f"{where}:{lines[table.line_num - 1][0]}"
            if heads:
                yield position, _by_name(heads, values, position)
            elif len(set(values)) < len(values):
                twice = next(name for name in values if values.count(name) > 1)
                raise FileError(
                    f"{position}: a column {shorten(repr(twice))} stands twice; give each a name "
                    f"of its own, such as {shorten(twice)}1"
                )
            heads = heads or values
    except csv.Error as error:
        raise FileError(f"{where}:{lines[table.line_num - 1][0]}: {error}") from None


def _by_name(heads: Sequence[str], values: Sequence[str], position: str) -> dict[str, str]:
    if len(values) != len(heads):
        raise FileError(
            f"{position}: {len(values)} values for {len(heads)} columns; give one for each"
        )
    return dict(zip(heads, values, strict=True))
