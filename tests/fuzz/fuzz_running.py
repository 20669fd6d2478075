"""One input to one target, with a limit of time."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fuzz_targets import TARGETS

from parcast.errors import ParcastError

#: An input that takes longer hangs, in seconds of CPU.
LIMIT = 5.0


class Hang(BaseException):
    """Raised through whatever catches exceptions."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise Hang

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def feed(name: str, text: bytes, folder: Path, limit: float = LIMIT) -> None:
    """Give a target a file with this content; what it may not raise comes through."""
    target = TARGETS[name]
    path = folder / f"input-0{target.suffix}"
    path.write_bytes(text)
    try:
        with limited(limit):
            target.read(path)
    except ParcastError as error:
        said = str(error)
        assert said.strip(), "an error without a sentence"
        assert "Traceback" not in said
