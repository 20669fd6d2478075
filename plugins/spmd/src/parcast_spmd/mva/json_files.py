"""Closed networks from JSON files, every mistake named with its position and its mend."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, cast

from parcast.errors import FileError, did_you_mean
from parcast_spmd.mva.closed_network import ClosedNetwork, JobClass, Station, check_network

#: Keys that say something about a network and change nothing.
INFORMATION = frozenset(
    {
        "id",
        "name",
        "kind",
        "description",
        "reference",
        "reference_method",
        "crosscheck",
        "interpretations",
        "source",
        "note",
    }
)
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_EXAMPLE = '{"stations": [...], "classes": [...]}'


def read_network(path: str | Path) -> ClosedNetwork:
    """Return the closed network in a JSON file.

    Raises
    ------
    FileError
        If the file cannot be read, is not JSON, or `network_from_data` refuses what it holds.
    """
    path = Path(path)
    try:
        content = path.read_bytes()
    except IsADirectoryError:
        raise FileError(f"{path} is a directory; name a JSON file in it.") from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise FileError(f"{path} cannot be read: {reason}; check its name.") from None
    if not content.strip():
        raise FileError(f"{path} is empty; write a network such as {_EXAMPLE}.")
    return network_from_data(_parse(content, path), str(path))


def _parse(content: bytes, path: Path) -> Any:
    try:
        text = content.decode("utf-8-sig")
        if "\0" in text:
            raise FileError(f"{path} is not text; name a JSON file.")
        return json.loads(text, object_pairs_hook=_unique)
    except UnicodeDecodeError:
        raise FileError(f"{path} is not text in UTF-8; name a JSON file.") from None
    except json.JSONDecodeError as error:
        position = f"line {error.lineno}, column {error.colno}"
        raise FileError(f"{path}: {position} is not JSON: {error.msg}; mend it there.") from None
    except _RepeatedKeyError as error:
        raise FileError(f"{path}: the key {error.args[0]!r} is given twice; keep one.") from None
    except (RecursionError, ValueError):
        raise FileError(
            f"{path} is not a network: it is nested or has digits beyond use."
        ) from None


class _RepeatedKeyError(Exception):
    """A JSON object has a key twice, which the parser would not say."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _RepeatedKeyError(next(key for key in keys if keys.count(key) > 1))
    return data


def network_from_data(data: Mapping[str, Any], where: str = "The network") -> ClosedNetwork:
    """Return the closed network that a mapping describes.

    Parameters
    ----------
    data
        ``stations`` (each with ``name``, ``type`` ``"delay"`` or ``"queue"``, and ``demand``,
        one number or decimal string for each class, in seconds per cycle) and ``classes``
        (each with ``name`` and ``population``).
    where
        What messages name as its position, such as a file.

    Raises
    ------
    FileError
        If a key is missing, misspelt or of the wrong type, or `check_network` refuses it.
    """
    fields = _mapping(data, where, f"{where}:", ("stations", "classes"), INFORMATION)
    classes = tuple(
        _job_class(item, where, f"classes[{index}]")
        for index, item in enumerate(_list(fields["classes"], where, "classes", "classes"))
    )
    stations = tuple(
        _station(item, where, f"stations[{index}]")
        for index, item in enumerate(_list(fields["stations"], where, "stations", "stations"))
    )
    network = ClosedNetwork(stations=stations, classes=classes)
    check_network(network, where)
    return network


def _station(item: Any, where: str, key: str) -> Station:
    position = f"{where}: {key}"
    fields = _mapping(
        item, position, f"{position}.", ("name", "type", "demand"), {"description", "note"}
    )
    kind = fields["type"]
    if kind not in ("delay", "queue"):
        hint = did_you_mean(kind, ("delay", "queue")) if isinstance(kind, str) else ""
        raise FileError(f"{position}.type is {_show(kind)}; give 'delay' or 'queue'.{hint}")
    listed = _list(fields["demand"], where, f"{key}.demand", "numbers, one for each class")
    demand = tuple(_number(value, f"{position}.demand[{i}]") for i, value in enumerate(listed))
    return Station(
        name=_name(fields["name"], position),
        type=cast("Literal['delay', 'queue']", kind),
        demand=demand,
    )


def _job_class(item: Any, where: str, key: str) -> JobClass:
    position = f"{where}: {key}"
    fields = _mapping(
        item, position, f"{position}.", ("name", "population"), {"description", "note"}
    )
    count = fields["population"]
    if isinstance(count, float) and count.is_integer():
        count = int(count)
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        raise FileError(
            f"{position}.population is {_show(fields['population'])}; give a whole number, "
            "0 or more."
        )
    return JobClass(name=_name(fields["name"], position), population=count)


def _mapping(
    item: Any, position: str, prefix: str, needed: tuple[str, ...], extra: set[str] | frozenset[str]
) -> Mapping[str, Any]:
    """Return an object with all needed keys and no unknown ones."""
    if not isinstance(item, Mapping):
        keys = ", ".join(needed)
        raise FileError(f"{position} is {_show(item)}; give an object with {keys}.")
    gap = " " if prefix.endswith(":") else ""
    for key in item:
        if key not in needed and key not in extra:
            names = ", ".join(needed)
            hint = did_you_mean(str(key), (*needed, *extra)) or f" Known are {names}."
            raise FileError(f"{prefix}{gap}{key} is not a key here; remove or rename it.{hint}")
    for key in needed:
        if key not in item:
            raise FileError(f"{prefix}{gap}{key} is missing; add it.")
    return item


def _list(value: Any, where: str, key: str, of: str) -> list[Any]:
    if not isinstance(value, list | tuple):
        raise FileError(f"{where}: {key} is {_show(value)}; give a list of {of}.")
    return list(value)


def _name(value: Any, position: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise FileError(f"{position}.name is {_show(value)}; give a text that is not empty.")
    return value


def _number(value: Any, position: str) -> float:
    number = math.nan
    if isinstance(value, str) and _DECIMAL.fullmatch(value.strip()):
        number = float(value)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
    if not (math.isfinite(number) and number >= 0):
        raise FileError(
            f"{position} is {_show(value)}; give a finite number of seconds, 0 or more."
        )
    return number


def _show(value: Any) -> str:
    """Return a value as JSON would write it, cut short."""
    try:
        text = json.dumps(value)
    except (TypeError, ValueError):
        text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
