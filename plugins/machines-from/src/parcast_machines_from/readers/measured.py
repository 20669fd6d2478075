"""The machine file that ``parcast mpi measure`` writes."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from typing import Any

from parcast_machines_from.records import Fact, Lines, Reading

#: What an estimate from outputs may lack.
_PARTS = ("processor", "nodes", "network", "storage")


def read(lines: Lines) -> Reading:
    """Return the numbers of a measured host; nothing where the file is none.

    Raises
    ------
    FileError
        If it is no TOML.
    """
    if not {"[host]", "[sources]"} <= {text.strip() for text in lines.lines}:
        return Reading()
    try:
        data = tomllib.loads("\n".join(lines.lines))
    except tomllib.TOMLDecodeError as error:
        raise lines.wrong(1, f"the file is no TOML: {error}") from None
    facts = []
    for part in _PARTS:
        for key, value in data.get(part, {}).items():
            name = f"{part}.{key}"
            source = _source(data["sources"], name)
            if source.startswith("measured") and isinstance(value, str | int | float):
                facts.append(Fact(f"machine.{name}", value, lines.path, _line(lines, part, key)))
    return Reading(facts=tuple(facts))


def _source(sources: Mapping[str, Any], name: str) -> str:
    """Return what the file says of a number, or of its part."""
    return str(sources.get(name, sources.get(name.partition(".")[0], "")))


def _line(lines: Lines, part: str, key: str) -> int:
    """Return the line of a key in its part."""
    header = ""
    for line, text in enumerate(lines.lines, 1):
        if match := re.match(r"\s*\[([\w.]+)\]", text):
            header = match[1]
        elif header == part and re.match(rf"\s*{re.escape(key)}\s*=", text):
            return line
    return 1
