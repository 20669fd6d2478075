"""Traces as columns in one file: read without copying, a window at a time.

A header in JSON says where each table begins; a checksum over all of them guards against
files that are cut off or changed, as the kernel trusts what it reads.
"""

from __future__ import annotations

import json
import math
import mmap
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from parcast.errors import FileError
from parcast.files import whole_file
from parcast_traces.trace.columns import Channels, Events, Trace

_MAGIC = b"parcast trace 1\n"
_PAGE = 4096
_BLOCK = 1 << 20
_TYPES = {
    "offsets": "<i8", "whole": "<i4", "times": "<f8", "slots": "<i4", "requests": "<i4",
    "source": "<i4", "target": "<i4", "tag": "<i8", "communicator": "<i4", "members": "<i4",
    "sizes": "<i8",
}  # fmt: skip


def write(trace: Trace, path: Path) -> tuple[str, ...]:
    """Write a trace, of which nothing is lost; nothing is left of a file that is not whole.

    Raises
    ------
    FileError
        If it cannot be written.
    """
    tables, layout, at = dict(_tables(trace)), {}, 0
    for name, table in tables.items():
        layout[name] = {"shape": table.shape, "at": at}
        at += -(-_bytes(name, table) // _PAGE) * _PAGE
    checksum = 0
    for block in (block for name, table in tables.items() for block in _blocks(name, table)):
        checksum = zlib.crc32(block, checksum)
    header = json.dumps({
        "tables": layout, "bytes": at, "checksum": checksum, "labels": trace.labels,
        "sites": trace.sites, "regions": trace.regions, "tick": trace.tick,
        "comparable": trace.comparable, "timed": trace.timed, "notes": trace.notes,
        "modeled": trace.modeled,
    }).encode()  # fmt: skip
    with whole_file(path) as part, part.open("wb") as file:
        start = -(-(len(_MAGIC) + 8 + len(header)) // _PAGE) * _PAGE
        file.write(_MAGIC + len(header).to_bytes(8, "little") + header)
        file.write(b"\0" * (start - file.tell()))
        for block in (block for name, table in tables.items() for block in _blocks(name, table)):
            file.write(block)
            trace.release()
    return ()


def _tables(trace: Trace) -> Iterator[tuple[str, Any]]:
    events, channels = trace.events, trace.channels
    yield from (("offsets", events.offsets), ("whole", events.whole), ("times", events.times))
    yield from (("slots", events.slots), ("requests", trace.requests))
    yield from (("source", channels.source), ("target", channels.target))
    yield from (("tag", channels.tag), ("communicator", channels.communicator))
    yield "members", np.concatenate([np.empty(0, np.int32), *trace.communicators])
    yield "sizes", np.array([len(members) for members in trace.communicators], np.int64)


def _bytes(name: str, table: Any) -> int:
    """Return how many bytes a table has in the file."""
    return int(math.prod(table.shape)) * np.dtype(_TYPES[name]).itemsize


def _blocks(name: str, table: Any) -> Iterator[bytes]:
    """Yield a table a part at a time, and what fills its last page."""
    for low in range(0, len(table), _BLOCK):
        yield np.ascontiguousarray(table[low : low + _BLOCK], _TYPES[name]).tobytes()
    yield b"\0" * (-_bytes(name, table) % _PAGE)


def read(path: Path) -> Trace:
    """Return a trace that `write` wrote, its tables mapped into memory.

    Raises
    ------
    FileError
        If it cannot be read, or is not whole.
    """
    try:
        with path.open("rb") as file:
            header, start = _header(file, path)
            _check(file, header, start, path)
            # private pages: never written, but compiled code takes writable tables only
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror}") from None
    return _trace({name: _table(mapped, start, name, header) for name in _TYPES}, header, path,
                  mapped)  # fmt: skip


def _header(file: Any, path: Path) -> tuple[dict[str, Any], int]:
    if file.read(len(_MAGIC)) != _MAGIC:
        raise FileError(f"{path} is no trace in columns; 'parcast perturb save' writes one")
    size = int.from_bytes(file.read(8), "little")
    try:
        header = json.loads(file.read(min(size, _BLOCK << 6)))
        complete = isinstance(header, dict) and header["tables"].keys() == _TYPES.keys()
    except (ValueError, KeyError, AttributeError):
        complete = False
    if not complete:
        raise FileError(f"{path} is cut off or changed: its header cannot be read")
    return header, -(-(len(_MAGIC) + 8 + size) // _PAGE) * _PAGE


def _check(file: Any, header: Mapping[str, Any], start: int, path: Path) -> None:
    """Read the tables once, block by block, and compare the checksum."""
    file.seek(start)
    checksum = 0
    while block := file.read(_BLOCK):
        checksum = zlib.crc32(block, checksum)
    if checksum != header["checksum"] or file.tell() != start + header["bytes"]:
        raise FileError(f"{path} is cut off or changed; save it again from the trace")


def _table(mapped: mmap.mmap, start: int, name: str, header: Mapping[str, Any]) -> Any:
    shape, at = header["tables"][name]["shape"], header["tables"][name]["at"]
    if 0 in shape:
        return np.zeros(shape, _TYPES[name])
    return np.frombuffer(mapped, _TYPES[name], math.prod(shape), start + at).reshape(shape)


def _trace(
    tables: Mapping[str, Any], header: Mapping[str, Any], path: Path, mapped: mmap.mmap
) -> Trace:
    members = np.split(tables["members"], np.cumsum(tables["sizes"])[:-1])
    return Trace(
        where=str(path),
        events=Events(**{name: tables[name] for name in ("offsets", "whole", "times", "slots")}),
        channels=Channels(
            **{name: tables[name] for name in ("source", "target", "tag", "communicator")}
        ),
        communicators=tuple(members),
        labels=tuple(header["labels"]),
        sites=tuple(header["sites"]),
        regions=tuple(header.get("regions", ())),
        requests=tables["requests"],
        tick=header["tick"],
        comparable=header["comparable"],
        timed=header["timed"],
        modeled=header.get("modeled", False),
        notes=tuple(header["notes"]),
        mapped=mapped,
    )
