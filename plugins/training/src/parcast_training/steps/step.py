"""The time of a step, and where it goes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

from parcast_training.steps.job import Job
from parcast_training.steps.kernels import Rates
from parcast_training.steps.layout import Layout
from parcast_training.steps.memory import embedding_weights, gradient_bytes
from parcast_training.steps.passes import Passes
from parcast_training.steps.schedule import Event, Pass, played
from parcast_training.steps.segments import Hop, Hops, Segment, exposed, total, working


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
        layout = self.layout
        first = stage == 0 and step.chunk == 0
        last = stage == layout.pp - 1 and step.chunk == layout.chunks - 1
        return self._variants(step.kind, first, last, self.is_marked(step))

    def is_marked(self, step: Pass) -> bool:
        """Return whether a pass gathers weights or reduces gradients because of its place."""
        job = self.job
        if step.kind == "F":
            return job.overlap_parameters and job.zero in {1, 2} and step.microbatch == 0
        overlapped = job.overlap_gradients and job.zero < 2 and not self.zero_bubble
        last = step.microbatch == self.layout.microbatches - 1
        return step.kind == "B" and overlapped and last

    @cached_property
    def _variants(self):  # type: ignore[no-untyped-def]
        @lru_cache(maxsize=64)
        def variant(kind: str, first: bool, last: bool, marked: bool) -> tuple[Segment, ...]:
            if kind == "F":
                return self.passes.forward(first=first, last=last, gathers=marked)
            if kind == "B":
                weights = not self.zero_bubble
                return self.passes.backward(first=first, last=last, reduces=marked, weights=weights)
            return self.passes.weight_gradients(last=last)

        return variant

    @cached_property
    def _seconds(self):  # type: ignore[no-untyped-def]
        times: dict[tuple[Segment, ...], float] = {}

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

    @lru_cache(maxsize=256)  # noqa: B019  (a step lives as long as its answer)
    def hop(self, stage: int, to: int) -> Hop:
        """Return what a message between two stages costs."""
        ranks = self.layout.stage_ranks
        return self.passes.hops(stage * ranks, to * ranks, self.hop_bytes)

    def after(self, stage: int) -> tuple[tuple[Segment, ...], tuple[Segment, ...]]:
        """Return what follows a stage's passes, before and after ends of tied weights agree."""
        job = self.job
        late = not job.overlap_gradients or self.zero_bubble
        reduces = self.passes.gradients_after() if late else ()
        return reduces, self.passes.ending(stage)

    @property
    def tied_bytes(self) -> float:
        """Bytes that first and last stage exchange twice, so that tied weights stay equal."""
        if not self.job.tied or self.layout.pp == 1:
            return 0.0
        return embedding_weights(self.job, self.layout, 0) * gradient_bytes(self.job) / 2

    def ends(self, before: dict[Event, Event] | None = None) -> list[float]:
        """Return when each stage ends the step."""
        layout = self.layout
        clocks = played(
            layout, self._seconds, self.hop, zero_bubble=self.zero_bubble, before=before
        )
        rest = [self.after(stage) for stage in range(layout.pp)]
        clocks = [clock + total(reduces) for clock, (reduces, _) in zip(clocks, rest, strict=True)]
        if self.tied_bytes:
            cost, last = self.tied_hop, layout.pp - 1
            for _ in range(2):
                first, end = clocks[0], clocks[last]
                clocks[0] = max(first + cost.send, end + cost.send + cost.wire + cost.receive)
                clocks[last] = max(end + cost.send, first + cost.send + cost.wire + cost.receive)
        return [clock + total(ending) for clock, (_, ending) in zip(clocks, rest, strict=True)]

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

    def _stage(self, stage: int) -> Stage:
        layout = self.layout
        compute, exchanges = 0.0, dict[str, float]()
        kinds = ("F", "B", "W") if self.zero_bubble else ("F", "B")
        m = layout.microbatches
        for kind in kinds:
            for chunk in range(layout.chunks):
                marked = {0, m - 1}
                for microbatch in marked:
                    step = Pass(kind, chunk, microbatch)  # type: ignore[arg-type]
                    times = 1 if len(marked) == 2 and microbatch else m - len(marked) + 1
                    segments = self.segments(stage, step)
                    compute += times * working(segments)
                    exposed(segments, exchanges, times)
        exchanges["pipeline"] = self._sending(stage)
        for segments in self.after(stage):
            compute += working(segments)
            exposed(segments, exchanges)
        return Stage(compute, {what: s for what, s in exchanges.items() if s > 0})

    def _sending(self, stage: int) -> float:
        """Return what messages between stages cost a stage itself."""
        if self.layout.pp == 1:
            return 0.0
        near = stage + 1 if stage < self.layout.pp - 1 else stage - 1
        cost = self.hop(stage, near)
        passes = 2 * self.layout.microbatches * self.layout.chunks
        return passes * (cost.send + cost.receive)


def step_of(job: Job, layout: Layout, rates: Rates, hops: Hops, per_node: int) -> Step:
    """Return the step of a job; see `Passes`."""
    return Step(Passes(job, layout, rates, hops, per_node))
