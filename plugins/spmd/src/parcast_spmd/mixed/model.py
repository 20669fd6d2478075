"""What a model of JMT says before its flows are known: nodes, classes and routes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import attrs

from parcast_spmd.mixed.network import Center
from parcast_spmd.mixed.routes import reached
from parcast_spmd.mixed.times import Time

#: A node and a class, by their names.
State = tuple[str, str]
Routes = Mapping[State, Mapping[State, float] | str | None]


@attrs.frozen(kw_only=True)
class Visitor:
    """A class as a file states it: so many jobs, or a source and the times between arrivals."""

    name: str
    #: Its station or its source
    reference: str
    population: int | None = None
    arrivals: Time | None = None


@attrs.frozen(kw_only=True)
class Node:
    """What a job meets: a station, or what takes no time."""

    kind: Literal["station", "source", "sink", "pass", "fork", "join"]
    center: Center | None = None


@attrs.frozen
class Plan:
    """The nodes and routes of a model while its flows are found."""

    nodes: Mapping[str, Node]
    visitors: Sequence[Visitor]
    routes: Routes
    where: str

    @property
    def centers(self) -> dict[str, Center]:
        """The stations by name."""
        return {name: node.center for name, node in self.nodes.items() if node.center is not None}


def branch_of(nodes: Mapping[str, Node], routes: Routes, start: State) -> list[State]:
    """Return the states of a task from ``start`` to its join."""
    inside = {
        state: None if nodes[state[0]].kind in {"join", "sink"} else targets
        for state, targets in routes.items()
    }
    return reached(inside, start)
