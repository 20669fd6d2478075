"""Traces into files of other tools; what a format cannot hold is said."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from parcast.entries import load
from parcast.errors import FileError
from parcast_perturb.trace.columns import Trace

#: Writers by suffix: each takes a trace and a new file, and returns what was lost.
WRITERS: Mapping[str, str] = {
    ".otf2": "parcast_perturb.writers.otf2:write",
    ".goal": "parcast_perturb.writers.goal:write",
    ".tit": "parcast_perturb.writers.time_independent:write",
    ".trace": "parcast_perturb.writers.columnar:write",
}


def write_trace(trace: Trace, path: Path) -> tuple[str, ...]:
    """Write a trace in the format that a suffix names; return what the format cannot hold.

    Raises
    ------
    FileError
        If no format has the suffix, or the file cannot be written.
    UnsupportedError
        If the format cannot hold this trace.
    """
    target = WRITERS.get(path.suffix.lower())
    if target is None:
        raise FileError(
            f"{path}: no writer has the suffix {path.suffix!r}. Known: {', '.join(WRITERS)}, "
            ".perfetto.json"
        )
    losses: tuple[str, ...] = load(target)(trace, path)
    return losses
