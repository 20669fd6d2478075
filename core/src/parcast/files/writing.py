"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from parcast.errors import FileError


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give a path to write to, whose file then takes the place of ``path``.

    Nothing is left of a file that cannot be written whole. A device or a pipe is itself written to.

    Raises
    ------
    FileError
        If it cannot be written.
    """
    part = path.with_name(f".part-{os.getpid()}-{threading.get_ident()}-{path.name}")
    if path.exists() and not path.is_file():
        part = path
    try:
        yield part
        part.replace(path)
    except OSError as error:
        raise FileError(f"{path} cannot be written: {error.strerror or error}") from None
    finally:
        if part != path:
            with suppress(OSError):
                part.unlink()


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write lines to a file; nothing is left of one that cannot be written whole.

    Raises
    ------
    FileError
        If it cannot be written.
    """
    with whole_file(path) as part, part.open("w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)
