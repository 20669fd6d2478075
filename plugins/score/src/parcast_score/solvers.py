"""Solvers of workloads on machines as predictors of measured points."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

import attrs

from parcast import ParcastError, Prediction, Registry, Status
from parcast.errors import FileError, UnknownNameError
from parcast.model import Measured, Modeling, Point, Question

#: A fitted number is right where the geometric mean of predicted over measured is 1 to this.
_CLOSE = 1e-6

#: What a part of the machine is as a bottleneck, where it has another name.
_BOTTLENECKS = {"accelerator": "processor", "nodes": "processor", "topology": "network"}

#: Steps of the fit; times grow with the number, so that few are needed.
_MOST_STEPS = 40


def predict_by(
    registry: Registry, solver: str, question: Question, times: Mapping[str, float] | None = None
) -> list[Prediction]:
    """Return a solver's predictions of all points, by the rule that the dataset states.

    What the rule fits is chosen in each series from its calibrating points alone. Numbers of the
    machine, such as ``processor.rate``, are taken so many ``times`` as large as it states them, and
    then no bottleneck is looked for.
    """
    if question.modeling is None:
        reason = f"{question.dataset} states no workload and machine for solvers"
        return [Prediction(status=Status.REFUSED, message=reason)] * len(question.points)
    asking = _Asking(registry, solver, question, question.modeling, times or {})
    answers: dict[int, Prediction] = {}
    for measured, indices in question.series():
        try:
            settings = asking.fitted(measured)
        except ParcastError as error:
            refused = Prediction(status=Status.REFUSED, message=str(error))
            answers |= dict.fromkeys(indices, refused)
            continue
        ask = asking.ask if times else asking.explained
        answers |= {index: ask(question.points[index], settings) for index in indices}
    return [answers[index] for index in range(len(question.points))]


class _Asking:
    """Asks one solver about points; workloads and machines are read once."""

    def __init__(
        self, registry: Registry, solver: str, question: Question, modeling: Modeling,
        times: Mapping[str, float],
    ) -> None:  # fmt: skip
        self.registry, self.solver = registry, solver
        self.question, self.modeling, self.times = question, modeling, times
        self._read: dict[tuple[str, str], Any] = {}

    def ask(self, point: Point, settings: Mapping[str, Any]) -> Prediction:
        """Return the prediction of a point; a point that cannot be asked says why."""
        try:
            return self.registry.predict(
                self._resource("workload", self.modeling.workload, point),
                self._resource("machine", self.modeling.machine, point),
                self.solver,
                p=_whole(point, self.modeling.p),
                d=self._disks(point),
                settings={**self._stated(point), **settings},
            )
        except ParcastError as error:
            return Prediction(status=Status.REFUSED, message=str(error))

    def explained(self, point: Point, settings: Mapping[str, Any]) -> Prediction:
        """Return the prediction of a point with the bottleneck that ``parcast compare`` names.

        That is the part of the machine which, a little better, takes most off the time, where to
        solve again is cheap; otherwise the solver's own word.
        """
        try:
            row = self.registry.compare(
                self._resource("workload", self.modeling.workload, point),
                self._resource("machine", self.modeling.machine, point),
                solvers=[self.solver],
                p=_whole(point, self.modeling.p),
                d=self._disks(point),
                settings={**self._stated(point), **settings},
                elasticities=True,
            ).rows[0]
        except ParcastError as error:
            return Prediction(status=Status.REFUSED, message=str(error))
        part = (row.binding or "").partition(".")[0]
        return attrs.evolve(row.prediction, binding=_BOTTLENECKS.get(part, part) or None)

    def _disks(self, point: Point) -> int | None:
        column = self.modeling.d
        return None if column is None or _column(point, column) is None else _whole(point, column)

    def _stated(self, point: Point) -> dict[str, Any]:
        columns = {name: _column(point, name) for name in self.modeling.settings}
        columns = {name: value for name, value in columns.items() if value not in (None, "")}
        return {**self.modeling.fixed, **self._changed(point), **columns}

    def _changed(self, point: Point) -> dict[str, float]:
        """Return the machine's numbers that are to be other ones, where it states them."""
        if not self.times:
            return {}
        machine = self._resource("machine", self.modeling.machine, point)
        stated = {name: attrgetter(name)(machine) for name in self.times}
        return {name: self.times[name] * number for name, number in stated.items() if number}

    def _resource(self, group: str, spec: str, point: Point) -> Any:
        """Return the workload or machine that the rule names for a point."""
        name = resource_name(spec, group, point)
        key = group, name
        if key not in self._read:
            beside = None if self.question.folder is None else self.question.folder / name
            is_file = beside is not None and beside.is_file()
            read = self.registry.workload if group == "workload" else self.registry.machine
            try:
                self._read[key] = read(beside if is_file and beside is not None else name)
            except (UnknownNameError, FileError) as error:
                raise FileError(f"modeling.{group} = {spec!r}: {error}") from None
        return self._read[key]

    def fitted(self, measured: Sequence[Measured]) -> dict[str, float]:
        """Return the parameter with which the calibrating points come out right on average."""
        name = self.modeling.fit
        if name is None:
            return {}
        if not measured:
            raise ParcastError(f"no point of its series calibrates, and {name} is to be fitted")
        start = self._resource("workload", self.modeling.workload, measured[0].point)
        if not isinstance(start.parameters.get(name), int | float) or start.parameters[name] <= 0:
            raise ParcastError(f"modeling.fit = {name!r} is no parameter above 0 of the workload")
        return {name: self._root(name, float(start.parameters[name]), measured)}

    def _root(self, name: str, start: float, measured: Sequence[Measured]) -> float:
        """Return where the mean logarithm of predicted over measured is 0, by halving brackets."""
        low = high = start
        error = self._mean_error(name, start, measured)
        for _ in range(_MOST_STEPS):
            if abs(error) < _CLOSE:
                return start
            if error > 0:
                high, low = low, low / 16
                if self._mean_error(name, low, measured) < 0:
                    break
            else:
                low, high = high, high * 16
                if self._mean_error(name, high, measured) > 0:
                    break
            start = low if error > 0 else high
            low = high = start
        else:
            longer = "longer" if error > 0 else "shorter"
            raise ParcastError(
                f"whatever {name} is, predictions are {longer} than what is measured"
            )
        return self._between(name, low, high, measured)

    def _between(self, name: str, low: float, high: float, measured: Sequence[Measured]) -> float:
        """Return the root between two values, by regula falsi in logarithms (Illinois)."""
        ends = [math.log(low), math.log(high)]
        errors = [self._mean_error(name, value, measured) for value in (low, high)]
        middle = ends[0]
        for _ in range(_MOST_STEPS):
            middle = (ends[0] * errors[1] - ends[1] * errors[0]) / (errors[1] - errors[0])
            error = self._mean_error(name, math.exp(middle), measured)
            if abs(error) < _CLOSE:
                break
            side = 0 if (error > 0) == (errors[0] > 0) else 1
            ends[side], errors[side] = middle, error
            errors[1 - side] /= 2
        return math.exp(middle)

    def _mean_error(self, name: str, value: float, measured: Sequence[Measured]) -> float:
        logs = []
        for item in measured:
            prediction = self.ask(item.point, {name: value})
            if not prediction.time:
                raise ParcastError(prediction.message or "the solver gives no time")
            logs.append(math.log(prediction.time / item.seconds))
        return math.fsum(logs) / len(logs)


def resource_name(spec: str, group: str, point: Point) -> str:
    """Return the workload or machine that a rule such as ``"{system}.toml"`` names for a point.

    Raises
    ------
    FileError
        If it has a column that the point has not.
    """
    try:
        return spec.format_map({"series": point.series, **point.facts})
    except (KeyError, ValueError, IndexError) as error:
        raise FileError(f"modeling.{group} = {spec!r}: there is no column {error}") from None


def _column(point: Point, name: str) -> Any:
    if name in ("size", "work", "series"):
        return getattr(point, name)
    return point.facts.get(name)


def _whole(point: Point, name: str) -> int:
    value = _column(point, name)
    if not isinstance(value, int | float) or value != int(value) or value < 1:
        raise ParcastError(f"{point.place}: {name} = {value!r} must be a whole number from 1")
    return int(value)
