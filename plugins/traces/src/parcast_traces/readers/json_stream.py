"""JSON a value at a time, so that a long list need not be in memory."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import IO, Any

from parcast.errors import FileError, shorten

_CHUNK = 1 << 20
_SPACE = re.compile(r"\s*")
#: No single value of a trace is longer.
_MOST_VALUE = 1 << 26


def members(path: Path, streamed: str) -> Iterator[tuple[str, Any]]:
    """Yield name and value of each member of the object in a file.

    Parameters
    ----------
    path
        The file. Numbers that are no integers come as `Decimal`.
    streamed
        The member whose list comes an item at a time, by the same name; a file that is a list is
        taken for this one.

    Raises
    ------
    FileError
        If it cannot be read, or is no JSON.
    """
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            yield from _members(_Text(file), streamed)
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror}") from None
    except RecursionError:
        raise FileError(f"{path}: its lists and objects are nested too deeply") from None
    except ValueError as error:
        raise FileError(f"{path} is no JSON, or cut off: {shorten(error)}") from None


def _members(text: _Text, streamed: str) -> Iterator[tuple[str, Any]]:
    if text.next() == "[":
        yield from ((streamed, item) for item in text.items())
        return
    text.take("{")
    while text.next() != "}":
        name = text.value()
        text.take(":")
        if name == streamed and text.next() == "[":
            yield from ((streamed, item) for item in text.items())
        else:
            yield str(name), text.value()
        if text.next() != "}":
            text.take(",")


class _Text:
    """What is to be read of a file."""

    def __init__(self, file: IO[str]) -> None:
        self.file, self.text, self.at = file, "", 0
        self.decode = json.JSONDecoder(parse_float=Decimal, strict=False).raw_decode

    def next(self) -> str:
        """Return the next character that is no space."""
        while True:
            self.at = _SPACE.match(self.text, self.at).end()  # type: ignore[union-attr]
            if self.at < len(self.text):
                return self.text[self.at]
            if not self._more():
                raise ValueError("it ends inside an object or a list")

    def take(self, wanted: str) -> None:
        """Go beyond a character."""
        if self.next() != wanted:
            raise ValueError(f"there is {self.text[self.at : self.at + 20]!r} instead of {wanted}")
        self.at += 1

    def value(self) -> Any:
        """Return the next value."""
        self.next()
        while True:
            try:
                value, end = self.decode(self.text, self.at)
            except json.JSONDecodeError:
                if len(self.text) - self.at > _MOST_VALUE or not self._more():
                    raise
                continue
            if end == len(self.text) and self._more():  # a number may go on
                continue
            self.at = end
            return value

    def items(self) -> Iterator[Any]:
        """Yield the items of a list."""
        self.take("[")
        while self.next() != "]":
            yield self.value()
            if self.next() != "]":
                self.take(",")
        self.at += 1

    def _more(self) -> bool:
        part = self.file.read(max(_CHUNK, len(self.text) - self.at))
        self.text, self.at = self.text[self.at :] + part, 0
        return bool(part)
