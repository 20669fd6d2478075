"""All layouts of a job on so many accelerators, the fastest ones exactly."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import attrs

from parcast.errors import InvalidPointError
from parcast.model import Accelerator
from parcast_training.steps.job import Job
from parcast_training.steps.layout import Layout, divisors, layout_of, uneven
from parcast_training.steps.memory import Memory, memory_of
from parcast_training.steps.pipeline import Pass
from parcast_training.steps.segments import Hops, total
from parcast_training.steps.step import Step, step_of

#: What a plan varies, unless it is fixed.
VARIED = ("tp", "pp", "ep", "micro_batch", "interleave", "schedule", "zero", "recompute")

#: What is varied, and what goes with it, where all accelerators are data parallel.
PLAIN = {
    "tp": 1, "pp": 1, "ep": 1, "micro_batch": 1, "interleave": 1, "schedule": "1f1b", "zero": 0,
    "recompute": "none", "sp": 0, "dp": None, "first_layers": 0, "last_layers": 0,
}  # fmt: skip

_MICRO = (1, 2, 4, 8)


@dataclass(frozen=True)
class Choice:
    """A layout of a job that fits the memory."""

    job: Job
    layout: Layout
    memory: Memory
    step: Step
    bound: float  #: seconds that a step takes at least


@dataclass(frozen=True)
class Plan:
    """What was looked at, and the fastest layouts, the best first."""

    best: tuple[Choice, ...]
    possible: int  #: layouts that can be
    fitting: tuple[Choice, ...]  #: of these, with enough memory, the least bound first
    timed: int  #: of these, by their schedule; the others' bounds are above the best
    least: float  #: bytes that an accelerator needs in the layout that needs the fewest


def planned(
    job: Job,
    p: int,
    accelerator: Accelerator,
    hops: Hops,
    *,
    fixed: Mapping[str, Any] | None = None,
    count: int = 10,
    checkpoint: float = 0.0,
) -> Plan:
    """Return the ``count`` fastest layouts of a job on ``p`` accelerators.

    Layouts are timed in the order of their lower bounds until the next bound is above the
    ``count``-th best time, so that these are the best of all.

    Parameters
    ----------
    job
        Its model and batch; what a plan varies is replaced.
    p
        Accelerators.
    accelerator, hops
        Of the machine.
    fixed
        What keeps its value, by name.
    count
        How many layouts to return.
    checkpoint
        Seconds of each step for writing checkpoints, the same in all layouts.
    """
    possible, fitting, least = 0, list[Choice](), float("inf")
    for varied in layouts(job, p, accelerator, fixed or {}):
        try:
            layout = layout_of(varied, p)
        except InvalidPointError:
            continue
        memory = memory_of(varied, layout)
        possible += 1
        least = min(least, memory.total)
        if memory.total > accelerator.memory:
            continue
        step = step_of(varied, layout, accelerator, hops, accelerator.per_node, checkpoint)
        try:
            bound = lower_bound(step)
        except InvalidPointError:  # groups that lie unevenly on nodes
            possible -= 1
            continue
        fitting.append(Choice(varied, layout, memory, step, bound))
    fitting.sort(key=lambda choice: choice.bound)
    best: list[Choice] = []
    timed = 0
    for choice in fitting:
        if len(best) >= count and choice.bound > best[count - 1].step.seconds:
            break
        timed += 1
        best = sorted([*best, choice], key=lambda c: c.step.seconds)[: max(count, 1)]
    return Plan(tuple(best), possible, tuple(fitting), timed, least)


def front(choices: Iterable[Choice]) -> tuple[Choice, ...]:
    """Return the layouts that none beats both in time and in memory, the least memory first.

    A layout is timed where its lower bound is below the best time with less memory.
    """
    unbeaten: list[Choice] = []
    least = float("inf")
    for choice in sorted(choices, key=lambda c: (c.memory.total, c.bound)):
        if choice.bound >= least or choice.step.seconds >= least:
            continue
        if unbeaten and unbeaten[-1].memory.total == choice.memory.total:
            unbeaten.pop()
        unbeaten.append(choice)
        least = choice.step.seconds
    return tuple(unbeaten)


def layouts(job: Job, p: int, accelerator: Accelerator, fixed: Mapping[str, Any]) -> Iterator[Job]:
    """Yield the job in every layout that may be; some cannot, or do not fit."""
    links = accelerator.links
    near = (links.domain if links else None) or accelerator.per_node
    values: dict[str, Any] = {
        "tp": [t for t in divisors(job.heads) if t <= near and p % t == 0],
        "pp": [
            s
            for s in divisors(p)
            if job.layers % s == 0
            or uneven(job.layers, s)
            or (s == job.pp and (job.first_layers or job.last_layers))
        ],
        "ep": divisors(job.experts),
        "micro_batch": _MICRO,
        "interleave": divisors(job.layers),
        "schedule": ("1f1b", "zero-bubble", "dualpipe"),
        "zero": (0, 1, 3),
        "recompute": ("none", "selective", "full"),
    }
    values |= {name: (value,) for name, value in fixed.items() if name in values}
    others = {name: value for name, value in fixed.items() if name not in values}
    for numbers in product(*(values[name] for name in VARIED)):
        chosen: dict[str, Any] = {**dict(zip(VARIED, numbers, strict=True)), **others}
        chosen |= _ends(job, chosen)
        if not _sensible(job, p, chosen, fixed):
            continue
        if chosen["interleave"] > 1:
            chosen["schedule"] = "interleaved"
        if "sp" not in fixed:
            chosen["sp"] = 1 if chosen["tp"] > 1 else 0
        yield attrs.evolve(job, **{"dp": None, **chosen})


def _ends(job: Job, chosen: Mapping[str, Any]) -> dict[str, int]:
    """Return the layers of first and last stage: the job's own, or where stages cannot be even."""
    if "first_layers" in chosen or "last_layers" in chosen:
        return {}
    own = job.first_layers, job.last_layers
    if any(own) and chosen["pp"] == job.pp and chosen["interleave"] == 1:
        return {}
    even = job.layers % chosen["pp"] == 0
    first, last = (None if even else uneven(job.layers, chosen["pp"])) or (0, 0)
    return {"first_layers": first, "last_layers": last}


def _sensible(job: Job, p: int, chosen: Mapping[str, Any], fixed: Mapping[str, Any]) -> bool:
    """Return whether a layout differs from all others, and has no size that cannot be."""
    pp, tp, pieces = chosen["pp"], chosen["tp"], chosen["interleave"]
    ranks = tp * pp * chosen.get("cp", job.cp)
    if p % ranks or (pieces > 1 and (pp == 1 or job.layers % (pp * pieces))):
        return False
    if job.global_batch % (p // ranks * chosen["micro_batch"]):
        return False
    if "schedule" in fixed:
        if (pieces > 1) != (fixed["schedule"] == "interleaved"):
            return False
    elif chosen["schedule"] != "1f1b" and (pp == 1 or pieces > 1):
        return False
    if chosen["zero"] == 3 and pp > 1 and "zero" not in fixed:
        return False  # weights would be gathered for each microbatch of each stage
    if chosen["zero"] and p == ranks and "zero" not in fixed:
        return False
    scores = job.attention == "unfused"
    return scores or chosen["recompute"] != "selective" or "recompute" in fixed


def lower_bound(step: Step) -> float:
    """Return seconds that a step takes at least.

    A stage begins after a forward pass of each stage before it, and its last backward pass is
    followed by one of each; between them it does all of its own.
    """
    if step.layout.bidirectional:
        return _bidirectional_bound(step)
    layout, m = step.layout, step.layout.microbatches
    forward, backward = Pass("F", 0, 0), Pass("I" if step.zero_bubble else "B", 0, m - 1)
    reduces, ending = step.after(0)
    end, around, bound = total(reduces) + total(ending), 0.0, 0.0
    alike = step.job.is_uniform and layout.is_even
    stages = {0, layout.pp - 1} if alike else range(layout.pp)
    for stage in range(layout.pp):
        if stage in stages:
            work = _passes(step, stage)
            if step.zero_bubble and stage:
                late = min(stage + 1, m)  # gradients of weights after its last backward pass
                work -= late * step.pass_seconds(stage, Pass("W", 0, 0))
            bound = max(bound, work + around + end)
        if stage < layout.pp - 1:
            around += step.pass_seconds(stage, forward) + step.pass_seconds(stage, backward)
            around += 2 * step.hop(stage, stage + 1).wire
    return bound * (1 - 1e-12)


def _bidirectional_bound(step: Step) -> float:
    """Return the same where stages end one after another: each does all of its own passes.

    It begins after a forward pass of each stage between it and the nearer end, and what follows
    its passes is its own.
    """
    layout, before, bound = step.layout, 0.0, 0.0
    for stage in range(layout.pp // 2):
        reduces, ending = step.after(stage)
        seconds = before + _passes(step, stage) + total(reduces) + total(ending)
        bound = max(bound, seconds)
        before += step.pass_seconds(stage, Pass("F", 0, 0)) + step.hop(stage, stage + 1).wire
    return bound * (1 - 1e-12)


def _passes(step: Step, stage: int) -> float:
    """Return the seconds of all passes of a stage."""
    return sum(times * step.pass_seconds(stage, run) for run, times in step.runs(stage))
