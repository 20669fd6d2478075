"""Files as they are packed: gzip, bzip2, xz, Zstandard, and archives of tar in any of these."""

from __future__ import annotations

import bz2
import io
import lzma
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any, Protocol

from parcast.errors import FileError, UnsupportedError, shorten

_CHUNK = 1 << 20
#: What a decompressor may take for its window.
_MOST_WINDOW = 1 << 28
#: No archive of traces has more files.
_MOST_MEMBERS = 20_000
#: What a packed file may become is so many times its size, or these bytes if they are more: regular
#: traces have been seen to become 30 times as large by gzip and 170 times by xz.
_MOST_TIMES, _LEAST_ROOM = 250, 64 << 20
_MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
_TAR_AT, _TAR = 257, b"ustar"


class Watch(Protocol):
    """What looks at files as they are unpacked."""

    def begin(self, beginning: bytes) -> None:
        """See what the next file begins with."""

    def take(self, part: bytes) -> None:
        """See the next part of it, from its beginning on."""


class _Decompressor(Protocol):
    eof: bool
    unused_data: bytes

    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


def packing(path: Path) -> str:
    """Return how a file is packed by its first bytes, "" where it is not.

    Raises
    ------
    FileError
        If it cannot be read.
    """
    try:
        with path.open("rb") as file:
            start = file.read(_TAR_AT + len(_TAR))
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror}") from None
    if start[_TAR_AT:] == _TAR:
        return "tar"
    return next((name for magic, name in _MAGIC.items() if start.startswith(magic)), "")


def beginning(path: Path, size: int) -> bytes:
    """Return the first bytes of a file, unpacked."""
    data = b""
    for chunk in _chunks(path):
        data += chunk
        if len(data) >= size:
            break
    return data[:size]


def holds_files(path: Path) -> bool:
    """Tell whether a file is an archive."""
    return bool(packing(path)) and beginning(path, _TAR_AT + len(_TAR))[_TAR_AT:] == _TAR


def unpack(path: Path, target: Path, most: int, watch: Watch) -> None:
    """Write a file unpacked; ``watch`` may refuse it on the way.

    Raises
    ------
    FileError
        If it is damaged, has more than ``most`` bytes, or is packed as no trace can be.
    """
    with target.open("wb") as file:
        _copy(_chunks(path), file, _Room(path, most), watch)


def unpack_archive(path: Path, folder: Path, most: int, watch: Watch) -> None:
    """Write the files of an archive into a folder; those that are hidden are left out.

    ``watch`` may refuse them on the way.

    Raises
    ------
    FileError
        If it is damaged, has more than ``most`` bytes or too many files, or is packed as no trace
        can be.
    """
    room = _Room(path, most)
    stream = io.BufferedReader(_Chunks(_chunks(path)), _CHUNK)
    count = 0
    try:
        with tarfile.open(fileobj=stream, mode="r|") as archive:
            for member in archive:
                count += 1
                if count > _MOST_MEMBERS:
                    raise FileError(f"{path} has more than {_MOST_MEMBERS:,} files; give those of "
                                    "one run")  # fmt: skip
                parts = PurePosixPath(member.name).parts
                content = archive.extractfile(member) if member.isreg() else None
                if content is None or ".." in parts or parts[-1].startswith("."):
                    continue
                file = folder.joinpath(*(part for part in parts if part not in ("/", ".")))
                file.parent.mkdir(parents=True, exist_ok=True)
                with file.open("wb") as opened:
                    _copy(_parts(content), opened, room, watch)
    except tarfile.TarError as error:
        raise FileError(f"{path} is cut off or damaged: {shorten(error)}") from None
    except OSError as error:
        raise FileError(f"{path} cannot be unpacked: {error.strerror or error}") from None


class _Room:
    """How much a packed file may become."""

    def __init__(self, path: Path, most: int) -> None:
        self.path, self.most, self.unpacked = path, most, 0
        self.believable = max(_MOST_TIMES * path.stat().st_size, _LEAST_ROOM)

    def take(self, size: int) -> None:
        """Count so many more bytes.

        Raises
        ------
        FileError
            If there is no room for them.
        """
        self.unpacked += size
        if self.unpacked > self.most:
            raise FileError(f"{self.path} has more than {self.most >> 20:,} MiB unpacked, and no "
                            "trace of this format has")  # fmt: skip
        if self.unpacked > self.believable:
            raise FileError(f"{self.path} becomes more than {_MOST_TIMES} times as large unpacked, "
                            "which no trace is known to; if it is one, unpack it and give "
                            "that")  # fmt: skip


def _copy(chunks: Iterator[bytes], file: Any, room: _Room, watch: Watch) -> None:
    for number, chunk in enumerate(chunks):
        room.take(len(chunk))
        if number == 0:
            watch.begin(chunk)
        watch.take(chunk)
        try:
            file.write(chunk)
        except OSError as error:
            raise FileError(f"{room.path} cannot be unpacked: {error.strerror}") from None


def _chunks(path: Path) -> Iterator[bytes]:
    """Yield what a file holds, unpacked, up to a megabyte at a time."""
    kind = packing(path)
    try:
        with path.open("rb") as file:
            if kind in ("", "tar"):
                yield from _parts(file)
            else:
                yield from _streams(file, kind)
    except (EOFError, zlib.error, lzma.LZMAError, ValueError, OSError) as error:
        raise FileError(f"{path} is cut off or damaged ({kind}): {shorten(error)}") from None


def _parts(file: Any) -> Iterator[bytes]:
    while part := file.read(_CHUNK):
        yield part


def _streams(file: Any, kind: str) -> Iterator[bytes]:
    """Yield the content of compressed streams, of which a file may have several."""
    if kind == "zstd":
        yield from _zstd(file)
        return
    data = file.read(_CHUNK)
    while data:
        stream = _decompressor(kind)
        while not stream.eof:
            chunk = stream.decompress(data, _CHUNK)
            if chunk:
                yield chunk
            data = _left(stream)
            if not data and not chunk and not stream.eof and not (data := file.read(_CHUNK)):
                raise EOFError("it ends inside its data")
        data = (stream.unused_data or file.read(_CHUNK)).lstrip(b"\0")  # tapes are padded


def _left(stream: _Decompressor) -> bytes:
    """Return what a decompressor has not looked at yet and does not keep itself."""
    return getattr(stream, "unconsumed_tail", b"")


def _decompressor(kind: str) -> Any:
    if kind == "gzip":
        return zlib.decompressobj(wbits=31)
    if kind == "xz":
        return lzma.LZMADecompressor(memlimit=_MOST_WINDOW)
    return bz2.BZ2Decompressor()


def _zstd(file: Any) -> Iterator[bytes]:
    try:
        import zstandard
    except ImportError:
        raise UnsupportedError(
            f"{file.name} is packed by Zstandard, which takes a library: "
            "pip install 'parcast-traces[zst]', or unpack it"
        ) from None
    try:
        options = zstandard.ZstdDecompressor(max_window_size=_MOST_WINDOW)
        reader = options.stream_reader(file, read_across_frames=True)
        yield from _parts(reader)
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from None


class _Chunks(io.RawIOBase):
    """Chunks as a file."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self.chunks, self.chunk = chunks, b""

    def readable(self) -> bool:
        """Tell that it is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer."""
        self.chunk = self.chunk or next(self.chunks, b"")
        count = min(len(buffer), len(self.chunk))
        buffer[:count], self.chunk = self.chunk[:count], self.chunk[count:]
        return count
