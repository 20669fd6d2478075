"""The ``kernel`` kind: loops that compute and move data, shared evenly by p processes."""

from __future__ import annotations

from typing import Annotated

import attrs

from parcast import Formula, Query, Unit

_FLOP = Unit("FLOP")
_BYTES = Unit("B")


@attrs.frozen(kw_only=True)
class Loop:
    """One loop; every number is of all processes and may be a formula of p and parameters."""

    name: str = ""
    flops: Annotated[Formula, _FLOP]
    bytes: Annotated[Formula, _BYTES]  #: memory traffic
    footprint: Annotated[Formula, _BYTES] = Formula.read(0, _BYTES)  #: distinct bytes


@attrs.frozen
class Share:
    """What one process does in a loop."""

    name: str
    flops: float
    bytes: float
    footprint: float


@attrs.frozen(kw_only=True)
class Kernel:
    """The content of a ``kernel`` workload."""

    loop: tuple[Loop, ...]

    def at(self, query: Query) -> tuple[Share, ...]:
        """Return each loop's share of one process at the query's p and parameters."""
        return tuple(_share(loop, index, query) for index, loop in enumerate(self.loop))


def _share(loop: Loop, index: int, query: Query) -> Share:
    def number(key: str) -> float:
        return query.number(loop, key, f"loop[{index}]") / query.p

    name = loop.name or f"loop {index + 1}"
    return Share(name, number("flops"), number("bytes"), number("footprint"))
