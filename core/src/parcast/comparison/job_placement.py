"""Where jobs are that run at once: the node of each of their processes."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from parcast.errors import InvalidPointError, did_you_mean
from parcast.model.machine import Machine
from parcast.quantities.ranges import parse_numbers

if TYPE_CHECKING:
    from parcast.model.workload import Job

#: Where jobs are: one of these words, ``a=0..31,b=32..63``, or the nodes of each job by its name.
Placement = str | Mapping[str, str | Iterable[int]]

PLACEMENTS = ("packed", "spread", "random")


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
    is_stated = isinstance(placement, Mapping) or placement not in PLACEMENTS
    if is_stated:
        nodes = _named(jobs, placement)
        _check_named(jobs, nodes, machine)
    else:
        nodes = _dealt(jobs, machine, str(placement), seed)
    places: list[int] = []
    for job in jobs:
        nodes_of_job, ranks = np.array(nodes[job.name]), np.arange(job.processes or 0)
        filled = (
            ranks * len(nodes_of_job) // len(ranks) if is_stated else ranks // machine.nodes.cores
        )
        places += nodes_of_job[
            ranks % len(nodes_of_job) if mapping == "cyclic" else filled
        ].tolist()
    return tuple(places)


def _dealt(
    jobs: Sequence[Job], machine: Machine, placement: str, seed: int
) -> dict[str, list[int]]:
    """Return the nodes of each job, as many as its processes fill."""
    wanted = {job.name: -(-(job.processes or 0) // machine.nodes.cores) for job in jobs}
    total, there = sum(wanted.values()), machine.nodes.number
    if there is not None and total > there:
        raise InvalidPointError(
            f"placement: the jobs take {total} nodes of {machine.nodes.cores} cores, and "
            f"{machine.name} has {there}; ask for fewer processes, or name nodes that they share"
        )
    nodes: Sequence[int] = range(total)
    if placement == "random":
        nodes = np.random.default_rng(seed).permutation(there or total).tolist()
    turns = [(turn, place) for place, count in enumerate(wanted.values()) for turn in range(count)]
    if placement == "spread":
        turns.sort()
    dealt: list[list[int]] = [[] for _ in jobs]
    for node, (_, place) in zip(nodes, turns, strict=False):
        dealt[place].append(node)
    return dict(zip(wanted, dealt, strict=True))


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
        name, equals, numbers = part.rpartition("=")
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
        nodes.append(numbers)
    return {name: ",".join(parts) for name, parts in assigned.items()}


def _check_named(jobs: Sequence[Job], nodes: Mapping[str, Sequence[int]], machine: Machine) -> None:
    last = machine.nodes.number
    for job in jobs:
        nodes_of_job = nodes[job.name]
        if not nodes_of_job or len(nodes_of_job) > (job.processes or 0):
            raise InvalidPointError(
                f"placement: job {job.name} has {len(nodes_of_job)} nodes for {job.processes} "
                "processes; name 1 for each process at the most"
            )
        if wrong := [node for node in nodes_of_job if not _is_node(node, last)]:
            there = "" if last is None else f" to {last - 1}"
            raise InvalidPointError(
                f"placement: job {job.name} is on node {wrong[0]!r}, and the nodes of "
                f"{machine.name} are 0{there}"
            )


def _is_node(node: object, count: int | None) -> bool:
    whole = isinstance(node, int) and not isinstance(node, bool)
    return whole and 0 <= node < (count or sys.maxsize)  # type: ignore[operator]  # whole
