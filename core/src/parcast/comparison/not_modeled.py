"""What a solver does not model: what a machine states, and memory that it does not state."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import attrs

from parcast.model.query import Query
from parcast.plugins.entries import SolverEntry

if TYPE_CHECKING:
    from parcast.plugins.catalog import Catalog


@attrs.frozen
class Feature:
    """A number of machines that not every solver obeys; `SolverEntry.follows` has its name.

    ``use`` is what a workload has to do for it to matter, as the ``uses`` of contents says it.
    """

    name: str
    words: str
    stated: Callable[[Query], object]
    use: str = ""
    lacking: str = ""  #: how a workload states that use, told where it could and does not


def _saturated(query: Query) -> bool:
    network = query.machine.network
    level = network.saturation is not None or network.contention_level
    return bool(level) and network.contention is None and query.p > 1


FEATURES = (
    Feature("network.saturation", "messages that slow each other down", _saturated),
    Feature(
        "network.eager_limit",
        "messages that wait for their receives",
        lambda query: query.p > 1 and query.machine.network.eager_limit is not None,
        "messages",
    ),
    Feature(
        "nodes.memory_bandwidth",
        "the memory that processes of a node share",
        lambda query: query.machine.nodes.memory_bandwidth is not None,
        "memory",
        "memory_bytes",
    ),
    Feature(
        "nodes.core_bandwidth",
        "the memory that a core can draw",
        lambda query: query.machine.nodes.core_bandwidth is not None,
        "memory",
        "memory_bytes",
    ),
)


_UNLIMITED = (
    "the workload states bytes that it moves through memory, and the machine no "
    "nodes.memory_bandwidth: memory limits nothing, and the time may be too low"
)


_UNSHARED = (
    "the machine states no nodes.memory_bandwidth: each process draws nodes.core_bandwidth, "
    "however many share a node, and the time may be too low"
)


def not_modeled(registry: Catalog, entry: SolverEntry, query: Query) -> Iterator[str]:
    """Yield a note on each thing that the query's machine states and the solver does not obey.

    What it takes by default, since the machine does not state it, follows where that costs time.

    Parameters
    ----------
    registry
        Knows the parts of machines, of which those with a ``choice`` are not obeyed by all.
    entry
        The solver.
    query
        The question as it was asked, before any lowering.
    """
    words = [(part, registry.parts[part].choice) for part in query.machine.parts]
    features = [
        feature
        for feature in FEATURES
        if (feature.lacking or feature.name not in entry.follows) and feature.stated(query)
    ]
    nodes = query.machine.nodes
    unshared = nodes.memory_bandwidth is None
    uses = _uses(query) if unshared or any(feature.use for feature in features) else {}
    for feature in features:
        if not feature.use or uses.get(feature.use):
            words.append((feature.name, feature.words))
        elif feature.use in uses and feature.lacking:
            limit = f"the machine's {feature.name} limits nothing"
            yield f"the workload states no {feature.lacking}, so {limit}"
    if unshared and uses.get("memory"):
        if nodes.core_bandwidth is None:
            yield _UNLIMITED
        elif nodes.cores > 1 and query.p > 1:
            yield _UNSHARED
    for name, choice in words:
        if choice and name not in entry.follows:
            yield f"the machine's {name} ({choice}) is not modeled"
    costly_defaults = getattr(query.workload.content, "costly_defaults", None)
    if costly_defaults and query.p > 1 and "network.collectives" not in entry.follows:
        yield from costly_defaults(query)


def _uses(query: Query) -> Mapping[str, bool]:
    """Return what the workload does, and (False) what it could state and does not."""
    uses = getattr(query.workload.content, "uses", None)
    amounts: Mapping[str, bool] = uses(query) if uses else {}
    return amounts
