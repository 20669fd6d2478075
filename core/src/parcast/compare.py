"""Comparison: every asked solver on every workload, machine, p and d, in one list of rows."""

from __future__ import annotations

import math
import operator
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from parcast.entries import SolverEntry, load
from parcast.errors import (
    FileError,
    FormulaError,
    InvalidPointError,
    ParcastError,
    SolveError,
    UnknownNameError,
    UnsupportedError,
    did_you_mean,
)
from parcast.lowering import lower
from parcast.machine import Machine
from parcast.provenance import provenance
from parcast.query import Prediction, Query, Status
from parcast.results import Results, Row
from parcast.settings import Settings, set_values
from parcast.workload import Workload

if TYPE_CHECKING:
    from parcast.registry import Registry

#: The processes asked about where neither the user nor a recorded workload says.
DEFAULT_P = (1, 2, 4, 8, 16, 32, 64)


@attrs.frozen
class Point:
    """One place in the grid, and one solver or family asked there."""

    query: Query
    asked: str
    params: Mapping[str, Any] = attrs.field(hash=False)


@attrs.frozen
class Task:
    """A query brought to the kind of one solver."""

    entry: SolverEntry
    query: Query
    steps: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    exact: bool = True  #: every lowering on the way was


@attrs.frozen
class Outcome:
    """What became of a task, and how long it took."""

    prediction: Prediction
    seconds: float | None = None


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
) -> Results:
    """Ask every solver about every workload on every machine at every p and d.

    Parameters
    ----------
    registry
        Where names are looked up.
    workload, machine
        A name, path, mapping or value, or a list of them.
    p, d
        Numbers of processes and disks; d is the machine's own where not given.
    solvers
        Names of solvers or families; every family's default where not given.
    mapping
        How processes go to nodes: ``"block"``, ``"cyclic"`` or a node for each process.
    settings
        Workload parameters, machine values and solver options by name; a text may be a
        formula of p and d.
    seed
        For solvers that draw random numbers.

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
    _check_mapping(mapping)
    chosen = Settings.sort(settings or {}, registry, workloads)
    grid = [
        found
        for work in workloads
        for mach in machines
        for found in _queries(registry, work, mach, chosen, p, d, mapping, seed)
    ]
    if all(error for _, error in grid):
        raise next(error for _, error in grid if error)
    tasks = [
        (Point(query, name, chosen.shown(query, name)), _resolve(registry, name, query, chosen))
        if error is None
        else (Point(query, name, {}), Prediction(status=Status.INVALID, message=str(error)))
        for query, error in grid
        for name in asked
    ]
    outcomes = _solve_all(registry, [task for _, task in tasks])
    references = _references(registry, tasks, outcomes, chosen)
    for (point, _), outcome in zip(tasks, outcomes, strict=True):
        registry.point_done(point.query, outcome.prediction)
    rows = tuple(
        _row(point, task, outcome, reference)
        for (point, task), outcome, reference in zip(tasks, outcomes, references, strict=True)
    )
    return Results(rows, provenance(registry, workloads, machines, settings or {}, seed))


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
    _check_mapping(mapping)
    chosen = Settings.sort(settings or {}, registry, [work])
    p = work.processes or 1 if p is None else p
    ((query, error),) = _queries(registry, work, mach, chosen, p, d, mapping, seed)
    if error is not None:
        raise error
    (outcome,) = _solve_all(registry, [_resolve(registry, name, query, chosen)])
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
) -> Iterator[tuple[Query, FormulaError | None]]:
    """Yield the query at each p and d; with an error where a setting has no value there."""
    made: dict[Any, Machine] = {}
    for processes in _whole("p", p, workload.processes):
        for disks in _whole("d", d, settings.disks_at(machine, processes)):
            query = Query(
                workload=workload, machine=machine, p=processes, d=disks, mapping=mapping, seed=seed
            )
            try:
                values = settings.machine_values(processes, disks)
                key = tuple(values.items())
                if key not in made:
                    made[key] = set_values(machine, registry, values)
                parameters = settings.parameters_at(workload, processes, disks)
            except FormulaError as error:
                yield query, error
            else:
                yield attrs.evolve(query, machine=made[key], parameters=parameters), None


def _listed(one_or_many: Any) -> list[Any]:
    return list(one_or_many) if isinstance(one_or_many, list | tuple) else [one_or_many]


def _whole(name: str, given: Any, default: int | None) -> tuple[int, ...]:
    if given is None:
        return (default,) if default is not None else DEFAULT_P
    found = []
    for value in given if isinstance(given, Iterable) else (given,):
        if isinstance(value, bool) or not hasattr(value, "__index__") or value < 1:
            raise InvalidPointError(f"{name}={value!r} must be a whole number, 1 or more")
        found.append(operator.index(value))
    return tuple(found)


def _check_mapping(mapping: object) -> None:
    if not isinstance(mapping, tuple) and mapping not in {"block", "cyclic"}:
        hint = did_you_mean(str(mapping), ("block", "cyclic"))
        raise UnknownNameError(f"mapping {mapping!r} must be block, cyclic or a tuple.{hint}")


def _asked(registry: Registry, names: str | Iterable[str] | None) -> list[str]:
    """Return what to ask: families for their defaults, solvers by name."""
    families = {entry.family for entry in registry.solvers.values()}
    if names is None:
        asked = sorted({e.family for e in registry.solvers.values() if not e.on_request})
        if not asked:
            raise UnknownNameError("No solver is installed; install a plugin such as parcast-spmd")
        return asked
    asked = [one.strip() for one in names.split(",")] if isinstance(names, str) else list(names)
    for name in asked:
        if name not in families:
            registry.named("solvers", name, {**registry.families, **registry.solvers})
    return list(dict.fromkeys(asked))


def _resolve(registry: Registry, name: str, query: Query, settings: Settings) -> Task | Prediction:
    """Return the task of the solver that answers to ``name`` here, or why there is none."""
    steps: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    try:
        if name in registry.solvers:
            entry = registry.solvers[name]
        elif name in registry.families:
            family = registry.families[name]
            if family.kind is not None:
                query, steps, notes = lower(registry.lowerings, query, family.kind)
            entry = registry.entry(load(family.target)(query))
        else:
            members = [e for e in registry.solvers.values() if e.family == name]
            entry = min(members, key=lambda e: (e.on_request, e.name))
        query = attrs.evolve(query, options=settings.options_of(entry, query.p, query.d))
        query, more_steps, more_notes = lower(registry.lowerings, query, entry.kind)
        steps, notes = steps + more_steps, notes + more_notes
        exact = all(registry.lowerings[step].exact for step in steps)
        reason = registry.solver(entry.name).supports(query)
    except FileError:  # a wrong option is the asker's to mend
        raise
    except Exception as error:  # noqa: BLE001  (one solver's bug must not lose the other rows)
        return _without_answer(error)
    if reason is not None:
        return Prediction(status=Status.REFUSED, message=str(reason))
    return Task(entry, query, steps, notes, exact)


def _without_answer(error: Exception) -> Prediction:
    """Return the row's answer where a solver raised ``error``."""
    if isinstance(error, UnsupportedError):
        return Prediction(status=Status.REFUSED, message=str(error))
    if isinstance(error, InvalidPointError):
        return Prediction(status=Status.INVALID, message=str(error))
    known = isinstance(error, ParcastError)
    message = str(error) if known else f"{type(error).__name__}: {error}"
    return Prediction(status=Status.FAILED, message=message)


def _solve_all(registry: Registry, tasks: Sequence[Task | Prediction]) -> list[Outcome]:
    """Return an outcome for each task, solving each solver's tasks together."""
    outcomes: dict[int, Outcome] = {}
    batches: dict[str, list[int]] = {}
    for index, task in enumerate(tasks):
        if isinstance(task, Prediction):
            outcomes[index] = Outcome(task)
        else:
            batches.setdefault(task.entry.name, []).append(index)
    for name, indices in batches.items():
        queries = [tasks[index].query for index in indices]  # type: ignore[union-attr]
        outcomes |= zip(indices, _solve_batch(registry.solver(name), queries), strict=True)
    for index, task in enumerate(tasks):
        if isinstance(task, Task):
            outcomes[index] = _as_asked(task, outcomes[index])
    return [outcomes[index] for index in range(len(tasks))]


def _as_asked(task: Task, outcome: Outcome) -> Outcome:
    """Add the lowering's notes; a bound of an approximation is none of the workload asked."""
    found = attrs.evolve(outcome.prediction, notes=(*task.notes, *outcome.prediction.notes))
    if not task.exact:
        found = attrs.evolve(found, lower=None, upper=None)
    return attrs.evolve(outcome, prediction=found)


def _solve_batch(solver: Any, queries: Sequence[Query]) -> list[Outcome]:
    """Solve at once where the solver can; one by one where it cannot, or where that failed."""
    if len(queries) > 1 and hasattr(solver, "solve_many"):
        start = time.perf_counter()
        try:
            predictions = [_checked(one) for one in solver.solve_many(queries)]
        except Exception:  # noqa: BLE001  (the points are asked again, each for its own reason)
            predictions = []
        if len(predictions) == len(queries):
            each = (time.perf_counter() - start) / len(queries)
            return [Outcome(prediction, each) for prediction in predictions]
    return [_solve_one(solver, query) for query in queries]


def _solve_one(solver: Any, query: Query) -> Outcome:
    start = time.perf_counter()
    try:
        prediction = _checked(solver.solve(query))
    except Exception as error:  # noqa: BLE001  (one solver's bug must not lose the other rows)
        prediction = _without_answer(error)
    return Outcome(prediction, time.perf_counter() - start)


def _checked(prediction: Any) -> Prediction:
    if not isinstance(prediction, Prediction):
        raise SolveError(f"the solver gave {prediction!r} where a Prediction belongs")
    if prediction.time is not None and not 0 <= prediction.time < math.inf:
        raise SolveError(f"the solver gave the time {prediction.time!r}")
    return prediction


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
                alone[key] = _resolve(registry, task.entry.name, single, settings)
        keys.append(key)
    solved = _solve_all(registry, list(alone.values()))
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
