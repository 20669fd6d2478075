"""What a simulation says, as JSON values: times, operations, and how busy everything was."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from parcast import Prediction, Query
from parcast_emulator.blocks import Floats
from parcast_emulator.cluster import Cluster
from parcast_emulator.engines.usage import BUSY, SERVED, WAITED
from parcast_emulator.hardware import processes_of_a_node
from parcast_emulator.simulation import Outcome, Pass

#: The servers of a usage, in words, and the binding resource that each stands for.
SERVERS = {
    "disk": ("disk", "storage"),
    "bus": ("bus", "storage"),
    "send": ("port out", "network"),
    "receive": ("port in", "network"),
    "cpu": ("processor", "processor"),
}

_NETWORK = "links and topology of the network are free; messages meet at the ports of nodes only"


#: Hot to mean, below which nothing is gained by equal shares.
_EVEN = 1.01


def resources(cluster: Cluster, outcome: Outcome) -> dict[str, dict[str, float]]:
    """Return for each class of servers what it did, in seconds over all of the class.

    ``busy`` and ``idle`` sum to the time of all servers; ``queueing`` is the time that requests
    waited, ``utilization`` that of the mean server and ``hottest`` that of the busiest one.
    ``hot_to_mean`` compares it with those that could share its load: of disks, buses and ports
    out with those that have data at all.
    """
    found = {}
    channels = {"disk": cluster.hardware.channels}
    for name, (word, _) in SERVERS.items():
        usage = getattr(outcome.usage, name)
        width = channels.get(name, 1)
        busy, total = float(usage[BUSY].sum()), outcome.time * usage.shape[1] * width
        sharing = usage.shape[1] if name in {"receive", "cpu"} else int((usage[SERVED] > 0).sum())
        mean = busy / sharing if sharing else 0.0
        hot = float(usage[BUSY].max(initial=0.0))
        served = float(usage[SERVED].sum())
        found[word] = {
            "servers": usage.shape[1],
            "served": served,
            "busy": busy,
            "idle": max(total - busy, 0.0),
            "queueing": float(usage[WAITED].sum()),
            "utilization": busy / total if total else 0.0,
            "hottest": hot / (outcome.time * width) if outcome.time else 0.0,
            "hot_to_mean": hot / mean if mean else 1.0,
        }
    return found


def binding(cluster: Cluster, outcome: Outcome) -> str:
    """Return the word of the class whose hottest server is the busiest of all."""
    found = resources(cluster, outcome)
    return max(found, key=lambda word: found[word]["hottest"])


def prediction(
    query: Query, cluster: Cluster, outcome: Outcome, assumptions: tuple[str, ...]
) -> Prediction:
    """Return what a simulation says of an emulated application."""
    content, found = query.workload.content, resources(cluster, outcome)
    bound, shared = binding(cluster, outcome), _sharing(query)
    doubt = content.doubt(query)
    open_ = (doubt.note,) if doubt else ()
    return Prediction(
        time=outcome.time,
        ci=(doubt.least * outcome.time, doubt.most * outcome.time) if doubt else None,
        lower=None if shared or doubt else outcome.lower,  # shares and fits prove nothing
        binding=dict(SERVERS.values())[bound],
        notes=(_note(bound, found[bound]), *shared, *open_),
        assumptions=(
            *assumptions,
            _NETWORK,
            *content.notes,
        ),
        details=_details(query, outcome, found),
    )


def _sharing(query: Query) -> tuple[str, ...]:
    """Return what is to be said where processes share a node."""
    sharing = processes_of_a_node(query)
    if sharing == 1:
        return ()
    return (f"each of {sharing} processes of a node has an equal share of its disks and buses",)


def _note(word: str, used: dict[str, float]) -> str:
    works = f"the busiest {word} works {used['hottest']:.0%} of the time"
    if used["hot_to_mean"] < _EVEN:
        return f"{works}, and so do the others"
    return (
        f"{works}, the mean one {used['hottest'] / used['hot_to_mean']:.0%}: equal shares would "
        f"be up to {used['hot_to_mean']:.2f} times as fast there"
    )


def _details(query: Query, outcome: Outcome, found: Any) -> dict[str, Any]:
    details = {
        "engine": outcome.engine,
        "operations": outcome.operations,
        "epochs": len(outcome.epoch_ends),
        "resources": found,
    }
    if outcome.reason is not None:
        details["not_feed_forward"] = outcome.reason
    closed = query.workload.content.closed_form(query)
    if closed is not None:
        details["closed_form"] = closed
    return details


def times(cluster: Cluster, outcome: Outcome) -> dict[str, Any]:
    """Return makespan, ends of epochs and every operation, by the keys of reference cases."""
    return {
        "makespan": outcome.time,
        "epoch_ends": list(outcome.epoch_ends),
        "ops": [
            {"block": number, **op}
            for number, op in enumerate(
                op for one in outcome.passes for op in _operations(cluster, one)
            )
        ],
    }


def _operations(cluster: Cluster, done: Pass) -> Iterator[dict[str, Any]]:
    blocks, record, hardware = done.blocks, done.record, cluster.hardware
    consumers = blocks.consumers
    size = np.broadcast_to(blocks.size, blocks.disk.shape)
    holding, computing = size / hardware.bandwidth, working(cluster, done)
    epoch = done.epoch + np.repeat(np.arange(len(done.lengths)), done.lengths)
    for block, disk in enumerate(blocks.disk.tolist()):
        node = int(cluster.node_of[disk])
        places = range(int(consumers.start[block]), int(consumers.start[block + 1]))
        targets = {place: int(consumers.listed[place]) for place in places}
        sends = {place: target for place, target in targets.items() if target != node}
        came = {place: record.in_start[place] + holding[block] for place in sends}
        # computations as their blocks come to processors
        order = sorted(
            places,
            key=lambda place: (came.get(place, record.bus_end[block]), record.cpu_start[place]),
        )
        yield {
            "epoch": int(epoch[block]),
            "node": node,
            "disk": int(disk - cluster.disks[node]),
            **_span("disk", record.disk_start[block], record.disk_end[block]),
            **_span("bus", record.bus_start[block], record.bus_end[block]),
            "sends": [
                {
                    "dst": target,
                    **_held("out", record.out_start[place], holding[block]),
                    **_held("in", record.in_start[place], holding[block]),
                }
                for place, target in sends.items()
            ],
            "computes": [
                {
                    "node": targets[place],
                    "local": targets[place] == node,
                    **_held("cpu", record.cpu_start[place], computing[place]),
                }
                for place in order
            ],
        }


def working(cluster: Cluster, done: Pass) -> Floats:
    """Return how long each computation takes, by the places of a record."""
    blocks = done.blocks
    seconds = np.broadcast_to(blocks.compute, blocks.disk.shape)
    repeated = np.repeat(seconds, np.diff(blocks.consumers.start))
    found: Floats = repeated / cluster.speed[blocks.consumers.listed]
    return found


def _span(name: str, start: float, end: float) -> dict[str, float]:
    return {f"{name}_start": float(start), f"{name}_end": float(end)}


def _held(name: str, start: float, seconds: float) -> dict[str, float]:
    return _span(name, start, start + seconds)
