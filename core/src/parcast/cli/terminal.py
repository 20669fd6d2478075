"""What commands write on a terminal: texts that cannot steer it, and how far the work is."""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from typing import Any, Protocol

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


class Progress(Protocol):
    """Hears what is being done, and how much of it is finished."""

    def __call__(self, text: str, done: float = 0.0, total: float | None = None, /) -> None:
        """Show a text, with a bar where it is known how much there is."""


@contextmanager
def show_progress(unit: str = "", *, shown: bool = True) -> Iterator[Progress]:
    """Give what shows a text, and a bar where a total is told, on a terminal that can take it back.

    A line is drawn as it is told, since a compiled kernel may keep the interpreter to itself, and
    anew while that does not. Lines within lines stand below each other. Nothing is shown
    elsewhere, nor by threads and processes that work side by side.

    Parameters
    ----------
    unit
        What is counted, such as ``"points"``; if given, the bar has their rate.
    shown
        False if the work is too short to show anything.
    """
    if not shown or not _drawable():
        yield lambda _text, _done=0.0, _total=None, /: None
        return
    from parcast.cli.progress import drawn

    with drawn(unit) as tell:
        yield tell


def _drawable() -> bool:
    """Tell whether standard error is a terminal, and this the process and thread in front."""
    if sys.stderr is None or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        return False
    if threading.current_thread() is not threading.main_thread():
        return False
    from multiprocessing import parent_process

    return parent_process() is None
