"""Traces from files, whatever wrote them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from parcast.entries import load
from parcast.errors import FileError
from parcast_perturb.trace.columns import Trace

#: Readers by suffix.
FORMATS: Mapping[str, str] = {
    ".json": "parcast_perturb.readers.neutral:read",
    ".trace": "parcast_perturb.readers.columnar:read",
    ".otf2": "parcast_perturb.readers.otf2:read",
    ".tit": "parcast_perturb.readers.time_independent:read",
    ".txt": "parcast_perturb.readers.time_independent:read",
}


def read_trace(path: Path) -> Trace:
    """Return the trace in a file.

    Raises
    ------
    FileError
        If it cannot be read, or is of no known format.
    TraceError
        If no run can have left it.
    """
    if path.is_dir():
        raise FileError(f"{path} is a folder; give the trace's file in it")
    if not path.exists():
        raise FileError(f"{path} cannot be read: there is no such file")
    target = FORMATS.get(path.suffix.lower())
    if target is None:
        raise FileError(
            f"{path}: no trace has the suffix {path.suffix!r}. Known: {', '.join(FORMATS)}."
        )
    found: Trace = load(target)(path)
    return found
