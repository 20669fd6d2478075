"""A training job's table as a trace: every device is a rank, its computations keep their order.

What a device does beside its computations, messages and what data-parallel ranks do together, is
begun and does not block: it begins where the computation before it ends, and is waited for where
`dependencies` says that it is needed, or at the end of the step.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from pathlib import Path

import attrs
import numpy as np

from parcast import Workload
from parcast.errors import UnsupportedError
from parcast_traces.trace.columns import Floats, Trace
from parcast_traces.trace.rank_recorder import RankRecorder
from parcast_traces.trace.recording import Recording
from parcast_traces.workload import workload
from parcast_training import table
from parcast_training.dependencies import (
    CLIP,
    EMBEDDING,
    GATHER,
    PEER,
    PIPELINE,
    SCATTER,
    SEPARATE,
    Dependencies,
    dependencies,
)
from parcast_training.table import Operations

_BESIDE: Mapping[str, str] = {
    GATHER: "iallgather", SCATTER: "ireduce_scatter", SEPARATE: "iallreduce",
}  # fmt: skip

#: Clocks of a device's streams agree this well, in seconds.
_CLOSE = 5e-5


def read(path: Path) -> Trace:
    """Return the job in a table as a trace, in seconds.

    Raises
    ------
    FileError
        If the table cannot be read, or steps differ in their operations.
    UnsupportedError
        If it is of no training job that the model of dependencies covers.
    """
    return trace_of(table.read(path))


def read_workload(path: Path) -> Workload:
    """Return the job in a table as a workload of the kind ``trace`` (see `read`)."""
    return workload(read(path), path)


def trace_of(job: Operations) -> Trace:
    """Return a job as a trace.

    Raises
    ------
    UnsupportedError
        If the model of dependencies does not cover it.
    """
    if sorted(job.ranks.flat) != list(range(job.ranks.size)):
        raise UnsupportedError(f"{job.where}: the ranks of its stages are not 0 to "
                               f"{job.ranks.size - 1}, each once")  # fmt: skip
    graph = dependencies(job)
    idle = _idle(job, graph)
    recording = Recording(job.ranks.size, job.where)
    for stage, ranks in enumerate(job.ranks.tolist()):
        recording.communicator(f"stage {stage}", ranks)
    for part, ranks in enumerate(job.ranks.T.tolist()):
        recording.communicator(f"ends {part}", sorted({ranks[0], ranks[-1]}))
    begin, anew = _begins(job)
    for stage in range(job.stages):
        plan = _plan(job, graph, stage, idle)
        for part, rank in enumerate(job.ranks[stage].tolist()):
            device = _Device(job, begin, recording.ranks[rank], (stage, part))
            for step in range(len(job.steps)):
                device.step(plan, step)
    notes = [
        "bytes of messages are not recorded, so a perturbation per byte changes nothing",
        "sends are eager: they wait for no receiver",
        "communication that overlaps a computation begins where the one before it ends",
    ]
    if anew:
        notes.append(
            "the clock of each step begins anew; steps follow one after the other without gaps"
        )
    if idle:
        notes.append(f"{len(idle)} operations of each step send or receive nothing, as they are at "
                     "the ends of the pipeline")  # fmt: skip
    return recording.trace(tick=1.0, notes=tuple(notes))


def _begins(job: Operations) -> tuple[Floats, bool]:
    """Return when each step begins, and whether that is not as recorded."""
    durations = job.end.max(axis=(0, 2))
    if (job.begin[1:] >= job.begin[:-1] + durations[:-1]).all():
        return job.begin, False
    return np.cumsum(durations) - durations, True


def _idle(job: Operations, graph: Dependencies) -> frozenset[int]:
    """Return the pipeline's operations that have no other side."""
    return frozenset(
        number for number, (optype, _, _) in enumerate(job.names)
        if optype in PIPELINE and graph.group.count(graph.group[number]) == 1
    )  # fmt: skip


@attrs.frozen
class _Slot:
    """An operation that blocks, None at the end, and what is begun and waited for before it."""

    operation: int | None
    begun: Sequence[int]
    needed: Sequence[int]


def _plan(job: Operations, graph: Dependencies, stage: int, idle: frozenset[int]) -> list[_Slot]:
    """Return what the devices of a stage do in a step, in the order of the first."""
    mine = sorted((n for n, (_, _, where) in enumerate(job.names) if where == stage),
                  key=lambda n: (float(job.start[n, 0, 0]), n))  # fmt: skip
    mine = [operation for operation in mine if operation not in idle]
    beside = [operation for operation in mine if job.names[operation][0] in (*PIPELINE, *_BESIDE)]
    blocking = [operation for operation in mine if operation not in beside]
    position = {operation: at for at, operation in enumerate(blocking)}
    ends = [float(job.end[operation, 0, 0]) for operation in blocking]
    begun: list[list[int]] = [[] for _ in range(len(blocking) + 1)]
    needed: list[list[int]] = [[] for _ in range(len(blocking) + 1)]
    for operation in beside:
        users = [at for at, user in enumerate(blocking) if operation in graph.needs[user]]
        use = min(users, default=len(blocking))
        earliest = max(
            (position[n] + 1 for n in graph.needs[operation] if n in position), default=0
        )
        at = max(earliest, bisect_right(ends, float(job.start[operation, 0, 0]) + _CLOSE))
        begun[min(at, use)].append(operation)
        needed[use].append(operation)
    return [
        _Slot(operation, *both)
        for operation, *both in zip([*blocking, None], begun, needed, strict=True)
    ]


class _Device:
    """Records what one device did."""

    def __init__(
        self, job: Operations, begin: Floats, recorder: RankRecorder, at: tuple[int, int]
    ) -> None:
        self.job, self.begin, self.recorder = job, begin, recorder
        self.stage, self.part = at
        self.clock = 0.0
        recorder.local("init", 0.0, 0.0)

    def step(self, plan: Sequence[_Slot], step: int) -> None:
        """Record a step."""
        for slot in plan:
            last = float("inf") if slot.operation is None else self._times(slot.operation, step)[0]
            for operation in slot.begun:
                self.clock = self._within(self._times(operation, step)[0], last)
                self._begin(operation, step)
            if slot.needed:
                end = self._within(
                    max(self._times(operation, step)[1] for operation in slot.needed), last
                )
                self.recorder.wait(
                    "waitall", self.clock, end, [(operation, step) for operation in slot.needed]
                )
                self.clock = end
            if slot.operation is not None:
                self._block(slot.operation, step)

    def _times(self, operation: int, step: int) -> tuple[float, float]:
        at, begin = (operation, step, self.part), float(self.begin[step])
        return begin + float(self.job.start[at]), begin + float(self.job.end[at])

    def _within(self, time: float, last: float) -> float:
        """Return a time, not before now, and not after the next operation begins."""
        return max(self.clock, min(time, last))

    def _begin(self, operation: int, step: int) -> None:
        optype, request = self.job.names[operation][0], (operation, step)
        if optype in _BESIDE:
            self.recorder.collective(_BESIDE[optype], self.clock, self.clock,
                                     comm=f"stage {self.stage}", request=request,
                                     site=optype)  # fmt: skip
            return
        peer_stage = (self.stage + PEER[optype][1]) % self.job.stages
        peer, way = int(self.job.ranks[peer_stage, self.part]), int(optype.startswith("backward"))
        if optype.endswith("send"):
            self.recorder.send("isend", self.clock, self.clock, peer, 0.0, way, request=request,
                               site=optype)  # fmt: skip
        else:
            self.recorder.receive("irecv", self.clock, self.clock, peer, way, request=request,
                                  site=optype)  # fmt: skip

    def _block(self, operation: int, step: int) -> None:
        """Record a computation, which is the time before its event, or a sum of several."""
        optype = self.job.names[operation][0]
        start, end = (max(self.clock, time) for time in self._times(operation, step))
        if optype in (EMBEDDING, CLIP):
            comm = 0 if optype == CLIP else f"ends {self.part}"
            self.recorder.collective("allreduce", start, end, comm=comm, site=optype)
        else:
            self.recorder.local("call", end, end, site=optype)
        self.clock = end
