"""How much slower stragglers make a training job, and which of them.

Method: StragglerAnalysis (arXiv 2505.05713, section 4): a step is simulated as recorded without
launch delays, and with every operation as long as others of its type (the mean of computations,
the median of communications); the ratio is the slowdown S. One group of operations as recorded, all
others equalized, gives that group's share.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping

import attrs
import numpy as np

from parcast.errors import UnsupportedError
from parcast_traces.trace.columns import Floats
from parcast_training.dependencies import (
    CLIP,
    EMBEDDING,
    GATHER,
    LAYERNORM,
    OPTIMIZER,
    PIPELINE,
    SCATTER,
    SEPARATE,
    Dependencies,
    dependencies,
)
from parcast_training.table import Operations

_TALKS = frozenset([*PIPELINE, GATHER, SCATTER, SEPARATE, LAYERNORM, EMBEDDING, CLIP])

#: A transfer that ends so much before its other side began says that clocks differ.
_WRONG = 1e-2

#: The share of ranks that are taken to be the slow ones, in percent.
_SLOWEST = 3


@attrs.frozen(eq=False, kw_only=True)
class Slowdown:
    """Ratios of mean step times, and the times in seconds."""

    recorded: float  #: mean time of a step
    without_delays: float
    without_stragglers: float
    total: float  #: S
    launch: float
    by_type: Mapping[str, float]
    by_stage: Mapping[int, float]
    by_part: Mapping[int, float]  #: by data-parallel rank
    slow_ranks: float  #: M_W: the share that the slowest ranks explain
    last_stage: float  #: M_S: the share that the last stage explains
    steps: Mapping[int, float]  #: S of each step


@attrs.frozen(eq=False)
class _Times:
    duration: Floats
    transfer: Floats

    def replaced(self, which: Floats, replacement: _Times) -> _Times:
        """Return these with the marked operations of others."""
        return _Times(
            np.where(which, replacement.duration, self.duration),
            np.where(which, replacement.transfer, self.transfer),
        )


def slowdown(job: Operations) -> Slowdown:
    """Return what stragglers cost.

    Raises
    ------
    UnsupportedError
        If the table is of no training job that the model covers.
    """
    step = _Step(job)
    base = _Times(job.duration, step.transfers())
    plain_start, plain_end = step.run(base)
    plain = _Times(plain_end - plain_start, base.transfer)
    even = _equalized(job, plain)
    slow, ideal = step.ends(base), step.ends(even)
    shape = job.duration.shape

    def ratio(which: Floats) -> float:
        mixed = even.replaced(np.broadcast_to(which, shape), base)
        return float(step.ends(mixed).mean() / ideal.mean())

    types = [_word(optype) for optype, _, _ in job.names]
    stages = np.array([stage for _, _, stage in job.names])
    parts = np.arange(shape[2])
    by_stage = {stage: ratio((stages == stage)[:, None, None]) for stage in range(job.stages)}
    by_part = {part: ratio((parts == part)[None, None, :]) for part in range(shape[2])}
    explains = _explains(step, plain, even, slow, ideal)
    return Slowdown(
        recorded=float(job.end.max(axis=(0, 2)).mean()),
        without_delays=float(slow.mean()),
        without_stragglers=float(ideal.mean()),
        total=float(slow.mean() / ideal.mean()),
        launch=float(job.end.max(axis=(0, 2)).mean() / slow.mean()),
        by_type={optype: ratio(np.array([o == optype for o in types])[:, None, None])
                 for optype in dict.fromkeys(types)},
        by_stage=by_stage,
        by_part=by_part,
        slow_ranks=explains(_slowest(job, stages, by_stage, by_part)),
        last_stage=explains((stages == job.stages - 1)[:, None, None]),
        steps=dict(zip(job.steps.tolist(), (slow / ideal).tolist(), strict=True)),
    )  # fmt: skip


def _word(optype: str) -> str:
    return f"{optype.partition('-')[0]}-pp-comm" if optype in PIPELINE else optype


def _explains(
    step: _Step, plain: _Times, even: _Times, slow: Floats, ideal: Floats
) -> Callable[[Floats], float]:
    """Return what says how much of the slowdown goes with some operations."""

    def share(which: Floats) -> float:
        removed = step.ends(plain.replaced(np.broadcast_to(which, plain.duration.shape), even))
        lost = slow.mean() - ideal.mean()
        return float((slow.mean() - removed.mean()) / lost) if lost else 0.0

    return share


def _slowest(
    job: Operations, stages: Floats, by_stage: Mapping[int, float], by_part: Mapping[int, float]
) -> Floats:
    """Return the operations of the slowest ranks: slow by stage and by data-parallel rank."""
    scores = {
        int(job.ranks[stage, part]): (min(by_stage[stage], by_part[part]), stage, part)
        for stage in by_stage
        for part in by_part
    }
    order = sorted(scores, key=lambda rank: (-scores[rank][0], rank))
    operations = np.zeros((len(job.names), 1, len(by_part)), bool)
    for rank in order[: math.ceil(len(order) * _SLOWEST / 100)]:
        _, stage, part = scores[rank]
        operations[stages == stage, :, part] = True
    return operations


def _equalized(job: Operations, times: _Times) -> _Times:
    """Return every operation as long as others of its type."""
    duration, transfer = np.empty_like(times.duration), np.empty_like(times.transfer)
    types = np.array([optype for optype, _, _ in job.names])
    for optype in np.unique(types).tolist():
        mine, middle = types == optype, np.median if optype in _TALKS else np.mean
        duration[mine] = middle(times.duration[mine])
        transfer[mine] = middle(times.transfer[mine])
    return _Times(duration, transfer)


class _Step:
    """A simulation of all steps and data-parallel ranks at once."""

    def __init__(self, job: Operations) -> None:
        self.job = job
        self.graph: Dependencies = dependencies(job)
        self.members: dict[int, list[int]] = {}
        for number, group in enumerate(self.graph.group):
            if group >= 0:
                self.members.setdefault(group, []).append(number)
        self.order = self._order()
        self.last = [n for n, (optype, _, _) in enumerate(job.names) if optype == OPTIMIZER]

    def _order(self) -> list[int]:
        """Return operations so that each comes after what it and its group wait for."""
        needs, group = self.graph.needs, self.graph.group
        members = [self.members[g] if g >= 0 else [n] for n, g in enumerate(group)]
        waits = [sum(len(needs[member]) for member in members[n]) for n in range(len(needs))]
        later: list[list[int]] = [[] for _ in needs]
        for number, before in enumerate(needs):
            for needed in before:
                later[needed].append(number)
        queue = deque(n for n, count in enumerate(waits) if not count and members[n][0] == n)
        order: list[int] = []
        while queue:
            heads = members[queue.popleft()]
            order += heads
            for after in (after for member in heads for after in later[member]):
                head = members[after][0]
                waits[head] -= 1
                if not waits[head]:
                    queue.append(head)
        if len(order) < len(needs):
            raise UnsupportedError(f"{self.job.where}: operations wait for each other in a cycle")
        return order

    def _meeting_time(self, group: int, start: Floats) -> Floats:
        """Return when the last member of a group comes, by step and data-parallel rank."""
        latest: Floats = start[self.members[group]].max(axis=0)
        if group in self.graph.together:
            latest = np.broadcast_to(latest.max(axis=1, keepdims=True), latest.shape)
        return latest

    def transfers(self) -> Floats:
        """Return how long transfers took once all their members had come."""
        transfers = np.zeros_like(self.job.duration)
        for group, members in self.members.items():
            for member in members:
                duration = self.job.end[member] - self._meeting_time(group, self.job.start)
                transfers[member] = np.where(duration <= -_WRONG, 0.0, duration)
        return transfers

    def run(self, times: _Times) -> tuple[Floats, Floats]:
        """Return when operations start and end."""
        start, end = np.zeros_like(times.duration), np.zeros_like(times.duration)
        for at, number in enumerate(self.order):
            if needs := self.graph.needs[number]:
                start[number] = end[list(needs)].max(axis=0)
            group = self.graph.group[number]
            if group < 0:
                end[number] = start[number] + times.duration[number]
            elif at + 1 == len(self.order) or self.graph.group[self.order[at + 1]] != group:
                members = self.members[group]
                end[members] = self._meeting_time(group, start) + times.transfer[members]
        return start, end

    def ends(self, times: _Times) -> Floats:
        """Return how long each step takes."""
        _, end = self.run(times)
        durations: Floats = end[self.last].max(axis=(0, 2))
        return durations
