"""Jobs at once: which they are, and how many processes each has."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from parcast.errors import InvalidPointError, UnsupportedError
from parcast.model.workload import Job, Workload
from parcast.plugins.entries import JOBS

if TYPE_CHECKING:
    from parcast.plugins.catalog import Catalog

_SPLIT = re.compile(r"\d{1,15}(\+\d{1,15})+")


def split_text(text: str) -> tuple[str, ...] | None:
    """Return the parts of ``64+64,32+96``, or None where the text says nothing of jobs."""
    parts = text.replace(" ", "").split(",")
    return tuple(parts) if any(map(_SPLIT.fullmatch, parts)) else None


def joined(workloads: Sequence[Workload]) -> Workload:
    """Return the workload of several programs at once; of equal names the later are numbered.

    Raises
    ------
    UnsupportedError
        If one is no program.
    """
    from parcast.program import Program

    jobs: dict[str, Job] = {}
    for workload in workloads:
        if workload.kind != "program" or workload.jobs:
            raise UnsupportedError(
                f"{workload.name} is of kind {workload.kind!r}; jobs at once are programs"
            )
        name, number = workload.name, 1
        while name in jobs:
            number += 1
            name = f"{workload.name}-{number}"
        jobs[name] = Job(name, workload, workload.processes)
    return Workload(
        name="+".join(jobs),
        kind="program",
        content=Program(None, offloads=any(work.content.offloads for work in workloads)),
        jobs=tuple(jobs.values()),
        parameters={
            f"{name}.{parameter}": value
            for name, job in jobs.items()
            for parameter, value in job.workload.parameters.items()
        },
        summary=f"{len(jobs)} jobs at once",
        data={"jobs": {name: dict(job.workload.data) for name, job in jobs.items()}},
    )


def check_followed(registry: Catalog, name: str) -> None:
    """Refuse several jobs where the solver or the family of this name does not follow them."""
    able = [entry for entry in registry.solvers.values() if JOBS in entry.follows]
    if name not in {word for entry in able for word in (entry.name, entry.family)}:
        names = " or ".join(entry.name for entry in able) or "a solver that follows several"
        raise UnsupportedError(f"answers for one job at a time; ask {names}")


def with_processes(workloads: Sequence[Workload], p: Any) -> list[Workload]:
    """Return the workloads with the processes that p says their jobs have.

    Raises
    ------
    InvalidPointError
        If p does not say how many processes each job has, or one is no workload of several.
    """
    if single := next((workload for workload in workloads if not workload.jobs), None):
        several = next(workload for workload in workloads if workload.jobs)
        raise InvalidPointError(
            f"{single.name} is one job, and {several.name} is several; ask about them one by one"
        )
    many = isinstance(p, Iterable) and not isinstance(p, str | bytes)
    splits = [""] if p is None else ",".join(map(str, p if many else [p])).split(",")
    return [_sized(work, split.replace(" ", "")) for work in workloads for split in splits]


def _sized(workload: Workload, split: str) -> Workload:
    """Return the workload with these processes for its jobs; without any, their own."""
    jobs = workload.jobs
    sizes = [int(part) if part.isdecimal() else 0 for part in split.split("+")]
    if not split:
        sizes = [job.processes or 0 for job in jobs]
    if len(sizes) != len(jobs) or not all(sizes):
        stated = f"p={split} does not say" if split else "nothing says"
        raise InvalidPointError(
            f"{workload.name} has {len(jobs)} jobs, and {stated} how many processes each of them "
            f"has, 1 or more; give -p {'+'.join(['4'] * len(jobs))}"
        )
    sized = tuple(attrs.evolve(job, processes=size) for job, size in zip(jobs, sizes, strict=True))
    data = {**workload.data, "processes": dict(zip((job.name for job in jobs), sizes, strict=True))}
    return attrs.evolve(workload, jobs=sized, processes=sum(sizes), data=data)
