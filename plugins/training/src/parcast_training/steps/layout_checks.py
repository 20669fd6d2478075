"""What of a job's numbers goes together in no layout, or in none of some schedules."""

from __future__ import annotations

from parcast.errors import InvalidPointError
from parcast_training.steps.job import Job

#: Models have some hundred layers; steps of so many more would be played for days.
_MOST_LAYERS = 100_000

#: Schedules that put gradients of weights off.
_PUTS_OFF = {"zero-bubble", "dualpipe"}


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


def check_choices(job: Job) -> None:
    """Refuse choices that do not go together.

    Raises
    ------
    InvalidPointError
        With what to state instead.
    """
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


def check_bidirectional(job: Job, microbatches: int) -> None:
    """Refuse stages and microbatches that a pipeline each way does not have.

    Raises
    ------
    InvalidPointError
        With those that it has.
    """
    if job.pp % 2:
        raise InvalidPointError(
            f"schedule = 'dualpipe' has a pipeline each way and needs an even pp, here {job.pp}"
        )
    if microbatches % 2 or microbatches < 2 * job.pp:
        raise InvalidPointError(
            f"schedule = 'dualpipe' needs an even number of microbatches, at least 2 * pp = "
            f"{2 * job.pp}, here {microbatches}"
        )
