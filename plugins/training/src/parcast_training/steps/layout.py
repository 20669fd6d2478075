"""Which process of a job does what, and which layouts can be."""

from __future__ import annotations

from dataclasses import dataclass

from parcast.errors import InvalidPointError
from parcast_training.steps.job import Job

#: Models have some hundred layers; steps of so many more would be played for days.
_MOST_LAYERS = 100_000

#: Schedules that put gradients of weights off.
_PUTS_OFF = {"zero-bubble", "dualpipe"}


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
    _check_choices(job)
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
        _check_bidirectional(job, microbatches)
        return Layout(job.tp, job.cp, dp, job.pp, 2, microbatches // 2, each, *ends, True, True)
    return Layout(
        job.tp, job.cp, dp, job.pp, chunks, microbatches, each // chunks, *ends,
        pairs=job.overlap_experts,
    )  # fmt: skip


def _check_bidirectional(job: Job, microbatches: int) -> None:
    if job.pp % 2:
        raise InvalidPointError(
            f"schedule = 'dualpipe' has a pipeline each way and needs an even pp, here {job.pp}"
        )
    if microbatches % 2 or microbatches < 2 * job.pp:
        raise InvalidPointError(
            f"schedule = 'dualpipe' needs an even number of microbatches, at least 2 * pp = "
            f"{2 * job.pp}, here {microbatches}"
        )


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


def check_layers(job: Job) -> None:
    """Refuse layers that no layout makes possible.

    Raises
    ------
    InvalidPointError
        With what to state instead.
    """
    if job.layers > _MOST_LAYERS:
        raise InvalidPointError(
            f"layers = {job.layers} are more than {_MOST_LAYERS}, the most that are gone through"
        )
    if not job.head_dim and job.hidden % job.heads:
        raise InvalidPointError(
            f"hidden = {job.hidden} is not divisible by heads = {job.heads}; state head_dim"
        )
    if job.kv_rank and job.lora:
        raise InvalidPointError(
            f"lora = {job.lora}: adapters beside latent attention (kv_rank = {job.kv_rank}) are "
            "not modelled; state lora = 0"
        )
    if job.kv_rank and job.kv_heads not in {None, job.heads}:
        raise InvalidPointError(
            f"kv_heads = {job.kv_heads}: latent attention (kv_rank = {job.kv_rank}) has keys for "
            f"each head; state kv_heads = {job.heads}"
        )
    for name, needed in (
        ("q_rank", "kv_rank"), ("rope_dim", "kv_rank"), ("full_every", "window"),
    ):  # fmt: skip
        if getattr(job, name) and not getattr(job, needed):
            raise InvalidPointError(f"{name} = {getattr(job, name)} needs {needed}, which is 0")
    for name in ("shared_ffn", "dense_layers"):
        if getattr(job, name) and job.experts == 1:
            raise InvalidPointError(
                f"{name} = {getattr(job, name)} needs experts = 2 or more, which is 1"
            )
    if job.dense_layers >= job.layers:
        raise InvalidPointError(
            f"dense_layers = {job.dense_layers} of layers = {job.layers} leave none with experts; "
            "state experts = 1"
        )


def _check_choices(job: Job) -> None:
    if job.active > job.experts:
        raise InvalidPointError(f"active = {job.active} of experts = {job.experts}; at most all")
    if job.lora and job.lora_on == "all" and job.experts > 1:
        raise InvalidPointError(
            f"lora_on = 'all' has adapters beside {job.experts} experts, which is not modelled; "
            "state lora_on = 'attention'"
        )
    if job.zero > 3:
        raise InvalidPointError(f"zero = {job.zero}; 0 to 3")
    if job.offload > 1:
        raise InvalidPointError(f"offload = {job.offload}; 1 (the optimizer's states) or 0")
    if job.sp > 1:
        raise InvalidPointError(f"sp = {job.sp}; 1 (as wide as tp) or 0")
    if job.sp and job.sequence // job.cp % job.tp:
        raise InvalidPointError(
            f"sp: sequence / cp = {job.sequence // job.cp} is not divisible by tp = {job.tp}"
        )
    if job.schedule == "interleaved" and (job.interleave < 2 or job.pp < 2):
        raise InvalidPointError(
            f"schedule = 'interleaved' needs interleave and pp of 2 or more, here "
            f"{job.interleave} and {job.pp}"
        )
    if job.overlap_experts:
        _check_pairs(job)
    if job.interleave > 1 and (job.schedule in _PUTS_OFF or job.pp == 1):
        raise InvalidPointError(
            f"interleave = {job.interleave} needs schedule = 'interleaved' and pp of 2 or more"
        )
    if job.schedule in _PUTS_OFF and job.zero > 1:
        raise InvalidPointError(
            f"zero = {job.zero} reduces gradients with each microbatch, which {job.schedule!r} "
            "puts off"
        )


def _check_pairs(job: Job) -> None:
    alone = job.pp > 1 and job.interleave == 1 and job.schedule != "dualpipe"
    if alone or job.schedule == "zero-bubble":
        raise InvalidPointError(
            "overlap_experts = true has no other pass beside each; it needs interleave of 2 or "
            "more, schedule = 'dualpipe', or pp = 1"
        )
    if job.zero > 1:
        raise InvalidPointError(
            f"zero = {job.zero} exchanges weights or gradients with each microbatch, which "
            "overlap_experts = true does not go with"
        )


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
