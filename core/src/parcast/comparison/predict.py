"""Prediction: one solver asked about one workload on one machine at one p and d."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from parcast.comparison import inputs
from parcast.comparison.grid import (
    Placed,
    Scenario,
    check_asked,
    placement_of_jobs,
    solver_names,
    workloads_of,
)
from parcast.comparison.inputs import MachineLike, WorkloadLike
from parcast.comparison.settings import Settings
from parcast.comparison.solving import resolve, solve_all
from parcast.model.query import Prediction

if TYPE_CHECKING:
    from parcast.comparison.job_placement import Placement
    from parcast.plugins.catalog import Catalog


def predict(
    registry: Catalog,
    workload: WorkloadLike,
    machine: MachineLike,
    solver: str,
    *,
    p: int | str | None = None,
    d: int | None = None,
    mapping: Placed = "block",
    placement: Placement | None = None,
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> Prediction:
    """Return one solver's prediction at one p and d; arguments are those of `compare`.

    A query the solver cannot take gives a prediction whose status and message say so.
    """
    (work,), p = workloads_of(registry, [workload], p)
    mach = inputs.machine(registry, machine)
    (name,) = solver_names(registry, [solver])
    check_asked(mapping, settings, seed)
    chosen = Settings.sort(settings or {}, registry, [work])
    scenario = Scenario(
        workload=work,
        machine=mach,
        settings=chosen,
        mapping=mapping,
        placement=placement_of_jobs(placement, mapping, [work]),
        seed=seed,
    )
    (processes,) = scenario.processes(work.processes or 1 if p is None else p)
    (disks,) = scenario.disks(d, processes)
    query = scenario.query(registry, processes, disks)
    (outcome,) = solve_all(registry, [resolve(registry, name, query, chosen)])
    registry.point_done(query, outcome.prediction)
    return outcome.prediction
