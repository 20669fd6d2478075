"""What jobs did at files: logs of Darshan are files, traces of Recorder are folders."""

from __future__ import annotations

from pathlib import Path

from parcast import Workload


def read(path: Path) -> Workload:
    """Return the accesses of a log or of a trace as a workload of kind ``emulator``."""
    from parcast_emulator.darshan import workload as darshan
    from parcast_emulator.recorder import workload as recorder

    return recorder.read(path) if path.is_dir() else darshan.read(path)
