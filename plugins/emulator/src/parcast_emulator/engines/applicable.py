"""Whether an epoch can be simulated without an event queue: a check of who waits for whom."""

from __future__ import annotations

from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter

from parcast_emulator.cluster import UNLIMITED, Hardware

#: Classes of servers and the classes that they wait for, whatever the machine is.
_WORK_FLOW: Mapping[str, tuple[str, ...]] = {
    "bus": ("disk",),
    "port out": ("bus",),
    "port in": ("port out",),
    "processor": ("bus", "port in"),
}


def why_not_feed_forward(hardware: Hardware, *, own_epochs: bool) -> str | None:
    """Return None, or the circle of waiting for which the feed-forward engine has no order.

    Each class of servers is simulated after those that it waits for, so these must not wait
    for it in turn.
    """
    waits: dict[str, tuple[str, ...]] = {"disk": (), **_WORK_FLOW}  # no sets: their order varies
    reasons = []
    if hardware.buffers < UNLIMITED:
        waits["disk"] += ("port out", "processor")
        reasons.append("a node reads on when it is done with earlier blocks (nic.buffers)")
    if own_epochs:
        waits["disk"] += ("processor",)
        reasons.append("a node begins an epoch when it has ended its last one (epochs = 'own')")
    if hardware.half_duplex:
        waits["port out"] += ("port in",)
        reasons.append("a port does not send while it receives (nic.duplex = 'half')")
    try:
        TopologicalSorter(waits).prepare()
    except CycleError as error:
        circle = " waits for ".join(reversed(error.args[1]))
        return f"{circle}: {'; '.join(reasons)}"
    return None
