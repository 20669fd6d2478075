"""Results read back from the files that parcast writes: .json and .jsonl."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, partial
from operator import eq
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from parcast import Parts, Results, Row
from parcast.errors import FileError, shorten
from parcast.files import read_text
from parcast.results import SCHEMA

if TYPE_CHECKING:
    from cattrs import Converter

_FIX = "write results with: parcast compare WORKLOAD MACHINE -o results.json"


def read_results(path: Path) -> Results:
    """Return the results of a file that ``-o NAME.json``, ``-o NAME.jsonl`` or ``--json`` wrote.

    Raises
    ------
    FileError
        Naming the file, the row and what is wrong with it.
    """
    suffix = path.suffix.lower()
    if suffix not in {".json", ".jsonl"}:
        raise FileError(f"{path}: results are read from .json and .jsonl files; {_FIX}")
    text = read_text(path)
    if suffix == ".jsonl":
        lines = [(n, line) for n, line in enumerate(text.splitlines(), 1) if line.strip()]
        rows = [_row(_parse(line, f"{path}:{n}"), f"{path}:{n}") for n, line in lines]
        return _check_rows(Results(tuple(rows)), path)
    data = _parse(text, str(path))
    if not isinstance(data, dict) or not isinstance(data.get("rows"), list):
        raise FileError(f"{path}: this is no object with 'rows', as results are; {_FIX}")
    if data.get("schema") != SCHEMA:
        raise FileError(
            f"{path}: schema = {shorten(data.get('schema'))} where this parcast reads {SCHEMA}; "
            "ask again with this version"
        )
    provenance = data.get("provenance") or {}
    _check_tables(
        provenance, f"{path}: provenance", ("settings", "plugins", "run", "over", "measured")
    )
    rows = [_row(row, f"{path}: rows[{index}]") for index, row in enumerate(data["rows"])]
    return _check_rows(Results(tuple(rows), provenance), path)


def _check_rows(results: Results, path: Path) -> Results:
    if not results.rows:
        raise FileError(f"{path}: there are no rows in it; {_FIX}")
    return results


def _check_tables(data: Any, where: str, names: Iterable[str]) -> None:
    """Refuse what is no object, and an entry of these names that is none."""
    if not isinstance(data, dict):
        raise FileError(f"{where} must be an object; {_FIX}")
    for name in names:
        if not isinstance(data.get(name, {}), dict):
            raise FileError(f"{where}.{name} is no object; {_FIX}")


def _parse(text: str, where: str) -> Any:
    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is no number that results hold")

    try:
        return json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise FileError(f"{where}: not valid JSON: {error}") from None


def _row(data: Any, where: str) -> Row:
    from cattrs import BaseValidationError, transform_error

    if not isinstance(data, dict):
        raise FileError(f"{where}: a row is an object, not {shorten(data)}")
    fields = {field.name for field in attrs.fields(Row)}
    unknown = sorted(data.keys() - fields)
    if unknown:
        raise FileError(f"{where}: unknown key {shorten(unknown[0])!r}; {_FIX}")
    try:
        row = _converter().structure(data, Row)
    except BaseValidationError as error:
        problem = transform_error(error, path="row")[0]
        raise FileError(f"{where}: {problem}; {_FIX}") from None
    _check_tables(row.details, f"{where}: details", ("charge", "uncertainty", "bounds"))
    for name, number in _numbers(row):
        if not math.isfinite(number) or (name in {"p", "d"} and number < 1):
            raise FileError(f"{where}: {name} = {number} is no value of a row; {_FIX}")
    return row


def _numbers(row: Row) -> Iterator[tuple[str, float]]:
    for field in attrs.fields(Row):
        value = getattr(row, field.name)
        if isinstance(value, int | float):
            yield field.name, value
    yield from row.quantiles.items()
    yield from (("ci", end) for end in row.ci or ())
    yield from (("parts", part) for part in (row.parts.values() if row.parts else ()))


@cache
def _converter() -> Converter:
    from cattrs import Converter

    converter = Converter()
    converter.register_structure_hook(str, _text)
    for kind, hook in (
        (Mapping[str, Any], _table),
        (str | tuple[int, ...], _mapping),
        (Parts, _parts),
    ):
        converter.register_structure_hook_func(partial(eq, kind), hook)
    return converter


def _text(value: Any, _: type) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{shorten(value)} is no text")
    return value


def _table(value: Any, _: type) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError(f"{shorten(value)} is no object")
    return value


def _parts(value: Any, _: type) -> Parts:
    return Parts(**{name: float(part) for name, part in _table(value, dict).items()})


def _mapping(value: Any, _: type) -> str | tuple[int, ...]:
    return tuple(map(int, value)) if isinstance(value, list) else _text(value, str)
