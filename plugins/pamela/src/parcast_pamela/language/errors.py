"""Errors about models: one sentence with the position, and the line with a caret."""

from __future__ import annotations

from parcast.errors import FileError, InvalidPointError
from parcast_pamela.language.positions import Position


class ModelError(FileError):
    """A model is wrong; the position is in the message, ``excerpt`` is its line with a caret."""

    def __init__(self, message: str, position: Position | None = None) -> None:
        super().__init__(f"{position}: {message}" if position else message)
        self.position, self.excerpt = position, position.caret if position else ""


class TooLargeError(ModelError):
    """The formula of a model has too many terms."""


class ModelValueError(InvalidPointError):
    """A model has no value at these parameters."""

    def __init__(self, message: str, position: Position | None = None) -> None:
        super().__init__(f"{position}: {message}" if position else message)
        self.position, self.excerpt = position, position.caret if position else ""


class TooManyStepsError(ModelValueError):
    """The value takes more steps than were allowed."""
