"""Errors about models: one sentence with the place, and the line with a caret."""

from __future__ import annotations

from parcast.errors import FileError, InvalidPointError
from parcast_pamela.language.tree import Place


class ModelError(FileError):
    """A model is wrong; the place is in the message, ``caret`` shows the line."""

    def __init__(self, message: str, place: Place | None = None) -> None:
        super().__init__(f"{place}: {message}" if place else message)
        self.place = place

    @property
    def caret(self) -> str:
        """The line of the model and a caret below it, or nothing."""
        return self.place.caret if self.place else ""


class ModelValueError(InvalidPointError):
    """A model has no value at these parameters."""

    def __init__(self, message: str, place: Place | None = None) -> None:
        super().__init__(f"{place}: {message}" if place else message)
        self.place = place
