"""parcast: how long does a parallel program take on a parallel machine?"""

from __future__ import annotations

from parcast.api import Registry
from parcast.errors import InvalidPointError, ParcastError, SolveError, UnsupportedError
from parcast.model.machine import Machine
from parcast.model.query import Assumption, Parts, Prediction, Query, Status
from parcast.model.workload import Workload
from parcast.plugins.entries import (
    FamilyEntry,
    KernelEntry,
    KindEntry,
    Lowering,
    PartEntry,
    PredictorEntry,
    Reader,
    Resource,
    Solver,
    SolverEntry,
    Writer,
)
from parcast.plugins.hookspecs import hookimpl
from parcast.quantities.formulas import Formula, Unit, Whole
from parcast.results.results import Results
from parcast.results.row import Row

__all__ = [
    "Assumption",
    "FamilyEntry",
    "Formula",
    "InvalidPointError",
    "KernelEntry",
    "KindEntry",
    "Lowering",
    "Machine",
    "ParcastError",
    "PartEntry",
    "Parts",
    "Prediction",
    "PredictorEntry",
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
