"""What is wrong with a trace, by a name that tests and scripts can rely on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from parcast.errors import FileError, ParcastError, UnsupportedError


class TraceError(ParcastError):
    """A trace that no run can have left; ``name`` says how, in one word.

    The message is one sentence: the file, the name, the rank and the event, and what to do.
    """

    def __init__(self, name: str, sentence: str, where: str = "") -> None:
        super().__init__(f"{where}: {name}: {sentence}" if where else f"{name}: {sentence}")
        self.name = name

    def __reduce__(self) -> tuple[Any, ...]:
        """Go to another process as it is."""
        return _rebuilt, (self.name, self.args)


def _rebuilt(name: str, args: tuple[Any, ...]) -> TraceError:
    error = TraceError(name, "")
    error.args = args
    return error


class MissingRanksError(FileError, UnsupportedError):
    """Ranks of a run that have no file; ``about`` are the facts of those that have one."""

    def __init__(self, sentence: str, about: Mapping[str, Any] | None = None) -> None:
        super().__init__(sentence)
        self.about = about or {}
