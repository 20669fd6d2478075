"""Traces from files, whatever wrote them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from parcast.errors import FileError
from parcast.plugins import load
from parcast_traces.trace.columns import Trace

#: Readers by suffix.
FORMATS: Mapping[str, str] = {
    ".json": "parcast_traces.readers.neutral:read",
    ".trace": "parcast_traces.readers.columnar:read",
    ".otf2": "parcast_traces.readers.otf2:read",
    ".tit": "parcast_traces.readers.time_independent:read",
    ".txt": "parcast_traces.readers.time_independent:read",
    ".goal": "parcast_traces.readers.goal:read",
    ".et": "parcast_traces.readers.chakra:read",
    ".prv": "parcast_traces.readers.paraver:read",
}

#: Readers of formats that share a suffix, by what stands in the file's first kilobyte.
_BEGINNINGS: Mapping[str, tuple[tuple[bytes, str], ...]] = {
    ".json": (
        (b'_NODE"', "parcast_traces.readers.chakra:read"),
        (b'"traceEvents"', "parcast_traces.readers.kineto:read"),
        (b'"distributedInfo"', "parcast_traces.readers.kineto:read"),
        (b'"deviceProperties"', "parcast_traces.readers.kineto:read"),
    ),
    ".trace": ((b"PARCAST1", "parcast_traces.readers.tracer:read"),),
    ".txt": (
        (b" entering at walltime ", "parcast_traces.readers.dumpi:read"),
        (b"MPI_Init:", "parcast_traces.readers.allprof:read"),
        (b"num_ranks", "parcast_traces.readers.goal:read"),
    ),
}


def read_trace(path: Path, formats: Mapping[str, str] = FORMATS) -> Trace:
    """Return the trace in a file, or in a folder that is a trace of ``parcast mpi`` or OTF2.

    Parameters
    ----------
    path
        The file or folder.
    formats
        Readers by suffix.

    Raises
    ------
    FileError
        If it cannot be read, or is of no known format.
    TraceError
        If no run can have left it.
    """
    if not path.exists():
        raise FileError(f"{path} cannot be read: there is no such file")
    if path.is_dir():
        path, target = _inside(path)
    elif path.suffix.lower() not in formats:
        raise FileError(
            f"{path}: no trace has the suffix {path.suffix!r}. Known: {', '.join(formats)}."
        )
    else:
        target = _reader(path, formats)
    reader: Callable[[Path], Trace] = load(target)
    return reader(path)


def _inside(folder: Path) -> tuple[Path, str]:
    """Return the trace that a folder is, and its reader."""
    if any(folder.glob("rank-*.trace")):
        return folder, "parcast_traces.readers.tracer:read"
    anchors = list(folder.glob("*.otf2"))
    if len(anchors) == 1:
        return anchors[0], FORMATS[".otf2"]
    raise FileError(f"{folder} is a folder; give the trace's file in it")


def _reader(path: Path, formats: Mapping[str, str]) -> str:
    suffix = path.suffix.lower()
    try:
        with path.open("rb") as file:
            beginning = file.read(1024)
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror}") from None
    targets = (to for word, to in _BEGINNINGS.get(suffix, ()) if word in beginning)
    return next(targets, formats[suffix])
