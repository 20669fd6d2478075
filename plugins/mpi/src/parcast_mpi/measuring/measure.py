"""Measuring this host as a machine: the load is looked at, the ranks sample, the file is made."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable, Container, Mapping
from typing import Any

import attrs

from parcast import Machine, UnsupportedError
from parcast.cli import Progress
from parcast_mpi import library
from parcast_mpi.host import Load, identity, load, processor_name
from parcast_mpi.jobs import Job, new_folder, new_job, run_python
from parcast_mpi.measuring.sampling import BenchmarkEffort, Effort

#: Shares of all cores that others may use while this host is measured.
MOST_BUSY, MOST_STEAL = 0.10, 0.05

#: Seconds for which the host is watched first, and that a measurement may take.
_WATCHED, _LIMIT = 2.0, 600.0


@attrs.frozen(kw_only=True)
class MeasurementPlan:
    """What to measure."""

    name: str = "this-machine"
    kernel: str | None = None  #: ``module:function``, whose operations per second become the rate
    reference: Machine | None = None
    directory: str | None = None  #: where files are written and read
    anyway: bool = False  #: even if the host is too busy
    by_size: bool = True  #: startup and bandwidth by size as well, where a solver follows them
    effort: Effort = Effort()
    parts: Container[str] | None = None  #: of machines that are known; None: all that is measured


def measure(plan: MeasurementPlan, tell: Progress = lambda *_: None) -> str:
    """Return the machine file of this host.

    Raises
    ------
    UnsupportedError
        If there is no MPI, or the host is too busy.
    SolveError
        If a rank dies.
    """
    from parcast_mpi.measuring.machine_file import file_text, values

    mpi = library.find()
    watched = load(_WATCHED)
    overloaded = too_busy(watched)
    if overloaded and not plan.anyway:
        raise UnsupportedError(
            f"this host is too busy to be measured: {watched}; stop what else runs, or add "
            "--anyway, which marks the file"
        )
    cores = os.cpu_count() or 1
    with new_job() as job, new_folder(plan.directory) as folder:
        job.tell({"kernel": plan.kernel, "directory": folder, "effort": attrs.asdict(plan.effort)})
        answers = run_python(
            mpi, job, cores, "parcast_mpi.measuring.worker", _LIMIT, _watcher(job, tell)
        )
    lines = [
        value
        for value in values(
            answers,
            plan.kernel,
            vendor=mpi.vendor,
            by_size=plan.by_size,
            memory=plan.effort.memory,
        )
        if plan.parts is None or value.part in plan.parts
    ]
    return file_text(plan.name, _summary(mpi, cores), lines, _host(plan, watched, answers))


def benchmarks(plan: MeasurementPlan, effort: BenchmarkEffort | None = None) -> str:
    """Return the table of benchmarks of this host, which no number of its file is from.

    Raises
    ------
    SolveError
        If a rank dies.
    """
    from parcast_mpi.measuring.table import table_text

    cores = os.cpu_count() or 1
    with new_job() as job, new_folder(plan.directory) as folder:
        job.tell({"directory": folder, "effort": attrs.asdict(effort or BenchmarkEffort())})
        answers = run_python(library.find(), job, cores, "parcast_mpi.measuring.benchmarks", _LIMIT)
    return table_text(answers[0], cores)


def too_busy(watched: Load | None) -> bool:
    """Tell whether others use more of the host than a measurement may bear."""
    return watched is not None and (watched.busy > MOST_BUSY or watched.steal > MOST_STEAL)


def _watcher(job: Job, tell: Progress) -> Callable[[], None]:
    def watch() -> None:
        path = job.folder / "stage"
        if path.exists() and len(words := path.read_text().split(maxsplit=2)) == 3:
            tell(words[2], int(words[0]), int(words[1]))

    return watch


def _summary(mpi: library.Library, cores: int) -> str:
    counted = "1 core" if cores == 1 else f"{cores} cores"
    return f"{processor_name()}, {counted}, {mpi}"


def _host(plan: MeasurementPlan, watched: Load | None, answers: Any) -> dict[str, Any]:
    host: dict[str, Any] = {
        "id": identity(),
        "processor": processor_name(),
        "cores": os.cpu_count() or 1,
        "measured": dt.datetime.now(dt.UTC).date().isoformat(),
    }
    if watched is not None:
        host |= {"busy": round(watched.busy, 4), "steal": round(watched.steal, 4)}
    if too_busy(watched):
        host["overloaded"] = True
    if plan.reference is not None:
        host["weight"] = _weight(plan.reference, answers, plan.kernel)
    return host


def _weight(reference: Machine, answers: list[Mapping[str, Any]], kernel: str | None) -> float:
    """Return this host's speed, relative to that of a reference machine."""
    import numpy as np

    stage = "rate" if kernel is None else "rate of the kernel"
    rate = float(np.median([samples[stage] for samples in answers]))
    return rate / reference.need("processor.rate", "a power weight")
