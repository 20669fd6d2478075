"""Jobs at once: which they are, how many processes each has, on which nodes, and each one alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from parcast.comparison.solving import Tell, resolve, solve_all
from parcast.errors import InvalidPointError, UnsupportedError, did_you_mean
from parcast.model.machine import Machine
from parcast.model.query import Status
from parcast.model.workload import Workload
from parcast.quantities.ranges import parse_numbers
from parcast.results.row import Row

if TYPE_CHECKING:
    from parcast.comparison.grid import Question
    from parcast.plugins.catalog import Catalog
    from parcast.program.jobs import Job

#: Where jobs are: one of these words, ``a=0..31,b=32..63``, or the nodes of each job by its name.
Placement = str | Mapping[str, str | Iterable[int]]

PLACEMENTS = ("packed", "spread", "random")

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
    splits = _splits(p)
    several = [workload for workload in workloads if jobs_of(workload)]
    if not several:
        if text := next((part for part in splits if _SPLIT.fullmatch(part)), ""):
            raise InvalidPointError(
                f"p={text} is of several jobs, and {workloads[0].name} is one; join jobs as a.py+b.py"
            )
        return list(workloads), p
    if other := next((workload for workload in workloads if not jobs_of(workload)), None):
        raise InvalidPointError(
            f"{other.name} is one job, and {several[0].name} is several; ask about them one by one"
        )
    sized = [_sized(workload, split) for workload in several for split in splits or [""]]
    return sized, None


def jobs_of(workload: Workload) -> Sequence[Job]:
    """Return the jobs of a workload; none where it is one program, or of another kind."""
    jobs: Sequence[Job] = getattr(workload.content, "jobs", ())
    return jobs


def _splits(p: Any) -> list[str]:
    if p is None:
        return []
    many = isinstance(p, Iterable) and not isinstance(p, str)
    return [part for item in (p if many else [p]) for part in str(item).replace(" ", "").split(",")]


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


def node_of_each(
    jobs: Sequence[Job], machine: Machine, placement: Placement, mapping: str, seed: int
) -> tuple[int, ...]:
    """Return the node of each process of all jobs.

    ``packed`` gives each job whole nodes, one after another, which its processes fill as they
    do alone; ``spread`` deals such nodes to the jobs in turn; ``random`` draws them. On nodes that
    are named the processes of a job are in runs of equal length. By the mapping ``cyclic`` they
    go around the nodes of their job.

    Raises
    ------
    InvalidPointError
        If a job has no nodes, or the machine lacks them.
    """
    named = isinstance(placement, Mapping) or placement not in PLACEMENTS
    if named:
        nodes = _named(jobs, placement)
        _check_named(jobs, nodes, machine)
    else:
        nodes = _dealt(jobs, machine, str(placement), seed)
    places: list[int] = []
    for job in jobs:
        own, ranks = np.array(nodes[job.name]), np.arange(job.processes or 0)
        filled = ranks * len(own) // len(ranks) if named else ranks // machine.nodes.cores
        places += own[ranks % len(own) if mapping == "cyclic" else filled].tolist()
    return tuple(places)


def _dealt(
    jobs: Sequence[Job], machine: Machine, placement: str, seed: int
) -> dict[str, Sequence[int]]:
    wanted = {job.name: -(-(job.processes or 0) // machine.nodes.cores) for job in jobs}
    total, there = sum(wanted.values()), machine.nodes.number
    if there is not None and total > there:
        raise InvalidPointError(
            f"placement: the jobs take {total} nodes of {machine.nodes.cores} cores, and "
            f"{machine.name} has {there}; ask for fewer processes, or name nodes that they share"
        )
    if placement == "spread":
        turns = sorted(
            (turn, place) for place, n in enumerate(wanted.values()) for turn in range(n)
        )
        names = list(wanted)
        dealt: dict[str, list[int]] = {name: [] for name in names}
        for node, (_, place) in enumerate(turns):
            dealt[names[place]].append(node)
        return {**dealt}
    order = np.arange(total)
    if placement == "random":
        order = np.random.default_rng(seed).permutation(there or total)
    ends = np.cumsum(list(wanted.values()))
    return {name: order[end - wanted[name] : end].tolist() for name, end in zip(wanted, ends)}


def _named(jobs: Sequence[Job], placement: Placement) -> dict[str, list[int]]:
    """Return the nodes of each job as they are named."""
    texts = placement if isinstance(placement, Mapping) else _assigned(placement)
    names = [job.name for job in jobs]
    for name in texts:
        if name not in names:
            hint = did_you_mean(name, names) or f" Jobs: {', '.join(names)}."
            raise InvalidPointError(f"placement: there is no job {name!r}.{hint}")
    missing = next((name for name in names if name not in texts), None)
    if missing is not None:
        raise InvalidPointError(
            f"placement: job {missing} has no nodes; name them as {missing}=0..3"
        )
    return {
        name: list(
            parse_numbers(f"placement of {name}", nodes, 0) if isinstance(nodes, str) else nodes
        )
        for name, nodes in texts.items()
    }


def _assigned(text: str) -> dict[str, str]:
    """Return ``{"a": "0..3,8", "b": "4..7"}`` of ``a=0..3,8,b=4..7``."""
    assigned: dict[str, list[str]] = {}
    nodes: list[str] = []
    for part in text.split(","):
        name, equals, rest = part.rpartition("=")
        if equals:
            if name.strip() in assigned:
                raise InvalidPointError(f"placement: job {name.strip()} stands there twice")
            nodes = assigned[name.strip()] = []
        elif not assigned:
            hint = did_you_mean(text, PLACEMENTS)
            raise InvalidPointError(
                f"placement {text!r}: write {', '.join(PLACEMENTS)}, or the nodes of each job as "
                f"a=0..31,b=32..63.{hint}"
            )
        nodes.append(rest)
    return {name: ",".join(parts) for name, parts in assigned.items()}


def _check_named(jobs: Sequence[Job], nodes: Mapping[str, Sequence[int]], machine: Machine) -> None:
    last = machine.nodes.number
    for job in jobs:
        own = nodes[job.name]
        if not own or len(own) > (job.processes or 0):
            raise InvalidPointError(
                f"placement: job {job.name} has {len(own)} nodes for {job.processes} processes; "
                "name 1 for each process at the most"
            )
        if wrong := [node for node in own if node < 0 or (last is not None and node >= last)]:
            raise InvalidPointError(
                f"placement: job {job.name} is on node {wrong[0]}, and {machine.name} has nodes "
                f"0 .. {(last or 1) - 1}"
            )


def with_each_alone(
    registry: Catalog, questions: Sequence[Question], rows: Sequence[Row], tell: Tell
) -> list[Row]:
    """Return the rows with the time of each job alone, on its nodes, and how much slower it is.

    A job that takes no time alone has no slowdown.
    """
    from parcast.program.jobs import alone

    asked: list[Any] = []
    for question, row in zip(questions, rows, strict=True):
        if row.status is Status.OK and "jobs" in row.details:
            for own in alone(jobs_of(question.query.workload), question.query):
                asked.append(resolve(registry, row.solver, own, question.settings))
    outcomes = iter(solve_all(registry, asked, tell))
    return [_completed(row, outcomes) if "jobs" in row.details else row for row in rows]


def _completed(row: Row, outcomes: Any) -> Row:
    jobs: dict[str, dict[str, Any]] = {}
    first = 0
    for name, job in row.details["jobs"].items():
        prediction = next(outcomes).prediction
        nodes = sorted(set(row.mapping[first : first + job["processes"]]))
        first += job["processes"]
        jobs[name] = {**job, "nodes": nodes, "alone": prediction.time, "slowdown": None}
        if prediction.time:
            jobs[name]["slowdown"] = job["time"] / prediction.time
        elif prediction.time is None:
            jobs[name]["message"] = prediction.message
    return attrs.evolve(row, details={**row.details, "jobs": jobs})
