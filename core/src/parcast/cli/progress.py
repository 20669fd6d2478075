"""One line on a terminal that says what is being asked and since when; nothing elsewhere."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import attrs

from parcast.cli.streams import printable, terminal
from parcast.comparison.solving import Tell, silent

#: Drawn no more often than so many seconds.
_PAUSE = 0.1


@contextmanager
def show_progress() -> Iterator[Tell]:
    """Give what shows a text with the seconds since now, on a terminal that can take it back.

    It is drawn as it is told, since a compiled kernel may keep the interpreter to itself, and
    anew while that does not. Without color, and never wider than the terminal.
    """
    terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    if not terminal or threading.current_thread() is not threading.main_thread():
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
        stream = terminal()
        stream.write(f"\r\x1b[2K{printable(text)}")
        stream.flush()
