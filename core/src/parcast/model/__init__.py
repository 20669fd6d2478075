"""The model: machines, workloads, the query that joins them, placement and costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parcast.startup import lazily

if TYPE_CHECKING:
    from parcast.model.answers import Answers
    from parcast.model.costs import Costs
    from parcast.model.machine import Bandwidth, Count, Machine, Nodes, Seconds
    from parcast.model.phases import CONSTANT, EXPONENTIAL, Phase, Phases, PhaseValues
    from parcast.model.placement import Placement, place
    from parcast.model.query import Parts, Prediction, Query, Status, is_lower_bound
    from parcast.model.workload import ORIGINS, Workload
else:
    __getattr__ = lazily(__name__)

__all__ = [
    "CONSTANT",
    "EXPONENTIAL",
    "ORIGINS",
    "Answers",
    "Bandwidth",
    "Costs",
    "Count",
    "Machine",
    "Nodes",
    "Parts",
    "Phase",
    "PhaseValues",
    "Phases",
    "Placement",
    "Prediction",
    "Query",
    "Seconds",
    "Status",
    "Workload",
    "is_lower_bound",
    "place",
]
