"""The solver ``training.step``: a step by its formula."""

from __future__ import annotations

from typing import Any

from parcast import Assumption, Prediction, Query
from parcast.errors import UnsupportedError
from parcast.model import Accelerator, Parts
from parcast_training.steps.asking import (
    accelerator_of,
    check_placement,
    memory_at,
    step_at,
    too_large,
)
from parcast_training.steps.checkpoint import checkpoint_notes
from parcast_training.steps.fitting import what_fits
from parcast_training.steps.formula import algebra
from parcast_training.steps.job_settings import job_at
from parcast_training.steps.step import Step
from parcast_training.steps.unmodelled import configuration_notes

#: Where products are in 32 bits, which may be by default.
_WIDE = "products are in fp32, as Megatron-LM has it where nothing says --bf16 or --fp16"

#: What counts as a processor's work in a prediction's bottleneck.
_BINDINGS = {"compute": "processor", "bubble": "synchronization", "checkpoint": "storage"}


class Training:
    """A step's time: its schedule played with passes of constant length, nothing shared."""

    def supports(self, query: Query) -> str | None:
        """Return why this cannot take a query: no accelerator, or too little of its memory."""
        try:
            accelerator = accelerator_of(query)
            check_placement(query)
        except UnsupportedError as error:
            return str(error)
        job, memory = job_at(query), memory_at(query)
        reason = too_large(memory, accelerator.memory)
        return None if reason is None else f"{reason}; {what_fits(job, query.p, accelerator)}"

    def solve(self, query: Query) -> Prediction:
        """Return the time of a step and where it goes."""
        step = step_at(query)
        return Prediction(
            time=step.seconds,
            parts=mean_parts(step),
            notes=notes(query),
            binding=_BINDINGS.get(bottleneck(step), "network"),
            details=details(step, query),
        )

    def cost(self, query: Query) -> float:
        """Return about how many seconds an answer takes."""
        job = job_at(query)
        passes = job.global_batch * job.interleave * job.pp / job.micro_batch
        return 0.05 + 3e-6 * passes / max(1, query.p // (job.tp * job.cp * job.pp))

    def assumptions(self, query: Query) -> tuple[Assumption, ...]:
        """Return what is taken for granted."""
        network = query.machine.network
        contention = network.contention or "none"
        limit = network.eager_limit
        return (
            Assumption(
                "messages share nothing",
                "" if contention == "none" else f"contention is {contention!r}",
            ),
            Assumption(
                "a sender goes on before its message is received",
                "" if limit is None else f"messages above {limit:g} bytes wait",
            ),
            Assumption("kernels take the same time on all ranks, and in each step"),
        )


def too_short(accelerator: Accelerator) -> str:
    """Return what the time is known to lack, by what is stated of the accelerator."""
    lacking = "kernels are as fast as each by itself, and launches and copies are left out"
    if any(step.kind == "pointwise" for step in accelerator.efficiency):
        longer = f"{lacking}: four published steps on A100 took 0 to 8 % longer"
        if accelerator.units is None:
            longer = (
                f"{lacking}: with shares of products that were timed by themselves, four published "
                "steps on A100 took 9 to 19 % longer"
            )
    else:
        longer = (
            f"{lacking}; the machine states no share of kind pointwise, without which four "
            "published steps on A100 took 6 to 16 % longer"
        )
    if "A100" not in accelerator.name:
        longer += (
            "; on H100 Megatron-Core publishes 41 to 48 % MFU, and on GH200 a program that trains "
            "small models took 4 to 9 times as long as is said here: where more is predicted, "
            "expect a longer step"
        )
    return f"{longer} (docs/training.md)"


def notes(query: Query) -> tuple[str, ...]:
    """Return what of the machine is left out, and what is known to be missing."""
    contention = query.machine.network.contention or "none"
    lacking = too_short(accelerator_of(query))
    shared = f"messages do not wait for each other, though contention is {contention!r}"
    job = job_at(query)
    return (
        *(() if contention == "none" or query.p == 1 else (shared,)),
        *checkpoint_notes(query),
        *configuration_notes(job),
        *((_WIDE,) if job.precision == "fp32" else ()),
        lacking,
    )


def mean_parts(step: Step) -> Parts:
    """Return where the time goes, as the mean over ranks."""
    stages = step.stages
    compute = sum(stage.compute for stage in stages) / len(stages)
    communication = sum(stage.busy for stage in stages) / len(stages) - compute - step.checkpoint
    waiting = max(0.0, step.seconds - compute - communication - step.checkpoint)  # rounded
    return Parts(
        compute=compute,
        communication=communication,
        io=step.checkpoint,
        synchronization=waiting,
    )


def shares(step: Step) -> dict[str, float]:
    """Return the seconds of the busiest stage: compute, each sort of exchange, bubble."""
    stage = step.stages[step.busiest]
    return {"compute": stage.compute, **stage.exchanges, "bubble": step.bubble}


def bottleneck(step: Step) -> str:
    """Return which of these is the longest."""
    seconds = shares(step)
    return max(seconds, key=lambda name: seconds[name])


def details(step: Step, query: Query) -> dict[str, Any]:
    """Return what only training steps have: memory, throughput, shares, the formula."""
    job, layout = step.job, step.layout
    accelerator = accelerator_of(query)
    memory, seconds = memory_at(query), step.seconds
    tokens = job.global_batch * job.sequence
    peak = accelerator.rate(job.precision) * query.p
    return {
        "layout": {
            "tp": layout.tp,
            "cp": layout.cp,
            "pp": layout.pp,
            "dp": layout.dp,
            "ep": job.ep,
        },
        "microbatches": layout.microbatches * layout.copies,
        "weights": job.weights,
        "active_weights": job.active_weights,
        "tokens_per_second": tokens / seconds,
        "mfu": job.model_flops / seconds / peak,
        "memory_bytes": {
            "weights": memory.weights,
            "gradients": memory.gradients,
            "optimizer": memory.optimizer,
            "activations": memory.activations,
            "total": memory.total,
            "of": accelerator.memory,
        },
        "seconds": shares(step),
        "bottleneck": bottleneck(step),
        "formula": algebra(step),
    }
