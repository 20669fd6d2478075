"""The one point that advice is about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from parcast.comparison import inputs
from parcast.comparison.grid import Placed, Scenario, check_asked
from parcast.comparison.settings import Settings
from parcast.model.query import Query

if TYPE_CHECKING:
    from parcast.plugins.catalog import Catalog

#: How many processes are asked about where nothing says.
USUAL_P = 16


def point(
    registry: Catalog,
    workload: Any,
    machine: Any,
    p: int | None,
    d: int | None,
    *,
    mapping: Placed,
    settings: Mapping[str, Any] | None,
    seed: int,
) -> tuple[Scenario, Query]:
    """Return what stays the same around a point, and the query there.

    Without p it is a recorded workload's own, or else 16; without d the machine's own.

    Raises
    ------
    ParcastError
        If a name, a file, a setting, p or d is wrong.
    """
    work, mach = inputs.workload(registry, workload), inputs.machine(registry, machine)
    check_asked(mapping, settings, seed)
    chosen = Settings.sort(settings or {}, registry, [work])
    scenario = Scenario(workload=work, machine=mach, settings=chosen, mapping=mapping, seed=seed)
    (processes,) = scenario.processes((work.processes or USUAL_P) if p is None else p)
    (disks,) = scenario.disks(d, processes)
    return scenario, scenario.query(registry, processes, disks)
