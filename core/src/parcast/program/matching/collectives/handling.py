"""What processes do in a collective with bytes in their own memory: they add up, and copy."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import attrs
import numpy as np

from parcast.model.machine import Network
from parcast.model.messages import SizeCosts, by_size, sizes_of
from parcast.program.matching.collectives.groups import HANDLING, Groups, Step, active_step

#: Collectives whose every process copies what it brings to where its messages go out from.
COPIED = ("allreduce", "reduce", "reduce_scatter", "scan", "allgather", "allgatherv")

#: Collectives whose every process has a block for itself.
OWN_BLOCK = ("alltoall", "alltoallv")


@attrs.frozen
class ToItself:
    """Seconds of a message that a process sends to itself and that waits for its receive."""

    limit: float = math.inf  #: a message of no more bytes is copied at once, at no cost of its own
    calls: SizeCosts = SizeCosts(least=0, startup=0, per_byte=0, overhead=0, overhead_receive=0)
    sizes: tuple[SizeCosts, ...] = ()
    per_byte: float = 0.0  #: of the sender

    @classmethod
    def of(cls, network: Network) -> ToItself:
        """Return what a network states; nothing where no message waits."""
        if network.eager_limit is None:
            return cls()
        receive = network.overhead_receive
        calls = SizeCosts(
            least=0,
            startup=0,
            per_byte=0,
            overhead=network.overhead,
            overhead_receive=network.overhead if receive is None else receive,
        )
        sizes = tuple(  # alike where the ways of messages alone differ, so that one program serves
            attrs.evolve(size, startup=0, per_byte=0) for size in sizes_of(network, calls)
        )
        return cls(network.eager_limit, calls, sizes, network.overhead_per_byte)

    def seconds(self, n: Any) -> Any:
        """Return what messages of ``n`` bytes take, a number or a column."""
        calls = sum(
            by_size(self.sizes, getattr(self.calls, name), name, n)
            for name in ("overhead", "overhead_receive")
        )
        seconds = np.where(np.greater(n, self.limit), calls + n * self.per_byte, 0.0)
        return seconds if isinstance(n, np.ndarray) else float(seconds)


@attrs.frozen
class Handling:
    """Seconds that a process takes for each byte, 0 where it costs nothing."""

    add: float = 0.0  #: of two buffers that are added up, the bytes of one
    copy: float = 0.0
    own: float = 0.0  #: of the block that a process has for itself
    to_itself: ToItself = ToItself()

    @classmethod
    def of(cls, network: Network) -> Handling:
        """Return what a network states."""
        stated = network.reduction_bandwidth, network.copy_bandwidth, network.own_bandwidth
        add, copy, own = (0.0 if bandwidth is None else 1 / bandwidth for bandwidth in stated)
        return cls(add, copy, own, ToItself.of(network))

    def priced(self, steps: Iterable[Step]) -> Iterator[Step]:
        """Yield steps in which adding up and copying elapse, or are left out if they cost nothing.

        A step that repeats stays one object.
        """
        elapsing: dict[Step, Step] = {}
        for step in steps:
            if step.op not in HANDLING:
                yield step
            elif np.any(seconds := self._seconds(step)):
                if step not in elapsing:
                    elapsing[step] = _elapse(step, seconds)
                yield elapsing[step]

    def _seconds(self, step: Step) -> Any:
        """Return what a step of a process's own memory takes."""
        n = step.arguments["bytes"]
        if step.op == "to_itself":
            return self.to_itself.seconds(n)
        return n * getattr(self, step.op)


def _elapse(step: Step, seconds: Any) -> Step:
    """Return a step that takes its seconds; like all of a collective's it has a tag."""
    return Step("elapse", step.ranks, {"seconds": seconds, "tag": 0})


def copied(op: str, among: Groups, amount: Any) -> Iterator[Step]:
    """Yield the copy that a process makes of what it brings to a collective."""
    if op in COPIED:
        whole = amount * among.size if op == "reduce_scatter" else amount
        yield active_step("copy", among, True, bytes=whole)
    elif op in OWN_BLOCK:
        yield active_step("own", among, True, bytes=amount)
