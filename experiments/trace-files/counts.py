"""Counts of trace files that stand beside what parcast reads: none uses its readers."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import struct
from collections.abc import Iterable
from pathlib import Path

#: DUMPI's numbers of calls that send, and how many numbers its footer has.
SENDING = (0, 3, 4, 5, 8, 9, 10, 11, 33)
DUMPI_CALLS = 291


def text_of(path: Path) -> str:
    """Return the text of a file, unpacked."""
    data = path.read_bytes()
    for magic, module in ((b"\x1f\x8b", gzip), (b"BZh", bz2), (b"\xfd7zXZ", lzma)):
        if data.startswith(magic):
            data = module.decompress(data)
    return data.decode(errors="replace")


def schedule(path: Path) -> dict[str, str]:
    """Return the messages of a schedule, from its text; of a binary file the text beside it."""
    if path.suffix == ".bin":
        path = path.with_suffix(".goal")
    sent = re.findall(r"(?:^|:)\s*(?:send|t?put)\s+(\d+)b", text_of(path), re.MULTILINE)
    return messages(map(int, sent))


def messages(sizes: Iterable[int]) -> dict[str, str]:
    """Return how many messages and their bytes."""
    each = list(sizes)
    return {"messages": f"{len(each):,} calls, {sum(each):,} bytes"} if each else {}


def dumpi(path: Path) -> dict[str, str]:
    """Return the sends of all ranks: what the footers of DUMPI say that it counted."""
    total = 0
    for file in path.parent.glob(re.sub(r"\d+(\.\w+)$", r"*\1", path.name)):
        data = file.read_bytes()
        if not data.startswith(b"\xff\xaa\xddDUMPI"):
            calls = r"MPI_(?:I?[bsr]?send|Sendrecv) entering"
            total += len(re.findall(calls, text_of(file), re.IGNORECASE))
            continue
        footer = struct.unpack_from(">Q", data, len(data) - 16)[0]
        counted = struct.unpack_from(f">{DUMPI_CALLS}I", data, footer + 8)
        total += sum(counted[call] for call in SENDING)
    return {"sends": f"{total:,}"}


def paraver(path: Path) -> dict[str, str]:
    """Return the communications of a file of Paraver and their bytes."""
    text = text_of(path)
    return messages(int(line.split(":")[13]) for line in re.findall(r"^3:.*$", text, re.MULTILINE))


def otf2(path: Path) -> dict[str, str]:
    """Return the messages of an archive, by the package of OTF2."""
    import otf2 as package
    from otf2.events import MpiIsend, MpiSend

    with package.reader.open(str(path)) as archive:
        sent = [event.msg_length for _, event in archive.events
                if isinstance(event, (MpiSend, MpiIsend))]  # fmt: skip
    return messages(sent)


def allprof(path: Path) -> dict[str, str]:
    """Return the messages of all ranks of liballprof."""
    sizes = []
    pattern = r"^MPI_(?:I?[bsr]?send|Sendrecv):[\d.]+:\d+:(\d+):\d+,(\d+),\d+:(\d+)"
    for file in path.parent.glob(re.sub(r"\d+(\.\w+)$", r"*\1", path.name)):
        found = re.findall(pattern, text_of(file), re.MULTILINE | re.IGNORECASE)
        sizes += [int(count) * int(size) for count, size, _ in found]
    return messages(sizes)


COUNTS = {"GOAL": schedule, "DUMPI": dumpi, "Paraver": paraver, "OTF2": otf2, "liballprof": allprof}
