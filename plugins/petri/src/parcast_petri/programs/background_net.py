"""Everything of others in a net: jobs on nodes, messages on links, and sources of bursts."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import Any

import attrs

from parcast.model import Query
from parcast_petri.machine.load import Load
from parcast_petri.programs.net_builder import NetBuilder
from parcast_petri.programs.nodes import InitialJobs, Nodes, build_node
from parcast_petri.programs.rates import Rates
from parcast_petri.programs.round_robin import Slots, build_slots
from parcast_petri.programs.traffic import Source, build_messages, build_sources


@attrs.frozen
class WarmUp:
    """Time before a program begins, in which jobs and traffic forget how they began.

    A token in one place becomes those of others at the outset.
    """

    seconds: float
    before: str
    outset: tuple[str, ...]


@attrs.frozen
class BackgroundNet:
    """What of others may be there when a run begins, by node and link."""

    loads: Mapping[Any, Load] = attrs.field(factory=dict)
    initial_jobs: tuple[InitialJobs, ...] = ()
    slots: tuple[Slots, ...] = ()
    sources: tuple[Source, ...] = ()
    warm_up: WarmUp | None = None


def build_background(
    builder: NetBuilder, query: Query, nodes: Nodes, rates: Rates, computing: Container[int]
) -> BackgroundNet:
    """Build the jobs and messages of others, where they are part of the net.

    Jobs of a node on which the program never computes take nothing from it; only those of
    nodes in ``computing`` are built.
    """
    if not nodes.explicit:
        return BackgroundNet()
    loads: dict[Any, Load] = {node: load for node, load in nodes.loads.items() if node in computing}
    initial_jobs, slots, sources = [], [], []
    for node, load in list(loads.items()):
        if load.turns is None:
            initial_jobs += build_node(builder, node, load)
        else:
            slots += build_slots(builder, node, load)
    if rates.others:
        messages, link_loads = build_messages(builder, query, rates)
        initial_jobs += messages
        loads |= link_loads
    elif any("burst" in share for share in rates.reserved.values()):
        sources = build_sources(builder, query, rates)
    warm_up = build_warm_up(builder, loads.values())
    return BackgroundNet(loads, tuple(initial_jobs), tuple(slots), tuple(sources), warm_up)


def build_warm_up(builder: NetBuilder, loads: Iterable[Load]) -> WarmUp | None:
    """Build the time before the outset; None where the loads have nothing to forget."""
    seconds = max((load.warm_up for load in loads if not load.memoryless), default=0.0)
    if not seconds:
        return None
    before = builder.place("before")
    builder.transition("begin", {before: 1}, dict.fromkeys(builder.outset, 1), delay=seconds)
    return WarmUp(seconds, before, tuple(builder.outset))
