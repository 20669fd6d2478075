"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from parcast.errors import FileError, did_you_mean


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give a path to write to, whose file then takes the place of ``path``.

    Nothing is left of a file that cannot be written whole. A device or a pipe is itself written
    to; a link stays one, and a file that is there keeps its permissions.

    Raises
    ------
    FileError
        If it cannot be written.
    """
    target = Path(os.path.realpath(path))
    part = target.with_name(f".part-{os.getpid()}-{threading.get_ident()}-{path.name}")
    if target.exists() and not target.is_file():
        part = target
    try:
        yield part
        if target.is_file():
            shutil.copymode(target, part)
        if part != target:
            part.replace(target)
    except OSError as error:
        raise FileError(f"{path} cannot be written: {error.strerror or error}") from None
    finally:
        if part != target:
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


def write_text(path: Path, text: str) -> None:
    """Write a text to a file; nothing is left of one that cannot be written whole.

    Raises
    ------
    FileError
        If it cannot be written.
    """
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Write bytes to a file; nothing is left of one that cannot be written whole.

    Raises
    ------
    FileError
        If it cannot be written.
    """
    with whole_file(path) as part:
        part.write_bytes(content)


def check_file(path: Path, what: str, suffixes: Collection[str]) -> None:
    """Refuse a file that could not be written, before anything is computed for it.

    Raises
    ------
    FileError
        As `check_suffix` and `check_folder` say.
    """
    check_suffix(path, what, suffixes)
    check_folder(path)


def check_suffix(path: Path, what: str, suffixes: Collection[str]) -> None:
    """Refuse a file of another suffix than those that ``what``, such as ``"a graph"``, can have.

    Raises
    ------
    FileError
        If it has another suffix; a likely one is suggested.
    """
    suffix, known = path.suffix.lower(), list(suffixes)
    if suffix not in known:
        names = known[0] if len(known) == 1 else f"{', '.join(known[:-1])} or {known[-1]}"
        hint = did_you_mean(suffix, known)
        if len(known) == 1 and path.stem.strip("."):
            hint = f" Did you mean {path.with_suffix(known[0]).name!r}?"
        raise FileError(f"{path}: {what} is written as {names}.{hint}")


def check_folder(path: Path) -> None:
    """Refuse a file whose folder is not there, before anything is computed for it.

    Raises
    ------
    FileError
        If there is no such folder, or the file's name is that of a folder.
    """
    if not path.parent.is_dir():
        raise FileError(f"{path} cannot be written: there is no folder {path.parent}")
    if path.is_dir():
        raise FileError(f"{path} cannot be written: it is a folder; name a file in it")
