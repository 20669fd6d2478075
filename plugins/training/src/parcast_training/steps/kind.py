"""The kind ``training`` as files and solvers see it."""

from __future__ import annotations

import attrs

from parcast.model import Query
from parcast_training.steps.job import Job
from parcast_training.steps.job_settings import job_at
from parcast_training.steps.nearest import layout_or_nearest


@attrs.frozen(kw_only=True)
class TrainingJob(Job):
    """A step of training a language model (a decoder) on p accelerators."""

    def uses(self, query: Query) -> dict[str, bool]:  # noqa: ARG002  (as kinds have it)
        """Return what a step needs of a machine."""
        return {"messages": True}

    def work(self, query: Query) -> dict[str, float]:
        """Return the samples of a step, so that layouts of one batch are ranked together."""
        return {"samples": float(job_at(query).global_batch)}

    def check(self, query: Query) -> None:
        """Refuse a layout that cannot be, with the nearest that can.

        Without an accelerator there is no step in any layout, as solvers say.
        """
        accelerator = query.machine.accelerator
        if accelerator is not None:
            layout_or_nearest(job_at(query), query.p, accelerator.per_node)
