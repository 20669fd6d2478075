"""Binary logs of Darshan, read by Darshan's own library in a process of its own."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryFile

from parcast.errors import FileError, ParcastError, shorten

#: Seconds that the library may take for a log.
_MOST_SECONDS = 600.0


def printed(path: Path) -> Iterator[str]:
    """Yield the lines of a log.

    Raises
    ------
    ParcastError
        If the library is not installed.
    FileError
        If it cannot read the log, or breaks on it.
    """
    if find_spec("darshan") is None:
        raise ParcastError(
            f"{path}: a log of Darshan is read by its library, which is not installed: uv pip "
            "install 'parcast-emulator[darshan]'; or give the text of darshan-parser"
        )
    command = [sys.executable, "-m", "parcast_emulator.darshan.extract", str(path)]
    with TemporaryFile("w+", errors="replace") as complaints, subprocess.Popen(  # noqa: S603  (Python itself)
        command, stdout=subprocess.PIPE, stderr=complaints, text=True, errors="replace"
    ) as process:  # fmt: skip
        watch = threading.Timer(_MOST_SECONDS, process.kill)
        watch.start()
        try:
            assert process.stdout is not None
            yield from process.stdout
            failed = process.wait()
        finally:
            watch.cancel()
            process.kill()
        complaints.seek(0)
        text = " ".join(complaints.read()[-2000:].split())
    if failed:
        raise FileError(f"{path}: Darshan's library cannot read it: {shorten(text, 200)}")
