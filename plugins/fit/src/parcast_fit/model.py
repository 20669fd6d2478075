"""The model that is fitted: a solver's answers at the measured points, as functions of the free.

Everything here is of natural logarithms of times or speedups, so that differences are relative
errors.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from parcast import Registry
from parcast.comparison import Outcome, Settings, Task, resolve, set_values, solve_all
from parcast.errors import SolveError, UnsupportedError
from parcast.model import Machine, Prediction, Query, Status
from parcast_fit.parameters import Floats, Parameter


@attrs.frozen(kw_only=True)
class Jacobian:
    """Derivatives of the logarithms with respect to the searched coordinates."""

    matrix: Floats  #: shape (rows, parameters)
    error: Floats  #: the same, estimated; 0 where derivatives are exact
    exact: tuple[str, ...]  #: parameters whose derivatives the solver gave


@attrs.frozen
class Evaluation:
    """A point as it is asked, and what it became for the solver at the start."""

    query: Query
    task: Task


@attrs.frozen(kw_only=True)
class Model:
    """Some points, and the parameters that are free.

    For speedups the points are followed by what each is relative to: one process, one disk and
    the point's own parameters, by the same solver. An ``anchored`` model has one more row: the
    logarithm of T(1, 1) of the first point, which speedups alone do not tell.
    """

    registry: Registry
    settings: Settings
    parameters: tuple[Parameter, ...]
    evaluations: tuple[Evaluation, ...]  #: the points, then the references
    points: int
    reference: tuple[int, ...] | None  #: by point, its reference among the evaluations
    anchored: bool = False

    @property
    def solvers(self) -> tuple[str, ...]:
        """The solvers that answer, each once."""
        return tuple(dict.fromkeys(evaluation.task.entry.name for evaluation in self.evaluations))

    @property
    def start(self) -> Floats:
        """Where the search starts."""
        return np.array([parameter.inner(parameter.start) for parameter in self.parameters])

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        """Lowest and highest coordinates."""
        low, high = zip(*(parameter.inner_bounds for parameter in self.parameters), strict=True)
        return np.array(low), np.array(high)

    def values(self, inner: Floats) -> dict[str, float]:
        """Return the parameters' values, in base units."""
        return {
            parameter.name: parameter.value(u)
            for parameter, u in zip(self.parameters, inner, strict=True)
        }

    def outcomes(self, inners: Sequence[Floats]) -> list[list[Outcome]]:
        """Return the outcome of every evaluation for each of ``inners``, in one batch."""
        tasks = [task for inner in inners for task in self._tasks(self.values(inner))]
        outcomes = solve_all(self.registry, tasks)
        size = len(self.evaluations)
        return [outcomes[i * size : (i + 1) * size] for i in range(len(inners))]

    def _tasks(self, values: Mapping[str, float]) -> list[Task | Prediction]:
        machines: dict[int, Machine] = {}
        return [self._task(evaluation, values, machines) for evaluation in self.evaluations]

    def _task(
        self, evaluation: Evaluation, values: Mapping[str, float], machines: dict[int, Machine]
    ) -> Task | Prediction:
        query, task = evaluation.query, evaluation.task
        machine_values = {
            parameter.name: values[parameter.name]
            for parameter in self.parameters
            if parameter.of == "machine"
        }
        if machine_values and id(query.machine) not in machines:
            machines[id(query.machine)] = set_values(query.machine, self.registry, machine_values)
        machine = machines.get(id(query.machine), query.machine)
        workload_values = {
            name: value for name, value in values.items() if name not in machine_values
        }
        parameters = {**query.parameters, **workload_values}
        if not task.steps and not hasattr(query.workload.content, "check"):
            # Nothing but the numbers has changed, so it need not be brought to the solver again
            query = attrs.evolve(task.query, machine=machine, parameters=parameters)
            return attrs.evolve(task, query=query)
        query = attrs.evolve(query, machine=machine, parameters=parameters)
        return resolve(self.registry, task.entry.name, query, self.settings)

    def logs(self, inners: Sequence[Floats]) -> Floats:
        """Return the logarithms at each of ``inners``; NaN where there is no answer.

        Returns
        -------
        shape (len(inners), rows)
        """
        return self._observed(
            np.array([_log_times(outcomes) for outcomes in self.outcomes(inners)])
        )

    def binding(self, inner: Floats) -> list[str | None]:
        """Return what binds at each point with such values."""
        predictions = (outcome.prediction for outcome in self.outcomes([inner])[0][: self.points])
        return [prediction.details.get("binds", prediction.binding) for prediction in predictions]

    def why(self, inner: Floats) -> str:
        """Return the sentence that says why there is no answer at ``inner``."""
        return _reason(self.outcomes([inner]), self.values(inner))

    def _observed(self, logs: Floats) -> Floats:
        """Return the rows that are fitted from the logarithms of all times; shape (..., rows)."""
        if self.reference is None:
            return logs
        rows = logs[:, list(self.reference)] - logs[:, : self.points]
        if self.anchored:
            rows = np.column_stack([rows, logs[:, self.reference[0]]])
        return rows

    def jacobian(self, inner: Floats, *, checked: bool = False) -> Jacobian:
        """Return the derivatives at ``inner``, all points and steps in one batch.

        With ``checked`` differences at twice the step improve them and tell their error.
        Derivatives are exact where the solver has ``derivatives`` and the workload reached it as
        it was asked, else central differences, one-sided at a bound. There is no complex step:
        files, formulas and solvers take real numbers only.

        Raises
        ------
        SolveError
            If a point has no answer next to ``inner``.
        """
        exact = self._exact(inner)
        others = [j for j, parameter in enumerate(self.parameters) if parameter.name not in exact]
        shifts, weights = self._stencils(inner, others, 2 if checked else 1)
        outcomes = self.outcomes([inner, *shifts])
        logs = np.array([_log_times(row) for row in outcomes])
        if not np.isfinite(logs).all():
            raise SolveError(_reason(outcomes, self.values(inner)))
        full = np.zeros((len(self.evaluations), len(self.parameters)))
        error = np.zeros_like(full)
        for j, rows in zip(others, weights, strict=True):
            near, far = rows[0] @ logs, rows[-1] @ logs
            full[:, j], error[:, j] = near + (near - far) / 3, far - near
        for j, parameter in enumerate(self.parameters):
            if parameter.name in exact:
                full[:, j] = exact[parameter.name] * parameter.slope(inner[j]) / np.exp(logs[0])
        error = np.abs(self._observed(error.T).T)
        return Jacobian(matrix=self._observed(full.T).T, error=error, exact=tuple(exact))

    def _stencils(
        self, inner: Floats, columns: Sequence[int], sizes: int
    ) -> tuple[list[Floats], list[list[Floats]]]:
        """Return the points to ask, and by column and size of step their weights."""
        low, high = self.bounds
        shifts: list[Floats] = []
        indexed: list[list[list[tuple[int, float]]]] = []
        for j in columns:
            h = self.parameters[j].step(inner[j])
            inside = low[j] <= inner[j] - 2 * h and inner[j] + 2 * h <= high[j]
            if not inside and inner[j] + 2 * h > high[j]:
                h = -h
            stencils = (_CENTRAL if inside else _ONE_SIDED)[:sizes]
            index = {0: 0}
            for multiple in sorted({m for stencil in stencils for m, _ in stencil} - {0}):
                moved = inner.copy()
                moved[j] += multiple * h
                shifts.append(moved)
                index[multiple] = len(shifts)
            indexed.append(
                [[(index[m], weight / h) for m, weight in stencil] for stencil in stencils]
            )
        size = 1 + len(shifts)
        return shifts, [[_row(stencil, size) for stencil in column] for column in indexed]

    def _exact(self, inner: Floats) -> dict[str, Floats]:
        """Return dT / d value by name where every solver knows it; shape (evaluations,)."""
        solvers: dict[str, Any] = {name: self.registry.solver(name) for name in self.solvers}
        able = all(hasattr(solver, "derivatives") for solver in solvers.values())
        if not able or any(evaluation.task.steps for evaluation in self.evaluations):
            return {}
        names = [parameter.name for parameter in self.parameters]
        derivatives: list[Mapping[str, float]] = []
        for task in self._tasks(self.values(inner)):
            if not isinstance(task, Task):
                return {}
            derivatives.append(solvers[task.entry.name].derivatives(task.query, names) or {})
        return {
            name: np.array([slopes[name] for slopes in derivatives])
            for name in names
            if all(name in slopes for slopes in derivatives)
        }


#: Differences of second order at a step and at twice it: multiples of the step, and weights.
_CENTRAL = ([(-1, -0.5), (1, 0.5)], [(-2, -0.25), (2, 0.25)])
_ONE_SIDED = ([(0, -1.5), (1, 2.0), (2, -0.5)], [(0, -0.75), (2, 1.0), (4, -0.25)])


def _row(stencil: Sequence[tuple[int, float]], size: int) -> Floats:
    row = np.zeros(size)
    for index, weight in stencil:
        row[index] += weight
    return row


def _log_times(outcomes: Sequence[Outcome]) -> Floats:
    times = (outcome.prediction.time for outcome in outcomes)
    return np.array([math.log(time) if time else math.nan for time in times])


def _reason(outcomes: Sequence[Sequence[Outcome]], values: Mapping[str, float]) -> str:
    bad = next(
        outcome.prediction for row in outcomes for outcome in row if not outcome.prediction.time
    )
    at = ", ".join(f"{name}={value:g}" for name, value in values.items())
    return f"no answer with {at}: {bad.message or 'the time is 0'}"


def make_model(
    registry: Registry,
    solver: str,
    queries: Sequence[Query],
    parameters: tuple[Parameter, ...],
    settings: Settings,
    *,
    speedups: bool,
) -> Model:
    """Return the model of a solver at some points.

    A family's choice of solver is made here, by the start, and kept.

    Raises
    ------
    UnsupportedError, SolveError
        If the solver cannot take a point; the point is named.
    """
    evaluations = [_evaluation(registry, solver, query, settings) for query in queries]
    reference: list[int] | None = None
    if speedups:
        reference, positions = [], {}
        for query, evaluation in zip(queries, tuple(evaluations), strict=True):
            name = evaluation.task.entry.name
            key = (name, id(query.machine), tuple(sorted(query.parameters.items())))
            if key not in positions:
                mapping = query.mapping if isinstance(query.mapping, str) else query.mapping[:1]
                alone = attrs.evolve(query, p=1, d=1, mapping=mapping)
                positions[key] = len(evaluations)
                evaluations.append(_evaluation(registry, name, alone, settings))
            reference.append(positions[key])
    return Model(
        registry=registry,
        settings=settings,
        parameters=parameters,
        evaluations=tuple(evaluations),
        points=len(queries),
        reference=None if reference is None else tuple(reference),
    )


def _evaluation(registry: Registry, solver: str, query: Query, settings: Settings) -> Evaluation:
    task = resolve(registry, solver, query, settings)
    if isinstance(task, Task):
        return Evaluation(query, task)
    sentence = f"{solver} at p={query.p}, d={query.d}: {task.message}"
    if task.status is Status.REFUSED:
        raise UnsupportedError(sentence)
    raise SolveError(sentence)
