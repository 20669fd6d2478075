"""How many events are wanted of a trace that is read, so that a longer one is refused early."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import attrs

from parcast.errors import UnsupportedError

#: Of what becomes a program: where nothing is shared a block takes a kilobyte.
_MOST_EVENTS = 1_000_000
#: No line that is an event is longer.
_MOST_LINE = 1 << 20


class TooLongError(UnsupportedError):
    """A trace of more events than are wanted."""


@attrs.frozen
class Limit:
    """How many events a trace may have, and what a longer one is told."""

    events: int
    reason: str

    def check(self, where: str, events: int) -> None:
        """Refuse more events than are wanted.

        Raises
        ------
        TooLongError
            If there are more.
        """
        if events > self.events:
            raise TooLongError(f"{where} has over {self.events:,} events; {self.reason}")


@attrs.define
class EventCount:
    """Counts the events of texts that come in parts, and refuses too many as soon as they came."""

    event: re.Pattern[bytes]  #: what begins each line that is one
    limit: Limit
    where: str
    events: int = 0
    line: bytes = b""  #: which has not ended yet

    def begin(self) -> None:
        """Go on to the next text."""
        self.line = b""

    def take(self, part: bytes) -> None:
        """Count what ends in a part.

        Raises
        ------
        TooLongError
            If there are more than are wanted.
        """
        text = self.line + part
        end = text.rfind(b"\n") + 1
        self.events += sum(1 for _ in self.event.finditer(text, 0, end))
        self.line = text[end:] if len(text) - end <= _MOST_LINE else b""
        self.limit.check(self.where, self.events)


#: Of a trace without times: it becomes a program for whatever solves it.
OF_WORK = Limit(
    _MOST_EVENTS,
    "a trace without times is timed as a program, which is in memory as a whole; give a part of "
    "the run, such as fewer steps; 'parcast show' counts what all of it calls and sends",
)
#: Of one with times that is to become a program.
OF_RECORDED = Limit(
    _MOST_EVENTS,
    "a program is in memory as a whole; give a part of the run, such as fewer steps, or ask "
    "'parcast perturb', which takes recorded runs of any length",
)

_LIMIT: ContextVar[Limit | None] = ContextVar("limit", default=None)


def current_limit() -> Limit | None:
    """Return the limit of the trace that is being read, None if it has none."""
    return _LIMIT.get()


@contextmanager
def limited(limit: Limit | None) -> Iterator[None]:
    """Set a limit for what is read in the block."""
    token = _LIMIT.set(limit)
    try:
        yield
    finally:
        _LIMIT.reset(token)
