"""A trace of Recorder as a workload: what its accesses take on other disks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import attrs
import numpy as np

from parcast import Workload
from parcast.errors import FileError, shorten
from parcast_emulator.darshan.log import Log, Record, Segments, no_segments
from parcast_emulator.darshan.workload import workload
from parcast_emulator.recorder.decoding import Calls, Signature, all_calls, folder


@attrs.frozen
class _Access:
    """Where the arguments of a function say what it reads or writes."""

    write: bool
    file: int
    amounts: tuple[int, ...]  #: their product is its bytes
    offset: int | None = None  #: None: where the call before ended


_ACCESSES = {
    **{name: _Access(False, 0, (2,)) for name in ("read",)},
    **{name: _Access(False, 0, (2,), 3) for name in ("pread", "pread64")},
    "readv": _Access(False, 0, (1,)),
    "fread": _Access(False, 3, (1, 2)),
    "write": _Access(True, 0, (2,)),
    **{name: _Access(True, 0, (2,), 3) for name in ("pwrite", "pwrite64")},
    "writev": _Access(True, 0, (1,)),
    "fwrite": _Access(True, 3, (1, 2)),
    "vfprintf": _Access(True, 0, (1,)),
}
_OPENS = frozenset({"open", "open64", "creat", "creat64", "fopen", "fopen64", "fdopen"})
_SEEKS = frozenset({"lseek", "lseek64", "fseek", "fseeko"})
#: Calls that move no data, and take time at files.
_OTHERS = _OPENS | _SEEKS | {"close", "fclose", "fsync", "fdatasync", "ftruncate", "unlink"}

_TRUNCATE, _APPEND = 0o1000, 0o2000
#: Names of what is no file of a storage.
_ELSEWHERE = ("/dev/", "/proc/", "/sys/", "anon_inode:", "socket:", "pipe:")
_STREAMS = frozenset({"stdin", "stdout", "stderr"})


def read(path: Path) -> Workload:
    """Return the accesses of a trace as a workload of kind ``emulator``.

    Parameters
    ----------
    path
        The folder, or the file ``recorder.mt`` in it.

    Raises
    ------
    FileError
        If a file is missing or damaged, or no call reads or writes a file.
    UnsupportedError
        If it is packed in a way that is not read.
    """
    run = folder(path)
    reading = _Reading(str(run.path))
    for rank, calls in all_calls(run):
        reading.take(rank, calls)
    log = reading.log(run.version, run.ranks)
    return workload(log, run.path.name)


class _Reading:
    """What all ranks did to files."""

    def __init__(self, where: str) -> None:
        self.where, self.segments = where, no_segments()
        self.counters: dict[tuple[int, str], Counter[str]] = {}
        self.calls, self.seconds, self.elsewhere, self.to_end = 0, 0.0, 0, 0

    def take(self, rank: int, calls: Calls) -> None:
        """Add the calls of a rank."""
        self.calls += len(calls.which)
        self.seconds = max(self.seconds, float(calls.end.max(initial=0.0)))
        wanted = [number for number, signature in calls.signatures.items()
                  if signature.function in _ACCESSES or signature.function in _OTHERS]  # fmt: skip
        rows = np.flatnonzero(np.isin(calls.which, wanted))
        files = _Files()
        for number, start, end in zip(
            calls.which[rows].tolist(), calls.start[rows].tolist(), calls.end[rows].tolist(),
            strict=True,
        ):  # fmt: skip
            signature = calls.signatures[number]
            try:
                self._call(rank, signature, files, start, end)
            except (IndexError, ValueError):
                arguments = shorten(" ".join(signature.arguments))
                raise FileError(f"{self.where}: rank {rank}: {signature.function} has the "
                                f"arguments {arguments!r}") from None  # fmt: skip

    def _call(
        self, rank: int, signature: Signature, files: _Files, start: float, end: float
    ) -> None:
        """Add a call."""
        access, arguments = _ACCESSES.get(signature.function), signature.arguments
        file = arguments[access.file if access else 0]
        elsewhere = file in _STREAMS or file.startswith(_ELSEWHERE)
        if access is None:
            self.to_end += files.follow(signature.function, arguments) and not elsewhere
            if not elsewhere:
                self._counted(rank, file)["F_META_TIME"] += end - start  # type: ignore[assignment]
            return
        length = 1
        for place in access.amounts:
            length *= _whole(arguments[place])
        offset = None if access.offset is None else _whole(arguments[access.offset])
        offset = files.moved(file, length, offset)
        if elsewhere:
            self.elsewhere += length
            return
        counters, word = self._counted(rank, file), "WRITE" if access.write else "READ"
        counters[f"{word}S"] += 1
        counters["BYTES_WRITTEN" if access.write else "BYTES_READ"] += length
        counters[f"F_{word}_TIME"] += end - start  # type: ignore[assignment]
        row = (rank, file, access.write, offset, length, start, end)
        for column, value in zip(attrs.astuple(self.segments, recurse=False), row, strict=True):
            column.append(value)

    def _counted(self, rank: int, file: str) -> Counter[str]:
        return self.counters.setdefault((rank, file), Counter())

    def log(self, version: str, ranks: int) -> Log:
        """Return all of it."""
        records = tuple(
            Record("POSIX", rank, file, file, counters)
            for (rank, file), counters in self.counters.items()
        )
        moved: dict[str, Segments] = {"POSIX": self.segments} if self.segments.rank else {}
        return Log(
            where=self.where, version=version, program="", processes=ranks, seconds=self.seconds,
            records=records, segments=moved, incomplete=(), tool="Recorder",
            remarks=tuple(self._remarks()),
        )  # fmt: skip

    def _remarks(self) -> Iterator[str]:
        yield (f"of {self.calls:,} calls those count that read and write by themselves; what "
               "MPI-IO and HDF5 did above them is the same bytes, and other MPI calls are left "
               "out")  # fmt: skip
        yield "bytes are those that calls asked for: what they returned is not recorded"
        if self.elsewhere:
            yield (f"{self.elsewhere:,} bytes of terminals, devices and sockets are left out")
        if self.to_end:
            yield (f"{self.to_end:,} times a rank went to the end of a file, which is taken for "
                   "the end of what this rank wrote or read")  # fmt: skip


class _Files:
    """Where a rank is in its files."""

    def __init__(self) -> None:
        self.at: dict[str, int] = {}
        self.size: dict[str, int] = {}

    def follow(self, function: str, arguments: Sequence[str]) -> bool:
        """Follow a call that moves no data; return whether it goes to the end of a file."""
        file, to_end = arguments[0], False
        if function in _SEEKS:
            offset, whence = _whole(arguments[1], least=-(2**63)), _whole(arguments[2])
            to_end = whence == 2
            begin = (0, self.at.get(file, 0), self.size.get(file, 0))[whence]
            self.at[file] = max(begin + offset, 0)
        elif function in _OPENS:
            mode = arguments[1] if len(arguments) > 1 else "0"
            flags = int(mode) if mode.isdecimal() and not function.startswith("creat") else 0
            to_end = bool(flags & _APPEND) or mode.startswith("a")
            if function.startswith("creat") or flags & _TRUNCATE or mode.startswith("w"):
                self.size[file] = 0
            self.at[file] = self.size.get(file, 0) if to_end else 0
        elif function == "ftruncate":
            self.size[file] = _whole(arguments[1])
        return to_end

    def moved(self, file: str, length: int, offset: int | None) -> int:
        """Move data at an offset, or where the file is; return where that is."""
        begin = self.at.get(file, 0) if offset is None else offset
        self.size[file] = max(self.size.get(file, 0), begin + length)
        if offset is None:
            self.at[file] = begin + length
        return begin


def _whole(text: str, least: int = 0) -> int:
    value = int(text)
    if not least <= value < 2**63:
        raise ValueError
    return value
