"""The calls of each rank in a folder that Recorder wrote.

Format: Recorder 2.3 to 2.5, ``tools/reader.c`` and ``lib/recorder-cst-cfg.c``. A rank's calls are
a grammar (``.cfg``) over signatures (``.cst``: the function and its arguments as text), and their
times (``.ts``) are ticks since the start of the call before.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from parcast.errors import FileError, UnsupportedError, shorten

_VERSION = re.compile(r"(2\.[345])\.\d+")
_METADATA = struct.Struct("<i4xddii")
#: The first of the functions whose names follow the metadata.
_FIRST = b"creat\n"
#: Functions of which the last argument is the file; of others that have one it is the first.
_FILE_LAST = frozenset({"fread", "fwrite"})
#: The function of calls of the program's own functions.
_USER = 255
_MOST_RANKS, _MOST_DEPTH = 1 << 20, 500
_MOST_BYTES = 1 << 30


@attrs.frozen
class Signature:
    """A function and its arguments, which many calls may share."""

    function: str
    arguments: tuple[str, ...]


@attrs.frozen(eq=False)
class Calls:
    """The calls of a rank in order, as columns."""

    signatures: Mapping[int, Signature]
    which: Any  #: the signature of each
    start: Any  #: seconds since the program's start
    end: Any


@attrs.frozen
class Folder:
    """What Recorder says of a run."""

    path: Path
    version: str
    ranks: int
    tick: float  #: seconds
    functions: tuple[str, ...]

    def calls(self, rank: int) -> Calls:
        """Return the calls of a rank.

        Raises
        ------
        FileError
            If its files are missing, damaged, or do not fit each other.
        """
        try:
            signatures = self._signatures(rank)
            ticks = np.frombuffer(self._bytes(rank, "ts"), "<u4").astype(np.int64).reshape(-1, 2)
            which = self._which(rank, len(ticks))
        except (struct.error, ValueError, IndexError, UnicodeDecodeError):
            raise FileError(f"{self.path}: the files of rank {rank} are damaged") from None
        if len(which) and not signatures.keys() >= set(np.unique(which).tolist()):
            raise FileError(f"{self.path}: rank {rank} has calls without a signature")
        starts = np.cumsum(ticks[:, 0])
        ends = starts - ticks[:, 0] + ticks[:, 1]
        return Calls(signatures, which, starts * self.tick, ends * self.tick)

    def _bytes(self, rank: int, suffix: str) -> bytes:
        return _bytes(self.path / f"{rank}.{suffix}")

    def _signatures(self, rank: int) -> dict[int, Signature]:
        """Return the signatures of a rank by their numbers."""
        data, signatures = self._bytes(rank, "cst"), dict[int, Signature]()
        head = struct.Struct("<ii" if self.version == "2.3" else "<i4xi4x")
        (count,), at = struct.unpack_from("<i", data), 4
        for _ in range(count):
            number, length = head.unpack_from(data, at)
            at += head.size
            function, _level, arguments, _ = struct.unpack_from("<BBBi", data, at + 8)
            name = self.functions[function] if function != _USER else "a function of the program"
            text = data[at + 15 : at + length].decode("utf-8", "replace")
            file = arguments - 1 if name in _FILE_LAST else 0
            signatures[number] = Signature(name, _split(text, arguments, file))
            at += length
        if at != len(data):
            raise ValueError
        return signatures

    def _which(self, rank: int, count: int) -> Any:
        """Return the signatures of all calls, of which there are as many as times."""
        numbers = np.frombuffer(self._bytes(rank, "cfg"), "<i4")
        rules, at = dict[int, Any](), 1
        for _ in range(int(numbers[0])):
            rule, symbols = numbers[at : at + 2].tolist()
            rules[rule] = numbers[at + 2 : at + 2 + 2 * symbols].reshape(symbols, 2)
            at += 2 + 2 * symbols
        expanded = _Expansion(rules, count).of(-1)
        if len(expanded) != count:
            raise ValueError
        return expanded


class _Expansion:
    """The rules of a grammar as what they stand for, none longer than the whole may be."""

    def __init__(self, rules: Mapping[int, Any], most: int) -> None:
        self.rules, self.most = rules, most
        self.known: dict[int, Any] = {}

    def of(self, rule: int, depth: int = 0) -> Any:
        """Return what a rule stands for; rules are below zero."""
        if rule in self.known:
            return self.known[rule]
        if rule not in self.rules or depth > _MOST_DEPTH:
            raise ValueError
        parts, length = [np.empty(0, np.int64)], 0
        for symbol, times in self.rules[rule].tolist():
            part = np.array([symbol]) if symbol >= 0 else self.of(symbol, depth + 1)
            length += len(part) * times
            if times < 0 or length > self.most:
                raise ValueError
            parts.append(np.tile(part, times))
        self.known[rule] = np.concatenate(parts)
        return self.known[rule]


def _split(text: str, count: int, file: int) -> tuple[str, ...]:
    """Return arguments, each with a space behind it; that of the file may have spaces itself."""
    words = text.removesuffix(" ").split(" ") if count else []
    beyond = file + 1 + max(len(words) - count, 0)
    return (*words[:file], " ".join(words[file:beyond]), *words[beyond:]) if words else ()


def folder(path: Path) -> Folder:
    """Return what the files of a folder say of all ranks.

    Raises
    ------
    FileError
        If one is missing or damaged.
    UnsupportedError
        If it is of another version, or packed in a way that is not read.
    """
    path = path if path.is_dir() else path.parent
    if not (path / "VERSION").is_file():
        raise UnsupportedError(f"{path} has no file VERSION, as traces of Recorder from 2.3 on "
                               "have; older ones are not read")  # fmt: skip
    version = _bytes(path / "VERSION").decode("ascii", "replace").strip()
    match = _VERSION.fullmatch(version)
    if match is None:
        raise UnsupportedError(f"{path}: a trace of Recorder {shorten(version)!r}; those of 2.3 "
                               "to 2.5 are read")  # fmt: skip
    data = _bytes(path / "recorder.mt")
    names = data.find(_FIRST)
    if names < _METADATA.size:
        raise FileError(f"{path / 'recorder.mt'} is damaged: it names no functions")
    ranks, _, tick, _, packing = _METADATA.unpack_from(data)
    if not 0 < ranks <= _MOST_RANKS or not 0 < tick <= 1:
        raise FileError(f"{path / 'recorder.mt'} is damaged: {ranks:,} ranks, {tick:g} s a tick")
    if packing or any(data[_METADATA.size : names]):
        raise UnsupportedError(f"{path}: times or ranks are compressed together, which is not "
                               "read; trace without that")  # fmt: skip
    functions = tuple(data[names:].decode("ascii", "replace").split("\n"))
    return Folder(path, match[1], ranks, tick, functions)


def _bytes(path: Path) -> bytes:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise FileError(f"{path} has over {_MOST_BYTES >> 20:,} MiB, and no rank's file has")
        return path.read_bytes()
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror}") from None


def all_calls(run: Folder) -> Iterator[tuple[int, Calls]]:
    """Yield each rank with its calls."""
    for rank in range(run.ranks):
        yield rank, run.calls(rank)
