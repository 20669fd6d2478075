"""Lines of a table or a log, none of them so long that it would fill memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO

from parcast.errors import FileError

#: No line is longer.
MOST_LINE = 1 << 20


def text_lines(file: IO[str], path: Path) -> Iterator[str]:
    """Yield the lines of an open file.

    Raises
    ------
    FileError
        If one is too long.
    """
    number = 0
    while line := file.readline(MOST_LINE):
        number += 1
        if len(line) >= MOST_LINE:
            raise FileError(f"{path}:{number}: no line of a profile has a megabyte")
        yield line
