"""What a computation on an accelerator takes, as a formula of its operations and bytes."""

from __future__ import annotations

import attrs

from parcast.model import Accelerator, Machine, Placement, shares_of
from parcast.quantities import Call, Expr, Name, Num

_ZERO = Num(0)


@attrs.frozen
class Offloaded:
    """The accelerator that each process has, or its part of one that several share."""

    accelerator: Accelerator
    turns: int  #: processes of an accelerator

    @classmethod
    def of(cls, machine: Machine, placement: Placement, *, slowest: bool) -> Offloaded | None:
        """Return what of a machine's accelerators a process has; at least, or at most."""
        accelerator = machine.accelerator
        if accelerator is None:
            return None
        turns = placement.turns(accelerator.per_node)
        return cls(accelerator, int(turns.max() if slowest else turns.min()))

    def values(self) -> dict[str, float]:
        """Return the numbers of the machine that may stand in the model, by name."""
        rates = {f"gpu_{name}": rate / self.turns for name, rate in self.accelerator.rates.items()}
        return {**rates, "gpu_memory": self.accelerator.memory_bandwidth / self.turns}

    def seconds(self, flops: Expr, moved: Expr, precision: str, kind: str) -> Expr:
        """Return what operations of a precision take that move bytes."""
        computing, traffic = shares_of(kind)
        working = self._at_share(flops, f"$gpu_{precision}", computing, precision)
        moving = self._at_share(moved, "$gpu_memory", traffic, None)
        if _ZERO in (working, moving):
            return moving if working == _ZERO else working
        return Call("max", (working, moving))

    def _at_share(self, size: Expr, rate: str, kind: str, precision: str | None) -> Expr:
        if size == _ZERO:
            return _ZERO
        seconds: Expr = Call("/", (size, Name(rate)))
        steps = self.accelerator.steps(kind, precision)
        if not steps:
            return seconds
        share: Expr = Num(steps[0].share)
        for step in steps[1:]:
            larger = Call(">=", (size, Num(step.least)))
            share = Call("if", (larger, Num(step.share), share))
        return Call("/", (seconds, share))
