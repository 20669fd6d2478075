"""Runs as a dataset: times that a measuring solver, such as ``mpi.run``, gives on this host."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from parcast import Prediction, Registry
from parcast.errors import FileError, SolveError
from parcast.files import table_text, write_text

#: Who predicts what was run.
_SOLVERS = ("spmd", "pamela", "perturb", "petri", "emulator")

_HEADS = ("series", "size", "value", "low", "high", "workload")


def measure(
    registry: Registry,
    folder: Path,
    workloads: Sequence[str],
    machine: str,
    sizes: Iterable[int],
    solver: str = "mpi.run",
) -> list[str]:
    """Run workloads at several p and write their times as a dataset; return what was refused.

    Nothing calibrates: the machine's file states all numbers; it is copied, and so are workloads
    that are files. A folder that an earlier run wrote is written anew.

    Raises
    ------
    FileError
        If the folder holds another dataset, or cannot be written.
    SolveError
        If not one run has a time.
    """
    described = registry.machine(machine)
    _check_own(folder, solver)
    lines, refused = [], []
    sizes = tuple(sizes)
    for workload in workloads:
        name = registry.workload(workload).name
        for p in sizes:
            prediction = registry.predict(workload, described, solver, p=p)
            if prediction.time is None:
                refused.append(f"{name} at p={p}: {prediction.message}")
            else:
                lines.append((name, p, *_times(prediction), Path(workload).name))
    if not lines:
        raise SolveError("; ".join(refused[:1]) or "nothing was asked to run")
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise FileError(f"{folder} cannot be made: {error.strerror}") from None
    for path in filter(Path.is_file, map(Path, workloads)):
        write_text(folder / path.name, path.read_text(encoding="utf-8"))
    write_text(folder / "machine.toml", table_text(dict(described.data)))
    write_text(folder / "points.csv", _table(lines))
    write_text(folder / "dataset.toml", _description(folder.name, described.name, solver))
    return refused


def _check_own(folder: Path, solver: str) -> None:
    """Refuse a folder with a dataset that no such run wrote."""
    path = folder / "dataset.toml"
    if path.exists() and f"measured by {solver}" not in path.read_text(encoding="utf-8"):
        raise FileError(f"{folder} holds another dataset; name a new folder")


def _times(prediction: Prediction) -> tuple[str, str, str]:
    time = prediction.time or 0.0
    if prediction.ci is None:
        return repr(time), "", ""
    return repr(time), repr(min(time, prediction.ci[0])), repr(max(time, prediction.ci[1]))


def _table(lines: Iterable[Sequence[object]]) -> str:
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows([_HEADS, *lines])
    return file.getvalue()


def _description(name: str, machine: str, solver: str) -> str:
    return "\n".join([
        f"name = {json.dumps(name)}",
        f"summary = {json.dumps(f'Programs that ran on {machine}')}",
        f"source = {json.dumps(f'runs on this host, measured by {solver}')}",
        'licence = "CC0-1.0"',
        f"method = {json.dumps(f'measured by {solver}; low and high are its interval')}",
        'unit = "s"', 'counts = "processes"', "", "[split]", 'blind = "all"', "",
        "[columns]", 'workload = "text"', "", "[modeling]", 'workload = "{workload}"',
        'machine = "machine.toml"', 'p = "size"', f"solvers = {json.dumps(list(_SOLVERS))}", "",
    ])  # fmt: skip
