"""What commands write on a terminal: texts that cannot steer it."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from typing import Any

#: Controls but the ends of lines and tabs, those of terminals and of the direction of writing.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """Return a text in which what would steer a terminal is an escape, in words: backslash x1b."""
    return _CONTROL.sub(lambda match: ascii(match[0])[1:-1], text)


def printable_json(text: str) -> str:
    """Return JSON in which these are escapes of JSON."""
    return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


class Printing:
    """A stream whose text is `printable`; the one beneath is ``beneath``."""

    def __init__(self, beneath: Any) -> None:
        self.beneath = beneath
        self.before: Callable[[str], None] | None = None  #: hears a text before it is written

    def write(self, text: str) -> int:
        """Write a text."""
        if self.before is not None:
            self.before(text)
        written: int = self.beneath.write(printable(text))
        return written

    def writelines(self, lines: Any) -> None:
        """Write texts."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.beneath, name)


@contextmanager
def printing() -> Iterator[None]:
    """Stand in for closed streams; write controls, and what a terminal cannot show, as escapes."""
    with ExitStack() as stack:
        for name, redirect in (("stdout", redirect_stdout), ("stderr", redirect_stderr)):
            stream = getattr(sys, name)
            if stream is None:
                stream = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
            elif hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")
            stack.enter_context(redirect(Printing(stream)))
        yield


def progress_stream() -> Any:
    """Return standard error as progress is drawn on it, by codes that steer the terminal."""
    return getattr(sys.stderr, "beneath", sys.stderr)
