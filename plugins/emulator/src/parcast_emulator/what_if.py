"""What-ifs: the same application on a machine with more of one thing, or laid out otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import attrs

from parcast import Query
from parcast_emulator.cluster import Cluster
from parcast_emulator.engines.usage import Progress
from parcast_emulator.hardware import cluster_of
from parcast_emulator.results import binding
from parcast_emulator.simulation import simulate


@attrs.frozen
class Variant:
    """The time of a variant, in seconds, and what its busiest server is."""

    name: str
    time: float
    lower: float  #: no schedule of the same operations is shorter
    binding: str


def variants(query: Query, progress: Progress = lambda _time, _done: None) -> Iterator[Variant]:
    """Yield the answer as things are, then with one thing changed at a time.

    Where servers take first what came first, more of one thing is not always faster.
    """
    for name, changed, change in _changes(query):
        cluster = change(cluster_of(changed))
        epochs = changed.workload.content.epochs(changed, cluster)
        outcome = simulate(cluster, epochs, progress=progress)
        yield Variant(name, outcome.time, outcome.lower, binding(cluster, outcome))


def _changes(query: Query) -> Iterator[tuple[str, Query, Callable[[Cluster], Cluster]]]:
    yield "as it is", query, _unchanged
    for name, content in _layouts(query.workload.content):
        yield (
            name,
            attrs.evolve(query, workload=attrs.evolve(query.workload, content=content)),
            _unchanged,
        )
    yield "twice the disks", attrs.evolve(query, d=2 * query.d), _unchanged
    for name, fields in _TWICE.items():
        yield name, query, _faster(fields)
    yield (
        "processors twice as fast",
        query,
        lambda cluster: cluster._replace(speed=2 * cluster.speed),
    )


_TWICE = {
    "disks twice as fast": ("media",),
    "buses twice as fast": ("bus_bandwidth",),
    "network twice as fast": ("bandwidth",),
}


def _unchanged(cluster: Cluster) -> Cluster:
    return cluster


def _faster(fields: tuple[str, ...]) -> Callable[[Cluster], Cluster]:
    def change(cluster: Cluster) -> Cluster:
        twice = {name: 2 * getattr(cluster.hardware, name) for name in fields}
        return cluster._replace(hardware=cluster.hardware._replace(**twice))

    return change


#: Replaceable parts of emulators, their other choices, and these in words.
_PARTS = {
    "cells": {"load-balanced": "load-balanced cells"},
    "partitioning": {"load-balanced": "load-balanced partition"},
    "declustering": {"hilbert": "declustered along a Hilbert curve"},
}


def _layouts(content: Any) -> Iterator[tuple[str, Any]]:
    """Yield the application with one of its replaceable parts replaced."""
    emulator = content.emulator
    (table,) = (field.name for field in attrs.fields(type(content)) if getattr(content, field.name))
    for part, choices in _PARTS.items():
        for choice, name in choices.items():
            if getattr(emulator, part, choice) != choice:
                changed = attrs.evolve(emulator, **{part: choice})
                yield name, attrs.evolve(content, **{table: changed})
