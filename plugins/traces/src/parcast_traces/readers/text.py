"""Lines of text traces, a few at a time, so that a wrong file is refused early."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from parcast.errors import FileError, shorten

#: No line of a trace is longer.
MOST_LINE = 1 << 20


class Place(NamedTuple):
    """A line, as errors name it."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class Position:
    """The line that is being read, as errors name it."""

    def __init__(self) -> None:
        self.file, self.line = "", 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def blocks(path: Path) -> Iterator[bytes]:
    """Yield a file as some whole lines at a time.

    Raises
    ------
    FileError
        If it cannot be read, or has a line that is too long for a trace.
    """
    number = 1
    try:
        with path.open("rb") as file:
            tail = b""
            while block := file.read(MOST_LINE):
                complete, newline, after = block.rpartition(b"\n")
                if newline:
                    yield tail + complete + newline
                    number, tail = number + complete.count(b"\n") + 1, after
                else:
                    tail += block
                if len(tail) >= MOST_LINE:
                    raise FileError(f"{path}:{number}: no line of a trace has a megabyte")
            if tail:
                yield tail
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror}") from None


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield number and text of every line.

    Raises
    ------
    FileError
        If it cannot be read, is no text, or has a line that is too long for a trace.
    """
    number = 1
    for block in blocks(path):
        texts = block.decode("ascii", "replace").split("\n")
        if not block.isascii():
            wrong = next(at for at, text in enumerate(texts) if not text.isascii())
            yield from enumerate(map(str.strip, texts[:wrong]), number)
            raise FileError(f"{path}:{number + wrong}: it is no text of a trace")
        if not texts[-1]:
            texts.pop()  # after the last newline
        yield from enumerate(map(str.strip, texts), number)
        number += len(texts)


def number(text: str, where: object, *, least: float = 0.0) -> float:
    """Return a number of a line.

    Raises
    ------
    FileError
        If it is none, or less than ``least``.
    """
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not least <= value < float("inf"):
        raise FileError(f"{where}: {shorten(text)!r} must be a number of {least:g} or more")
    return value


def whole(text: str, where: object, *, least: int = 0) -> int:
    """Return a whole number of a line.

    Raises
    ------
    FileError
        If it is none, or less than ``least``.
    """
    if len(text) < 16 and text.isdecimal() and least <= 0:  # most are
        return int(text)
    value = number(text, where, least=least)
    if value != int(value):
        raise FileError(f"{where}: {shorten(text)!r} must be a whole number")
    return int(value)
