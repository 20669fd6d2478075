"""Traces into files of other tools; what a format cannot hold is said."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from parcast.entries import load
from parcast.errors import FileError, UnsupportedError
from parcast_perturb.trace.calls import CALLS
from parcast_perturb.trace.columns import NAME, SITE, Trace

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
    codes = trace.events.whole[:, NAME]
    if path.suffix.lower() != ".trace" and len(wrong := np.flatnonzero(codes >= len(CALLS))):
        event = int(wrong[0])
        raise UnsupportedError(
            f"{trace.place(event)} ({trace.sites[trace.events.whole[event, SITE]]}): one-sided "
            "calls are written as columns alone (X.trace)"
        )
    losses: tuple[str, ...] = load(target)(trace, path)
    return losses
