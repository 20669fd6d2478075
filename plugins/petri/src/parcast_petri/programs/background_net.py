"""Everything of others in a net: jobs on nodes, messages on links, and sources of bursts."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

import attrs

from parcast.model import Query
from parcast_petri.machine.load import Load
from parcast_petri.programs.net_builder import Sketch
from parcast_petri.programs.nodes import Nodes, Old, draw_node
from parcast_petri.programs.rates import Rates
from parcast_petri.programs.round_robin import Slots, draw_slots
from parcast_petri.programs.traffic import Source, draw_messages, draw_sources
from parcast_petri.programs.warm_up import Settling, draw_settling


@attrs.frozen
class Others:
    """What of others may be there when a run begins, by node and link."""

    loads: Mapping[Any, Load] = attrs.field(factory=dict)
    old: tuple[Old, ...] = ()
    slots: tuple[Slots, ...] = ()
    sources: tuple[Source, ...] = ()
    settling: Settling | None = None


def draw_others(
    sketch: Sketch, query: Query, nodes: Nodes, rates: Rates, computing: Container[int]
) -> Others:
    """Draw the jobs and messages of others, where they are part of the net.

    Jobs of a node on which the program never computes take nothing from it; only those of
    nodes in ``computing`` are drawn.
    """
    if not nodes.explicit:
        return Others()
    loads: dict[Any, Load] = {node: load for node, load in nodes.loads.items() if node in computing}
    old, slots, sources = [], [], []
    for node, load in list(loads.items()):
        if load.turns is None:
            old += draw_node(sketch, node, load)
        else:
            slots += draw_slots(sketch, node, load)
    if rates.others:
        messages, more = draw_messages(sketch, query, rates)
        old += messages
        loads |= more
    elif any("burst" in taken for taken in rates.taken.values()):
        sources = draw_sources(sketch, query, rates)
    settling = draw_settling(sketch, loads.values())
    return Others(loads, tuple(old), tuple(slots), tuple(sources), settling)
