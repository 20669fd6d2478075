"""Which process of a job does what, and which layouts can be."""

from __future__ import annotations

from dataclasses import dataclass

from parcast.errors import InvalidPointError
from parcast_training.steps.job import Job
from parcast_training.steps.layout_checks import (
    check_bidirectional,
    check_choices,
    check_layers,
)


@dataclass(frozen=True, slots=True)
class Layout:
    """How a step is laid out; ranks count tensor, context, data and pipeline in this order."""

    tp: int
    cp: int
    dp: int
    pp: int
    chunks: int  #: pieces of the model on each stage
    microbatches: int  #: of a step, through each pipeline, of which there are two if bidirectional
    chunk_layers: int  #: layers of a piece
    first_layers: int = 0  #: of the first stage, where it has others than this
    last_layers: int = 0  #: of the last stage, where it has others than this
    bidirectional: bool = False  #: a pipeline each way, so that two stages have each piece

    pairs: bool = False  #: each forward pass is beside a backward pass where both can be

    @property
    def size(self) -> int:
        """Processes."""
        return self.tp * self.cp * self.dp * self.pp

    @property
    def stage_ranks(self) -> int:
        """Processes of a stage."""
        return self.tp * self.cp * self.dp

    @property
    def copies(self) -> int:
        """How many stages have each piece."""
        return 2 if self.bidirectional else 1

    @property
    def pieces(self) -> int:
        """Pieces of the model."""
        return self.chunks * self.pp // self.copies

    def near(self, stage: int) -> int:
        """Return how many stages are between a stage and the nearer end of the pipeline."""
        return min(stage, self.pp - 1 - stage)

    def place(self, stage: int, chunk: int) -> int:
        """Return which of the model's pieces a stage's piece is.

        With a pipeline each way the first piece of a stage is that of the pipeline which begins at
        the nearer end, the second that of the one which ends there.
        """
        if not self.bidirectional:
            return chunk * self.pp + stage
        return self.pp - 1 - self.near(stage) if chunk else self.near(stage)

    def has_first(self, stage: int) -> bool:
        """Return whether a stage has the model's first piece, with the embedding."""
        return stage == 0 or (self.bidirectional and stage == self.pp - 1)

    def has_last(self, stage: int) -> bool:
        """Return whether a stage has the model's last piece, with the output layer."""
        return stage == self.pp - 1 or (self.bidirectional and stage == 0)

    def numbers(self, stage: int, chunk: int) -> range:
        """Return the numbers of a piece's layers."""
        place, last = self.place(stage, chunk), self.pieces - 1
        first = self.first_layers or self.chunk_layers
        start = first + (place - 1) * self.chunk_layers if place else 0
        count = self.chunk_layers if place else first
        if place == last and self.last_layers:
            count = self.last_layers
        return range(start, start + count)

    @property
    def is_even(self) -> bool:
        """Whether all stages have as many layers."""
        return not self.first_layers and not self.last_layers


def uneven(layers: int, pp: int) -> tuple[int, int] | None:
    """Return layers of first and last stage with which the others have as many each.

    They share what the others leave of the layers, each at least one and at most as many as those.
    """
    each = -(-layers // pp)
    rest = layers - (pp - 2) * each
    return (-(-rest // 2), rest // 2) if pp > 2 and 2 <= rest < 2 * each else None


def divisors(number: int) -> list[int]:
    """Return what divides a number, ascending."""
    small = [k for k in range(1, int(number**0.5) + 1) if number % k == 0]
    return sorted({*small, *(number // k for k in small)})


def layout_of(job: Job, p: int) -> Layout:
    """Return the layout of a job on ``p`` processes.

    Raises
    ------
    InvalidPointError
        If it cannot be; `parcast_training.steps.nearest` names what can.
    """
    check_layers(job)
    for text, number, name in (
        (f"heads = {job.heads}", job.heads, "tp"),
        (f"kv_heads = {job.kv_heads or job.heads}", job.kv_heads or job.heads, "tp"),
        (f"ffn = {job.ffn_width}", job.ffn_width, "tp"),
        (f"shared_ffn = {job.shared_ffn}", job.shared_ffn, "tp"),
        (f"dense_ffn = {job.dense_ffn}", job.dense_ffn or 0, "tp"),
        (f"experts = {job.experts}", job.experts, "ep"),
        (f"sequence = {job.sequence}", job.sequence, "cp"),
    ):
        _divides(text, number, name, getattr(job, name))
    check_choices(job)
    chunks, each = job.interleave, _stage_layers(job)
    _divides(f"layers / pp = {each}", each, "interleave", chunks)
    ranks = job.tp * job.cp * job.pp
    dp = _data_parallel(job, p, ranks)
    if dp % job.ep:
        raise InvalidPointError(
            f"ep = {job.ep} does not divide dp = {dp}, and expert parallelism is within the "
            "data-parallel group"
        )
    samples = dp * job.micro_batch
    if job.global_batch % samples:
        raise InvalidPointError(
            f"global_batch = {job.global_batch} is no multiple of dp * micro_batch = {dp} * "
            f"{job.micro_batch}"
        )
    microbatches = job.global_batch // samples
    if chunks > 1 and microbatches % job.pp:
        raise InvalidPointError(
            f"interleaved schedules need microbatches ({microbatches}) in multiples of pp = "
            f"{job.pp}"
        )
    ends = job.first_layers, job.last_layers
    if job.schedule == "dualpipe":
        check_bidirectional(job, microbatches)
        return Layout(job.tp, job.cp, dp, job.pp, 2, microbatches // 2, each, *ends, True, True)
    return Layout(
        job.tp, job.cp, dp, job.pp, chunks, microbatches, each // chunks, *ends,
        pairs=job.overlap_experts,
    )  # fmt: skip


def _stage_layers(job: Job) -> int:
    """Return the layers of a stage, those of first and last apart where these have others."""
    ends = job.first_layers, job.last_layers
    if not any(ends):
        _divides(f"layers = {job.layers}", job.layers, "pp", job.pp)
        return job.layers // job.pp
    stated = " and ".join(
        f"{name}_layers = {count}" for name, count in zip(("first", "last"), ends, strict=True)
        if count
    )  # fmt: skip
    if job.pp == 1 or job.interleave > 1:
        raise InvalidPointError(f"{stated} needs pp of 2 or more and interleave = 1, here {job.pp} "
                                f"and {job.interleave}")  # fmt: skip
    rest, stages = job.layers - sum(ends), job.pp - sum(map(bool, ends))
    if rest < stages or (rest and not stages) or (stages and rest % stages):
        raise InvalidPointError(
            f"{stated} of layers = {job.layers} leave {max(rest, 0)} for {stages} others, "
            "which need as many each"
        )
    return rest // stages if stages else max(ends)


def _divides(text: str, number: int, name: str, wanted: int) -> None:
    if number % wanted:
        raise InvalidPointError(f"{text} is not divisible by {name} = {wanted}")


def _data_parallel(job: Job, p: int, ranks: int) -> int:
    if job.dp is not None:
        if ranks * job.dp != p:
            raise InvalidPointError(
                f"tp * cp * pp * dp = {job.tp} * {job.cp} * {job.pp} * {job.dp} = "
                f"{ranks * job.dp}, but p = {p}"
            )
        return job.dp
    if p % ranks:
        raise InvalidPointError(
            f"p = {p} is no multiple of tp * cp * pp = {job.tp} * {job.cp} * {job.pp}"
        )
    return p // ranks
