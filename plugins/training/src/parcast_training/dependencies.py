"""What each operation of a training step waits for: streams, pipeline, data-parallel groups.

The model is that of StragglerAnalysis (arXiv 2505.05713, section 3): a stage computes in one
stream, sends and receives in four, and communicates with its data-parallel ranks in one; a receive
comes before the computation that it feeds, a send after the one that makes it; a group's operations
end together. All steps and data-parallel ranks have the dependencies of the first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

import attrs

from parcast.errors import UnsupportedError
from parcast_training.table import Name, Operations

#: Clocks of ranks agree this well, in seconds.
_CLOSE = 5e-5

COMPUTES = ("forward-compute", "backward-compute")
PIPELINE = ("forward-send", "forward-recv", "backward-send", "backward-recv")
GATHER, SCATTER, SEPARATE = "params-all-gather", "grads-reduce-scatter", "separate-grads-all-reduce"
LAYERNORM, EMBEDDING = "layernorm-grads-all-reduce", "embedding-grads-all-reduce"
COLLECT, CLIP, OPTIMIZER = "gc", "optimizer-clip-main-grad", "optimizer"

#: The other side, and how far away its stage is.
PEER = {
    "forward-send": ("forward-recv", 1), "forward-recv": ("forward-send", -1),
    "backward-send": ("backward-recv", -1), "backward-recv": ("backward-send", 1),
}  # fmt: skip


@attrs.frozen
class Dependencies:
    """Operations by number."""

    needs: Sequence[Sequence[int]]  #: what each waits for
    group: Sequence[int]  #: whose operations end together; -1: it is in none
    together: frozenset[int]  #: groups of all data-parallel ranks


class _Builder:
    def __init__(self, job: Operations) -> None:
        self.job = job
        self.needs: list[list[int]] = [[] for _ in job.names]
        self.groups: list[list[int]] = []
        self.together: set[int] = set()
        self.types = {optype for optype, _, _ in job.names}
        chunks = int(job.chunk.max(initial=0)) + 1
        self.positions = chunks * job.stages
        self.matched: dict[int, int] = {}
        self.idle: set[int] = set()

    def chain(self, numbers: Sequence[int]) -> None:
        for before, after in pairwise(numbers):
            self.needs[after].append(before)

    def number(self, name: Name) -> int:
        if name not in self.job.numbers:
            optype, order, stage = name
            raise UnsupportedError(
                f"{self.job.where}: stage {stage} has no {optype} {order}, which the model of a "
                "training step needs"
            )
        return self.job.numbers[name]

    def stage(self, stage: int) -> None:
        """Add what operations of one stage wait for among themselves."""
        job = self.job
        computes = job.of(stage, *COMPUTES)
        if not computes:
            raise UnsupportedError(f"{job.where}: stage {stage} computes nothing")
        self.chain(computes)
        for optype in PIPELINE:
            mine = job.of(stage, optype)
            self.chain(mine)
            self._match(stage, optype, mine, computes)
        self._first_backward(stage, computes)
        if SCATTER in self.types or GATHER in self.types:
            self.chain(job.of(stage, GATHER, SCATTER))
            self._gathers(stage, computes)
        last = max(computes, key=lambda number: float(job.end[number, 0, 0]))
        self._after(stage, last, computes)

    def _match(self, stage: int, optype: str, mine: list[int], computes: list[int]) -> None:
        """Match messages with the computation that they feed, or that makes them."""
        job, way = self.job, optype.partition("-")[0]
        way_computes = [number for number in computes if job.names[number][0] == f"{way}-compute"]
        start, end = job.start[:, 0, 0], job.end[:, 0, 0]
        sends = optype.endswith("send")
        if sends:
            first = min((end[number] for number in way_computes), default=0.0)
            real = [message for message in mine if end[message] >= first - _CLOSE]
        else:
            last = max((start[number] for number in way_computes), default=0.0)
            real = [message for message in mine if start[message] <= last + _CLOSE]
        self.idle.update(set(mine) - set(real))
        order = int(not sends and len(real) + 1 == len(way_computes))
        if len(real) not in (0, len(way_computes), len(way_computes) - 1):
            raise UnsupportedError(f"{job.where}: stage {stage} has {len(real)} {optype} for "
                                   f"{len(way_computes)} computations, and the model needs as many "
                                   "or one less")  # fmt: skip
        for message in real:
            compute = self.number((f"{way}-compute", order, stage))
            if not 0 <= job.position[compute] + PEER[optype][1] < self.positions:
                self.idle.add(message)
            if sends:
                self.needs[message].append(compute)
            else:
                self.needs[compute].append(message)
                if order > 0:
                    self.needs[message].append(self.number((f"{way}-compute", order - 1, stage)))
            order += 1

    def _first_backward(self, stage: int, computes: list[int]) -> None:
        """Let the first backward messages wait for the forward computation two before."""
        types = [self.job.names[number][0] for number in computes]
        first = types.index("backward-compute") if "backward-compute" in types else 0
        if first < 2:
            return
        for optype in ("backward-recv", "backward-send"):
            if (first_message := self.job.numbers.get((optype, 0, stage))) is not None:
                self.needs[first_message].append(computes[first - 2])

    def _gathers(self, stage: int, computes: list[int]) -> None:
        """Let the first computation of a chunk wait for its weights."""
        job, fed = self.job, set[int]()
        for gather in reversed(job.of(stage, GATHER)):
            chunk = int(job.chunk[gather])
            mine = [n for n in computes if job.names[n][0] == COMPUTES[0] and job.chunk[n] == chunk]
            if chunk not in fed and mine:
                self.needs[mine[0]].append(gather)
                fed.add(chunk)

    def _after(self, stage: int, last: int, computes: list[int]) -> None:
        """Add what follows the last computation of a step."""
        job = self.job
        ends = [self.number((OPTIMIZER, 0, stage))]
        embedding = [(EMBEDDING, 0, stage)] if stage in (0, job.stages - 1) else []
        scatters = [(SCATTER, number, stage) for number in range(len(job.of(stage, SCATTER)))]
        separate = SEPARATE in self.types
        if separate:
            self._scatters(stage, computes)
        middle = [(SEPARATE, 0, stage)] if separate else scatters
        chain = [(LAYERNORM, 0, stage), *embedding, *middle, (CLIP, 0, stage)]
        numbers = [self.number(name) for name in chain] + ends
        collect = self.number((COLLECT, 0, stage))
        self.needs[collect].append(last)
        self.needs[numbers[0]].append(collect)
        if separate and scatters:
            self.needs[numbers[0]].append(self.number(scatters[-1]))
        self.chain(numbers)

    def _scatters(self, stage: int, computes: list[int]) -> None:
        """Let gradients that are sent early wait for the last computation of their chunk."""
        job, fed = self.job, set[int]()
        for scatter in job.of(stage, SCATTER):
            chunk = int(job.chunk[scatter])
            mine = [n for n in computes if job.names[n][0] == COMPUTES[1] and job.chunk[n] == chunk]
            if chunk not in fed and mine:
                self.needs[scatter].append(max(mine, key=lambda n: float(job.end[n, 0, 0])))
                fed.add(chunk)

    def join(self) -> None:
        """Make the groups: messages of the pipeline, data-parallel ranks, stages."""
        job, pairs = self.job, defaultdict[frozenset[Name], list[int]](list)
        for stage in range(job.stages):
            for optype in PIPELINE:
                mine = job.of(stage, optype)
                self.groups += [[message] for message in mine if message in self.idle]
                peer_type, distance = PEER[optype]
                for order, message in enumerate(n for n in mine if n not in self.idle):
                    peer = (peer_type, order, (stage + distance) % job.stages)
                    pairs[frozenset([(optype, order, stage), peer])].append(message)
        for names, pair in pairs.items():
            if len(pair) != 2:
                optype, order, stage = min(names)
                raise UnsupportedError(f"{job.where}: {optype} {order} of stage {stage} has no "
                                       "counterpart")  # fmt: skip
            self.groups.append(pair)
        for number, (optype, _, _) in enumerate(job.names):
            if optype in (GATHER, SCATTER, SEPARATE):
                self.together.add(len(self.groups))
                self.groups.append([number])
        ends = sorted({0, job.stages - 1})
        self.groups.append([self.number((EMBEDDING, 0, stage)) for stage in ends])
        self.together.add(len(self.groups))
        self.groups.append([self.number((CLIP, 0, stage)) for stage in range(job.stages)])


def dependencies(job: Operations) -> Dependencies:
    """Return what each operation of a step waits for.

    Raises
    ------
    UnsupportedError
        If the table is of no such job.
    """
    builder = _Builder(job)
    for stage in range(job.stages):
        builder.stage(stage)
    builder.join()
    group = [-1] * len(job.names)
    for number, members in enumerate(builder.groups):
        for member in members:
            group[member] = number
    return Dependencies(builder.needs, group, frozenset(builder.together))
