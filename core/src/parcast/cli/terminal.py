"""What commands write on a terminal: texts that cannot steer it, and one line of progress."""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from typing import Any

import attrs

from parcast.comparison.solving import Tell, silent

#: Progress is drawn no more often than so many seconds.
_PAUSE = 0.1

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

    def write(self, text: str) -> int:
        """Write a text."""
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


@contextmanager
def show_progress() -> Iterator[Tell]:
    """Give what shows a text with the seconds since now, on a terminal that can take it back.

    It is drawn as it is told, since a compiled kernel may keep the interpreter to itself, and
    anew while that does not. Without color, and never wider than the terminal.
    """
    drawable = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    if not drawable or threading.current_thread() is not threading.main_thread():
        yield silent
        return
    line = _Line()
    refresh = threading.Thread(target=line.refresh, daemon=True)
    refresh.start()
    try:
        yield line.tell
    finally:
        line.finished.set()
        refresh.join()
        line.write("")


@attrs.define
class _Line:
    """What stands on the last line of the terminal."""

    text: str = "reading"
    drawn: float = 0.0
    begun: float = attrs.field(factory=time.monotonic)
    finished: threading.Event = attrs.field(factory=threading.Event)

    def tell(self, text: str) -> None:
        """Show a text, unless one was drawn just now."""
        self.text = text
        if time.monotonic() - self.drawn > _PAUSE:
            self.draw()

    def draw(self) -> None:
        """Draw the text as far as it fits."""
        self.drawn = time.monotonic()
        seconds = f"{self.drawn - self.begun:.0f} s"
        room = os.get_terminal_size(sys.stderr.fileno()).columns - len(seconds) - 3
        cut = self.text if len(self.text) <= room else self.text[: max(room - 3, 0)] + "..."
        self.write(f"{cut}  {seconds}")

    def refresh(self) -> None:
        """Draw again while the work goes on, unless a plugin's own bar is there."""
        while not self.finished.wait(1.0):
            if not any(
                type(thread).__name__ == "_RefreshThread" for thread in threading.enumerate()
            ):
                self.draw()

    def write(self, text: str) -> None:
        """Put a text in the place of what stands there."""
        stream = progress_stream()
        stream.write(f"\r\x1b[2K{printable(text)}")
        stream.flush()
