"""What may be asked: workloads, machines, solvers, p, d and settings, checked before any query."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import attrs

from parcast.comparison import inputs
from parcast.comparison.inputs import WorkloadLike
from parcast.comparison.setting_values import set_values
from parcast.comparison.settings import Settings
from parcast.errors import (
    FileError,
    FormulaError,
    InvalidPointError,
    ParcastError,
    UnknownNameError,
    did_you_mean,
)
from parcast.model.answers import Answers
from parcast.model.machine import Machine
from parcast.model.query import Query
from parcast.model.workload import Workload
from parcast.plugins.entries import JOBS, Lowering

if TYPE_CHECKING:
    from parcast.comparison.job_placement import Placement
    from parcast.plugins.catalog import Catalog

#: The processes asked about where neither the user nor a recorded workload says.
DEFAULT_P = (1, 2, 4, 8, 16, 32, 64)

#: The largest p and d that may be asked about.
MOST = 10**15

Placed = str | tuple[int, ...]  #: a mapping: its name, or a node for each process


@attrs.frozen(kw_only=True)
class Scenario:
    """One workload on one machine with its settings: everything but p, d and the solver."""

    workload: Workload
    machine: Machine
    settings: Settings
    mapping: Placed = "block"
    placement: Placement = "packed"  #: of several jobs
    seed: int = 0
    answers: Answers = attrs.field(factory=partial(Answers, 1_000), repr=False, eq=False)

    def processes(self, p: Any) -> tuple[int, ...]:
        """Return the p that are asked about: those given, the workload's own, or powers of 2."""
        return whole_numbers("p", p, self.workload.processes)

    def disks(self, d: Any, p: int) -> tuple[int, ...]:
        """Return the d that are asked about: those given, or the machine's own."""
        return whole_numbers("d", d, self.settings.disks_at(self.machine, p))

    def query(self, registry: Catalog, p: int, d: int) -> Query:
        """Return the query at p and d.

        Raises
        ------
        FormulaError, FileError
            If a setting has no value there.
        InvalidPointError
            If several jobs cannot be placed.
        """
        machine = self._machine(registry, self.settings.machine_values(p, d))
        parameters = self.settings.parameters_at(self.workload, p, d)
        query = self._query(p, d, machine, parameters, self._mapping(machine))
        return attrs.evolve(query, workload=self._chosen) if self.settings.choices else query

    def questions(
        self, registry: Catalog, p: int, d: int, solvers: Iterable[str]
    ) -> list[Question]:
        """Return each solver's question at p and d, with the error where there is no query."""
        error = None
        try:
            query = self.query(registry, p, d)
        except (FormulaError, FileError, InvalidPointError) as caught:
            query, error = self._query(p, d, self.machine, {}, self.mapping), caught
        return [Question(query, solver, self.settings, error) for solver in solvers]

    def _machine(self, registry: Catalog, values: Mapping[str, Any]) -> Machine:
        """Return the machine with these values, one for all p and d where they are the same."""
        if not values:
            return self.machine
        change = partial(set_values, self.machine, registry, values)
        return self.answers.once((self.machine, *values, *values.values()), change)

    @cached_property
    def _chosen(self) -> Workload:
        """The workload as settings choose it, one for all p and d."""
        return self.settings.chosen(self.workload)

    def _mapping(self, machine: Machine) -> Placed:
        """Return the mapping; of several jobs the node of each process, by their placement."""
        jobs = self.workload.jobs
        if not jobs or isinstance(self.mapping, tuple):
            return self.mapping
        from parcast.comparison.job_placement import node_of_each

        return node_of_each(jobs, machine, self.placement, self.mapping, self.seed)

    def _query(
        self, p: int, d: int, machine: Machine, parameters: Mapping[str, Any], mapping: Placed
    ) -> Query:
        return Query(
            workload=self.workload,
            machine=machine,
            p=p,
            d=d,
            mapping=mapping,
            parameters=parameters,
            seed=self.seed,
        )


@attrs.frozen
class Question:
    """A query, and the solver or family that is asked; ``error`` is why there is no query."""

    query: Query
    solver: str
    settings: Settings
    error: ParcastError | None = None

    @property
    def params(self) -> dict[str, Any]:
        """What the row says was set; without a query, what was asked for."""
        if self.error is not None:
            return self.settings.as_stated(self.query, self.solver)
        return self.settings.values_at(self.query, self.solver)


def listed(one_or_many: Any) -> list[Any]:
    """Return a list of what may be one value or several."""
    return list(one_or_many) if isinstance(one_or_many, list | tuple) else [one_or_many]


def workloads_of(
    registry: Catalog, sources: Iterable[WorkloadLike], p: Any
) -> tuple[list[Workload], Any]:
    """Return the workloads, and the p to ask about; those of several jobs have them already."""
    workloads = [inputs.workload(registry, item) for item in sources]
    if not any(work.jobs for work in workloads):
        return workloads, p
    from parcast.comparison.jobs import with_processes

    return with_processes(workloads, p), None


def repeatable(numbers: Any) -> Any:
    """Return the p or d that are given, which every scenario goes through."""
    several = isinstance(numbers, Iterable) and not isinstance(numbers, str | bytes)
    return tuple(numbers) if several else numbers


def whole_numbers(name: str, requested: Any, default: int | None) -> tuple[int, ...]:
    """Return the values of p or d, each checked."""
    if requested is None:
        return (default,) if default is not None else DEFAULT_P
    numbers = repeatable(requested)
    values = numbers if isinstance(numbers, tuple) else (numbers,)
    for value in values:
        whole = hasattr(value, "__index__") and not isinstance(value, bool)
        if not whole or not 1 <= value <= MOST:
            split = "; one such as 64+64 is of several jobs, joined as a.py+b.py"
            hint = split if "+" in str(value) else ""
            raise InvalidPointError(
                f"{name}={value!r} must be a whole number from 1 to 10**15{hint}"
            )
    if not values:
        raise InvalidPointError(f"{name} is empty; give a whole number, or none at all")
    return tuple(map(operator.index, values))


def check_asked(mapping: object, settings: object, seed: object) -> None:
    """Refuse what is no mapping of processes, no settings or no seed."""
    check_mapping(mapping)
    if settings is not None and not isinstance(settings, Mapping):
        raise UnknownNameError(f"settings {settings!r} must be a mapping from name to value")
    check_seed(seed)


def check_seed(seed: object) -> None:
    """Refuse what is no seed."""
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise UnknownNameError(f"seed {seed!r} must be a whole number, 0 or more")


def check_mapping(mapping: object) -> None:
    """Refuse what is no mapping of processes to nodes."""
    if isinstance(mapping, tuple):
        numbers = all(isinstance(node, int) and not isinstance(node, bool) for node in mapping)
        if not mapping or not numbers or min(mapping) < 0:
            raise UnknownNameError(f"mapping {mapping!r} must hold the number of a node each")
    elif mapping not in {"block", "cyclic"}:
        hint = did_you_mean(str(mapping), ("block", "cyclic"))
        raise UnknownNameError(f"mapping {mapping!r} must be 'block' or 'cyclic'.{hint}")


def placement_of_jobs(
    placement: Placement | None, mapping: Placed, workloads: Sequence[Workload]
) -> Placement:
    """Return where jobs are.

    Raises
    ------
    UnknownNameError
        If there are none, or the mapping names a node for each process already.
    """
    if placement is not None and not all(work.jobs for work in workloads):
        raise UnknownNameError(
            f"placement {placement!r} is of several jobs, and {workloads[0].name} is one; "
            "give a mapping"
        )
    if placement is not None and isinstance(mapping, tuple):
        raise UnknownNameError("placement and a mapping of each process exclude each other")
    return "packed" if placement is None else placement


def solver_names(
    registry: Catalog, names: str | Iterable[str] | None, workloads: Iterable[Workload] = ()
) -> list[str]:
    """Return what to ask: families for their defaults, solvers by name.

    Without names these are the families with a solver that takes one of the workloads, or a
    lowering of it, unless on request only; all families where none does.
    """
    families = {entry.family for entry in registry.solvers.values()}
    if names is None:
        entries = [entry for entry in registry.solvers.values() if not entry.on_request]
        ways = [way for way in registry.lowerings.values() if not way.on_request]
        sought = {
            (kind, bool(workload.jobs))
            for workload in workloads
            for kind in _reached(ways, workload.kind)
        }
        able = [
            entry
            for entry in entries
            if any(
                kind == entry.kind and (JOBS in entry.follows or not several)
                for kind, several in sought
            )
        ]
        chosen = sorted({entry.family for entry in able or entries})
        if not chosen:
            raise UnknownNameError("No solver is installed; install a plugin such as parcast-spmd")
        return chosen
    chosen = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    if not chosen:
        raise UnknownNameError("No solver was named; leave solvers out to compare every family")
    for name in chosen:
        if name not in families:
            registry.lookup("solvers", name, {**registry.families, **registry.solvers})
    return list(dict.fromkeys(chosen))


def _reached(lowerings: Iterable[Lowering], kind: str) -> set[str]:
    """Return the kinds that workloads of a kind can be turned into, it included."""
    kinds, reached = set[str](), {kind}
    while reached != kinds:
        kinds = reached
        reached = kinds | {lowering.goal for lowering in lowerings if lowering.source in kinds}
    return kinds
