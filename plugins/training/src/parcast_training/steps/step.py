"""The time of a step, and where it goes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from parcast_training.steps.dualpipe import pass_counts
from parcast_training.steps.job import Job
from parcast_training.steps.kernels import Rates
from parcast_training.steps.layout import Layout
from parcast_training.steps.memory import gradient_bytes, table_weights
from parcast_training.steps.passes import Passes, Reduces
from parcast_training.steps.pipeline import Event, Kind, Pass
from parcast_training.steps.playing import played
from parcast_training.steps.schedule import pair_counts
from parcast_training.steps.segments import Hop, Hops, Segment, Work, exposed, total, working
from parcast_training.steps.sorts import Piece, piece_of


@dataclass(frozen=True, slots=True)
class Stage:
    """Where a stage's ranks spend a step; what is left is waiting for other stages."""

    compute: float
    exchanges: Mapping[str, float]  #: exposed, by what for

    @property
    def busy(self) -> float:
        """Computing or exchanging."""
        return self.compute + sum(self.exchanges.values())


@dataclass(frozen=True)
class Step:
    """A step of a job in a layout: its passes, and how they follow each other."""

    passes: Passes
    checkpoint: float = 0.0  #: seconds of it that are for writing checkpoints

    @property
    def job(self) -> Job:
        """The job."""
        return self.passes.job

    @property
    def layout(self) -> Layout:
        """The layout."""
        return self.passes.layout

    @property
    def zero_bubble(self) -> bool:
        """Whether gradients of weights are put off."""
        return self.job.schedule == "zero-bubble"

    def segments(self, stage: int, step: Pass) -> tuple[Segment, ...]:
        """Return what a pass is on a stage."""
        chunks = self._pieces[stage]
        gathers = step.kind == "F" and self.gathers(step)
        reduces = self.reduces(stage, step) if step.kind == "B" else ""
        beside = None if step.beside is None else chunks[step.beside.chunk]
        key = (step.kind, chunks[step.chunk], beside, gathers, reduces)
        if key not in self._segments:
            self._segments[key] = self._variant(stage, step, gathers=gathers, reduces=reduces)
        return self._segments[key]

    @cached_property
    def _pieces(self) -> tuple[tuple[int, ...], ...]:
        """Of each stage's pieces a number, equal for those with the same layers and ends."""
        layout, seen = self.layout, dict[Piece, int]()
        return tuple(
            tuple(
                seen.setdefault(piece_of(self.job, layout, stage, chunk), len(seen))
                for chunk in range(layout.chunks)
            )
            for stage in range(layout.pp)
        )

    def gathers(self, step: Pass) -> bool:
        """Return whether a forward pass gathers weights because of its place."""
        job = self.job
        if self.layout.bidirectional:
            return False
        return job.overlap_parameters and job.zero in {1, 2} and step.microbatch == 0

    def reduces(self, stage: int, step: Pass) -> Reduces:
        """Return whose gradients are reduced beside a backward pass because of its place.

        Those of the piece itself beside the last backward pass of all, that of the first stage's
        first piece. Those of other pieces in equal parts beside the stage's next backward passes,
        if no part is longer than its pass, so that no stage waits for another one's reduction. All
        others are reduced when their stage has done its passes.
        """
        m = self.layout.microbatches
        if not self.overlaps:
            return ""
        if step.microbatch == m - 1 and stage == step.chunk == 0:
            return "own"
        follows = step.microbatch in self.following and step.chunk < self.layout.chunks - 1
        return "previous" if follows else ""

    @cached_property
    def following(self) -> range:
        """Microbatches beside whose backward passes the piece before has its gradients reduced."""
        layout = self.layout
        several = layout.chunks > 1 and layout.pp > 1
        if layout.pairs or not (several and self.overlaps and self.passes.hides):
            return range(0)
        return range(layout.microbatches - layout.pp, layout.microbatches - 1)

    @property
    def overlaps(self) -> bool:
        """Whether a step's gradients are reduced beside its last backward pass."""
        job = self.job
        puts_off = self.zero_bubble or self.layout.bidirectional
        return job.overlap_gradients and job.zero < 2 and not puts_off

    @cached_property
    def _segments(self) -> dict[tuple[str, int, int | None, bool, str], tuple[Segment, ...]]:
        return {}

    def _variant(
        self, stage: int, step: Pass, *, gathers: bool, reduces: Reduces
    ) -> tuple[Segment, ...]:
        piece = piece_of(self.job, self.layout, stage, step.chunk)
        if step.beside is not None:
            behind = piece_of(self.job, self.layout, stage, step.beside.chunk)
            return self.passes.pair(piece, behind)
        if step.kind == "W":
            return self.passes.weight_gradients(piece)
        if step.kind == "F":
            return self.passes.forward(piece, gathers=gathers)
        return self.passes.backward(piece, reduces=reduces, weights=step.kind == "B")

    @cached_property
    def pass_seconds(self) -> Callable[[int, Pass], float]:
        """How long a pass on a stage takes, its message left out."""
        times: dict[int, float] = {}  # by identity, which `_segments` keeps

        def seconds(stage: int, step: Pass) -> float:
            segments = self.segments(stage, step)
            key = id(segments)
            if key not in times:
                times[key] = total(segments)
            return times[key]

        return seconds

    @cached_property
    def hop_bytes(self) -> float:
        """Bytes between stages."""
        return self.passes.between()

    def hop(self, stage: int, to: int) -> Hop:
        """Return what a message between two stages costs."""
        ranks = self.layout.stage_ranks
        return self.passes.hops(stage * ranks, to * ranks, self.hop_bytes)

    def after(self, stage: int) -> tuple[tuple[Segment, ...], tuple[Segment, ...]]:
        """Return what follows a stage's passes, before and after ends of tied weights agree."""
        own = 1 if stage == 0 and self.overlaps else 0
        chunks = range(own, 1 if self.following else self.layout.chunks)
        ending = self.passes.ending(stage)
        if self.checkpoint:
            ending = (*ending, Work("checkpoint", self.checkpoint, waiting=True))
        return self.passes.gradients_after(stage, chunks), ending

    @property
    def tied_bytes(self) -> float:
        """Bytes that first and last stage exchange twice, so that weights of both stay equal.

        These are the embedding's, where the output layer is tied or predicts further tokens. With a
        pipeline each way one stage has both.
        """
        job = self.job
        if not (job.tied or job.mtp) or self.layout.pp == 1 or self.layout.bidirectional:
            return 0.0
        return 0.0 if job.lora else table_weights(job, self.layout) * gradient_bytes(job) / 2

    def ends(self, before: dict[Event, Event] | None = None) -> list[float]:
        """Return when each stage ends the step."""
        layout = self.layout
        clocks = played(
            layout, self.pass_seconds, self.hop, zero_bubble=self.zero_bubble, before=before
        )
        endings = [self.after(stage) for stage in range(layout.pp)]
        clocks = [c + total(reduces) for c, (reduces, _) in zip(clocks, endings, strict=True)]
        if self.tied_bytes:
            cost, last = self.tied_hop, layout.pp - 1
            for _ in range(2):
                first, end = clocks[0], clocks[last]
                clocks[0] = max(first + cost.send, end + cost.send + cost.wire + cost.receive)
                clocks[last] = max(end + cost.send, first + cost.send + cost.wire + cost.receive)
        return [c + total(ending) for c, (_, ending) in zip(clocks, endings, strict=True)]

    @cached_property
    def tied_hop(self) -> Hop:
        """What one of those exchanges costs."""
        ranks = self.layout.stage_ranks
        return self.passes.hops(0, (self.layout.pp - 1) * ranks, self.tied_bytes)

    @cached_property
    def seconds(self) -> float:
        """From the start to the latest end."""
        return max(self.ends())

    @cached_property
    def stages(self) -> tuple[Stage, ...]:
        """Where each stage's ranks spend it."""
        return tuple(self._stage(stage) for stage in range(self.layout.pp))

    @cached_property
    def busiest(self) -> int:
        """The stage that waits least."""
        return max(range(self.layout.pp), key=lambda stage: self.stages[stage].busy)

    @property
    def bubble(self) -> float:
        """Seconds that the busiest stage waits for others."""
        return max(0.0, self.seconds - self.stages[self.busiest].busy)

    def runs(self, stage: int) -> Iterator[tuple[Pass, int]]:
        """Yield the passes of a stage that differ, and how often it does each."""
        layout, m = self.layout, self.layout.microbatches
        if layout.bidirectional:
            yield from pass_counts(layout.pp, layout.near(stage), m)
            return
        if layout.pairs:
            yield from pair_counts(layout, stage)
            return
        kinds: tuple[Kind, ...] = ("F", "I", "W") if self.zero_bubble else ("F", "B")
        for kind in kinds:
            special, usual = (0, 1) if kind == "F" else (m - 1, 0)
            following = range(0) if kind == "F" else self.following
            others = m - 1 - len(following)
            for chunk in range(layout.chunks):
                yield Pass(kind, chunk, special), 1
                if following:
                    yield Pass(kind, chunk, following[0]), len(following)
                if others:
                    yield Pass(kind, chunk, usual), others

    def _stage(self, stage: int) -> Stage:
        compute, exchanges = 0.0, dict[str, float]()
        for run, times in self.runs(stage):
            segments = self.segments(stage, run)
            compute += times * working(segments)
            exposed(segments, exchanges, times)
        exchanges["pipeline"] = self._sending(stage)
        for segments in self.after(stage):
            compute += working(segments)
            exposed(segments, exchanges)
        return Stage(compute, {name: s for name, s in exchanges.items() if s > 0})

    def _sending(self, stage: int) -> float:
        """Return what messages between stages cost a stage itself."""
        if self.layout.pp == 1:
            return 0.0
        near = stage + 1 if stage < self.layout.pp - 1 else stage - 1
        cost = self.hop(stage, near)
        passes = 2 * self.layout.microbatches * self.layout.chunks
        return passes * (cost.send + cost.receive)


def step_of(
    job: Job, layout: Layout, rates: Rates, hops: Hops, per_node: int, checkpoint: float = 0.0
) -> Step:
    """Return the step of a job; see `Passes` and `Step`."""
    return Step(Passes(job, layout, rates, hops, per_node), checkpoint)
