"""What processes do in a collective with bytes in their own memory: they add up, and copy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import attrs
import numpy as np

from parcast.model.machine import Network
from parcast.program.matching.collectives.groups import HANDLING, Groups, Step, active_step

#: Collectives whose every process copies what it brings to where its messages go out from.
COPIED = ("allreduce", "reduce", "reduce_scatter", "scan", "allgather", "allgatherv")


@attrs.frozen
class Handling:
    """Seconds that a process takes for each byte, 0 where it costs nothing."""

    add: float = 0.0  #: of two buffers that are added up, the bytes of one
    copy: float = 0.0

    @classmethod
    def of(cls, network: Network) -> Handling:
        """Return what a network states."""
        bandwidths = network.reduction_bandwidth, network.copy_bandwidth
        return cls(*(0.0 if bandwidth is None else 1 / bandwidth for bandwidth in bandwidths))

    def priced(self, steps: Iterable[Step]) -> Iterator[Step]:
        """Yield steps in which adding up and copying elapse, or are left out if they cost nothing.

        A step that repeats stays one object.
        """
        elapsing: dict[Step, Step] = {}
        for step in steps:
            if step.op not in HANDLING:
                yield step
            elif (per_byte := getattr(self, step.op)) and np.any(step.arguments["bytes"]):
                if step not in elapsing:
                    elapsing[step] = _elapse(step, per_byte)
                yield elapsing[step]


def _elapse(step: Step, per_byte: float) -> Step:
    """Return a step that takes its seconds; like all of a collective's it has a tag."""
    return Step("elapse", step.ranks, {"seconds": step.arguments["bytes"] * per_byte, "tag": 0})


def copied(op: str, among: Groups, amount: Any) -> Iterator[Step]:
    """Yield the copy that a process makes of what it brings to a collective."""
    if op in COPIED:
        own = amount * among.size if op == "reduce_scatter" else amount
        yield active_step("copy", among, True, bytes=own)
