"""How far the work is: a line for each part of it that runs, at the bottom of the terminal."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Protocol

import attrs

from parcast.cli.terminal import Printing, printable, progress_stream

#: Lines are drawn no more often than so many seconds, and at least as often as these.
_PAUSE, _REFRESH = 0.1, 1.0

#: Seconds that a rate is the mean of: the first points are slow, or come from the cache.
_WINDOW = 30.0

#: Columns of a bar, and how few of them still show something.
_BAR, _SHORTEST_BAR = 30, 8


class Progress(Protocol):
    """Hears what is being done, and how much of it is finished."""

    def __call__(self, text: str, done: float = 0.0, total: float | None = None, /) -> None:
        """Show a text, with a bar where it is known how much there is."""


@contextmanager
def drawn(unit: str) -> Iterator[Progress]:
    """Give what draws a line; see `parcast.cli.output.show_progress`."""
    line = _Line(unit)
    _LINES.add(line)
    try:
        yield line.tell
    finally:
        _LINES.remove(line)


@attrs.define(eq=False)
class _Line:
    """One part of the work: what it is, and how much of it is done."""

    unit: str = ""
    text: str = "reading"
    done: float = 0.0
    total: float | None = None
    begun: float = attrs.field(factory=lambda: time.monotonic())  # noqa: PLW0108
    samples: deque[tuple[float, float]] = attrs.field(factory=deque)  #: times, and what was done

    def tell(self, text: str, done: float = 0.0, total: float | None = None) -> None:
        """Show a text and how much is done, unless something was drawn just now."""
        self.text, self.done, self.total = text, done, total
        _LINES.draw_soon()

    def within(self, width: int) -> str:
        """Return the line in fewer than ``width`` columns: first the bar goes, then the rate."""
        numbers, shortest = self._numbers()
        text = printable(self.text)
        room = width - 1 - len(numbers) - 2
        if self.total is not None and room - len(text) - 2 < 0:
            numbers, room = shortest, width - 1 - len(shortest) - 2
        space = min(room - len(text) - 4, _BAR)
        if self.total is not None and space >= _SHORTEST_BAR:
            full = round(space * min(self.done / max(self.total, 1e-300), 1.0))
            text = f"{text}  [{'#' * full}{'-' * (space - full)}]"
        elif len(text) > room:
            text = text[: max(room - 3, 0)] + "..."
        return f"{text}  {numbers}"[: width - 1]

    def _numbers(self) -> tuple[str, str]:
        """Return the numbers of a line, and the fewest that are worth their place."""
        now = time.monotonic()
        elapsed = f"{now - self.begun:.0f} s"
        if self.total is None:
            return elapsed, elapsed
        counted = f"{self.done:,.0f}/{self.total:,.0f}"
        rate = self._rate(now)
        left = ""
        if rate > 0 and self.done < self.total:
            left = f", {_clock((self.total - self.done) / rate)} left"
        speed = f"  {rate:,.{0 if rate >= 10 else 2}f} {self.unit}/s" if rate and self.unit else ""
        percent = f"{self.done / max(self.total, 1e-300):.0%}"[:-1]
        return f"{counted}  {percent} %{speed}  {elapsed}{left}", f"{counted}  {elapsed}{left}"

    def _rate(self, now: float) -> float:
        """Return what is done a second, of late."""
        self.samples.append((now, self.done))
        while len(self.samples) > 2 and self.samples[1][0] < now - _WINDOW:
            self.samples.popleft()
        begun, done = self.samples[0] if len(self.samples) > 1 else (self.begun, 0.0)
        return max(self.done - done, 0.0) / max(now - begun, 1e-9)


def _clock(seconds: float) -> str:
    """Return seconds as hours, minutes and seconds."""
    minutes, second = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{second:02}"


@attrs.define(eq=False)
class _Lines:
    """The lines that stand at the bottom of the terminal, and the thread that refreshes them."""

    lines: list[_Line] = attrs.field(factory=list)
    rows: int = 0  #: of the terminal that are drawn
    drawn: float = 0.0
    unfinished: bool = False  #: the line of another text, which lines would overwrite
    lock: threading.RLock = attrs.field(factory=threading.RLock)
    finished: threading.Event = attrs.field(factory=threading.Event)
    thread: threading.Thread | None = None

    def add(self, line: _Line) -> None:
        """Have a line below the others; the first one starts the refreshing."""
        with self.lock:
            self.lines.append(line)
            if len(self.lines) > 1:
                return
            self._hide_before_texts(hidden=True)
            self.drawn, self.unfinished = -_REFRESH, False
            self.finished.clear()
            self.thread = threading.Thread(target=self._refresh, daemon=True)
            self.thread.start()

    def remove(self, line: _Line) -> None:
        """Take a line away; with the last one nothing stays."""
        with self.lock:
            self.lines.remove(line)
            if self.lines:
                return
            self._hide_before_texts(hidden=False)
            self.clear()
        self.finished.set()
        if self.thread is not None:
            self.thread.join()

    def draw_soon(self) -> None:
        """Draw, unless that was done just now."""
        if time.monotonic() - self.drawn > _PAUSE:
            self.draw()

    def draw(self) -> None:
        """Draw all lines in the place of what stands there."""
        with self.lock:
            self.drawn = time.monotonic()
            if self.unfinished or not self.lines:
                return
            stream, width = progress_stream(), _width()
            texts = [line.within(width) for line in self.lines]
            stream.write(self._erasing() + "\n".join(texts))
            stream.flush()
            self.rows = len(texts)

    def clear(self) -> None:
        """Take back what is drawn."""
        if self.rows:
            stream = progress_stream()
            stream.write(self._erasing())
            stream.flush()
            self.rows = 0

    def make_way(self, text: str) -> None:
        """Take the lines back before a text is written there, until its own line ends."""
        with self.lock:
            self.clear()
            self.unfinished = not text.endswith("\n")

    def _erasing(self) -> str:
        """Return the codes that take back what is drawn."""
        return "\r\x1b[2K" + "\x1b[1A\x1b[2K" * (self.rows - 1)

    def _hide_before_texts(self, *, hidden: bool) -> None:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, Printing) and stream.isatty():
                stream.before = self.make_way if hidden else None

    def _refresh(self) -> None:
        while not self.finished.wait(_REFRESH):
            self.draw()


def _width() -> int:
    """Return the columns of the terminal, those of ``COLUMNS`` where it does not say."""
    with suppress(OSError, ValueError):
        if columns := os.get_terminal_size(sys.stderr.fileno()).columns:
            return columns
    stated = os.environ.get("COLUMNS", "")
    return int(stated) if stated.isdecimal() else 80


_LINES = _Lines()
