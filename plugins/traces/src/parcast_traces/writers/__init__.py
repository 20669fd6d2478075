"""Traces into files of other tools; what a format cannot hold is said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from parcast.errors import UnsupportedError
from parcast.files import check_suffix
from parcast.plugins import load
from parcast_traces.trace.calls import CALLS, NAMES, SLEEP
from parcast_traces.trace.columns import BYTES, NAME, SITE, Trace

#: OTF2 has 32 bits for a tag, the others an ``int`` of C.
_MOST_TAG = 2**31 - 1

#: Writers by suffix: each takes a trace and a new file, and returns what was lost.
WRITERS: Mapping[str, str] = {
    ".json": "parcast_traces.writers.neutral:write",
    ".otf2": "parcast_traces.writers.otf2:write",
    ".goal": "parcast_traces.writers.goal:write",
    ".tit": "parcast_traces.writers.time_independent:write",
    ".trace": "parcast_traces.readers.columnar:write",
}

#: Of files that a trace can be written to; the last is a picture of two runs.
SUFFIXES = (*WRITERS, ".perfetto.json")


def write_trace(trace: Trace, path: Path) -> tuple[str, ...]:
    """Write a trace in the format that a suffix names; return what the format cannot hold.

    Raises
    ------
    FileError
        If no format has the suffix, or the file cannot be written.
    UnsupportedError
        If the format cannot hold this trace.
    """
    check_suffix(path, "a trace", SUFFIXES)
    suffix, losses = path.suffix.lower(), dict[str, None]()
    if suffix != ".trace":
        _refuse(trace)
    if suffix not in (".trace", ".json"):
        losses.update(dict.fromkeys(_losses(trace, sites=suffix != ".otf2")))
    return tuple({**losses, **dict.fromkeys(load(WRITERS[suffix])(trace, path))})


def _refuse(trace: Trace) -> None:
    """Refuse what columns alone can hold and nobody could do without."""
    whole = trace.events.whole
    asleep = whole[:, NAME] == SLEEP
    if len(wrong := np.flatnonzero((whole[:, NAME] >= len(CALLS)) & ~asleep)):
        event = int(wrong[0])
        raise UnsupportedError(
            f"{trace.place(event)} ({trace.sites[whole[event, SITE]]}): one-sided calls are "
            "written as columns alone (X.trace)"
        )
    tags = trace.channels.tag
    if len(wrong := np.flatnonzero((tags < 0) | (tags > _MOST_TAG))):
        raise UnsupportedError(
            f"{trace.where}: tag {tags[wrong[0]]} is none of 0 to {_MOST_TAG:,}, so that it is "
            "written as columns alone (X.trace)"
        )


def _losses(trace: Trace, *, sites: bool) -> Iterator[str]:
    """Yield what columns alone can hold."""
    whole = trace.events.whole
    sizes = trace.events.times[whole[:, NAME] != SLEEP, BYTES]
    if (sizes != sizes.round()).any():
        yield "parts of a byte"
    names = np.array(NAMES)[whole[:, NAME]]
    if sites and (trace.regions or (names != np.array(trace.sites)[whole[:, SITE]]).any()):
        yield "call sites and regions"
    if sites and trace.timed and (trace.begins > 0).any():
        yield "the time before the first call"
