"""What nodes do to computations: nothing, or share them with background jobs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from parcast_petri.net import Tokens
from parcast_petri.programs.sketch import timed


@attrs.frozen
class Nodes:
    """The nodes on which computations are work at a changing speed; on others they take time."""

    speeds: Mapping[int, Tokens] = attrs.field(factory=dict)  #: of a process's work, by node

    def working(self, node: int, seconds: float) -> dict[str, Any]:
        """Return how a computation stands in a transition."""
        if node not in self.speeds:
            return timed(seconds)
        return {"delay": seconds, "load": own(node), "speed": self.speeds[node]}


def own(node: int) -> str:
    """Return the name of the load that counts a node's computing processes."""
    return f"computing_{node}"
