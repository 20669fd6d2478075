"""parcast: how long does a parallel program take on a parallel machine?"""

from __future__ import annotations

from parcast.entries import (
    FamilyEntry,
    KindEntry,
    Lowering,
    PartEntry,
    Reader,
    Resource,
    Solver,
    SolverEntry,
    Writer,
)
from parcast.errors import (
    InvalidPointError,
    ParcastError,
    SolveError,
    UnsupportedError,
)
from parcast.hookspecs import hookimpl
from parcast.model.machine import Machine
from parcast.model.query import Assumption, Parts, Prediction, Query, Status
from parcast.model.workload import Workload
from parcast.quantities.formulas import Formula, Unit, Whole
from parcast.registry import Registry
from parcast.results import Results, Row

__all__ = [
    "Assumption",
    "FamilyEntry",
    "Formula",
    "InvalidPointError",
    "KindEntry",
    "Lowering",
    "Machine",
    "ParcastError",
    "PartEntry",
    "Parts",
    "Prediction",
    "Query",
    "Reader",
    "Registry",
    "Resource",
    "Results",
    "Row",
    "SolveError",
    "Solver",
    "SolverEntry",
    "Status",
    "Unit",
    "UnsupportedError",
    "Whole",
    "Workload",
    "Writer",
    "hookimpl",
]
