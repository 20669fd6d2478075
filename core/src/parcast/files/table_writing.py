"""Tables of machines and workloads as TOML text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from parcast.errors import FileError

#: Where a value stands: the keys of its tables, and numbers from 0 within lists.
Place = tuple[str | int, ...]

#: Keys that need no quotes, and what a comment cannot hold.
_BARE, _CONTROL = re.compile(r"[A-Za-z0-9_-]+"), re.compile(r"[\x00-\x1f\x7f\s]+")


def table_text(data: Mapping[str, Any], comments: Mapping[Place, str] | None = None) -> str:
    """Return a table as TOML, which reads back as the same data.

    Parameters
    ----------
    data
        Texts, numbers, truth values, and lists and mappings of them. A list of mappings alone
        becomes an array of tables. Within a table, what is no table comes first.
    comments
        A line for what stands at a place, such as ``("network", "startup")``: behind a value,
        above a table.

    Raises
    ------
    FileError
        If a text has half a character, which no file can hold.
    TypeError
        If a value is of another type, or a key no text.
    """
    text = "\n".join(_table((), data, comments or {}))
    return f"{text}\n".removeprefix("\n") if text else ""


def _table(place: Place, table: Mapping[str, Any], comments: Mapping[Place, str]) -> Iterator[str]:
    """Yield the lines of a table below its header, and those of the tables in it."""
    inner = {key: value for key, value in table.items() if _has_header(value)}
    for key, value in table.items():
        if key not in inner:
            line = f"{_key(key)} = {_value(value)}"
            comment = comments.get((*place, key))
            yield f"{line}  # {_comment(comment)}" if comment else line
    for key, value in inner.items():
        path = (*place, key)
        if isinstance(value, Mapping):
            plain = any(not _has_header(item) for item in value.values())
            if plain or not value or path in comments:
                yield from _header(path, "[{}]", comments)
            yield from _table(path, value, comments)
            continue
        for index, item in enumerate(value):
            yield from _header((*path, index), "[[{}]]", comments)
            yield from _table((*path, index), item, comments)


def _has_header(value: Any) -> bool:
    """Tell whether a value is a table or an array of tables."""
    if isinstance(value, list | tuple):
        return bool(value) and all(isinstance(item, Mapping) for item in value)
    return isinstance(value, Mapping)


def _header(place: Place, form: str, comments: Mapping[Place, str]) -> Iterator[str]:
    yield ""
    if comment := comments.get(place):
        yield f"# {_comment(comment)}"
    yield form.format(".".join(_key(key) for key in place if not isinstance(key, int)))


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError(f"{key!r} is no key of a table, which is a text")
    return key if _BARE.fullmatch(key) else _value(key)


def _value(value: Any) -> str:
    """Return a value on one line."""
    if isinstance(value, str):
        return _whole(json.dumps(value, ensure_ascii=False)).replace("\x7f", "\\u007f")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return float.__repr__(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, Mapping):
        items = ", ".join(f"{_key(key)} = {_value(item)}" for key, item in value.items())
        return f"{{ {items} }}" if items else "{}"
    raise TypeError(f"{value!r} is nothing that TOML can hold")


def _comment(text: str) -> str:
    return _whole(_CONTROL.sub(" ", text).strip())


def _whole(text: str) -> str:
    """Refuse halves of characters."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise FileError(f"{text} has half a character, which no file can hold") from None
    return text
