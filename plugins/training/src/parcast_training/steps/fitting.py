"""What would fit an accelerator's memory where a layout does not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs

from parcast.errors import InvalidPointError
from parcast.model import Accelerator
from parcast_training.steps.job import Job
from parcast_training.steps.layout import divisors, layout_of
from parcast_training.steps.memory import memory_of


def what_fits(job: Job, p: int, accelerator: Accelerator) -> str:
    """Return, as text, the changes of one or two numbers with which a step fits."""
    fits: list[str] = []
    offloads = accelerator.host_bandwidth is not None
    for changes in _changes(job, p, accelerator.per_node, offloads=offloads):
        values: dict[str, Any] = {"dp": None, **changes}
        changed = attrs.evolve(job, **values)
        try:
            memory = memory_of(changed, layout_of(changed, p))
        except InvalidPointError:
            continue
        if memory.total <= accelerator.memory:
            spelt = ", ".join(
                f"{k} = {v}" if k != "recompute" else f'{k} = "{v}"' for k, v in changes.items()
            )
            fits.append(f"{spelt} ({memory.total / 1e9:.1f} GB)")
        if len(fits) == 3:
            break
    if not fits:
        return f"nothing tried fits at p = {p}; ask with more accelerators"
    return "what fits: " + "; ".join(fits)


def _changes(job: Job, p: int, per_node: int, *, offloads: bool) -> Iterator[dict[str, int | str]]:
    """Yield what costs little time first."""
    single: list[dict[str, int | str]] = []
    if job.tp > 1 and not job.sp:
        single.append({"sp": 1})
    single += [{"zero": zero} for zero in range(job.zero + 1, 4)]
    if offloads and not job.offload:
        single.append({"offload": 1})
    stages: list[dict[str, int | str]] = [
        {"pp": pp} for pp in divisors(job.layers) if job.pp < pp <= p
    ]
    tensor: list[dict[str, int | str]] = [
        {"tp": tp} for tp in divisors(job.heads) if job.tp < tp <= per_node
    ]
    micro: list[dict[str, int | str]] = [
        {"micro_batch": b} for b in reversed(divisors(job.micro_batch)) if b < job.micro_batch
    ]
    again: list[dict[str, int | str]] = []
    if job.recompute != "full":
        again = [{"recompute": "full"}]
    for change in (*single, *micro, *tensor, *stages, *again):
        yield dict(change)
    for wider in (*tensor, *stages):
        for change in (*again, *single):
            yield {**wider, **change}
    for wide in tensor:
        for deep in stages:
            yield {**wide, **deep}
            yield {**wide, **deep, "recompute": "full"}
