"""Traces that have a file for each rank: all of them, from the name of one."""

from __future__ import annotations

import re
from pathlib import Path

from parcast.errors import FileError


def rank_files(path: Path) -> list[Path]:
    """Return the files of all ranks in order; the last number of a name is the rank.

    Raises
    ------
    FileError
        If the name has no number, or a rank's file is missing.
    """
    own_parts = _split(path)
    if own_parts is None:
        raise FileError(f"{path}: this format has a file for each rank, and this name has no "
                        "number; give one such as run-0.txt")  # fmt: skip
    files: dict[int, Path] = {}
    for candidate in path.parent.iterdir():
        parts = _split(candidate)
        if parts is not None and (parts[0], parts[2]) == (own_parts[0], own_parts[2]):
            files[int(parts[1])] = candidate
    missing = next(rank for rank in range(len(files) + 1) if rank not in files)
    if missing < len(files):
        raise FileError(f"{path}: rank {missing} of 0 to {max(files)} has no file beside this one")
    return [files[rank] for rank in range(len(files))]


def check_size(path: Path, files: int, ranks: int) -> None:
    """Refuse fewer or more files than the run had ranks.

    Raises
    ------
    FileError
        If that is so.
    """
    if files < ranks:
        raise FileError(f"{path}: the run had {ranks} ranks, and rank {files} has no file here")
    if files > ranks:
        raise FileError(f"{path}: the run had {ranks} ranks, and there are files of {files}; are "
                        "some of another run?")  # fmt: skip


def _split(path: Path) -> tuple[str, str, str] | None:
    match = re.fullmatch(r"(.*?)(\d{1,9})(\D*)", path.name)
    return (match[1], match[2], match[3]) if match else None
