"""The noise of one draw, the same as that by which delays are passed on."""

from __future__ import annotations

from typing import Any, NamedTuple

from parcast_perturb.propagation.sampling import gap, noise
from parcast_traces.compilation import step


class Clipped(NamedTuple):
    """What drawing keeps."""

    clipped: Any  #: see `parcast_perturb.propagation.state.State`


@step
def draw(table: Any, deltas: Any, state: Any, rules: Any, r: int, calls: Any, gaps: Any) -> None:
    """Write what replication ``r`` adds to each call, and to each gap before one.

    Arguments without type are the named tuples of `parcast_perturb.propagation.state`.
    """
    for rank in range(len(table.offsets) - 1):
        for row in range(table.offsets[rank], table.offsets[rank + 1]):
            calls[row] = noise(table, deltas, state, rules, rank, row, r)
            gaps[row] = gap(table, deltas, state, rules, rank, row, r)
