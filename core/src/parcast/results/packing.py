"""Rows as columns of JSON values: how many rows are kept, sent and written at once.

A column is one of ``{"same": value}``, ``{"each": [values]}``, ``{"keys": {name: column}}`` for
tables with the same keys, and ``{"items": [columns]}`` for lists of as many tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from typing import Any, Protocol, runtime_checkable

import attrs

from parcast.html import flatten
from parcast.model.query import Parts, Status
from parcast.results.row import Row, plain

Column = dict[str, Any]

#: So many rows are packed together.
CHUNK = 4096

_FIELDS = tuple(field.name for field in attrs.fields(Row))
_TUPLES = ("notes", "lowering")


@attrs.frozen
class Pack:
    """``count`` rows by column."""

    count: int
    columns: Mapping[str, Column]

    @classmethod
    def of(cls, rows: Sequence[Row]) -> Pack:
        """Return the rows packed."""
        columns = {name: [getattr(row, name) for row in rows] for name in _FIELDS}
        columns["status"] = [row.status.value for row in rows]
        columns["parts"] = [row.parts and vars(row.parts) for row in rows]
        return cls(len(rows), {name: _column(values) for name, values in columns.items()})

    @classmethod
    def joined(cls, parts: Sequence[Pack]) -> Pack:
        """Return the rows of several packs as one."""
        counts = [part.count for part in parts]
        return cls(
            sum(counts),
            {name: _joined([part.columns[name] for part in parts], counts) for name in _FIELDS},
        )

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Pack:
        """Return what `to_dict` gave."""
        return cls(data["count"], {name: data["columns"][name] for name in _FIELDS})

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        return {"count": self.count, "columns": self.columns}

    def rows(self) -> list[Row]:
        """Return the rows."""
        columns = {name: _values(column, self.count) for name, column in self.columns.items()}
        rows = zip(*(columns[name] for name in _FIELDS), strict=True)
        return [_row(dict(zip(_FIELDS, values, strict=True))) for values in rows]

    def row(self, index: int) -> Row:
        """Return one row."""
        return _row({name: _value(column, index) for name, column in self.columns.items()})

    def flat(self) -> dict[str, Column]:
        """Return a column for each leaf of nested values, named by its key path with dots.

        Lists are joined by ``; ``. A column is ``same`` or ``each``; rows without it have None.
        """
        return {
            name: leaf
            for field, column in self.columns.items()
            for name, leaf in _leaves(field, column)
        }


@runtime_checkable
class Packed(Protocol):
    """Rows that are kept packed."""

    def packs(self) -> Iterator[Pack]:
        """Yield all rows in order, some thousand at a time."""


def packs(rows: Sequence[Row]) -> Iterator[Pack]:
    """Yield all rows in order, some thousand at a time."""
    if isinstance(rows, Packed):
        yield from rows.packs()
    else:
        for start in range(0, len(rows), CHUNK):
            yield Pack.of(rows[start : start + CHUNK])


def values(column: Column, count: int) -> list[Any]:
    """Return a value for each of ``count`` rows of a flat column."""
    return [column["same"]] * count if "same" in column else column["each"]


def _column(cells: list[Any]) -> Column:
    """Return values of any type as a column of JSON values."""
    first: Any = cells[0] if cells else None
    kinds = set(map(type, cells))
    if kinds == {dict} and len(set(map(tuple, cells))) == 1:
        return {"keys": {str(key): _column([cell[key] for cell in cells]) for key in first}}
    if kinds <= {list, tuple} and first and all(_are_tables(cell, len(first)) for cell in cells):
        return {"items": [_column([cell[at] for cell in cells]) for at in range(len(first))]}
    if kinds == {tuple} and cells.count(first) == len(cells) and all(type(x) is str for x in first):
        return {"same": list(first)}
    cells = _plain(cells, kinds)
    return {"same": cells[0]} if cells and _are_the_same(cells) else {"each": cells}


def _are_the_same(cells: list[Any]) -> bool:
    """Return whether JSON values are written alike: 1, 1.0 and True, or 0.0 and -0.0, are not."""
    first = cells[0]
    if cells.count(first) < len(cells) or len(set(map(type, cells))) > 1:
        return False
    parts = first if isinstance(first, list) else [first]
    if all(part is None or isinstance(part, str) for part in parts) or isinstance(first, int):
        return True
    if isinstance(first, float) and first:  # only zeros have two signs
        return True
    return len(set(map(repr, cells))) == 1


def _plain(cells: list[Any], kinds: set[type]) -> list[Any]:
    """Return JSON values (see `plain`), the whole column at once where it needs no change."""
    odd = kinds - {type(None), str, int, bool}
    if not odd or (kinds == {float} and isfinite(sum(cells))):
        return cells
    return [plain(cell) for cell in cells]


def _joined(columns: Sequence[Column], counts: Sequence[int]) -> Column:
    """Return one column of several, in the form they share, or else each value."""
    forms = {next(iter(column)) for column in columns}
    first = columns[0]
    if forms == {"same"} and _are_the_same([column["same"] for column in columns]):
        return first
    if forms == {"keys"} and all(c["keys"].keys() == first["keys"].keys() for c in columns):
        inner = {key: [column["keys"][key] for column in columns] for key in first["keys"]}
        return {"keys": {key: _joined(parts, counts) for key, parts in inner.items()}}
    if forms == {"items"} and len({len(column["items"]) for column in columns}) == 1:
        items = zip(*(column["items"] for column in columns), strict=True)
        return {"items": [_joined(parts, counts) for parts in items]}
    pieces = [_values(column, count) for column, count in zip(columns, counts, strict=True)]
    return {"each": [value for piece in pieces for value in piece]}


def _are_tables(value: Sequence[Any], count: int) -> bool:
    return len(value) == count and all(type(item) is dict for item in value)


def _values(column: Column, count: int) -> list[Any]:
    ((form, content),) = column.items()
    if form == "same":
        return [content] * count
    if form == "each":
        return content  # type: ignore[no-any-return]
    if form == "items":
        items = [_values(item, count) for item in content]
        return [list(record) for record in zip(*items, strict=True)]
    keys = [_values(item, count) for item in content.values()]
    if not keys:
        return [{} for _ in range(count)]
    return [dict(zip(content, record, strict=True)) for record in zip(*keys, strict=True)]


def _value(column: Column, index: int) -> Any:
    ((form, content),) = column.items()
    if form == "same":
        return content
    if form == "each":
        return content[index]
    if form == "items":
        return [_value(item, index) for item in content]
    return {key: _value(item, index) for key, item in content.items()}


def _row(fields: dict[str, Any]) -> Row:
    fields["status"] = Status(fields["status"])
    fields["parts"] = fields["parts"] and Parts(**fields["parts"])
    for name in _TUPLES:
        fields[name] = tuple(fields[name])
    for name in ("ci", "mapping"):
        if isinstance(fields[name], list):
            fields[name] = tuple(fields[name])
    return Row(**fields)


def _leaves(path: str, column: Column) -> Iterator[tuple[str, Column]]:
    ((form, content),) = column.items()
    if form == "keys":
        for key, inner in content.items():
            yield from _leaves(f"{path}.{key}", inner)
    elif form == "items":
        for index, inner in enumerate(content):
            yield from _leaves(f"{path}[{index}]", inner)
    elif form == "same":
        yield path, {"same": _cell(content)}
    elif not {dict, list}.isdisjoint(map(type, content)):
        yield from _unlike(path, content)
    else:
        yield path, column


def _unlike(path: str, cells: list[Any]) -> Iterator[tuple[str, Column]]:
    """Yield the leaves of values that do not have the same keys."""
    rows = [{key: _cell(leaf) for key, leaf in flatten({path: value})} for value in cells]
    for name in dict.fromkeys(key for row in rows for key in row):
        yield name, {"each": [row.get(name) for row in rows]}


def _cell(value: object) -> object:
    return "; ".join(map(str, value)) if isinstance(value, list) else value
