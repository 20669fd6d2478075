"""Files recognized by what they say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from importlib import import_module
from pathlib import Path

import attrs

from parcast.errors import FileError
from parcast_machines_from.naming import gathered
from parcast_machines_from.records import BETWEEN_TWO, Lines, Reading, Series, read_lines

#: Readers by module; each says by an empty reading that a file is none of its outputs.
READERS = (
    "osu", "imb", "nccl", "stream", "linpack", "hpcc", "roofline", "storage", "nodes", "devices",
    "fabric", "parkbench", "measured", "table", "products",
)  # fmt: skip

#: What is said of a file that no reader knows, and where all are listed.
_NONE = "no output that is read"
_HELP = "; 'parcast machine from --help' lists all that are"

#: So many reasons of a folder without any output are told.
_TOLD = 3


class NotReadError(FileError):
    """A file that is no output which is read, though nothing in it is wrong."""


def read_file(path: Path) -> Reading:
    """Return what a file says.

    Raises
    ------
    FileError
        If it is nothing that is read, or a line of it is wrong.
    """
    lines = read_lines(path)
    fence = next((at for at, text in enumerate(lines.lines, 1) if text.startswith("```")), None)
    if fence is not None:
        raise lines.wrong(fence, "a document with examples; put each output into its own file")
    reading = Reading()
    for read in _readers():
        reading += read(lines)
    if not reading:
        note = next(iter(reading.notes), f"{path}: {_NONE}")
        raise NotReadError(note.removesuffix("; left out").replace(": left out: ", ": "))
    return reading


def read_all(paths: Iterable[Path]) -> Reading:
    """Return what files say together, without those that are no output which is read.

    Raises
    ------
    FileError
        If a line of a file that is named is wrong, or nothing is read at all.
    """
    paths = tuple(paths)
    reading, seen = Reading(), dict[bytes, Path]()
    left: dict[Path, str] = {}
    for path, is_named in files_of(paths):
        first = seen.setdefault(_digest(path), path)
        if first is not path and path.stat().st_size:
            if first in left:
                left[path] = left[first].replace(str(first), str(path), 1)
            else:
                reading += Reading(notes=(f"{path}: the same bytes as {first}; read once",))
            continue
        try:
            reading += read_file(path)
        except FileError as error:
            if is_named and (len(paths) == 1 or not isinstance(error, NotReadError)):
                raise _with_help(error) from None
            left[path] = str(error)
    all_names = {str(path) for path, _ in files_of(paths)}
    reasons = [*gathered(tuple(left.values()), all_names)]
    if not reading:
        if len(reasons) > _TOLD:
            reasons = [*reasons[:_TOLD], f"{len(reasons) - _TOLD} more"]
        raise FileError(f"no file here is an output that is read: {'; '.join(reasons)}{_HELP}")
    notes = (*gathered(reading.notes, all_names), *(f"{reason}; left out" for reason in reasons))
    return attrs.evolve(reading, notes=notes)


def _with_help(error: FileError) -> FileError:
    return type(error)(f"{error}{_HELP}") if str(error).endswith(_NONE) else error


def files_of(paths: Iterable[Path]) -> Iterator[tuple[Path, bool]]:
    """Yield all files, each once, and whether each is named, or else inside a folder.

    Raises
    ------
    FileError
        If a folder has none.
    """
    seen = set[Path]()
    for path in paths:
        inside = sorted(item for item in path.rglob("*") if item.is_file()) if path.is_dir() else []
        if path.is_dir() and not inside:
            raise FileError(f"{path}: the folder has no files; put outputs of benchmarks there")
        for item in inside or [path]:
            if item.resolve() not in seen:
                seen.add(item.resolve())
                yield item, not inside


def _digest(path: Path) -> bytes:
    """Return what tells a file's bytes from others; of what is no file, its name."""
    return sha256(path.read_bytes()).digest() if path.is_file() else str(path).encode()


def at_level(reading: Reading, level: str) -> Reading:
    """Return the reading of pairs within a level: a node or a socket; or on the network."""
    return attrs.evolve(reading, series=tuple(_placed(item, level) for item in reading.series))


def _placed(series: Series, level: str) -> Series:
    if level != "network":
        return attrs.evolve(series, within=level)
    nodes = series.nodes or (2 if series.benchmark in BETWEEN_TWO else None)
    return attrs.evolve(series, within="", nodes=nodes)


def _readers() -> Sequence[Callable[[Lines], Reading]]:
    return [import_module(f"{__package__}.readers.{name}").read for name in READERS]
