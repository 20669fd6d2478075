"""Machine and workload files: TOML (or JSON) into frozen values, errors with their key path.

Workloads that are programs are texts, which are read here and understood by `parcast.program`.
"""

from __future__ import annotations

import codecs
import json
import os
import tomllib
from collections.abc import Iterator, Mapping
from keyword import iskeyword
from pathlib import Path
from typing import Any, TypeVar

import attrs

from parcast.errors import FileError, ParcastError, did_you_mean
from parcast.files.structuring import structure
from parcast.model.machine import Machine
from parcast.model.workload import ORIGINS, Workload
from parcast.plugins.entries import KindEntry, PartEntry, load_class
from parcast.quantities.expressions import Value
from parcast.quantities.formulas import Formula, parse_quantity

T = TypeVar("T")

#: A larger text is another file, given by mistake.
_MOST_BYTES = 128 << 20

#: What people write, and what takes seconds to be read: no table of them has been so long.
_MOST_TOML = 2 << 20


def read_text(path: Path) -> str:
    """Return the text of a file, or say what is wrong with it in one sentence."""
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            raise FileError(f"{path} is a device or a pipe; name a file")
        limit = _MOST_TOML if path.suffix.lower() == ".toml" else _MOST_BYTES
        if path.is_file() and (size := path.stat().st_size) > limit:
            hint = "; write what is longer as JSON" if limit == _MOST_TOML else ""
            has = f"{path} has {size >> 20:,} MiB"
            raise FileError(f"{has}; such files have up to {limit >> 20}{hint}")
        text = path.read_text(encoding="utf-8-sig")
    except IsADirectoryError:
        raise FileError(f"{path} is a directory; name a file in it") from None
    except FileNotFoundError:
        raise FileError(f"{path} does not exist") from None
    except UnicodeDecodeError:
        raise FileError(f"{path} is not a text file{_encoded(path)}") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", error)
        raise FileError(f"{path} cannot be read: {reason}") from None
    if "\0" in text:
        raise FileError(f"{path} is not a text file")
    if not text.strip():
        raise FileError(f"{path} is empty")
    return text


def _encoded(path: Path) -> str:
    """Return what to do about a text in another encoding, as Windows writes it; else nothing."""
    with path.open("rb") as file:
        mark = file.read(2)
    if mark not in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return ""
    return " in UTF-8, but in UTF-16; write it anew with: iconv -f UTF-16 -t UTF-8"


def file_to_write(text: object) -> Path:
    """Return the path of a file that people name.

    Raises
    ------
    FileError
        If it is written as that of a folder.
    """
    path = Path(str(text))
    if str(text).endswith(("/", os.sep)):
        raise FileError(f"{text} is a folder; name a file, such as {path / path.name}")
    return path


def read_data(path: Path) -> dict[str, Any]:
    """Return the table in a .toml or .json file."""
    text = read_text(path)
    try:
        data = json.loads(text) if path.suffix.lower() == ".json" else tomllib.loads(text)
    except RecursionError:
        raise FileError(f"{path}: tables and lists are nested too deeply") from None
    except ValueError as error:
        format_ = "JSON" if path.suffix == ".json" else "TOML"
        raise FileError(f"{path}: not valid {format_}: {error}") from None
    if not isinstance(data, dict):
        raise FileError(f"{path}: the file holds no table but {type(data).__name__}")
    return data


def read_program(path: str | Path) -> Workload:
    """Return the workload of a ``.py`` file (see `parcast.program.reader.read_source`)."""
    from parcast.program.reader import read_source

    return read_source(read_text(Path(path)), str(path), Path(path).stem)


_COMMON = {"name", "summary", "source", "sources"}

#: What a machine's file says beside its parts.
_OF_MACHINE = {*_COMMON, "year", "group"}


def machine_from_data(
    data: Mapping[str, Any], where: str, parts: Mapping[str, PartEntry], name: str = ""
) -> Machine:
    """Return the machine that ``data`` describes; ``where`` starts every error's sentence."""
    common = _common(data, where, name)
    year, group = _year(data, where), _group(data, where)
    part_data = {key: value for key, value in data.items() if key not in _OF_MACHINE}
    if not part_data:
        raise FileError(f"{where}: a machine needs at least one part, such as [processor]")
    if part_data.keys() & {"kind", "parameters", "phase"}:
        raise FileError(f"{where}: this is a workload, not a machine")
    _refuse_unknown(part_data, parts, {*_OF_MACHINE, *parts}, where)
    part_values: dict[str, Any] = {
        key: structure(value, load_class(parts[key].target), where, key)
        for key, value in part_data.items()
    }
    return Machine(
        parts=part_values, data=dict(data), where=where, year=year, group=group, **common
    )


_PARTS = {"processor", "nodes", "network", "storage", "accelerator"}


def is_machine(data: Mapping[str, Any]) -> bool:
    """Tell a machine's data from a workload's by its parts."""
    return "kind" not in data and bool(data.keys() & _PARTS)


def workload_from_data(
    data: Mapping[str, Any], where: str, kinds: Mapping[str, KindEntry], name: str = ""
) -> Workload:
    """Return the workload that ``data`` describes; its kind is ``phases`` unless it says other.

    A content that has ``settable()`` returns what of it settings change: numbers by name, and the
    words of other fields, each with its value.
    """
    common = _common(data, where, name)
    kind = data.get("kind", "phases")
    if is_machine(data):
        raise FileError(f"{where}: this is a machine, not a workload")
    if not isinstance(kind, str) or kind not in kinds:
        hint = did_you_mean(str(kind), kinds) or f" Known: {', '.join(sorted(kinds))}."
        raise FileError(f"{where}: kind = {kind!r} is no kind of workload.{hint}")
    if kinds[kind].suffix is not None:
        raise FileError(
            f"{where}: a workload of kind {kind!r} is a {kinds[kind].suffix} file, not a table"
        )
    keys = _COMMON | {"kind", "parameters"}
    content_data = {key: value for key, value in data.items() if key not in keys}
    target = load_class(kinds[kind].target)
    fields = {field.name for field in attrs.fields(target)}
    _refuse_unknown(content_data, fields, fields | keys, where)
    parameters = _parameters(data.get("parameters", {}), where)
    content: Any = structure(content_data, target, where, "")
    for path, formula in _formulas(content):
        unknown = sorted(formula.names - {"p", "d", *parameters})
        if unknown:
            hint = did_you_mean(unknown[0], parameters)
            raise FileError(
                f"{where}: {path} = {formula.text!r} uses {unknown[0]!r}, which is neither p, d "
                f"nor one of [parameters].{hint}"
            )
    numbers, choices = content.settable() if hasattr(content, "settable") else ({}, {})
    return Workload(
        kind=kind, content=content, parameters={**numbers, **parameters}, choices=choices,
        data=dict(data), where=where, **common,
    )  # fmt: skip


def _refuse_unknown(
    data: Mapping[str, Any], fields: Mapping[str, Any] | set[str], suggestions: set[str], where: str
) -> None:
    for key in data:
        if key not in fields:
            hint = (
                did_you_mean(str(key), suggestions) or f" Known: {', '.join(sorted(suggestions))}."
            )
            raise FileError(f"{where}: unknown key {key!r}.{hint}")


def _common(data: Mapping[str, Any], where: str, name: str) -> dict[str, Any]:
    if _deeper(data, 50):
        raise FileError(f"{where}: tables and lists are nested more than 50 levels deep")
    texts = {}
    for key in ("name", "summary", "source"):
        texts[key] = data.get(key, name if key == "name" else "")
        if not isinstance(texts[key], str):
            raise FileError(f"{where}: {key} = {texts[key]!r} must be text")
    if not texts["name"]:
        raise FileError(f"{where}: missing key 'name'")
    return {**texts, "sources": _sources(data, where)}


def _year(data: Mapping[str, Any], where: str) -> int | None:
    """Return when a machine came into use, or was described."""
    year: int | None = data.get("year")
    if year is None or (type(year) is int and 1900 <= year <= 2100):
        return year
    raise FileError(f"{where}: year = {year!r} must be a year, such as 2024")


def _group(data: Mapping[str, Any], where: str) -> str:
    """Return what a machine is listed under."""
    group = data.get("group", "")
    if isinstance(group, str) and (not group or group.replace("-", "").isalnum()):
        return group
    raise FileError(f"{where}: group = {group!r} must be one word, such as 'today'")


def _deeper(value: object, levels: int) -> bool:
    if not isinstance(value, Mapping | list | tuple):
        return False
    items = value.values() if isinstance(value, Mapping) else value
    return levels == 0 or any(_deeper(item, levels - 1) for item in items)


def _sources(data: Mapping[str, Any], where: str) -> dict[str, str]:
    sources = data.get("sources", {})
    if not isinstance(sources, Mapping):
        raise FileError(f"{where}: sources must be a table from key path to text")
    stated = {key: value for key, value in data.items() if key != "sources"}
    for path, text in sources.items():
        if not _has(stated, str(path)):
            from parcast.html import flatten

            hint = did_you_mean(str(path), {key for key, _ in flatten(stated)})
            raise FileError(f"{where}: sources.{path!r} names no key of this file.{hint}")
        if not isinstance(text, str) or text.partition(":")[0] not in ORIGINS or ":" not in text:
            raise FileError(
                f"{where}: sources.{path!r} = {text!r} must start with one of "
                f"{', '.join(word + ':' for word in ORIGINS)}"
            )
    return dict(sources)


def _has(table: Mapping[str, Any], path: str) -> bool:
    """Return whether a table has a key path: ``nodes.cores``, or ``phase[0].bytes``."""
    for key, value in table.items():
        below = [(key, value)]
        if isinstance(value, list | tuple):
            below += [(f"{key}[{index}]", item) for index, item in enumerate(value)]
        for name, item in below:
            inside = isinstance(item, Mapping) and path.startswith(f"{name}.")
            if path == name or (inside and _has(item, path[len(name) + 1 :])):
                return True
    return False


def _parameters(table: object, where: str) -> dict[str, Value]:
    if not isinstance(table, Mapping):
        raise FileError(f"{where}: parameters must be a table, such as [parameters]")
    values: dict[str, Value] = {}
    for name, value in table.items():
        if name in {"p", "d", "rank", "size"}:
            raise FileError(f"{where}: parameters.{name}: this name is taken; choose another")
        if not str(name).isidentifier() or iskeyword(name):
            raise FileError(f"{where}: parameters.{name}: no formula can use this as a name")
        try:
            number = parse_quantity(value).value
        except ParcastError as error:
            raise FileError(f"{where}: parameters.{name}: {error}") from None
        values[name] = value if isinstance(value, int) else number
    return values


def _formulas(value: Any, path: str = "") -> Iterator[tuple[str, Formula]]:
    if isinstance(value, Formula):
        yield path, value
    elif attrs.has(type(value)):
        for field in attrs.fields(type(value)):
            yield from _formulas(getattr(value, field.name), f"{path}.{field.name}".lstrip("."))
    elif isinstance(value, tuple):
        for index, item in enumerate(value):
            yield from _formulas(item, f"{path}[{index}]")
