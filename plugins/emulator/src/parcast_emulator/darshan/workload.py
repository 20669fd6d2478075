"""A log of Darshan as a workload: what it takes on other disks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from parcast import Workload
from parcast.errors import FileError
from parcast.quantities import Formula, Unit
from parcast_emulator.darshan.layers import Amount, Layers, amounts, dealt, layers, untraced
from parcast_emulator.darshan.library import printed
from parcast_emulator.darshan.log import Log, read_log, summed
from parcast_emulator.emulators.accesses import Accesses
from parcast_emulator.emulators.content import Emulated

#: A log begins with the version of its format.
_BINARY = re.compile(rb"[34]\.\d\d\x00")

#: Lustre's and most others'.
_STRIPE = 2**20

#: A log says fewer of them; the emulator takes as many in an epoch.
_MOST_SERIES = 5_000_000


def read(path: Path) -> Workload:
    """Return the accesses of a log as a workload of kind ``emulator``.

    The log is Darshan's own, or the text of darshan-parser, of darshan-dxt-parser or of both.

    Raises
    ------
    FileError
        If it is damaged, or has no access at all.
    ParcastError
        If it is binary and Darshan's library is not installed.
    """
    try:
        with path.open("rb") as file:
            beginning = file.read(64)
        if beginning.lstrip().startswith(b"#"):
            with path.open(encoding="utf-8", errors="replace") as text:
                log = read_log(text, str(path))
        elif _BINARY.match(beginning):
            log = read_log(printed(path), str(path))
        else:
            raise FileError(f"{path}: it begins neither as a log of Darshan 3 does, nor as the "
                            "text of its parsers")  # fmt: skip
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}") from None
    return workload(log, path.stem)


def workload(log: Log, name: str) -> Workload:
    """Return a log as a workload."""
    storage = layers(log)
    left = untraced(storage.records, storage.segments) if storage.segments else []
    columns = _columns(log, storage, left)
    facts = _facts(log, storage, left)
    if not columns["count"]:
        raise FileError(
            f"{log.where}: the job read and wrote nothing that {log.tool} counted"
            + (f" ({facts['notes']['1']})" if facts.get("notes") else "")
        )
    stripe = log.stripe or _STRIPE
    accesses = Accesses(
        processes=log.processes,
        **columns,
        stripe=Formula.read("stripe", Unit("B", positive=True)),
        reads=Formula.read("reads", Unit("1", most=1.0)),
        writes=Formula.read("writes", Unit("1", most=1.0)),
        servers=Formula.read("servers", Unit("1")),
        recorded=_recorded(log, storage),
    )
    return Workload(
        name=name,
        kind="emulator",
        content=Emulated(accesses=accesses),
        parameters={"reads": 1, "writes": 1, "stripe": stripe, "servers": 0},
        summary=f"What {log.processes:,} ranks read and wrote, as {log.tool} recorded it.",
        data=facts,
        where=log.where,
    )


def _columns(log: Log, storage: Layers, left: list[Amount]) -> dict[str, Any]:
    """Return the series of accesses."""
    numbers: dict[str, int] = {}
    series: list[tuple[int, int, int, int, int, bool]] = []
    traced = storage.segments
    if traced:
        for rank, file, write, offset, length in zip(
            traced.rank, traced.file, traced.write, traced.offset, traced.length, strict=True
        ):
            number = numbers.setdefault(file, len(numbers))
            series.append((max(rank, 0), number, max(offset, 0), length, 1, write))
    for amount in left if traced else amounts(storage.records):
        number = numbers.setdefault(amount.file, len(numbers))
        if len(series) + min(amount.calls, log.processes) > _MOST_SERIES:
            raise FileError(f"{log.where}: it has over {_MOST_SERIES:,} series of accesses")
        series += [
            (rank, number, offset, size, count, amount.write)
            for rank, offset, size, count in dealt(amount, log.processes)
        ]
    names = ("rank", "file", "offset", "size", "count", "write")
    types = (np.int64,) * 5 + (np.bool_,)
    try:
        columns = zip(*series, strict=True) if series else [()] * 6
        return {
            name: tuple(np.array(column, kind).tolist())
            for name, column, kind in zip(names, columns, types, strict=True)
        }
    except OverflowError:
        raise FileError(f"{log.where}: a file of over 2**63 bytes is damage in the log") from None


def _recorded(log: Log, storage: Layers) -> str:
    """Return what rows say beside the predicted time."""
    moving = summed(storage.records, "F_READ_TIME", "F_WRITE_TIME") / log.processes
    opening = summed(storage.records, "F_META_TIME") / log.processes
    return (
        f"the accesses alone, of {log.processes:,} ranks dealt to the nodes; recorded: "
        f"{moving:.4g} s of a rank in reads and writes and {opening:.4g} s in opening and such, "
        f"of {log.seconds:.6g} s of the run"
    )


def _facts(log: Log, storage: Layers, left: list[Amount]) -> dict[str, Any]:
    """Return what ``parcast show`` says of the log."""
    kind = "log" if log.tool == "Darshan" else "trace"
    facts: dict[str, Any] = {
        "format": f"{kind} of {log.tool} {log.version}".strip(),
        **({"program": log.program} if log.program else {}),
        "ranks": log.processes,
        "span": f"{log.seconds:.9g} s",
    }
    calls = list(amounts(storage.records, bytes_too=False))
    for write, name, counter in ((False, "reads", "F_READ_TIME"), (True, "writes", "F_WRITE_TIME")):
        some = [amount for amount in calls if amount.write == write]
        count, moved = sum(one.calls for one in some), sum(one.bytes for one in some)
        seconds = summed(storage.records, counter)
        facts[name] = f"{count:,}, {moved:,} bytes, {seconds:.6g} s of all ranks together"
    facts["opening, seeking and such"] = f"{summed(storage.records, 'F_META_TIME'):.6g} s"
    facts["files"] = f"{len({record.file for record in storage.records}):,}"
    modules = dict.fromkeys(record.module for record in storage.records)
    facts["counted by"] = ", ".join(modules) or "nothing"
    if storage.segments:
        traced = "traced (DXT)" if log.tool == "Darshan" else "traced"
        facts[traced] = f"{len(storage.segments.rank):,} accesses with offsets"
    notes = list(_notes(log, storage, left))
    if notes:
        facts["notes"] = {str(number): note for number, note in enumerate(notes, 1)}
    return facts


def _notes(log: Log, storage: Layers, left: list[Amount]) -> Iterator[str]:
    """Yield what is missing in a log, was left out, or is assumed."""
    yield from log.remarks
    for module in log.incomplete:
        yield f"{module} ran out of memory in the job: what it did later is not in the log"
    if left:
        yield (
            f"{sum(one.bytes for one in left):,} bytes were counted and not traced; their offsets "
            "are taken one after another"
        )
    elif not storage.segments and storage.records:
        yield "no offsets were traced (DXT): accesses of a rank are taken one after another"
    if storage.segments and -1 in storage.segments.offset:
        yield "accesses without an offset are taken at the beginning of their file"
    if any(record.rank < 0 for record in storage.records) and not storage.segments:
        yield "files of all ranks are counted for all together, and dealt to them in equal blocks"
    if mapped := int(summed(storage.records, "MMAPS")):
        yield f"{mapped:,} maps of files into memory: what was read through them is not counted"
    streams = summed(storage.terminal, "BYTES_READ", "BYTES_WRITTEN")
    if streams:
        yield f"{int(streams):,} bytes of standard input, output and errors are left out"
    modules = {record.module for record in storage.records} | {
        record.module for record in storage.terminal
    }
    above = dict.fromkeys(record.module for record in log.records)
    others = [word for word in above if word not in modules and word != "LUSTRE"]
    if others:
        yield f"{', '.join(others)} counted the same accesses above: they count once"
