"""What a simulation says, as JSON values: times, operations, and how busy everything was."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from parcast import Assumption, Prediction, Query
from parcast_emulator.blocks import Floats
from parcast_emulator.cluster import Cluster
from parcast_emulator.engines.usage import BUSY, SERVED, WAITED, Record
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

_NETWORK = (
    "links and topology of the network take no time: messages contend at the ports of nodes only"
)
NO_CACHE = Assumption("no block is cached: what is read twice comes from its disk twice")

#: Hot to mean, below which nothing is gained by equal shares.
_EVEN = 1.01


def resources(cluster: Cluster, outcome: Outcome) -> dict[str, dict[str, float]]:
    """Return for each class of servers what it did, in seconds over all of the class.

    ``busy`` and ``idle`` sum to the time of all servers; ``queueing`` is the time that requests
    waited, ``utilization`` that of the mean server and ``hottest`` that of the busiest one.
    ``hot_to_mean`` compares it with those that could share its load: of disks, buses and ports
    out with those that have data at all.
    """
    by_class = {}
    channels = {"disk": cluster.hardware.channels}
    for name, (word, _) in SERVERS.items():
        usage = getattr(outcome.usage, name)
        width = channels.get(name, 1)
        busy, total = float(usage[BUSY].sum()), outcome.time * usage.shape[1] * width
        sharing = usage.shape[1] if name in {"receive", "cpu"} else int((usage[SERVED] > 0).sum())
        mean = busy / sharing if sharing else 0.0
        hot = float(usage[BUSY].max(initial=0.0))
        served = float(usage[SERVED].sum())
        by_class[word] = {
            "servers": usage.shape[1],
            "served": served,
            "busy": busy,
            "idle": max(total - busy, 0.0),
            "queueing": float(usage[WAITED].sum()),
            "utilization": busy / total if total else 0.0,
            "hottest": hot / (outcome.time * width) if outcome.time else 0.0,
            "hot_to_mean": hot / mean if mean else 1.0,
        }
    return by_class


def binding(cluster: Cluster, outcome: Outcome) -> str:
    """Return the word of the class whose hottest server is the busiest of all."""
    by_class = resources(cluster, outcome)
    return max(by_class, key=lambda word: by_class[word]["hottest"])


def prediction(
    query: Query, cluster: Cluster, outcome: Outcome, assumptions: tuple[str, ...]
) -> Prediction:
    """Return what a simulation says of an emulated application."""
    content, by_class = query.workload.content, resources(cluster, outcome)
    bound, shared = binding(cluster, outcome), _sharing(query)
    fit = content.fit_interval(query)
    open_ = (fit.note,) if fit else ()
    return Prediction(
        time=outcome.time,
        ci=(fit.least * outcome.time, fit.most * outcome.time) if fit else None,
        lower=None if shared or fit else outcome.lower,  # shares and fits prove nothing
        binding=dict(SERVERS.values())[bound],
        notes=(
            _note(bound, by_class[bound]),
            *(_empty_disks(cluster, outcome) if bound == "disk" else ()),
            *shared,
            *open_,
            *content.remarks,
        ),
        assumptions=(*assumptions, _NETWORK, *content.notes),
        details=_details(query, outcome, by_class),
    )


def application_assumptions(query: Query) -> Iterator[Assumption]:
    """Yield what an emulated application takes for granted, beside what an answer says itself."""
    if query.machine.network.contention == "bus":
        yield Assumption("messages meet at the ports of nodes only", "the network is one bus")
    yield NO_CACHE


def _sharing(query: Query) -> tuple[str, ...]:
    """Return what is to be said where processes share a node."""
    sharing = processes_of_a_node(query)
    if sharing == 1:
        return ()
    return (f"each of {sharing} processes of a node has an equal share of its disks and buses",)


def _empty_disks(cluster: Cluster, outcome: Outcome) -> Iterator[str]:
    """Yield what is to be said where a node's data leave some of its disks idle."""
    has_data = outcome.usage.disk[SERVED] > 0
    beside_data = np.isin(cluster.node_of, cluster.node_of[has_data])
    empty, disks = int((beside_data & ~has_data).sum()), int(beside_data.sum())
    if empty:
        yield (
            f"{empty:,} of the {disks:,} disks of nodes with data have none of it: more pieces of "
            "data would use them"
        )


def _note(word: str, used: dict[str, float]) -> str:
    utilization = f"the busiest {word} has a utilization of {used['hottest']:.0%}"
    if used["hot_to_mean"] < _EVEN:
        all_used = used["utilization"] * _EVEN > used["hottest"]
        return f"{utilization}, and so have the others{'' if all_used else ' with data'}"
    return (
        f"{utilization}, the mean one of {used['hottest'] / used['hot_to_mean']:.0%}: without this "
        f"load imbalance it would be up to {used['hot_to_mean']:.2f} times as fast"
    )


def _details(query: Query, outcome: Outcome, by_class: Any) -> dict[str, Any]:
    details = {
        "engine": outcome.engine,
        "operations": outcome.operations,
        "epochs": len(outcome.epoch_ends),
        "resources": by_class,
    }
    if outcome.reason is not None:
        details["not_feed_forward"] = outcome.reason
    closed = query.workload.content.closed_form(query)
    if closed is not None:
        details["closed_form"] = closed
    return details


def operation_times(cluster: Cluster, outcome: Outcome) -> dict[str, Any]:
    """Return makespan, ends of epochs and every operation, by the keys of reference cases."""
    return {
        "makespan": outcome.time,
        "epoch_ends": list(outcome.epoch_ends),
        "ops": [
            {"block": number, **op}
            for number, op in enumerate(
                op for recorded in outcome.passes for op in _operations(cluster, recorded)
            )
        ],
    }


def _operations(cluster: Cluster, recorded: Pass) -> Iterator[dict[str, Any]]:
    blocks, record, hardware = recorded.blocks, recorded.record, cluster.hardware
    consumers = blocks.consumers
    size = np.broadcast_to(blocks.size, blocks.disk.shape)
    holding, computing = size / hardware.bandwidth, computing_times(cluster, recorded)
    epoch = recorded.epoch + np.repeat(np.arange(len(recorded.lengths)), recorded.lengths)
    for block, disk in enumerate(blocks.disk.tolist()):
        node = int(cluster.node_of[disk])
        positions = range(int(consumers.start[block]), int(consumers.start[block + 1]))
        targets = {position: int(consumers.nodes[position]) for position in positions}
        sends = {position: target for position, target in targets.items() if target != node}
        came = {position: record.in_start[position] + holding[block] for position in sends}
        # computations as their blocks come to processors
        order = sorted(
            positions,
            key=lambda position: (
                came.get(position, record.bus_end[block]),
                record.cpu_start[position],
            ),
        )
        yield {
            "epoch": int(epoch[block]),
            "node": node,
            "disk": int(disk - cluster.disks[node]),
            **_span("disk", record.disk_start[block], record.disk_end[block]),
            **_span("bus", record.bus_start[block], record.bus_end[block]),
            "sends": [
                _send(record, position, target, holding[block])
                for position, target in sends.items()
            ],
            "computes": [
                {
                    "node": targets[position],
                    "local": targets[position] == node,
                    **_span_of("cpu", record.cpu_start[position], computing[position]),
                }
                for position in order
            ],
        }


def _send(record: Record, position: int, target: int, holding: float) -> dict[str, Any]:
    return {
        "dst": target,
        **_span_of("out", record.out_start[position], holding),
        **_span_of("in", record.in_start[position], holding),
    }


def computing_times(cluster: Cluster, recorded: Pass) -> Floats:
    """Return how long each computation takes, by the positions of a record."""
    blocks = recorded.blocks
    seconds = np.broadcast_to(blocks.compute, blocks.disk.shape)
    repeated = np.repeat(seconds, np.diff(blocks.consumers.start))
    seconds_each: Floats = repeated / cluster.speed[blocks.consumers.nodes]
    return seconds_each


def _span(name: str, start: float, end: float) -> dict[str, float]:
    return {f"{name}_start": float(start), f"{name}_end": float(end)}


def _span_of(name: str, start: float, seconds: float) -> dict[str, float]:
    return _span(name, start, start + seconds)
