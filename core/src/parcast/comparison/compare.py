"""Comparison: every asked solver on every workload, machine, p and d, in one list of rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from parcast.comparison import inputs
from parcast.comparison.grid import (
    Placed,
    Question,
    Scenario,
    check_asked,
    listed,
    placement_of_jobs,
    repeatable,
    solver_names,
    workloads_of,
)
from parcast.comparison.inputs import MachineLike, WorkloadLike
from parcast.comparison.joining import join
from parcast.comparison.provenance import provenance
from parcast.comparison.recorded import measured_times
from parcast.comparison.rows import answer
from parcast.comparison.settings import Settings
from parcast.comparison.tasks import Tell, silent
from parcast.comparison.throughput import Items, with_throughput
from parcast.errors import UncertaintyError, UnknownNameError
from parcast.model.machine import Machine
from parcast.model.workload import Workload
from parcast.results.results import Results
from parcast.results.row import Row

if TYPE_CHECKING:
    from parcast.comparison.job_placement import Placement
    from parcast.comparison.measurements import Measurements
    from parcast.plugins.catalog import Catalog

#: The points of a comparison up to which elasticities are found unasked.
MOST_EXPLAINED = 100


def compare(
    registry: Catalog,
    workload: WorkloadLike | Sequence[WorkloadLike],
    machine: MachineLike | Sequence[MachineLike],
    *,
    p: int | str | Iterable[int | str] | None = None,
    d: int | Iterable[int] | None = None,
    solvers: str | Iterable[str] | None = None,
    mapping: Placed = "block",
    placement: Placement | None = None,
    settings: Mapping[str, Any] | None = None,
    over: Mapping[str, Sequence[Any]] | None = None,
    seed: int = 0,
    measured: Any = None,
    uncertainty: int = 0,
    elasticities: bool | None = None,
    budget: float | None = None,
    per: str | None = None,
    tell: Tell = silent,
) -> Results:
    """Ask every solver about every workload on every machine at every p and d.

    Parameters
    ----------
    registry
        Where names are looked up.
    workload, machine
        A name, path, mapping or value, or a list of them; ``a.py+b.py`` is two jobs at once.
    p, d
        Numbers of processes and disks; where not given, those of the measured times, or
        else powers of 2 and the machine's own d. Of jobs a text: ``"64+64"``.
    solvers
        Names of solvers or families; every family's default where not given.
    mapping
        How processes go to nodes: ``"block"``, ``"cyclic"`` or a node for each process.
    placement
        The nodes of jobs: ``"packed"``, ``"spread"``, ``"random"`` by the seed, or a mapping from
        a job's name to its nodes, as ``"a=0..31,b=32..63"`` says it, too.
    settings
        Workload parameters, machine values and solver options by name; a text may be a
        formula of p and d.
    over
        Settings that take several values: every combination is asked, the last varying
        fastest. A solver that none of them concerns is asked once.
    seed
        For solvers that draw random numbers.
    measured
        Measured times to set beside the predictions: whatever `measured_times` takes.
    uncertainty
        How often to draw the numbers that are stated with an uncertainty, such as 200. The
        interval is widened by how far the solver usually was off, where a plugin has a record.
    elasticities
        Find by which part of each time which number of the machine decides, by solving again
        with each a little better. Solvers that state a cost of over two seconds are not asked
        again. Where not given: in comparisons of at most 100 points.
    budget
        Seconds that may be spent on solvers that are not named, by the costs that they state;
        what is dearer is a refused row. Without end where not given.
    per
        What throughput counts, a formula of p, d and the workload's parameters: ``"n * n"``,
        or with a name ``"cells = n * n"``.
    tell
        Hears what is being done, in words for people.

    Returns
    -------
    Results
        A row for each combination, in the order workload, machine, ``over``, p, d, solver;
        what a solver cannot take is a row with its status and reason.

    Raises
    ------
    ParcastError
        If a name, a file, a setting, p or d is wrong.
    """
    workloads, p = workloads_of(registry, listed(workload), repeatable(p))
    machines = [inputs.machine(registry, item) for item in listed(machine)]
    by_name = solvers is not None
    solvers = solver_names(registry, solvers, workloads)
    check_asked(mapping, settings, seed)
    packed = placement_of_jobs(placement, mapping, workloads)
    times = None if measured is None else measured_times(registry, measured)
    if times is not None and not any(work.jobs for work in workloads):
        p, d = (_measured_at(times, axis, asked) for axis, asked in (("p", p), ("d", d)))
    scenarios = _scenarios(
        registry,
        workloads,
        machines,
        solvers,
        settings=settings or {},
        over=over or {},
        mapping=mapping,
        placement=packed,
        seed=seed,
    )
    questions = _questions(registry, scenarios, p, repeatable(d))
    if uncertainty:
        _check_uncertainty(uncertainty, registry, [scenario for scenario, _ in scenarios])
    rows = _answers(
        registry,
        questions,
        per,
        uncertainty=uncertainty,
        tell=tell,
        explained=len(questions) <= MOST_EXPLAINED if elasticities is None else elasticities,
        budget=None if by_name else budget,
    )
    origin = provenance(registry, workloads, machines, settings or {}, seed)
    if over:
        origin["over"] = {name: list(values) for name, values in over.items()}
    if times is not None:
        rows, unused = join(rows, times, workloads)
        origin["measured"] = {"source": times.where, "points": len(times.items), "unused": unused}
    if uncertainty or times is not None:
        rows = _with_records(registry, questions, rows, always=bool(uncertainty))
    return Results(rows, origin, writers=registry.writers)


def _measured_at(times: Measurements, axis: str, asked: Any) -> Any:
    """Return the p or d that are asked about: where none is, those that were measured."""
    return (times.values(axis) or None) if asked is None else asked


def _with_records(
    registry: Catalog, questions: Sequence[Question], rows: tuple[Row, ...], *, always: bool
) -> tuple[Row, ...]:
    """Return rows with how far their solvers usually were off, where a plugin has a record."""
    if not registry.has_records:
        return rows
    from parcast.comparison.usual_errors import with_usual_errors

    return with_usual_errors(registry, questions, rows, always=always)


def _answers(
    registry: Catalog, questions: Sequence[Question], per: str | None, **how: Any
) -> tuple[Row, ...]:
    """Return a row for each question, with its throughput of what ``per`` says; tell listeners."""
    items = None if per is None else Items.read(per)
    counts = [items.count(question.query) if items else 0.0 for question in questions]
    rows = tuple(answer(registry, questions, **how))
    if registry.has_listeners:
        for question, row in zip(questions, rows, strict=True):
            registry.point_done(question.query, row.prediction)
    return rows if items is None else with_throughput(items, counts, rows)


def _scenarios(
    registry: Catalog,
    workloads: Sequence[Workload],
    machines: Sequence[Machine],
    solvers: Sequence[str],
    *,
    settings: Mapping[str, Any],
    over: Mapping[str, Sequence[Any]],
    **placed: Any,
) -> list[tuple[Scenario, list[str]]]:
    """Return every workload on every machine with all settings, and which solvers these concern.

    Raises
    ------
    UnknownNameError
        If there is none.
    """
    combined: Iterable[tuple[Mapping[str, Any], Sequence[str]]] = [({}, [])]
    if over:
        from parcast.comparison.over import combinations

        combined = combinations(over, settings)
    chosen = [
        (Settings.sort({**settings, **values}, registry, workloads), others)
        for values, others in combined
    ]
    scenarios = [
        (
            Scenario(workload=work, machine=mach, settings=setting, **placed),
            [
                solver
                for solver in solvers
                if all(setting.concerns(name, work, solver) for name in others)
            ],
        )
        for work in workloads
        for mach in machines
        for setting, others in chosen
    ]
    if not scenarios:
        raise UnknownNameError("No workload or no machine was given")
    return scenarios


def _questions(
    registry: Catalog, scenarios: Iterable[tuple[Scenario, list[str]]], p: Any, d: Any
) -> list[Question]:
    """Return all questions; raise the first error where none of them has a query."""
    questions = [
        question
        for scenario, solvers in scenarios
        if solvers
        for processes in scenario.processes(p)
        for disks in scenario.disks(d, processes)
        for question in scenario.questions(registry, processes, disks, solvers)
    ]
    if all(question.error for question in questions):
        raise next(question.error for question in questions if question.error)
    return questions


def _check_uncertainty(samples: int, registry: Catalog, scenarios: Sequence[Scenario]) -> None:
    from parcast.comparison.uncertainty import check_uncertainty

    try:
        check_uncertainty(samples, registry, scenarios)
    except UncertaintyError as error:
        raise UncertaintyError(f"uncertainty: {error}") from None
