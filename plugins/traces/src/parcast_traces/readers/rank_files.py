"""Traces that have a file for each rank: all of them, from the name of one or by their names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from parcast.errors import FileError

_AFTER_WORD = re.compile(r"rank[-_. ]?(\d{1,9})(?!\d)", re.IGNORECASE)


def rank_files(path: Path, files: Sequence[Path] = ()) -> list[Path]:
    """Return the files of all ranks in order.

    Parameters
    ----------
    path
        One of them; the last number of its name is the rank.
    files
        All of them, if they are known: what differs between their names is the rank.

    Raises
    ------
    FileError
        If the names do not say the ranks, or a rank's file is missing.
    """
    by_rank = _by_difference(path, files) if files else _beside(path)
    missing = next(rank for rank in range(len(by_rank) + 1) if rank not in by_rank)
    if missing < len(by_rank):
        raise FileError(
            f"{path}: rank {missing} of 0 to {max(by_rank)} has no file beside this one"
        )
    return [by_rank[rank] for rank in range(len(by_rank))]


def files_beside(path: Path, *, sure: bool = False) -> list[Path]:
    """Return the files that may be of the same run: with one name but for the rank's number.

    Parameters
    ----------
    path
        One of them.
    sure
        Whether the number must be a rank beyond doubt: after the word, or the only one.
    """
    if not sure:
        return list(_beside(path).values()) if _split(path) else [path]
    match = _AFTER_WORD.search(path.name) or re.fullmatch(r"\D*(\d+)\D*", path.name)
    if match is None:
        return [path]
    before, after = (re.escape(part) for part in (path.name[: match.start(1)],
                                                  path.name[match.end(1) :]))  # fmt: skip
    alike = re.compile(rf"{before}\d+{after}")
    files = [file for file in sorted(path.parent.iterdir()) if alike.fullmatch(file.name)]
    return files if path in files else [path]


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


def rank_named(path: Path) -> int | None:
    """Return the rank that a name says beyond doubt: after the word, or as its only number."""
    after_word = _AFTER_WORD.findall(path.name)
    numbers = after_word or re.findall(r"\d+", path.name)
    return int(numbers[0]) if len(numbers) == 1 and len(numbers[0]) < 10 else None


def _beside(path: Path) -> dict[int, Path]:
    own_parts = _split(path)
    if own_parts is None:
        raise FileError(f"{path}: this format has a file for each rank, and this name has no "
                        "number; give one such as run-0.txt")  # fmt: skip
    files: dict[int, Path] = {}
    for candidate in path.parent.iterdir():
        parts = _split(candidate)
        if parts is not None and (parts[0], parts[2]) == (own_parts[0], own_parts[2]):
            files[int(parts[1])] = candidate
    return files


def _split(path: Path) -> tuple[str, str, str] | None:
    match = re.fullmatch(r"(.*?)(\d{1,9})(\D*)", path.name)
    return (match[1], match[2], match[3]) if match else None


def _by_difference(path: Path, files: Sequence[Path]) -> dict[int, Path]:
    """Return files by the number in which their names differ; of several, by the last."""
    if len(files) == 1:
        return {0: files[0]}
    numbers = [re.findall(r"\d{1,9}", file.name) for file in files]
    least = min(map(len, numbers))
    for back in range(1, least + 1):
        by_rank = {int(own[-back]): file for own, file in zip(numbers, files, strict=True)}
        if len(by_rank) == len(files):
            return by_rank
    raise FileError(f"{path}: the names of its {len(files)} files do not say their ranks; call "
                    "them run-0, run-1 and so on, or give one of them")  # fmt: skip
