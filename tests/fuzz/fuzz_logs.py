"""Logs of what jobs did at files, taken apart for mutation and put together again.

A log of Darshan is packed, so that a changed byte mostly ends in its unpacking. Here its streams
lie unpacked, one after the other, and are packed once they are changed. Recorder writes a folder,
whose files lie one after the other too.
"""

from __future__ import annotations

import os
import struct
import sys
import zlib
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from unittest.mock import patch

from parcast.errors import FileError
from parcast_emulator.darshan import workload as darshan
from parcast_emulator.recorder import workload as recorder

HAS_DARSHAN = find_spec("darshan") is not None

_REGION, _STREAM, _FILE = b"\n=region=\n", b"\n=stream=\n", b"\n=file=\n"
_PLACE = struct.Struct("<QQ")  #: where a region begins, and its length
_MARK = 2**64 - 2  #: in place of a length: the number of a region stands before it
_LARGEST_SEED = 4000
#: Seconds of CPU and bytes of memory that the library may take for an input.
_MOST_SECONDS, _MOST_MEMORY = 10, 4 << 30

#: The files of a folder of Recorder that has one rank, and of one that has two.
_RECORDED = ("VERSION", "recorder.mt", "0.cst", "0.cfg", "0.ts", "1.cst", "1.cfg", "1.ts")


def darshan_logs() -> list[bytes]:
    """Return logs that come with Darshan's library."""
    spec = find_spec("darshan")
    assert spec is not None
    folder = Path(str(spec.origin)).parent
    files = sorted(folder.rglob("examples/**/*.darshan"))
    return [file.read_bytes() for file in files if file.stat().st_size < _LARGEST_SEED]


def darshan_streams() -> list[bytes]:
    """Return these logs unpacked."""
    return [unpacked(log) for log in darshan_logs()]


def _streams(log: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yield where each stream begins and ends, and what is in it."""
    at = 0
    while at < len(log):
        stream = zlib.decompressobj()
        try:
            content = stream.decompress(log[at:])
        except zlib.error:
            at += 1
            continue
        if not stream.eof:
            return
        end = len(log) - len(stream.unused_data)
        yield at, end, content
        at = end


def unpacked(log: bytes) -> bytes:
    """Return a log with its streams as they are inside."""
    streams = list(_streams(log))
    head, ends = log[: streams[0][0]], {end for _, end, _ in streams}
    text, regions = b"", 0
    for begin, _, content in streams:
        lengths = (end - begin for end in ends if end > begin)
        place = next((_PLACE.pack(begin, length) for length in lengths
                      if _PLACE.pack(begin, length) in head), None)  # fmt: skip
        if place is not None:
            head = head.replace(place, _PLACE.pack(regions, _MARK))
            regions += 1
        text += (_STREAM if place is None else _REGION) + content
    return head + text


def packed(text: bytes) -> bytes:
    """Return what `unpacked` took apart; regions that are changed have their new places."""
    first, *regions = text.split(_REGION)
    head, *job = first.split(_STREAM)
    parts = [b"".join(map(zlib.compress, job))]
    parts += [b"".join(map(zlib.compress, region.split(_STREAM))) for region in regions]
    begins = accumulate(map(len, parts), initial=len(head))
    for number, (begin, part) in enumerate(zip(begins, parts, strict=False), -1):
        place = _PLACE.pack(begin, len(part))
        if number >= 0:
            head = head.replace(_PLACE.pack(number, _MARK), place)
    return head + b"".join(parts)


def read_darshan(path: Path) -> None:
    """Read a log, with the library in a fork of this process."""
    with patch.object(darshan, "printed", _printed_by_a_fork):
        darshan.read(path)


def read_streams(path: Path) -> None:
    """Read a log that is unpacked."""
    path.write_bytes(packed(path.read_bytes()))
    read_darshan(path)


def _printed_by_a_fork(path: Path) -> Iterator[str]:
    """Yield what `library.printed` does; a new Python for each log would take half a second."""
    from darshan.backend import cffi_backend  # noqa: F401  (the fork has it then)

    reading, writing = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if not child:
        os.close(reading)
        _print_and_exit(path, writing)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8", errors="replace") as lines:
        yield from lines
    if os.waitpid(child, 0)[1]:
        raise FileError(f"{path}: Darshan's library cannot read it")


def _print_and_exit(path: Path, writing: int) -> None:
    import resource

    from parcast_emulator.darshan import extract

    status = 1
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (_MOST_SECONDS, _MOST_SECONDS))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # the library complains
        with (
            patch.object(extract, "_MOST_MEMORY", _MOST_MEMORY),
            os.fdopen(writing, "w", encoding="utf-8", errors="replace") as out,
        ):
            extract.main(str(path), out)
        status = 0
    finally:
        os._exit(status)


def recorded() -> list[bytes]:
    """Return folders of Recorder, each as its files one after the other."""
    from importlib.util import module_from_spec, spec_from_file_location

    place = Path(__file__).parents[2] / "plugins" / "emulator" / "tests" / "test_recorder.py"
    spec = spec_from_file_location("written_records", place)
    assert spec is not None
    assert spec.loader is not None
    written = module_from_spec(spec)
    spec.loader.exec_module(written)
    folders = []
    for number, version in enumerate(("2.3.1", "2.4.0", "2.5.0")):
        rng = Random(number + 1)
        ranks = [[*written.random_calls(rng), *_ACCESSES] for _ in range(1 + number % 2)]
        with TemporaryDirectory() as folder:
            run = written.write(Path(folder) / "run", ranks, version, rng)
            files = [run / name for name in _RECORDED if (run / name).exists()]
            folders.append(_FILE.join(file.read_bytes() for file in files))
    return folders


#: Calls at the end of each rank, so that every folder has some.
_ACCESSES = [
    ("open", ("/scratch/b", "2"), 1000, 1001),
    ("pwrite", ("/scratch/b", "%p", "7", "1000"), 1001, 1007),
    ("fopen", ("/scratch/a b", "a"), 1008, 1013),
    ("fwrite", ("%p", "8", "3", "/scratch/a b"), 1013, 1014),
    ("read", ("/scratch/b", "%p", "10"), 1015, 1016),
]


def read_recorded(path: Path) -> None:
    """Read a folder of Recorder from its files one after the other."""
    run = path.parent / "run"
    run.mkdir(exist_ok=True)
    for file in run.iterdir():
        file.unlink()
    for name, content in zip(_RECORDED, path.read_bytes().split(_FILE), strict=False):
        (run / name).write_bytes(content)
    recorder.read(run)
