"""The kind ``checkpointed`` of workloads."""

from __future__ import annotations

from typing import Annotated

import attrs

from parcast import Formula, Query, Unit


@attrs.frozen(kw_only=True)
class Job:
    """Work that all processes share evenly, and that stops for each checkpoint."""

    flops: Annotated[Formula, Unit("FLOP", positive=True)]  #: of all processes
    state: Annotated[Formula, Unit("B", positive=True)]  #: bytes of a checkpoint, of all processes
    #: work between two checkpoints; the solver's best where not stated
    interval: Annotated[Formula, Unit("s", positive=True)] | None = None

    def compute(self, query: Query) -> float:
        """Return the seconds of work without checkpoints and failures."""
        rate = query.machine.need("processor.rate", "a workload with work")
        return query.number(self, "flops") / query.p / rate

    def checkpoint(self, query: Query) -> float:
        """Return the seconds of one checkpoint: all processes write to all disks."""
        size = query.number(self, "state")
        bandwidth = query.machine.need("storage.bandwidth", "a workload with checkpoints")
        return query.machine.storage.startup + size / (bandwidth * query.d)

    def work(self, query: Query) -> dict[str, float]:
        """Return what all processes do together: rows of the same work are ranked over p."""
        return {"flops": query.number(self, "flops")}
