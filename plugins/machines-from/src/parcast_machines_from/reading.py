"""Files recognized by what they say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from pathlib import Path

import attrs

from parcast.errors import FileError
from parcast_machines_from.records import Lines, Reading, read_lines

#: Readers by module; each says by an empty reading that a file is none of its outputs.
READERS = (
    "osu", "imb", "nccl", "stream", "linpack", "roofline", "storage", "nodes", "devices",
    "fabric", "parkbench", "measured", "table", "products",
)  # fmt: skip

#: What is read, in words.
KNOWN = (
    "OSU, IMB, NCCL tests, STREAM, BabelStream, HPL, HPCG, mixbench, ERT, mt-dgemm, IOR, mdtest, "
    "fio (JSON), lstopo (XML), scontrol show node, topology.conf, numactl -H, lscpu, ibstat, "
    "ibnetdiscover, nvidia-smi topo -m and nvlink -s, tables of Parkbench's kernels, parcast mpi "
    "measure, tables of medians, and of matrix products by shape (m, n, k)"
)


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
        reason = f"; {reading.notes[0]}" if reading.notes else f"; read are {KNOWN}"
        raise FileError(f"{path}: no output that is read stands in its {lines.last} lines{reason}")
    return reading


def read_all(paths: Iterable[Path]) -> Reading:
    """Return what files say together; of folders all their files, without those that are unknown.

    Raises
    ------
    FileError
        If a file that is named is nothing that is read, or nothing is read at all.
    """
    reading = Reading()
    for path in paths:
        if not path.is_dir():
            reading += read_file(path)
            continue
        for inner in sorted(item for item in path.rglob("*") if item.is_file()):
            try:
                reading += read_file(inner)
            except FileError as error:
                reading += Reading(notes=(f"left out: {error}",))
    if not reading:
        raise FileError("no file has an output that is read; read are " + KNOWN)
    return reading


def at_level(reading: Reading, level: str) -> Reading:
    """Return the reading of pairs within a level: a node or a socket; or on the network."""
    within = "" if level == "network" else level
    return attrs.evolve(
        reading, series=tuple(attrs.evolve(item, within=within) for item in reading.series)
    )


def _readers() -> Sequence[Callable[[Lines], Reading]]:
    return [import_module(f"{__package__}.readers.{name}").read for name in READERS]
