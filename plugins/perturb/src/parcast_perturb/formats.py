"""Files that can be perturbed: traces, and the tables of training jobs."""

from __future__ import annotations

from pathlib import Path

from parcast_traces import readers
from parcast_traces.trace.columns import Trace

FORMATS = (
    *readers.FORMATS,
    readers.Format(
        "table of a training job", "parcast_training.trace:read", (".parquet", ".csv"),
        mark=rb"\APAR1|\A[^\n]*\boptype\b",
    ),
)  # fmt: skip


def read_trace(
    path: Path, *, assume_alike: bool = False, wanted: readers.Wanted = lambda _: None
) -> Trace:
    """Return the trace in a file or folder; ranks without a file may be taken for the like.

    ``wanted`` is as of `parcast_traces.readers.read_trace`.

    Raises
    ------
    FileError
        If it cannot be read, or is of no known format.
    TraceError
        If no run can have left it.
    """
    return readers.read_trace(path, FORMATS, assume_alike=assume_alike, wanted=wanted)
