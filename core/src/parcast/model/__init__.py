"""The model: machines, workloads, the query that joins them, placement and costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parcast.startup import lazily

if TYPE_CHECKING:
    from parcast.model.accelerator import Accelerator, Efficiency, shares_of
    from parcast.model.answers import Answers
    from parcast.model.costs import Costs
    from parcast.model.dataset import Dataset, ErrorRecord, Measured, Modeling, Point, Question
    from parcast.model.fabric import Fabric, Ports, Topology, port_name, star
    from parcast.model.following import WHOLE_NETWORK, check_network
    from parcast.model.machine import Bandwidth, Count, Machine, Nodes, Seconds
    from parcast.model.messages import IN_NETWORK, SIGNAL, Wiring
    from parcast.model.phases import (
        CONSTANT,
        EXPONENTIAL,
        Phase,
        Phases,
        PhaseValues,
        Traffic,
    )
    from parcast.model.placement import Placement, place
    from parcast.model.query import Parts, Prediction, Query, Status, is_lower_bound
    from parcast.model.traffic import Messages, traffic_of
    from parcast.model.workload import ORIGINS, Job, Repetitions, Workload
else:
    __getattr__ = lazily(__name__)

__all__ = [
    "CONSTANT",
    "EXPONENTIAL",
    "IN_NETWORK",
    "ORIGINS",
    "SIGNAL",
    "WHOLE_NETWORK",
    "Accelerator",
    "Answers",
    "Bandwidth",
    "Costs",
    "Count",
    "Dataset",
    "Efficiency",
    "ErrorRecord",
    "Fabric",
    "Job",
    "Machine",
    "Measured",
    "Messages",
    "Modeling",
    "Nodes",
    "Parts",
    "Phase",
    "PhaseValues",
    "Phases",
    "Placement",
    "Point",
    "Ports",
    "Prediction",
    "Query",
    "Question",
    "Repetitions",
    "Seconds",
    "Status",
    "Topology",
    "Traffic",
    "Wiring",
    "Workload",
    "check_network",
    "is_lower_bound",
    "place",
    "port_name",
    "shares_of",
    "star",
    "traffic_of",
]
