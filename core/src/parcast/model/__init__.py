"""The model: machines, workloads, the query that joins them, placement and costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parcast.startup import lazily

if TYPE_CHECKING:
    from parcast.model.costs import Costs
    from parcast.model.fabric import Fabric, Ports, Topology, port_name, star
    from parcast.model.following import WHOLE_NETWORK, check_network
    from parcast.model.machine import Bandwidth, Count, Machine, Nodes, Seconds
    from parcast.model.phases import CONSTANT, EXPONENTIAL, Phase, Phases, PhaseValues
    from parcast.model.placement import Placement, place
    from parcast.model.query import Parts, Prediction, Query, Status, is_lower_bound
    from parcast.model.workload import Workload
else:
    __getattr__ = lazily(
        __name__,
        {
            "costs": "Costs",
            "fabric": "Fabric Ports Topology port_name star",
            "following": "WHOLE_NETWORK check_network",
            "machine": "Bandwidth Count Machine Nodes Seconds",
            "phases": "CONSTANT EXPONENTIAL Phase PhaseValues Phases",
            "placement": "Placement place",
            "query": "Parts Prediction Query Status is_lower_bound",
            "workload": "Workload",
        },
    )

__all__ = [
    "CONSTANT",
    "EXPONENTIAL",
    "WHOLE_NETWORK",
    "Bandwidth",
    "Costs",
    "Count",
    "Fabric",
    "Machine",
    "Nodes",
    "Parts",
    "Phase",
    "PhaseValues",
    "Phases",
    "Placement",
    "Ports",
    "Prediction",
    "Query",
    "Seconds",
    "Status",
    "Topology",
    "Workload",
    "check_network",
    "is_lower_bound",
    "place",
    "port_name",
    "star",
]
