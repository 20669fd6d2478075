"""What was measured, as queries and values: the table that a model is fitted to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast import Registry
from parcast.comparison import Measurement, Settings, measured_times, set_values
from parcast.errors import FileError, UnknownNameError, did_you_mean
from parcast.model import Machine, Query, Workload

#: The column that numbers repeated runs of a point.
RUN = "run"


@attrs.frozen(kw_only=True)
class Observations:
    """Measured values and the query each belongs to."""

    where: str
    quantity: str  #: time (in seconds) or speedup
    queries: tuple[Query, ...]
    values: NDArray[np.float64] = attrs.field(eq=False)  #: shape (points,)
    at: tuple[Mapping[str, Any], ...]  #: p, d and columns, for people
    positions: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.queries)

    @property
    def keys(self) -> list[Any]:
        """The point of each observation; repetitions have the same."""
        return [(q.p, q.d, tuple(sorted(q.parameters.items()))) for q in self.queries]

    def subset(self, chosen: NDArray[np.bool_]) -> Observations:
        """Return the observations that are chosen."""
        index = np.flatnonzero(chosen).tolist()
        return attrs.evolve(
            self,
            queries=tuple(self.queries[i] for i in index),
            values=self.values[index],
            at=tuple(self.at[i] for i in index),
            positions=tuple(self.positions[i] for i in index),
        )


def observe(
    registry: Registry,
    workload: Workload,
    machine: Machine,
    measured: Any,
    settings: Settings,
    mapping: str | tuple[int, ...] = "block",
    seed: int = 0,
) -> Observations:
    """Return the measurements with their queries.

    Each row is an observation; rows of the same point are repeated runs. Settings may be formulas
    of p and d, as in a comparison.

    Raises
    ------
    ParcastError
        If the table is wrong, or a column is no parameter of the workload.
    """
    table = measured_times(registry, measured, speedups=True, repetitions=True)
    parameters = [name for name in table.columns if _is_parameter(name, table.where, workload)]
    for name in parameters:
        if name in settings.parameters:
            raise UnknownNameError(f"{name} is set by --set and by a column of {table.where}")
    for row in table.items:
        for column, wanted in (("workload", workload.name), ("machine", machine.name)):
            if row.at.get(column, wanted) != wanted:
                raise FileError(
                    f"{row.place}: {column} = {row.at[column]!r} is not {wanted!r}, which is "
                    "fitted; keep the rows of one"
                )
    machines: dict[Any, Machine] = {}
    queries = tuple(
        _query(registry, workload, machine, settings, row, parameters, machines, mapping, seed)
        for row in table.items
    )
    return Observations(
        where=table.where,
        quantity=table.quantity,
        queries=queries,
        values=np.array([row.value for row in table.items]),
        at=tuple(
            {"p": q.p, "d": q.d, **{name: row.at[name] for name in parameters}}
            for q, row in zip(queries, table.items, strict=True)
        ),
        positions=tuple(row.place for row in table.items),
    )


def _is_parameter(name: str, where: str, workload: Workload) -> bool:
    if name in workload.parameters:
        return True
    if name in {"p", "d", "workload", "machine", RUN}:
        return False
    hint = did_you_mean(name, workload.parameters)
    raise UnknownNameError(
        f"{where}: column {name!r} is no parameter of workload {workload.name!r}; rename or "
        f"remove it.{hint}"
    )


def _query(
    registry: Registry,
    workload: Workload,
    machine: Machine,
    settings: Settings,
    row: Measurement,
    columns: list[str],
    machines: dict[Any, Machine],
    mapping: str | tuple[int, ...],
    seed: int,
) -> Query:
    p = row.at["p"]
    d = row.at.get("d") or settings.disks_at(machine, p)
    values = settings.machine_values(p, d)
    key = tuple(values.items())
    if key not in machines:
        machines[key] = set_values(machine, registry, values)
    parameters = settings.parameters_at(workload, p, d)
    return Query(
        workload=workload,
        machine=machines[key],
        p=p,
        d=d,
        mapping=mapping,
        parameters={**parameters, **{name: row.at[name] for name in columns}},
        seed=seed,
    )
