"""Files that are there whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from parcast.errors import FileError


@contextmanager
def whole_file(path: Path, mode: str, encoding: str | None = None) -> Iterator[IO[Any]]:
    """Open a file to write; nothing is left of one that cannot be written whole.

    Raises
    ------
    FileError
        If it cannot be written.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open(mode, encoding=encoding) as file:
            yield file
        temporary.replace(path)
    except OSError as error:
        raise FileError(f"{path} cannot be written: {error.strerror}") from None
    finally:
        temporary.unlink(missing_ok=True)


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write lines to a file; nothing is left of one that cannot be written whole.

    Raises
    ------
    FileError
        If it cannot be written.
    """
    with whole_file(path, "w", "utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)
