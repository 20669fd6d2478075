"""What a user names as a trace: which files these are, of which format, unpacked where they lie."""

from __future__ import annotations

import glob
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import attrs

from parcast.errors import FileError
from parcast_traces.readers.formats import BEGINNING, Format, recognized
from parcast_traces.readers.rank_files import files_beside
from parcast_traces.readers.unpacking import (
    beginning,
    holds_files,
    packing,
    unpack,
    unpack_archive,
)
from parcast_traces.trace.limits import EventCount, Limit

#: Of a format, of how many events at most a trace is wanted; it may refuse one before it is read.
Wanted = Callable[[Format], Limit | None]

_MOST_FILES = 20_000
#: Of an archive, all files together.
_MOST_BYTES = 16 << 30
_PACKED = (".gz", ".bz2", ".xz", ".zst")
#: Suffixes that files of all kinds have: in a folder only a mark tells that one is a trace.
_COMMON = (".json", ".txt", ".csv", "")


@attrs.frozen
class Source:
    """A trace as a reader takes it."""

    path: Path
    format: Format
    files: tuple[Path, ...] = ()  #: all of them, where they are known; else those beside the path
    skipped: tuple[str, ...] = ()  #: files that are of no known format


class Sources:
    """The files of what a user names, unpacked for as long as they are read."""

    def __init__(self, formats: Sequence[Format], scratch: ExitStack, wanted: Wanted) -> None:
        self.formats, self.stack, self.wanted = formats, scratch, wanted
        self.names: dict[str, str] = {}  #: unpacked files, and what they are called by users

    def of(self, path: Path) -> Source:
        """Return the trace that a path names.

        Raises
        ------
        FileError
            If there are no files, or they are of no format or of several.
        """
        if path.is_dir():
            return self._folder(path, path)
        if path.exists():
            return self._file(path)
        return self._several(path, _matching(path))

    def named(self, text: object) -> object:
        """Return a sentence with files as the user knows them."""
        if isinstance(text, str):
            for unpacked in sorted(self.names, key=len, reverse=True):
                text = text.replace(unpacked, self.names[unpacked])
        return text

    def _scratch(self) -> Path:
        return Path(self.stack.enter_context(TemporaryDirectory(prefix="parcast-")))

    def _file(self, path: Path) -> Source:
        if holds_files(path):
            folder = self._scratch()
            unpack_archive(path, folder, _MOST_BYTES, _Counting(self, path))
            self.names[str(folder)] = str(path)
            return self._folder(folder, path)
        file_format = self._format(path, hint=True)
        if file_format is None:
            known = dict.fromkeys(suffix for entry in self.formats for suffix in entry.suffixes)
            raise FileError(
                f"{path}: it begins as no format of traces does, and no trace has the suffix "
                f"{_suffix(path)!r}. Known: {', '.join(known)}."
            )
        if not packing(path):
            return Source(path, file_format)
        if file_format.several:
            files = files_beside(path, sure=file_format.ranks_inside)
            return Source(path, file_format, self._unpacked(files, file_format))
        (file,) = self._unpacked([path], file_format)
        for companion in path.parent.glob(f"{glob.escape(file.stem)}.*"):
            if companion.suffix not in _PACKED:
                (file.parent / companion.name).symlink_to(companion.absolute())
        return Source(file, file_format)

    def _folder(self, folder: Path, path: Path) -> Source:
        """Return the trace that a folder is, or holds."""
        by_name = {entry.name: entry for entry in self.formats}
        tracer = next(folder.rglob("rank-*.trace"), None)
        if tracer is not None and "parcast mpi trace" in by_name:
            return Source(tracer.parent, by_name["parcast mpi trace"])
        anchors = list(folder.rglob("*.otf2"))
        if len(anchors) == 1:
            return Source(anchors[0], by_name["OTF2"])
        files = [file for file in sorted(folder.rglob("*")) if file.is_file()]
        return self._several(path, [file for file in files if not file.name.startswith(".")])

    def _several(self, path: Path, files: Sequence[Path]) -> Source:
        if len(files) == 1:
            return self._file(files[0])
        if len(files) > _MOST_FILES:
            raise FileError(f"{path} has {len(files):,} files, and a trace up to {_MOST_FILES:,}")
        groups: dict[Format, list[Path]] = defaultdict(list)
        skipped = []
        for file in files:
            file_format = self._format(file, hint=False)
            if file_format is None:
                skipped.append(self.named(file.name))
            else:
                groups[file_format].append(file)
        if not groups:
            raise FileError(f"{path} has {len(files):,} files, and none is of a trace")
        for kind in [kind for kind in groups if kind.untimed and len(groups) > 1]:
            skipped += [self.named(file.name) for file in groups.pop(kind)]
        if len(groups) > 1:
            kinds = "; ".join(f"{own[0].name} ({kind.name})" for kind, own in groups.items())
            raise FileError(f"{path} has traces of several formats: {kinds}. Give one of them")
        ((file_format, own),) = groups.items()
        if len(own) > 1 and not file_format.several:
            raise FileError(f"{path} has {len(own):,} traces, such as {own[0].name} and "
                            f"{own[1].name}; give one of them")  # fmt: skip
        unpacked = self._unpacked(own, file_format)
        return Source(unpacked[0], file_format, unpacked, tuple(map(str, skipped)))

    def _format(self, file: Path, *, hint: bool) -> Format | None:
        suffix = _suffix(file)
        begins = beginning(file, BEGINNING)
        return recognized(begins, suffix if hint or suffix not in _COMMON else None, self.formats)

    def _unpacked(self, files: Sequence[Path], file_format: Format) -> tuple[Path, ...]:
        """Return files as they are, or unpacked in a folder of their own."""
        packed = [file for file in files if packing(file)]
        if not packed:
            return tuple(files)
        scratch, unpacked, counting = self._scratch(), [], _Counting(self, packed[0])
        for number, file in enumerate(files):
            if file not in packed:
                unpacked.append(file)
                continue
            stem = file.stem if file.suffix.lower() in _PACKED else file.name
            target = scratch / str(number) / stem
            target.parent.mkdir()
            unpack(file, target, file_format.most, counting)
            self.names[str(target)] = str(file)
            unpacked.append(target)
        return tuple(unpacked)


class _Counting:
    """Counts events while files are unpacked, of formats that are wanted with no more than some."""

    def __init__(self, sources: Sources, path: Path) -> None:
        self.sources, self.path = sources, path
        self.counts: dict[Format, EventCount] = {}
        self.current: EventCount | None = None

    def begin(self, beginning: bytes) -> None:
        """Recognize the format of the next file."""
        file_format = recognized(beginning[:BEGINNING], None, self.sources.formats)
        self.current = self._count(file_format) if file_format else None

    def take(self, part: bytes) -> None:
        """Count the events of a part.

        Raises
        ------
        TooLongError
            If there are too many.
        """
        if self.current:
            self.current.take(part)

    def _count(self, file_format: Format) -> EventCount | None:
        limit = self.sources.wanted(file_format) if file_format.event else None
        if limit is None or file_format.event is None:
            return None
        fresh = EventCount(file_format.event, limit, str(self.path))
        count = self.counts.setdefault(file_format, fresh)
        count.begin()
        return count


@contextmanager
def opened(formats: Sequence[Format], wanted: Wanted) -> Iterator[Sources]:
    """Give sources whose unpacked files go with the end of the block."""
    with ExitStack() as stack:
        yield Sources(formats, stack, wanted)


def _matching(pattern: Path) -> list[Path]:
    """Return the files that a pattern matches."""
    if not glob.has_magic(str(pattern)):
        raise FileError(f"{pattern} cannot be read: there is no such file")
    names = sorted(glob.glob(str(pattern), recursive=True))  # noqa: PTH207  (of any folder)
    files = [Path(name) for name in names if Path(name).is_file()]
    if not files:
        raise FileError(f"{pattern} cannot be read: no file matches it")
    return files


def _suffix(path: Path) -> str:
    """Return the suffix of a file, without that of its packing."""
    stem = path.stem if path.suffix.lower() in _PACKED else path.name
    return Path(stem).suffix.lower()
