"""Traces from files, whatever wrote them: one file, a folder, a pattern, packed or not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import attrs

from parcast.errors import FileError, ParcastError, UnsupportedError
from parcast.plugins import load
from parcast_traces.readers.formats import FORMATS, Format
from parcast_traces.readers.sources import Source, Wanted, opened
from parcast_traces.trace.columns import Trace
from parcast_traces.trace.limits import Limit, limited
from parcast_traces.trace.packed_table import free_memory

__all__ = ["FORMATS", "Format", "Limit", "Wanted", "read_trace"]


def read_trace(
    path: Path,
    formats: Sequence[Format] = FORMATS,
    *,
    assume_alike: bool = False,
    wanted: Wanted = lambda _: None,
) -> Trace:
    """Return the trace in a file, in a folder, in an archive or in the files of a pattern.

    Parameters
    ----------
    path
        A file, a folder or a pattern such as ``run/rank-*.json.gz``. Files may be packed by gzip,
        bzip2, xz or Zstandard, and be archives of tar. What a file begins with says its format;
        its suffix counts where that does not.
    formats
        The formats that are known.
    assume_alike
        Whether ranks whose files are missing did what the first that is here did.
    wanted
        Says of the format of how many events a trace is wanted.

    Raises
    ------
    FileError
        If it cannot be read, or is of no known format.
    TraceError
        If no run can have left it.
    UnsupportedError
        If it has more events than are wanted.
    """
    with opened(formats, wanted) as sources:
        try:
            source = sources.of(path)
            with limited(wanted(source.format)):
                trace = _read(source, assume_alike=assume_alike)
        except OSError as error:
            raise FileError(f"{path} cannot be read: {error.strerror or error}") from None
        except ParcastError as error:
            error.args = tuple(sources.named(text) for text in error.args)
            raise
        about = {"format": source.format.name, **trace.about}
        if source.skipped:
            about["files that are no traces"] = ", ".join(source.skipped)
        where = str(sources.named(trace.where))
    return attrs.evolve(trace, where=where, about=about)


def _read(source: Source, *, assume_alike: bool) -> Trace:
    reader: Callable[..., Trace] = load(source.format.target)
    if assume_alike and not source.format.alike:
        names = " and ".join(known.name for known in FORMATS if known.alike)
        raise UnsupportedError(f"{source.path} ({source.format.name}): --assume-alike is for "
                               f"{names}, of which one rank may stand for others")  # fmt: skip
    _check_room(source)
    options = {"assume_alike": True} if assume_alike else {}
    files = (source.files,) if source.files else ()
    return reader(source.path, *files, **options)


def _check_room(source: Source) -> None:
    """Refuse documents that would not fit in memory, before the system ends the process.

    Raises
    ------
    FileError
        If there is no room for one.
    """
    files = source.files or (source.path,)
    if nothing := next(
        (file for file in files if file.is_file() and not file.stat().st_size), None
    ):
        raise FileError(f"{nothing} is empty")
    size = max((file.stat().st_size for file in files if file.is_file()), default=0)
    needed, free = size * source.format.held, free_memory()
    if needed > free:
        raise FileError(
            f"{source.path}: {source.format.name} is one document, which takes "
            f"{source.format.held} times its {size / 1e6:,.0f} MB of memory, and "
            f"{free / 1e6:,.0f} MB are free; give a trace this long in OTF2, or cut it"
        )
