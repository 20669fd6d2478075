"""What is wrong with a trace, by a name that tests and scripts can rely on."""

from __future__ import annotations

from parcast.errors import ParcastError


class TraceError(ParcastError):
    """A trace that no run can have left; ``name`` says how, in one word.

    The message is one sentence: the file, the name, the rank and the event, and what to do.
    """

    def __init__(self, name: str, sentence: str, where: str = "") -> None:
        super().__init__(f"{where}: {name}: {sentence}" if where else f"{name}: {sentence}")
        self.name = name
