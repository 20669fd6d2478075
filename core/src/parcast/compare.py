"""Comparison: every asked solver on every workload, machine, p and d, in one list of rows."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from parcast.charge import charge
from parcast.errors import (
    FileError,
    FormulaError,
    InvalidPointError,
    ParcastError,
    UnknownNameError,
    did_you_mean,
)
from parcast.machine import Machine
from parcast.measured import join, read_measured
from parcast.provenance import provenance
from parcast.query import Prediction, Query, Status
from parcast.results import Results, Row
from parcast.settings import Settings, set_values
from parcast.tasks import Outcome, Task, resolve, solve_all
from parcast.workload import Workload

if TYPE_CHECKING:
    from parcast.registry import Registry

#: The processes asked about where neither the user nor a recorded workload says.
DEFAULT_P = (1, 2, 4, 8, 16, 32, 64)

#: The largest p and d that may be asked about.
MOST = 10**15


@attrs.frozen
class Point:
    """One place in the grid, and one solver or family asked there."""

    query: Query
    asked: str
    params: Mapping[str, Any] = attrs.field(hash=False)


def compare(
    registry: Registry,
    workload: Any,
    machine: Any,
    *,
    p: int | Iterable[int] | None = None,
    d: int | Iterable[int] | None = None,
    solvers: str | Iterable[str] | None = None,
    mapping: str | tuple[int, ...] = "block",
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    measured: Any = None,
) -> Results:
    """Ask every solver about every workload on every machine at every p and d.

    Parameters
    ----------
    registry
        Where names are looked up.
    workload, machine
        A name, path, mapping or value, or a list of them.
    p, d
        Numbers of processes and disks; where not given, those of the measured times, or
        else powers of 2 and the machine's own d.
    solvers
        Names of solvers or families; every family's default where not given.
    mapping
        How processes go to nodes: ``"block"``, ``"cyclic"`` or a node for each process.
    settings
        Workload parameters, machine values and solver options by name; a text may be a
        formula of p and d.
    seed
        For solvers that draw random numbers.
    measured
        Measured times to set beside the predictions: whatever `read_measured` takes.

    Returns
    -------
    Results
        A row for each combination, in the order workload, machine, p, d, solver; what a
        solver cannot take is a row with its status and reason.

    Raises
    ------
    ParcastError
        If a name, a file, a setting, p or d is wrong.
    """
    workloads = [registry.workload(one) for one in _listed(workload)]
    machines = [registry.machine(one) for one in _listed(machine)]
    asked = _asked(registry, solvers)
    _check(mapping, settings, seed)
    chosen = Settings.sort(settings or {}, registry, workloads)
    times = None if measured is None else read_measured(measured)
    if times is not None:
        p = (times.values("p") or None) if p is None else p
        d = (times.values("d") or None) if d is None else d
    grid = [
        found
        for work in workloads
        for mach in machines
        for found in _queries(registry, work, mach, chosen, p, d, mapping, seed)
    ]
    if not grid:
        raise UnknownNameError("No workload or no machine was given")
    if all(error for _, error in grid):
        raise next(error for _, error in grid if error)
    tasks = [
        (Point(query, name, chosen.shown(query, name)), resolve(registry, name, query, chosen))
        if error is None
        else (Point(query, name, {}), Prediction(status=Status.INVALID, message=str(error)))
        for query, error in grid
        for name in asked
    ]
    outcomes = solve_all(registry, [task for _, task in tasks])
    references = _references(registry, tasks, outcomes, chosen)
    for (point, _), outcome in zip(tasks, outcomes, strict=True):
        registry.point_done(point.query, outcome.prediction)
    rows = tuple(
        _row(point, task, outcome, reference)
        for (point, task), outcome, reference in zip(tasks, outcomes, references, strict=True)
    )
    origin = provenance(registry, workloads, machines, settings or {}, seed)
    if times is not None:
        rows, unused = join(rows, times, workloads)
        origin["measured"] = {"source": times.where, "points": len(times.items), "unused": unused}
    return Results(rows, origin)


def predict(
    registry: Registry,
    workload: Any,
    machine: Any,
    solver: str,
    *,
    p: int | None = None,
    d: int | None = None,
    mapping: str | tuple[int, ...] = "block",
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> Prediction:
    """Return one solver's prediction at one p and d; arguments are those of `compare`.

    A query the solver cannot take gives a prediction whose status and message say so.
    """
    work, mach = registry.workload(workload), registry.machine(machine)
    (name,) = _asked(registry, [solver])
    _check(mapping, settings, seed)
    chosen = Settings.sort(settings or {}, registry, [work])
    p = work.processes or 1 if p is None else p
    ((query, error),) = _queries(registry, work, mach, chosen, p, d, mapping, seed)
    if error is not None:
        raise error
    (outcome,) = solve_all(registry, [resolve(registry, name, query, chosen)])
    registry.point_done(query, outcome.prediction)
    return outcome.prediction


def _queries(
    registry: Registry,
    workload: Workload,
    machine: Machine,
    settings: Settings,
    p: Any,
    d: Any,
    mapping: str | tuple[int, ...],
    seed: int,
) -> Iterator[tuple[Query, ParcastError | None]]:
    """Yield the query at each p and d; with an error where a setting has no value there."""
    made: dict[Any, Machine] = {}
    for processes in _whole("p", p, workload.processes):
        for disks in _whole("d", d, settings.disks_at(machine, processes)):
            error, here, parameters = None, machine, {}
            try:
                values = settings.machine_values(processes, disks)
                key = tuple(values.items())
                if key not in made:
                    made[key] = set_values(machine, registry, values)
                here, parameters = made[key], settings.parameters_at(workload, processes, disks)
            except (FormulaError, FileError) as found:
                error = found
            yield (
                Query(
                    workload=workload,
                    machine=here,
                    p=processes,
                    d=disks,
                    mapping=mapping,
                    parameters=parameters,
                    seed=seed,
                ),
                error,
            )


def _listed(one_or_many: Any) -> list[Any]:
    return list(one_or_many) if isinstance(one_or_many, list | tuple) else [one_or_many]


def _whole(name: str, given: Any, default: int | None) -> tuple[int, ...]:
    if given is None:
        return (default,) if default is not None else DEFAULT_P
    several = isinstance(given, Iterable) and not isinstance(given, str | bytes)
    values = tuple(given) if several else (given,)
    for value in values:
        whole = hasattr(value, "__index__") and not isinstance(value, bool)
        if not whole or not 1 <= value <= MOST:
            raise InvalidPointError(f"{name}={value!r} must be a whole number from 1 to 10**15")
    if not values:
        raise InvalidPointError(f"{name} is empty; give a whole number, or none at all")
    return tuple(map(operator.index, values))


def _check(mapping: object, settings: object, seed: object) -> None:
    if isinstance(mapping, tuple):
        if not all(isinstance(node, int) and node >= 0 for node in mapping):
            raise UnknownNameError(f"mapping {mapping!r} must hold the number of a node each")
    elif mapping not in {"block", "cyclic"}:
        hint = did_you_mean(str(mapping), ("block", "cyclic"))
        raise UnknownNameError(f"mapping {mapping!r} must be 'block' or 'cyclic'.{hint}")
    if settings is not None and not isinstance(settings, Mapping):
        raise UnknownNameError(f"settings {settings!r} must be a mapping from name to value")
    if not isinstance(seed, int) or seed < 0:
        raise UnknownNameError(f"seed {seed!r} must be a whole number, 0 or more")


def _asked(registry: Registry, names: str | Iterable[str] | None) -> list[str]:
    """Return what to ask: families for their defaults, solvers by name."""
    families = {entry.family for entry in registry.solvers.values()}
    if names is None:
        asked = sorted({e.family for e in registry.solvers.values() if not e.on_request})
        if not asked:
            raise UnknownNameError("No solver is installed; install a plugin such as parcast-spmd")
        return asked
    asked = [one.strip() for one in names.split(",")] if isinstance(names, str) else list(names)
    if not asked:
        raise UnknownNameError("No solver was named; leave solvers out to ask every family")
    for name in asked:
        if name not in families:
            registry.named("solvers", name, {**registry.families, **registry.solvers})
    return list(dict.fromkeys(asked))


def _references(
    registry: Registry,
    tasks: Sequence[tuple[Point, Task | Prediction]],
    outcomes: Sequence[Outcome],
    settings: Settings,
) -> list[float | None]:
    """Return T(1,1) of each task's solver with the task's own parameters and machine."""
    keys: list[Any] = []
    times: dict[Any, float | None] = {None: None}
    alone: dict[Any, Task | Prediction] = {}
    for (point, task), outcome in zip(tasks, outcomes, strict=True):
        query, key = point.query, None
        if isinstance(task, Task) and query.workload.processes is None:
            parameters = tuple(sorted(query.parameters.items()))
            key = (task.entry.name, id(query.workload), id(query.machine), parameters)
            if query.p == query.d == 1:
                times[key] = outcome.prediction.time
            elif key not in times and key not in alone:
                single = attrs.evolve(query, p=1, d=1, mapping=_first(query.mapping))
                alone[key] = resolve(registry, task.entry.name, single, settings)
        keys.append(key)
    solved = solve_all(registry, list(alone.values()))
    for key, outcome in zip(alone, solved, strict=True):
        times.setdefault(key, outcome.prediction.time)
    return [times[key] for key in keys]


def _first(mapping: str | tuple[int, ...]) -> str | tuple[int, ...]:
    return mapping if isinstance(mapping, str) else mapping[:1]


def _row(point: Point, task: Task | Prediction, outcome: Outcome, reference: float | None) -> Row:
    prediction, query = outcome.prediction, point.query
    seconds = prediction.time
    details = dict(prediction.details)
    if prediction.assumptions:
        details["assumptions"] = list(prediction.assumptions)
    if seconds is not None and (charged := charge(query, seconds)):
        details["charge"] = charged
    return Row(
        workload=query.workload.name,
        machine=query.machine.name,
        solver=task.entry.name if isinstance(task, Task) else point.asked,
        p=query.p,
        d=query.d,
        mapping=query.mapping,
        params=point.params,
        seed=query.seed,
        time=seconds,
        lower=prediction.lower,
        upper=prediction.upper,
        std=prediction.std,
        ci=prediction.ci,
        quantiles={f"{level:g}": value for level, value in prediction.quantiles.items()},
        speedup=reference / seconds if reference and seconds else None,
        parts=prediction.parts,
        status=prediction.status,
        message=prediction.message,
        notes=prediction.notes,
        binding=prediction.binding,
        details=details,
        lowering=task.steps if isinstance(task, Task) else (),
        solve_seconds=outcome.seconds,
    )
