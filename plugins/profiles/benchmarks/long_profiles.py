"""Long tables of Pipit and logs of Projections, written with hardly any memory.

python plugins/profiles/benchmarks/long_profiles.py FOLDER MEGABYTES
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path

_RANKS, _METHODS = 64, 50


def table(folder: Path, megabytes: int) -> None:
    """Write a table of calls within calls, of many ranks in turn."""
    head = "Timestamp (ns), Event Type, Name, Process\n"
    _write(folder / "long.csv", head, _step_of_table, megabytes)


def _step_of_table(step: int) -> Iterable[str]:
    at, name = 100 * step, f"solve{step % _METHODS}"
    for rank in range(_RANKS):
        yield f"{at}, Enter, {name}, {rank}\n{at + 40}, Enter, MPI_Allreduce, {rank}\n"
        yield f"{at + 70}, Leave, MPI_Allreduce, {rank}\n{at + 90}, Leave, {name}, {rank}\n"


def log(folder: Path, megabytes: int) -> None:
    """Write the log of a processor that computes and is idle in turn."""
    entries = "".join(f'ENTRY CHARE {number} "m{number}" 0 0\n' for number in range(_METHODS))
    (folder / "long.prj.sts").write_text(f"PROJECTIONS_ID\nPROCESSORS 1\n{entries}")
    _write(folder / "long.prj.0.log", "PROJECTIONS-RECORD 9\n6 0\n", _step_of_log, megabytes)


def _step_of_log(step: int) -> Iterable[str]:
    at = 100 * step
    yield f"2 4 {step % _METHODS} {at} 7 0 0 0 0 0 0\n3 4 {step % _METHODS} {at + 60} 7 0 0 0\n"
    yield f"14 {at + 60} 0\n15 {at + 90} 0\n"


def _write(path: Path, head: str, step_of: Callable[[int], Iterable[str]], megabytes: int) -> None:
    written, step = 0, 0
    with path.open("w") as file:
        file.write(head)
        while written < megabytes * 1e6:
            text = "".join(step_of(step))
            written, step = written + len(text), step + 1
            file.write(text)


if __name__ == "__main__":
    for write in (table, log):
        write(Path(sys.argv[1]), int(sys.argv[2]))
