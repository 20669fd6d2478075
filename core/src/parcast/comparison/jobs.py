"""Jobs at once: which they are, and how many processes each has."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from parcast.errors import InvalidPointError, UnsupportedError
from parcast.model.workload import Workload

if TYPE_CHECKING:
    from parcast.program.jobs import Job

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
    from parcast.program.jobs import Job

    jobs: dict[str, Job] = {}
    for workload in workloads:
        if workload.kind != "program" or workload.content.jobs:
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
        content=Program(None, jobs=tuple(jobs.values())),
        parameters={
            f"{name}.{parameter}": value
            for name, job in jobs.items()
            for parameter, value in job.workload.parameters.items()
        },
        summary=f"{len(jobs)} jobs at once",
        data={"jobs": {name: dict(job.workload.data) for name, job in jobs.items()}},
    )


def with_processes(workloads: Sequence[Workload], p: Any) -> tuple[list[Workload], Any]:
    """Return the workloads with the processes of their jobs, and the p to ask about.

    Raises
    ------
    InvalidPointError
        If p does not say how many processes each job has, or does where there are no jobs.
    """
    many = isinstance(p, Iterable) and not isinstance(p, str | bytes)
    p = tuple(p) if many else p
    several = [workload for workload in workloads if jobs_of(workload)]
    if not several:
        if text := next((part for part in (p if many else [p]) if _is_split(part)), ""):
            raise InvalidPointError(
                f"p={text} is of several jobs, and {workloads[0].name} is one program; join jobs "
                "as a.py+b.py"
            )
        return list(workloads), p
    if other := next((workload for workload in workloads if not jobs_of(workload)), None):
        raise InvalidPointError(
            f"{other.name} is one job, and {several[0].name} is several; ask about them one by one"
        )
    splits = [""] if p is None else ",".join(map(str, p if many else [p])).split(",")
    return [_sized(work, split.replace(" ", "")) for work in several for split in splits], None


def jobs_of(workload: Workload) -> Sequence[Job]:
    """Return the jobs of a workload; none where it is one program, or of another kind."""
    is_program = workload.kind == "program"
    jobs: Sequence[Job] = getattr(workload.content, "jobs", ()) if is_program else ()
    return jobs


def _is_split(part: object) -> bool:
    return isinstance(part, str) and split_text(part) is not None


def _sized(workload: Workload, split: str) -> Workload:
    """Return the workload with these processes for its jobs; without any, their own."""
    jobs = jobs_of(workload)
    sizes = [int(part) if part.isdecimal() else 0 for part in split.split("+")]
    if not split:
        sizes = [job.processes or 0 for job in jobs]
    if len(sizes) != len(jobs) or not all(sizes):
        stated = f"p={split} does not say" if split else "nothing says"
        raise InvalidPointError(
            f"{workload.name} has {len(jobs)} jobs, and {stated} how many processes each of them "
            f"has, 1 or more; give -p {'+'.join(['4'] * len(jobs))}"
        )
    sized = [attrs.evolve(job, processes=size) for job, size in zip(jobs, sizes, strict=True)]
    content = attrs.evolve(workload.content, jobs=tuple(sized))
    data = {**workload.data, "processes": dict(zip((job.name for job in jobs), sizes, strict=True))}
    return attrs.evolve(workload, content=content, processes=sum(sizes), data=data)
