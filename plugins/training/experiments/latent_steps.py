"""A published training of a model with latent attention beside predictions of its steps.

A section of docs/training.md, which `published_steps.py` writes.
"""

from __future__ import annotations

from itertools import product
from typing import Any

from parcast import Query, Registry
from parcast.files import workload_from_data
from parcast_training.steps.asking import accelerator_of, hops_of, memory_at, step_at
from parcast_training.steps.files import KIND
from parcast_training.steps.plan import planned
from parcast_training.steps.solver import shares
from parcast_training.steps.step import Step

#: DeepSeek-V3 (arXiv 2412.19437, sections 4.2 and 3): its numbers, batch and precision.
MODEL: dict[str, Any] = {
    "layers": 61, "hidden": 7168, "heads": 128, "head_dim": 128, "rope_dim": 64, "value_dim": 128,
    "q_rank": 1536, "kv_rank": 512, "ffn": 2048, "gated": True, "vocabulary": 129280,
    "tied": False, "experts": 256, "active": 8, "shared_ffn": 2048, "dense_layers": 3,
    "dense_ffn": 18432, "mtp": 1, "sequence": 4096, "global_batch": 15360, "precision": "fp8",
}  # fmt: skip

#: Its layout as published: 16 stages, 64 ranks of experts, the optimizer sharded. Its schedule is
#: DualPipe; 1F1B is beside it.
LAYOUT = {"pp": 16, "first_layers": 3, "last_layers": 2, "ep": 64, "zero": 1}

GPUS = 2048

#: Hours of accelerators for a million million tokens, as published (table 1).
HOURS = 180e3

TEXT = """
## A published training with latent attention

DeepSeek-V3 took {hours:,.0f} hours of H800 for each million million tokens, on {gpus:,} of them (arXiv 2412.19437, table 1):
{published:.1f} s for a step of {samples:,} samples of {sequence:,} tokens, restarts left out. This is a comparison, no calibration: nothing is fitted
to it, and the machine is the shipped `h100-ndr`, whose links within a node are faster (H800: 400 GB/s of NVLink in all).

| layout | step | to published | hours of a GPU, million million tokens | MFU | exposed exchanges of experts | bubble | memory |
|---|---|---|---|---|---|---|---|
{rows}

With its own layout and schedule (DualPipe, exchanges of experts beside kernels of another microbatch) and nothing recomputed
the step is {own:.1f} s, {own_off:+.0%}; with 1F1B it would be {plain:.1f} s. The schedule was built from its public definition, and
nothing was changed after this number. It is no proof: two errors go against each other. Kernels are as fast as each by itself, so
that they take {compute:.0%} of the published step; and tokens go to experts in 16 bits and to all nodes, where DeepSeek sends them in 8 bits
and to four nodes at most, so that of {all_experts:.1f} s of exchanges {experts:.1f} s are still longer than the kernels beside them. DeepSeek
reports that they are all hidden. The best layout of a plan that fits is {off:+.0%} off. It has experts within a node, for a reason
that this training did not have. Memory is counted for activations of 16 bits, where DeepSeek keeps some in 8 and computes
others again: what needs over 80 GB here is what it ran.
"""  # noqa: E501


def asked(registry: Registry, **changes: Any) -> Query:
    """Return the question of a step in a layout."""
    data = {"kind": "training", "name": "deepseek-v3", **MODEL, **changes}
    workload = workload_from_data(data, "model", {"training": KIND})
    return Query(workload=workload, machine=registry.machine("h100-ndr"), p=GPUS)


def row(name: str, step: Step, memory: float, published: float, peak: float) -> str:
    """Return a line of the table."""
    job, seconds, spent = step.job, step.seconds, shares(step)
    tokens = job.global_batch * job.sequence
    return (
        f"| {name} | {seconds:.1f} s | {seconds / published - 1:+.0%} "
        f"| {GPUS * seconds / 3600 / tokens * 1e12:,.0f} | {job.model_flops / seconds / peak:.1%} "
        f"| {spent.get('expert parallel', 0.0):.1f} s | {spent['bubble']:.1f} s "
        f"| {memory / 1e9:.0f} GB |"
    )


def section() -> str:
    """Return the section of the page."""
    registry = Registry()
    query = asked(registry)
    job, accelerator = query.workload.content, accelerator_of(query)
    tokens = job.global_batch * job.sequence
    published = HOURS * 3600 * tokens / 1e12 / GPUS
    peak = accelerator.rate(job.precision) * GPUS
    best = planned(job, GPUS, accelerator, hops_of(query), count=1).best[0]
    layout = best.layout
    name = (
        f"best of a plan: tp = {layout.tp}, pp = {layout.pp}, ep = {best.job.ep}, "
        f"recompute {best.job.recompute}"
    )
    rows = [row(name, best.step, best.memory.total, published, peak)]
    own = dict[str, Step]()
    for schedule, recompute in product(("1f1b", "dualpipe"), ("full", "none")):
        query = asked(registry, **LAYOUT, schedule=schedule, recompute=recompute)
        step = own[schedule] = step_at(query)
        name = f"its own, {schedule}, recompute {recompute}"
        rows.append(row(name, step, memory_at(query).total, published, peak))
    step, plain = own["dualpipe"], own["1f1b"]
    spent = shares(step)
    unhidden = max(stage.exchanges.get("expert parallel", 0.0) for stage in plain.stages)
    return TEXT.format(
        hours=HOURS, gpus=GPUS, published=published, samples=job.global_batch,
        sequence=job.sequence, rows="\n".join(rows), off=best.step.seconds / published - 1,
        own=step.seconds, own_off=step.seconds / published - 1, plain=plain.seconds,
        compute=spent["compute"] / published, experts=spent["expert parallel"],
        all_experts=unhidden,
    )  # fmt: skip


if __name__ == "__main__":
    print(section())
