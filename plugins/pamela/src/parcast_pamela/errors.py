"""Errors about models: one sentence with the place, and the line with a caret."""

from __future__ import annotations

from parcast.errors import FileError, InvalidPointError
from parcast_pamela.language.tree import Place


class ModelError(FileError):
    """A model is wrong; the place is in the message, ``excerpt`` is its line with a caret."""

    def __init__(self, message: str, place: Place | None = None) -> None:
        super().__init__(f"{place}: {message}" if place else message)
        self.place, self.excerpt = place, place.caret if place else ""


class TooLargeError(ModelError):
    """The formula of a model has too many terms."""


class ModelValueError(InvalidPointError):
    """A model has no value at these parameters."""

    def __init__(self, message: str, place: Place | None = None) -> None:
        super().__init__(f"{place}: {message}" if place else message)
        self.place, self.excerpt = place, place.caret if place else ""


class TooManyStepsError(ModelValueError):
    """The value takes more steps than were allowed."""
