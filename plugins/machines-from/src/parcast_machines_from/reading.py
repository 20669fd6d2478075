"""Files recognized by what they say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from importlib import import_module
from pathlib import Path

import attrs

from parcast.errors import FileError
from parcast_machines_from.records import BETWEEN_TWO, Lines, Reading, Series, read_lines, shortened

#: Readers by module; each says by an empty reading that a file is none of its outputs.
READERS = (
    "osu", "imb", "nccl", "stream", "linpack", "hpcc", "roofline", "storage", "nodes", "devices",
    "fabric", "parkbench", "measured", "table", "products",
)  # fmt: skip

#: What is read, in words.
KNOWN = (
    "OSU, IMB, NCCL tests, STREAM, BabelStream, HPL, HPCG, HPC Challenge, mixbench, ERT, "
    "mt-dgemm, IOR, mdtest, fio (JSON), lstopo (XML), scontrol show node, topology.conf, "
    "numactl -H, lscpu, ibstat, ibnetdiscover, nvidia-smi topo -m and nvlink -s, tables of "
    "Parkbench's kernels, parcast mpi measure, tables of medians, and of matrix products by "
    "shape (m, n, k)"
)


#: So many files of a folder without any output are named.
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
        if reading.notes:
            raise NotReadError(
                reading.notes[0].removesuffix("; left out").replace(": left out: ", ": ")
            )
        extent = "line" if lines.last == 1 else f"{lines.last} lines"
        raise NotReadError(
            f"{path}: no output that is read stands in its {extent}; read are {KNOWN}"
        )
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
    left: dict[str, list[str]] = {}
    for path, is_named in _files(paths):
        digest = _digest(path)
        if digest in seen and path.stat().st_size:
            reading += Reading(notes=(f"{path}: the same bytes as {seen[digest]}; read once",))
            continue
        seen[digest] = path
        try:
            reading += read_file(path)
        except FileError as error:
            if is_named and (len(paths) == 1 or not isinstance(error, NotReadError)):
                raise
            place, _, reason = str(error).partition(": ")
            left.setdefault(reason, []).append(place)
    reasons = [f"{shortened(places)}: {why}".removesuffix(": ") for why, places in left.items()]
    if not reading:
        if len(reasons) > _TOLD:
            reasons = [*reasons[:_TOLD], f"{len(reasons) - _TOLD} more"]
        raise FileError(f"no file here is an output that is read: {'; '.join(reasons)}")
    return reading + Reading(notes=tuple(f"left out: {reason}" for reason in reasons))


def _files(paths: Iterable[Path]) -> Iterator[tuple[Path, bool]]:
    """Yield all files, and whether each is named, or else inside a folder.

    Raises
    ------
    FileError
        If a folder has none.
    """
    for path in paths:
        if not path.is_dir():
            yield path, True
            continue
        inside = sorted(item for item in path.rglob("*") if item.is_file())
        if not inside:
            raise FileError(f"{path}: the folder has no files; put outputs of benchmarks there")
        yield from ((item, False) for item in inside)


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
