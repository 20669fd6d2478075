"""Which process of a job does what, and which layouts can be."""

from __future__ import annotations

from dataclasses import dataclass

from parcast.errors import InvalidPointError
from parcast_training.steps.job import Job


@dataclass(frozen=True, slots=True)
class Layout:
    """How a step is laid out; ranks count tensor, context, data and pipeline in this order."""

    tp: int
    cp: int
    dp: int
    pp: int
    chunks: int  #: pieces of the model on each stage
    microbatches: int  #: of a step, through each pipeline
    chunk_layers: int  #: layers of a piece

    @property
    def size(self) -> int:
        """Processes."""
        return self.tp * self.cp * self.dp * self.pp

    @property
    def stage_ranks(self) -> int:
        """Processes of a stage."""
        return self.tp * self.cp * self.dp


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
    for text, number, name in (
        (f"heads = {job.heads}", job.heads, "tp"),
        (f"kv_heads = {job.kv_heads or job.heads}", job.kv_heads or job.heads, "tp"),
        (f"ffn = {job.ffn_width}", job.ffn_width, "tp"),
        (f"layers = {job.layers}", job.layers, "pp"),
        (f"experts = {job.experts}", job.experts, "ep"),
        (f"sequence = {job.sequence}", job.sequence, "cp"),
    ):
        _divides(text, number, name, getattr(job, name))
    _check_choices(job)
    chunks = job.interleave
    _divides(f"layers / pp = {job.layers // job.pp}", job.layers // job.pp, "interleave", chunks)
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
    layers = job.layers // job.pp // chunks
    return Layout(job.tp, job.cp, dp, job.pp, chunks, microbatches, layers)


def _divides(text: str, number: int, name: str, wanted: int) -> None:
    if number % wanted:
        raise InvalidPointError(f"{text} is not divisible by {name} = {wanted}")


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
    if job.interleave > 1 and (job.schedule == "zero-bubble" or job.pp == 1):
        raise InvalidPointError(
            f"interleave = {job.interleave} needs schedule = 'interleaved' and pp of 2 or more"
        )
    if job.schedule == "zero-bubble" and job.zero > 1:
        raise InvalidPointError(
            f"zero = {job.zero} reduces gradients with each microbatch, which 'zero-bubble' "
            "puts off"
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
